"""The tiling explorer in a real browser: `tiling.js` says what the scene says, and the sliders reach the screen."""

from __future__ import annotations

import functools
import html
import json
import re
import statistics

import pytest

import roofline_lessons as rl
from roofline_lessons.scenes.tiling import TilingScene
from roofline_lessons.scenes.tiling_plans import NETWORKS, TEACHING_ACCELERATOR
from roofline_lessons.widgets.driver import arithmetic
from tests.browser.explorer import Controls, milliseconds
from tests.browser.golden import loaded, same
from tests.browser.lab import Lab, listen_for_errors

MAKE = "import roofline_lessons as rl\nexplorer = rl.TilingExplorer({})\nexplorer"

#: Two sums in another order differ in the last bits; where a depth does not fit, the line has a gap.
equal = functools.partial(same, tolerance=1e-12, gaps=True)
TEXTS = ("depth_text", "tile_text", "memory_text", "time", "bytes", "again", "halo")


# -- tiling.js against the scene --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tiling(browser):
    """Calls `tiling` of the browser's half: list of (tables, controls) -> list of marks."""
    with loaded(browser, arithmetic()) as page:
        yield lambda calls: page.evaluate("calls => calls.map(c => window.made.tiling(...c))", calls)


def valid() -> rl.Graph:
    """Convolutions without padding, strides, a height that is not the width, and a name that HTML would eat."""
    b = rl.GraphBuilder("valid & <i>odd</i>")
    x = b.input("x", (2, 3, 40, 66))
    y = b.relu(b.conv2d(x, 8, 5, stride=2))
    return b.build(outputs=[b.max_pool(b.relu(b.conv2d(y, 8, 3)), 2)])


def scenes():
    chips = [
        TEACHING_ACCELERATOR,
        TEACHING_ACCELERATOR.with_(
            name='<odd> & "quoted"', vector_peak=1e11, launch_seconds=None, on_chip_bytes=None,
            levels=(rl.MemoryLevel("L1", bytes_per_second=1.5e11),),
        ),
        *(rl.device(i) for i in ("stm32h743", "esp32-s3", "raspberry-pi-5", "a100-sxm-40gb")),
    ]  # fmt: skip
    for network in (*NETWORKS, valid()):
        for halo in ("recompute", "cache rows", "cache all"):
            for device in chips if halo == "recompute" else chips[:2]:
                yield TilingScene(network, device, halo=halo)


def test_golden_vectors(tiling):
    count = 0
    for scene in scenes():
        calls, right = [], []
        tables = json.loads(json.dumps(scene.tables))
        for depth in range(1, scene.layers + 1):
            for step in (0, len(scene.tiles) // 2, len(scene.tiles) - 1):
                for memory in (0, 15, 40, len(scene.capacities) - 1):
                    scene.depth, scene.tile_step, scene.memory_step = depth, step, memory
                    calls.append([tables, scene.controls])
                    right.append(scene.marks)
        for shown, expected, (_, controls) in zip(tiling(calls), right, calls):
            equal(shown, expected, f"{scene.title} on {scene.device.name}, {scene.halo}, at {controls}")
            count += 1
    assert count > 2000


def test_steps_beyond_the_tables_are_the_last_ones(tiling):
    """A menu brings a shorter network a moment before its slider hears of it."""
    scene = TilingScene("MobileNetV2 block")
    tables = json.loads(json.dumps(scene.tables))
    shown = tiling([[tables, {"depth": 7, "tile": 99, "memory": 99}], [tables, {"depth": 0, "tile": -1, "memory": -1}]])
    scene.tile_step, scene.memory_step = len(scene.tiles) - 1, len(scene.capacities) - 1
    equal(shown[0], scene.marks, "too far right")
    scene.depth, scene.tile_step, scene.memory_step = 1, 0, 0
    equal(shown[1], scene.marks, "too far left")


# -- the page ---------------------------------------------------------------------------------------------------------


class Page(Controls):
    """The tiling explorer on a page of JupyterLab."""

    menus = ("network", "device", "precision", "halo")

    def __init__(self, lab: Lab, arguments: str = "", *more: str) -> None:
        self.lab, self.page = lab, lab.page
        lab.open(lab.server.write(f"tiling_{len(more)}.ipynb", MAKE.format(arguments), *more))
        lab.start("run-cell")
        self.root = lab.page.locator(".rl-tiling")
        self.root.locator("svg.svg-figure path.line").nth(2).wait_for(state="attached", timeout=30_000)
        lab.page.wait_for_function("() => document.querySelector('.rl-control-memory .noUi-handle')?.ariaValueText")
        self.frame()

    def expect(self, scene: TilingScene) -> None:
        """The page shows what the scene says: texts to the letter, points where the axis says."""
        marks = scene.marks
        assert self.read(".rl-sentence") == scene.sentence
        assert [w.replace("\xa0", " ") for w in self.root.locator(".rl-value").all_inner_texts()] == [
            plain(marks[name]["value"]) for name in TEXTS
        ]
        assert plain(marks["fit"]["value"]).split("✓")[-1].split("✕")[-1].strip() in self.read(".rl-fit-words")
        labels = [text.strip() for text in self.root.locator("svg.svg-figure text.label").all_text_contents()]
        assert [text for text in labels if text] == [
            text for name in ("crosses", "star", "label_best", "label_now") for text in marks[name]["text"]
        ]
        to_y, to_x = self.axis("y"), self.axis("x")
        dots = self.root.evaluate(
            "e => [...e.querySelectorAll('.dot')].map(p => p.getScreenCTM()).map(m => [m.e, m.f])"
        )
        right = [
            [to_x(x), to_y(y)]
            for name in ("now", "fits", "too_big")
            for x, y in zip(marks[name]["x"], marks[name]["y"], strict=True)
        ]
        assert dots == [pytest.approx(place, abs=2) for place in right]

    def read(self, css: str) -> str:
        return self.root.locator(css).first.inner_text().replace("\xa0", " ").replace("\n", " ")

    def axis(self, which: str):
        """Value -> pixels of the screen, from the axis' own tick labels."""
        ticks = self.root.evaluate(
            "(e, i) => [...[...e.querySelectorAll('g.axis')][i].querySelectorAll('g.tick')].map("
            "t => { const m = t.getScreenCTM(); return [Number(t.textContent), [m.e, m.f][i]]; })",
            "xy".index(which),
        )
        (low, at), *_, (high, end) = sorted(ticks)
        return lambda value: at + (end - at) * (value - low) / (high - low)


def plain(text: str) -> str:
    return html.unescape(re.sub("<[^>]*>", "", text)).replace("\xa0", " ")


def test_sliders_move_the_points_to_the_right_place(lab):
    page, scene = Page(lab), TilingScene()
    page.expect(scene)
    for slider, key, times, depth, tile, memory in (
        ("depth", "ArrowLeft", 2, 2, 7, 21),
        ("tile", "ArrowRight", 2, 2, 9, 21),
        ("tile", "Home", 1, 2, 0, 21),
        ("memory", "End", 1, 2, 0, 62),
        ("tile", "End", 1, 2, 10, 62),
        ("depth", "Home", 1, 1, 10, 62),
    ):
        page.press(slider, key, times)
        scene.depth, scene.tile_step = depth, tile
        scene.memory_step = len(scene.capacities) - 1 if memory == 62 else scene.memory_step
        page.expect(scene)
    lab.screenshot("tiling")
    assert not lab.errors


def test_does_not_fit_and_back_while_the_kernel_is_busy(lab):
    """226,304 B of 196,608 B: nothing here asks the kernel, which sleeps."""
    page, scene = Page(lab, '"WWWW"', "import time; time.sleep(60)"), TilingScene("WWWW")
    lab.start("run-cell", cell=1)
    lab.wait_for_cell(1, "running")
    before = page.read(".rl-fit-words")
    assert before == "✓ each fits in 524,288 B"
    page.press("memory", "ArrowLeft", scene.memory_step - scene.capacities.index(196_608))
    assert page.read(".rl-fit-words") == "✕ does not fit: 226,304 B of 196,608 B"
    assert "29,696 B too many. [WWW][W] is the fastest that fits: 48.2 µs." in page.read(".rl-sentence")
    scene.on_chip_bytes = 196_608
    page.expect(scene)
    lab.screenshot("tiling_too_big")
    page.press("memory", "ArrowRight", 1)
    assert page.read(".rl-fit-words") == "✓ each fits in 233,472 B"
    scene.on_chip_bytes = 233_472
    page.expect(scene)
    lab.wait_for_cell(1, "running")  # still
    lab.shut_down_kernel()
    assert not lab.errors


def test_a_depth_between_that_does_not_fit_is_a_gap_in_the_line(lab):
    page = Page(lab, 'rl.networks.convolution_chain("WWWD")')
    scene = TilingScene(rl.networks.convolution_chain("WWWD"))
    line = page.root.locator("path.line").nth(2)
    assert line.get_attribute("d").count("M") == 1
    page.press("tile", "Home")
    page.press("memory", "ArrowLeft", scene.memory_step - scene.capacities.index(65_536))
    scene.tile, scene.on_chip_bytes = 2, 65_536
    page.expect(scene)
    assert line.get_attribute("d").count("M") == 2
    assert not lab.errors


def test_menus_and_reset(lab):
    page, scene = Page(lab), TilingScene()
    for menu, label, value in (
        ("network", "VGG-19 start", "VGG-19 start"),
        ("halo", "cache rows", "cache rows"),
        ("device", rl.device("jetson-orin-nano").name, "jetson-orin-nano"),
        ("precision", "int8", "int8"),
        ("network", "MobileNetV2 block", "MobileNetV2 block"),
    ):
        page.choose(menu, label)
        setattr(scene, menu, value)
        wait_for(page, scene)
        page.press("depth", "ArrowLeft")
        scene.depth = max(scene.depth - 1, 1)
        page.expect(scene)
    page.root.get_by_text("reset").click()
    scene.reset()
    wait_for(page, scene)
    page.expect(scene)
    assert not lab.errors


def wait_for(page: Page, scene: TilingScene) -> None:
    """A menu's answer comes from the kernel."""
    page.page.wait_for_function(
        "words => [...document.querySelectorAll('.rl-sentence, .rl-value')].map(e => e.innerText)"
        ".sort().join() === words",
        arg=",".join(sorted([scene.sentence, *(plain(scene.marks[name]["value"]) for name in TEXTS)])),
        timeout=10_000,
    )
    page.frame()


def test_a_screen_reader_hears_names_and_units(lab):
    page = Page(lab)
    assert "layers per kernel" in page.root.locator("svg.svg-figure").get_attribute("aria-label")
    assert page.root.locator(".rl-sentence [role=status]").get_attribute("aria-live") == "polite"
    assert page.root.locator("svg.rl-pyramid").get_attribute("role") == "img"
    for slider, label, value in (
        ("depth", "layers per kernel", "4 of 4 [WDWD]"),
        ("tile", "tile", "14 × 14 4 × 4 tiles"),
        ("memory", "on-chip memory", "524 kB 524,288 B"),
    ):
        handle = page.handle(slider)
        assert (handle.get_attribute("aria-label"), handle.get_attribute("aria-valuetext")) == (label, value)


def test_an_exported_page_moves_without_a_kernel_or_a_network(browser, tmp_path):
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 1000})
    page = context.new_page()
    errors = listen_for_errors(page)
    page.goto(rl.export_html(rl.TilingExplorer("WWWW"), tmp_path / "tiling.html").as_uri())
    assert page.title() == page.locator("h1").inner_text() == "Tiling explorer"
    page.locator(".rl-control-depth .noUi-handle").press("ArrowLeft")
    scene = TilingScene("WWWW")
    scene.depth = 3
    page.wait_for_function("words => document.querySelector('.rl-sentence').innerText === words", arg=scene.sentence)
    assert errors == []
    context.close()


def test_the_points_move_within_a_tenth_of_a_second(lab):
    page = Page(lab)
    page.press("tile", "Home")
    times = milliseconds(page.page, page.handle("tile"), ".rl-tiling svg.svg-figure", presses=15)
    assert statistics.median(times) < 100
