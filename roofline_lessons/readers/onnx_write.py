"""`write_onnx`: a graph as an ONNX file, for engines to run and for other tools to look at."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import ArrayLike, NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper

from ..errors import GraphError
from ..graph import Graph, Operator, Tensor

#: The opset that is written: Gelu, Swish and RMSNormalization are operators of it.
OPSET = 24

#: A protobuf message holds no more.
MOST_BYTES = 2**31 - 2**24

_EPSILON = 1e-5


def write_onnx(
    graph: Graph, path: str | PathLike[str], weights: str | Mapping[str, ArrayLike] = "random", seed: int = 0
) -> None:
    """Write a graph as an ONNX file of 32-bit floats.

    Parameters
    ----------
    graph : Graph
    path : path of the file to write
    weights : "random", "absent", or mapping of str to array
        Numbers scaled so that values keep their size from layer to layer; or one number for a whole weight, filled in
        when the file is loaded, which keeps the file small; or the numbers of each weight and buffer by name.
    seed : int
        Of the random numbers.

    Raises
    ------
    GraphError
        A kind of operator that ONNX does not have, or that this does not write; more than 2 GB of weights.
    ValueError
        Weights of another shape, or missing.

    Examples
    --------
    >>> import tempfile, roofline_lessons as rl
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rl.write_onnx(rl.networks.mobilenet_v2(), f"{folder}/m.onnx", weights="absent")
    ...     rl.read_onnx(f"{folder}/m.onnx").macs
    300774272
    """
    writer = _Writer(graph)
    writer.constants(weights, np.random.default_rng(seed))
    for op in graph:
        if op.kind not in WRITE:
            raise GraphError(f"{op.name}: {op.kind} cannot be written as ONNX.")
        WRITE[op.kind](writer, op)
    model = helper.make_model(
        helper.make_graph(
            writer.nodes, graph.name, [_info(t) for t in graph.inputs], [_info(t) for t in graph.outputs],
            writer.initializers, value_info=[_info(t) for op in graph for t in op.outputs if t not in graph.outputs],
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        producer_name="roofline_lessons",
    )  # fmt: skip
    model.ir_version = 11  # what engines of the last years read
    onnx.checker.check_model(model)
    Path(path).write_bytes(model.SerializeToString())


def _type(t: Tensor) -> int:
    """Whole numbers for indices, 32-bit floats for everything else."""
    return {32: TensorProto.INT32, 64: TensorProto.INT64}.get(t.bits or 0, TensorProto.FLOAT)


def _info(t: Tensor) -> Any:
    return helper.make_tensor_value_info(t.name, _type(t), t.shape)


class _Writer:
    """The nodes and constants of the file while it is made."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes: list[NodeProto] = []
        self.initializers: list[TensorProto] = []
        self._number = 0

    def node(self, op_type: str, inputs: Sequence[str], output: str = "", **a: Any) -> str:
        """Add a node; without an output's name, of a step in between. Returns the output's name."""
        self._number += 1
        output = output or f"{inputs[0]}/{op_type}_{self._number}"
        self.nodes.append(helper.make_node(op_type, inputs, [output], name=f"{op_type}_{self._number}", **a))
        return output

    def numbers(self, values: Any, dtype: str = "int64") -> str:
        """A small constant: axes, a shape, limits."""
        self._number += 1
        name = f"constant_{self._number}"
        self.initializers.append(numpy_helper.from_array(np.array(values, dtype), name))
        return name

    def reshaped(self, name: str, shape: Sequence[int]) -> str:
        return self.node("Reshape", [name, self.numbers(shape)])

    # -- weights -----------------------------------------------------------------------------------------------------

    def constants(self, weights: str | Mapping[str, ArrayLike], rng: np.random.Generator) -> None:
        tensors = {t.name: t for op in self.graph for t in op.weights}
        if isinstance(weights, str) and weights not in ("random", "absent"):
            raise ValueError(f'weights must be "random", "absent" or arrays by name, not {weights!r}.')
        stored = 4 * sum(t.elements for t in tensors.values())
        if weights != "absent" and stored > MOST_BYTES:
            raise GraphError(
                f'{self.graph.name} has {stored / 1e9:.1f} GB of weights; weights="absent" leaves them out.'
            )
        for t in tensors.values():
            if weights == "absent":
                self.filled(t)
            else:
                array = _random(t, rng) if isinstance(weights, str) else _given(t, weights)
                kind = helper.tensor_dtype_to_np_dtype(_type(t))
                self.initializers.append(numpy_helper.from_array(array.astype(kind), t.name))

    def filled(self, t: Tensor) -> None:
        """A weight that is one number everywhere."""
        kind = helper.tensor_dtype_to_np_dtype(_type(t))
        one = np.array([1 / math.sqrt(max(t.elements // t.shape[0], 1)) if t.shape else 1], kind)
        self.node("ConstantOfShape", [self.numbers(t.shape)], t.name, value=numpy_helper.from_array(one))


def _random(t: Tensor, rng: np.random.Generator) -> NDArray[Any]:
    """Normal numbers over the root of how many are summed; variances are around 1."""
    if t.name.endswith(".variance"):
        return rng.uniform(0.5, 2, size=t.shape)
    if t.bits is not None:
        return np.zeros(t.shape)
    return rng.standard_normal(t.shape, np.float32) / math.sqrt(max(math.prod(t.shape[1:]), 1))


def _given(t: Tensor, weights: Mapping[str, ArrayLike]) -> NDArray[Any]:
    if t.name not in weights:
        raise ValueError(f"there is no array for {t.name!r} {t.shape}.")
    array = np.asarray(weights[t.name])
    if array.shape != t.shape:
        raise ValueError(f"the array for {t.name!r} must be {t.shape}, not {array.shape}.")
    return array


# -- operators --------------------------------------------------------------------------------------------------------

Write = Callable[[_Writer, Operator], None]


def _names(op: Operator) -> list[str]:
    return [t.name for t in op.inputs]


def _plain(op_type: str, **a: Any) -> Write:
    """One node of the same inputs."""
    return lambda w, op: _void(w.node(op_type, _names(op), op.output.name, **a))


def _void(_: object) -> None:
    """A writer returns nothing: what it wrote stands in the nodes."""


def _onnx_pads(op: Operator) -> list[int]:
    """All begins, then all ends."""
    top, bottom, left, right = op.attributes["padding"]
    return [top, left, bottom, right]


def _window(op: Operator) -> dict[str, Any]:
    a = op.attributes
    return {"kernel_shape": a["kernel"], "strides": a["stride"], "dilations": a["dilation"], "pads": _onnx_pads(op)}


def _conv(w: _Writer, op: Operator) -> None:
    more = {"output_padding": op.attributes["output_padding"]} if op.kind == "conv_transpose2d" else {}
    op_type = "ConvTranspose" if more else "Conv"
    w.node(op_type, _names(op), op.output.name, **_window(op), group=op.attributes["groups"], **more)


def _dense(w: _Writer, op: Operator) -> None:
    """A Gemm for rows; for more axes a MatMul and an addition."""
    names, transposed = _names(op), bool(op.attributes.get("transposed"))
    if len(op.inputs[0].shape) == 2:
        w.node("Gemm", names, op.output.name, transB=int(not transposed))
        return
    weight = names[1] if transposed else w.node("Transpose", [names[1]], perm=[1, 0])
    if len(names) == 2:
        w.node("MatMul", [names[0], weight], op.output.name)
    else:
        w.node("Add", [w.node("MatMul", [names[0], weight]), names[2]], op.output.name)


def _matmul(w: _Writer, op: Operator) -> None:
    """Shared heads are repeated; what a causal mask hides is zero."""
    a, (x, y) = op.attributes, op.inputs
    right, part = y.name, a.get("triangle")
    if a["share"] > 1:
        *lead, heads, rows, columns = y.shape
        wide = w.node("Expand", [w.reshaped(right, (*lead, heads, 1, rows, columns)),
                                 w.numbers((*lead, heads, a["share"], rows, columns))])  # fmt: skip
        right = w.reshaped(wide, (*lead, heads * a["share"], rows, columns))
    if a["transpose_b"]:
        rank = len(y.shape)
        right = w.node("Transpose", [right], perm=[*range(rank - 2), rank - 1, rank - 2])
    left = _lower(w, x.name, x.shape) if part == "input" else x.name
    if part == "output":
        _lower(w, w.node("MatMul", [left, right]), op.output.shape, op.output.name)
    else:
        w.node("MatMul", [left, right], op.output.name)


def _lower(w: _Writer, name: str, shape: Sequence[int], output: str = "") -> str:
    """Zeros above the diagonal that ends in the last row and column."""
    return w.node("Trilu", [name, w.numbers(shape[-1] - shape[-2])], output, upper=0)


def _softmax(w: _Writer, op: Operator) -> None:
    x, name = op.inputs[0], op.inputs[0].name
    if op.attributes.get("triangle"):
        one = numpy_helper.from_array(np.ones(1, np.float32))
        ones = w.node("ConstantOfShape", [w.numbers(x.shape[-2:])], value=one)
        seen = w.node("Cast", [_lower(w, ones, x.shape)], to=TensorProto.BOOL)
        name = w.node("Where", [seen, name, w.numbers(-np.inf, "float32")])
    w.node("Softmax", [name], op.output.name, axis=op.attributes["axis"])


def _along_axis(op_type: str) -> Write:
    """A vector along one axis, in the shape that broadcasts."""

    def write(w: _Writer, op: Operator) -> None:
        x, vector = op.inputs
        axis = op.attributes["axis"] % len(x.shape)
        shape = (-1, *(1 for _ in x.shape[axis + 1 :]))
        w.node(op_type, [x.name, w.reshaped(vector.name, shape)], op.output.name)

    return write


def _clip(low: float, high: float) -> Write:
    def write(w: _Writer, op: Operator) -> None:
        w.node("Clip", [op.inputs[0].name, w.numbers(low, "float32"), w.numbers(high, "float32")], op.output.name)

    return write


def _square(w: _Writer, op: Operator) -> None:
    """ONNX has no operator for it."""
    w.node("Mul", [op.inputs[0].name] * 2, op.output.name)


def _rsqrt(w: _Writer, op: Operator) -> None:
    w.node("Reciprocal", [w.node("Sqrt", _names(op))], op.output.name)


def _pool(op_type: str, **a: Any) -> Write:
    return lambda w, op: _void(w.node(op_type, _names(op), op.output.name, **_window(op), **a))


def _reduce(op_type: str) -> Write:
    def write(w: _Writer, op: Operator) -> None:
        keep = int(op.attributes["keepdims"])
        w.node(op_type, [op.inputs[0].name, w.numbers(op.attributes["axes"])], op.output.name, keepdims=keep)

    return write


def _view(w: _Writer, op: Operator) -> None:
    w.node("Reshape", [op.inputs[0].name, w.numbers(op.output.shape)], op.output.name)


def _slice(w: _Writer, op: Operator) -> None:
    a = op.attributes
    limits = [w.numbers([a[key]]) for key in ("start", "stop", "axis")]
    w.node("Slice", [op.inputs[0].name, *limits], op.output.name)


def _upsample(**a: Any) -> Write:
    def write(w: _Writer, op: Operator) -> None:
        scale = op.attributes["scale"]
        scales = w.numbers([1, 1, scale, scale], "float32")
        w.node("Resize", [op.inputs[0].name, "", scales], op.output.name, **a)

    return write


def _rotary(w: _Writer, op: Operator) -> None:
    """(first, second) turned by the angle: (first cos - second sin, second cos + first sin)."""

    def halves(t: Tensor) -> list[str]:
        middle, end, axis = t.shape[-1] // 2, t.shape[-1], len(t.shape) - 1
        cuts = ((0, middle), (middle, end))
        return [w.node("Slice", [t.name, *(w.numbers([i]) for i in (*cut, axis))]) for cut in cuts]

    (first, second), (cos, sin) = (halves(t) for t in op.inputs)
    new_first = w.node("Sub", [w.node("Mul", [first, cos]), w.node("Mul", [second, sin])])
    new_second = w.node("Add", [w.node("Mul", [second, cos]), w.node("Mul", [first, sin])])
    w.node("Concat", [new_first, new_second], op.output.name, axis=-1)


#: Kind -> how it is written. Kinds that only files bring are not written.
WRITE: Mapping[str, Write] = {
    "conv2d": _conv, "conv_transpose2d": _conv, "dense": _dense, "matmul": _matmul,
    **{kind: _plain(op_type) for kind, op_type in {
        "relu": "Relu", "elu": "Elu", "sigmoid": "Sigmoid", "tanh": "Tanh", "silu": "Swish", "gelu": "Gelu",
        "hard_swish": "HardSwish", "exp": "Exp", "sqrt": "Sqrt", "erf": "Erf", "neg": "Neg", "add": "Add",
        "sub": "Sub", "mul": "Mul", "div": "Div", "pow": "Pow", "maximum": "Max", "minimum": "Min",
        "identity": "Identity", "dropout": "Dropout",
    }.items()},
    "leaky_relu": _plain("LeakyRelu", alpha=0.01), "hard_sigmoid": _plain("HardSigmoid", alpha=1 / 6, beta=0.5),
    "relu6": _clip(0, 6), "clip": _clip(-1, 1),
    "prelu": _along_axis("PRelu"), "bias_add": _along_axis("Add"),
    "batch_norm": _plain("BatchNormalization", epsilon=_EPSILON),
    "layer_norm": _plain("LayerNormalization", axis=-1, epsilon=_EPSILON),
    "rms_norm": _plain("RMSNormalization", axis=-1, epsilon=_EPSILON), "softmax": _softmax,
    "max_pool": _pool("MaxPool"), "avg_pool": _pool("AveragePool", count_include_pad=1),
    "reduce_sum": _reduce("ReduceSum"), "reduce_mean": _reduce("ReduceMean"), "reduce_max": _reduce("ReduceMax"),
    "concat": lambda w, op: _void(w.node("Concat", _names(op), op.output.name, axis=op.attributes["axis"])),
    "transpose": lambda w, op: _void(w.node("Transpose", _names(op), op.output.name, perm=op.attributes["axes"])),
    "layout": lambda w, op: _void(w.node("Transpose", _names(op), op.output.name, perm=op.attributes["axes"])),
    "gather": lambda w, op: _void(w.node("Gather", _names(op), op.output.name, axis=op.attributes.get("axis", 0))),
    "expand": lambda w, op: _void(w.node("Expand", [op.inputs[0].name, w.numbers(op.output.shape)], op.output.name)),
    "square": _square, "rsqrt": _rsqrt, "reshape": _view, "flatten": _view, "squeeze": _view, "slice": _slice,
    "rotary": _rotary,
    "upsample_nearest": _upsample(mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
    "upsample_bilinear": _upsample(mode="linear", coordinate_transformation_mode="half_pixel"),
}  # fmt: skip
