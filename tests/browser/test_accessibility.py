"""What a screen reader is told, read from the browser's own accessibility tree: names, states, values."""

from __future__ import annotations

import re

import pytest

from roofline_lessons.scenes.tiling import TilingScene

EXPLORERS = {
    "RooflineExplorer": (["network", "device", "precision", "batch"], {"bandwidth", "peak"}),
    "FusionExplorer": (["network", "device", "precision", "rule set"], {"depth", "bandwidth", "on_chip", "clock"}),
    "TilingExplorer": (["network", "device", "precision", "halo"], {"depth", "tile", "memory"}),
    "FuseByHand": (["show rule set", "device", "precision"], set()),
}


class Tree:
    """The accessibility tree below the explorer of a page."""

    def __init__(self, page) -> None:
        self.session = page.context.new_cdp_session(page)

    def nodes(self, role: str) -> list[dict]:
        document = self.session.send("DOM.getDocument")["root"]["nodeId"]
        found = self.session.send("DOM.querySelector", {"nodeId": document, "selector": ".rl-explorer"})["nodeId"]
        nodes = self.session.send("Accessibility.queryAXTree", {"nodeId": found, "role": role})["nodes"]
        return [node for node in nodes if not node["ignored"]]

    def names(self, role: str) -> list[str]:
        return [node["name"]["value"] for node in self.nodes(role)]

    def property(self, role: str, name: str, what: str):
        node = next(node for node in self.nodes(role) if node["name"]["value"] == name)
        return next((p["value"]["value"] for p in node["properties"] if p["name"] == what), None)


@pytest.fixture
def opened(lab):
    def open_it(call: str) -> Tree:
        lab.open(lab.server.write("names_test.ipynb", f"import roofline_lessons as rl\nrl.{call}"))
        lab.run_all()
        lab.page.locator(".rl-explorer select").first.wait_for(timeout=30_000)
        lab.page.wait_for_function("() => document.querySelector('.rl-explorer select[aria-label]')")
        if not call.startswith("FuseByHand"):
            lab.page.wait_for_function("() => document.querySelector('.rl-explorer .noUi-handle[aria-label]')")
        return Tree(lab.page)

    return open_it


@pytest.mark.parametrize("explorer", EXPLORERS)
def test_menus_buttons_and_sliders_have_names(opened, explorer):
    menus, sliders = EXPLORERS[explorer]
    tree = opened(f"{explorer}()")
    assert tree.names("combobox") == menus
    assert len(tree.names("slider")) == len(sliders)
    for role in ("slider", "button", "spinbutton"):
        for name in tree.names(role):
            assert re.search("[a-z]{3}", name), f"a {role} called {name!r}"


def test_the_run_can_be_started_and_stopped_by_name(opened):
    assert {"run, or pause the run", "stop the run"} <= set(opened("FusionExplorer()").names("button"))


def test_edges_say_what_they_do_and_whether_they_are_joined(opened, lab):
    tree = opened("FuseByHand('fork')")
    lab.page.get_by_role("button", name="merge relu_0 and double").click()
    lab.page.wait_for_function("() => document.querySelector('[aria-label=\"split relu_0 and double\"]')")
    assert tree.property("button", "split relu_0 and double", "pressed") == "true"
    assert tree.property("button", "merge relu_0 and plus_one", "pressed") == "false"
    assert {"split relu_0 and double", "merge relu_0 and plus_one"} <= set(tree.names("button"))


def test_a_slider_says_its_value_with_the_unit_whatever_moved_it(opened, lab):
    opened("TilingExplorer()")
    scene = TilingScene()
    handles = {name: lab.page.locator(f".rl-control-{name} .noUi-handle") for name in ("depth", "tile", "memory")}

    def expect() -> None:
        lab.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        said = [handle.get_attribute("aria-valuetext") for handle in handles.values()]  # Chromium's tree is without it
        marks = scene.marks
        assert said == [re.sub("<[^>]*>", "", marks[f"{name}_text"]["value"]) for name in handles]

    expect()
    for key in ("End", "End", "ArrowRight", "Home", "Home", "ArrowLeft"):  # at the stops nothing else changes
        for name in handles:
            handles[name].press(key)
        last = key in ("End", "ArrowRight")
        scene.depth = scene.layers if last else 1
        scene.tile_step = (len(scene.tiles) - 1) * last
        scene.memory_step = (len(scene.capacities) - 1) * last
        expect()
    handles["memory"].press("End")
    scene.memory_step = len(scene.capacities) - 1
    expect()
    assert scene.marks["memory_text"]["value"] == "no limit"
    lab.page.locator(".rl-menu-0 select").select_option(label="VGG-19 start")  # other ends of two sliders
    scene.network = "VGG-19 start"
    lab.page.wait_for_function("() => document.querySelector('.rl-value').innerText.includes('of 7')", timeout=10_000)
    expect()
