"""What is run to find the bandwidth of each working set: copy, in place, read, fill, with Numba or with NumPy.

A pass of a probe over `a` (and `b`) is the loop of an elementwise operator. The copy multiplies by a number that
happens to be one: a plain copy would be turned into `memcpy`, which on large arrays writes past the caches, as no
operator does.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .memory import aligned
from .protocol import Run, repeated

#: Arrays that make up the working set, and arrays counted as read or written, by kind of probe.
ARRAYS: Mapping[str, tuple[int, int]] = {"copy": (2, 2), "in place": (1, 2), "read": (1, 1), "fill": (1, 1)}

#: How many working sets are measured, and the smallest in bytes.
SIZES, SMALLEST = 16, 1 << 15

#: From so many bytes on NumPy asks the system for huge pages (numpy/_core/src/multiarray/alloc.c), which are quicker to
#: look up. So smaller arrays are allocated each for itself, as a program's are; a part of a large one would be faster.
HUGE_PAGES_BYTES = 1 << 22

#: So few elements take no time of their own. Not one: NumPy treats a single element in place as arrays that overlap.
EMPTY = 16

_ONE = np.float32(1)


def working_sets(largest: int) -> list[int]:
    """`SIZES` working sets in bytes, in equal steps on a log scale.

    Examples
    --------
    >>> sizes = working_sets(1 << 28)
    >>> len(sizes), sizes[0], sizes[-1]
    (16, 32768, 268435456)
    """
    return [int(round(size / 4096) * 4096) for size in np.geomspace(SMALLEST, largest, SIZES)]


class Probes:
    """Passes over arrays of any size up to the largest working set.

    Parameters
    ----------
    largest : int
        Bytes of the largest working set.
    library : str
        "numba" or "numpy".
    """

    def __init__(self, largest: int, library: str) -> None:
        self.library = library
        self._large = aligned(largest // 4), aligned(largest // 8)
        self._small: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def bandwidth(self, kind: str, working_set: int) -> Run:
        """Passes of a kind over a working set of so many bytes."""
        a, b = self._arrays(working_set // (4 * ARRAYS[kind][0]))
        if self.library == "numba":
            return functools.partial(_numba_passes()[kind], a, b, _ONE)
        return _numpy_passes(kind, a, b)

    def empty(self, kind: str) -> Run:
        """The same over hardly anything: what a pass costs before it moves much."""
        return self.bandwidth(kind, 4 * EMPTY * ARRAYS[kind][0])

    def warm(self, working_set: int) -> Run:
        """NumPy's copy into an array that is there already."""
        return _numpy_passes("copy", *self._arrays(working_set // 8))

    def fresh(self, working_set: int) -> Run:
        """NumPy's copy into a new array each time.

        The one before is let go when the next is there, as in a chain of operators, and the last one is held between
        batches: with all of them gone, the allocator would give the memory back, and each batch would pay for it anew.
        """
        a, _ = self._arrays(working_set // 8)
        held = [a]

        def call() -> None:
            held[0] = np.multiply(a, _ONE)

        return repeated(call)

    def _arrays(self, elements: int) -> tuple[np.ndarray, np.ndarray]:
        """Two arrays of so many elements; beyond half of the largest working set the second is shorter, and unused."""
        if 4 * elements >= HUGE_PAGES_BYTES:
            a, b = self._large
            return a[:elements], b[:elements]
        if elements not in self._small:
            self._small[elements] = aligned(elements), aligned(elements)
        return self._small[elements]


def _numpy_passes(kind: str, a: np.ndarray, b: np.ndarray) -> Run:
    calls: dict[str, Callable[[], Any]] = {
        "copy": lambda: np.multiply(a, _ONE, out=b),
        "in place": lambda: np.multiply(a, _ONE, out=a),
        "read": lambda: a.max(),  # a sum would compute for longer than it reads
        "fill": lambda: a.fill(_ONE),
    }
    return repeated(calls[kind])


@functools.cache
def _numba_passes() -> dict[str, Callable[..., Any]]:
    """Compiled loops `f(a, b, one, repeats)`. The repeats are inside: no call from Python between two passes."""
    import numba

    @numba.njit
    def copy(a, b, one, repeats):
        for _ in range(repeats):
            for i in range(a.size):
                b[i] = a[i] * one

    @numba.njit
    def in_place(a, b, one, repeats):
        for _ in range(repeats):
            for i in range(a.size):
                a[i] = a[i] * one

    @numba.njit(fastmath={"reassoc", "nsz"})  # otherwise the order of the sum forbids vector instructions
    def read(a, b, one, repeats):
        total = np.float32(0)
        for _ in range(repeats):
            for i in range(a.size):
                total += a[i]
        return total

    @numba.njit
    def fill(a, b, one, repeats):
        for _ in range(repeats):
            for i in range(a.size):
                a[i] = one

    return {"copy": copy, "in place": in_place, "read": read, "fill": fill}
