"""Fuse it yourself in a real browser: click or press an edge, see bytes fall, and be told why not."""

from __future__ import annotations

import html
import re

import pytest

from roofline_lessons.scenes.by_hand import ByHandScene
from tests.browser.lab import Lab

MAKE = 'import roofline_lessons as rl\nwidget = rl.FuseByHand("{}")\nwidget'
READOUTS = ("time", "bytes", "speed_up", "limit")


class Page:
    """The fuse-it-yourself widget on a page of JupyterLab."""

    def __init__(self, lab: Lab, network: str) -> None:
        self.lab, self.page = lab, lab.page
        lab.open(lab.server.write("by_hand_test.ipynb", MAKE.format(network)))
        lab.run_all()
        self.root = lab.page.locator(".rl-by-hand")
        self.root.locator("svg.rl-graph").wait_for(timeout=30_000)
        self.scene = ByHandScene(network)
        self.buttons = self.root.locator("button.rl-edge")
        self.buttons.nth(len(self.scene.edges) - 1).wait_for()

    def edge(self, a: str, b: str) -> int:
        return [(e.maker, e.reader) for e in self.scene.edges].index((a, b))

    def wait_for_status(self, words: str) -> None:
        """The answer comes from the kernel."""
        self.page.wait_for_function(
            "words => document.querySelector('.rl-by-hand [data-change]').innerText.includes(words)",
            arg=words,
            timeout=10_000,
        )

    def expect(self) -> None:
        """The page shows what the scene says."""
        texts = self.scene.texts
        self.wait_for_status(self.scene.status)
        shown = [text.replace("\xa0", " ") for text in self.root.locator(".rl-value").all_inner_texts()]
        assert shown == [plain(texts[name]) for name in READOUTS]
        page_text = self.root.inner_text().replace("\xa0", " ")
        for name in ("challenge", "sentence", "saved"):
            assert plain(texts[name]) in page_text
        letters = [plain(text) for text in self.root.locator("svg text.rl-letter").all_text_contents()]
        assert letters == re.findall(r'rl-letter"[^>]*>(.*?)<', texts["picture"])
        assert self.root.locator("path.rl-trip").count() == texts["picture"].count("rl-trip")
        for i, edge in enumerate(self.scene.edges):
            what = "split" if self.scene.joined(edge) else "merge"
            assert self.buttons.nth(i).get_attribute("title") == f"{what} {edge.name}"

    def everything(self) -> str:
        """All that is shown, but for the status line."""
        return self.root.evaluate(
            "e => { const copy = e.cloneNode(true); copy.querySelector('[data-change]').remove();"
            " return copy.innerHTML.replace(/tabindex=.\\d+./g, ''); }"
        )


def plain(text: str) -> str:
    return html.unescape(re.sub("<[^>]*>", "", text)).replace("\xa0", " ")


def test_clicking_edges_makes_bytes_fall(lab):
    page = Page(lab, "MobileNetV2 block")
    page.expect()
    arrows = page.root.locator("path.rl-trip")
    before = arrows.count()
    for a, b in (("conv_0", "batch_norm_0"), ("batch_norm_0", "relu6_0"), ("relu6_0", "conv_1")):
        bytes_before = page.scene.estimate.dram_bytes
        page.buttons.nth(page.edge(a, b)).click()
        page.scene.merge(a, b)
        page.expect()
        assert page.scene.estimate.dram_bytes < bytes_before
    assert arrows.count() == before - 3
    lab.screenshot("by_hand")
    page.buttons.nth(page.edge("batch_norm_0", "relu6_0")).click()
    page.scene.split("batch_norm_0", "relu6_0")
    page.expect()
    page.root.get_by_text("undo").click()
    page.scene.undo()
    page.expect()
    page.root.get_by_text("reset").click()
    page.scene.reset()
    page.expect()
    assert not lab.errors


def test_an_illegal_merge_shows_its_sentence_and_nothing_else_changes(lab):
    page = Page(lab, "residual block")
    page.expect()
    before = page.everything()
    page.buttons.nth(page.edge("relu_0", "add_0")).click()
    page.wait_for_status("not fused: relu_0 and add_0 cannot share a kernel without batch_norm_1")
    assert page.root.locator("[role=alert]").is_visible()
    lab.screenshot("by_hand_refused")
    page.page.mouse.move(1, 1)
    assert page.everything() == before
    for a, b in (("relu_0", "conv_0"), ("conv_0", "batch_norm_0")):  # and legal ones still work
        page.buttons.nth(page.edge(a, b)).click()
        page.scene.merge(a, b)
        page.expect()
    assert page.root.locator("[role=alert]").count() == 0
    assert not lab.errors


def test_the_keyboard_is_enough(lab):
    page = Page(lab, "fork")
    page.page.keyboard.press("Escape")  # JupyterLab's command mode, so that Tab moves on
    page.root.locator("select").first.focus()
    for _ in range(12):
        page.page.keyboard.press("Tab")
        if page.page.evaluate("() => document.activeElement.title") == "merge relu_0 and double":
            break
    else:
        pytest.fail("the first edge cannot be reached with Tab")
    page.page.keyboard.press("Enter")
    page.scene.merge("relu_0", "double")
    page.expect()
    assert page.page.evaluate("() => document.activeElement.title") == "split relu_0 and double"  # the focus stays
    page.page.keyboard.press("Tab")
    page.page.keyboard.press("Space")
    page.scene.merge("relu_0", "plus_one")
    page.expect()
    assert "★" in page.root.inner_text()
    page.page.keyboard.press("Shift+Tab")
    page.page.keyboard.press("Enter")
    page.scene.split("relu_0", "double")
    page.expect()
    assert not lab.errors


def test_buttons_lie_on_their_edges(lab):
    """Each button is where the picture draws its edge, in two rows of operators as well."""
    page = Page(lab, "VGG-19 start")
    at = page.scene.layout
    stage = page.root.locator("svg.rl-graph").bounding_box()
    for i, edge in enumerate(page.scene.edges):
        box = page.buttons.nth(i).bounding_box()
        x, y = at.buttons[edge]
        assert box["x"] + box["width"] / 2 - stage["x"] == pytest.approx(x, abs=2)
        assert box["y"] + box["height"] / 2 - stage["y"] == pytest.approx(y, abs=2)


def test_rule_sets_set_the_state(lab):
    page = Page(lab, "MobileNetV2 block")
    for rules in ("epilogue", "depth-first", "none"):
        page.root.locator("select").first.select_option(label=rules)
        page.scene.follow(rules)
        page.expect()
    lab.screenshot("by_hand_rules")
    assert not lab.errors
