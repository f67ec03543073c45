"""A plan: the operators of a graph, grouped into kernels, and what each kernel moves.

Inside a kernel nothing touches DRAM. A kernel reads each distinct tensor that comes from outside once, and writes
each tensor that is needed outside (by another kernel, or as an output of the graph) once: its compulsory traffic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..errors import FusionError
from ..graph import Graph, Operator, Tensor
from ..precision import Precision, precision
from .legality import (
    folded_bias,
    in_order,
    is_tiled,
    why_not_connected,
    why_not_convex,
    why_not_folded,
    why_not_tiles,
    working_producers,
)
from .tiling import TileCosts, Tiling, tile_costs
from .traffic import Moves, Transfer, moves


@dataclass(frozen=True)
class Kernel:
    """Operators that run as one launch: nothing between them touches DRAM.

    operators : in the order they run.
    reads : from outside, each tensor once (of a tiled kernel with the halo that each tile reads again).
    writes : needed outside, each tensor once.
    macs, other_flops : the work, with what a tiled kernel computes again and without what is folded.
    folded : batch norms whose scale and shift moved into the weight and bias of the convolution before them.
    tiling : how a kernel of several windowed operators is cut; None for one that streams.
    live_elements, weight_elements : of a tiled kernel, what must be on the chip at once: tiles, and weights.
    """

    operators: tuple[Operator, ...]
    reads: tuple[Transfer, ...]
    writes: tuple[Transfer, ...]
    macs: int
    other_flops: int
    folded: tuple[Operator, ...] = ()
    tiling: Tiling | None = None
    live_elements: int = 0
    weight_elements: int = 0

    @property
    def name(self) -> str:
        """The name of its operator, or first and last with the number between: "conv_0 … relu_2 (5)"."""
        first, last, n = self.operators[0].name, self.operators[-1].name, len(self.operators)
        return first if n == 1 else f"{first} + {last}" if n == 2 else f"{first} … {last} ({n})"

    @property
    def flops(self) -> int:
        return 2 * self.macs + self.other_flops

    def __repr__(self) -> str:
        return f"<Kernel {' '.join(op.name for op in self.operators)}>"


@dataclass(frozen=True)
class Saved:
    """DRAM bytes of one tensor under two plans."""

    tensor: str
    before: float
    after: float

    @property
    def bytes_saved(self) -> float:
        return self.before - self.after


class Plan:
    """A partition of a graph's operators into kernels. Views belong to no kernel: they cost nothing.

    Parameters
    ----------
    graph : Graph
    groups : sequence of sequence of Operator
        The operators of each kernel. Views may be named and are left out.
    fold : bool
        Fold each batch norm into the convolution before it, where both are in one kernel and it is legal.
    tiling : Tiling, optional
        How kernels of several windowed operators (convolutions, poolings) are cut; by default one tile, the whole.
    rules : str
        The name of the rule set that made it, for its repr.

    Raises
    ------
    FusionError
        An operator that is left out, in two kernels, or of another graph; a kernel without operators; a kernel that
        is not convex, or that holds several windowed operators and one that cannot be computed tile by tile.
    """

    def __init__(
        self,
        graph: Graph,
        groups: Sequence[Sequence[Operator]],
        *,
        fold: bool = False,
        tiling: Tiling | None = None,
        rules: str = "by hand",
    ) -> None:
        self.graph, self.fold, self.tiling, self.rules = graph, fold, tiling, rules
        self.views = tuple(op for op in graph if op.is_view)
        self._check_cover(groups)
        working = [in_order(graph, (op for op in ops if not op.is_view)) for ops in groups]
        kernels = [self._kernel(ops) for ops in working if ops]
        self.kernels = tuple(kernels[i] for i in _order(graph, [k.operators for k in kernels]))

    def _check_cover(self, groups: Sequence[Sequence[Operator]]) -> None:
        if not all(groups):
            raise FusionError("a kernel without operators; it needs at least one operator.")
        seen: set[str] = set()
        for op in (op for ops in groups for op in ops):
            if op.name in seen:
                raise FusionError(f"{op.name} is in two kernels; a plan covers each operator once.")
            if op not in self.graph:
                raise FusionError(f"{op.name} is not an operator of {self.graph.name}.")
            seen.add(op.name)
        missing = [op.name for op in self.graph if not op.is_view and op.name not in seen]
        if missing:
            raise FusionError(f"{', '.join(missing)} in no kernel; a plan covers each operator once.")

    def _kernel(self, operators: tuple[Operator, ...]) -> Kernel:
        if len(operators) > 1 and (reason := why_not_convex(self.graph, operators)):
            raise FusionError(reason)
        folded = tuple(op for op in operators if self.fold and why_not_folded(self.graph, op, operators) is None)
        tiling = self._tiling_of(operators)
        costs = tile_costs(operators, tiling) if tiling else None
        bias = [folded_bias(self.graph, op) for op in folded]
        macs = costs.macs if costs else sum(op.macs for op in operators)
        work = costs.other_flops if costs else sum(op.work.other_flops for op in operators)
        # a batch norm costs a multiplication and an addition, a bias an addition: folding saves the first,
        # and both where the convolution has a bias already
        work -= sum(op.work.other_flops - (op.output.elements if b else 0) for op, b in zip(folded, bias, strict=True))
        return Kernel(
            operators,
            (*self._reads(operators, folded, costs), *(Transfer(b, b.elements) for b in bias if b)),
            self._writes(operators),
            macs,
            work,
            folded,
            tiling,
            costs.live_elements if costs else 0,
            costs.weight_elements if costs else 0,
        )

    def _tiling_of(self, operators: tuple[Operator, ...]) -> Tiling | None:
        """How the operators are cut as one kernel; None for a kernel that streams."""
        if not is_tiled(operators):
            return None
        if reason := why_not_tiles(self.graph, operators):
            raise FusionError(reason)
        return self.tiling or whole(operators)

    def _reads(
        self, operators: tuple[Operator, ...], folded: tuple[Operator, ...], costs: TileCosts | None
    ) -> tuple[Transfer, ...]:
        inside = {t.name for op in operators for t in op.outputs}
        reads: dict[str, Transfer] = {}
        for op in operators:
            for tensor, elements in zip(op.inputs, op.work.read, strict=True):
                if op in folded and tensor.is_constant:
                    continue
                for stored in self.graph.storage(tensor):
                    if stored.name not in inside:
                        # two operators may touch different parts of one tensor; all of it is the most that must come
                        known = reads[stored.name].elements if stored.name in reads else 0
                        reads[stored.name] = Transfer(stored, min(known + elements, stored.elements))
        if costs:
            reads = {name: Transfer(r.tensor, costs.read.get(name, r.elements)) for name, r in reads.items()}
        return tuple(reads.values())

    def _writes(self, operators: tuple[Operator, ...]) -> tuple[Transfer, ...]:
        return tuple(
            Transfer(tensor, elements)
            for op in operators
            for tensor, elements in zip(op.outputs, op.work.written, strict=True)
            if self._needed_outside(tensor, operators)
        )

    def _needed_outside(self, tensor: Tensor, operators: tuple[Operator, ...]) -> bool:
        inside = {op.name for op in operators}
        names = {tensor.name} | self._views_of.get(tensor.name, set())
        if any(t.name in names for t in self.graph.outputs):
            return True
        readers = [op for name in names for op in self.graph.consumers.get(name, ()) if not op.is_view]
        return not readers or any(op.name not in inside for op in readers)  # a result nobody reads is still written

    @cached_property
    def _views_of(self) -> dict[str, set[str]]:
        """Tensor name to the names of all views of its bytes."""
        shown: dict[str, set[str]] = {}
        for op in self.views:
            for stored in self.graph.storage(op.output):
                shown.setdefault(stored.name, set()).add(op.output.name)
        return shown

    def __len__(self) -> int:
        return len(self.kernels)

    def kernel_of(self, name: str) -> Kernel:
        """The kernel that runs an operator.

        Raises
        ------
        UnknownNameError
            No such operator.
        FusionError
            A view: it belongs to no kernel.
        """
        op = self.graph[name]
        if op.is_view:
            raise FusionError(f"{name} is a view ({op.kind}): it costs nothing and belongs to no kernel.")
        return next(k for k in self.kernels if op in k.operators)

    def why_not(self, a: str, b: str) -> str | None:
        """Why the kernels of two operators cannot become one: None, or the first broken rule as a sentence.

        What a rule set would not do is asked with `fusion.why_not`; here it is what no rule set may do.
        """
        first, second = self.kernel_of(a), self.kernel_of(b)
        together = in_order(self.graph, {op.name: op for op in (*first.operators, *second.operators)}.values())
        reason = why_not_convex(self.graph, together) or why_not_connected(self.graph, first, second)
        if reason is None:
            try:
                self._kernel(together)
            except FusionError as error:
                return str(error)
        return reason

    def diff(self, other: Plan, p: str | Precision = "fp32") -> list[Saved]:
        """What changes from this plan to another: per tensor, the DRAM bytes before and after, largest saving first.

        Raises
        ------
        FusionError
            The other plan is of another graph.
        """
        if other.graph is not self.graph:
            raise FusionError(f"plans of different graphs: {self.graph.name} and {other.graph.name}.")
        before, after = self._bytes_by_tensor(precision(p)), other._bytes_by_tensor(precision(p))
        changed = [Saved(t, before.get(t, 0.0), after.get(t, 0.0)) for t in dict.fromkeys([*before, *after])]
        return sorted((s for s in changed if s.before != s.after), key=lambda s: s.after - s.before)

    def _bytes_by_tensor(self, p: Precision) -> dict[str, float]:
        moved = self.dram_moves.bytes_per_move(p.weight_bits, p.activation_bits)
        total: dict[str, float] = {}
        for (_, _, transfer), amount in zip(self.dram_transfers, moved, strict=True):
            total[transfer.tensor.name] = total.get(transfer.tensor.name, 0.0) + float(amount)
        return total

    def __repr__(self) -> str:
        operators = len(self.graph) - len(self.views)
        return f"<Plan of {self.graph.name} ({self.rules}): {len(self)} kernels for {operators} operators>"

    # -- the same as arrays: made once, read on every estimate -------------------------------------------------------

    @cached_property
    def macs(self) -> NDArray[np.float64]:
        """Multiply-accumulates of each kernel."""
        return np.array([k.macs for k in self.kernels], dtype=float)

    @cached_property
    def other_flops(self) -> NDArray[np.float64]:
        """FLOPs of each kernel that are not multiply-accumulates."""
        return np.array([k.other_flops for k in self.kernels], dtype=float)

    @cached_property
    def _on_chip_elements(self) -> NDArray[np.float64]:
        return np.array([(k.live_elements, k.weight_elements) for k in self.kernels], dtype=float)

    def on_chip_bytes_needed(self, p: Precision) -> NDArray[np.float64]:
        """Bytes of tiles and of weights that each kernel needs on the chip at once: array (kernels, 2)."""
        return np.ceil(self._on_chip_elements * (p.activation_bits, p.weight_bits) / 8)

    @cached_property
    def dram_moves(self) -> Moves:
        """What each kernel moves to and from DRAM."""
        return moves([(i, transfer) for i, _, transfer in self.dram_transfers])

    @property
    def dram_transfers(self) -> list[tuple[int, str, Transfer]]:
        """Every trip to or from DRAM: number of the kernel, "read" or "write", and what travels."""
        return [
            (i, direction, transfer)
            for i, k in enumerate(self.kernels)
            for direction, transfers in (("read", k.reads), ("write", k.writes))
            for transfer in transfers
        ]

    @cached_property
    def on_chip_moves(self) -> Moves:
        """What the operators of each kernel would have moved one by one: the traffic that stays on the chip."""
        rows = []
        for i, kernel in enumerate(self.kernels):
            if len(kernel.operators) == 1:  # alone already
                rows += [(i, transfer) for transfer in (*kernel.reads, *kernel.writes)]
                continue
            for op in kernel.operators:
                if op not in kernel.folded:
                    moved = (*self._reads((op,), (), None), *self._writes((op,)))
                    rows += [(i, transfer) for transfer in moved]
        return moves(rows)


def unfused(graph: Graph) -> Plan:
    """The plan with one kernel per operator: every intermediate goes out to DRAM and comes back.

    Examples
    --------
    >>> from roofline_lessons import GraphBuilder
    >>> b = GraphBuilder("two")
    >>> x = b.input("x", (1, 1024))
    >>> len(unfused(b.build(outputs=[b.relu(b.relu(x))])))
    2
    """
    return Plan(graph, [(op,) for op in graph if not op.is_view], rules="unfused")


def whole(operators: Sequence[Operator]) -> Tiling:
    """One tile: the whole last output."""
    height, width = operators[-1].output.shape[2:]
    return Tiling((height, width))


def _order(graph: Graph, groups: Sequence[tuple[Operator, ...]]) -> list[int]:
    """The numbers of the groups in an order in which each runs after those that make what it reads."""
    first = [min(graph.position(op) for op in ops) for ops in groups]
    if all(len(ops) == 1 for ops in groups):
        return [int(i) for i in np.argsort(first)]  # the graph's own order will do
    import networkx as nx  # only fusion needs it, and it takes longer to load than the rest of the model

    place = {op.name: i for i, ops in enumerate(groups) for op in ops}
    order: nx.DiGraph = nx.DiGraph()
    order.add_nodes_from(range(len(groups)))
    for i, ops in enumerate(groups):
        before = {place[producer.name] for op in ops for producer in working_producers(graph, op)}
        order.add_edges_from((j, i) for j in before if j != i)
    try:
        return list(nx.lexicographical_topological_sort(order, key=first.__getitem__))
    except nx.NetworkXUnfeasible:
        loop = [groups[i][0].name for i, _ in nx.find_cycle(order)]
        raise FusionError(f"not fused: the kernels of {' and '.join(loop)} wait for each other.") from None
