"""What the names of an ONNX graph stand for, and the sizes that its file leaves open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx

from ..errors import unknown_name, whole
from ..graph import Tensor
from .assembly import Assembly, Value, check_texts, known_shape, model_file_error, shown
from .onnx_node import Node, infer


class Symbols:
    """Sizes that a file leaves open, and what they are taken as."""

    def __init__(self, given: Mapping[str, int], assembly: Assembly) -> None:
        self.given = {name: whole(name, size) for name, size in given.items()}
        self.assumed: dict[str, int] = {}
        self.seen: set[str] = set()
        self._assembly = assembly

    def size(self, symbol: str) -> int:
        """The size that was given; else 1, which is said."""
        self.seen.add(symbol)
        if symbol not in self.given:
            self.assumed[symbol] = 1
            self._assembly.note(f"{symbol}=1 is assumed")
        return self.given.get(symbol, 1)

    def shape(self, name: str, dims: Sequence[Any]) -> tuple[int, ...]:
        """A shape with its open sizes filled in. A dimension that has no name is called "tensor[axis]"."""
        return known_shape(name, [self._dimension(f"{name}[{i}]", d) for i, d in enumerate(dims[:64])])

    def _dimension(self, place: str, dim: Any) -> int:
        if dim.WhichOneof("value") == "dim_value":
            return int(dim.dim_value)
        check_texts([dim.dim_param])
        return self.size(dim.dim_param or place)

    def check(self) -> None:
        """A given size that the file does not have is a mistake."""
        for name in self.given:
            if name not in self.seen:
                raise unknown_name(f"size of {self._assembly.path.name}", name, sorted(self.seen) or ["none is open"])

    def hint(self) -> str:
        return f" ({', '.join(f'{k}=1' for k in self.assumed)} assumed: give the right sizes)" if self.assumed else ""


class Scope:
    """What the names of a graph stand for; those of the graph around it too."""

    def __init__(self, path: Path, symbols: Symbols, opsets: Mapping[str, int], outer: Scope | None = None) -> None:
        self.path, self.symbols, self.opsets, self.outer = path, symbols, opsets, outer
        self.values: dict[str, Value] = {}
        self.uses: Counter[str] = Counter()
        self.declared: dict[str, Any] = {}
        self.on_integers: set[str] = outer.on_integers if outer else set()
        self._inferred: tuple[str, Mapping[str, Any]] = ("", {})
        self._floats: dict[str, Tensor] = {}
        self._imports = [onnx.helper.make_opsetid(domain, version) for domain, version in opsets.items()]

    def inside(self) -> Scope:
        return Scope(self.path, self.symbols, self.opsets, self)

    def look_up(self, name: str, node: str) -> Value:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.outer
        raise model_file_error(self.path, f"it reads {shown(name)}, which nothing makes", node)

    def define(self, name: str, value: Value) -> None:
        self.values[name] = value

    def dequantised(self, value: Value, assembly: Assembly) -> Tensor:
        """The floats of a quantised value, for a reader that needs them: an operator, made once."""
        if value.name not in self._floats:
            assert value.quantised is not None and value.quantised.tensor is not None
            (made,) = assembly.emit(
                f"{value.name}/dequantize", "dequantize", [value.quantised.tensor], [(value.name, None)]
            )
            self._floats[value.name] = made
        return self._floats[value.name]

    # -- types -------------------------------------------------------------------------------------------------------

    def infer(self, node: Node, output: str) -> tuple[int, tuple[int | None, ...] | None] | None:
        """(element type, shape) of an output by ONNX's rules; None for what they do not know."""
        if self._inferred[0] != node.name:
            domain = node.proto.domain if node.proto.domain != "ai.onnx" else ""
            try:
                schema = onnx.defs.get_schema(node.op_type, node.opset, domain)
            except onnx.defs.SchemaError:
                return None
            self._inferred = (node.name, infer(node, schema, self._imports))
        return _tensor_type(self._inferred[1].get(output))

    def output_type(self, node: Node, output: int) -> int:
        """The element type of an output: most often that of the first input, else by ONNX's rules."""
        if node.op_type in _KEEPS_TYPE and node.has(0):
            return node.value(0).dtype
        made = self.infer(node, node.outputs[output]) or _tensor_type(self.declared.get(node.outputs[output]))
        first = next((v.dtype for v in node.inputs if v is not None), 0)
        return made[0] if made else first

    def unknown_shape(self, node: Node, output: str) -> tuple[int, ...] | None:
        """The shape of an output of an operator that is not known: as the file declares it, or by ONNX's rules."""
        declared = self.declared.get(output)
        if declared is not None and declared.HasField("tensor_type") and declared.tensor_type.HasField("shape"):
            return self.symbols.shape(output, declared.tensor_type.shape.dim)
        made = self.infer(node, output)
        if made is None or made[1] is None:
            return None
        dims = [self.symbols.size(f"{output}[{i}]") if d is None else d for i, d in enumerate(made[1])]
        return known_shape(output, dims)


#: Operators whose output has the element type of their first input.
_KEEPS_TYPE = {"Relu", "Add", "Conv", "BatchNormalization", "Concat", "MatMul", "Gemm", "Mul", "Sub", "Div", "MaxPool"}


def _tensor_type(proto: Any) -> tuple[int, tuple[int | None, ...] | None] | None:
    if proto is None or not proto.HasField("tensor_type"):
        return None
    tensor = proto.tensor_type
    if not tensor.HasField("shape"):
        return tensor.elem_type, None
    dims = tuple(d.dim_value if d.WhichOneof("value") == "dim_value" else None for d in tensor.shape.dim)
    return tensor.elem_type, dims
