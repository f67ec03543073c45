"""Hold a learner's function against an exercise: correct, not yet, not attempted, or an error, in words that help."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .equality import equal
from .exercise import Exercise, load
from .running import error_words, run

OUTCOMES = ("correct", "not yet", "not attempted", "error")

_Args = tuple[Any, ...]


@dataclass(frozen=True)
class Verdict:
    """What a check found: one of `OUTCOMES`, and a message in plain text."""

    outcome: str
    message: str


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
    solution = load(exercise.solution)
    if not callable(function):
        return Verdict("error", _no_function(solution.__name__, function))
    if _is_stub(exercise, function):
        return _NOT_ATTEMPTED
    inputs = exercise.draw(rng or np.random.default_rng())
    try:
        gave = [run(function, copy.deepcopy(args)) for args in inputs]
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a learner's code may raise anything, SystemExit too
        return Verdict("error", error_words(error, function))
    if all(result is ... for result in gave):
        return _NOT_ATTEMPTED
    return _compare(exercise, solution, inputs, gave)


_NOT_ATTEMPTED = Verdict("not attempted", "Replace the three dots in the function, then run this cell again.")


def _compare(exercise: Exercise, solution: Callable[..., Any], inputs: Sequence[_Args], gave: Sequence[Any]) -> Verdict:
    """Correct, or not yet: what the known wrong idea is, or where the first difference lies."""
    right = [solution(*copy.deepcopy(args)) for args in inputs]
    wrong = [i for i, (g, r) in enumerate(zip(gave, right)) if not equal(g, r, exercise.tolerance)]
    if not wrong:
        return Verdict("correct", f"Correct, for {len(inputs)} different inputs.")
    first = wrong[0]
    return Verdict("not yet", _known(exercise, inputs, gave) or _difference(solution, inputs[first], gave[first]))


def _no_function(name: str, given: Any) -> str:
    return (
        f"{name} should be a function, but it is {type(given).__name__}. "
        f"Was the name used for something else? Run the cell with “def {name}” again."
    )


def _is_stub(exercise: Exercise, function: Any) -> bool:
    """The same instructions as the stub: nothing was changed (names of the file and lines do not count)."""
    mine, stub = getattr(function, "__code__", None), load(exercise.stub).__code__
    return mine is not None and all(
        getattr(mine, part) == getattr(stub, part) for part in ("co_code", "co_consts", "co_names")
    )


def _known(exercise: Exercise, inputs: Sequence[_Args], gave: Sequence[Any]) -> str:
    """The message of the misconception that gives just what the learner's function gives, "" where there is none."""
    for wrong in exercise.misconceptions:
        function = load(wrong.code)
        if all(equal(g, function(*copy.deepcopy(args)), exercise.tolerance) for args, g in zip(inputs, gave)):
            return wrong.why
    return ""


def _difference(solution: Callable[..., Any], args: _Args, gave: Any) -> str:
    if gave is None:
        return f"{solution.__name__} gives nothing back: is there a `return`?"
    names = solution.__code__.co_varnames[: solution.__code__.co_argcount]
    called = ", ".join(f"{n}={_shown(v)}" for n, v in zip(names, args))
    right = solution(*copy.deepcopy(args))
    show = _shown if _shown(gave) != _shown(right) else repr  # they differ only beyond the digits usually shown
    return f"For {called} it gives {show(gave)}; it should give {show(right)}."


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, (float, np.floating)) else repr(value)
