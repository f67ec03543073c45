"""Check a learner's function: correct, not yet, not attempted, or an error, each with words that help.

An exercise is data: a stub, a solution, wrong solutions that are known (with what to say to them), hints in steps, and
inputs, fixed and random. Nothing here knows a particular exercise; those are in `exercises.py`.
"""

from __future__ import annotations

import copy
import html
import linecache
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ipywidgets as W
import numpy as np

from ..errors import unknown_name
from .record import Progress

OUTCOMES = ("correct", "not yet", "not attempted", "error")

#: A learner's function is stopped after so long.
SECONDS = 2.0

#: Random inputs per check, besides the fixed ones.
_RANDOM = 3

#: Honest tries after which the solution shows at once.
_TRIES = 2


@dataclass(frozen=True)
class Misconception:
    """A wrong solution that is known, and what to say to it."""

    code: str
    why: str


@dataclass(frozen=True)
class Exercise:
    """An exercise as data.

    Parameters
    ----------
    name : str
        Unique: "01-kernel-seconds".
    stub, solution : str
        Source of one function each, of the same name.
    inputs : sequence of tuple
        Arguments; the function is called with each.
    random : callable
        From a NumPy random generator to further arguments, so that a lucky answer does not pass.
    misconceptions : sequence of Misconception
    hints : sequence of str
        In steps.
    tolerance : float
        Relative; floats closer than this are equal.
    """

    name: str
    stub: str
    solution: str
    inputs: tuple[tuple[Any, ...], ...]
    random: Callable[[np.random.Generator], tuple[Any, ...]]
    misconceptions: tuple[Misconception, ...] = ()
    hints: tuple[str, ...] = ()
    tolerance: float = 1e-6

    def draw(self, rng: np.random.Generator) -> list[tuple[Any, ...]]:
        """All inputs of one check: the fixed ones and some random ones."""
        return [*self.inputs, *(self.random(rng) for _ in range(_RANDOM))]


@dataclass(frozen=True)
class Verdict:
    """What a check found: one of `OUTCOMES`, and a message in plain text."""

    outcome: str
    message: str


def load(code: str) -> Callable[..., Any]:
    """The function that a piece of source defines."""
    names: dict[str, Any] = {"np": np}
    exec(compile(code, "<exercise>", "exec"), names)
    return next(v for k, v in names.items() if callable(v) and k != "np" and not k.startswith("__"))


def judge(exercise: Exercise, function: Any, rng: np.random.Generator | None = None) -> Verdict:
    """Hold a learner's function against an exercise. Changes nothing of the learner's.

    Parameters
    ----------
    exercise : Exercise
    function : callable
    rng : numpy Generator, optional
        For the random inputs; a fresh one each time when not given.

    Returns
    -------
    Verdict
    """
    expected = load(exercise.solution)
    if not callable(function):
        return Verdict("error", f"{expected.__name__} should be a function, but it is {type(function).__name__}.")
    if _is_stub(exercise, function):
        return Verdict("not attempted", "Replace the three dots in the function, then run this cell again.")
    inputs = exercise.draw(rng or np.random.default_rng())
    gave = []
    for args in inputs:
        try:
            gave.append(run(function, copy.deepcopy(args)))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a learner's code may raise anything, SystemExit too
            return Verdict("error", _words(error, function))
    wrong = next((i for i, (args, g) in enumerate(zip(inputs, gave)) if not _right(exercise, expected, args, g)), None)
    if wrong is None:
        return Verdict("correct", f"Correct, for {len(inputs)} different inputs.")
    known = _known(exercise, inputs, gave)
    return Verdict("not yet", known or _difference(expected, inputs[wrong], gave[wrong]))


def run(function: Callable[..., Any], args: tuple[Any, ...], seconds: float = SECONDS) -> Any:
    """Call a function, and stop it when it takes too long.

    A trace function looks at the clock at every instruction, which works on every system and in a browser kernel, where
    neither signals nor threads do. It cannot stop a single call that never comes back from C.
    """
    deadline = time.monotonic() + seconds

    def watch(frame: Any, event: str, argument: Any) -> Any:
        frame.f_trace_opcodes = True  # a loop on one line passes no second line
        if time.monotonic() > deadline:
            raise TimeoutError(f"stopped after {seconds:g} seconds: is there a loop that never ends?")
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        return function(*args)
    finally:
        sys.settrace(before)


class Check(W.VBox):
    """What `check` shows: the verdict, and buttons for a hint and for the solution.

    Attributes
    ----------
    outcome : str
        One of `OUTCOMES`.
    message : str
    """

    def __init__(self, exercise: Exercise, verdict: Verdict) -> None:
        self.exercise, self.outcome, self.message = exercise, verdict.outcome, verdict.message
        color = {"correct": "#009e73", "not yet": "#d55e00", "error": "#d55e00"}.get(self.outcome, "#8a8a8a")
        sign = {"correct": "✓", "not yet": "✗", "error": "⚠", "not attempted": "○"}[self.outcome]
        said = html.escape(self.message).replace("\n", "<br>")
        text = W.HTML(
            f'<div role="status" style="border-left:4px solid {color};padding:4px 12px;font-size:15px">'
            f"<b>{sign} {self.outcome}.</b> {said}</div>"
        )
        self.more = W.HTML()
        hint = W.Button(description="a hint", disabled=not exercise.hints)
        solution = W.Button(description="the solution")
        hint.on_click(lambda _: self._tell(self.hint()))
        solution.on_click(lambda _: self._tell(self.solution()))
        buttons = [] if self.outcome == "correct" else [W.HBox([hint, solution])]
        super().__init__([text, *buttons, self.more])

    def hint(self) -> str:
        """The next hint; after the last one, the last one again."""
        hints = self.exercise.hints
        if not hints:
            return "There is no hint for this one."
        step = min(_hints_given.get(self.exercise.name, 0), len(hints) - 1)
        _hints_given[self.exercise.name] = step + 1
        return f"Hint {step + 1} of {len(hints)}: {hints[step]}"

    def solution(self) -> str:
        """The solution, after two honest tries or when asked twice."""
        name = self.exercise.name
        _asked[name] = _asked.get(name, 0) + 1
        item = Progress().items.get(name, {})
        tries = item.get("tries", 0)
        if item.get("outcome") != "correct" and tries < _TRIES and _asked[name] < 2:
            left = "one more try" if tries == _TRIES - 1 else "two tries"
            return f"The solution shows after {left}, or when you ask again."
        return self.exercise.solution.strip()

    def _tell(self, text: str) -> None:
        self.more.value = f"<pre>{html.escape(text)}</pre>"

    def __repr__(self) -> str:
        return f"{self.outcome}: {self.message}"


#: Hints given and solutions asked for in this kernel, by exercise.
_hints_given: dict[str, int] = {}
_asked: dict[str, int] = {}


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
    from .exercises import EXERCISES

    if name not in EXERCISES:
        raise unknown_name("exercise", name, EXERCISES)
    exercise = EXERCISES[name]
    verdict = judge(exercise, function)
    if verdict.outcome != "not attempted":
        Progress().record(name, "exercise", verdict.outcome)
    return Check(exercise, verdict)


def _is_stub(exercise: Exercise, function: Any) -> bool:
    """The same instructions as the stub: nothing was changed (names of the file and lines do not count)."""
    mine, stub = getattr(function, "__code__", None), load(exercise.stub).__code__
    return mine is not None and (mine.co_code, mine.co_consts, mine.co_names) == (
        stub.co_code,
        stub.co_consts,
        stub.co_names,
    )


def _right(exercise: Exercise, expected: Callable[..., Any], args: tuple[Any, ...], gave: Any) -> bool:
    return _equal(gave, expected(*copy.deepcopy(args)), exercise.tolerance)


def _equal(a: Any, b: Any, tolerance: float) -> bool:
    """Equal, numbers and arrays of numbers within a relative tolerance (and of the same shape)."""
    try:
        x, y = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    except (TypeError, ValueError):
        return bool(type(a) is type(b) and a == b)
    return x.shape == y.shape and bool(np.allclose(x, y, rtol=tolerance, atol=0))


def _known(exercise: Exercise, inputs: Sequence[tuple[Any, ...]], gave: Sequence[Any]) -> str:
    """The message of the misconception that gives just what the learner's function gives, "" where there is none."""
    for wrong in exercise.misconceptions:
        function = load(wrong.code)
        if all(_right(exercise, function, args, g) for args, g in zip(inputs, gave)):
            return wrong.why
    return ""


def _difference(expected: Callable[..., Any], args: tuple[Any, ...], gave: Any) -> str:
    if gave is None:
        return f"{expected.__name__} gives nothing back: is there a `return`?"
    names = expected.__code__.co_varnames[: expected.__code__.co_argcount]
    called = ", ".join(f"{n}={_shown(v)}" for n, v in zip(names, args))
    return f"For {called} it gives {_shown(gave)}; it should give {_shown(expected(*copy.deepcopy(args)))}."


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, (float, np.floating)) else repr(value)


def _words(error: BaseException, function: Any) -> str:
    """An error in the learner's words: what it was, and in which of the learner's own lines."""
    code = function.__code__ if hasattr(function, "__code__") else None
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if code is not None and f.filename == code.co_filename]
    text = f"{type(error).__name__}: {error}"
    if not own:
        return text
    line = (own[-1].line or linecache.getline(own[-1].filename, own[-1].lineno or 0)).strip()
    return f"{text}\nin line {own[-1].lineno} of your cell: {line}" if line else f"{text}\nin line {own[-1].lineno}"
