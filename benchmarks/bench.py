"""How fast is it? Imports, the model, and from a slider's key to pixels, beside the aims.

    python benchmarks/bench.py        (make bench; two minutes)

The browser is driven by the harness of the browser tests. The explorer is compared with the same figure redrawn by
matplotlib under `interact`, on the same machine in the same run, near the kernel and with 100 ms of round trip added.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
from machine_load import load  # noqa: E402

import roofline_lessons as rl  # noqa: E402
from roofline_lessons.scenes import RooflineScene, roofline  # noqa: E402
from tests.browser_finder import find_browser, why_none  # noqa: E402

ROUND_TRIP = 0.1  # seconds, as from Europe to a Binder in America

EXPLORER = "import roofline_lessons as rl\nrl.RooflineExplorer('MobileNetV2', device='raspberry-pi-5')"
MATPLOTLIB = """import matplotlib.pyplot as plt
import roofline_lessons as rl
from ipywidgets import IntSlider, interact
from roofline_lessons.scenes import RooflineScene
scene = RooflineScene("MobileNetV2", device="raspberry-pi-5")
def draw(step):
    scene.bandwidth_step = step
    _, axes = plt.subplots(figsize=(9, 5.6))
    rl.plots.roofline(scene, axes)
    plt.show()
interact(draw, step=IntSlider(24, 0, 48));"""

#: The least a browser can do: one line of an empty page, set at the key.
EMPTY = """<div class="noUi-handle" tabindex="0">0</div><svg><path class="line" stroke="#000" d="M0 0V9"/></svg><script>
  let x = 0;
  addEventListener("keydown", () => document.querySelector("path").setAttribute("d", `M${++x} 0V9`));
</script>"""

#: `measure.parts` of tests/browser/measure.js: the page hears the key; the change is in the page; a frame begins; it
#: is painted. Each counts from the one before.
PARTS = ("heard", "changed", "frame", "painted")


def main() -> None:
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {os.cpu_count()} processors\n")
    print(f"{'':52}{'median':>10}{'p95':>10}   aim")
    for times, name, aim in (*imports(), *model(), *search()):
        row(name, times, aim)
    if find_browser() is None:
        print(f"\nNothing measured in a browser: {why_none()}.")
        return
    in_the_browser()


def row(name: str, times: list[float], aim: float | None = None) -> None:
    """Print times in seconds, and whether their median reaches the aim."""
    middle = statistics.median(times)
    verdict = "" if aim is None else f"< {rl.si(aim, 's')} {'✓' if middle < aim else '✗ MISSED'}"
    p95 = float(np.percentile(times, 95))
    print(f"{name:52}{rl.si(middle, 's'):>10}{rl.si(p95, 's'):>10}   {verdict}", flush=True)


# -- imports ---------------------------------------------------------------------------------------------------------


def imports() -> Iterator[tuple[list[float], str, float | None]]:
    ours = "import roofline_lessons as rl"
    yield seconds_of("import numpy", ours), "import of the model, beyond NumPy", 0.15
    yield seconds_of("import numpy", f"{ours}; rl.RooflineExplorer"), "import with widgets, beyond NumPy", None


def seconds_of(before: str, statement: str, repeats: int = 9) -> list[float]:
    """Seconds of a statement in fresh processes."""
    code = f"import time; {before}; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    command = [sys.executable, "-W", "ignore", "-c", code]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # the first run compiles, as for a learner
    return [float(subprocess.check_output(command, env=environment)) for _ in range(repeats + 1)][1:]


# -- the model -------------------------------------------------------------------------------------------------------


def model() -> Iterator[tuple[list[float], str, float | None]]:
    plan, device = rl.unfused(rl.networks.mobilenet_v2()), rl.device("raspberry-pi-5")
    yield timed(lambda _: rl.estimate(plan, device).seconds), "one estimate of MobileNetV2 (151 kernels)", None
    scene = RooflineScene("MobileNetV2", device="raspberry-pi-5")

    def new_batch(i: int) -> None:
        scene.batch = roofline.BATCHES[i % len(roofline.BATCHES)]
        scene.tables  # noqa: B018

    def never_seen(i: int) -> None:
        roofline._plan_of_name.cache_clear()
        new_batch(i)

    def new_device(i: int) -> None:
        scene.device = rl.devices()[i % len(rl.devices())]
        scene.tables  # noqa: B018

    def slide(i: int) -> None:
        scene.bandwidth_step = i % len(roofline.BANDWIDTH_FACTORS)
        scene.marks  # noqa: B018

    yield timed(never_seen, 50), "a new table: a batch never seen", 5e-3
    yield timed(new_batch), "a new table: a batch seen before", 5e-3
    yield timed(new_device), "a new table: another device", 5e-3
    yield timed(slide), "all marks and texts in Python", None


def search() -> Iterator[tuple[list[float], str, float | None]]:
    """The best plan: little and much on-chip memory, and everything fits."""
    pi = rl.device("raspberry-pi-5")
    chain = rl.networks.convolution_chain("WD" * 500)
    for graph, name, aim in (
        (rl.networks.elementwise_chain(1000), "1,000 elementwise", 1.0),
        (chain, "1,000 convolutions", 1.0),
        (rl.networks.resnet50(), "ResNet-50", 0.2),
        (rl.networks.mobilenet_v2(), "MobileNetV2", 0.2),
    ):
        for capacity in (228 * 1024, 40e6, None):
            device = pi.with_(on_chip_bytes=capacity)
            fits = "everything fits" if capacity is None else rl.si(capacity, "B")
            yield timed(lambda _: rl.best_plan(graph, device), 3), f"best plan of {name}, {fits}", aim  # noqa: B023


def timed(call: Callable[[int], Any], repeats: int = 200) -> list[float]:
    times = []
    for i in range(repeats + 5):
        start = time.perf_counter()
        call(i)
        times.append(time.perf_counter() - start)
    return times[5:]


# -- the browser -----------------------------------------------------------------------------------------------------


def in_the_browser() -> None:
    from tests.browser.explorer import FIGURE
    from tests.browser.slow_line import SlowLine

    with lab_and_browser() as (server, browser):
        far = SlowLine(server.port, ROUND_TRIP / 2)
        print("\nfrom a key on the bandwidth slider to pixels")
        empty = Page(browser, "svg")
        empty.page.set_content(EMPTY)
        measure(("an empty page with one line", empty, None))
        empty.page.close()
        for where, port in (("here", server.port), (f"with {rl.si(ROUND_TRIP, 's')} more round trip", far.port)):
            explorer, redrawn = Page(browser, FIGURE), Page(browser, ".widget-interact .widget-output")
            explorer.open(server, port, EXPLORER)
            redrawn.open(server, port, MATPLOTLIB)
            measure((f"explorer, {where}", explorer, 33e-3), (f"interact + matplotlib, {where}", redrawn, None))
            factor = statistics.median(redrawn.times) / statistics.median(explorer.times)
            print(f"{'  so many times faster':52}{factor:>9.1f}x{'':10}   > 10 x {'✓' if factor > 10 else '✗ MISSED'}")
            explorer.page.close()
            redrawn.page.close()
        far.close()


@contextmanager
def lab_and_browser() -> Iterator[tuple[Any, Any]]:
    from playwright.sync_api import sync_playwright

    from tests.browser.lab import FLAGS, Server

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        notebooks = Path(folder, "notebooks")
        notebooks.mkdir()
        server = Server(notebooks, Path(folder))
        try:
            browser = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
            yield server, browser
            browser.close()
        finally:
            server.close()


class Page:
    """A page with a slider and a picture (a CSS selector): seconds from key to painted picture, and their parts."""

    def __init__(self, browser: Any, picture: str) -> None:
        self.page, self.picture = browser.new_page(viewport={"width": 1400, "height": 1300}), picture
        self.times: list[float] = []
        self.parts: list[list[float]] = []

    def open(self, server: Any, port: int, cell: str) -> None:
        """A notebook of this one cell, run."""
        from tests.browser.lab import Lab

        lab = Lab(self.page, server, port)
        lab.open(server.write(f"bench_{len(cell)}_{port}.ipynb", cell))
        lab.run_all()
        self.page.wait_for_selector(f"{self.picture} img, {self.picture} path.line", state="attached")
        self.page.wait_for_timeout(1000)

    def press(self, presses: int = 16, warm: int = 3) -> None:
        """Eight keys to the right and eight back; the first ones do not count."""
        from tests.browser.explorer import milliseconds

        self.page.bring_to_front()
        times = milliseconds(self.page, self.page.locator(".noUi-handle").first, self.picture, presses)
        parts = self.page.evaluate("() => measure.parts.splice(0)")
        self.times += [t / 1000 for t in times[warm:]]
        self.parts += [[part / 1000 for part in press] for press in parts[warm:]]


def measure(*pages: tuple[str, Page, float | None], rounds: int = 3) -> None:
    """Press and print: name, page, aim. Pages take turns, so that a busy machine is so for all of them."""
    for _ in range(rounds):
        for _, page, _ in pages:
            page.press()
    for name, page, aim in pages:
        row(name, page.times, aim)
        medians = [rl.si(statistics.median(part), "s", 2) for part in zip(*page.parts, strict=True)]
        print("    of which " + ", ".join(f"{name} {part}" for name, part in zip(PARTS, medians, strict=True)))
    print(f"    (load {load()})")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
