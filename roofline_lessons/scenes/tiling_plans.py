"""The plans of the tiling scene: layers in groups of a fixed depth, cut into square tiles."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..cost import Estimate
from ..device import Device
from ..errors import FusionError, unknown_name
from ..fusion import Plan, fuse
from ..fusion.legality import is_heavy
from ..fusion.tiling import regions, why_not_tiled
from ..graph import Graph, Operator
from .small_networks import chosen

Layers = tuple[tuple[Operator, ...], ...]

#: Networks of the menu.
NETWORKS = chosen("WDWD", "WWWW", "DDDD", "MobileNetV2 block", "VGG-19 start")

#: A made-up device with round numbers, so that every time can be checked in the head.
TEACHING_ACCELERATOR = Device(
    "teaching accelerator",
    peak={"fp32": 1e12, "fp16": 2e12, "int8": 4e12},
    bandwidth=1e11,
    launch_seconds=5e-6,
    on_chip_bytes=512 * 1024,
)


#: Tiles along one side of the output that the tile slider offers, from many small ones to one, the whole.
TILES_PER_SIDE = (28, 14, 10, 8, 7, 6, 5, 4, 3, 2, 1)

#: Steps of the on-chip memory slider in bytes: four per doubling, 16 KiB to 512 MiB (and 228 KiB, what one
#: multiprocessor of an H100 has, in place of 224).
_STEPS = (*(2**k // 4 * i for k in range(14, 29) for i in range(4, 8)), 2**29)
CAPACITIES = tuple(float(228 * 1024 if n == 224 * 1024 else n) for n in _STEPS)


@dataclass(frozen=True)
class Candidate:
    """One fusion depth at the tile of the slider: its kernels and what they cost, whether they fit or not.

    name : the kernels as a person reads them, "[WD][WD]".
    flops_again : FLOPs that only the overlap of tiles causes.
    halo_bytes : DRAM bytes that are read more than once.
    tile_bytes, weight_bytes : the most that one kernel needs on the chip.
    over_bytes, over : how much the worse of the two is above the capacity (0 where it fits), and which one it is.
    """

    depth: int
    name: str
    estimate: Estimate
    flops_again: float
    halo_bytes: float
    tile_bytes: float
    weight_bytes: float
    over_bytes: float
    over: str

    @property
    def fits(self) -> bool:
        return self.over_bytes == 0

    @property
    def arithmetic_seconds(self) -> float:
        """What the arithmetic of all kernels takes, with what is computed again."""
        return float(self.estimate.kernel_arithmetic_seconds.sum())

    @property
    def memory_seconds(self) -> float:
        """What the traffic of all kernels takes, with what is read again."""
        return float(self.estimate.kernel_memory_seconds.sum())


def capacities_with(own: float | None) -> list[float | None]:
    """The steps of the slider in which a device's own capacity takes the place of the nearest; the last is no limit."""
    grid: list[float | None] = [*CAPACITIES]
    if own is not None and own not in grid:
        grid[int(np.argmin(np.abs(np.log(np.array(CAPACITIES) / own))))] = own
    return [*grid, None]


def halo_bytes(plan: Plan, activation_bits: float) -> NDArray[np.float64]:
    """Per kernel, the bytes of its inputs that it reads more than once because its tiles overlap."""
    more = [sum(max(r.elements - r.tensor.elements, 0) for r in k.reads) for k in plan.kernels]
    bytes_again: NDArray[np.float64] = np.ceil(np.array(more, dtype=float) * activation_bits / 8)
    return bytes_again


def pyramid(layers: Sequence[Sequence[Operator]], tile: int) -> list[list[int]]:
    """What one tile, in the middle of the output, needs of each layer's input, and of the output.

    Returns
    -------
    list of list of int
        From the first layer's input to the last output: height, width, then for rows and for columns where the region
        begins and ends, and where the part begins and ends that is the tile's own. The rest of the region is halo.
    """
    operators = [op for ops in layers for op in ops]
    shown = [next(op for op in layers[0] if is_heavy(op)).activations[0], *(ops[-1].output for ops in layers)]
    rows = [[t.shape[2], t.shape[3]] for t in shown]
    for axis in (0, 1):
        found = regions(operators, axis, tile)
        size = shown[-1].shape[2 + axis]
        middle = (math.ceil(size / tile) - 1) // 2
        own = found[shown[-1].name][middle]
        for row, t in zip(rows, shown, strict=True):
            low, high = found[t.name][middle]
            scaled = [edge * t.shape[2 + axis] // size for edge in own]
            row += [low, high, *(min(max(edge, low), high) for edge in scaled)]
    return rows


def layers_of(network: str | Graph) -> Layers:
    """Each convolution and each pooling, with the operators behind it."""
    graph = _graph(network)
    layers: list[list[Operator]] = [[]]
    for op in (op for op in graph if not op.is_view):
        if is_heavy(op) and any(map(is_heavy, layers[-1])):
            layers.append([])
        if reason := why_not_tiled(op):
            raise FusionError(f"{graph.name} cannot be cut into tiles: {reason}.")
        layers[-1].append(op)
    if len(layers) < 2:
        raise FusionError(f"{graph.name} is one layer; to fuse layers it needs two convolutions or poolings at least.")
    return tuple(map(tuple, layers))


def letter(layer: Sequence[Operator]) -> str:
    """W: depthwise convolution, D: dense one, P: pooling."""
    op = next(op for op in layer if is_heavy(op))
    return "P" if not op.macs else "W" if op.attributes.get("groups", 1) > 1 else "D"


def kernel_names(layers: Sequence[Sequence[Operator]], depth: int) -> str:
    """The kernels of a depth: "[WD][WD]"."""
    letters = "".join(map(letter, layers))
    return "".join(f"[{letters[i : i + depth]}]" for i in range(0, len(letters), depth))


def _graph(network: str | Graph) -> Graph:
    return network if isinstance(network, Graph) else _graph_of_name(network)


@functools.lru_cache(maxsize=16)
def _graph_of_name(name: str) -> Graph:
    if name not in NETWORKS:
        raise unknown_name("network", name, NETWORKS)
    return NETWORKS[name]()


@functools.lru_cache(maxsize=1024)
def plan_of(network: str | Graph, halo: str, depth: int, tile: int) -> Plan:
    """Kernels of up to `depth` layers each, with square tiles of their outputs."""
    layers = layers_of(network)
    groups = [[op.name for ops in layers[i : i + depth] for op in ops] for i in range(0, len(layers), depth)]
    return fuse(_graph(network), groups=groups, tile=tile, halo=halo)
