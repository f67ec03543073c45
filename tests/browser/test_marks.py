"""marks.js moves what bqplot has drawn: at once, and to where bqplot would draw it itself."""

from __future__ import annotations

import pytest

#: All that a move may change in an explorer's figure. Numbers to a thousandth of a pixel: marks.js leaves a point where
#: it is when only the last bits of its place differ. Names of points are hidden, so it does not matter where they are.
DRAWN = """e => [...e.querySelectorAll("svg.svg-figure :is(.line, .object_grp, .dot, .dot_text, .label)")].map(node =>
  [node.getAttribute("class"), node.style.cssText, node.matches(".dot_text, .label") ? node.textContent : "",
   node.getAttribute("d") ?? "", node.matches(".dot_text") ? "" : node.getAttribute("transform") ?? ""].join(" | ")
    .replaceAll(", ", ",").replace(/-?[0-9.]+(e-?[0-9]+)?/g, n => String(Math.round(Number(n) * 1000) / 1000 + 0)))"""


def open_explorer(lab, make: str, *later: str):
    lab.open(
        lab.server.write("marks_test.ipynb", f"import roofline_lessons as rl\nexplorer = {make}\nexplorer", *later)
    )
    lab.start("run-cell", 0)
    lab.page.wait_for_selector(".rl-explorer svg.svg-figure path.line", state="attached")
    lab.wait_for_cell(0, "idle")
    lab.page.wait_for_timeout(500)  # the figure has found its size
    return lab.page.locator(".rl-explorer").first


@pytest.mark.parametrize(
    "make, moves",
    [
        ("rl.RooflineExplorer(device='raspberry-pi-5')", {"bandwidth": 20, "peak": -3}),
        ("rl.FusionExplorer()", {"bandwidth": 9}),
        ("rl.TilingExplorer()", {"tile": -2}),
    ],
)
def test_what_was_moved_is_what_bqplot_draws(lab, make, moves):
    """The same widget shown once more is drawn by bqplot alone, from the marks' data."""
    first = open_explorer(lab, make, "explorer")
    at_first = first.evaluate(DRAWN)
    for slider, steps in moves.items():
        for _ in range(abs(steps)):
            first.locator(f".rl-control-{slider} .noUi-handle").press("ArrowRight" if steps > 0 else "ArrowLeft")
    lab.start("run-cell", 1)
    lab.wait_for_cell(1, "idle")
    second = lab.page.locator(".rl-explorer").nth(1)
    second.locator("svg.svg-figure path.line").first.wait_for(state="attached")
    lab.page.wait_for_timeout(1000)
    moved, drawn = first.evaluate(DRAWN), second.evaluate(DRAWN)
    assert moved == drawn
    assert moved != at_first
    assert not lab.errors


def test_a_move_is_in_the_drawing_before_the_next_frame(lab):
    """bqplot's own way begins with the next frame, which then has all to do."""
    explorer = open_explorer(lab, "rl.RooflineExplorer(device='raspberry-pi-5')")
    before = explorer.evaluate(DRAWN)
    at_once = explorer.evaluate(
        "async e => { let frames = 0; requestAnimationFrame(() => frames++);"
        " e.querySelector('.rl-control-bandwidth .noUi-handle').dispatchEvent("
        "  new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true, cancelable: true}));"
        " for (let i = 0; i < 9; i++) await null;"
        f" return [frames, ({DRAWN})(e)]; }}"
    )
    lab.page.wait_for_timeout(300)
    assert at_once[0] == 0
    assert at_once[1] != before
    assert at_once[1] == explorer.evaluate(DRAWN)
