"""Lessons in JupyterLab, as a learner opens them."""

from __future__ import annotations

from roofline_lessons.scenes import RooflineScene
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
