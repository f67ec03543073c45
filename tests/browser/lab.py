"""JupyterLab and a browser for the tests: serve notebooks, open one, run it, move a slider, look at the page."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import nbformat

ROOT = Path(__file__).parents[2]
ARTEFACTS = Path(__file__).parent / "artefacts"
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
FIGURE = ".rl-explorer svg.svg-figure"
MEASURE = (Path(__file__).parent / "measure.js").read_text()


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """JupyterLab on 127.0.0.1 with settings of its own, serving a folder of notebooks."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder, self.port = folder, free_port()
        settings = home / "config" / "lab" / "user-settings" / "@jupyterlab" / "apputils-extension"
        settings.mkdir(parents=True)
        news = {"fetchNews": "false", "checkForUpdates": False}
        (settings / "notification.jupyterlab-settings").write_text(json.dumps(news))
        own = {"JUPYTER_CONFIG_DIR": home / "config", "JUPYTER_DATA_DIR": home / "data", "IPYTHONDIR": home / "ipython"}
        environment = os.environ | {k: str(v) for k, v in own.items()} | {"PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={self.port}"]
        command += [f"--ServerApp.root_dir={folder}", "--IdentityProvider.token=", "--ServerApp.port_retries=0"]
        command += ["--ServerApp.disable_check_xsrf=True"]  # the tests ask the REST interface without a cookie
        command += ["--KernelManager.shutdown_wait_time=0.5"]  # a kernel that is busy does not hear the request
        command += ["--LabApp.expose_app_in_browser=True"]  # window.jupyterapp: the tests ask it what it is doing
        self.log = home / "jupyter.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            self._wait()
        except BaseException:
            self.close()
            raise

    def _wait(self, seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                self.rest("GET", "api")
                return
            except OSError:
                time.sleep(0.2)
        raise RuntimeError(f"JupyterLab did not start:\n{self.log.read_text()[-2000:]}")

    def rest(self, method: str, path: str) -> Any:
        """Ask the server's REST interface, e.g. ``rest("GET", "api/sessions")``."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/{path}", method=method)
        with urllib.request.urlopen(request, timeout=20) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def write(self, name: str, *cells: str) -> str:
        """A notebook with these code cells."""
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
        book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbformat.write(book, self.folder / name)
        return name

    def close(self) -> None:
        """Stop the server, its kernels with it."""
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()  # its kernels see that and go, too
            self.process.wait()


class Lab:
    """One page of JupyterLab with a notebook open."""

    def __init__(self, page: Any, server: Server, port: int | None = None) -> None:
        self.page, self.server, self.port = page, server, port or server.port
        self.errors = listen_for_errors(page)

    def open(self, notebook: str) -> None:
        """Open a notebook and wait until its cells are there and its kernel is idle."""
        self.name = notebook
        self.page.goto(f"http://127.0.0.1:{self.port}/lab/tree/{notebook}?reset")
        self.page.wait_for_function(
            "() => { const p = window.jupyterapp?.shell.currentWidget, n = p?.content?.model?.cells?.length;"
            " return n > 0 && p.content.widgets.length === n"
            " && p.sessionContext.session?.kernel?.status === 'idle'; }",
            timeout=60_000,
        )

    def start(self, command: str, cell: int | None = None) -> None:
        """Give JupyterLab a command, at a cell if one is named, and do not wait for its end."""
        self.page.evaluate(
            "([command, cell]) => { if (cell !== null) jupyterapp.shell.currentWidget.content.activeCellIndex = cell;"
            " jupyterapp.commands.execute(command); }",
            [f"notebook:{command}", cell],
        )

    def run_all(self, seconds: float = 60) -> None:
        """Run every cell and wait for the end. The first error fails the test."""
        self.start("run-all-cells")
        deadline = time.monotonic() + seconds
        started = False
        while time.monotonic() < deadline:
            cells = self.cells()
            for outputs in (c["outputs"] for c in cells):
                for output in (o for o in outputs if o["output_type"] == "error"):
                    trace = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(output["traceback"]))
                    raise AssertionError(f"a cell of {self.name} failed:\n{trace}")
            running = self.status() != "idle" or any(c["state"] != "idle" for c in cells)
            started = started or running
            if started and not running and all(c["count"] for c in cells):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"{self.name} is not done after {seconds:g} s: {[c['count'] for c in cells]}")

    def cells(self) -> list[dict[str, Any]]:
        """Count, state and outputs of the code cells that have a source, those out of sight included."""
        return self.page.evaluate(
            "() => [...jupyterapp.shell.currentWidget.content.model.cells]"
            ".filter(c => c.type === 'code' && c.sharedModel.source.trim())"
            ".map(c => ({count: c.executionCount, state: c.executionState, outputs: c.outputs.toJSON()}))"
        )

    def status(self) -> str:
        """What the kernel does, as the page knows it: idle, busy, dead ..."""
        return self.page.evaluate(
            "() => jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status ?? 'none'"
        )

    def wait_for_status(self, status: str) -> None:
        self._wait_for("p => p.sessionContext.session?.kernel?.status ?? 'none'", status)

    def wait_for_cell(self, cell: int, state: str) -> None:
        """Wait until a cell is idle or running. (The kernel's status is no help: a slider's message makes it idle.)"""
        self._wait_for(f"p => p.content.model.cells.get({cell}).executionState", state)

    def _wait_for(self, ask: str, answer: str) -> None:
        self.page.wait_for_function(
            "([ask, answer]) => eval(ask)(jupyterapp.shell.currentWidget) === answer", arg=[ask, answer], timeout=30_000
        )

    def shut_down_kernel(self) -> None:
        """End the kernel of the open notebook behind the page's back."""
        sessions = self.server.rest("GET", "api/sessions")
        kernel = next(s["kernel"]["id"] for s in sessions if s["path"] == self.name)
        self.server.rest("DELETE", f"api/kernels/{kernel}")
        self.page.evaluate("() => jupyterapp.serviceManager.sessions.refreshRunning()")  # it asks every 10 s by itself

    def explorer(self) -> Explorer:
        """The first explorer of the notebook. JupyterLab draws a cell when it is scrolled to."""
        found = self.page.locator(".rl-explorer")
        for i in range(self.page.evaluate("() => jupyterapp.shell.currentWidget.content.widgets.length")):
            if found.count():
                break
            self.page.evaluate("i => jupyterapp.shell.currentWidget.content.scrollToItem(i, 'start')", i)
            self.page.wait_for_timeout(200)
        return Explorer(self.page)

    def screenshot(self, name: str) -> None:
        screenshot(self.page, name)


class Explorer:
    """The first roofline explorer on a page: its sliders, its lines, its texts."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.root = page.locator(".rl-explorer").first
        self.root.locator("svg.svg-figure path.line").nth(4).wait_for(state="attached", timeout=30_000)
        self.root.scroll_into_view_if_needed()
        page.wait_for_function(
            "() => document.querySelector('.rl-explorer .noUi-handle')?.ariaValueText?.includes('/s')"
        )
        self.frame()

    def handle(self, slider: str) -> Any:
        return self.root.locator(f".rl-control-{slider} .noUi-handle")

    def press(self, slider: str, key: str, times: int = 1) -> None:
        """Press a key so many times on a slider."""
        self.handle(slider).focus()
        for _ in range(times):
            self.page.keyboard.press(key)
        self.frame()

    def press_at_once(self, slider: str, key: str, times: int) -> None:
        """The same within one frame, as by someone very fast."""
        self.handle(slider).evaluate(
            "(e, [key, times]) => { for (let i = 0; i < times; i++)"
            " e.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true})); }",
            [key, times],
        )
        self.frame()

    def drag_to(self, slider: str, fraction: float) -> None:
        """Drag a slider's handle with the mouse to a fraction of its length."""
        handle = self.handle(slider).bounding_box()
        track = self.root.locator(f".rl-control-{slider} .noUi-connects").bounding_box()
        self.page.mouse.move(handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2)
        self.page.mouse.down()
        self.page.mouse.move(track["x"] + fraction * track["width"], track["y"] + 2, steps=12)
        self.page.mouse.up()
        self.frame()

    def choose(self, menu: str, label: str) -> None:
        """Choose in the menu network, device, precision or batch."""
        number = ("network", "device", "precision", "batch").index(menu)
        self.root.locator("select").nth(number).select_option(label=label)

    def frame(self) -> None:
        """Wait until what was asked for is painted."""
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def text(self, css: str = "") -> str:
        """What a person reads in the explorer, or in its first part with this CSS selector."""
        return (self.root.locator(css).first if css else self.root).inner_text().replace("\xa0", " ")

    def values(self) -> list[str]:
        """The readouts: bandwidth, peak, time, bytes, work, intensity, energy."""
        return self.root.locator(".rl-value").all_inner_texts()

    def labels(self) -> list[str]:
        """The words beside the lines of the picture."""
        return [text.strip() for text in self.root.locator("svg text.label").all_text_contents()]

    def line(self) -> list[tuple[float, float]]:
        """The corners of the roof in pixels of the screen: it is the thickest line."""
        d, a, e, f = self.root.evaluate(
            "e => { const p = [...e.querySelectorAll('path.line')].find(p => p.style.strokeWidth === '4'),"
            " m = p.getScreenCTM(); return [p.getAttribute('d'), m.a, m.e, m.f]; }"
        )
        corners = [tuple(map(float, corner.split(","))) for corner in re.findall(r"[ML]([^ML]+)", d)]
        return [(e + a * x, f + a * y) for x, y in corners]

    def points(self) -> list[tuple[float, float]]:
        """The kernels' points and the network's, in pixels of the screen."""
        return self.root.evaluate(
            "e => [...e.querySelectorAll('.dot')].map(p => p.getScreenCTM()).map(m => [m.e, m.f])"
        )

    def plot(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom of the area between the axes, in pixels of the screen."""
        return self.root.evaluate(
            "e => { const [x, y] = [...e.querySelectorAll('path.domain')].map(p => p.getBoundingClientRect());"
            " return [x.left, y.top, x.right, y.bottom]; }"
        )

    def ticks(self) -> list[dict[str, float]]:
        """For x and y: what the tick labels say -> where the ticks are, in pixels of the screen."""
        found = self.root.evaluate(
            "e => [...e.querySelectorAll('g.axis')].map(axis => [...axis.querySelectorAll('g.tick')].map(t => {"
            " const m = t.getScreenCTM(); return [t.textContent, m.e, m.f]; }))"
        )
        return [{text: place[axis] for text, *place in ticks} for axis, ticks in enumerate(found)]


def milliseconds(page: Any, handle: Any, picture: str, presses: int) -> list[float]:
    """Milliseconds from a key on a slider's handle to the painted picture (a CSS selector), press by press."""
    page.evaluate(MEASURE)
    handle.focus()
    times = []
    for i in range(presses):
        page.evaluate("css => measure.start(css)", picture)
        page.keyboard.press("ArrowRight" if i // 8 % 2 == 0 else "ArrowLeft")
        times.append(page.evaluate("() => measure.result()"))
    return times


def listen_for_errors(page: Any) -> list[str]:
    """Everything that the page will report as an error."""
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    return errors


def screenshot(page: Any, name: str) -> None:
    ARTEFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTEFACTS / f"{name}.png")
