"""`export_html`: one file, no kernel, no network; the slider still moves the line."""

from __future__ import annotations

import ipywidgets as W
import pytest

import roofline_lessons as rl
from roofline_lessons.scenes import RooflineScene
from tests.browser.explorer import Explorer
from tests.browser.lab import listen_for_errors, screenshot
from tests.browser.test_explorer import expect


@pytest.fixture
def offline(browser):
    """Opens a file without a network: the page, what it asks for, and its errors."""
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 1000})

    def open_file(path):
        page = context.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url.split(":")[0]))
        errors = listen_for_errors(page)
        page.goto(path.as_uri())
        return page, asked, errors

    yield open_file
    context.close()


def test_the_exported_page_works_offline_from_a_file(offline, tmp_path):
    start = {"network": "MobileNetV2", "device": "jetson-orin-nano", "precision": "fp16"}
    scene = RooflineScene(**start)
    path = rl.export_html(
        rl.RooflineExplorer(**start), tmp_path / "explorer.html", title="MobileNetV2 & <the> roofline"
    )
    assert list(tmp_path.iterdir()) == [path]
    assert path.stat().st_size < 3_000_000
    page, asked, errors = offline(path)
    explorer = Explorer(page)
    expect(explorer, scene)
    for slider, key, times, step in (
        ("bandwidth", "ArrowRight", 7, 31),
        ("peak", "Home", 1, 0),
        ("bandwidth", "End", 1, 48),
    ):
        explorer.press(slider, key, times)
        setattr(scene, f"{slider}_step", step)
        expect(explorer, scene)
    explorer.drag_to("bandwidth", 0.5)
    scene.bandwidth_step = 24
    expect(explorer, scene)
    assert explorer.root.locator("select:enabled:visible, button:enabled:visible").count() == 0
    assert page.title() == "MobileNetV2 & <the> roofline"
    explorer.root.get_by_text("as a table").click()
    assert "batch_norm" in explorer.text(".rl-table")
    screenshot(page, "export")
    assert asked == ["file", "blob", "blob"]  # the page itself, and the modules of driver and names out of the page
    assert errors == []


def test_the_page_starts_where_the_sliders_stand(offline, tmp_path):
    """Python never writes the marks: without a first step of the driver the page would show the picture of the
    start.
    """
    widget, scene = rl.RooflineExplorer(), RooflineScene()
    widget.controls["bandwidth"].value = scene.bandwidth_step = 40
    page, _, _ = offline(rl.export_html(widget, tmp_path / "moved.html"))
    expect(Explorer(page), scene)


def test_any_widget_can_be_exported(offline, tmp_path):
    slider, text, box = W.IntSlider(3), W.Label("3"), W.Checkbox(description="kernel <only>")
    link = W.jsdlink((slider, "value"), (text, "value"))
    widget = W.Tab([W.VBox([slider, text, box])], titles=["</script> & so on"])
    page, asked, errors = offline(rl.export_html(widget, tmp_path / "any.html"))
    page.locator(".noUi-handle").press("ArrowRight")
    assert page.locator(".widget-label", has_text="4").inner_text() == "4"
    assert page.get_by_text("</script> & so on").is_visible()
    assert page.locator("input[type=checkbox]").is_disabled()
    assert (asked, errors) == (["file"], [])
    link.close()


def test_what_cannot_be_exported_is_said(tmp_path):
    with pytest.raises(ValueError, match="only a widget can be exported, not str; try rl.RooflineExplorer"):
        rl.export_html("explorer", tmp_path / "x.html")
    with pytest.raises(ValueError, match="cannot write x.html: the folder .*nowhere does not exist"):
        rl.export_html(W.Label(), tmp_path / "nowhere" / "x.html")
    with pytest.raises(ValueError, match="an Output widget shows what a kernel prints"):
        rl.export_html(W.VBox([W.Output()]), tmp_path / "x.html")
    label = W.Label()
    label._model_module = "jupyter-no-such-widgets"
    with pytest.raises(
        ValueError, match="jupyter-no-such-widgets cannot be found: `pip install jupyter-no-such-widgets`"
    ):
        rl.export_html(label, tmp_path / "x.html")
    assert list(tmp_path.iterdir()) == []
