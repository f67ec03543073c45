"""`read_onnx`: an ONNX file -> a `Graph`. Weights are never loaded; their shapes are all that is needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.inliner
from google.protobuf.message import DecodeError
from onnx import GraphProto, ModelProto

from ..errors import GraphError, ModelFileError
from ..graph import Graph, Tensor
from .assembly import Assembly, NotKnown, Value, check_texts, known_shape, model_file_error
from .files import opened
from .onnx_constants import BITS, constant, fold, from_array
from .onnx_control import CONTROL
from .onnx_node import Node
from .onnx_order import in_order
from .onnx_scope import Scope, Symbols
from .onnx_table import TABLE
from .onnx_wire import Damaged, without_weights

#: Nodes without inputs, or with constant ones, whose result is not the same each time.
_RANDOM = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial"}

#: Domains of operators in the table: ONNX's own, and ONNX Runtime's.
_DOMAINS = ("", "ai.onnx", "com.microsoft")


def read_onnx(path: str | PathLike[str], **sizes: int) -> Graph:
    """The graph of an ONNX file.

    Parameters
    ----------
    path : path of the file
    **sizes : int
        Sizes that the file leaves open, by their names in the file, e.g. ``batch=1, sequence=128``. What is not given
        is taken as 1, and a warning says so.

    Returns
    -------
    Graph
        Tensors and operators keep the names of the file. Float tensors take the bits of the precision they are
        estimated at; integers, and what QuantizeLinear made integers, keep their own.

    Raises
    ------
    ModelFileError
        The file is not there, damaged, or not what it should be; the message names file, node and reason.
    UnknownNameError
        A size that the file does not have; the message lists those it has.

    Warns
    -----
    ModelFileWarning
        What was assumed; which kinds of operators are not known. These appear in the graph with their bytes, and
        their FLOPs are marked as not known.

    Notes
    -----
    Constants that only give shapes are worked out and make no operator. Of an If the costlier branch counts; a Loop
    is unrolled when its number of iterations is known.
    """
    path = Path(path)
    model = _model(path)
    assembly = Assembly(path)
    symbols = Symbols(sizes, assembly)
    try:
        check_texts(o.domain for o in model.opset_import)
        opsets = {o.domain if o.domain != "ai.onnx" else "": o.version for o in model.opset_import}
        scope = Scope(path, symbols, opsets)
        outputs = read_graph(model.graph, scope, assembly)
        kept = [_kept(v, scope, assembly) for v in outputs if not v.is_constant]
    except (GraphError, NotKnown) as error:
        raise assembly.error(f"{error}{symbols.hint()}") from error
    symbols.check()
    return assembly.graph(kept)


def _kept(value: Value, scope: Scope, assembly: Assembly) -> Tensor:
    """The tensor of an output; one that is told as floats of whole numbers is made floats."""
    return scope.dequantised(value, assembly) if value.tensor is None else value.tensor


def _model(path: Path) -> ModelProto:
    """The model in a file, without its weights."""
    with opened(path) as data:
        try:
            model = ModelProto.FromString(without_weights(data))
        except (Damaged, DecodeError) as error:
            raise model_file_error(path, f"it is not an ONNX file, or damaged ({error})") from error
    if not model.HasField("graph") or not model.graph.node:
        raise model_file_error(path, "it is not an ONNX file: there is no graph in it")
    if model.functions:
        try:
            model = onnx.inliner.inline_local_functions(model)
        except Exception as error:  # whatever the library finds wrong with a function
            raise model_file_error(path, f"its functions cannot be put in place: {str(error)[:200]}") from error
    return model


def read_graph(graph: GraphProto, scope: Scope, assembly: Assembly, inputs: Sequence[Value] = ()) -> list[Value]:
    """Read a graph into an assembly. `inputs` are given to the body of a Loop or If. Returns its outputs."""
    _declare(graph, scope, assembly, inputs)
    for i, proto in in_order(graph, assembly):
        name = proto.name or f"{proto.op_type}_{i}"
        try:
            _read_node(Node(proto, name, scope, assembly))
        except (ModelFileError, NotKnown):
            raise
        except Exception as error:
            # the contents of the file decide what goes wrong here, and a learner should see which node it was
            reason = str(error) if isinstance(error, ValueError) else f"it cannot be understood ({error!r:.200})"
            raise assembly.error(_without_name(reason, name) + scope.symbols.hint(), name) from error
    return [scope.look_up(o.name, "output") for o in graph.output]


def _without_name(reason: str, name: str) -> str:
    """`make_operator` names the operator already."""
    start, _, rest = reason.partition(": ")
    return rest if start.startswith(f"{name} (") and rest else reason


def _declare(graph: GraphProto, scope: Scope, assembly: Assembly, given: Sequence[Value]) -> None:
    """Initializers, inputs, and the types the file states."""
    named = (*graph.initializer, *graph.input, *graph.output, *graph.value_info)
    check_texts([*(t.name for t in named), *(t.values.name for t in graph.sparse_initializer)])
    for node in graph.node:
        check_texts((*node.input, *node.output, node.name, node.op_type, node.domain))
    for name in _read_names(graph):
        scope.uses[name] += 1
    scope.declared |= {v.name: v.type for v in (*graph.value_info, *graph.output)}
    constants = {t.name: t for t in graph.initializer}
    constants |= {t.values.name: t.values for t in graph.sparse_initializer}
    for name, tensor in constants.items():
        scope.define(name, constant(name, tensor, scope.path))
    left = [i for i in graph.input if i.name not in constants]  # before IR 4 every initializer is an input too
    for declared, value in zip(left, given, strict=False):
        scope.define(declared.name, replace(value, name=declared.name))
    for declared in left[len(given) :]:
        scope.define(declared.name, _input(declared, scope, assembly))


def _input(declared: Any, scope: Scope, assembly: Assembly) -> Value:
    tensor_type = declared.type.tensor_type
    if not declared.type.HasField("tensor_type") or not tensor_type.HasField("shape"):
        return Value(declared.name, None)
    shape = scope.symbols.shape(declared.name, tensor_type.shape.dim)
    bits = BITS.get(tensor_type.elem_type)
    if 0 in shape:  # an empty cache: nothing to read
        return Value(declared.name, shape, bits, tensor_type.elem_type)
    return Value(
        declared.name, shape, bits, tensor_type.elem_type, assembly.add_input(declared.name, shape, bits)
    )  # fmt: skip


def _read_names(graph: GraphProto) -> Iterator[str]:
    """Every name that a graph reads, once per reader, those read by graphs inside it too."""
    yield from (o.name for o in graph.output)
    for node in graph.node:
        yield from node.input
        for a in node.attribute:
            if a.type == onnx.AttributeProto.GRAPH:
                yield from _read_names(a.g)


def _read_node(node: Node) -> None:
    """Make the operators of a node, and say what its outputs stand for."""
    if node.proto.domain in _DOMAINS and node.op_type in CONTROL:
        CONTROL[node.op_type](node)
    elif not _constant(node):
        try:
            if node.proto.domain not in _DOMAINS or node.op_type not in TABLE:
                raise NotKnown(node.op_type)
            TABLE[node.op_type](node)
        except NotKnown:
            unknown(node)
    for i, output in enumerate(node.outputs):  # what no entry of the table makes: its readers cannot be known
        if output and output not in node.scope.values:
            node.define(i, Value(output, None))


def _constant(node: Node) -> bool:
    """Whether a node only makes constants of constants; then its outputs are defined, and no operator is made."""
    values = [v for v in node.inputs if v is not None]
    if node.op_type == "Constant":
        node.define(0, _constant_node(node))
        return True
    if node.op_type in ("Shape", "Size") and node.has(0) and node.value(0).shape is not None:
        node.define(0, _shape(node))
        return True
    if node.op_type in _RANDOM or not all(v.is_constant for v in values) or node.proto.domain not in _DOMAINS:
        return False
    if any(v.shape is None for v in values):
        return False
    if len(node.outputs) == 1 and all(v.data is not None for v in values):
        made = fold(node.op_type, [None if v is None else v.data for v in node.inputs], node.attributes)
        if made is not None:
            node.define(0, from_array(node.outputs[0], made))
            return True
    return _shaped_constant(node)


def _shaped_constant(node: Node) -> bool:
    """A constant of which only the shape is known: a weight that is transposed, cast, scaled, filled ..."""
    if node.op_type == "Identity":
        node.alias()
        return True
    if node.op_type == "DequantizeLinear":  # the weight stays as it is stored
        node.define(0, replace(node.value(0), data=None))
        return True
    found = [node.scope.infer(node, output) for output in node.outputs]
    if not found or any(f is None or f[1] is None or None in f[1] for f in found):
        return False
    swaps = node.op_type == "Transpose" and node.get("perm", (1, 0)) == (1, 0) and len(node.shape(0)) == 2
    for i, (dtype, shape) in enumerate(found):  # type: ignore[misc]
        known = known_shape(node.outputs[i], shape)  # type: ignore[arg-type]
        source = node.value(0) if swaps else None
        node.define(i, Value(node.outputs[i], known, BITS.get(dtype), dtype, source=source))
    return True


def _constant_node(node: Node) -> Value:
    """The value of a Constant node, whichever of its attributes holds it."""
    name = node.outputs[0] if node.outputs else ""
    for key, dtype in (("value_int", "int64"), ("value_ints", "int64"), ("value_float", "float32"),
                       ("value_floats", "float32")):  # fmt: skip
        if key in node.attributes:
            return from_array(name, np.array(node.attributes[key], dtype))
    if "value" in node.attributes:
        return constant(name, node.attributes["value"], node.scope.path)
    return Value(name, None)


def _shape(node: Node) -> Value:
    shape = node.value(0).shape or ()
    if node.op_type == "Size":
        return from_array(node.outputs[0], np.array(np.prod(shape, dtype=np.int64)))
    start, end = node.get("start", 0), node.get("end", len(shape))
    return from_array(node.outputs[0], np.array(shape[start:end], np.int64))


def unknown(node: Node) -> None:
    """An operator that is not known: what it reads and writes, as far as their shapes are known."""
    node.on_integers = False
    tensors = [
        node.tensor(i) for i, v in enumerate(node.inputs) if v is not None and v.shape is not None and 0 not in v.shape
    ]
    outputs = [o for i, o in enumerate(node.outputs) if node.wanted(i)] or [o for o in node.outputs if o]
    shapes = {o: node.scope.unknown_shape(node, o) for o in outputs}
    types = {o: node.scope.output_type(node, node.outputs.index(o)) for o in outputs}
    known = [o for o in outputs if (s := shapes[o]) is not None and 0 not in s]
    label = f"{node.proto.domain}.{node.op_type}" if node.proto.domain else node.op_type
    made = node.assembly.emit_unknown(
        node.name, label, tensors, [(o, BITS.get(types[o])) for o in known], [shapes[o] or () for o in known]
    )
    by_name = dict(zip(known, made, strict=True))
    for o in outputs:
        t = by_name.get(o)
        node.scope.define(o, Value(o, shapes[o], t.bits if t else None, types[o], t))
