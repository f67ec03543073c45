"""What each ONNX operator is here: one table, op type -> a function that makes our operators of a node.

Most operators have the same name in both worlds, or differ in how they are spelt; the functions are for those that
need their attributes. What a function cannot express raises `NotKnown`: the operator is then shown with its bytes
only.

References
----------
ONNX operators and their changes from opset to opset: https://onnx.ai/onnx/operators/.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from onnx import TensorProto

from ..errors import GraphError
from ..graph import Tensor
from .assembly import NotKnown, Value
from .onnx_moving import (
    concat,
    copy,
    dropout,
    gather,
    part,
    resize,
    same_shape_or,
    split,
    transpose,
    view,
)
from .onnx_node import Node, void
from .onnx_windows import average_pool, conv, conv_transpose, global_pool, max_pool

Make = Callable[[Node], None]


def same(kind: str) -> Make:
    """An operator on all its inputs, element by element."""
    return lambda n: void(n.emit(kind, n.activations()))


def first(kind: str, **a: Any) -> Make:
    """An operator on its first input; the others are settings."""
    return lambda n: void(n.emit(kind, [n.tensor(0)], **a))


def axis_of(kind: str, default: int) -> Make:
    return lambda n: void(n.emit(kind, [n.tensor(0)], axis=n.get("axis", default)))


# -- products ---------------------------------------------------------------------------------------------------------


def matmul(n: Node) -> None:
    """With a constant matrix behind: a dense layer. Else a product of two activations."""
    x, w = n.shape(0), n.shape(1)
    if len(x) < 2 or len(w) < 2:
        raise NotKnown("a product with a vector")
    value = n.value(1)
    if len(w) != 2 or not (value.is_constant or (value.quantised is not None and value.quantised.is_constant)):
        n.emit("matmul", [n.tensor(0), n.tensor(1)], transpose_b=False, share=1)
    elif value.source is not None:  # the transpose of a weight (M, K), which others may share
        n.emit("dense", [n.tensor(0), n.assembly.constant(value.source)])
    else:
        n.emit("dense", [n.tensor(0), n.tensor(1)], transposed=True)


def gemm(n: Node) -> None:
    """alpha A' B' + beta C: a dense layer."""
    x = n.tensor(0)
    if n.get("transA", 0):
        x = n.before("transpose", [x], "transposed", axes=(1, 0), in_place=True)
    bias = [n.tensor(2, "weight")] if n.has(2) else []
    value = n.value(1)
    if value.source is not None and not n.get("transB", 0):
        n.emit("dense", [x, n.assembly.constant(value.source), *bias])
    else:
        n.emit("dense", [x, n.tensor(1), *bias], transposed=not n.get("transB", 0))


def integer_product(x: int, w: int, bias: int | None = None) -> Make:
    """QLinearMatMul and its like: scales and zero points between the operands."""

    def make(n: Node) -> None:
        narrow = replace_inputs(n, [x, w] if bias is None else [x, w, bias])
        gemm(narrow) if n.op_type == "QGemm" else matmul(narrow)

    return make


def integer_conv(x: int, w: int, bias: int | None = None) -> Make:
    return lambda n: conv(replace_inputs(n, [x, w] if bias is None else [x, w, bias]))


def replace_inputs(n: Node, places: list[int]) -> Node:
    """The node with only these of its inputs."""
    n.inputs = [n.inputs[i] if i < len(n.inputs) else None for i in places]
    return n


# -- element by element -----------------------------------------------------------------------------------------------


def add(n: Node) -> None:
    """With one number per feature of a constant: a bias."""
    for i, j in ((0, 1), (1, 0)):
        if n.value(j).is_constant and not n.value(i).is_constant:
            x, b = n.shape(i), n.shape(j)
            if len(b) == 1 and len(x) > 1 and b[0] == x[-1] > 1:
                return void(n.emit("bias_add", [n.tensor(i), n.tensor(j)], axis=-1))
            if len(x) == 4 and b in ((x[1], 1, 1), (1, x[1], 1, 1)) and x[1] > 1:
                return void(n.emit("bias_add", [n.tensor(i), n.vector(j, x[1])], axis=1))
    return void(n.emit("add", [n.tensor(0), n.tensor(1)]))


def several(one_more: str, many: str | None) -> Make:
    """Sum, Max, Min of any number of inputs."""

    def make(n: Node) -> None:
        if len(n.inputs) == 1:
            return n.alias()
        kind = one_more if len(n.inputs) == 2 else many
        if kind is None:
            raise NotKnown("of more than two")
        return void(n.emit(kind, n.activations()))

    return make


def clip(n: Node) -> None:
    """From 0 to 6 it is ReLU6, from 0 on it is ReLU. Limits were attributes before opset 11."""
    if n.opset < 11:
        low, high = [n.get("min", -math.inf)], [n.get("max", math.inf)]
    else:
        low = n.data(1) if n.has(1) else [-math.inf]
        high = n.data(2) if n.has(2) else [math.inf]
    limits: Any = (low[0] if low else None, high[0] if high else None)
    kind = {(0, 6): "relu6", (0, math.inf): "relu"}.get(limits, "clip")
    n.emit(kind, [n.tensor(0)])


def power(n: Node) -> None:
    exponent = n.data(1)
    kind = {2: "square", 0.5: "sqrt"}.get(exponent[0], "pow") if exponent and len(exponent) == 1 else "pow"
    n.emit(kind, n.activations() if kind == "pow" else [n.tensor(0)])


def prelu(n: Node) -> None:
    """One slope per channel, or one for all."""
    x, slope = n.shape(0), n.shape(1)
    if math.prod(slope) == 1:
        return void(n.emit("leaky_relu", [n.tensor(0)]))
    axis = 1 if slope[0] == x[1] or len(slope) > 1 else -1
    return void(n.emit("prelu", [n.tensor(0), n.vector(1, x[axis])], axis=axis))


def cast(n: Node) -> None:
    """Nothing where the type stays; floats among themselves are a matter of the precision."""
    if n.get("to", 1) not in TensorProto.DataType.values():
        raise GraphError(f"there is no element type {n.get('to', 1)}")
    n.alias() if n.get("to", n.value(0).dtype) == n.value(0).dtype else n.emit("cast", [n.tensor(0)])


# -- norms and reductions ---------------------------------------------------------------------------------------------


def batch_norm(n: Node) -> None:
    """At inference a scale and a shift. In training (opset 14: `training_mode`; before: more outputs) a reduction."""
    channels = n.shape(0)[1]
    trained = [n.vector(i, channels, "weight") for i in (1, 2)]
    if n.get("training_mode", 0) or len([o for o in n.outputs if o]) > 1:
        n.assembly.note(f"{n.name} is a batch norm in training: it reduces, and does not fold")
        n.emit("instance_norm", [n.tensor(0), *trained], axis=1)
        for i in range(1, len(n.outputs)):
            n.define(i, Value(n.outputs[i], (channels,), None, n.value(0).dtype))
    else:
        stored = [n.vector(i, channels, "buffer") for i in (3, 4)]
        n.emit("batch_norm", [n.tensor(0), *trained, *stored], axis=1)


def norm(kind: str, axis: int) -> Make:
    """A norm with one scale (and shift) for each place along an axis."""

    def make(n: Node) -> None:
        x = n.shape(0)
        if n.get("axis", axis) not in (axis, axis % len(x)):
            raise NotKnown("over several axes")
        parts = [n.vector(i, x[axis], "weight") for i in (1, 2) if n.has(i)]
        n.emit(kind, [n.tensor(0), *parts], axis=axis)

    return make


def softmax(n: Node) -> None:
    """Before opset 13 over all axes from `axis` (1) on together; since then along one (the last)."""
    axis = n.get("axis", 1 if n.opset < 13 else -1)
    if n.opset < 13 and math.prod(n.shape(0)[axis + 1 :] if axis != -1 else ()) == 1:
        n.emit("softmax", [n.tensor(0)], axis=axis)
    else:
        n.emit("softmax", [n.tensor(0)], axis=-1 if n.opset < 13 else axis)


def reduce(kind: str) -> Make:
    """Axes are an attribute, or (opset 13 for sums, 18 for the rest) an input. None means all."""

    def make(n: Node) -> None:
        rank = len(n.shape(0))
        given = n.data(1) if n.has(1) else list(n.get("axes", ()))
        if given is None:
            raise NotKnown("axes that are computed")
        if not given and n.get("noop_with_empty_axes", 0):
            return n.alias()
        axes = tuple(int(i) for i in given) or tuple(range(rank))
        return void(n.emit(kind, [n.tensor(0)], axes=axes, keepdims=bool(n.get("keepdims", 1))))

    return make


def arg(n: Node) -> None:
    n.emit("arg_max", [n.tensor(0)], axes=(n.get("axis", 0),), keepdims=bool(n.get("keepdims", 1)))


# -- recurrent --------------------------------------------------------------------------------------------------------


def recurrent(kind: str) -> Make:
    """X (steps, batch, width), or batch first with `layout`; weights and states that are there are read once."""

    def make(n: Node) -> None:
        x = n.tensor(0)
        n.shape(0)
        if n.get("layout", 0):
            x = n.before("transpose", [x], "time_first", axes=(1, 0, 2), in_place=True)
        used = [i for i in range(1, len(n.inputs)) if n.has(i)]
        weights = [n.tensor(i, "weight" if i in (1, 2, 3, 7) else None) for i in used]
        outputs = [i for i, o in enumerate(n.outputs) if o]
        n.emit_all(kind, [x, *weights], outputs, shapes=tuple(n.inferred(i) for i in outputs))

    return make


# -- whole numbers ----------------------------------------------------------------------------------------------------


def quantize(n: Node) -> None:
    """Folds into the operator before it where that works on whole numbers and nobody else reads its floats."""
    x = n.tensor(0)
    bits = n.bits(0) or 8
    maker = n.assembly.maker(x)
    if maker is not None and x.name in n.scope.on_integers and n.scope.uses[n.proto.input[0]] == 1:
        narrow = n.assembly.narrow(x, bits)
        return n.define(0, Value(n.outputs[0], x.shape, bits, n.scope.output_type(n, 0), narrow))
    return void(n.emit("quantize", [x]))


def dequantize(n: Node) -> None:
    """Whoever reads the result decides: an operator that works on whole numbers reads what it was made of."""
    value = n.value(0)
    if value.tensor is None:
        raise NotKnown(f"the shape of {value.name} is not known")
    n.define(0, Value(n.outputs[0], value.shape, None, n.scope.output_type(n, 0), quantised=value))


def dynamic_quantize(n: Node) -> None:
    n.emit("quantize", [n.tensor(0)])
    for i in (1, 2):
        if i < len(n.outputs):
            n.define(i, Value(n.outputs[i], (), None if i == 1 else 8, 1 if i == 1 else 2))


def fused(make: Make) -> Make:
    """ONNX Runtime's fused operators: what they hold, then the activation as an operator of its own."""

    def both(n: Node) -> None:
        kind = _ACTIVATIONS.get(n.get("activation", ""))
        if kind is None:
            raise NotKnown("activation")
        output, n.outputs = n.outputs, [f"{n.outputs[0]}/before"]
        make(n)
        made: Tensor | None = n.scope.values[n.outputs[0]].tensor
        assert made is not None
        n.outputs = output
        (out,) = n.assembly.emit(f"{n.name}/{kind}", kind, [made], [(output[0], None)], fused_with=n.name)
        n.define(0, replace(n.scope.values[f"{output[0]}/before"], name=output[0], tensor=out))

    return both


_ACTIVATIONS = {"Relu": "relu", "LeakyRelu": "leaky_relu", "Sigmoid": "sigmoid", "Tanh": "tanh", "Clip": "clip",
                "HardSigmoid": "hard_sigmoid"}  # fmt: skip

#: ONNX op type -> how our operators are made of it.
TABLE: Mapping[str, Make] = {
    # products
    "Conv": conv, "ConvTranspose": conv_transpose, "MatMul": matmul, "Gemm": gemm, "FusedMatMul": matmul,
    "ConvInteger": integer_conv(0, 1), "QLinearConv": integer_conv(0, 3, 8),
    "MatMulInteger": integer_product(0, 1), "QLinearMatMul": integer_product(0, 3), "QGemm": integer_product(0, 3, 6),
    "FusedConv": fused(conv), "FusedGemm": fused(gemm),
    # windows
    "MaxPool": max_pool, "AveragePool": average_pool, "GlobalAveragePool": global_pool("avg_pool", "reduce_mean"),
    "GlobalMaxPool": global_pool("max_pool", "reduce_max"),
    # element by element
    **{op: same(kind) for op, kind in {
        "Relu": "relu", "Elu": "elu", "Sigmoid": "sigmoid", "Tanh": "tanh", "HardSigmoid": "hard_sigmoid",
        "HardSwish": "hard_swish", "Gelu": "gelu", "FastGelu": "gelu", "QuickGelu": "gelu", "Exp": "exp",
        "Sqrt": "sqrt", "Erf": "erf", "Neg": "neg", "Abs": "abs", "Log": "log", "Reciprocal": "reciprocal",
        "Floor": "round", "Ceil": "round", "Round": "round", "Sign": "round", "Sin": "sin", "Cos": "cos",
        "Softplus": "softplus", "Softsign": "softsign", "Selu": "selu", "Mish": "mish", "Sub": "sub", "Mul": "mul",
        "Div": "div", "Mod": "mod", "Equal": "compare", "Less": "compare", "Greater": "compare",
        "LessOrEqual": "compare", "GreaterOrEqual": "compare", "IsNaN": "compare", "IsInf": "compare",
        "And": "logic", "Or": "logic", "Xor": "logic", "Not": "logic", "Where": "where",
    }.items()},
    "LeakyRelu": first("leaky_relu"), "Swish": first("silu"), "CastLike": first("cast"),
    "Add": add, "Sum": several("add", "sum"), "Max": several("maximum", None), "Min": several("minimum", None),
    "Clip": clip, "Pow": power, "PRelu": prelu, "Cast": cast,
    # norms and reductions
    "BatchNormalization": batch_norm, "LayerNormalization": norm("layer_norm", -1),
    "RMSNormalization": norm("rms_norm", -1), "SimplifiedLayerNormalization": norm("rms_norm", -1),
    "InstanceNormalization": norm("instance_norm", 1), "GroupNormalization": norm("instance_norm", 1),
    "LRN": lambda n: void(n.emit("lrn", [n.tensor(0)], size=n.get("size", 1))),
    "LpNormalization": axis_of("l2_norm", -1),
    "Softmax": softmax, "LogSoftmax": softmax,
    "ReduceMean": reduce("reduce_mean"), "ReduceSum": reduce("reduce_sum"), "ReduceMax": reduce("reduce_max"),
    "ReduceMin": reduce("reduce_min"), "ReduceProd": reduce("reduce_prod"), "ReduceL1": reduce("reduce_l2"),
    "ReduceL2": reduce("reduce_l2"), "ReduceSumSquare": reduce("reduce_l2"), "ArgMax": arg, "ArgMin": arg,
    "CumSum": lambda n: void(n.emit("cumsum", [n.tensor(0)], axis=(n.data(1) or [-1])[0])),
    # moving data
    "Reshape": view, "Flatten": view, "Squeeze": view, "Unsqueeze": view, "Identity": lambda n: n.alias(),
    "Dropout": dropout, "Transpose": transpose, "Concat": concat, "Split": split, "Slice": part, "Gather": gather,
    "GatherElements": copy, "GatherND": copy, "ScatterElements": copy, "ScatterND": copy, "Trilu": copy,
    "DepthToSpace": copy, "SpaceToDepth": copy, "Tile": same_shape_or("copy"), "Pad": same_shape_or("copy"),
    "Expand": same_shape_or("expand"), "Resize": resize, "Upsample": resize,
    # recurrent
    "LSTM": recurrent("lstm"), "GRU": recurrent("gru"), "RNN": recurrent("rnn"),
    # whole numbers
    "QuantizeLinear": quantize, "DequantizeLinear": dequantize, "DynamicQuantizeLinear": dynamic_quantize,
}  # fmt: skip
