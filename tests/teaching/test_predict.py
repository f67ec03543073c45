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


def test_an_answer_that_was_measured_is_the_clocks():
    """A lesson measures where the model is wrong: the model must not be said to have known it."""
    q = rl.quiz("t-q", "Which?", {"a": "because a", "b": "because b"}, answer=lambda: "b", says="the clock")
    q.guess = "a"
    q.lock()
    assert "The clock says <b>b</b>" in q.feedback and "model" not in q.feedback
    p = rl.predict("t-p", "How many?", answer=lambda: 8.0, between=(1, 100), unit="times", says="the clock")
    p.guess = 20
    p.lock()
    assert "the clock: <b>8.0 times</b>" in p.feedback and "model" not in p.feedback


def test_quiz_says_right_and_explains_the_others():
    q = rl.quiz("t-q", "Which?", {"a": "because a", "b": "because b", "c": "because c"}, answer=lambda: "b")
    q.guess = "b"
    q.lock()
    assert "✓ Right, <b>b</b>: because b<ul" in q.feedback
    assert "<li><b>a</b>: because a</li><li><b>c</b>: because c</li></ul>" in q.feedback


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
    assert repr(ask()) == "Predict: How many times? (a number from 0.10 to 100 times)"
    assert repr(rl.predict("t", "How many?", answer=lambda: 8.0)) == "Predict: How many? (a number)"
    assert repr(rl.quiz("t-q", "Which?", {"a": "x", "b": "y"}, answer=lambda: "b")) == "Predict: Which? (a / b)"


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: rl.predict("t", "?", answer=8.0), "must be a function that asks the model"),
        (lambda: rl.predict("t", "?", answer=lambda: 1, between=(10, 1)), r"between must be \(low, high\)"),
        (lambda: rl.predict("t", "?", answer=lambda: 1, between=(0, 1)), "must be a finite number above 0"),
        (lambda: rl.quiz("t", "?", {"a": "x"}, answer=lambda: "a"), "at least two options, each with an explanation"),
        (lambda: setattr(ask(), "guess", 1000), "t-times: a guess lies between 0.100 and 100"),
        (
            lambda: setattr(rl.predict("t", "?", answer=lambda: 1), "guess", "many"),
            "t: a guess is a number, not 'many'",
        ),
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


@pytest.mark.parametrize(
    "typed, words",
    [
        ("", "Type a number first"),
        ("1,5", "“1,5” is not a number: write 1250.5 or 1.25e3, with a point and no comma."),
        ("nan", "“nan” is not a number"),
    ],
)
def test_a_field_that_holds_no_number_is_no_guess(typed, words):
    p = rl.predict("t", "How long?", answer=lambda: 8.0, unit="ms")
    p.control.value = typed
    p.lock()
    assert words in p.feedback and not p.locked


def test_a_typed_number_is_compared_and_comes_back():
    p = rl.predict("t", "How long?", answer=lambda: 8.0, unit="ms")
    p.control.value = " 1.6e1 "
    p.lock()
    assert "Your guess: <b>16 ms</b> · the model: <b>8.0 ms</b>. 2.0× too high." in p.feedback
    assert rl.predict("t", "How long?", answer=lambda: 8.0, unit="ms").guess == 16


def test_zero_has_no_factor():
    p = rl.predict("t", "How many?", answer=lambda: 3.0, ideas=[rl.Idea(lambda: 0.0, "zero")])
    p.guess = 0
    p.lock()
    assert "3.0 too low." in p.feedback


def test_a_model_that_cannot_answer_says_so_in_place_of_a_silent_button():
    p = rl.quiz("t", "Which?", {"a": "x", "b": "y"}, answer=lambda: no_such_name)  # noqa: F821
    p.guess = "a"
    p.button.click()
    assert "The model could not answer (NameError: name &#x27;no_such_name&#x27; is not defined)" in p.feedback
    assert "Run the cells above again" in p.feedback and not p.locked
    assert "t" not in Progress().items


def test_the_focus_follows_what_happens():
    """To the feedback when the button under it goes; to the control for another guess; nowhere when nothing changed."""
    p, sent = ask(), []
    p.browser.send = sent.append
    p.button.click()
    p.guess = 20
    p.button.click()
    p.again.click()
    assert sent == [{"focus": None}, {"focus": ".rl-said .widget-html-content"}, {"focus": ".noUi-handle"}]


@pytest.mark.parametrize(
    "make, css",
    [
        (ask, ".noUi-handle"),
        (lambda: rl.predict("t", "How many times?", answer=lambda: 8.0), "input"),
        (lambda: rl.quiz("t", "How many times?", {"a": "x", "b": "y"}, answer=lambda: "b"), ".widget-radio-box"),
    ],
)
def test_a_screen_reader_hears_the_question_at_its_control(make, css):
    assert make().browser.attributes[css]["aria-label"] == "How many times?"


def test_a_press_brings_along_what_the_control_held_then():
    """On a slow line the press of the button would overtake the last move of the slider."""
    p = ask()
    p.browser._hear(p.browser, {"state": 3}, [])
    p.button.click()
    assert p.locked and p.guess == p.control.options[3][1]
    p.browser._hear(p.browser, {"state": 5}, [])  # a press that comes late moves nothing
    assert p.guess == p.control.options[3][1]


def test_a_press_alone_is_no_guess():
    p = ask()
    p.browser._hear(p.browser, {"state": p.control.index}, [])
    p.button.click()
    assert "Move the slider first" in p.feedback and not p.locked
