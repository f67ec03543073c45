"""`read_tflite`: a TensorFlow Lite file -> a `Graph`."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from ..errors import ModelFileError
from ..graph import Graph
from .assembly import Assembly, NotKnown, Value
from .tflite_file import TYPES, contents
from .tflite_node import Flow, Node
from .tflite_table import TABLE

#: Operators that give no constant even when all they read is constant.
_NOT_CONSTANT = {"VAR_HANDLE", "READ_VARIABLE", "CALL_ONCE", "RANDOM_UNIFORM", "RANDOM_STANDARD_NORMAL", "MULTINOMIAL"}


def read_tflite(path: str | PathLike[str]) -> Graph:
    """The graph of a TensorFlow Lite file (its main subgraph).

    Parameters
    ----------
    path : path of the file

    Returns
    -------
    Graph
        Images have their axes as (batch, channels, height, width). Operators are called after type and place
        ("conv_2d_0"). A fused activation is an operator of its own, marked with the name of the operator it is fused
        with: `plan_from_file` makes the file's kernels of that. Quantised tensors keep their bits.

    Raises
    ------
    ModelFileError
        The file is not there, damaged, or not what it should be; the message names file, operator and reason.

    Warns
    -----
    ModelFileWarning
        Which kinds of operators are not known. They appear in the graph with their bytes, and their FLOPs are marked
        as not known.
    """
    path = Path(path)
    found = contents(path)
    assembly = Assembly(path)
    try:
        flow = Flow(found, assembly)
    except ValueError as error:
        raise assembly.error(str(error)) from error
    for i, op in enumerate(found.operators):
        node = Node(op, f"{op.op_type.lower().replace(' ', '_')}_{i}", flow)
        try:
            _read(node)
        except ModelFileError:
            raise
        except Exception as error:
            # the contents of the file decide what goes wrong here, and a learner should see which operator it was
            reason = str(error) if isinstance(error, ValueError) else f"it cannot be understood ({error!r:.200})"
            start, _, rest = reason.partition(": ")
            raise assembly.error(rest if start.startswith(f"{node.name} (") else reason, node.name) from error
    return assembly.graph(flow.kept())


def _read(node: Node) -> None:
    """Make our operators of one of the file."""
    start = len(node.assembly.operators)
    there = [i for i in range(len(node.op.inputs)) if node.has(i)]
    constant = there and all(node.is_constant(i) for i in there) and node.op_type not in _NOT_CONSTANT
    if constant and node.op_type != "DEQUANTIZE":
        for o in node.outputs:  # worked out once, before the network runs
            t = node.flow.found.tensors[o]
            node.flow.constants[o] = Value(t.name, t.shape, TYPES[t.dtype][0], t.dtype)
        return
    try:
        if node.op_type not in TABLE:
            raise NotKnown(node.op_type)
        TABLE[node.op_type](node)
    except NotKnown:
        del node.assembly.operators[start:]
        _unknown(node)


def _unknown(node: Node) -> None:
    """An operator that is not known: what it reads and writes."""
    shapes = [node.flow.found.tensors[i].shape if i >= 0 else () for i in node.op.inputs]
    reads = [
        node.tensor(i)
        for i, shape in enumerate(shapes)
        if node.has(i) and 0 not in shape and (node.is_constant(i) or node.flow.known(node.place(i)))
    ]
    outputs = [i for i in range(len(node.outputs)) if 0 not in node.out_shape(i)]
    names = [(node.flow.found.tensors[node.outputs[i]].name, node.bits(i)) for i in outputs]
    made = node.assembly.emit_unknown(node.name, node.op_type, reads, names, [node.out_shape(i) for i in outputs])
    for i, t in zip(outputs, made, strict=True):
        node.define(i, t, image=False)
