"""What every method of the builder needs: names that are not taken, weights, and a list of operators that grows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import GraphError
from ..graph import Graph, Operator, Tensor
from ..operators import make_operator


class Base:
    """Inputs, weights and operators so far; the operators' methods are in the classes on top of this one."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._inputs: list[Tensor] = []
        self._operators: list[Operator] = []
        self._counts: dict[str, int] = {}
        self._names: set[str] = set()
        self._weights: set[str] = set()

    def build(self, outputs: Sequence[Tensor]) -> Graph:
        """The finished graph. `outputs` are the tensors to keep.

        Raises
        ------
        GraphError
            No operator or no output, or an output that this builder did not make.
        """
        return Graph(self.name, self._inputs, self._operators, outputs)

    def input(self, name: str, shape: Sequence[int], bits: int | None = None) -> Tensor:
        """A tensor from outside. `bits` fixes its element size (32 for indices), else the precision decides."""
        tensor = Tensor(name, shape, bits=bits)  # type: ignore[arg-type]  # Tensor makes it a tuple, or says why not
        self._inputs.append(tensor)
        return tensor

    def weight(self, name: str, shape: Sequence[int]) -> Tensor:
        """A trained constant, to be shared between operators or used as an operand."""
        if name in self._weights:
            raise GraphError(f"{name!r} is a weight already; to share it, pass the same tensor.")
        self._weights.add(name)
        return Tensor(name, tuple(shape), "weight")

    def _name(self, prefix: str, name: str | None) -> str:
        if name is not None:
            return name
        while True:
            self._counts[prefix] = self._counts.get(prefix, -1) + 1
            if (made := f"{prefix}_{self._counts[prefix]}") not in self._names:
                return made

    def _add(self, name: str, kind: str, inputs: Sequence[Tensor], **attributes: Any) -> Tensor:
        op = make_operator(name, kind, inputs, attributes, outputs=[f"{name}.out"])
        self._operators.append(op)
        self._names.add(name)
        return op.output


def vector(owner: str, part: str, x: Tensor, axis: int, role: str = "weight") -> Tensor:
    """One value for each place along an axis of x."""
    if not -len(x.shape) <= axis < len(x.shape):
        raise GraphError(f"{owner}: {x.name} {x.shape} has no axis {axis}")
    return Tensor(f"{owner}.{part}", (x.shape[axis],), role)


def weight_and_bias(owner: str, given: Tensor | None, shape: tuple[int, ...], bias: int | None) -> list[Tensor]:
    """The given weight, which must have this shape, or a new one; and a bias of this length, unless None."""
    if given is not None and given.shape != shape:
        raise GraphError(f"{owner}: weight {given.name} {given.shape} must be {shape}")
    weights = [given or Tensor(f"{owner}.weight", shape, "weight")]
    return weights if bias is None else [*weights, Tensor(f"{owner}.bias", (bias,), "weight")]
