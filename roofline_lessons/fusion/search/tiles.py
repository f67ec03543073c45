"""The fastest tile of a kernel: the costs of many tiles at once, as arrays over heights and widths.

The same numbers as `tiling.tile_costs`, which works out one tile and is the one to read; a test holds the two equal.
A `TileTable` grows backward, operator by operator, so that a search which lengthens a kernel at its front does not
begin again each time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...device import Device
from ...errors import FusionError
from ...graph import Operator, Tensor
from ...operators import is_elementwise
from ...precision import Precision
from ...timing import kernel_seconds
from ..tiling import Tiling, unclipped_interval
from ..traffic import tensor_bytes

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

#: Into how many tiles an axis is cut.
CUTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024)


def tile_sizes(size: int) -> list[int]:
    """The tile sizes that are tried along an axis, largest first: the size in 1, 2, 3, 4, 6, 8 … parts, and 1.

    Examples
    --------
    >>> tile_sizes(56)
    [56, 28, 19, 14, 10, 7, 5, 4, 3, 2, 1]
    """
    return sorted({-(-size // cuts) for cuts in CUTS if cuts < size} | {1}, reverse=True)


@dataclass
class _Span:
    """Of one tensor along one axis: the interval that each tile needs, all tile sizes one behind the other."""

    low: Whole
    high: Whole

    def hull(self, other: _Span) -> _Span:
        return _Span(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


class _Axis:
    """One axis of a kernel: which tile sizes, and what each tensor needs of them."""

    def __init__(self, size: int, sizes: Sequence[int]) -> None:
        self.sizes = np.array(sizes)
        low = [np.arange(0, size, tile) for tile in sizes]
        self.start = np.concatenate([[0], np.cumsum([len(tiles) for tiles in low])[:-1]])
        self.first = np.zeros(sum(map(len, low)), dtype=bool)  # of the tiles of its size
        self.first[self.start] = True
        self.whole = _Span(
            np.concatenate(low), np.concatenate([np.minimum(tiles + t, size) for tiles, t in zip(low, sizes)])
        )

    def total(self, span: _Span) -> Whole:
        """Positions of all tiles together, overlaps as often as they come."""
        return np.add.reduceat(span.high - span.low, self.start)

    def overlaps(self, span: _Span) -> Whole:
        """Positions that each tile shares with the one before it."""
        shared = np.zeros_like(span.low)
        shared[1:] = np.maximum(span.high[:-1] - span.low[1:], 0)
        shared[self.first] = 0
        return shared

    def covered(self, span: _Span) -> Whole:
        """Positions in at least one tile. Intervals come in order, so what a tile has before is in the one before."""
        return self.total(span) - np.add.reduceat(np.minimum(self.overlaps(span), span.high - span.low), self.start)

    def largest(self, span: _Span) -> Whole:
        return np.maximum.reduceat(span.high - span.low, self.start)

    def overlap(self, span: _Span) -> Whole:
        """The most positions that two neighbouring tiles share."""
        return np.maximum.reduceat(self.overlaps(span), self.start)


class TileTable:
    """The costs of operators as one kernel, for every pair of tile heights and widths.

    Parameters
    ----------
    last : Operator
        The end of the kernel, whose output is cut.
    halo : str
    sizes : pair of sequences of int, optional
        Heights and widths to try; `tile_sizes` of the output by default.
    measured : bool
        Keep track of what is on the chip at once (`live_elements`); needless where everything fits.

    Attributes
    ----------
    macs, other_flops : array (heights, widths)
    read : dict of str to array
        Elements read of each external activation.
    """

    def __init__(
        self,
        last: Operator,
        halo: str,
        sizes: tuple[Sequence[int], Sequence[int]] | None = None,
        measured: bool = True,
    ) -> None:
        height, width = last.output.shape[2:]
        chosen = sizes or (tile_sizes(height), tile_sizes(width))
        self.halo, self._measured = halo, measured
        self.axes = (_Axis(height, chosen[0]), _Axis(width, chosen[1]))
        self.shape = len(chosen[0]), len(chosen[1])
        self.macs: Floats = np.zeros(self.shape)
        self.other_flops: Floats = np.zeros(self.shape)
        self._spans: dict[str, tuple[_Span, _Span]] = {last.output.name: (self.axes[0].whole, self.axes[1].whole)}
        self._tensors: dict[str, Tensor] = {last.output.name: last.output}
        self._outside: dict[str, Tensor] = {}
        self._positions: dict[str, Floats] = {}
        self._sizes: dict[str, Floats] = {}
        self._operators: list[Operator] = []
        self._peak: Floats = np.zeros(self.shape)

    def prepend(self, op: Operator, other_flops: int | None = None) -> None:
        """Put an operator in front. What it makes must be read by an operator that is there already.

        Raises
        ------
        FusionError
            Nobody inside reads what it makes: the kernel would have two ends.
        """
        if op.output.name not in self._spans:
            raise FusionError(
                f"not fused: {op.name} and {self._operators[-1].name} both end the kernel; a tiled kernel has one end."
            )
        out = self._spans[op.output.name]
        chain = not self._operators or op.output in self._operators[0].activations
        self._outside.pop(op.output.name, None)
        for t in op.activations:
            self._tensors[t.name] = self._outside[t.name] = t
            if is_elementwise(op.kind) and t.name not in self._spans and t.shape == op.output.shape:
                self._same_as(t, op.output)
                continue
            needed = _needed(op, t, 0, out[0]), _needed(op, t, 1, out[1])
            if t.name in self._spans:
                before = self._spans[t.name]
                needed = needed[0].hull(before[0]), needed[1].hull(before[1])
                chain = False
            self._spans[t.name] = needed
            self._positions.pop(t.name, None)
            self._sizes.pop(t.name, None)
        worked = op.activations[0] if op.kind == "conv_transpose2d" else op.output
        work = op.work.other_flops if other_flops is None else other_flops
        if op.macs:
            self.macs = self.macs + _share(op.macs, self.positions(worked.name), worked)
        if work:
            self.other_flops = self.other_flops + _share(work, self.positions(op.output.name), op.output)
        self._operators.insert(0, op)
        if self._measured:  # of a chain, what is behind does not change
            self._peak = np.maximum(self._peak, self._live_at_front(op)) if chain else self._walk()

    def _same_as(self, t: Tensor, other: Tensor) -> None:
        """Two thirds of the operators of a network work in place: what they need need not be worked out again."""
        self._spans[t.name] = self._spans[other.name]
        self._positions[t.name] = self.positions(other.name)
        if other.name in self._sizes:
            self._sizes[t.name] = self._sizes[other.name]

    def replace_work(self, op: Operator, before: int, after: int) -> None:
        """Take other work for an operator that is there already: a batch norm whose convolution has come."""
        positions = self.positions(op.output.name)
        self.other_flops = self.other_flops - _share(before, positions, op.output) + _share(after, positions, op.output)

    def positions(self, name: str) -> Floats:
        """Positions of a tensor that are worked on, over all tiles: with their overlaps, or each once where kept."""
        if name not in self._positions:
            (rows, columns), (down, across) = self._spans[name], self.axes
            high = down.covered(rows) if self.halo == "cache all" else down.total(rows)
            wide = across.total(columns) if self.halo == "recompute" else across.covered(columns)
            self._positions[name] = high[:, None] * wide.astype(float)
        return self._positions[name]

    @property
    def read(self) -> dict[str, Floats]:
        return {name: _share(t.elements, self.positions(name), t) for name, t in self._outside.items()}

    @property
    def outside(self) -> list[Tensor]:
        """The activations that come from outside."""
        return list(self._outside.values())

    @property
    def live_elements(self) -> Floats:
        """The most elements of tiles and kept halos on the chip at once, for one image."""
        last = self._operators[-1].output.name
        return self._peak + sum(self._kept(name) for name in self._tensors if name != last)

    def _largest(self, name: str) -> Floats:
        if name not in self._sizes:
            rows, columns = self._spans[name]
            high, wide = self.axes[0].largest(rows), self.axes[1].largest(columns)
            self._sizes[name] = high[:, None] * (self._tensors[name].shape[1] * wide.astype(float))
        return self._sizes[name]

    def _kept(self, name: str) -> Floats | float:
        if self.halo == "recompute":
            return 0.0
        (rows, columns), t = self._spans[name], self._tensors[name]
        kept = self.axes[0].largest(rows)[:, None] * self.axes[1].overlap(columns).astype(float)
        if self.halo == "cache all":
            kept += np.outer(self.axes[0].overlap(rows), np.full(self.shape[1], t.shape[3]))
        return t.shape[1] * kept

    def _live_at_front(self, op: Operator) -> Floats:
        """Elements on the chip while the first operator runs, on a chain: what it reads nobody reads after it."""
        sizes = sorted((self._largest(name) for name in {t.name for t in op.activations}), key=np.max)
        in_place = is_elementwise(op.kind)
        return sum(sizes[:-1] if in_place else sizes, self._largest(op.output.name))

    def _walk(self) -> Floats:
        """As `tiling._live`, for all tiles at once."""
        last_read = {t.name: i for i, op in enumerate(self._operators) for t in op.activations}
        live: set[str] = set()
        most, total = np.zeros(self.shape), np.zeros(self.shape)
        for i, op in enumerate(self._operators):
            done = [name for name in {t.name for t in op.activations} if last_read[name] == i]
            for name in {t.name for t in op.activations} - live:
                live.add(name)
                total = total + self._largest(name)
            if is_elementwise(op.kind) and done:  # in place
                largest = done[0] if len(done) == 1 else max(done, key=lambda name: self._largest(name).max())
                done.remove(largest)
                live.remove(largest)
                total = total - self._largest(largest)
            live.add(op.output.name)
            total = total + self._largest(op.output.name)
            most = np.maximum(most, total)
            for name in done:
                live.remove(name)
                total = total - self._largest(name)
        return most


def _needed(op: Operator, t: Tensor, axis: int, out: _Span) -> _Span:
    """What an operator needs of an input for intervals of its output, clipped at the borders."""
    limit = t.shape[2 + axis]
    if limit == 1:
        return _Span(np.zeros_like(out.low), np.ones_like(out.high))
    low, high = unclipped_interval(op, axis, (out.low, out.high))  # type: ignore[arg-type]
    return _Span(np.maximum(low, 0), np.minimum(high, limit))


def _share(amount: int, positions: Floats, t: Tensor) -> Floats:
    return np.floor(amount * positions / (t.shape[2] * t.shape[3]))


def table_of(operators: Iterable[Operator], halo: str, work: dict[str, int] | None = None) -> TileTable:
    """The table of operators that are in order."""
    backward = list(operators)[::-1]
    table = TileTable(backward[0], halo)
    for op in backward:
        table.prepend(op, (work or {}).get(op.name))
    return table


def tile_bytes(table: TileTable, p: Precision) -> Floats:
    """Bytes of tiles on the chip at once."""
    return np.ceil(table.live_elements * p.activation_bits / 8)


def table_seconds(
    table: TileTable, cut: Iterable[Tensor], device: Device, p: Precision, fixed_bytes: float, on_chip_bytes: float
) -> Floats:
    """Seconds of the kernel with each tile.

    `cut` are those of `table.outside` that are read tile by tile; `fixed_bytes` are DRAM bytes that do not depend on
    the tile.
    """
    read = table.read
    dram = sum((tensor_bytes(t, read[t.name], p) for t in cut), fixed_bytes)
    return np.asarray(kernel_seconds(device, p, table.macs, table.other_flops, dram, on_chip_bytes))


def best_tiling(table: TileTable, seconds: Floats) -> Tiling:
    """The fastest tile; of equally fast ones the largest."""
    i, j = np.unravel_index(int(np.argmin(seconds)), seconds.shape)
    return Tiling((int(table.axes[0].sizes[i]), int(table.axes[1].sizes[j])), table.halo)
