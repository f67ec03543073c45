"""`rl.check`: the four outcomes, whatever a learner's code does."""

from __future__ import annotations

import sys
import time

import numpy as np
import pytest

import roofline_lessons as rl
from roofline_lessons.teaching import checks as checking
from roofline_lessons.teaching.checks import Check, judge, load, run
from roofline_lessons.teaching.exercises import EXERCISES
from roofline_lessons.teaching.record import Progress

NAMES = list(EXERCISES)
KERNEL = EXERCISES["01-kernel-seconds"]


@pytest.fixture(autouse=True)
def own_record(tmp_path, monkeypatch):
    monkeypatch.setenv("ROOFLINE_PROGRESS", str(tmp_path / "my.progress.json"))
    monkeypatch.setattr(checking, "_asked", {})
    monkeypatch.setattr(checking, "_hints_given", {})


@pytest.mark.parametrize("name", NAMES)
def test_every_solution_is_correct(name):
    assert judge(EXERCISES[name], load(EXERCISES[name].solution)).outcome == "correct"


@pytest.mark.parametrize("name", NAMES)
def test_every_stub_is_not_attempted(name):
    assert judge(EXERCISES[name], load(EXERCISES[name].stub)).outcome == "not attempted"


@pytest.mark.parametrize("name, i", [(n, i) for n in NAMES for i in range(len(EXERCISES[n].misconceptions))])
def test_every_misconception_fails_with_its_own_message(name, i):
    wrong = EXERCISES[name].misconceptions[i]
    verdict = judge(EXERCISES[name], load(wrong.code))
    assert (verdict.outcome, verdict.message) == ("not yet", wrong.why)


@pytest.mark.parametrize("name", NAMES)
def test_random_inputs_differ_between_runs_and_there_is_more_than_one_input(name):
    exercise = EXERCISES[name]
    first, second = (exercise.draw(np.random.default_rng()) for _ in range(2))
    assert first != second and len(first) > len(exercise.inputs) >= 2


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
    assert judge(KERNEL, 5).message == "kernel_seconds should be a function, but it is int."


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


def test_a_check_changes_nothing_of_the_learners():
    data = np.ones(3)
    exercise = checking.Exercise(
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
    exercise = checking.Exercise(
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
