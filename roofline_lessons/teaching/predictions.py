"""Predict before you see: a guess that is locked before the answer shows, and words about how far off it was.

The answer is a function that asks the model, never a number, so it cannot disagree with the picture. A wrong idea that
many have gets its own words: what it was, and why it is tempting.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ipywidgets as W
import numpy as np

from ..errors import positive
from ..text import number
from .record import Progress

Answer = Callable[[], float | str]

#: A guess within this factor of the answer is right; within `CLOSE` it is close.
RIGHT, CLOSE = 1.1, 1.5

#: A guess within this factor of a wrong idea is taken for it.
_SAME_IDEA = 1.15

#: Steps of the guess slider per factor of ten.
_STEPS = 12


@dataclass(frozen=True)
class Idea:
    """A wrong idea: the number it leads to (a function, like the answer), and why it is tempting but wrong."""

    value: Answer
    why: str


class Prediction(W.VBox):
    """A question with a guess to lock. Made by `predict` and `quiz`.

    Attributes
    ----------
    guess : float, str or None
        What is guessed now. May be set (until it is locked).
    locked : bool
    feedback : str
        HTML; empty until locked.
    """

    def __init__(
        self,
        name: str,
        question: str,
        answer: Answer,
        between: tuple[float, float] | None,
        unit: str,
        choices: Mapping[str, str] | None,
        ideas: Sequence[Idea],
    ) -> None:
        if not callable(answer):
            raise ValueError(
                f"{name}: the answer must be a function that asks the model, e.g. answer=lambda: est.seconds; "
                f"a value typed here ({answer!r}) would not follow the model."
            )
        self.name, self.question, self.unit = name, question, unit
        self.answer, self.ideas, self.choices = answer, tuple(ideas), dict(choices or {})
        self.between = between
        self.control = self._make_control()
        self._touched = not between  # a slider has a value from the start
        self.control.observe(self._touch, "value")
        self.button = W.Button(description="lock my guess", button_style="primary")
        self.again = W.Button(description="guess again", layout=W.Layout(display="none"))
        self.status = W.HTML()
        self.button.on_click(lambda _: self.lock())
        self.again.on_click(lambda _: self.unlock())
        heading = W.HTML(f'<div style="font-size:15px;font-weight:600">{html.escape(question)}</div>')
        self.shown = W.HTML(layout=W.Layout(min_width="90px"))
        self._touch_shown()
        super().__init__([heading, W.HBox([self.control, self.shown, self.button, self.again]), self.status])
        self._restore()

    # -- the guess ---------------------------------------------------------------------------------------------------

    @property
    def guess(self) -> Any:
        return self.control.value

    @guess.setter
    def guess(self, value: Any) -> None:
        if self.locked:
            raise ValueError(f"{self.name}: the guess is locked; press “guess again” to change it.")
        if self.between:
            steps = [v for _, v in self.control.options]
            low, high = steps[0], steps[-1]
            if not low <= positive("guess", value) <= high:
                raise ValueError(f"{self.name}: a guess lies between {number(low)} and {number(high)}, not {value!r}.")
            value = min(steps, key=lambda v: abs(math.log(v / value)))
            self._touched = True
        elif self.choices and value not in self.choices:
            raise ValueError(f"{self.name}: choose one of {', '.join(self.choices)}, not {value!r}.")
        self.control.value = value

    @property
    def locked(self) -> bool:
        return bool(self.control.disabled)

    def lock(self) -> None:
        """Lock the guess and show the answer beside it. Without a guess it says so and nothing is locked."""
        if self.guess is None:
            self.status.value = _status("Choose first: a wrong guess is worth more than none.")
            return
        if not self._touched:
            self.status.value = _status("Move the slider first: where it starts is nobody's guess.")
            return
        self._show()
        more = {"guess": self.guess}
        Progress().record(self.name, "prediction", "predicted", **more)

    def _touch(self, change: Any) -> None:
        self._touched = True
        self._touch_shown()

    def _touch_shown(self) -> None:
        """The guess beside its slider. (The slider's own readout can be typed into, and would not follow.)"""
        self.shown.value = f"<b>{html.escape(self._text(self.guess))}</b>" if self.between else ""

    def unlock(self) -> None:
        """Another guess."""
        self.control.disabled = self.button.disabled = False
        self.again.layout.display = "none"
        self.status.value = ""

    @property
    def feedback(self) -> str:
        """What the learner is told about the guess."""
        return str(self.status.value)

    def _show(self) -> None:
        told = self._tell_choice() if self.choices else self._tell_number()
        self.control.disabled = self.button.disabled = True
        self.again.layout.display = ""
        self.status.value = _status(told)

    def _restore(self) -> None:
        """A guess that was locked before the kernel died is locked again. One that no longer fits is forgotten."""
        before = Progress().items.get(self.name, {}).get("guess")
        if before is None:
            return
        try:
            self.guess = before
        except (ValueError, TypeError):
            return
        self._show()

    # -- words -------------------------------------------------------------------------------------------------------

    def _tell_number(self) -> str:
        guess, right = float(self.guess), float(self.answer())
        shown = f"Your guess: <b>{self._text(guess)}</b> · the model: <b>{self._text(right)}</b>. "
        return shown + how_far_off(guess, right) + self._idea(guess, right)

    def _idea(self, guess: float, right: float) -> str:
        if guess <= 0 or right <= 0:
            return ""
        for idea in self.ideas:
            tempting = float(idea.value())
            near = abs(math.log(guess / tempting))
            if near <= math.log(_SAME_IDEA) and near < abs(math.log(guess / right)):
                return f"<br>{html.escape(idea.why)}"
        return ""

    def _tell_choice(self) -> str:
        right = str(self.answer())
        if right not in self.choices:
            raise ValueError(f"{self.name}: the answer {right!r} is none of the choices {', '.join(self.choices)}.")
        chosen, answer = (f"<b>{html.escape(o)}</b>: {html.escape(self.choices[o])}" for o in (self.guess, right))
        told = f"✓ Right, {answer}" if self.guess == right else f"✗ You chose {chosen}<br>The model says {answer}"
        others = "".join(
            f"<li><b>{html.escape(option)}</b>: {html.escape(why)}</li>"
            for option, why in self.choices.items()
            if option not in (self.guess, right)
        )
        return f"{told}<ul>{others}</ul>" if others else told

    def _text(self, value: float) -> str:
        return f"{number(value, 2)} {self.unit}".strip()

    # -- the control -------------------------------------------------------------------------------------------------

    def _make_control(self) -> Any:
        if self.choices:
            layout = W.Layout(width="auto", margin="2px 20px 2px 2px")  # long options would touch the button
            return W.RadioButtons(options=list(self.choices), value=None, layout=layout)
        if self.between is None:
            return W.FloatText(value=None, description=self.unit)
        low, high = (positive(f"{self.name}: between", v) for v in self.between)
        if low >= high:
            raise ValueError(f"{self.name}: between must be (low, high), not {self.between}.")
        count = max(2, round(_STEPS * math.log10(high / low)) + 1)
        values = list(dict.fromkeys(float(f"{v:.2g}") for v in np.geomspace(low, high, count)))
        return W.SelectionSlider(
            options=[(self._text(v), v) for v in values],
            value=values[len(values) // 2],
            layout=W.Layout(width="380px"),
            continuous_update=True,
            readout=False,
        )

    def __repr__(self) -> str:
        options = f" ({' / '.join(self.choices)})" if self.choices else ""
        return f"Predict: {self.question}{options}"


def predict(
    name: str,
    question: str,
    answer: Answer,
    *,
    between: tuple[float, float] | None = None,
    unit: str = "",
    ideas: Sequence[Idea] = (),
) -> Prediction:
    """Ask for a number before it is shown.

    Parameters
    ----------
    name : str
        Unique, for the learner's record: "01-relu-time".
    question : str
        Plain text.
    answer : callable
        Asks the model; called only when the guess is locked.
    between : (low, high), optional
        A slider with a log scale between the two; a number field when not given.
    unit : str
    ideas : sequence of Idea
        Wrong ideas with the numbers they lead to.

    Returns
    -------
    Prediction
        A widget; the last line of a cell.

    Raises
    ------
    ValueError
        An answer that is not a function, or a range that is none.
    """
    return Prediction(name, question, answer, between, unit, None, ideas)


def quiz(name: str, question: str, choices: Mapping[str, str], answer: Answer) -> Prediction:
    """Ask for one of several options; each has an explanation of its own.

    Parameters
    ----------
    name, question : str
    choices : mapping of str to str
        Option -> why it is right or wrong.
    answer : callable
        Returns the right option, from the model.

    Returns
    -------
    Prediction
    """
    if len(choices) < 2 or not all(why.strip() for why in choices.values()):
        raise ValueError(f"{name}: a quiz needs at least two options, each with an explanation.")
    return Prediction(name, question, answer, None, "", choices, ())


def how_far_off(guess: float, right: float) -> str:
    """How a guess compares, in words.

    Examples
    --------
    >>> how_far_off(8.0, 1.0), how_far_off(1.0, 8.0), how_far_off(1.04, 1.0)
    ('8.0× too high.', '8.0× too low.', '✓ Right.')
    """
    if guess == right:
        return "✓ Right."
    if guess <= 0 or right <= 0:
        return f"Off by {number(guess - right, 2)}."
    factor = max(guess / right, right / guess)
    if factor <= RIGHT:
        return "✓ Right."
    close = "Close: " if factor <= CLOSE else ""
    return f"{close}{number(factor, 2)}× too {'high' if guess > right else 'low'}."


def _status(text: str) -> str:
    return f'<div role="status" aria-live="polite">{text}</div>'
