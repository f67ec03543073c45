"""`rl.predict` and `rl.quiz`: locked before the reveal, and words that help."""

from __future__ import annotations

import pytest

import roofline_lessons as rl
from roofline_lessons.teaching.record import Progress


@pytest.fixture(autouse=True)
def own_record(tmp_path, monkeypatch):
    monkeypatch.setenv("ROOFLINE_PROGRESS", str(tmp_path / "my.progress.json"))


def ask(**more):
    return rl.predict("t-times", "How many times?", answer=lambda: 8.0, between=(0.1, 100), unit="times", **more)


def test_the_answer_is_asked_for_only_when_the_guess_is_locked():
    asked = []
    p = rl.predict("t", "?", answer=lambda: asked.append(1) or 8.0, between=(1, 100))
    p.guess = 50
    assert asked == [] and p.feedback == ""
    p.lock()
    assert asked == [1] and p.locked


@pytest.mark.parametrize("guess, words", [(64, "too high"), (1, "too low"), (8, "✓ Right"), (10, "Close: ")])
def test_feedback_says_how_far_off(guess, words):
    p = ask()
    p.guess = guess
    p.lock()
    assert words in p.feedback and "the model: <b>8.0 times</b>" in p.feedback


def test_factor_is_in_the_words():
    p = rl.predict("t", "?", answer=lambda: 1.0)
    p.guess = 8.0
    p.lock()
    assert "8.0× too high" in p.feedback


def test_a_known_wrong_idea_is_named():
    p = ask(ideas=[rl.Idea(lambda: 72.0, "You went by the arithmetic.")])
    p.guess = 68
    p.lock()
    assert "You went by the arithmetic." in p.feedback
    p.unlock()
    p.guess = 8
    p.lock()
    assert "arithmetic" not in p.feedback


def test_a_locked_guess_stays():
    p = ask()
    p.guess = 20
    p.lock()
    with pytest.raises(ValueError, match="the guess is locked"):
        p.guess = 8


def test_a_guess_survives_a_dead_kernel():
    p = ask()
    p.guess = 20
    kept = p.guess
    p.lock()
    again = ask()  # a new kernel runs the cell again
    assert again.locked and again.guess == kept and "too high" in again.feedback
    assert Progress().items["t-times"]["outcome"] == "predicted"


def test_a_guess_that_no_longer_fits_is_forgotten():
    Progress().record("t-times", "prediction", "predicted", guess="depthwise")
    assert not ask().locked


def test_quiz_explains_every_option():
    q = rl.quiz("t-q", "Which?", {"a": "because a", "b": "because b"}, answer=lambda: "b")
    q.lock()
    assert "Choose first" in q.feedback and not q.locked
    q.guess = "a"
    q.lock()
    assert "✗ You chose <b>a</b>: because a<br>The model says <b>b</b>: because b" in q.feedback


def test_quiz_says_right_and_explains_the_others():
    q = rl.quiz("t-q", "Which?", {"a": "because a", "b": "because b", "c": "because c"}, answer=lambda: "b")
    q.guess = "b"
    q.lock()
    assert "✓ Right, <b>b</b>: because b<ul><li><b>a</b>: because a</li><li><b>c</b>: because c</li></ul>" in q.feedback


def test_a_slider_nobody_moved_is_no_guess():
    p = ask()
    p.lock()
    assert "Move the slider first: where it starts is nobody's guess." in p.feedback and not p.locked
    start = p.guess
    p.control.value = p.control.options[0][1]
    p.guess = start  # there and back is a guess
    p.lock()
    assert p.locked


def test_question_is_text_where_there_is_no_widget():
    assert repr(ask()) == "Predict: How many times?"


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: rl.predict("t", "?", answer=8.0), "must be a function that asks the model"),
        (lambda: rl.predict("t", "?", answer=lambda: 1, between=(10, 1)), r"between must be \(low, high\)"),
        (lambda: rl.predict("t", "?", answer=lambda: 1, between=(0, 1)), "must be a finite number above 0"),
        (lambda: rl.quiz("t", "?", {"a": "x"}, answer=lambda: "a"), "at least two options, each with an explanation"),
        (lambda: setattr(ask(), "guess", 1000), "a guess lies between 0.100 and 100"),
    ],
)
def test_bad_questions_say_what_is_wrong(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_an_answer_that_is_no_choice_is_a_fault_of_the_quiz():
    q = rl.quiz("t", "?", {"a": "x", "b": "y"}, answer=lambda: "c")
    q.guess = "a"
    with pytest.raises(ValueError, match="the answer 'c' is none of the choices a, b"):
        q.lock()
