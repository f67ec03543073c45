"""Predict before you see: a guess that is locked before the answer shows, and words about how far off it was.

The answer is a function that asks the model, never a number, so it cannot disagree with the picture. A wrong idea that
many have gets its own words: what it was, and why it is tempting.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import ipywidgets as W

from .browser import BrowserHalf, Said
from .feedback import MODEL, Answer, Idea
from .guesses import ChoiceGuess, NumberGuess, SliderGuess
from .record import Progress

_HIDDEN, _SHOWN = "none", ""


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
        control: SliderGuess | NumberGuess | ChoiceGuess,
        ideas: Sequence[Idea] = (),
        says: str = MODEL,
    ) -> None:
        if not callable(answer):
            raise ValueError(
                f"{name}: the answer must be a function that asks the model, e.g. answer=lambda: est.seconds; "
                f"a value typed here ({answer!r}) would not follow the model."
            )
        self.name, self.question, self.answer, self.ideas = name, question, answer, tuple(ideas)
        self.control, self.says = control, says
        self.beside = W.HTML(layout=W.Layout(min_width="90px", margin="2px 2px 2px 12px"))  # clear of the handle
        self.control.observe(self._write_beside, "value")
        self._write_beside()
        self.browser = BrowserHalf(control.attributes(question), control, control.synced)
        self.button = self.browser.button("lock my guess", self._press_lock, button_style="primary")
        self.again = self.browser.button("guess again", self._press_again)
        self.said = Said()
        heading = W.HTML(f'<div style="font-size:15px;font-weight:600">{html.escape(question)}</div>')
        row = W.HBox([self.control, self.beside, self.button], layout=W.Layout(align_items="center", flex_flow="wrap"))
        super().__init__([heading, row, self.said, self.again, self.browser])
        self.add_class("rl-teaching")
        self._lock_controls(False)
        self._restore()

    # -- the guess ---------------------------------------------------------------------------------------------------

    @property
    def guess(self) -> Any:
        return self.control.guess

    @guess.setter
    def guess(self, value: Any) -> None:
        if self.locked:
            raise ValueError(f"{self.name}: the guess is locked; press “guess again” to change it.")
        try:
            self.control.take(value)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None

    @property
    def locked(self) -> bool:
        return bool(self.control.disabled)

    @property
    def feedback(self) -> str:
        """What the learner is told about the guess."""
        return str(self.said.value)

    def lock(self) -> None:
        """Lock the guess and show the answer beside it. Without a guess it says so and nothing is locked."""
        if self.control.missing:
            self.said.value = html.escape(self.control.missing, quote=False)
            return
        self._show()
        Progress().record(self.name, "prediction", "predicted", guess=self.guess)

    def unlock(self) -> None:
        """Another guess."""
        self._lock_controls(False)
        self.said.value = ""

    def _show(self) -> None:
        try:
            self.said.value = self.control.tell(self.answer(), self.ideas, self.says)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None
        self._lock_controls(True)

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

    # -- what is on the page -----------------------------------------------------------------------------------------

    def _press_lock(self) -> str | None:
        """Lock; the focus goes to the feedback, because the button that had it is gone."""
        try:
            self.lock()
        except Exception as error:  # nobody sees a traceback that comes after a press of a button
            self.said.value = html.escape(
                f"The model could not answer ({type(error).__name__}: {error}). Was a name used for something else? "
                "Run the cells above again, then this one."
            )
        return Said.css if self.locked else None

    def _press_again(self) -> str:
        self.unlock()
        return self.control.focus_css

    def _lock_controls(self, locked: bool) -> None:
        self.control.disabled = self.button.disabled = locked
        self.button.layout.display, self.again.layout.display = (_HIDDEN, _SHOWN) if locked else (_SHOWN, _HIDDEN)
        self.browser.describe(self.control.attributes(self.question))

    def _write_beside(self, change: Any = None) -> None:
        self.beside.value = f"<b>{html.escape(self.control.beside)}</b>"

    def __repr__(self) -> str:
        return f"Predict: {self.question} ({self.control})"


def predict(
    name: str,
    question: str,
    answer: Answer,
    *,
    between: tuple[float, float] | None = None,
    unit: str = "",
    ideas: Sequence[Idea] = (),
    says: str = MODEL,
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
    says : str
        Who knows the answer, e.g. "the clock" where it was measured.

    Returns
    -------
    Prediction
        A widget; the last line of a cell.

    Raises
    ------
    ValueError
        An answer that is not a function, or a range that is none.
    """
    try:
        control = NumberGuess(unit) if between is None else SliderGuess(between, unit)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    return Prediction(name, question, answer, control, ideas, says)


def quiz(name: str, question: str, choices: Mapping[str, str], answer: Answer, *, says: str = MODEL) -> Prediction:
    """Ask for one of several options; each has an explanation of its own.

    Parameters
    ----------
    name, question : str
    choices : mapping of str to str
        Option -> why it is right or wrong.
    answer : callable
        Returns the right option, from the model.
    says : str
        Who knows the answer, as for `predict`.

    Returns
    -------
    Prediction

    Raises
    ------
    ValueError
        An answer that is not a function, fewer than two options, or an option without an explanation.
    """
    if len(choices) < 2 or not all(why.strip() for why in choices.values()):
        raise ValueError(f"{name}: a quiz needs at least two options, each with an explanation.")
    return Prediction(name, question, answer, ChoiceGuess(choices), says=says)
