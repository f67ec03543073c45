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

from tests.browser.explorer import Explorer

ROOT = Path(__file__).parents[2]
ARTEFACTS = Path(__file__).parent / "artefacts"
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()


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
            " window.commandEnded = false;"
            " jupyterapp.commands.execute(command).finally(() => { window.commandEnded = true; }); }",
            [f"notebook:{command}", cell],
        )

    def run_all(self, seconds: float = 60) -> None:
        """Run every cell and wait for the end. The first error fails the test."""
        self.start("run-all-cells")
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            # The command's own end: a quick run can begin and be over between two looks at the kernel's status.
            ended = self.page.evaluate("window.commandEnded")
            cells = self.cells()
            for outputs in (c["outputs"] for c in cells):
                for output in (o for o in outputs if o["output_type"] == "error"):
                    trace = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(output["traceback"]))
                    raise AssertionError(f"a cell of {self.name} failed:\n{trace}")
            running = self.status() != "idle" or any(c["state"] != "idle" for c in cells)
            if ended and not running and all(c["count"] for c in cells):
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


def listen_for_errors(page: Any) -> list[str]:
    """Everything that the page will report as an error."""
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    return errors


def screenshot(page: Any, name: str) -> None:
    ARTEFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTEFACTS / f"{name}.png")
