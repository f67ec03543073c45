"""Depth-first tiles: several convolutions in one kernel, computed tile by tile.

From a tile of the last output, walk back through kernel size, stride, dilation and padding to the region that each
tensor before it must hold, clipped at the borders. Neighbouring tiles need overlapping regions, the *halo*: it is
computed again (`recompute`), kept along the rows (`cache rows`), or kept altogether (`cache all`).

Rows and columns are independent, so everything here is worked out along one axis and multiplied.

References
----------
Alwani et al., "Fused-layer CNN accelerators", MICRO 2016 (the pyramid of tiles).
Mei et al., "DeFiNES", HPCA 2023, section II (the halo modes: fully recompute, H-cached V-recompute, fully cached).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..errors import FusionError, pair, unknown_name
from ..graph import Operator, Tensor
from ..operators import is_elementwise

#: What to do with the halo.
HALO_MODES = ("recompute", "cache rows", "cache all")

Interval = tuple[int, int]

#: From an interval of output positions to the interval of input positions it needs: f(operator, axis, low, high).
Reach = Callable[[Operator, int, int, int], Interval]


@dataclass(frozen=True)
class Tiling:
    """How a kernel is cut: the tile of its last output (height, width), and the halo mode."""

    tile: tuple[int, int]
    halo: str = "recompute"

    def __post_init__(self) -> None:
        object.__setattr__(self, "tile", pair("tile", self.tile))
        if self.halo not in HALO_MODES:
            raise unknown_name("halo mode", self.halo, HALO_MODES)


@dataclass(frozen=True)
class TileCosts:
    """What tiling makes of a kernel's work and traffic. Everything is for the whole output, all tiles together.

    macs, other_flops : the work with everything that is computed again.
    read : elements read of each external tensor, by name.
    live_elements : the most elements of tiles (and kept halos) on the chip at once, for one image.
    weight_elements : weights of the kernel, which stay on the chip from tile to tile.
    """

    macs: int
    other_flops: int
    read: dict[str, int]
    live_elements: int
    weight_elements: int


def why_not_tiled(operator: Operator) -> str | None:
    """None when an operator can be computed tile by tile; otherwise the reason in words."""
    if operator.kind in _REACH or is_elementwise(operator.kind):
        if all(len(t.shape) == 4 for t in (*operator.activations, *operator.outputs)):
            return None
        return f"{operator.name} works on {operator.output.shape}; only images (N, C, H, W) are cut into tiles"
    return f"{operator.name} ({operator.kind}) needs more of its input than a tile: it cannot be computed tile by tile"


def tile_costs(
    operators: Sequence[Operator], tiling: Tiling, other_flops: Mapping[str, int] | None = None
) -> TileCosts:
    """Work and traffic of operators as one tiled kernel.

    Parameters
    ----------
    operators : sequence of Operator
        In the order they run, each of which can be tiled (`why_not_tiled`); all but the last are read inside.
    tiling : Tiling
    other_flops : mapping of str to int, optional
        What an operator does beside multiply-accumulates where it is not its own work: a folded batch norm's.

    Returns
    -------
    TileCosts

    Raises
    ------
    FusionError
        A second operator whose result nobody inside reads.
    """
    needed = [regions(operators, axis, tiling.tile[axis]) for axis in (0, 1)]
    area = {name: _positions(needed, name, tiling.halo) for name in needed[0]}
    work = {op.name: op.work.other_flops for op in operators} | dict(other_flops or {})
    macs = other = 0
    read: dict[str, int] = {}
    inside = {t.name for op in operators for t in op.outputs}
    for op in operators:
        macs += _share(op.macs, area[_worked(op).name], _worked(op))
        other += _share(work[op.name], area[op.output.name], op.output)
        for t in op.activations:
            if t.name not in inside:
                read[t.name] = _share(t.elements, area[t.name], t)
        for t in op.weights:
            read[t.name] = t.elements
    weights = {t.name: t.elements for op in operators for t in op.weights}
    return TileCosts(macs, other, read, _live(operators, needed, tiling), sum(weights.values()))


def _last(operators: Sequence[Operator]) -> Operator:
    """The one operator whose output is cut into tiles: nobody inside reads it."""
    read = {t.name for op in operators for t in op.inputs}
    ends = [op for op in operators if op.output.name not in read]
    if len(ends) > 1:
        raise FusionError(
            f"not fused: {ends[0].name} and {ends[1].name} both end the kernel; a tiled kernel has one end."
        )
    return ends[0]


def regions(operators: Sequence[Operator], axis: int, tile: int) -> dict[str, list[Interval]]:
    """Along one axis (0: rows, 1: columns): for each tensor of a kernel, the interval that each tile needs of it."""
    last = _last(operators)
    size = last.output.shape[2 + axis]
    found = {last.output.name: [(low, min(low + tile, size)) for low in range(0, size, tile)]}
    for op in reversed(operators):
        for t in op.activations:
            needed = [input_interval(op, t, axis, i) for i in found[op.output.name]]
            before = found.get(t.name)
            found[t.name] = needed if before is None else [_hull(a, b) for a, b in zip(before, needed)]
    return found


def unclipped_interval(op: Operator, axis: int, interval: Interval) -> Interval:
    """What an operator reaches for behind an interval of its output, beyond the borders too: there is padding."""
    return _REACH.get(op.kind, _same_place)(op, axis, *interval)


def input_interval(op: Operator, t: Tensor, axis: int, interval: Interval) -> Interval:
    """What an operator needs of an input for an interval of its output. Padding is not read: clipped at the borders."""
    limit = t.shape[2 + axis]
    low, high = unclipped_interval(op, axis, interval)
    return (0, limit) if limit == 1 else (max(low, 0), min(high, limit))


def _window(op: Operator, axis: int, low: int, high: int) -> Interval:
    a = op.attributes
    stride, before = a["stride"][axis], a["padding"][2 * axis]
    return low * stride - before, (high - 1) * stride - before + a["dilation"][axis] * (a["kernel"][axis] - 1) + 1


def _transposed_window(op: Operator, axis: int, low: int, high: int) -> Interval:
    a = op.attributes
    stride, before = a["stride"][axis], a["padding"][2 * axis]
    reach = a["dilation"][axis] * (a["kernel"][axis] - 1)
    return -((reach - low - before) // stride), (high - 1 + before) // stride + 1


def _enlarged(op: Operator, axis: int, low: int, high: int) -> Interval:
    scale, more = op.attributes["scale"], int(op.kind == "upsample_bilinear")
    return low // scale - more, -(-high // scale) + more


def _same_place(op: Operator, axis: int, low: int, high: int) -> Interval:
    return low, high


#: Kinds whose input region is not the output region itself.
_REACH: dict[str, Reach] = {
    "conv2d": _window,
    "max_pool": _window,
    "avg_pool": _window,
    "conv_transpose2d": _transposed_window,
    "upsample_nearest": _enlarged,
    "upsample_bilinear": _enlarged,
}


def _hull(a: Interval, b: Interval) -> Interval:
    return min(a[0], b[0]), max(a[1], b[1])


def _positions(regions: list[dict[str, list[Interval]]], name: str, halo: str) -> int:
    """Positions of a tensor that are worked on, over all tiles: with their overlaps, or each once where kept."""
    rows, columns = regions[0][name], regions[1][name]
    down = _covered(rows) if halo == "cache all" else _total(rows)
    across = _total(columns) if halo == "recompute" else _covered(columns)
    return down * across


def _total(intervals: list[Interval]) -> int:
    return sum(high - low for low, high in intervals)


def _covered(intervals: list[Interval]) -> int:
    """Positions in at least one interval; the intervals come in order."""
    covered, end = 0, 0
    for low, high in intervals:
        covered += max(high - max(low, end), 0)
        end = max(end, high)
    return covered


def _worked(op: Operator) -> Tensor:
    """The tensor whose positions the MACs count: the output; of a transposed convolution the input."""
    return op.activations[0] if op.kind == "conv_transpose2d" else op.output


def _share(amount: int, positions: int, t: Tensor) -> int:
    """So much of an amount that is spread evenly over the positions of a tensor."""
    return amount * positions // (t.shape[2] * t.shape[3])


def _live(operators: Sequence[Operator], regions: list[dict[str, list[Interval]]], tiling: Tiling) -> int:
    """The most elements on the chip at once, for the largest tile of one image.

    A tensor is there from the operator that loads or makes it to the last that reads it. An elementwise operator
    works in place where its input has no other reader.
    """
    tensors = {t.name: t for op in operators for t in (*op.activations, *op.outputs)}
    largest = {name: _largest(regions, t) for name, t in tensors.items()}
    last_read = {t.name: i for i, op in enumerate(operators) for t in op.activations}
    live: set[str] = set()
    most = 0
    for i, op in enumerate(operators):
        live |= {t.name for t in op.activations}
        done = {t.name for t in op.activations if last_read[t.name] == i}
        if is_elementwise(op.kind):
            live -= set(sorted(done, key=lambda name: -largest[name])[:1])
        live.add(op.output.name)
        most = max(most, sum(largest[name] for name in live))
        live -= done
    return most + sum(
        _kept(regions, t, tiling.halo) for name, t in tensors.items() if name != operators[-1].output.name
    )


def _largest(regions: list[dict[str, list[Interval]]], t: Tensor) -> int:
    height, width = (max(high - low for low, high in regions[axis][t.name]) for axis in (0, 1))
    return t.shape[1] * height * width


def _kept(regions: list[dict[str, list[Interval]]], t: Tensor, halo: str) -> int:
    """Elements of a tensor's halo that are kept for the next tile, and for the next row of tiles."""
    if halo == "recompute":
        return 0
    rows, columns = regions[0][t.name], regions[1][t.name]
    height = max(high - low for low, high in rows)
    kept = _overlap(columns) * height
    if halo == "cache all":
        kept += _overlap(rows) * t.shape[3]
    return t.shape[1] * kept


def _overlap(intervals: list[Interval]) -> int:
    return max((max(a[1] - b[0], 0) for a, b in zip(intervals, intervals[1:])), default=0)
