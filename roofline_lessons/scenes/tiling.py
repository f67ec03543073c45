"""The tiling scene: how many layers one kernel should hold, in which tiles, when the chip is small.

A *layer* here is a convolution or a pooling with the elementwise operators behind it, which ride along. Fusion depth N
means kernels of up to N consecutive layers, from the start of the network on. Depth 1 is unfused: each layer streams
through its input once. A deeper kernel works tile by tile (`fusion/tiling.py`): less goes to DRAM, more is computed
again.

As in every scene there are two halves. `tables` hold, for each depth and tile, what the kernels do and need. `marks`
need only the tables and the three sliders; in the browser `tiling.js` works them out, here they come from `estimate`.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Sequence
from typing import Any

from ..cost import Estimate, estimate
from ..device import Device
from ..errors import unknown_name, whole
from ..fusion import HALO_MODES, Plan
from ..graph import Graph
from ..precision import precision
from .controls import DeviceControls, as_device
from .roofline_marks import Marks
from .tiling_marks import tiling_marks
from .tiling_plans import (
    TEACHING_ACCELERATOR,
    TILES_PER_SIDE,
    Candidate,
    capacities_with,
    halo_bytes,
    kernel_names,
    layers_of,
    letter,
    plan_of,
    pyramid,
)


class TilingScene(DeviceControls):
    """What the tiling explorer shows.

    Parameters
    ----------
    network : str or Graph
        A name of `NETWORKS`, or a graph of your own: a chain of at least two convolutions or poolings.
    device : str or Device
        A catalogue id, "teaching accelerator", or a device of your own.
    precision : str
        By default fp32, or else the first one that the device can run.
    halo : str
        "recompute", "cache rows" or "cache all".

    Attributes
    ----------
    depth : int
        Layers per kernel, at most.
    tile_step, memory_step : int
        Steps of `tiles` and `capacities`.

    Raises
    ------
    ValueError
        A name that does not exist, a precision that the device has no peak for, a graph that cannot be tiled.

    Examples
    --------
    >>> scene = TilingScene("WDWD")
    >>> scene.best.name, round(scene.best.estimate.seconds * 1e6)
    ('[WD][WD]', 481)
    >>> scene.current.name, round(scene.current.estimate.seconds * 1e6)
    ('[WDWD]', 588)
    """

    def __init__(
        self,
        network: str | Graph = "WDWD",
        device: str | Device = TEACHING_ACCELERATOR.name,
        precision: str | None = None,
        halo: str = "recompute",
    ) -> None:
        self._start = (network, device, precision, halo)
        self.reset()

    #: Id of the pattern of the halo. A page with several of them needs several names: a browser takes the first it
    #: finds, and draws nothing when that one is out of sight.
    hatch = "rl-hatch"

    def reset(self) -> None:
        """Back to how it was made: all layers in one kernel, four tiles per side, the device's own memory."""
        network, dev, name, halo = self._start
        self._start_on(dev, name)
        self.halo = halo
        self._network = network
        self._layers = layers_of(self._network)
        self._depth = self.layers
        self.tile_step = TILES_PER_SIDE.index(4) if len(self.tiles) == len(TILES_PER_SIDE) else len(self.tiles) // 2
        self.memory_step = self._own_memory_step()
        plan_of(self._network, self.halo, self.layers, self.tile)  # what cannot be tiled shows here

    # -- controls ----------------------------------------------------------------------------------------------------

    @property
    def network(self) -> str | Graph:
        return self._network

    @network.setter
    def network(self, value: str | Graph) -> None:
        self._layers = layers_of(value)
        self._network = value
        self._depth = min(self._depth, self.layers)
        self.tile_step = min(self.tile_step, len(self.tiles) - 1)

    def _as_device(self, value: str | Device) -> Device:
        return TEACHING_ACCELERATOR if value == TEACHING_ACCELERATOR.name else as_device(value)

    def _changed(self, what: str) -> None:
        """Another device brings its own on-chip memory."""
        if what == "device":
            self.memory_step = self._own_memory_step()

    @property
    def halo(self) -> str:
        return self._halo

    @halo.setter
    def halo(self, value: str) -> None:
        if value not in HALO_MODES:
            raise unknown_name("halo mode", value, HALO_MODES)
        self._halo = value

    @property
    def depth(self) -> int:
        return self._depth

    @depth.setter
    def depth(self, value: int) -> None:
        if whole("depth", value) > self.layers:
            raise ValueError(f"depth must be between 1 and {self.layers}, the layers of {self.title}, not {value}.")
        self._depth = value

    @property
    def tile(self) -> int:
        """Side of a tile of each kernel's output."""
        return self.tiles[self.tile_step]

    @tile.setter
    def tile(self, value: int) -> None:
        self.tile_step = _step("tile", value, self.tiles)

    @property
    def on_chip_bytes(self) -> float | None:
        """Capacity that the slider says; None is no limit."""
        return self.capacities[self.memory_step]

    @on_chip_bytes.setter
    def on_chip_bytes(self, value: float | None) -> None:
        self.memory_step = _step("on_chip_bytes", value, self.capacities)

    @property
    def tiles(self) -> list[int]:
        """Tile sizes of the slider: the largest output of a layer cut into 28 ... 1 tiles per side."""
        side = max(max(ops[-1].output.shape[2:]) for ops in self._layers)
        return sorted({math.ceil(side / n) for n in TILES_PER_SIDE})

    @property
    def capacities(self) -> list[float | None]:
        """On-chip sizes of the slider in bytes: a grid in which the nearest step is the device's own, then no limit."""
        return capacities_with(self._device.on_chip_bytes)

    def _own_memory_step(self) -> int:
        return self.capacities.index(self._device.on_chip_bytes)

    # -- model -------------------------------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        return self._network.name if isinstance(self._network, Graph) else self._network

    @property
    def layers(self) -> int:
        """Convolutions and poolings of the network: the deepest kernel holds so many."""
        return len(self._layers)

    @property
    def letters(self) -> list[str]:
        """A letter per layer: W depthwise, D dense convolution, P pooling."""
        return [letter(ops) for ops in self._layers]

    @property
    def tuned_device(self) -> Device:
        """The device with the slider's on-chip memory."""
        return self._device.with_(on_chip_bytes=self.on_chip_bytes)

    def plan(self, depth: int, tile: int) -> Plan:
        """The plan whose kernels hold up to `depth` layers, with tiles of this side."""
        return plan_of(self._network, self._halo, depth, tile)

    @property
    def candidates(self) -> list[Candidate]:
        """Every depth at the tile of the slider."""
        return [self._candidate(depth) for depth in range(1, self.layers + 1)]

    @property
    def current(self) -> Candidate:
        return self.candidates[self._depth - 1]

    @property
    def best(self) -> Candidate:
        """The fastest depth that fits. Depth 1 always does: it keeps no tile."""
        return min((c for c in self.candidates if c.fits), key=lambda c: c.estimate.seconds)

    def _candidate(self, depth: int) -> Candidate:
        plan, p = self.plan(depth, self.tile), precision(self._precision)
        needed = plan.on_chip_bytes_needed(p).max(axis=0)
        over = needed - (math.inf if self.on_chip_bytes is None else self.on_chip_bytes)
        return Candidate(
            depth=depth,
            name=kernel_names(self._layers, depth),
            estimate=self._estimate(plan),
            flops_again=float(self._estimate(plan).flops - self._flops_once),
            halo_bytes=float(halo_bytes(plan, p.activation_bits).sum()),
            tile_bytes=float(needed[0]),
            weight_bytes=float(needed[1]),
            over_bytes=max(float(over.max()), 0.0),
            over=("tiles", "weights")[int(over.argmax())],
        )

    def _estimate(self, plan: Plan) -> Estimate:
        """What a plan costs, whether it fits or not."""
        return estimate(plan, self._device.with_(on_chip_bytes=None), self._precision)

    @property
    def _flops_once(self) -> int:
        return self._estimate(self.plan(1, self.tile)).flops

    # -- tables and marks ---------------------------------------------------------------------------------------------

    @property
    def tables(self) -> dict[str, Any]:
        """Everything that does not depend on the three sliders, as plain numbers and strings (JSON)."""
        d = self._device
        return self._device_tables() | {
            "network": html.escape(self.title),
            "halo": self._halo,
            "letters": self.letters,
            "hatch": self.hatch,
            "names": [kernel_names(self._layers, depth) for depth in range(1, self.layers + 1)],
            "tiles": self.tiles,
            "capacities": self.capacities,
            "unknown_capacity": d.on_chip_bytes is None,
            "levels": [b for name, b in d.roofs().items() if name != "DRAM"],
            "plans": [[self._rows(depth, tile) for tile in self.tiles] for depth in range(1, self.layers + 1)],
        }

    def _rows(self, depth: int, tile: int) -> dict[str, Any]:
        """What the browser needs of one plan: a number per kernel, and the regions of the first kernel."""
        plan, p = self.plan(depth, tile), precision(self._precision)
        est, needed = self._estimate(plan), plan.on_chip_bytes_needed(p)
        return {
            "mac_flops": (2 * est.kernel_macs).tolist(),
            "other_flops": est.kernel_other_flops.tolist(),
            "dram_bytes": est.kernel_dram_bytes.tolist(),
            "on_chip_bytes": est.kernel_on_chip_bytes.tolist(),
            "halo_bytes": halo_bytes(plan, p.activation_bits).tolist(),
            "tile_bytes": needed[:, 0].tolist(),
            "weight_bytes": needed[:, 1].tolist(),
            "pyramid": pyramid(self._layers[:depth], tile),
        }

    @property
    def controls(self) -> dict[str, int]:
        """The sliders as the browser knows them."""
        return {"depth": self._depth, "tile": self.tile_step, "memory": self.memory_step}

    @property
    def marks(self) -> Marks:
        """Every mark and text of the explorer: name -> its traits. `tiling.js` gives the same from the tables."""
        return tiling_marks(self)

    @property
    def pyramid(self) -> list[list[int]]:
        """The regions of the first kernel for one tile; see `pyramid`."""
        return pyramid(self._layers[: self._depth], self.tile)

    @property
    def sentence(self) -> str:
        """What is seen, in a few sentences."""
        return html.unescape(re.sub("<[^>]*>", "", self.marks["sentence"]["value"]))


def _step(name: str, value: float | None, grid: Sequence[float | None]) -> int:
    if value not in grid:
        known = ", ".join("None" if v is None else f"{v:,.0f}" for v in grid)
        raise ValueError(f"{name} must be one of the slider's steps ({known}), not {value!r}.")
    return list(grid).index(value)
