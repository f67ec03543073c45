"""What a learner sees of a check: the verdict, hints in steps, and the solution after honest tries."""

from __future__ import annotations

import html
import re
from typing import Any

import ipywidgets as W

from ..errors import unknown_name
from .browser import BrowserHalf, Said
from .exercise import Exercise
from .exercises import EXERCISES
from .judging import Verdict, judge
from .record import Progress

#: Honest tries after which the solution shows at once.
_TRIES = 2

#: Outcome -> sign, words and colour.
_LOOK = {
    "correct": ("✓", "correct", "#009e73"),
    "not yet": ("✗", "not yet", "#d55e00"),
    "error": ("⚠", "error in your code", "#d55e00"),
    "not attempted": ("○", "not attempted", "#8a8a8a"),
}

#: Hints given and solutions asked for in this kernel, by exercise.
_hints_given: dict[str, int] = {}
_asked: dict[str, int] = {}


class Words(str):
    """A text that a notebook shows as it is, in lines and without quotes."""

    def __repr__(self) -> str:
        return str(self)


class Check(W.VBox):
    """What `check` shows: the verdict, and buttons for a hint and for the solution.

    Attributes
    ----------
    outcome : str
        One of `judging.OUTCOMES`.
    message : str
    """

    def __init__(self, exercise: Exercise, verdict: Verdict) -> None:
        self.exercise, self.outcome, self.message = exercise, verdict.outcome, verdict.message
        self.said = Said()
        self.browser = BrowserHalf()
        hint = self.browser.button("a hint", lambda: self._tell(self.hint()), disabled=not exercise.hints)
        solution = self.browser.button("the solution", lambda: self._tell(self.solution()))
        buttons = [] if self.outcome == "correct" else [W.HBox([hint, solution])]
        super().__init__([W.HTML(_verdict_html(verdict)), *buttons, self.said, self.browser])
        self.add_class("rl-teaching")

    def hint(self) -> str:
        """The next hint; after the last one, the last one again."""
        hints = self.exercise.hints
        if not hints:
            return Words("There is no hint for this one.")
        step = min(_hints_given.get(self.exercise.name, 0), len(hints) - 1)
        _hints_given[self.exercise.name] = step + 1
        return Words(f"Hint {step + 1} of {len(hints)}: {hints[step]}")

    def solution(self) -> str:
        """The solution, after two honest tries or when asked twice."""
        name = self.exercise.name
        _asked[name] = _asked.get(name, 0) + 1
        item = Progress().items.get(name, {})
        tries = item.get("tries", 0)
        if item.get("outcome") != "correct" and tries < _TRIES and _asked[name] < 2:
            left = "one more try" if tries == _TRIES - 1 else "two tries"
            return Words(f"The solution shows after {left}, or when you ask again.")
        return Words(self.exercise.solution.strip())

    def _tell(self, text: str) -> None:
        code = text == self.exercise.solution.strip()
        style = "white-space:pre-wrap;font-size:15px;" + ("" if code else "font-family:inherit")
        self.said.value = f'<pre style="{style}">{html.escape(text) if code else _with_code(text)}</pre>'

    def __repr__(self) -> str:
        return f"{_LOOK[self.outcome][1]}: {self.message}"


def check(name: str, function: Any) -> Check:
    """Check a learner's function for the exercise with this name.

    Parameters
    ----------
    name : str
        E.g. "01-kernel-seconds".
    function : callable

    Returns
    -------
    Check
        A widget with the verdict; `.outcome`, `.message`, `.hint()`, `.solution()`.

    Raises
    ------
    UnknownNameError
        No exercise has this name.
    """
    if name not in EXERCISES:
        raise unknown_name("exercise", name, EXERCISES)
    exercise = EXERCISES[name]
    verdict = judge(exercise, function)
    if verdict.outcome != "not attempted":
        Progress().record(name, "exercise", verdict.outcome)
    return Check(exercise, verdict)


def _verdict_html(verdict: Verdict) -> str:
    sign, words, color = _LOOK[verdict.outcome]
    said = _with_code(verdict.message).replace("\n", "<br>")
    return (
        f'<div role="status" style="border-left:4px solid {color};padding:4px 12px;font-size:15px">'
        f"<b>{sign} {words}.</b> {said}</div>"
    )


def _with_code(text: str) -> str:
    """A text as HTML, what stands in `backticks` as code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", html.escape(text))
