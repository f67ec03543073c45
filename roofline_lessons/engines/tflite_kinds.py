"""How each kind of operator of ours is written in a TensorFlow Lite file: one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import tflite
from numpy.typing import NDArray

from ..arithmetic import scale_and_shift
from ..graph import Operator, Tensor
from .errors import EngineError

if TYPE_CHECKING:
    from .tflite_write import Writer

_SAME, _VALID = tflite.Padding.SAME, tflite.Padding.VALID

#: Activations that an operator of the file can have in it, by our kind. (Its field also knows TANH, which no kernel of
#: convolutions, products and additions computes.)
FUSED_ACTIVATION: Mapping[str, int] = {
    "relu": tflite.ActivationFunctionType.RELU,
    "relu6": tflite.ActivationFunctionType.RELU6,
    "clip": tflite.ActivationFunctionType.RELU_N1_TO_1,
}

_EPSILON = 1e-5


@dataclass(frozen=True)
class Part:
    """A kernel on its way into the file.

    op : the operator that makes it.
    output : what the kernel writes, which may be behind a fused activation.
    activation : the number of that, in the schema.
    weight, bias : of a convolution or product, with what is folded into them.
    """

    op: Operator
    output: Tensor
    activation: int
    weight: NDArray[Any] | None
    bias: NDArray[Any] | None


Write = Callable[["Writer", Part], None]


@dataclass(frozen=True)
class Kind:
    """How a kind is written, and whether an activation, and constants behind it, can go into the same operator."""

    write: Write
    takes_activation: bool = False
    takes_bias: bool = False


# -- windows ----------------------------------------------------------------------------------------------------------


def _window(w: Writer, p: Part, filled_with: float) -> tuple[int, int]:
    """The image with its padding, and "same" or "valid": other paddings are an operator of their own."""
    op, x = p.op, p.op.inputs[0]
    a = op.attributes
    top, bottom, left, right = a["padding"]
    if not any(a["padding"]):
        return w.operand(x), _VALID
    if op.kind != "avg_pool" and all(_is_same(op, axis, before, after) for axis, before, after in
                                     ((0, top, bottom), (1, left, right))):  # fmt: skip
        return w.operand(x), _SAME
    batch, height, width, channels = w.shape(x)
    made = w.file.tensor(f"{op.name}/padded", (batch, height + top + bottom, width + left + right, channels))
    paddings = w.constant(f"{op.name}/paddings", [[0, 0], [top, bottom], [left, right], [0, 0]], np.int32)
    if filled_with:
        value = w.constant(f"{op.name}/filling", [filled_with])
        w.file.operator("PADV2", [w.operand(x), paddings, value], [made], "PadV2Options")
    else:
        w.file.operator("PAD", [w.operand(x), paddings], [made], "PadOptions")
    return made, _VALID


def _is_same(op: Operator, axis: int, before: int, after: int) -> bool:
    """Whether a padding is what TensorFlow Lite calls "same"; not for an average, which does not count it there."""
    a, size, out = op.attributes, op.inputs[0].shape[2 + axis], op.output.shape[2 + axis]
    reach = (a["kernel"][axis] - 1) * a["dilation"][axis] + 1
    total = max((out - 1) * a["stride"][axis] + reach - size, 0)
    return (before, after) == (total // 2, total - total // 2) and out == -(-size // a["stride"][axis])


def _steps(p: Part) -> dict[str, int]:
    height, width = p.op.attributes["stride"]
    return {"StrideH": height, "StrideW": width}


def _conv(w: Writer, p: Part) -> None:
    """Depthwise where every channel is a group; the weight's axes are (out, height, width, in) or (1, …, out)."""
    assert p.weight is not None
    (groups, channels), a = (p.op.attributes["groups"], p.op.inputs[0].shape[1]), p.op.attributes
    x, padding = _window(w, p, 0.0)
    depthwise = groups > 1 and groups == channels
    weight = w.constant(f"{p.op.name}.weight", p.weight.transpose((1, 2, 3, 0) if depthwise else (0, 2, 3, 1)))
    settings = {"Padding": padding, **_steps(p), "FusedActivationFunction": p.activation,
                "DilationHFactor": a["dilation"][0], "DilationWFactor": a["dilation"][1]}  # fmt: skip
    if depthwise:
        settings["DepthMultiplier"] = p.op.output.shape[1] // channels
    name = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"
    options = "DepthwiseConv2DOptions" if depthwise else "Conv2DOptions"
    inputs = [x, weight, w.constant(f"{p.op.name}.bias", p.bias)]
    w.file.operator(name, inputs, [w.places[p.output.name]], options, **settings)


def _pool(op_type: str, filled_with: float) -> Write:
    def write(w: Writer, p: Part) -> None:
        x, padding = _window(w, p, filled_with)
        height, width = p.op.attributes["kernel"]
        w.file.operator(op_type, [x], [w.places[p.output.name]], "Pool2DOptions", Padding=padding, **_steps(p),
                        FilterHeight=height, FilterWidth=width, FusedActivationFunction=p.activation)  # fmt: skip

    return write


# -- products ---------------------------------------------------------------------------------------------------------


def _dense(w: Writer, p: Part) -> None:
    assert p.weight is not None
    inputs = [w.operand(p.op.inputs[0]), *(w.constant(f"{p.op.name}.{what}", array) for what, array in
                                           (("weight", p.weight), ("bias", p.bias)))]  # fmt: skip
    w.file.operator("FULLY_CONNECTED", inputs, [w.places[p.output.name]], "FullyConnectedOptions",
                    FusedActivationFunction=p.activation, KeepNumDims=True)  # fmt: skip


def _matmul(w: Writer, p: Part) -> None:
    a = p.op.attributes
    if a["share"] > 1 or a.get("triangle"):
        raise EngineError(f"{p.op.name}: products with shared heads or a causal mask are not written.")
    w.file.operator("BATCH_MATMUL", [w.operand(t) for t in p.op.inputs], [w.places[p.output.name]],
                    "BatchMatMulOptions", AdjX=False, AdjY=a["transpose_b"])  # fmt: skip


# -- element by element -----------------------------------------------------------------------------------------------


def _one(op_type: str, options: str = "", **settings: Any) -> Kind:
    def write(w: Writer, p: Part) -> None:
        w.file.operator(op_type, [w.operand(p.op.inputs[0])], [w.places[p.output.name]], options, **settings)

    return Kind(write)


def _two(op_type: str, options: str, takes_activation: bool = False) -> Kind:
    def write(w: Writer, p: Part) -> None:
        image = w.is_image(p.op.output)
        settings = {"FusedActivationFunction": p.activation} if takes_activation else {}
        inputs = [w.operand(t, image) for t in p.op.inputs]
        w.file.operator(op_type, inputs, [w.places[p.output.name]], options, **settings)

    return Kind(write, takes_activation)


def _batch_norm(w: Writer, p: Part) -> None:
    """On its own it is a multiplication and an addition with constants."""
    factor, offset = scale_and_shift([w.weights[t.name] for t in p.op.weights])
    scaled = w.step(
        "MUL", [w.operand(p.op.inputs[0]), w.constant(f"{p.op.name}.factor", factor)], p.op.output, "MulOptions"
    )
    shift = w.constant(f"{p.op.name}.offset", offset)
    w.file.operator(
        "ADD", [scaled, shift], [w.places[p.output.name]], "AddOptions", FusedActivationFunction=p.activation
    )


def _bias_add(w: Writer, p: Part) -> None:
    x, vector = p.op.inputs
    if w.axis(p.op.attributes["axis"], x) != len(x.shape) - 1:
        raise EngineError(f"{p.op.name}: a bias is added along the channels of an image or the last axis only.")
    inputs = [w.operand(x), w.constant(vector.name, w.weights[vector.name])]
    w.file.operator("ADD", inputs, [w.places[p.output.name]], "AddOptions", FusedActivationFunction=p.activation)


def _layer_norm(w: Writer, p: Part) -> None:
    """TensorFlow Lite has no operator for it: eight that do it."""
    (x, gamma, beta), like = p.op.inputs, p.op.output
    rows = Tensor(f"{like.name}/row", (*like.shape[:-1], 1))
    axes = w.constant(f"{like.name}/axis", [len(like.shape) - 1], np.int32)
    mean = w.step("MEAN", [w.operand(x), axes], rows, "ReducerOptions", KeepDims=True)
    squares = w.step("SQUARED_DIFFERENCE", [w.operand(x), mean], like, "SquaredDifferenceOptions")
    spread = Tensor(f"{like.name}/variance", rows.shape)
    variance = w.step("MEAN", [squares, axes], spread, "ReducerOptions", KeepDims=True)
    above = w.step("ADD", [variance, w.constant(f"{like.name}/epsilon", [_EPSILON])], rows, "AddOptions")
    root = w.step("RSQRT", [above], rows)
    centred = w.step("SUB", [w.operand(x), mean], like, "SubOptions")
    normal = w.step("MUL", [centred, root], like, "MulOptions")
    scaled = w.step("MUL", [normal, w.operand(gamma)], Tensor(f"{like.name}/scaled", like.shape), "MulOptions")
    w.file.operator("ADD", [scaled, w.operand(beta)], [w.places[p.output.name]], "AddOptions",
                    FusedActivationFunction=p.activation)  # fmt: skip


def _softmax(w: Writer, p: Part) -> None:
    x, a = p.op.inputs[0], p.op.attributes
    if a.get("triangle") or w.axis(a["axis"], x) != len(x.shape) - 1:
        raise EngineError(f"{p.op.name}: TensorFlow Lite's softmax is along the last axis, without a mask.")
    w.file.operator("SOFTMAX", [w.operand(x)], [w.places[p.output.name]], "SoftmaxOptions", Beta=1.0)


# -- shapes -----------------------------------------------------------------------------------------------------------


def _reduce(op_type: str) -> Kind:
    def write(w: Writer, p: Part) -> None:
        x, a = p.op.inputs[0], p.op.attributes
        axes = [w.axis(axis, x) for axis in a["axes"]]
        if w.is_image(x) and not a["keepdims"] and sorted(axes) != [1, 2]:
            raise EngineError(f"{p.op.name}: of an image only height and width are reduced away.")
        inputs = [w.operand(x), w.constant(f"{p.op.name}/axes", axes, np.int32)]
        w.file.operator(op_type, inputs, [w.places[p.output.name]], "ReducerOptions", KeepDims=bool(a["keepdims"]))

    return Kind(write)


def _view(w: Writer, p: Part) -> None:
    x, y = p.op.inputs[0], p.output
    for t in (x, y):
        if w.is_image(t) and t.shape[2:] != (1, 1):
            raise EngineError(f"{p.op.name}: {t.name} {t.shape} has its axes in another order in the file.")
    shape = w.constant(f"{p.op.name}/shape", w.shape(y), np.int32)
    w.file.operator("RESHAPE", [w.operand(x), shape], [w.places[y.name]])


def _nothing(w: Writer, p: Part) -> None:
    """The same tensor under another name."""
    w.places[p.output.name] = w.places[p.op.inputs[0].name]


def _concat(w: Writer, p: Part) -> None:
    axis = w.axis(p.op.attributes["axis"], p.op.output)
    inputs = [w.operand(t, w.is_image(p.op.output)) for t in p.op.inputs]
    w.file.operator("CONCATENATION", inputs, [w.places[p.output.name]], "ConcatenationOptions", Axis=axis)


def _transpose(w: Writer, p: Part) -> None:
    x = p.op.inputs[0]
    if w.is_image(x):
        raise EngineError(f"{p.op.name}: transposes of images are not written.")
    axes = w.constant(f"{p.op.name}/axes", p.op.attributes["axes"], np.int32)
    w.file.operator("TRANSPOSE", [w.operand(x), axes], [w.places[p.output.name]])


#: Our kind -> how it is written.
KINDS: Mapping[str, Kind] = {
    "conv2d": Kind(_conv, True, True), "dense": Kind(_dense, True, True), "matmul": Kind(_matmul),
    "max_pool": Kind(_pool("MAX_POOL_2D", float(np.finfo(np.float32).min)), True),
    "avg_pool": Kind(_pool("AVERAGE_POOL_2D", 0.0), True),
    **{kind: _one(kind.upper()) for kind in "relu relu6 elu tanh sqrt rsqrt neg exp hard_swish".split()},
    "clip": _one("RELU_N1_TO_1"), "square": _one("SQUARE", "SquareOptions"), "sigmoid": _one("LOGISTIC"),
    "gelu": _one("GELU", "GeluOptions", Approximate=False),
    "leaky_relu": _one("LEAKY_RELU", "LeakyReluOptions", Alpha=0.01),
    "add": _two("ADD", "AddOptions", True), "sub": _two("SUB", "SubOptions", True),
    "mul": _two("MUL", "MulOptions", True), "div": _two("DIV", "DivOptions", True), "pow": _two("POW", "PowOptions"),
    "maximum": _two("MAXIMUM", "MaximumMinimumOptions"), "minimum": _two("MINIMUM", "MaximumMinimumOptions"),
    "batch_norm": Kind(_batch_norm, True), "bias_add": Kind(_bias_add, True), "layer_norm": Kind(_layer_norm),
    "softmax": Kind(_softmax), "reduce_mean": _reduce("MEAN"), "reduce_sum": _reduce("SUM"),
    "reduce_max": _reduce("REDUCE_MAX"), "reshape": Kind(_view), "flatten": Kind(_view), "squeeze": Kind(_view),
    "identity": Kind(_nothing), "dropout": Kind(_nothing), "concat": Kind(_concat), "transpose": Kind(_transpose),
}  # fmt: skip
