"""What each TensorFlow Lite operator is here: one table, op type -> a function that makes our operators of it.

References
----------
TensorFlow Lite's schema (schema.fbs) and reference kernels (tensorflow/lite/kernels), Apache-2.0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from ..errors import GraphError
from .assembly import NotKnown, Value
from .tflite_node import TO_IMAGE, Node
from .tflite_windows import conv, depthwise, pool, transpose_conv

Make = Callable[[Node], None]


# -- products ---------------------------------------------------------------------------------------------------------


def fully_connected(n: Node) -> None:
    """Everything before the weight's width is rows."""
    w, out = n.shape(1), n.out_shape()
    if len(w) != 2:
        raise GraphError(f"the weight {w} must be a matrix")
    rows = math.prod(n.shape(0)) // w[1]
    lead = out[:-1] if n.option("KeepNumDims") else (rows,)
    x = n.reshaped(n.tensor(0), (*lead, w[1]))
    bias = [n.weight(2, n.shape(2))] if n.has(2) else []
    n.emit("dense", [x, n.weight(1, w), *bias])


def batch_matmul(n: Node) -> None:
    x, y = n.tensor(0), n.tensor(1)
    if n.option("AdjX"):
        axes = (*range(len(x.shape) - 2), len(x.shape) - 1, len(x.shape) - 2)
        x = n.before("transpose", [x], "transposed", axes=axes, in_place=True)
    n.emit("matmul", [x, y], transpose_b=bool(n.option("AdjY")), share=1)


# -- element by element -----------------------------------------------------------------------------------------------


def same(kind: str) -> Make:
    """An operator on its inputs, element by element, in the order of axes they are in."""

    def make(n: Node) -> None:
        used = [i for i in range(len(n.op.inputs)) if n.has(i)]
        image = n.is_image(*used) and len(n.out_shape()) == 4
        n.emit(kind, [n.tensor(i, image) for i in used], image=image)

    return make


def squared_difference(n: Node) -> None:
    """A subtraction, and a square in the same kernel."""
    image = n.is_image() and len(n.out_shape()) == 4
    difference = n.before("sub", [n.tensor(0, image), n.tensor(1, image)], "difference")
    n.emit("square", [difference], image=image, fused_with=f"{n.name}/difference")


def prelu(n: Node) -> None:
    """Slopes (1, 1, channels)."""
    channels = n.shape(0)[-1]
    if math.prod(n.shape(1)) != channels:
        raise NotKnown("a slope for each place")
    image = n.is_image(0)
    n.emit("prelu", [n.tensor(0, image), n.weight(1, (channels,))], image=image, axis=1 if image else -1)


def add_n(n: Node) -> None:
    image = n.is_image()
    n.emit("sum", [n.tensor(i, image) for i in range(len(n.op.inputs))], image=image)


def dequantize(n: Node) -> None:
    """A constant stays as it is stored; an activation becomes floats."""
    if n.is_constant(0):
        value = n.flow.constants[n.place(0)]
        bits = value.bits or 16  # half floats
        n.flow.constants[n.outputs[0]] = Value(value.name, value.shape, bits, value.dtype)
    else:
        same("dequantize")(n)


# -- along axes -------------------------------------------------------------------------------------------------------


def along(kind: str, axis: int = -1) -> Make:
    """An operator along the last axis of the file, which are the channels of an image."""

    def make(n: Node) -> None:
        image = n.is_image(0)
        n.emit(kind, [n.tensor(0, image)], image=image, axis=_ours(axis, len(n.shape(0)), image))

    return make


def _ours(axis: int, rank: int, image: bool) -> int:
    """An axis of the file as an axis of ours."""
    if not -rank <= axis < rank:
        raise GraphError(f"there is no axis {axis} in {rank}")
    return TO_IMAGE.index(axis % rank) if image else axis % rank


def reduce(kind: str) -> Make:
    """Over height and width, or with the axes kept, an image stays one."""

    def make(n: Node) -> None:
        rank, axes = len(n.shape(0)), n.data(1)
        if axes is None:
            raise NotKnown("axes that are computed")
        keep = bool(n.option("KeepDims")) if kind != "arg_max" else False
        both = {int(a) % max(rank, 1) for a in axes} == {1, 2}
        image = n.is_image(0) and (keep or both)
        ours = tuple(_ours(int(a), rank, image) for a in axes)
        n.emit(kind, [n.tensor(0, image)], image=image and keep, axes=ours, keepdims=keep)

    return make


# -- moving data ------------------------------------------------------------------------------------------------------


def view(n: Node) -> None:
    """Reshape and its like: the file's order of axes, another shape."""
    n.emit("reshape", [n.tensor(0)], shape=n.out_shape())


def copy(n: Node) -> None:
    """Another arrangement of the first input's elements."""
    image = n.is_image(0) and len(n.out_shape()) == 4
    n.emit("copy", [n.tensor(0, image)], image=image, shape=_out(n, image))


def copy_all(n: Node) -> None:
    """Another arrangement, by indices or from updates that are read too."""
    more = [n.tensor(i) for i in range(1, len(n.op.inputs)) if n.has(i) and not n.is_constant(i)]
    n.emit("copy", [n.tensor(0), *more], shape=n.out_shape())


def _out(n: Node, image: bool) -> tuple[int, ...]:
    out = n.out_shape()
    return tuple(out[i] for i in TO_IMAGE) if image else out


def concat(n: Node) -> None:
    places = [i for i in range(len(n.op.inputs)) if n.has(i)]
    image = n.is_image() and len(n.out_shape()) == 4
    axis = _ours(n.option("Axis"), len(n.out_shape()), image)
    n.emit("concat", [n.tensor(i, image) for i in places], image=image, axis=axis, in_place=False)


def pack(n: Node) -> None:
    """Each part gets an axis of its own, then they are joined."""
    axis = n.option("Axis") % max(len(n.out_shape()), 1)
    parts = [n.tensor(i) for i in range(len(n.op.inputs))]
    rows = [n.reshaped(t, (*t.shape[:axis], 1, *t.shape[axis:])) for t in parts]
    n.emit("concat", rows, axis=axis, in_place=False)


def split(place: int) -> Make:
    """SPLIT (axis, x) and SPLIT_V (x, sizes, axis)."""

    def make(n: Node) -> None:
        axes, rank = n.data(0 if place else 2), len(n.shape(place))
        if not axes:
            raise NotKnown("an axis that is computed")
        image = n.is_image(place)
        axis = int(axes[0]) % max(rank, 1)
        sizes = tuple(n.out_shape(i)[axis] for i in range(len(n.outputs)))
        n.emit_all("split", [n.tensor(place, image)], image, axis=_ours(axis, rank, image), sizes=sizes)

    return make


def part(n: Node) -> None:
    """SLICE and STRIDED_SLICE: along one axis place after place, or any other selection as a copy."""
    x, out, begin = n.shape(0), n.out_shape(), n.data(1)
    cut = [i for i, (a, b) in enumerate(zip(x, out, strict=False)) if a != b]
    steps = n.data(3) if n.op_type == "STRIDED_SLICE" else [1]
    masks = any(n.option(m) for m in ("EllipsisMask", "NewAxisMask", "ShrinkAxisMask"))
    if len(x) != len(out) or len(cut) != 1 or not begin or set(steps or [0]) != {1} or masks:
        return copy(n)
    image, axis = n.is_image(0), cut[0]
    start = 0 if n.option("BeginMask") >> axis & 1 else int(begin[axis]) % x[axis]
    return _none(n.emit("slice", [n.tensor(0, image)], image=image, axis=_ours(axis, len(x), image),
                        start=start, stop=start + out[axis]))  # fmt: skip


def _none(_: object) -> None:
    """A maker returns nothing: what it made stands in the flow."""


def transpose(n: Node) -> None:
    """In the file's order of axes; where only axes of size 1 move, nothing does."""
    x, axes = n.shape(0), n.data(1)
    if axes is None:
        raise NotKnown("axes that are computed")
    moved = [int(a) for a in axes if 0 <= a < len(x) and x[int(a)] > 1]
    if moved == sorted(moved):
        n.emit("reshape", [n.tensor(0)], shape=n.out_shape())
    else:
        n.emit("transpose", [n.tensor(0)], axes=tuple(int(a) for a in axes))


def gather(n: Node) -> None:
    if n.option("BatchDims"):
        raise NotKnown("batches of indices")
    n.emit("gather", [n.tensor(0), n.tensor(1)], axis=n.option("Axis"))


def lookup(n: Node) -> None:
    """EMBEDDING_LOOKUP: indices first, then the table."""
    n.emit("gather", [n.tensor(1), n.tensor(0)], axis=0)


def resize(kind: str) -> Make:
    """Bilinear or nearest; a whole factor is an upsampling."""

    def make(n: Node) -> None:
        x, out = n.shape(0), n.out_shape()
        if len(x) != 4 or len(out) != 4:
            raise GraphError(f"input {x} and output {out} must have four axes")
        scales = {out[i] / x[i] for i in (1, 2)}
        image = [n.tensor(0, image=True)]
        if len(scales) == 1 and (scale := scales.pop()).is_integer():
            n.emit(f"upsample_{kind}", image, image=True, scale=int(scale))
        elif kind == "nearest":
            n.emit("copy", image, image=True, shape=_out(n, True))
        else:
            n.emit("resize", image, image=True, shape=_out(n, True))

    return make


# -- state between runs -----------------------------------------------------------------------------------------------


def read_variable(n: Node) -> None:
    """A state that earlier runs left: it comes from outside."""
    n.flow.add_input(n.outputs[0])


def assign_variable(n: Node) -> None:
    """A state that is kept for the next run: it is written."""
    n.flow.outputs.append(n.tensor(1, n.is_image(1)))


def nothing(n: Node) -> None:
    """Handles of variables, and what runs once before everything."""


#: TensorFlow Lite op type -> how our operators are made of it.
TABLE: Mapping[str, Make] = {
    "CONV_2D": conv, "DEPTHWISE_CONV_2D": depthwise, "TRANSPOSE_CONV": transpose_conv,
    "AVERAGE_POOL_2D": pool("avg_pool"), "MAX_POOL_2D": pool("max_pool"),
    "FULLY_CONNECTED": fully_connected, "BATCH_MATMUL": batch_matmul,
    **{op: same(kind) for op, kind in {
        "ADD": "add", "SUB": "sub", "MUL": "mul", "DIV": "div", "MAXIMUM": "maximum", "MINIMUM": "minimum",
        "POW": "pow", "FLOOR_MOD": "mod", "RELU": "relu", "RELU6": "relu6", "RELU_N1_TO_1": "clip",
        "RELU_0_TO_1": "clip", "LOGISTIC": "sigmoid", "TANH": "tanh", "ELU": "elu", "HARD_SWISH": "hard_swish",
        "GELU": "gelu", "LEAKY_RELU": "leaky_relu", "ABS": "abs", "NEG": "neg", "EXP": "exp", "LOG": "log",
        "SQRT": "sqrt", "RSQRT": "rsqrt", "SQUARE": "square", "SIN": "sin", "COS": "cos", "FLOOR": "round",
        "CEIL": "round", "ROUND": "round", "SIGN": "round", "CAST": "cast", "QUANTIZE": "quantize",
        "EQUAL": "compare", "NOT_EQUAL": "compare", "LESS": "compare", "LESS_EQUAL": "compare",
        "GREATER": "compare", "GREATER_EQUAL": "compare", "LOGICAL_AND": "logic", "LOGICAL_OR": "logic",
        "LOGICAL_NOT": "logic", "SELECT": "where", "SELECT_V2": "where",
    }.items()},
    "PRELU": prelu, "ADD_N": add_n, "SQUARED_DIFFERENCE": squared_difference, "DEQUANTIZE": dequantize,
    "SOFTMAX": along("softmax"), "LOG_SOFTMAX": along("softmax"), "L2_NORMALIZATION": along("l2_norm"),
    "MEAN": reduce("reduce_mean"), "SUM": reduce("reduce_sum"), "REDUCE_MAX": reduce("reduce_max"),
    "REDUCE_MIN": reduce("reduce_min"), "REDUCE_PROD": reduce("reduce_prod"), "ARG_MAX": reduce("arg_max"),
    "ARG_MIN": reduce("arg_max"),
    "RESHAPE": view, "SQUEEZE": view, "EXPAND_DIMS": view,
    "PAD": copy, "PADV2": copy, "MIRROR_PAD": copy, "TILE": copy, "BROADCAST_TO": copy, "SPACE_TO_DEPTH": copy,
    "DEPTH_TO_SPACE": copy, "SPACE_TO_BATCH_ND": copy, "BATCH_TO_SPACE_ND": copy, "REVERSE_V2": copy,
    "GATHER_ND": copy_all, "SCATTER_ND": copy_all, "DYNAMIC_UPDATE_SLICE": copy_all,
    "CONCATENATION": concat, "PACK": pack, "SPLIT": split(1), "SPLIT_V": split(0), "SLICE": part,
    "STRIDED_SLICE": part, "TRANSPOSE": transpose, "GATHER": gather, "EMBEDDING_LOOKUP": lookup,
    "RESIZE_BILINEAR": resize("bilinear"), "RESIZE_NEAREST_NEIGHBOR": resize("nearest"),
    "VAR_HANDLE": nothing, "CALL_ONCE": nothing, "READ_VARIABLE": read_variable, "ASSIGN_VARIABLE": assign_variable,
}  # fmt: skip
