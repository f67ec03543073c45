"""`rl.check`: the four outcomes, whatever a learner's code does."""

from __future__ import annotations

import sys
import time

import numpy as np
import pytest

import roofline_lessons as rl
from roofline_lessons.teaching import checks as checking
from roofline_lessons.teaching.checks import Check
from roofline_lessons.teaching.equality import equal
from roofline_lessons.teaching.exercise import Exercise, load
from roofline_lessons.teaching.exercises import EXERCISES
from roofline_lessons.teaching.judging import judge
from roofline_lessons.teaching.record import Progress
from roofline_lessons.teaching.running import run

NAMES = list(EXERCISES)
KERNEL = EXERCISES["01-kernel-seconds"]


@pytest.fixture(autouse=True)
def own_record(tmp_path, monkeypatch):
    monkeypatch.setenv("ROOFLINE_PROGRESS", str(tmp_path / "my.progress.json"))
    monkeypatch.setattr(checking, "_asked", {})
    monkeypatch.setattr(checking, "_hints_given", {})


@pytest.mark.parametrize("name", NAMES)
def test_every_solution_is_correct(name):
    verdict = judge(EXERCISES[name], load(EXERCISES[name].solution))
    assert verdict.outcome == "correct", f"exercise {name}: its own solution is {verdict.outcome}: {verdict.message}"


@pytest.mark.parametrize("name", NAMES)
def test_every_stub_is_not_attempted(name):
    outcome = judge(EXERCISES[name], load(EXERCISES[name].stub)).outcome
    assert outcome == "not attempted", f"exercise {name}: its stub counts as {outcome}"


@pytest.mark.parametrize("name, i", [(n, i) for n in NAMES for i in range(len(EXERCISES[n].misconceptions))])
def test_every_misconception_fails_with_its_own_message(name, i):
    wrong = EXERCISES[name].misconceptions[i]
    verdict = judge(EXERCISES[name], load(wrong.code))
    where = f"exercise {name}, misconception {i + 1} ({wrong.code!r})"
    assert verdict.outcome == "not yet", f"{where}: it is {verdict.outcome}"
    assert verdict.message == wrong.why, f"{where}: it is told {verdict.message!r}, not its own message"


@pytest.mark.parametrize("name", NAMES)
def test_random_inputs_differ_between_runs_and_there_is_more_than_one_input(name):
    exercise = EXERCISES[name]
    first, second = (exercise.draw(np.random.default_rng()) for _ in range(2))
    assert first != second, f"exercise {name}: its random inputs are the same in every run"
    assert len(first) > len(exercise.inputs) >= 2, f"exercise {name}: one input is not enough"


@pytest.mark.parametrize("name", NAMES)
def test_every_exercise_has_hints_and_messages_that_differ(name):
    exercise = EXERCISES[name]
    assert len(exercise.hints) >= 2
    assert len({m.why for m in exercise.misconceptions}) == len(exercise.misconceptions)


def test_a_lucky_constant_does_not_pass():
    right = load(KERNEL.solution)
    fixed = [right(*args) for args in KERNEL.inputs]
    answers = iter([*fixed, 1.0, 1.0, 1.0])
    assert judge(KERNEL, lambda *args: next(answers)).outcome == "not yet"


def test_not_yet_says_for_which_input_and_what_it_should_be():
    verdict = judge(KERNEL, lambda flops, dram_bytes, peak, bandwidth: 1.0)
    assert verdict.message.startswith("For flops=8.1e+06, dram_bytes=3.6e+06")
    assert "it gives 1; it should give 0.000210896" in verdict.message


def test_nothing_returned_is_said():
    assert "is there a `return`?" in judge(KERNEL, lambda flops, dram_bytes, peak, bandwidth: None).message


def test_an_error_names_the_learners_own_line():
    source = (
        "def f(flops, dram_bytes, peak, bandwidth):\n    time = flops / peak\n    return max(time, dram_byte / 1)\n"
    )
    names: dict = {}
    exec(compile(source, "<learner>", "exec"), names)
    verdict = judge(KERNEL, names["f"])
    assert verdict.outcome == "error"
    assert "NameError" in verdict.message and "in line 3" in verdict.message


@pytest.mark.parametrize("error", [SystemExit, RecursionError, ZeroDivisionError])
def test_whatever_a_learner_raises_is_an_error_of_theirs(error):
    def function(*args):
        raise error("oh")

    assert judge(KERNEL, function).outcome == "error"


def test_a_name_that_was_overwritten_is_said():
    message = judge(KERNEL, 5).message
    assert message.startswith("kernel_seconds should be a function, but it is int.")
    assert "Run the cell with “def kernel_seconds” again." in message


def test_an_endless_loop_is_stopped_with_a_message():
    def endless(*args):
        while True:
            pass

    before = sys.gettrace()
    began = time.monotonic()
    with pytest.raises(TimeoutError, match="stopped after 0.2 seconds: is there a loop that never ends"):
        run(endless, (), seconds=0.2)
    assert time.monotonic() - began < 20  # stopped at all
    assert sys.gettrace() is before


def test_an_endless_loop_on_one_line_is_stopped_too():
    names: dict = {}
    exec("def endless():\n    while True: pass", names)
    with pytest.raises(TimeoutError, match="is there a loop that never ends"):
        run(names["endless"], (), seconds=0.2)


def test_an_endless_loop_that_catches_exceptions_is_stopped_too():
    names: dict = {}
    exec(
        "def endless():\n    while True:\n        try:\n            1 / 0\n        except Exception:\n            pass",
        names,
    )
    with pytest.raises(TimeoutError, match="is there a loop that never ends"):
        run(names["endless"], (), seconds=0.2)


def test_a_loop_that_never_ends_is_an_error_with_its_line(monkeypatch):
    monkeypatch.setattr("roofline_lessons.teaching.running.run.__defaults__", (0.2,))
    names: dict = {}
    exec(compile("def f(*args):\n    while True:\n        pass", "<learner>", "exec"), names)
    verdict = judge(KERNEL, names["f"])
    assert verdict.outcome == "error" and "TimeoutError: stopped after 0.2 seconds" in verdict.message
    assert "in line 2 of your cell" in verdict.message or "in line 3 of your cell" in verdict.message


def test_dots_that_were_left_in_place_are_no_try():
    def moved(flops, dram_bytes, peak, bandwidth):
        seconds = ...
        return seconds

    assert judge(KERNEL, moved).outcome == "not attempted"


@pytest.mark.parametrize(
    "gave, right, same",
    [
        (1 + 1e-9, 1, True), (1.1, 1, False), (1e-9, 0.0, True), (1e-3, 0, False), ("5", 5, False), (None, None, True),
        (None, 0, False), (True, 1, True), ([1, 2.0], (1.0, 2), True), ([1], [1, 2], False), (np.ones(2), [1, 1], True),
        ({"a": [1 + 1e-9]}, {"a": [1]}, True), ({"a": 1}, {"b": 1}, False), ({1}, {1}, True), ([1], {1}, False),
        (["a"], ("a",), True), (float("nan"), 1.0, False), (np.float32(0.5), 0.5, True), (1j, 1, False),
    ],
)  # fmt: skip
def test_answers_are_equal_within_the_tolerance_wherever_a_number_stands(gave, right, same):
    assert equal(gave, right, 1e-6) is same


def test_a_difference_beyond_the_digits_usually_shown_is_shown():
    exercise = Exercise(
        "x", "def f(a):\n    return ...", "def f(a):\n    return a", ((1.0,), (2.0,)), lambda rng: (3.0,)
    )
    assert "it gives 1.000002; it should give 1.0." in judge(exercise, lambda a: a + 2e-6).message


def test_a_check_changes_nothing_of_the_learners():
    data = np.ones(3)
    exercise = Exercise(
        "x",
        "def f(a):\n    return ...",
        "def f(a):\n    return a.sum()",
        ((data,), (data * 2,)),
        lambda rng: (rng.random(4),),
    )

    def greedy(a):
        a[:] = 0
        return 0.0

    assert judge(exercise, greedy).outcome == "not yet"
    assert data.tolist() == [1, 1, 1]


def test_arrays_must_have_the_right_shape():
    exercise = Exercise(
        "x",
        "def f(a):\n    return ...",
        "def f(a):\n    return a",
        ((np.ones(3),), (np.ones(2),)),
        lambda rng: (rng.random(4),),
    )
    assert judge(exercise, lambda a: 1.0).outcome == "not yet"
    assert judge(exercise, lambda a: a * (1 + 1e-9)).outcome == "correct"


def wrong(flops, dram_bytes, peak, bandwidth):
    return 1.0


def test_the_solution_shows_after_two_honest_tries():
    assert rl.check(KERNEL.name, wrong).solution().startswith("The solution shows after one more try")
    assert rl.check(KERNEL.name, wrong).solution() == KERNEL.solution.strip()


def test_the_solution_shows_when_asked_twice():
    first = Check(KERNEL, judge(KERNEL, load(KERNEL.stub)))
    assert "after two tries, or when you ask again" in first.solution()
    assert first.solution() == KERNEL.solution.strip()


def test_hints_come_in_steps_and_stay_at_the_last():
    shown = Check(KERNEL, judge(KERNEL, wrong))
    given = [shown.hint() for _ in range(len(KERNEL.hints) + 1)]
    assert given[0] == f"Hint 1 of 3: {KERNEL.hints[0]}"
    assert given[-1] == given[-2] == f"Hint 3 of 3: {KERNEL.hints[-1]}"


def test_a_notebook_shows_hints_and_solutions_as_text_in_lines():
    shown = Check(KERNEL, judge(KERNEL, wrong))
    assert repr(shown.hint()).startswith("Hint 1 of 3: ")
    shown.solution()
    assert repr(shown.solution()) == KERNEL.solution.strip()


def test_an_error_is_said_to_be_in_the_learners_code():
    assert repr(Check(KERNEL, judge(KERNEL, lambda *args: 1 / 0))).startswith("error in your code: ZeroDivisionError")


def test_outcomes_are_recorded_but_stubs_are_not():
    rl.check(KERNEL.name, load(KERNEL.stub))
    assert Progress().items == {}
    rl.check(KERNEL.name, wrong)
    rl.check(KERNEL.name, load(KERNEL.solution))
    rl.check(KERNEL.name, wrong)
    item = Progress().items[KERNEL.name]
    assert (item["outcome"], item["tries"]) == ("correct", 3)  # what was right stays right


def test_an_unknown_exercise_is_named():
    with pytest.raises(ValueError, match="unknown exercise '01-kernel-second': did you mean '01-kernel-seconds'"):
        rl.check("01-kernel-second", wrong)


def test_code_in_a_hint_looks_like_code_and_the_solution_stays_as_it_is():
    exercise = EXERCISES["02-attainable"]
    shown = Check(exercise, judge(exercise, load(exercise.stub)))
    step = next(i for i, hint in enumerate(exercise.hints) if "`intensity`" in hint)
    for _ in range(step + 1):
        hint = shown.hint()
    shown._tell(hint)
    assert "<code>intensity</code>" in shown.said.value and "`" not in shown.said.value
    shown._tell(exercise.solution.strip())
    assert "<code>" not in shown.said.value
