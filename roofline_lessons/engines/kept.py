"""Measured once, and kept for as long as Python runs: every cell of a notebook then speaks of the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Kept(Generic[T]):
    """A function that measures, called once for each of its arguments.

    Examples
    --------
    >>> times = iter([3, 2, 1])
    >>> seconds = Kept(lambda block: next(times))
    >>> seconds("gelu"), seconds("chain"), seconds("gelu"), seconds("gelu", again=True), seconds("chain")
    (3, 2, 3, 1, 2)
    """

    def __init__(self, measure: Callable[..., T]) -> None:
        self._measure = measure
        self._found: dict[tuple[Hashable, ...], T] = {}

    def __call__(self, *what: Any, again: bool = False) -> T:
        """What was found; measured now where there is nothing yet, and where it should be measured again."""
        if again or what not in self._found:
            self._found[what] = self._measure(*what)
        return self._found[what]

    def forget(self) -> None:
        """Keep nothing of what was found."""
        self._found.clear()
