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
from ..graph import Graph, Operator
from ..precision import Precision, precision
from .again import may_come_again
from .kernel import Kernel, make_kernel, on_chip_transfers
from .legality import in_order, why_not_connected, why_not_convex, working_producers
from .tiling import Tiling
from .traffic import Moves, Transfer, moves


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
    tiling : Tiling or sequence of Tiling, optional
        How kernels of several windowed operators (convolutions, poolings) are cut: all alike, or one for each group.
        By default one tile, the whole.
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
        tiling: Tiling | Sequence[Tiling | None] | None = None,
        rules: str = "by hand",
    ) -> None:
        self.graph, self.fold, self.rules = graph, fold, rules
        self.views = tuple(op for op in graph if op.is_view)
        self._check_cover(groups)
        tilings = [tiling] * len(groups) if tiling is None or isinstance(tiling, Tiling) else tiling
        if len(tilings) != len(groups):
            raise FusionError(f"{len(groups)} kernels need {len(groups)} tilings, not {len(tilings)}.")
        working = [in_order(graph, (op for op in ops if not op.is_view)) for ops in groups]
        kernels = [make_kernel(graph, ops, fold, t) for ops, t in zip(working, tilings, strict=True) if ops]
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
                make_kernel(self.graph, together, self.fold, first.tiling or second.tiling)
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
    def may_come_again(self) -> tuple[int, ...]:
        """The kernels that do something again where it does not fit a chip: softmaxes, norms, attention."""
        return tuple(i for i, kernel in enumerate(self.kernels) if may_come_again(kernel))

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
        return moves([(i, t) for i, kernel in enumerate(self.kernels) for t in on_chip_transfers(self.graph, kernel)])


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
