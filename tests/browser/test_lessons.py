"""Lessons in JupyterLab, as a learner opens them."""

from __future__ import annotations

import os
from pathlib import Path

import roofline_lessons as rl
from roofline_lessons.engines import block, recorded
from roofline_lessons.measure.measurement import from_json
from roofline_lessons.scenes import RooflineScene
from roofline_lessons.scenes.by_hand import ByHandScene
from roofline_lessons.scenes.engines import TITLES
from roofline_lessons.scenes.fusion import FusionScene
from roofline_lessons.scenes.tiling import TilingScene
from tests.browser.test_explorer import expect


def test_start_here_says_that_widgets_work(lab):
    lab.open("00_start_here.ipynb")
    lab.run_all()
    lab.page.get_by_text("✓ The browser draws widgets. ✓ The kernel answered after").wait_for(timeout=20_000)
    lab.screenshot("lesson_00")
    assert not lab.errors


def test_lesson_02_the_slider_moves_the_roofline_of_mobilenet(lab):
    lab.open("02_the_roofline.ipynb")
    lab.run_all()
    explorer = lab.explorer()
    scene = RooflineScene("MobileNetV2", device="raspberry-pi-5", precision="fp32")
    expect(explorer, scene)
    before = scene.estimate.seconds_by_bound["compute"]
    explorer.press("bandwidth", "ArrowRight", 16)
    scene.bandwidth_step += 16
    expect(explorer, scene)
    assert scene.bandwidth_factor == 4
    assert scene.estimate.seconds_by_bound["compute"] > before  # operators went from memory- to compute-bound
    assert "Most of the time is arithmetic" in explorer.text()
    lab.screenshot("lesson_02")
    assert not lab.errors


def scroll_to(lab, css: str, drawn: str = "svg.svg-figure path.line >> nth=2"):
    """The first of what this selector finds. JupyterLab draws a cell when it is scrolled to."""
    found = lab.page.locator(css)
    for i in range(lab.page.evaluate("() => jupyterapp.shell.currentWidget.content.widgets.length")):
        if found.count():
            break
        lab.page.evaluate("i => jupyterapp.shell.currentWidget.content.scrollToItem(i, 'start')", i)
        lab.page.wait_for_timeout(200)
    root = found.first
    root.locator(drawn).wait_for(state="attached", timeout=30_000)
    root.scroll_into_view_if_needed()
    return root


def wait_for_sentence(root, scene) -> None:
    """The explorer says what the scene says."""
    sentence = root.locator(".rl-sentence")
    for _ in range(100):
        said = " ".join(sentence.inner_text().split())
        if said == " ".join(scene.sentence.split()):
            return
        root.page.wait_for_timeout(50)
    raise AssertionError(f"it says {said!r}, not {scene.sentence!r}")


def test_lesson_05_the_roof_of_this_machine_rises_to_what_was_measured(lab):
    lab.open("05_your_own_roofline.ipynb")
    lab.run_all()
    scroll_to(lab, ".rl-explorer")
    explorer = lab.explorer()
    here = from_json(Path(os.environ["ROOFLINE_MACHINE"]).read_bytes()).device()  # what the lesson measured, or found
    scene = RooflineScene("MobileNetV2", device=here)
    wait_for_sentence(explorer.root, scene)
    assert f"{here.name} (yours)" in explorer.text("select >> nth=1")
    hollow = "es => es.map(e => getComputedStyle(e)).filter(s => s.fill === 'none' && s.strokeWidth === '2px').length"
    lab.screenshot("lesson_05")
    assert explorer.root.locator(".dot").evaluate_all(hollow) == 4
    explorer.root.locator(".dot").nth(-1).hover(force=True)  # the last one drawn is the program in place
    lab.page.locator(".bqplot_mark_tooltip", has_text="measured: in place").wait_for(timeout=10_000)
    before = explorer.line()
    explorer.press("bandwidth", "ArrowRight", 8)
    scene.bandwidth_step += 8
    expect(explorer, scene)
    assert scene.bandwidth_factor == 2 and explorer.line()[1][0] < before[1][0]  # the ridge moved left
    lab.screenshot("lesson_05")
    assert not lab.errors


def test_lesson_06_depth_moves_bytes_and_time_and_past_the_ridge_only_bytes(lab):
    lab.open("06_fusing_a_chain.ipynb")
    lab.run_all()
    root, scene = scroll_to(lab, ".rl-fusion"), FusionScene(rules="depth-first")
    wait_for_sentence(root, scene)
    times = {1: scene.now.seconds}
    for depth in range(2, 10):
        root.locator(".rl-control-depth .noUi-handle").press("ArrowRight")
        scene.depth = depth
        times[depth] = scene.now.seconds
        if depth in (5, 9):
            wait_for_sentence(root, scene)
            lab.screenshot(f"lesson_06_depth_{depth}")
    assert times[5] < 0.3 * times[1] and times[9] > 0.99 * times[5]
    assert not lab.errors


def test_lesson_07_a_merge_is_refused_until_all_between_is_inside(lab):
    lab.open("07_what_may_be_fused.ipynb")
    lab.run_all()
    arc = 'button.rl-edge[title$="relu_0 and add_0"]'
    root, scene = scroll_to(lab, f".rl-by-hand:has({arc})", drawn="svg.rl-graph"), ByHandScene("residual block")

    def click(a: str, b: str) -> str:
        root.locator(f'button.rl-edge[title$="{a} and {b}"]').click()
        scene.merge(a, b)
        root.locator("[data-change]", has_text=scene.status).wait_for(timeout=10_000)
        return scene.status

    assert "without batch_norm_1, which needs relu_0 and feeds add_0" in click("relu_0", "add_0")
    lab.screenshot("lesson_07_refused")
    for a, b in (("conv_1", "batch_norm_1"), ("batch_norm_1", "add_0"), ("add_0", "relu_2")):
        assert click(a, b).startswith("Merged")
    assert root.locator("svg.rl-graph .rl-kind", has_text="folded").count() == 1
    assert "without relu_1" in click("relu_0", "add_0")
    for a, b in (("relu_1", "conv_1"), ("batch_norm_0", "relu_1"), ("conv_0", "batch_norm_0"), ("relu_0", "conv_0")):
        assert click(a, b).startswith("Merged")
    assert root.locator(arc).get_attribute("title").startswith("split")  # it closed by itself
    assert len(scene.plan) == 1 and "★" not in root.inner_text()
    root.get_by_text("reset").click()
    first, second = ("relu_0", "conv_0", "batch_norm_0"), ("relu_1", "conv_1", "batch_norm_1", "add_0", "relu_2")
    root.locator("[data-change]", has_text="Unfused: 8 kernels").wait_for(timeout=10_000)
    scene.reset()
    for kernel in (first, second):
        for a, b in zip(kernel, kernel[1:]):
            click(a, b)
    assert len(scene.plan) == 2 and "★" in root.inner_text()
    lab.screenshot("lesson_07")
    assert not lab.errors


def test_lesson_08_the_deepest_fusion_is_slower_than_the_best(lab):
    lab.open("08_how_deep.ipynb")
    lab.run_all()
    root, scene = scroll_to(lab, ".rl-tiling"), TilingScene("WDWD")
    wait_for_sentence(root, scene)
    deepest = scene.current.estimate.seconds
    for _ in range(2):
        root.locator(".rl-control-depth .noUi-handle").press("ArrowLeft")
    scene.depth = 2
    wait_for_sentence(root, scene)
    assert scene.current.name == scene.best.name == "[WD][WD]" and scene.current.estimate.seconds < deepest
    assert "MFLOP are computed again" in scene.sentence
    lab.screenshot("lesson_08")
    assert not lab.errors


def test_lesson_09_neither_roof_matters_to_keywords_on_a_data_centre_chip(lab):
    lab.open("09_whole_networks_on_the_edge.ipynb")
    lab.run_all()
    scroll_to(lab, ".rl-explorer")
    explorer = lab.explorer()
    scene = RooflineScene("DS-CNN keywords", device="raspberry-pi-5", precision="int8")
    expect(explorer, scene)
    on_the_pi = scene.estimate.seconds
    explorer.choose("device", rl.device("h100-sxm").name)
    scene.device = "h100-sxm"
    wait_for_sentence(explorer.root, scene)
    explorer.press("bandwidth", "ArrowRight", 24)
    explorer.press("peak", "ArrowRight", 16)
    scene.bandwidth_step, scene.peak_step = scene.bandwidth_step + 24, scene.peak_step + 16
    expect(explorer, scene)
    assert (scene.bandwidth_factor, scene.peak_factor) == (8, 4)
    assert scene.estimate.seconds > 1.5 * on_the_pi
    assert "fewer kernels help, a faster chip hardly does" in scene.sentence
    lab.screenshot("lesson_09")
    assert not lab.errors


def test_lesson_12_another_block_goes_through_the_engines(lab):
    lab.open("12_what_real_compilers_fuse.ipynb")
    lab.run_all(seconds=120)
    root = scroll_to(lab, ".rl-engines", drawn="svg.rl-engines-picture")
    for name in ("inverted_residual", "residual"):
        root.locator("select").select_option(label=TITLES[name])
        # times differ from run to run: what Core ML makes of it is said first, and has none
        made = len(recorded("coreml", name).plan)
        words = f"Core ML makes {made} kernel{'' if made == 1 else 's'} of {len(block(name))} operators"
        root.locator(".rl-sentence", has_text=words).wait_for(timeout=30_000)
        assert root.locator("svg.rl-engines-picture .rl-row").count() == 4
        lab.screenshot(f"lesson_12_{name}")
    assert not lab.errors


def test_lesson_12_nodes_on_the_roofline_of_this_machine(lab):
    lab.open("12_what_real_compilers_fuse.ipynb")
    lab.run_all(seconds=120)
    root = scroll_to(lab, ".rl-nodes", drawn=".rl-picture img")
    picture = root.locator(".rl-picture img")
    before = picture.get_attribute("src")
    assert "Nothing merged" in picture.get_attribute("alt")
    root.locator("select").nth(1).select_option(label="merged | merged, and blocks of channels")
    root.locator("td", has_text="ReorderInput").wait_for(timeout=30_000)  # a node that belongs to no operator
    assert picture.get_attribute("src") != before
    assert picture.evaluate("image => image.naturalWidth") > 800
    lab.screenshot("lesson_12_nodes")
    assert not lab.errors


def test_lesson_14_a_file_is_uploaded_and_a_wrong_one_changes_nothing(lab, tmp_path):
    rl.write_onnx(rl.networks.resnet18(), tmp_path / "mine.onnx")  # 47 MB: more than the server takes in one message
    (tmp_path / "notes.onnx").write_text("Not a model.")
    lab.open("14_your_own_model.ipynb")
    lab.run_all()
    report = scroll_to(lab, ".rl-report")
    choose = report.locator(".rl-upload input")
    report.get_by_text("✓ This is my_model.onnx").wait_for(timeout=20_000)
    choose.set_input_files(tmp_path / "mine.onnx")
    report.get_by_text("✓ mine.onnx is read: 69 operators").wait_for(timeout=60_000)
    scene = RooflineScene(rl.unfused(rl.read_onnx(tmp_path / "mine.onnx")), "raspberry-pi-5", "fp32")
    explorer = lab.explorer()
    expect(explorer, scene)
    explorer.press("bandwidth", "ArrowRight", 16)
    scene.bandwidth_step += 16
    expect(explorer, scene)
    choose.set_input_files(tmp_path / "notes.onnx")
    report.get_by_text("⚠ notes.onnx: it is not an ONNX file").wait_for(timeout=20_000)
    report.get_by_text("Below is still mine.onnx.").wait_for(timeout=20_000)
    expect(explorer, scene)  # the slider, too, is where it was
    lab.screenshot("lesson_14")
    report.get_by_role("button", name="save as HTML").click()
    report.get_by_text("✓ saved: mine.onnx on raspberry-pi-5, fp32.html").wait_for(timeout=20_000)
    assert "mine.onnx" in (lab.server.folder / "mine.onnx on raspberry-pi-5, fp32.html").read_text(encoding="utf-8")
    assert not lab.errors


def test_a_file_that_is_too_large_is_told_before_it_is_sent(lab, tmp_path):
    code = "import roofline_lessons as rl\nwidget = rl.ModelReport()\nwidget.upload.most_bytes = 2_000_000\nwidget"
    (tmp_path / "large.onnx").write_bytes(bytes(3_000_000))
    lab.open(lab.server.write("upload_test.ipynb", code))
    lab.run_all()
    report = scroll_to(lab, ".rl-report")
    report.locator(".rl-upload input").set_input_files(tmp_path / "large.onnx")
    words = "large.onnx has 3 MB; the page sends at most 2 MB. Write its path into the field instead"
    report.get_by_text(words).wait_for(timeout=20_000)
    report.get_by_text("✓ This is ds_cnn").wait_for(timeout=20_000)
    assert not lab.errors
