"""When a learner's answer equals the solution's: numbers within a tolerance, everything else exactly."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np


def equal(gave: Any, right: Any, tolerance: float) -> bool:
    """Equal, with numbers compared within a tolerance wherever they stand: alone, in lists, arrays or dicts.

    Parameters
    ----------
    gave, right : object
        A list, a tuple and an array of the same items are equal; a text is never a number.
    tolerance : float
        Relative; absolute where the right number is 0.

    Examples
    --------
    >>> equal(0.1 + 0.2, 0.3, 1e-6), equal([1, 2.0], (1.0, 2), 1e-6), equal("5", 5, 1e-6)
    (True, True, False)
    """
    gave, right = _plain(gave), _plain(right)
    if isinstance(gave, Real) and isinstance(right, Real):
        return math.isclose(gave, right, rel_tol=tolerance, abs_tol=0 if right else tolerance)
    if isinstance(gave, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(gave) == len(right) and all(equal(g, r, tolerance) for g, r in zip(gave, right))
    if isinstance(gave, Mapping) and isinstance(right, Mapping):
        return gave.keys() == right.keys() and all(equal(gave[k], right[k], tolerance) for k in right)
    return type(gave) is type(right) and bool(gave == right)


def _plain(value: Any) -> Any:
    """NumPy's arrays and numbers as Python's."""
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
