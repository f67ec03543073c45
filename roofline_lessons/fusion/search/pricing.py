"""What one kernel costs on a device, without a plan around it: what a search asks thousands of times."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ...device import Device
from ...errors import FusionError
from ...graph import Graph, Operator, Tensor
from ...precision import Precision
from ...timing import kernel_seconds
from ..again import again
from ..kernel import Kernel, does_not_fit, make_kernel, on_chip_transfers
from ..legality import folded_flops, why_not_folded
from ..tiling import Tiling
from ..traffic import Transfer, tensor_bytes
from .tiles import TileTable, best_tiling, table_of, table_seconds, tile_bytes


class Pricer:
    """Seconds of kernels of one graph on one device, as `estimate` would give them.

    Parameters
    ----------
    graph, device, p
    fold : bool
    tile : Tiling, optional
        The tile of every kernel that is cut; by default each gets its fastest.
    halo : str
        Of the tiles that are searched.
    """

    def __init__(
        self, graph: Graph, device: Device, p: Precision, *, fold: bool, tile: Tiling | None, halo: str
    ) -> None:
        self.graph, self.device, self.p, self.fold, self.tile, self.halo = graph, device, p, fold, tile, halo

    @cached_property
    def capacity(self) -> float:
        return np.inf if self.device.on_chip_bytes is None else self.device.on_chip_bytes

    def bytes_of(self, transfers: Sequence[Transfer]) -> float:
        return float(sum(tensor_bytes(t.tensor, t.elements, self.p) for t in transfers))

    def kernel(self, operators: tuple[Operator, ...]) -> Kernel:
        """The kernel with the tile it will have.

        Raises
        ------
        FusionError
            The operators may not be one kernel, or it does not fit the chip with any tile.
        """
        kernel = make_kernel(self.graph, operators, self.fold, self.tile)
        if kernel.tiling and self.tile is None:
            return make_kernel(self.graph, operators, self.fold, self.fastest_tile(kernel))
        self._check_fits(kernel)
        return kernel

    def folds_into(self, op: Operator) -> Operator | None:
        """The convolution that takes a batch norm up, where it may and batch norms are folded at all."""
        if not self.fold or op.kind != "batch_norm":
            return None
        conv = self.graph.producers.get(op.inputs[0].name)
        return conv if conv is not None and why_not_folded(self.graph, op, (conv, op)) is None else None

    def seconds(self, kernel: Kernel) -> float:
        more = again(kernel, self.device, self.p)
        dram = self.bytes_of((*kernel.reads, *kernel.writes)) + more.dram_bytes
        on_chip = self.bytes_of(on_chip_transfers(self.graph, kernel))
        macs, other = kernel.macs + more.macs, kernel.other_flops + more.other_flops
        return float(kernel_seconds(self.device, self.p, macs, other, dram, on_chip))

    def fastest_tile(self, kernel: Kernel) -> Tiling:
        """The fastest of the tiles that fit.

        Raises
        ------
        FusionError
            None fits, with the bytes that the smallest is over.
        """
        self._check_weights(kernel)
        table = table_of(kernel.operators, self.halo, {op.name: folded_flops(self.graph, op) for op in kernel.folded})
        needed = tile_bytes(table, self.p)
        if needed.min() > self.capacity:
            raise FusionError(does_not_fit(kernel.name, "smallest tiles", needed.min(), self.device))
        cut = self.read_by_tiles(table)
        names = {t.name for t in cut}
        fixed = self.bytes_of([t for t in (*kernel.reads, *kernel.writes) if t.tensor.name not in names])
        on_chip = self.bytes_of(on_chip_transfers(self.graph, kernel))
        return self.best(table, cut, needed, fixed, on_chip)[0]

    def read_by_tiles(self, table: TileTable) -> list[Tensor]:
        """What comes from outside tile by tile: not a view, whose places are not those of a tile. The tensors that a
        view shows are read whole.
        """
        makers = self.graph.producers
        return [t for t in table.outside if t.name not in makers or not makers[t.name].is_view]

    def best(
        self,
        table: TileTable,
        cut: Sequence[Tensor],
        needed: np.ndarray,
        fixed_bytes: float,
        on_chip_bytes: float,
    ) -> tuple[Tiling, float]:
        """The fastest tile that fits, and its seconds. `cut` are the tensors that are `read_by_tiles`."""
        seconds = table_seconds(table, cut, self.device, self.p, fixed_bytes, on_chip_bytes)
        seconds = np.where(needed <= self.capacity, seconds, np.inf)
        return best_tiling(table, seconds), float(seconds.min())

    def _check_fits(self, kernel: Kernel) -> None:
        self._check_weights(kernel)
        tiles = np.ceil(kernel.live_elements * self.p.activation_bits / 8)
        if tiles > self.capacity:
            raise FusionError(does_not_fit(kernel.name, "tiles", tiles, self.device))

    def _check_weights(self, kernel: Kernel) -> None:
        weights = np.ceil(kernel.weight_elements * self.p.weight_bits / 8)
        if weights > self.capacity:
            raise FusionError(does_not_fit(kernel.name, "weights", weights, self.device))
