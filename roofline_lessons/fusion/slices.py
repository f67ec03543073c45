"""The fastest plan whose kernels are slices of a list of operators: exact where each operator reads the one before.

For each end of a slice, the costs of all its possible starts are arrays that grow by one operator at a time, so a chain
of a thousand operators takes a moment. Kernels that must be cut into tiles are worked out start by start (`TileTable`).
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Container, Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import FusionError
from ..graph import Graph, Operator, Tensor
from ..operators import is_elementwise
from ..timing import kernel_seconds
from .kernel import Kernel, reads, writes
from .legality import flow, folded_bias, folded_flops, is_heavy, why_not_folded, working_producers
from .pricing import Pricer
from .rules import RuleSet, pair_objection
from .sweeps import SWEEPS, passes
from .tile_search import TileTable, tile_bytes
from .tiling import input_interval, why_not_tiled
from .traffic import Transfer, tensor_bytes

Floats = NDArray[np.float64]

#: A kernel that is cut into tiles smaller than its output holds at most so many convolutions, poolings or products: a
#: halo that deep costs more than it saves. (With 16 instead, no plan of six networks became faster.)
MOST_HEAVY = 10


def depth_first_order(graph: Graph) -> list[Operator]:
    """Operators in an order in which they can run, each directly behind the producer on its longest path.

    So a side branch stands before the main one, and what joins them stands behind the main one.
    """
    import networkx as nx  # see plan.py

    flows = flow(graph)
    longest: dict[str, int] = {}
    for name in flows:  # in the order they run
        longest[name] = 1 + max((longest[p] for p in flows.predecessors(name)), default=0)
    backward = flows.reverse()
    backward.add_edges_from(("", name) for name in flows if not flows.out_degree(name))  # no operator has no name
    order = nx.dfs_postorder_nodes(backward, "", sort_neighbors=lambda names: sorted(names, key=longest.__getitem__))
    return [graph[name] for name in order if name]


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
        self.order, self.pricer, self.graph = list(order), pricer, pricer.graph
        n = len(self.order)
        self.at = {op.name: i for i, op in enumerate(self.order)}
        self.macs, self.other, self.dram, self.on_chip = (np.zeros(n) for _ in range(4))
        self.heavy = [i for i, op in enumerate(self.order) if is_heavy(op)]
        self.reach = np.minimum(self._reach_of_rules(rules) if rules else self._reach_of_links(), self._to_unknown())
        self._first_reader, self._last_reader = self._readers()
        self._last_read: dict[str, int] = {}  # of each tensor, up to the end that is worked on
        tiled = [why_not_tiled(op) is None for op in self.order]
        self._needs_all = np.array([ok and _needs_all(op) for ok, op in zip(tiled, self.order)])
        self._no_tile = ~np.array(tiled)
        self._is_chain = self._chain()
        self._alive_alone = np.array([self._alive(op) for op in self.order])
        self._weights_before = np.cumsum([0, *(sum(t.elements for t in op.weights) for op in self.order)])
        names = [t.name for op in self.order for t in op.weights]
        self._distinct_weights = len(names) == len(set(names))
        self._norm_of = {conv.name: op for op in self.order if (conv := self._folds_into(op)) is not None}
        self._behind_view = np.array([self._last_source_behind_view(op) for op in self.order])
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
            self._extend(end)
            low = max(end - depth + 1, 0)
            allowed = self.reach[: end + 1] >= end
            allowed[:low] = False
            seconds = np.full(end + 1, np.inf)  # of each start
            self._stream(end, seconds)
            self._price_one_by_one(end, allowed, seconds)
            self._several(low, end, allowed, seconds)
            total = np.where(allowed, best[: end + 1] + seconds, np.inf)
            i = int(np.argmin(total))
            best[end + 1], starts[end + 1] = total[i], i
        kernels: list[Kernel] = []
        while n:
            kernels.append(self.pricer.kernel(tuple(self.order[starts[n] : n])))
            n = starts[n]
        return kernels[::-1]

    # -- what may be a slice -----------------------------------------------------------------------------------------

    def _reach_of_links(self) -> NDArray[np.intp]:
        """For each start the last end: every further operator shares a tensor with one before it in the slice."""
        last: dict[str, int] = {}
        link = np.full(len(self.order), -1)
        for i, op in enumerate(self.order):
            for name in {s.name for t in op.activations for s in self.graph.storage(t)}:
                link[i] = max(link[i], last.get(name, -1))
                last[name] = i
            last |= {t.name: i for t in op.outputs}
        reach = np.full(len(self.order), len(self.order) - 1)
        for i in range(len(self.order)):
            broken = np.flatnonzero(link[i + 1 :] < i)
            if len(broken):
                reach[i] = i + broken[0]
        return reach

    def _to_unknown(self) -> NDArray[np.intp]:
        """For each start the last end before an operator of an unknown kind, which runs alone."""
        unknown = [i for i, op in enumerate(self.order) if not op.work.flops_known]
        n = len(self.order)
        behind = [*unknown, n]
        ends = [behind[bisect.bisect_right(unknown, i)] - 1 for i in range(n)]
        return np.array([i if i in unknown else end for i, end in enumerate(ends)])

    def _reach_of_rules(self, rules: RuleSet) -> NDArray[np.intp]:
        """For each start the last end that the rule set comes to, operator by operator."""
        asked: dict[tuple[int, str], bool] = {}
        reach = np.arange(len(self.order))
        for start, first in enumerate(self.order):
            before, heavies = first, int(is_heavy(first))
            for i in range(start + 1, len(self.order)):
                op, key = self.order[i], (i, before.kind)
                if key not in asked:
                    asked[key] = pair_objection(rules, self.graph, before, self.order[i - 1], op) is None
                heavies += is_heavy(op)
                if not asked[key] or heavies > rules.anchors:
                    break
                reach[start] = i
                before = before if op.kind in rules.keeps else op
        return reach

    def _readers(self) -> tuple[NDArray[np.float64], dict[str, float]]:
        """Position of the first reader of what each operator makes; of each tensor, of its last. Outputs: infinity."""
        first = np.full(len(self.order), np.inf)
        last: dict[str, float] = {}
        for i, op in enumerate(self.order):
            for t in op.activations:
                for stored in self.graph.storage(t):
                    last[stored.name] = i
                    if (maker := self.graph.producers.get(stored.name)) is not None:
                        first[self.at[maker.name]] = min(first[self.at[maker.name]], i)
        for t in self.graph.outputs:
            last |= {stored.name: np.inf for stored in self.graph.storage(t)}
        return first, last

    def _last_source_behind_view(self, op: Operator) -> int:
        """The last producer of an operator that reads a view: together they cannot be cut into tiles. -1 for none."""
        makers = [self.graph.producers.get(t.name) for t in op.activations]
        if not any(maker is not None and maker.is_view for maker in makers):
            return -1
        return max((self.at[p.name] for p in working_producers(self.graph, op)), default=-1)

    def _chain(self) -> bool:
        """Each tensor is read by one operator, right behind the one that makes it; no weight is shared."""
        inputs = [t.name for op in self.order for t in dict.fromkeys(op.inputs)]
        follows = all(a.output in b.activations for a, b in zip(self.order, self.order[1:]))
        return follows and len(inputs) == len(set(inputs))

    # -- kernels that stream: arrays over the start ------------------------------------------------------------------

    def _extend(self, end: int) -> None:
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
        maker = -1 if producer is None else self.at[producer.name]
        known = max(maker, self._last_read.get(name, -1))
        self.dram[known + 1 : end + 1] += self._bytes(transfer)
        self._last_read[name] = end
        if maker >= 0 and self._last_reader[name] == end:
            written = next(w for w in writes(self.graph, (self.order[maker],)) if w.tensor.name == name)
            self.dram[: maker + 1] -= self._bytes(written)

    def _fold(self, end: int) -> None:
        """A batch norm costs nothing in the slices that hold its convolution, but a bias where there was none."""
        norm = self.order[end]
        conv = self._folds_into(norm)
        if conv is None:
            return
        both = slice(0, self.at[conv.name] + 1)
        bias = folded_bias(self.graph, norm)
        self.other[both] -= norm.work.other_flops - folded_flops(self.graph, norm)
        self.on_chip[both] -= self._alone(norm)
        self.dram[both] -= sum(self._bytes(Transfer(t, t.elements)) for t in norm.inputs if t.is_constant)
        self.dram[both] += self._bytes(Transfer(bias, bias.elements)) if bias else 0.0

    def _folds_into(self, op: Operator) -> Operator | None:
        if not self.pricer.fold or op.kind != "batch_norm":
            return None
        conv = self.graph.producers.get(op.inputs[0].name)
        return conv if conv is not None and why_not_folded(self.graph, op, (conv, op)) is None else None

    def _bytes(self, transfer: Transfer) -> float:
        return float(tensor_bytes(transfer.tensor, transfer.elements, self.pricer.p))

    def _alone(self, op: Operator) -> float:
        return self.pricer.bytes_of((*reads(self.graph, (op,)), *writes(self.graph, (op,))))

    def _stream(self, end: int, seconds: Floats) -> None:
        """Seconds of the slices with one convolution, pooling or product at most."""
        first = self._second_heavy(end) + 1
        seconds[first:] = self._seconds(slice(first, end + 1))
        swept = [i for i in self._swept if first <= i <= end]
        if swept:
            seconds[: swept[-1] + 1] = np.inf

    def _seconds(self, some: slice) -> Floats:
        p, device = self.pricer.p, self.pricer.device
        sums = (self.macs[some], self.other[some], self.dram[some], self.on_chip[some])
        return np.asarray(kernel_seconds(device, p, *sums))

    def _second_heavy(self, end: int) -> int:
        """The start from which on a slice holds two convolutions, poolings or products; -1 for none."""
        count = bisect.bisect_right(self.heavy, end)
        return self.heavy[count - 2] if count > 1 else -1

    def _price_one_by_one(self, end: int, allowed: NDArray[np.bool_], seconds: Floats) -> None:
        """Slices with rows that do not fit the chip, and attention."""
        second = self._second_heavy(end)
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

    # -- kernels of several convolutions or poolings -----------------------------------------------------------------

    def _several(self, low: int, end: int, allowed: NDArray[np.bool_], seconds: Floats) -> None:
        """Seconds of the slices with several convolutions or poolings, each with its fastest tile that fits."""
        second = self._second_heavy(end)
        low = max(low, self._first_start_tiled(end))
        if second < low or not allowed[low : second + 1].any():
            return
        whole = self._first_start_whole(low, end) if self.pricer.tile is None else end + 1
        # in one tile nothing is computed or read again: no other is faster, and the costs are those of streaming
        seconds[whole : second + 1] = self._seconds(slice(whole, max(second + 1, whole)))
        if low < whole:
            self._cut(low, min(whole - 1, second), end, allowed, seconds)

    def _first_start_whole(self, low: int, end: int) -> int:
        """The first start from which a slice fits the chip in one tile and needs the whole of all it reads."""
        cut = np.flatnonzero(~self._needs_all[: end + 1])
        first = max(low, int(cut[-1]) + 1 if len(cut) else 0)
        p, capacity = self.pricer.p, self.pricer.capacity
        if capacity == np.inf or first > end:
            return first
        tiles = np.ceil(self._alive_whole(first, end) * p.activation_bits / 8)
        fits = np.maximum(tiles, self._weight_bytes(first, end)) <= capacity
        too_long = np.flatnonzero(~fits)
        return first + (int(too_long[-1]) + 1 if len(too_long) else 0)

    def _alive_whole(self, first: int, end: int) -> Floats:
        """Elements of tensors alive at once in one tile, for each start from `first` to `end`."""
        steps = slice(first, end + 1)
        if self._is_chain:
            return np.asarray(np.maximum.accumulate(self._alive_alone[steps][::-1])[::-1])
        live, most = np.zeros(end + 1), np.zeros(end + 1)
        first_reader: dict[str, int] = {}
        for i in range(end, first - 1, -1):
            op = self.order[i]
            live[i] = self._alive(op, first_reader)
            again = False
            for t in {t.name: t for t in (*op.activations, op.output)}.values():
                reader = first_reader.get(t.name, i + 1)
                if reader > i + 1:  # read again later, or made early: alive in between
                    live[i + 1 : reader] += _image_elements(t)
                    again = True
            first_reader |= {t.name: i for t in op.activations}
            most[i] = live[i:].max() if again else max(live[i], most[i + 1] if i < end else 0.0)
        return most[steps]

    @staticmethod
    def _alive(op: Operator, read_later: Container[str] = ()) -> int:
        """Elements alive while an operator runs; an elementwise one works in place where its input is done with."""
        sizes = {t.name: _image_elements(t) for t in op.activations}
        done = [size for name, size in sizes.items() if name not in read_later]
        saved = max(done, default=0) if is_elementwise(op.kind) else 0
        return sum(sizes.values()) + _image_elements(op.output) - saved

    def _cut(self, low: int, high: int, end: int, allowed: NDArray[np.bool_], seconds: Floats) -> None:
        """Start by start, from `high` down to `low`, with a table of all tiles that grows."""
        p, capacity = self.pricer.p, self.pricer.capacity
        low += int((self._weight_bytes(low, end)[: high + 1 - low] > capacity).sum())  # the longest of them
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
                tiled = sum(float(tensor_bytes(t, t.elements, p)) for t in table.outside)
                fixed = self.dram[start] - tiled
                seconds[start] = self.pricer.best(table, needed, fixed, self.on_chip[start])[1]

    def _weight_bytes(self, first: int, end: int) -> Floats:
        """Bytes of the weights of the slices to `end` from `first` and each later start."""
        if self._distinct_weights:
            elements = self._weights_before[end + 1] - self._weights_before[first : end + 1]
        else:
            elements, seen, total = np.zeros(end + 1 - first), set(), 0
            for i in range(end, first - 1, -1):
                new = {t.name: t.elements for t in self.order[i].weights if t.name not in seen}
                seen |= set(new)
                total += sum(new.values())
                elements[i - first] = total
        return np.asarray(np.ceil(elements * self.pricer.p.weight_bits / 8))

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
        if norm is not None and self.at[norm.name] <= end:
            table.replace_work(norm, norm.work.other_flops, folded_flops(self.graph, norm))

    def _first_start_tiled(self, end: int) -> int:
        """The first start from which to `end` every operator can be cut, and is read inside unless it is the last."""
        upto = slice(0, end + 1)
        bad = np.flatnonzero(self._no_tile[upto])
        unread = np.flatnonzero(self._first_reader[:end] > end)
        return int(max([-1, *bad[-1:], *unread[-1:], self._behind_view[upto].max()])) + 1


def _image_elements(t: Tensor) -> int:
    """Elements of one image."""
    return math.prod(t.shape[1:])


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
