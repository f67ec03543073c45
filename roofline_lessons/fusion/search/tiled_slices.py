"""Slices with several convolutions or poolings: in one tile where that fits the chip, else with the fastest tile."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...graph import Graph, Operator
from ..legality import folded_flops, is_heavy, working_producers
from ..tiling import input_interval, why_not_tiled
from ..traffic import tensor_bytes
from .order import first_readers, positions
from .slice_room import SliceRoom
from .slice_sums import Floats, SliceSums
from .tiles import TileTable, tile_bytes

#: A kernel that is cut into tiles smaller than its output holds at most so many convolutions, poolings or products: a
#: halo that deep costs more than it saves. (With 16 instead, no plan of six networks became faster.)
MOST_HEAVY = 10


class TiledSlices:
    """Seconds of the slices to one end that hold several convolutions or poolings.

    Parameters
    ----------
    sums : SliceSums
        Of the same operators, up to that end.
    """

    def __init__(self, sums: SliceSums) -> None:
        self.sums, self.order, self.pricer = sums, sums.order, sums.pricer
        self.room = SliceRoom(self.order, self.pricer.p)
        self._at = positions(self.order)
        self._first_reader = first_readers(sums.graph, self.order)
        tiled = [why_not_tiled(op) is None for op in self.order]
        self._needs_all = np.array([ok and _needs_all(op) for ok, op in zip(tiled, self.order)])
        self._no_tile = ~np.array(tiled)
        self._norm_of = {conv.name: op for op in self.order if (conv := self.pricer.folds_into(op)) is not None}
        self._behind_view = _last_sources_behind_views(sums.graph, self.order)

    def price(self, low: int, high: int, end: int, allowed: NDArray[np.bool_], seconds: Floats) -> None:
        """Write the seconds of the slices that start from `low` to `high`, as far as they may be and fit."""
        low = max(low, self._first_start_tiled(end))
        if high < low or not allowed[low : high + 1].any():
            return
        whole = self._first_start_whole(low, end) if self.pricer.tile is None else end + 1
        # in one tile nothing is computed or read again: no other is faster, and the costs are those of streaming
        seconds[whole : high + 1] = self.sums.seconds(slice(whole, max(high + 1, whole)))
        if low < whole:
            self._cut(low, min(whole - 1, high), end, allowed, seconds)

    def _first_start_tiled(self, end: int) -> int:
        """The first start from which to `end` every operator can be cut, and is read inside unless it is the last."""
        upto = slice(0, end + 1)
        bad = np.flatnonzero(self._no_tile[upto])
        unread = np.flatnonzero(self._first_reader[:end] > end)
        return int(max([-1, *bad[-1:], *unread[-1:], self._behind_view[upto].max()])) + 1

    def _first_start_whole(self, low: int, end: int) -> int:
        """The first start from which a slice fits the chip in one tile and needs the whole of all it reads."""
        cut = np.flatnonzero(~self._needs_all[: end + 1])
        first = max(low, int(cut[-1]) + 1 if len(cut) else 0)
        if self.pricer.capacity == np.inf or first > end:
            return first
        needed = np.maximum(self.room.tile_bytes(first, end), self.room.weight_bytes(first, end))
        too_long = np.flatnonzero(needed > self.pricer.capacity)
        return first + (int(too_long[-1]) + 1 if len(too_long) else 0)

    def _cut(self, low: int, high: int, end: int, allowed: NDArray[np.bool_], seconds: Floats) -> None:
        """Start by start, from `high` down to `low`, with a table of all tiles that grows."""
        p, capacity = self.pricer.p, self.pricer.capacity
        low += int((self.room.weight_bytes(low, end)[: high + 1 - low] > capacity).sum())  # the longest of them
        if not allowed[low : high + 1].any():
            return
        table, heavies = self._table(end), 0
        for start in range(end, low - 1, -1):
            self._prepend(table, start, end)
            heavies += is_heavy(self.order[start])
            if heavies > MOST_HEAVY:
                return
            if start > high:
                continue
            needed = tile_bytes(table, p) if capacity < np.inf else np.zeros(table.shape)
            if needed.min() > capacity:
                return  # longer ones need more still
            if allowed[start]:
                cut = self.pricer.read_by_tiles(table)
                tiled = sum(float(tensor_bytes(t, t.elements, p)) for t in cut)
                fixed = self.sums.dram[start] - tiled
                seconds[start] = self.pricer.best(table, cut, needed, fixed, self.sums.on_chip[start])[1]

    def _table(self, end: int) -> TileTable:
        last, tile = self.order[end], self.pricer.tile
        height, width = last.output.shape[2:]
        if tile is not None:
            return TileTable(last, tile.halo, ([min(tile.tile[0], height)], [min(tile.tile[1], width)]))
        return TileTable(last, self.pricer.halo, measured=self.pricer.capacity < np.inf)

    def _prepend(self, table: TileTable, start: int, end: int) -> None:
        op = self.order[start]
        table.prepend(op)
        norm = self._norm_of.get(op.name)
        if norm is not None and self._at[norm.name] <= end:
            table.replace_work(norm, norm.work.other_flops, folded_flops(self.sums.graph, norm))


def _last_sources_behind_views(graph: Graph, order: Sequence[Operator]) -> NDArray[np.intp]:
    """Of each operator that reads a view the last producer: together they cannot be cut into tiles. -1 for none."""
    at = positions(order)

    def last(op: Operator) -> int:
        makers = [graph.producers.get(t.name) for t in op.activations]
        if not any(maker is not None and maker.is_view for maker in makers):
            return -1
        return max((at[p.name] for p in working_producers(graph, op)), default=-1)

    return np.array([last(op) for op in order])


def _needs_all(op: Operator) -> bool:
    """An operator reads every position of its inputs: no stride passes some by, at the border or between windows.

    (Small tiles would leave out what lies between: then the whole in one tile is not the fastest.)
    """
    a = op.attributes
    return all(
        input_interval(op, t, axis, (0, op.output.shape[2 + axis])) == (0, t.shape[2 + axis])
        and ("stride" not in a or a["dilation"][axis] * (a["kernel"][axis] - 1) + 1 >= a["stride"][axis])
        for t in op.activations
        for axis in (0, 1)
    )
