"""Errors that talk to the person: what was wrong, where, and what would be right.

Every error of this package is a `ValueError`, so one `except ValueError` around a learner's cell catches them all.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np


class UnknownNameError(ValueError, KeyError):
    """A name that is not in a list of allowed names (also a `KeyError`, because it is a failed look-up)."""

    def __str__(self) -> str:  # KeyError would show the sentence in quotes
        return str(self.args[0])


class GraphError(ValueError):
    """A graph that cannot be: an operator whose shapes do not fit, a name used twice, a tensor from nowhere."""


class FusionError(ValueError):
    """A plan that cannot be: an operator left out, covered twice, or a kernel that breaks a rule."""


class ModelFileError(ValueError):
    """A model file that cannot be read; the message names the file, the node where there is one, and the reason."""


class ModelFileWarning(UserWarning):
    """What a reader of model files had to assume, or does not know."""


class MemoryLevelWarning(UserWarning):
    """A memory level that is slower than the one below it: units or names are probably mixed up."""


def unknown_name(what: str, name: object, allowed: Iterable[str]) -> UnknownNameError:
    """The error for a wrong name: it names the closest allowed ones, or all of them when none is close.

    Examples
    --------
    >>> print(unknown_name("precision", "fp23", ["fp32", "fp16", "int8"]))
    unknown precision 'fp23': did you mean 'fp32'? Allowed: fp32, fp16, int8.
    """
    options = list(allowed)
    close = difflib.get_close_matches(str(name), options, n=3, cutoff=0.6)
    hint = f"did you mean {' or '.join(repr(c) for c in close)}? " if close else ""
    return UnknownNameError(f"unknown {what} {name!r}: {hint}Allowed: {', '.join(options)}.")


def positive(name: str, value: Any) -> float:
    """`value` as a float, or a `ValueError` that says that `name` must be a finite number above zero."""
    number = _number(name, value)
    if not (np.isfinite(number) and number > 0):
        raise ValueError(f"{name} must be a finite number above 0, not {value!r}.")
    return number


def non_negative(name: str, value: Any) -> Any:
    """`value` as a float or float array, or a `ValueError` that says that `name` must be >= 0 and not NaN."""
    if np.ndim(value) == 0:
        number = _number(name, value)
        if not number >= 0:
            raise ValueError(f"{name} must be a number of at least 0, not {value!r}.")
        return number
    array = np.asarray(value, dtype=float)
    if not np.all(array >= 0):
        bad = array[~(array >= 0)].flat[0]
        raise ValueError(f"{name} must be at least 0 everywhere, but it holds {bad!r}.")
    return array


def finite(name: str, value: Any) -> float:
    """`value` as a float, or a `ValueError` that says that `name` must be a finite number of at least 0."""
    number = _number(name, value)
    if not (np.isfinite(number) and number >= 0):
        raise ValueError(f"{name} must be a finite number of at least 0, not {value!r}.")
    return number


def whole(name: str, value: Any, at_least: int = 1) -> int:
    """`value` as an int, or a `ValueError` that says that `name` must be a whole number of at least `at_least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < at_least:
        raise ValueError(f"{name} must be a whole number of at least {at_least}, not {value!r}.")
    return int(value)


def yes_or_no(name: str, value: bool) -> bool:
    """`value`, or a `ValueError` that says that `name` must be True or False."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be True or False, not {value!r}.")
    return value


def pair(name: str, value: int | Sequence[int], at_least: int = 1) -> tuple[int, int]:
    """One whole number for both axes, or (height, width)."""
    values = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    if len(values) != 2:
        raise ValueError(f"{name} must be one whole number or (height, width), not {value!r}.")
    return whole(name, values[0], at_least), whole(name, values[1], at_least)


def _number(name: str, value: Any) -> float:
    try:
        if isinstance(value, (bool, np.bool_, str, bytes)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number, not {value!r}.") from None
