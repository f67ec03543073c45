"""Measuring a machine: which probes of a kit run, and what the times that a bench finds for them mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from . import chain_engines
from .memory import aligned, largest_working_set, last_cache_bytes, total_bytes
from .probes import ARRAYS, EMPTY, Probes, working_sets
from .products import flops, products
from .protocol import Bench, Run, Timing, installed, repeated

#: Sizes between which the time per element is taken: in place, both fit into the nearest cache of any processor.
_SMALL, _LARGE = 1024, 6144

#: Chains from whose times those of single operators follow. Only "mixed" has ReLUs; it is as long as "long".
_CHAINS = {
    "one": ("mul",),
    "half": ("mul", "add") * 6,
    "long": ("mul", "add") * 12,
    "mixed": ("mul", "add", "relu") * 8,
}


class Kit(Protocol):
    """What can be run on a machine; the tests have one that only moves a clock."""

    library: str
    largest: int

    def bandwidth(self, kind: str, working_set: int) -> Run: ...
    def empty(self, kind: str) -> Run: ...
    def warm(self, working_set: int) -> Run: ...
    def fresh(self, working_set: int) -> Run: ...
    def products(self, size: int) -> Mapping[tuple[str, str], Run]: ...
    def libraries(self) -> list[str]: ...
    def chain(self, library: str, kinds: tuple[str, ...], elements: int) -> Run: ...


class RealKit(Probes):
    """The probes that run on this machine."""

    def __init__(self) -> None:
        self.largest = largest_working_set(last_cache_bytes(), total_bytes())
        super().__init__(self.largest, "numba" if installed("numba") else "numpy")

    def products(self, size: int) -> Mapping[tuple[str, str], Run]:
        return products(size)

    def libraries(self) -> list[str]:
        return [library for library in chain_engines.LIBRARIES if installed(library)]

    def chain(self, library: str, kinds: tuple[str, ...], elements: int) -> Run:
        """A chain in the library's plainest engine."""
        name = {"numpy": "numpy in place"}.get(library, library)
        return repeated(chain_engines.engine(name).prepare(kinds, aligned(elements)))


def measure_bandwidths(bench: Bench, kit: Kit, seconds: float) -> dict[str, Any]:
    """Bandwidth by working set and kind of probe: fields of a `Measurement`."""
    sets = working_sets(kit.largest)
    runs: dict[tuple[str, int], Run] = {(kind, s): kit.bandwidth(kind, s) for kind in ARRAYS for s in scattered(sets)}
    runs |= {("empty", i): kit.empty(kind) for i, kind in enumerate(ARRAYS)}
    times = bench.time(runs, seconds)
    empty = {kind: times["empty", i].seconds for i, kind in enumerate(ARRAYS)}
    return {
        "working_sets": tuple(float(s) for s in sets),
        "bandwidth": {kind: tuple(_bandwidth(kind, s, times[kind, s], empty[kind]) for s in sets) for kind in ARRAYS},
        "noise": {kind: tuple(times[kind, s].noise for s in sets) for kind in ARRAYS},
    }


def scattered(sets: Sequence[int]) -> list[int]:
    """The working sets in an order in which none follows one that is a little smaller.

    They lie in the same arrays. A last cache takes ten passes or more to settle; with half of its bytes there from the
    run before, a working set of its size came out a fifth faster than programs find it.

    Examples
    --------
    >>> scattered(range(16))
    [0, 7, 14, 5, 12, 3, 10, 1, 8, 15, 6, 13, 4, 11, 2, 9]
    """
    return [sets[7 * i % len(sets)] for i in range(len(sets))]


def measure_fresh(bench: Bench, kit: Kit, seconds: float) -> tuple[float, ...]:
    """What a byte of a new array costs beyond the copy, by working set.

    Size by size, not all in turns: what an allocator does depends on what was let go before, and in a chain of
    operators that is an array of the same size.
    """
    sets = working_sets(kit.largest)
    found = []
    for s in sets:
        times = bench.time({"warm": kit.warm(s), "fresh": kit.fresh(s)}, seconds / len(sets))
        found.append(max(times["fresh"].seconds - times["warm"].seconds, 0.0) / (s / 2))
    return tuple(found)


def measure_products(bench: Bench, kit: Kit, size: int, seconds: float) -> dict[tuple[str, str], float]:
    """FLOP/s of matrix products by number format and library."""
    times = bench.time(kit.products(size), seconds)
    return {name: flops(size) / timing.seconds for name, timing in times.items()}


def measure_engines(bench: Bench, kit: Kit, seconds: float) -> dict[str, Any]:
    """Cost of a call and of each kind of operator per element, by library: fields of a `Measurement`."""
    libraries = kit.libraries()
    runs = {
        (library, name, n): kit.chain(library, _CHAINS[name], n)
        for library in libraries
        for name in _CHAINS
        for n in (EMPTY, _SMALL, _LARGE)
    }
    times = bench.time(runs, seconds)

    def at(library: str, name: str, n: int) -> float:
        return times[library, name, n].seconds

    return {
        "call_seconds": {library: at(library, "one", EMPTY) for library in libraries},
        "element_seconds": {
            library: split_by_kind(
                {name: (at(library, name, _LARGE) - at(library, name, _SMALL)) / (_LARGE - _SMALL) for name in _CHAINS},
                fused=library != "numpy",
            )
            for library in libraries
        },
    }


def split_by_kind(per_element: Mapping[str, float], fused: bool) -> dict[str, float]:
    """Seconds per element of one operator of each kind, from those of whole chains.

    Multiplying and adding take equally long on any processor of today; what a ReLU takes follows from the mixed chain.
    Without fusion each operator is a loop of its own, and that is all. A fused loop takes `offset` + its operators, but
    at least `least`, what it takes with one operator: while an interpreter adds something of its own (`offset` above
    zero), in a compiled loop the first operators are done while numbers are loaded and stored (`offset` below zero).
    """
    one, half, long, mixed = (per_element[name] for name in _CHAINS)
    count, few, relus = len(_CHAINS["long"]), len(_CHAINS["half"]), _CHAINS["mixed"].count("relu")
    plain = max(long - half, 0.0) / (count - few) if fused else max(long, 0.0) / count
    offset = long - count * plain if fused else 0.0
    relu = max(mixed - offset - (count - relus) * plain, 0.0) / relus
    return {"least": max(one, 0.0) if fused else 0.0, "offset": offset, "mul": plain, "add": plain, "relu": relu}


def _bandwidth(kind: str, working_set: int, timing: Timing, empty: float) -> float:
    """Counted bytes per second of a pass, without what a pass costs before it moves anything.

    At least a tenth of the pass is taken to be the moving: a small pass can be as short as an empty one.
    """
    arrays, counted = ARRAYS[kind]
    seconds = max(timing.seconds - empty, timing.seconds / 10)
    return float(np.floor(working_set / arrays) * counted / seconds)
