"""From bandwidths of many working sets to a few memory levels: each level is a plateau of the curve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..text import si

#: What one more plateau must gain, in squared natural logarithms of bandwidth summed over the sizes: less, and a wobble
#: of some per cent would become a level.
PENALTY = 0.12

#: A level within this factor of its neighbour is no level of its own.
_SAME = 1.2


@dataclass(frozen=True)
class Level:
    """A plateau: the largest working set that still runs at this bandwidth, in bytes, and the bandwidth."""

    bytes: float
    bytes_per_second: float

    @property
    def name(self) -> str:
        """What a plot calls it."""
        return f"cache up to {si(self.bytes, 'B')}"


def find_levels(working_sets: Sequence[float], bandwidths: Sequence[float]) -> list[Level]:
    """The plateaus of a bandwidth curve, from the nearest memory to the farthest, which is DRAM.

    Parameters
    ----------
    working_sets, bandwidths : sequence of float
        Bytes in ascending order, and bytes per second. The last one lies beyond every cache.

    Returns
    -------
    list of Level
        The last is DRAM; its bytes are those of the largest working set.

    Examples
    --------
    >>> sizes = [2.0**k for k in range(15, 29)]
    >>> curve = [100e9 if s <= 2**20 else 25e9 if s <= 2**24 else 10e9 for s in sizes]
    >>> [(level.name, level.bytes_per_second / 1e9) for level in find_levels(sizes, curve)[:-1]]
    [('cache up to 1.05 MB', 100.0), ('cache up to 16.8 MB', 25.0)]
    """
    cuts = _best_cuts(np.log(bandwidths))
    parts = [range(a, b) for a, b in zip(cuts, cuts[1:])]
    found = [Level(working_sets[p[-1]], float(np.median([bandwidths[i] for i in p]))) for p in parts]
    lone = [len(p) == 1 for p in parts]
    caches = [level for i, level in enumerate(found[:-1]) if not (lone[i] and _between(found, i))]
    return [*_merged(caches, bandwidths[-1]), Level(working_sets[-1], float(bandwidths[-1]))]


def not_rising_inwards(levels: Sequence[Level]) -> list[str]:
    """Sentences about levels that are not faster than one farther away, which no memory is.

    Examples
    --------
    >>> not_rising_inwards([Level(1e6, 20e9), Level(1e8, 30e9), Level(1e9, 10e9)])[0][:47]
    'cache up to 1.00 MB (20.0 GB/s) came out slower'
    """
    said = []
    for near, far in zip(levels, levels[1:]):
        if near.bytes_per_second < far.bytes_per_second:
            name = "DRAM" if far is levels[-1] else far.name
            said.append(
                f"{near.name} ({si(near.bytes_per_second, 'B/s')}) came out slower than {name} "
                f"({si(far.bytes_per_second, 'B/s')}), which lies farther away: something disturbed the measurement."
            )
    return said


def rising_inwards(levels: Sequence[Level]) -> list[Level]:
    """The levels without DRAM that are faster than all farther away: the ones to draw as roofs. Farthest first."""
    kept: list[Level] = []
    fastest = levels[-1].bytes_per_second
    for level in reversed(levels[:-1]):
        if level.bytes_per_second > fastest:
            kept.append(level)
            fastest = level.bytes_per_second
    return kept


def interpolate(at: float, x: Sequence[float], y: Sequence[float]) -> float:
    """y at a place, along straight lines on log-log axes; beyond the ends, the end's."""
    return math.exp(np.interp(math.log(at), np.log(x), np.log(y)))


def _best_cuts(values: np.ndarray, most: int = 5) -> list[int]:
    """Where to cut so that each piece is as level as can be: the least squared error plus a penalty per piece.

    Exact, by dynamic programming over the last cut (Bellman 1961; for 16 sizes every pair is tried).
    """
    n = len(values)
    best: list[tuple[float, list[int]]] = [(0.0, [0])]
    for end in range(1, n + 1):
        options = [
            (best[a][0] + float(np.sum((values[a:end] - values[a:end].mean()) ** 2)) + PENALTY, [*best[a][1], end])
            for a in range(end)
            if len(best[a][1]) <= most
        ]
        best.append(min(options))
    return best[n][1]


def _between(levels: Sequence[Level], i: int) -> bool:
    """Whether a level's bandwidth lies between those of its neighbours: a way down, no plateau."""
    if not 0 < i < len(levels) - 1:
        return False
    before, own, after = (level.bytes_per_second for level in levels[i - 1 : i + 2])
    return before > own > after


def _merged(caches: Sequence[Level], dram: float) -> list[Level]:
    """Caches without those that are hardly faster than the next memory outwards."""
    kept: list[Level] = []
    outer = dram
    for level in reversed(caches):
        ratio = level.bytes_per_second / outer
        if ratio < 1 / _SAME or ratio > _SAME:
            kept.insert(0, level)
            outer = level.bytes_per_second
    return kept
