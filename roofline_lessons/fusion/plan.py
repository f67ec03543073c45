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

#: Storage classes of tensors; the precision gives the bits of each.
WEIGHT, ACTIVATION, FIXED = range(3)


@dataclass(frozen=True)
class Transfer:
    """Elements of one tensor that one kernel moves."""

    tensor: Tensor
    elements: int


@dataclass(frozen=True)
class Kernel:
    """Operators that run as one launch: nothing between them touches DRAM."""

    operators: tuple[Operator, ...]
    reads: tuple[Transfer, ...]  # from outside, each tensor once
    writes: tuple[Transfer, ...]  # needed outside, each tensor once

    @property
    def name(self) -> str:
        """The name of its operator, or first and last with the number between: "conv_0 … relu_2 (5)"."""
        first, last, n = self.operators[0].name, self.operators[-1].name, len(self.operators)
        return first if n == 1 else f"{first} + {last}" if n == 2 else f"{first} … {last} ({n})"

    @property
    def macs(self) -> int:
        return sum(op.macs for op in self.operators)

    @property
    def other_flops(self) -> int:
        return sum(op.work.other_flops for op in self.operators)

    @property
    def flops(self) -> int:
        return 2 * self.macs + self.other_flops

    def __repr__(self) -> str:
        return f"<Kernel {' '.join(op.name for op in self.operators)}>"


@dataclass(frozen=True)
class Moves:
    """Tensor transfers as arrays: row i moves `elements[i]` elements of storage class `storage[i]` for `kernel[i]`.

    `fixed_bits[i]` is the size of an element whose tensor fixes it (storage class FIXED).
    """

    kernel: NDArray[np.intp]
    elements: NDArray[np.float64]
    storage: NDArray[np.intp]
    fixed_bits: NDArray[np.float64]

    def bytes_per_move(self, weight_bits: float, activation_bits: float) -> NDArray[np.float64]:
        """Bytes of each transfer when weights and activations have this many bits. A tensor fills whole bytes."""
        bits = np.array([weight_bits, activation_bits, 0.0])[self.storage] + self.fixed_bits
        return np.ceil(self.elements * bits / 8)

    def bytes_per_kernel(self, kernels: int, weight_bits: float, activation_bits: float) -> NDArray[np.float64]:
        """Bytes of each of so many kernels."""
        moved = self.bytes_per_move(weight_bits, activation_bits)
        total: NDArray[np.float64] = np.bincount(self.kernel, weights=moved, minlength=kernels).astype(float)
        return total


class Plan:
    """A partition of a graph's operators into kernels. Views belong to no kernel: they cost nothing.

    Parameters
    ----------
    graph : Graph
    groups : sequence of sequence of Operator
        The operators of each kernel, kernels in the order they run. Views may be named and are left out.

    Raises
    ------
    FusionError
        An operator that is left out, in two kernels, or of another graph; a kernel without operators.
    """

    def __init__(self, graph: Graph, groups: Sequence[Sequence[Operator]]) -> None:
        self.graph = graph
        self.views = tuple(op for op in graph if op.is_view)
        self._check_cover(groups)
        working = [tuple(op for op in ops if not op.is_view) for ops in groups]
        self.kernels = tuple(self._kernel(ops) for ops in working if ops)

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
        inside = {t.name for op in operators for t in op.outputs}
        reads: dict[str, Transfer] = {}
        for op in operators:
            for tensor, elements in zip(op.inputs, op.work.read, strict=True):
                for stored in self.graph.storage(tensor):
                    if stored.name not in inside:
                        # two operators may touch different parts of one tensor; all of it is the most that must come
                        known = reads[stored.name].elements if stored.name in reads else 0
                        reads[stored.name] = Transfer(stored, min(known + elements, stored.elements))
        writes = [
            Transfer(tensor, elements)
            for op in operators
            for tensor, elements in zip(op.outputs, op.work.written, strict=True)
            if self._needed_outside(tensor, operators)
        ]
        return Kernel(operators, tuple(reads.values()), tuple(writes))

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

    def __repr__(self) -> str:
        return f"<Plan of {self.graph.name}: {len(self)} kernels for {len(self.graph) - len(self.views)} operators>"

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
    def dram_moves(self) -> Moves:
        """What each kernel moves to and from DRAM."""
        return _moves([(i, transfer) for i, _, transfer in self.dram_transfers])

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
        alone = [(i, self._kernel((op,))) for i, kernel in enumerate(self.kernels) for op in kernel.operators]
        return _moves([(i, transfer) for i, one in alone for transfer in (*one.reads, *one.writes)])


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
    return Plan(graph, [(op,) for op in graph if not op.is_view])


def _moves(rows: Sequence[tuple[int, Transfer]]) -> Moves:
    def storage(t: Tensor) -> int:
        if t.bits is not None:
            return FIXED
        return WEIGHT if t.is_constant and len(t.shape) > 1 else ACTIVATION

    return Moves(
        kernel=np.array([i for i, _ in rows], dtype=np.intp),
        elements=np.array([m.elements for _, m in rows], dtype=float),
        storage=np.array([storage(m.tensor) for _, m in rows], dtype=np.intp),
        fixed_bits=np.array([m.tensor.bits or 0 for _, m in rows], dtype=float),
    )
