"""What an exercise is: a stub, a solution, hints, inputs, and the wrong solutions that are known. Data, nothing else.

The exercises themselves are in `exercises.py` and its neighbours; `judging.py` holds a learner's function against one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Random inputs per check, besides the fixed ones.
_RANDOM = 3


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
        Numbers closer than this are equal: relative, and absolute where the right number is 0.
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


def load(code: str) -> Callable[..., Any]:
    """The function that a piece of source defines."""
    names: dict[str, Any] = {"np": np}
    exec(compile(code, "<exercise>", "exec"), names)
    return next(v for k, v in names.items() if callable(v) and k != "np" and not k.startswith("__"))
