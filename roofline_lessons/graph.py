"""The graph of a network: tensors, the operators that make them, and who reads what.

An operator carries its `Work` (multiply-accumulates, other arithmetic, elements read and written), which
`operators` works out when a `GraphBuilder` makes it. So everything behind this file is plain counting.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .errors import GraphError, unknown_name, whole
from .frozen import FrozenDict

#: What a tensor is. A "buffer" is a constant that is not trained (the running mean of a batch norm).
ROLES = ("activation", "weight", "buffer")


@dataclass(frozen=True)
class Tensor:
    """An array that operators read and write. Its name is unique in its graph.

    Parameters
    ----------
    name : str
    shape : tuple of int
        Every dimension is known and at least 1.
    role : str
        One of `ROLES`. Weights and buffers are constants.
    bits : int, optional
        Bits of one element where the precision does not decide them, e.g. 32 for the indices of a gather.
    """

    name: str
    shape: tuple[int, ...]
    role: str = "activation"
    bits: int | None = None

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise unknown_name("tensor role", self.role, ROLES)
        try:
            object.__setattr__(self, "shape", tuple(whole("dimension", d) for d in self.shape))
        except (TypeError, ValueError):
            raise GraphError(
                f"{self.name}: every dimension must be a whole number of at least 1, not {self.shape}."
            ) from None
        if self.bits is not None:
            whole(f"bits of {self.name}", self.bits)

    @cached_property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def is_constant(self) -> bool:
        return self.role != "activation"


@dataclass(frozen=True)
class Work:
    """What one run of an operator does, whatever the precision.

    macs : multiply-accumulates of convolutions and matrix products, padding taps counted, bias not.
    other_flops : all arithmetic that is not a multiply-accumulate.
    read, written : elements read of each input and written of each output, in their order. A gather reads only the
        rows it touches, a view nothing.
    flops_known : False for an operator of a file that this package does not know: its arithmetic is not counted, and
        whoever shows a FLOP says so.
    """

    macs: int
    other_flops: int
    read: tuple[int, ...]
    written: tuple[int, ...]
    flops_known: bool = True


@dataclass(frozen=True)
class Operator:
    """A node of the graph: inputs (weights among them) become outputs."""

    name: str
    kind: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    work: Work
    attributes: Mapping[str, Any] = field(default_factory=dict)
    is_view: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", FrozenDict(dict(self.attributes)))

    @property
    def macs(self) -> int:
        """Multiply-accumulates."""
        return self.work.macs

    @property
    def flops(self) -> int:
        """FLOPs: 2 per multiply-accumulate plus the rest of the arithmetic."""
        return 2 * self.work.macs + self.work.other_flops

    @cached_property
    def weights(self) -> tuple[Tensor, ...]:
        return tuple(t for t in self.inputs if t.is_constant)

    @cached_property
    def activations(self) -> tuple[Tensor, ...]:
        return tuple(t for t in self.inputs if not t.is_constant)

    @property
    def output(self) -> Tensor:
        """The first output (most operators have one)."""
        return self.outputs[0]

    @property
    def flops_known(self) -> bool:
        """Whether `flops` is all there is; if not, the operator is of a kind that this package does not know."""
        return self.work.flops_known

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}: {' '.join(str(list(t.shape)) for t in self.outputs)}>"


class Graph:
    """Operators in the order they run, with their tensors.

    Parameters
    ----------
    name : str
    inputs : sequence of Tensor
        What comes from outside.
    operators : sequence of Operator
        Each after the operators that make its inputs.
    outputs : sequence of Tensor
        What is kept; always written to memory.

    Raises
    ------
    GraphError
        No operator, a name used twice, a tensor read before it is made, an output nobody makes.

    Examples
    --------
    >>> from roofline_lessons import GraphBuilder
    >>> b = GraphBuilder("two")
    >>> x = b.input("x", (1, 8))
    >>> graph = b.build(outputs=[b.relu(b.dense(x, 4))])
    >>> graph["relu_0"].flops, graph.macs, graph.params
    (4, 32, 36)
    """

    def __init__(
        self, name: str, inputs: Sequence[Tensor], operators: Sequence[Operator], outputs: Sequence[Tensor]
    ) -> None:
        self.name = name
        self.inputs = tuple(inputs)
        self.operators = tuple(operators)
        self.outputs = tuple(outputs)
        self._by_name = {op.name: op for op in self.operators}
        self._check()

    def _check(self) -> None:
        if not self.operators:
            raise GraphError(f"graph {self.name} has no operator.")
        if len(self._by_name) < len(self.operators):
            twice = _twice([op.name for op in self.operators])
            raise GraphError(f"graph {self.name}: two operators are called {twice!r}; names must differ.")
        known = {t.name: t for t in self.inputs}
        if len(known) < len(self.inputs):
            twice = _twice([t.name for t in self.inputs])
            raise GraphError(f"graph {self.name}: two inputs are called {twice!r}; names must differ.")
        for op in self.operators:
            for t in op.inputs:
                if t.is_constant:
                    known.setdefault(t.name, t)
                if t.name not in known:
                    raise GraphError(f"graph {self.name}: {op.name} reads {t.name!r}, which nothing before it makes.")
                if known[t.name] != t:
                    raise GraphError(
                        f"graph {self.name}: {op.name} reads {t.name!r} {t.shape}, but another tensor of that name is "
                        f"{known[t.name].shape}; names must differ."
                    )
            for t in op.outputs:
                if t.name in known:
                    raise GraphError(f"graph {self.name}: {op.name} makes {t.name!r}, which exists already.")
                known[t.name] = t
        if not self.outputs:
            raise GraphError(f"graph {self.name} has no output: name what is kept, e.g. build(outputs=[y]).")
        for t in self.outputs:
            if known.get(t.name) != t:
                raise GraphError(f"graph {self.name}: output {t.name!r} is made by none of its operators.")

    def __getitem__(self, name: str) -> Operator:
        if name not in self._by_name:
            raise unknown_name(f"operator of {self.name}", name, self._by_name)
        return self._by_name[name]

    def __contains__(self, op: object) -> bool:
        return isinstance(op, Operator) and self._by_name.get(op.name) is op

    def position(self, op: Operator) -> int:
        """The place of an operator in the order they run."""
        return self._positions[op.name]

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {op.name: i for i, op in enumerate(self.operators)}

    @cached_property
    def views_of(self) -> dict[str, set[str]]:
        """Tensor name -> the names of all views of its bytes."""
        shown: dict[str, set[str]] = {}
        for op in self.operators:
            if op.is_view:
                for stored in self.storage(op.output):
                    shown.setdefault(stored.name, set()).add(op.output.name)
        return shown

    def __iter__(self) -> Iterator[Operator]:
        return iter(self.operators)

    def __len__(self) -> int:
        return len(self.operators)

    def __repr__(self) -> str:
        return f"<Graph {self.name}: {len(self)} operators, {self.params:,} parameters, {self.macs:,} MACs>"

    @cached_property
    def macs(self) -> int:
        """Multiply-accumulates of one run."""
        return sum(op.macs for op in self.operators)

    @cached_property
    def flops(self) -> int:
        """FLOPs of one run: 2 per multiply-accumulate plus the rest of the arithmetic."""
        return sum(op.flops for op in self.operators)

    @cached_property
    def params(self) -> int:
        """Trained parameters. A weight that several operators share counts once; buffers do not count."""
        weights = {t.name: t.elements for op in self.operators for t in op.inputs if t.role == "weight"}
        return sum(weights.values())

    @cached_property
    def unknown(self) -> tuple[Operator, ...]:
        """Operators whose FLOPs are not known: with any of them, `flops` and `macs` are at least so many."""
        return tuple(op for op in self.operators if not op.flops_known)

    @cached_property
    def producers(self) -> Mapping[str, Operator]:
        """Tensor name to the operator that makes it."""
        return {t.name: op for op in self.operators for t in op.outputs}

    @cached_property
    def consumers(self) -> Mapping[str, tuple[Operator, ...]]:
        """Tensor name to the operators that read it, in order."""
        readers: dict[str, list[Operator]] = {}
        for op in self.operators:
            for name in dict.fromkeys(t.name for t in op.inputs):
                readers.setdefault(name, []).append(op)
        return {name: tuple(ops) for name, ops in readers.items()}

    def storage(self, tensor: Tensor) -> tuple[Tensor, ...]:
        """The tensors whose bytes this one shows: itself, or what a chain of views (reshape ...) started from.

        Only a concat in place shows more than one.
        """
        return self._shown.get(tensor.name, (tensor,))

    @cached_property
    def _shown(self) -> dict[str, tuple[Tensor, ...]]:
        """What each view shows. In the order they run, so that a long chain of views needs no recursion."""
        shown: dict[str, tuple[Tensor, ...]] = {}
        for op in self.operators:
            if op.is_view:
                stored = tuple(dict.fromkeys(s for t in op.inputs for s in shown.get(t.name, (t,))))
                shown |= {t.name: stored for t in op.outputs}
        return shown


def _twice(names: Sequence[str]) -> str:
    """The first name that occurs again."""
    return next(name for name in names if names.count(name) > 1)
