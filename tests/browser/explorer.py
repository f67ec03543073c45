"""Explorers on a page: move their sliders, read what the roofline explorer shows, time a move."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

FIGURE = ".rl-explorer svg.svg-figure"
MEASURE = (Path(__file__).parent / "measure.js").read_text()


class Controls:
    """The sliders and menus of an explorer on a page.

    root : where it is on the page.
    menus : the names of its menus, in their order.
    """

    page: Any
    root: Any
    menus: tuple[str, ...] = ()

    def handle(self, slider: str) -> Any:
        return self.root.locator(f".rl-control-{slider} .noUi-handle")

    def press(self, slider: str, key: str, times: int = 1) -> None:
        """Press a key so many times on a slider."""
        for _ in range(times):
            self.handle(slider).press(key)  # takes the focus each time: a notebook that has just run may steal it
        self.frame()

    def choose(self, menu: str, label: str) -> None:
        """Choose in a menu."""
        self.root.locator("select").nth(self.menus.index(menu)).select_option(label=label)

    def frame(self) -> None:
        """Wait until what was asked for is painted."""
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


class Explorer(Controls):
    """The first roofline explorer on a page: its sliders, its lines, its texts."""

    menus = ("network", "device", "precision", "batch")

    def __init__(self, page: Any) -> None:
        self.page = page
        self.root = page.locator(".rl-explorer").first
        self.root.locator("svg.svg-figure path.line").nth(4).wait_for(state="attached", timeout=30_000)
        self.root.scroll_into_view_if_needed()
        page.wait_for_function(
            "() => document.querySelector('.rl-explorer .noUi-handle')?.ariaValueText?.includes('/s')"
        )
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
