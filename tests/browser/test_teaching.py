"""A prediction and an exercise in JupyterLab: by keyboard alone, and across a kernel that dies."""

from __future__ import annotations

PREDICT = """import roofline_lessons as rl
rl.predict("t-1", "How many times?", answer=lambda: len("a model"[:8]) + 1, between=(0.1, 100), unit="times")"""
CHECK = """def kernel_seconds(flops, dram_bytes, peak, bandwidth):
    return flops / peak + dram_bytes / bandwidth
rl.check("01-kernel-seconds", kernel_seconds)"""


def status(lab) -> str:
    return " ".join(lab.page.locator('[role="status"]').all_inner_texts())


def test_predict_by_keyboard_and_lose_nothing_when_the_kernel_dies(lab):
    lab.open(lab.server.write("teaching_test.ipynb", PREDICT, CHECK))
    lab.run_all()
    button = lab.page.get_by_role("button", name="lock my guess")
    button.wait_for()
    for _ in range(9):
        lab.page.locator(".noUi-handle").first.press("ArrowRight")
    lab.page.locator("b", has_text="18 times").wait_for()  # what stands beside the slider now
    button.press("Enter")
    lab.page.get_by_text("too high").wait_for()
    told = status(lab)
    assert "the model: 8.0 times" in told
    assert "You added the two times" in told
    lab.screenshot("teaching")

    lab.shut_down_kernel()
    lab.open("teaching_test.ipynb")  # the learner comes back
    lab.run_all()
    lab.page.get_by_text("too high").wait_for()
    assert status(lab) == told
    assert (
        lab.page.locator(".noUi-handle").first.get_attribute("disabled") is not None
        or lab.page.locator(".noUi-target[disabled]").count()
    )
    assert not lab.errors


def test_hints_and_the_solution_come_when_asked(lab):
    lab.open(lab.server.write("hints_test.ipynb", "import roofline_lessons as rl", CHECK))
    lab.run_all()
    lab.page.get_by_role("button", name="a hint").click()
    lab.page.get_by_text("Hint 1 of 3").wait_for()
    lab.page.get_by_role("button", name="the solution").click()
    lab.page.get_by_text("return max(flops / peak, dram_bytes / bandwidth)").or_(
        lab.page.get_by_text("The solution shows after")
    ).wait_for()


def test_the_map_shows_what_is_done(lab):
    lab.open(lab.server.write("map_test.ipynb", "import roofline_lessons as rl\nrl.progress()"))
    lab.run_all()
    lab.page.get_by_text("● done").wait_for()
    lab.screenshot("progress")
    assert not lab.errors
