"""Predictions, quizzes, exercises and the map in JupyterLab: by keyboard alone, and across a kernel that dies."""

from __future__ import annotations

import pytest

IMPORT = "import roofline_lessons as rl\n"
PREDICT = (
    'rl.predict("t-1", "How many times?", answer=lambda: len("a model"[:8]) + 1, between=(0.1, 100), unit="times")'
)
NUMBER = 'rl.predict("t-2", "How long?", answer=lambda: 8.0, unit="ms")'
QUIZ = """rl.quiz("t-3", "Which is it?", {"red": "because r", "green": "because g", "blue": "because b"},
        answer=lambda: "green")"""
CHECK = """def kernel_seconds(flops, dram_bytes, peak, bandwidth):
    return flops / peak + dram_bytes / bandwidth
rl.check("01-kernel-seconds", kernel_seconds)"""
SOLVED = CHECK.replace(
    "return flops / peak + dram_bytes / bandwidth", "return max(flops / peak, dram_bytes / bandwidth)"
)

#: All that the page sends arrives late, in its order.
SLOW_LINE = """(() => { const send = WebSocket.prototype.send;
  WebSocket.prototype.send = function (data) { setTimeout(() => send.call(this, data), 400); }; })()"""

#: What has the focus, as a person would name it.
FOCUS = """() => { const e = document.activeElement;
  return e.getAttribute("role") === "status" ? "feedback" : e.type ?? e.getAttribute("role") ?? e.tagName; }"""


def status(lab) -> str:
    return " ".join(lab.page.locator('[role="status"]').all_inner_texts())


def keys(lab, *names: str) -> None:
    for name in names:
        lab.page.keyboard.press(name)
        lab.page.wait_for_timeout(50)  # as fast as a quick person


def wait_for_focus(lab, name: str) -> None:
    lab.page.wait_for_function(f"name => ({FOCUS})() === name", arg=name, timeout=10_000)


def active_cell(lab) -> int:
    return lab.page.evaluate("() => jupyterapp.shell.currentWidget.content.activeCellIndex")


@pytest.fixture
def ask(lab):
    """Run a question in the second cell, the last cell active, and put the focus on its control."""

    def ask(question: str, control: str):
        name = f"question_{control}_test.ipynb"
        (lab.server.folder / "my.progress.json").unlink(missing_ok=True)
        lab.open(lab.server.write(name, IMPORT, question, "'a cell below'"))
        lab.run_all()
        lab.page.locator(".rl-teaching button", has_text="lock my guess").wait_for()
        found = lab.page.get_by_role(control).and_(lab.page.locator(".rl-teaching *")).first
        found.focus()
        lab.page.wait_for_timeout(100)  # the focus makes the cell the active one
        return found

    return ask


def test_a_slider_is_moved_locked_and_moved_again_by_keyboard_alone(lab, ask):
    slider = ask(PREDICT, "slider")
    cell = active_cell(lab)
    keys(lab, "Tab", "Enter")
    lab.page.get_by_text("Move the slider first").wait_for()
    wait_for_focus(lab, "submit")  # nothing was locked: the focus stays on the button
    keys(lab, "Shift+Tab", *["ArrowRight"] * 3, *["ArrowUp"] * 7, "ArrowDown")
    lab.page.locator("b", has_text="18 times").wait_for()
    assert (slider.get_attribute("aria-label"), slider.get_attribute("aria-valuetext")) == (
        "How many times?",
        "18 times",
    )
    keys(lab, "Tab", "Enter")
    lab.page.get_by_text("2.3× too high").wait_for()
    wait_for_focus(lab, "feedback")
    assert slider.get_attribute("aria-disabled") == "true"
    keys(lab, "Tab", "Enter")  # guess again
    wait_for_focus(lab, "slider")
    keys(lab, *["ArrowLeft"] * 4, "Tab", "Enter")
    lab.page.get_by_text("✓ Right.").wait_for()
    wait_for_focus(lab, "feedback")
    lab.screenshot("predict")
    assert active_cell(lab) == cell  # no arrow key reached the notebook
    assert not lab.errors


def test_a_choice_is_made_locked_and_made_again_by_keyboard_alone(lab, ask):
    ask(QUIZ, "radio")
    cell = active_cell(lab)
    chosen = "() => document.querySelector('.rl-teaching input:checked')?.dataset.value ?? null"
    keys(lab, "Tab", "Enter")
    lab.page.get_by_text("Choose first").wait_for()
    keys(lab, "Shift+Tab", "Space")
    assert lab.page.evaluate(chosen) in ("red", "blue")  # a group is entered at either end
    for key, option in [("ArrowDown", None), ("ArrowDown", None), ("ArrowUp", None), ("ArrowRight", None)]:
        before = lab.page.evaluate(chosen)
        keys(lab, key)
        assert lab.page.evaluate(chosen) not in (before, option), f"{key} moved nothing"
    while lab.page.evaluate(chosen) != "blue":
        keys(lab, "ArrowDown")
    keys(lab, "Tab", "Enter")
    lab.page.get_by_text("✗ You chose").wait_for()
    told = lab.page.locator(".rl-said").inner_text()
    assert all(words in told for words in ("blue: because b", "The model says green: because g", "red: because r"))
    wait_for_focus(lab, "feedback")
    keys(lab, "Tab", "Enter")
    wait_for_focus(lab, "radio")
    keys(lab, "ArrowUp")
    assert lab.page.evaluate(chosen) == "green"
    keys(lab, "Tab", "Enter")
    lab.page.get_by_text("✓ Right, green: because g").wait_for()
    lab.screenshot("quiz")
    assert active_cell(lab) == cell
    assert not lab.errors


def test_a_number_is_typed_and_locked_by_keyboard_alone(lab, ask):
    ask(NUMBER, "textbox")
    lab.page.keyboard.type("1,5")
    keys(lab, "Tab", "Enter")
    lab.page.get_by_text("“1,5” is not a number").wait_for()
    keys(lab, "Shift+Tab", "Control+a")
    lab.page.keyboard.type("16")
    keys(lab, "Tab", "Enter")
    lab.page.get_by_text("Your guess: 16 ms · the model: 8.0 ms. 2.0× too high.").wait_for()
    wait_for_focus(lab, "feedback")
    assert not lab.errors


def test_the_first_lesson_from_its_opening_to_the_feedback_by_keyboard_alone(lab):
    (lab.server.folder / "my.progress.json").unlink(missing_ok=True)
    lab.open("00_start_here.ipynb")
    lab.page.wait_for_function("() => document.activeElement.closest('.jp-Cell')")  # JupyterLab puts the focus there
    ask = "() => jupyterapp.shell.currentWidget.content.activeCell.model.sharedModel.source.includes('rl.quiz(')"
    for _ in range(10):
        if lab.page.evaluate(ask):
            break
        keys(lab, "Shift+Enter")
    keys(lab, "Control+Enter")
    lab.page.get_by_role("button", name="lock my guess").wait_for()
    for _ in range(4):
        keys(lab, "Tab")
        if lab.page.evaluate(FOCUS) == "radio":
            break
    keys(lab, "Space", "ArrowDown", "Tab", "Enter")
    lab.page.get_by_text("✗ You chose peak: It seldom waits for arithmetic.").wait_for()
    wait_for_focus(lab, "feedback")
    lab.screenshot("lesson_00_keyboard")
    assert not lab.errors


@pytest.mark.parametrize("question, control", [(PREDICT, "slider"), (NUMBER, "textbox")])
def test_on_a_slow_line_the_guess_is_what_stood_there_when_it_was_locked(lab, ask, question, control):
    lab.page.add_init_script(SLOW_LINE)
    ask(question, control)
    if control == "slider":
        for _ in range(9):
            lab.page.keyboard.press("ArrowRight")
    else:
        lab.page.keyboard.type("18")
    keys(lab, "Tab", "Enter")  # the kernel has not heard of the last key yet
    lab.page.get_by_text("Your guess: 18 ").wait_for()


@pytest.mark.parametrize(
    "question, control, role, name",
    [
        (PREDICT, "slider", "slider", "How many times?"),
        (QUIZ, "radio", "radiogroup", "Which is it?"),
        (NUMBER, "textbox", "textbox", "How long? In ms."),
    ],
)
def test_a_screen_reader_hears_the_question_at_its_control(lab, ask, question, control, role, name):
    ask(question, control)
    lab.page.get_by_role(role, name=name, exact=True).wait_for()
    lab.page.get_by_role("status").and_(lab.page.locator(".rl-said *")).wait_for(state="attached")


def test_a_kernel_that_dies_in_the_middle_loses_nothing(lab):
    (lab.server.folder / "my.progress.json").unlink(missing_ok=True)
    lab.open(lab.server.write("lost_test.ipynb", IMPORT + PREDICT, QUIZ, CHECK, "rl.progress()"))
    lab.run_all()
    lock = lab.page.locator(".rl-teaching").first.get_by_role("button", name="lock my guess")
    lock.wait_for()
    for _ in range(9):
        lab.page.get_by_role("slider", name="How many times?").press("ArrowRight")
    lab.page.locator("b", has_text="18 times").wait_for()
    lock.press("Enter")
    lab.page.get_by_text("too high").wait_for()
    told = status(lab)
    assert "the model: 8.0 times" in told and "You added the two times" in told
    lab.page.evaluate(
        "code => jupyterapp.shell.currentWidget.content.model.cells.get(2).sharedModel.setSource(code)", SOLVED
    )
    lab.start("run-cell", 2)
    lab.page.get_by_text("✓ correct.").wait_for()
    lab.page.evaluate("() => jupyterapp.commands.execute('docmanager:save')")
    lab.screenshot("teaching")

    lab.shut_down_kernel()
    lab.open("lost_test.ipynb")  # the learner comes back
    lab.run_all()
    lab.page.get_by_text("Your guess: 18 times · the model: 8.0 times. 2.3× too high.").wait_for()
    assert lab.page.get_by_role("slider", name="How many times?").get_attribute("aria-disabled") == "true"
    lab.page.get_by_text("✓ correct.").wait_for()  # the learner's own lines were saved with the notebook
    lab.page.get_by_role("img", name="01-kernel-seconds: done").wait_for()
    lab.page.locator("input[type=radio]").nth(1).check()  # and continues
    lab.page.locator(".rl-teaching").nth(1).get_by_role("button", name="lock my guess").press("Enter")
    lab.page.get_by_text("✓ Right, green: because g").wait_for()
    # JupyterLab's own words about the outputs of the dead kernel, until the cells have run again
    assert not [error for error in lab.errors if "widget model not found" not in error]


def test_a_button_that_python_does_not_hear_says_so(lab):
    lab.open(lab.server.write("silence_test.ipynb", IMPORT + CHECK))
    lab.run_all()
    hint = lab.page.get_by_role("button", name="a hint")
    hint.press("Enter")
    lab.page.get_by_text("Hint 1 of 3").wait_for()
    lab.page.wait_for_timeout(4500)
    assert "Python does not answer" not in status(lab)
    lab.shut_down_kernel()
    hint.press("Enter")
    lab.page.get_by_text("Python does not answer").wait_for(timeout=10_000)
    lab.screenshot("silence")


def test_a_locked_question_that_python_does_not_hear_says_so(lab, ask):
    """Its control cannot be asked either: what the press would bring along has nowhere to go."""
    ask(PREDICT, "slider")
    keys(lab, "ArrowRight", "Tab", "Enter")
    wait_for_focus(lab, "feedback")
    lab.shut_down_kernel()
    lab.wait_for_status("none")
    lab.page.get_by_role("button", name="guess again").press("Enter")
    lab.page.get_by_text("Python does not answer").wait_for(timeout=10_000)


def test_the_number_beside_a_slider_is_clear_of_its_handle(lab, ask):
    slider = ask(PREDICT, "slider")
    keys(lab, "End")
    lab.page.locator("b", has_text="times").wait_for()
    handle, number = slider.bounding_box(), lab.page.locator(".rl-teaching b", has_text="times").bounding_box()
    assert number["x"] - handle["x"] - handle["width"] >= 8


def test_hints_and_the_solution_come_when_asked(lab):
    (lab.server.folder / "my.progress.json").unlink(missing_ok=True)
    lab.open(lab.server.write("hints_test.ipynb", IMPORT, CHECK))
    lab.run_all()
    hint = lab.page.get_by_role("button", name="a hint")
    hint.focus()
    keys(lab, "Enter")
    lab.page.get_by_text("Hint 1 of 3").wait_for()
    keys(lab, "Space")
    lab.page.get_by_text("Hint 2 of 3").wait_for()
    keys(lab, "Tab", "Enter")
    lab.page.get_by_text("The solution shows after one more try, or when you ask again.").wait_for()
    keys(lab, "Enter")
    lab.page.get_by_text("return max(flops / peak, dram_bytes / bandwidth)").wait_for()
    lab.screenshot("hints")
    assert not lab.errors


def test_the_map_shows_what_is_done(lab):
    lab.open(lab.server.write("map_test.ipynb", IMPORT + "rl.progress()"))
    lab.run_all()
    lab.page.get_by_text("● done").wait_for()
    lab.screenshot("progress")
    assert not lab.errors


def test_the_map_leads_to_a_lesson_and_keeps_and_brings_in_the_record(lab, tmp_path):
    (lab.server.folder / "my.progress.json").write_text(
        '{"version": 1, "items": {"02-attainable": {"kind": "exercise", "outcome": "correct"}}}'
    )
    lab.open(lab.server.write("map_test.ipynb", IMPORT + "rl.progress()"))
    lab.run_all()
    lab.page.get_by_role("img", name="02-attainable: done").wait_for()
    with lab.page.expect_download() as download:
        lab.page.get_by_text("keep the record as a file").click()
    download.value.save_as(tmp_path / "kept.json")
    (lab.server.folder / "my.progress.json").unlink()
    lab.run_all()
    lab.page.get_by_role("img", name="02-attainable: not yet").wait_for()
    with lab.page.expect_file_chooser() as chooser:
        lab.page.get_by_role("button", name="bring in a record").press("Enter")
    chooser.value.set_files(tmp_path / "kept.json")
    lab.page.get_by_text("✓ 1 item came in from kept.json.").wait_for()
    lab.page.get_by_role("img", name="02-attainable: done").wait_for()
    lab.page.wait_for_timeout(4500)
    assert "Python does not answer" not in status(lab)  # the page opened the dialogue: nothing to hear
    lab.page.get_by_role("link", name="02 · The roofline").press("Enter")
    lab.page.wait_for_url("**/02_the_roofline.ipynb")
    (lab.server.folder / "my.progress.json").unlink()
