"""What slices cost without tiles: the sums of all slices that end at one operator, which grow by the next one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...graph import Operator
from ...timing import kernel_seconds
from ..kernel import reads, writes
from ..legality import folded_bias, folded_flops
from ..traffic import Transfer, tensor_bytes
from .order import last_readers, positions
from .pricing import Pricer

Floats = NDArray[np.float64]


class SliceSums:
    """MACs, other FLOPs, DRAM bytes and on-chip bytes of the slices from each start to the end reached so far.

    Parameters
    ----------
    order : sequence of Operator
        In an order in which they can run.
    pricer : Pricer
    """

    def __init__(self, order: Sequence[Operator], pricer: Pricer) -> None:
        self.order, self.pricer, self.graph = order, pricer, pricer.graph
        self.macs, self.other, self.dram, self.on_chip = (np.zeros(len(order)) for _ in range(4))
        self._at = positions(order)
        self._last_reader = last_readers(self.graph, order)
        self._last_read: dict[str, int] = {}  # of each tensor, up to the end that is worked on

    def seconds(self, starts: slice) -> Floats:
        """Seconds of the slices from these starts, everything computed and moved once."""
        sums = (self.macs[starts], self.other[starts], self.dram[starts], self.on_chip[starts])
        return np.asarray(kernel_seconds(self.pricer.device, self.pricer.p, *sums))

    def extend(self, end: int) -> None:
        """Put the operator at `end` into every slice that ended before it."""
        op, upto = self.order[end], slice(0, end + 1)
        self.macs[upto] += op.macs
        self.other[upto] += op.work.other_flops
        self.on_chip[upto] += self._alone(op)
        for transfer in reads(self.graph, (op,)):
            self._read(transfer, end)
        for transfer in writes(self.graph, (op,)):
            self.dram[upto] += self._bytes(transfer)
        self._fold(end)

    def _read(self, transfer: Transfer, end: int) -> None:
        """A tensor comes from outside into the slices that neither make it nor have read it; the last read inside
        makes it stay on the chip.
        """
        name = transfer.tensor.name
        producer = self.graph.producers.get(name)
        maker = -1 if producer is None else self._at[producer.name]
        known = max(maker, self._last_read.get(name, -1))
        self.dram[known + 1 : end + 1] += self._bytes(transfer)
        self._last_read[name] = end
        if maker >= 0 and self._last_reader[name] == end:
            written = next(w for w in writes(self.graph, (self.order[maker],)) if w.tensor.name == name)
            self.dram[: maker + 1] -= self._bytes(written)

    def _fold(self, end: int) -> None:
        """A batch norm costs nothing in the slices that hold its convolution, but a bias where there was none."""
        norm = self.order[end]
        conv = self.pricer.folds_into(norm)
        if conv is None:
            return
        both = slice(0, self._at[conv.name] + 1)
        bias = folded_bias(self.graph, norm)
        self.other[both] -= norm.work.other_flops - folded_flops(self.graph, norm)
        self.on_chip[both] -= self._alone(norm)
        self.dram[both] -= sum(self._bytes(Transfer(t, t.elements)) for t in norm.inputs if t.is_constant)
        self.dram[both] += self._bytes(Transfer(bias, bias.elements)) if bias else 0.0

    def _bytes(self, transfer: Transfer) -> float:
        return float(tensor_bytes(transfer.tensor, transfer.elements, self.pricer.p))

    def _alone(self, op: Operator) -> float:
        return self.pricer.bytes_of((*reads(self.graph, (op,)), *writes(self.graph, (op,))))
