"""The fusion explorer in a real browser: fusion.js says and draws what the Python scene does, and the page shows it."""

from __future__ import annotations

import html
import itertools
import json
import random
import statistics

import pytest

import roofline_lessons as rl
from roofline_lessons.fusion import RULE_SETS
from roofline_lessons.scenes.fusion import CLOCK_STEPS, FUSION_NETWORKS, ON_CHIP_BYTES, FusionScene
from roofline_lessons.scenes.roofline import BANDWIDTH_FACTORS
from roofline_lessons.widgets.driver import arithmetic
from tests.browser.explorer import Controls, milliseconds
from tests.browser.golden import devices, loaded, odd_graph, same
from tests.browser.lab import listen_for_errors

#: Two sums in another order differ in the last bits.
TOLERANCE = 1e-12


@pytest.fixture(scope="module")
def shown(browser):
    """Marks that the browser makes of tables and controls."""
    with loaded(browser, arithmetic()) as page:
        yield lambda tables, steps: page.evaluate(
            "([t, all]) => all.map(c => window.made.fusion(t, c))", [tables, steps]
        )


def scenes():
    """Every network, rule set and device, and graphs with odd names and odd shapes."""
    for network, rules in itertools.product(FUSION_NETWORKS, RULE_SETS):
        yield FusionScene(network, rules=rules)
    for dev in devices():
        yield FusionScene(device=dev, rules="depth-first", precision=dev.precisions()[-1])
        yield FusionScene("attention", device=dev, rules="attention")
    for rules in RULE_SETS:
        yield FusionScene(odd_graph(), rules=rules)
        yield FusionScene(side_by_side(), rules=rules)


def side_by_side() -> rl.Graph:
    """Two branches whose operators take turns in the graph's order, and meet again."""
    b = rl.GraphBuilder("branches")
    x = b.input("x", (1, 8, 16, 16))
    left, right = b.conv2d(x, 8, 3, padding=1), b.conv2d(x, 8, 1)
    left, right = b.relu(left), b.relu(right)
    return b.build(outputs=[b.add(b.max_pool(left, 3, stride=1, padding=1), right), left])


def positions(scene: FusionScene, rng: random.Random, count: int):
    """Corners and random places of all sliders."""
    depths, sizes, steps = scene.most_depth, len(ON_CHIP_BYTES), len(BANDWIDTH_FACTORS)
    yield scene.depth, scene.bandwidth_step, scene.on_chip_step, 0
    yield from itertools.product((1, depths), (0, steps - 1), (0, sizes - 1), (0, CLOCK_STEPS))
    for _ in range(count):
        clock = rng.choice((0, rng.randint(0, CLOCK_STEPS), CLOCK_STEPS // 2))
        yield rng.randint(1, depths), rng.randrange(steps), rng.randrange(sizes), clock


def test_golden_vectors(shown):
    rng, count, misfits = random.Random(11), 0, 0
    for scene in scenes():
        tables = json.loads(json.dumps(scene.tables))
        steps, right = [], []
        for at in positions(scene, rng, 5):
            scene.depth, scene.bandwidth_step, scene.on_chip_step, scene.tick = at
            steps.append(scene.controls)
            right.append(scene.marks)
            misfits += scene.now is None
        for made, expected, at in zip(shown(tables, steps), right, steps, strict=True):
            where = f"{scene.title}, {scene.rules} on {scene.device.name} at {at}"
            same(made, expected, where, tolerance=TOLERANCE)
            count += 1
    assert count > 1500 and misfits > 20


# -- on a page --------------------------------------------------------------------------------------------------------

MAKE = "import roofline_lessons as rl\nexplorer = rl.FusionExplorer({})\nexplorer"
FIGURE = ".rl-fusion svg.svg-figure"


class Page(Controls):
    """The first fusion explorer on a page: its sliders, its pictures, its texts."""

    menus = ("network", "device", "precision", "rules")

    def __init__(self, page) -> None:
        self.page, self.root = page, page.locator(".rl-fusion").first
        self.root.locator("svg.svg-figure path.line").nth(2).wait_for(state="attached", timeout=30_000)
        self.root.scroll_into_view_if_needed()
        page.wait_for_function("() => document.querySelector('.rl-control-depth .noUi-handle')?.ariaValueText")
        self.frame()

    def text(self, css: str) -> str:
        return words(self.root.locator(css).first.inner_text())

    def picture(self, css: str) -> str:
        """A picture as the page holds it."""
        return self.root.locator(css).evaluate("e => e.outerHTML")

    def count(self, css: str) -> int:
        return self.root.locator(css).count()

    def parsed(self, svg: str) -> str:
        """A picture's text as this browser writes it once it is on a page."""
        return self.page.evaluate(
            "s => { const e = document.createElement('div'); e.innerHTML = s; return e.innerHTML; }", svg
        )


def words(text: str) -> str:
    return " ".join(text.replace("\xa0", " ").split())


def expect(page: Page, scene: FusionScene) -> None:
    """The page shows what the scene says: pictures and texts to the letter, as many points as kernels."""
    marks = scene.marks
    for name, css in (("picture", "svg.rl-where"), ("bars", "svg.rl-bars")):
        assert page.picture(css) == page.parsed(marks[name]["value"]), name
    assert page.text(".rl-sentence") == words(scene.sentence)
    for name in ("depth", "bandwidth", "on_chip"):
        assert page.handle(name).get_attribute("aria-valuetext") == marks[f"{name}_text"]["value"]
    drawn = [words(text) for text in page.root.locator("svg.svg-figure text.label").all_text_contents()]
    labels = ("label_peak", "label_bandwidth", "label_ridge", "label_on_chip", "names", "label_before")
    written = [word for name in labels for word in marks[name]["text"]]
    assert drawn == [words(html.unescape(word)) for word in written]
    assert page.count("svg.svg-figure .dot") == sum(len(marks[n]["x"]) for n in ("glow", "kernels", "before", "now"))


@pytest.fixture
def open_explorer(lab):
    def open_it(arguments: str = "") -> Page:
        lab.open(lab.server.write("fusion_test.ipynb", MAKE.format(arguments)))
        lab.run_all()
        return Page(lab.page)

    return open_it


def test_a_deeper_fusion_merges_boxes_and_takes_arrows_away(open_explorer, lab):
    page, scene = open_explorer(), FusionScene()
    expect(page, scene)
    assert (page.count(".rl-kernel"), page.count(".rl-gone")) == (9, 0)
    before = page.count(".rl-read") + page.count(".rl-write")
    page.press("depth", "ArrowRight", 2)
    scene.depth = 3
    expect(page, scene)
    assert page.count(".rl-kernel") == len(scene.plan) == 4
    assert page.count(".rl-read") + page.count(".rl-write") + page.count(".rl-gone") == before
    assert rl.si(scene.now.seconds, "s") in page.text(".rl-sentence")
    page.press("bandwidth", "ArrowRight", 9)
    page.press("on_chip", "ArrowLeft", 4)
    scene.bandwidth_step += 9
    scene.on_chip_step -= 4
    expect(page, scene)
    lab.screenshot("fusion")
    assert not lab.errors


def test_too_little_on_chip_memory_is_a_state_that_can_be_left(open_explorer, lab):
    page = open_explorer("'VGG-19 start', rules='depth-first', depth=5")
    scene = FusionScene("VGG-19 start", rules="depth-first", depth=5)
    expect(page, scene)
    before = page.picture("svg.rl-where"), page.picture("svg.rl-bars"), page.text(".rl-sentence")
    steps = scene.on_chip_step
    page.press("on_chip", "Home")
    scene.on_chip_step = 0
    assert scene.now is None
    expect(page, scene)
    assert page.count(".rl-over") == 1 and page.count("svg.svg-figure .dot") == 1  # unfused alone
    assert "does not fit" in page.text(".rl-sentence") and "B too many" in page.text(".rl-sentence")
    lab.screenshot("fusion_over")
    page.press("on_chip", "ArrowRight", steps)
    assert (page.picture("svg.rl-where"), page.picture("svg.rl-bars"), page.text(".rl-sentence")) == before
    assert not lab.errors


def test_the_run_ends_with_the_totals_and_needs_no_kernel(open_explorer, lab):
    page, scene = open_explorer("depth=3"), FusionScene(depth=3)
    lab.shut_down_kernel()
    lab.wait_for_status("none")
    page.root.locator(".widget-play button").first.click()
    seen = "() => document.querySelectorAll('.rl-fusion .rl-pulse').length > 0"
    lab.page.wait_for_function(seen)
    assert page.count(".rl-runs") == 1 and page.count(".rl-cursor") == 2
    lab.screenshot("fusion_run")
    page.press("depth", "ArrowRight")  # while it runs
    scene.depth = 4
    lab.page.wait_for_function(
        "() => document.querySelector('.rl-fusion svg.rl-bars').getAttribute('aria-label').split('done').length === 3",
        timeout=30_000,
    )
    scene.tick = CLOCK_STEPS
    expect(page, scene)
    bars = words(page.root.locator("svg.rl-bars").text_content())
    for est in (scene.before, scene.now):
        assert f"{rl.si(est.seconds, 's')} · done" in bars
        assert f"{rl.si(est.dram_bytes, 'B')} · {rl.si(est.joules, 'J')}" in bars
    page.press("clock", "Home")
    scene.tick = 0
    expect(page, scene)
    page.press("clock", "ArrowRight", 40)  # by hand
    scene.tick = 40
    expect(page, scene)


def test_menus_change_the_picture_and_reset_brings_all_back(open_explorer, lab):
    page, scene = open_explorer(), FusionScene()
    page.press("depth", "End")
    scene.depth = scene.most_depth
    for menu, label in (
        ("network", "elementwise chain"),
        ("rules", "elementwise"),
        ("device", rl.device("jetson-orin-nano").name),
        ("precision", "int8"),
    ):
        page.choose(menu, label)
        setattr(scene, menu, "jetson-orin-nano" if menu == "device" else label)
        want = page.parsed(scene.marks["bars"]["value"]), words(scene.sentence)
        lab.page.wait_for_function(
            "([bars, said]) => document.querySelector('svg.rl-bars').outerHTML === bars"
            " && document.querySelector('.rl-sentence').innerText.split(/\\s+/).join(' ').trim() === said",
            arg=want, timeout=10_000,
        )  # fmt: skip
        page.frame()
        expect(page, scene)
        page.press("depth", "ArrowLeft")
        page.press("bandwidth", "ArrowLeft", 2)
        scene.depth -= 1
        scene.bandwidth_step -= 2
        expect(page, scene)
    page.root.get_by_text("reset").click()
    lab.page.wait_for_function("() => document.querySelector('.rl-fusion .rl-title').innerText.includes('MobileNet')")
    page.frame()
    expect(page, FusionScene())
    assert not lab.errors


def test_python_knows_where_the_sliders_are(open_explorer, lab):
    lab.open(
        lab.server.write(
            "fusion_python.ipynb",
            MAKE.format("rules='depth-first'"),
            "assert (explorer.scene.depth, explorer.scene.tick) == (4, 3), explorer.scene.controls",
        )
    )
    lab.start("run-cell")
    page = Page(lab.page)
    page.press("depth", "ArrowRight", 3)
    page.press("clock", "ArrowRight", 3)
    lab.wait_for_status("idle")
    lab.page.wait_for_timeout(300)
    lab.start("run-all-below", cell=1)
    lab.wait_for_cell(1, "idle")
    assert [c["outputs"] for c in lab.cells()][1:] == [[]]


def test_a_screen_reader_hears_names_values_and_pictures(open_explorer):
    page = open_explorer("depth=2")
    for css in ("svg.rl-where", "svg.rl-bars", "svg.svg-figure"):
        assert page.root.locator(css).get_attribute("role") == "img"
        assert page.root.locator(css).get_attribute("aria-label")
    assert page.root.locator(".rl-sentence [role=status]").get_attribute("aria-live") == "polite"
    for slider, label, value in (
        ("depth", "fusion depth", "2 operators"), ("bandwidth", "memory bandwidth", "17.1 GB/s"),
        ("on_chip", "on-chip memory", "2.10 MB"), ("clock", "clock of the run", "0 s of"),
    ):  # fmt: skip
        handle = page.handle(slider)
        assert handle.get_attribute("aria-label").startswith(label)
        assert handle.get_attribute("aria-valuetext").startswith(value)


def test_a_long_label_at_the_right_is_not_cut_off(open_explorer):
    page = open_explorer("'VGG-19 start', device='xeon-e5-2699-v3', depth=7")
    label = page.root.locator("svg.svg-figure text.label", has_text="B D E G · now")
    label.wait_for()
    box, (plot, _) = label.bounding_box(), page.root.locator("path.domain").all()
    inside = plot.bounding_box()
    assert inside["x"] < box["x"] and box["x"] + box["width"] < inside["x"] + inside["width"]


def test_a_move_is_painted_within_a_tenth_of_a_second(open_explorer):
    page = open_explorer()
    assert statistics.median(milliseconds(page.page, page.handle("bandwidth"), FIGURE, presses=15)) < 100


def test_an_exported_page_runs_without_a_notebook(browser, tmp_path):
    scene = FusionScene("elementwise chain", rules="elementwise", depth=2)
    path = rl.export_html(
        rl.FusionExplorer("elementwise chain", rules="elementwise", depth=2), tmp_path / "fusion.html"
    )
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    errors = listen_for_errors(opened)
    opened.goto(path.as_uri())
    page = Page(opened)
    expect(page, scene)
    page.press("depth", "End")
    scene.depth = scene.most_depth
    expect(page, scene)
    page.root.locator(".widget-play button").first.click()
    opened.wait_for_function("() => document.querySelectorAll('.rl-fusion .rl-pulse').length > 0")
    assert errors == []
    context.close()
