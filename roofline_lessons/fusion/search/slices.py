"""The fastest plan whose kernels are slices of a list of operators: exact where each operator reads the one before.

For each end of a slice, the costs of all its possible starts are arrays that grow by one operator at a time
(`SliceSums`), so a chain of a thousand operators takes a moment. Kernels that must be cut into tiles are worked out
start by start (`TiledSlices`).
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...errors import FusionError
from ...graph import Operator
from ..kernel import Kernel
from ..legality import is_heavy
from ..rules import RuleSet
from ..sweeps import SWEEPS, passes
from .pricing import Pricer
from .reach import reach
from .slice_sums import Floats, SliceSums
from .tiled_slices import TiledSlices


class Slices:
    """Costs of the slices of a list of operators, end by end.

    Parameters
    ----------
    order : sequence of Operator
        In an order in which they can run.
    pricer : Pricer
    rules : RuleSet or None
        None: every legal kernel.
    """

    def __init__(self, order: Sequence[Operator], pricer: Pricer, rules: RuleSet | None) -> None:
        self.order, self.pricer = list(order), pricer
        self.reach = reach(pricer.graph, self.order, rules)
        self.sums = SliceSums(self.order, pricer)
        self.tiled = TiledSlices(self.sums)
        self._heavy = [i for i, op in enumerate(self.order) if is_heavy(op)]
        p, capacity = pricer.p, pricer.device.on_chip_bytes
        self._swept = [
            i for i, op in enumerate(self.order) if op.kind in SWEEPS and passes(op, capacity, p) > 1
        ]  # rows that do not fit: their kernels are priced one by one

    def solve(self, depth: int) -> list[Kernel]:
        """The kernels of the fastest plan whose kernels are slices of at most `depth` operators."""
        n = len(self.order)
        best = np.full(n + 1, np.inf)
        best[0] = 0.0
        starts = [0] * (n + 1)
        for end in range(n):
            total = best[: end + 1] + self._seconds(end, depth)
            i = int(np.argmin(total))
            best[end + 1], starts[end + 1] = total[i], i
        kernels: list[Kernel] = []
        while n:
            kernels.append(self.pricer.kernel(tuple(self.order[starts[n] : n])))
            n = starts[n]
        return kernels[::-1]

    def _seconds(self, end: int, depth: int) -> Floats:
        """Seconds of the slices to `end` from each start; infinity for what may not be or does not fit."""
        self.sums.extend(end)
        low, second = max(end - depth + 1, 0), self._second_heavy(end)
        allowed = self.reach[: end + 1] >= end
        allowed[:low] = False
        seconds = np.full(end + 1, np.inf)
        self._stream(second, end, seconds)
        self._price_one_by_one(second, end, allowed, seconds)
        self.tiled.price(low, second, end, allowed, seconds)
        return np.where(allowed, seconds, np.inf)

    def _second_heavy(self, end: int) -> int:
        """The start up to which a slice holds two convolutions, poolings or products; -1 for none."""
        count = bisect.bisect_right(self._heavy, end)
        return self._heavy[count - 2] if count > 1 else -1

    def _stream(self, second: int, end: int, seconds: Floats) -> None:
        """Slices with one convolution, pooling or product at most."""
        first = second + 1
        seconds[first:] = self.sums.seconds(slice(first, end + 1))
        swept = [i for i in self._swept if first <= i <= end]
        if swept:
            seconds[: swept[-1] + 1] = np.inf

    def _price_one_by_one(self, second: int, end: int, allowed: NDArray[np.bool_], seconds: Floats) -> None:
        """Slices with rows that do not fit the chip, and attention."""
        swept = [i for i in self._swept if i <= end]
        starts = list(range(second + 1, swept[-1] + 1)) if swept else []
        if second >= 0 and self.order[second].kind == self.order[end].kind == "matmul":
            starts.append(second)
        for start in (i for i in starts if allowed[i]):
            try:
                kernel = self.pricer.kernel(tuple(self.order[start : end + 1]))
            except FusionError:
                continue
            seconds[start] = self.pricer.seconds(kernel)
