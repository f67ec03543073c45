"""One node of an ONNX file, as the table sees it: its attributes, its inputs, and how to make operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import onnx
from onnx import AttributeProto, NodeProto

from ..errors import GraphError
from ..graph import Tensor
from .assembly import Assembly, NodeOfFile, NotKnown, Value, known_shape
from .onnx_constants import BITS

if TYPE_CHECKING:
    from .onnx_scope import Scope

_READ_ATTRIBUTE = {
    AttributeProto.FLOAT: lambda a: a.f,
    AttributeProto.INT: lambda a: a.i,
    AttributeProto.STRING: lambda a: a.s.decode(errors="replace"),
    AttributeProto.FLOATS: lambda a: tuple(a.floats),
    AttributeProto.INTS: lambda a: tuple(a.ints),
    AttributeProto.TENSOR: lambda a: a.t,
    AttributeProto.GRAPH: lambda a: a.g,
}


def attributes(proto: NodeProto) -> dict[str, Any]:
    """The attributes of a node; kinds that no cost depends on are left out."""
    return {a.name: _READ_ATTRIBUTE[a.type](a) for a in proto.attribute if a.type in _READ_ATTRIBUTE}


class Node(NodeOfFile):
    """One node while it is turned into operators.

    Parameters
    ----------
    proto : NodeProto
    name : str
        The node's own, or one made of its type and place.
    scope : Scope
        What the names it reads stand for.
    assembly : Assembly
    """

    def __init__(self, proto: NodeProto, name: str, scope: Scope, assembly: Assembly) -> None:
        self.proto, self.name, self.scope, self.assembly = proto, name, scope, assembly
        self.op_type = proto.op_type
        self.attributes = attributes(proto)
        self.inputs: list[Value | None] = [scope.look_up(n, name) if n else None for n in proto.input]
        self.read = list(self.inputs)  # a table entry may look at a few of them only
        self.outputs = list(proto.output)
        self.opset = scope.opsets.get(proto.domain if proto.domain != "ai.onnx" else "", 1)
        #: every activation it reads comes out of a DequantizeLinear: the operator works on whole numbers
        flowing = [v for v in self.inputs if v is not None and not v.is_constant and v.bits is None]
        self.on_integers = bool(flowing) and all(v.quantised is not None for v in flowing)

    # -- attributes --------------------------------------------------------------------------------------------------

    def get(self, name: str, default: Any) -> Any:
        """An attribute, which must be of the kind of the default."""
        value = self.attributes.get(name, default)
        right = (int, float) if isinstance(default, float) else type(default)
        if not isinstance(value, right):
            raise GraphError(f"attribute {name} must be of the kind of {default!r}, not {value!r:.40}")
        return value

    def pair(self, name: str, default: int, rank: int = 2) -> tuple[int, ...]:
        """An attribute with one whole number for each axis of the image."""
        values = self.get(name, ()) or (default,) * rank
        if len(values) != rank or not all(isinstance(v, int) and v >= 1 for v in values):
            raise GraphError(f"{name} must be {rank} whole numbers of at least 1, not {values!r:.60}")
        return tuple(values)

    # -- inputs ------------------------------------------------------------------------------------------------------

    def has(self, i: int) -> bool:
        return i < len(self.inputs) and self.inputs[i] is not None

    def value(self, i: int) -> Value:
        if not self.has(i):
            raise GraphError(f"input {i} of {self.op_type} is missing")
        value = self.inputs[i]
        assert value is not None
        return value

    def shape(self, i: int) -> tuple[int, ...]:
        shape = self.value(i).shape
        if shape is None:
            raise NotKnown(f"the shape of {self.value(i).name} is not known")
        if 0 in shape:
            raise NotKnown(f"{self.value(i).name} is empty")
        return shape

    def data(self, i: int) -> Any:
        """The numbers of a constant input as a flat list; None where there are none or they are not known."""
        if not self.has(i) or self.value(i).data is None:
            return None
        return self.value(i).data.ravel().tolist()  # type: ignore[union-attr]

    def tensor(self, i: int, role: str | None = None, shape: tuple[int, ...] | None = None) -> Tensor:
        """The tensor of an input: in its integers where the node works on them, else dequantised first."""
        self.shape(i)
        value = self.value(i)
        if value.quantised is not None:
            if self.on_integers:
                value = value.quantised
            else:
                return self.scope.dequantised(value, self.assembly)
        if value.tensor is None:
            return self.assembly.constant(value, role, shape)
        return value.tensor if shape in (None, value.tensor.shape) else self.reshaped(value.tensor, shape)

    def vector(self, i: int, length: int, role: str | None = None) -> Tensor:
        """A constant with one number per channel, whichever way it is spelt: (C,), (C, 1, 1) or (1, C, 1, 1)."""
        if not self.value(i).is_constant or self.value(i).shape is None:
            raise NotKnown(f"{self.value(i).name} is no constant")
        if max(self.shape(i), default=1) != length or sum(d > 1 for d in self.shape(i)) > 1:
            raise GraphError(f"{self.value(i).name} {self.shape(i)} must hold one value for each of {length} channels")
        return self.tensor(i, role, (length,))

    def activations(self) -> list[Tensor]:
        return [self.tensor(i) for i in range(len(self.inputs)) if self.has(i)]

    # -- outputs -----------------------------------------------------------------------------------------------------

    def inferred(self, output: int = 0) -> tuple[int, ...]:
        """The shape of an output by ONNX's own rule for this operator and opset."""
        made = self.scope.infer(self, self.outputs[output])
        if made is None or made[1] is None or None in made[1]:
            raise NotKnown(f"the shape of {self.outputs[output]} is not known")
        return known_shape(self.outputs[output], made[1])  # type: ignore[arg-type]

    def bits(self, output: int) -> int | None:
        """Bits of an output: fixed for integers. Of a float that is computed from integers they follow later."""
        dtype = self.scope.output_type(self, output)
        return BITS.get(dtype)

    def emit(self, kind: str, tensors: Sequence[Tensor], *, output: int = 0, **a: Any) -> Tensor:
        """The operator that makes one output of the node."""
        (made,) = self.emit_all(kind, tensors, [output], **a)
        return made

    def emit_all(
        self, kind: str, tensors: Sequence[Tensor], outputs: Sequence[int], **a: Any
    ) -> tuple[Tensor, ...]:  # fmt: skip
        names = [(self.outputs[i], self.bits(i)) for i in outputs]
        made = self.assembly.emit(self.name, kind, tensors, names, **a)
        for i, t in zip(outputs, made, strict=True):
            self.define(i, Value(self.outputs[i], t.shape, t.bits, self.scope.output_type(self, i), t))
        if self.on_integers or (len(tensors) == 1 and tensors[0].name in self.scope.on_integers):
            self.scope.on_integers |= {t.name for t in made}
        return made

    def define(self, output: int, value: Value) -> None:
        if output < len(self.outputs) and self.outputs[output]:
            self.scope.define(self.outputs[output], value)

    def alias(self, i: int = 0, output: int = 0) -> None:
        """The output is the input under another name."""
        self.define(output, replace(self.value(i)))

    def view(self, shape: tuple[int, ...]) -> None:
        """The output is the input in another shape."""
        self.emit("reshape", [self.tensor(0)], shape=shape)

    def wanted(self, output: int) -> bool:
        """Whether anybody asks for an output."""
        return output < len(self.outputs) and bool(self.outputs[output]) and self.scope.uses[self.outputs[output]] > 0


def void(_: object) -> None:
    """A maker returns nothing: what it made stands in the scope."""


def infer(node: Node, schema: Any, opset_imports: Sequence[Any]) -> Mapping[str, Any]:
    """Types of a node's outputs by ONNX's rule: name -> TypeProto. Empty where the rule does not apply."""
    types, data = {}, {}
    for name, value in zip(node.proto.input, node.read, strict=True):
        if value is None:
            continue
        if value.shape is None or value.dtype == 0:
            return {}
        types[name] = onnx.helper.make_tensor_type_proto(value.dtype, value.shape)
        if value.data is not None and value.dtype != onnx.TensorProto.STRING:
            data[name] = onnx.numpy_helper.from_array(value.data, name)
    try:
        made: Mapping[str, Any] = onnx.shape_inference.infer_node_outputs(
            schema, node.proto, types, data, opset_imports=list(opset_imports)
        )
    except Exception:  # the checks of ONNX raise many kinds; a shape that cannot be inferred is only not known
        return {}
    return made
