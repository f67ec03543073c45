"""What each kind of operator costs: the shape it makes, its MACs, its other FLOPs, the elements it touches.

A kind is one entry of `OPERATORS`: a family (for the picture) and a function from inputs and attributes to the
output shapes and the `Work`. A new kind is added by adding an entry. Conventions (1 MAC = 2 FLOP):

* MACs are those of convolutions and matrix products, padding taps counted, bias not.
* All other arithmetic is a count per element from `FLOP_PER_ELEMENT`, so it can be seen and argued about.
* Each distinct input is read once and each output written once, unless the kind says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import foreign
from .errors import GraphError, unknown_name
from .graph import Operator, Tensor, Work

#: FLOP per element of the work that is not multiply-accumulate, and why. exp, erf, sqrt and a division count 1 each:
#: on real hardware they cost more, but how much more depends on the machine. "Element" is an output element unless
#: the reason says otherwise.
FLOP_PER_ELEMENT: Mapping[str, tuple[int, str]] = {
    "relu": (1, "one comparison with 0"),
    "relu6": (2, "comparisons with 0 and with 6"),
    "leaky_relu": (2, "comparison, multiplication by the slope"),
    "prelu": (2, "comparison, multiplication by the learnt slope"),
    "elu": (3, "comparison, exp, subtraction of 1"),
    "sigmoid": (4, "negation, exp, addition, division: 1 / (1 + exp(-x))"),
    "tanh": (5, "multiplication, exp, addition, division, subtraction: 1 - 2 / (exp(2x) + 1)"),
    "silu": (5, "sigmoid and a multiplication"),
    "gelu": (5, "scaling, erf, addition, two multiplications: x/2 * (1 + erf(x / sqrt 2))"),
    "hard_sigmoid": (4, "addition, two comparisons, multiplication: relu6(x + 3) / 6"),
    "hard_swish": (5, "hard sigmoid and a multiplication"),
    "exp": (1, "one exponential"),
    "sqrt": (1, "one square root"),
    "erf": (1, "one error function"),
    "neg": (1, "one negation"),
    "abs": (1, "one change of sign"),
    "log": (1, "one logarithm"),
    "square": (1, "one multiplication"),
    "reciprocal": (1, "one division"),
    "rsqrt": (2, "one square root and one division"),
    "round": (1, "one rounding, whichever way"),
    "sin": (1, "one sine"),
    "cos": (1, "one cosine"),
    "softplus": (3, "exp, addition of 1, logarithm"),
    "softsign": (3, "absolute value, addition of 1, division"),
    "selu": (4, "elu and a multiplication"),
    "mish": (9, "softplus, tanh and a multiplication"),
    "cast": (1, "one conversion"),
    "quantize": (5, "scaling, rounding, addition of the zero point, two comparisons"),
    "dequantize": (2, "subtraction of the zero point, scaling"),
    "clip": (2, "two comparisons"),
    "add": (1, "one addition"),
    "sub": (1, "one subtraction"),
    "mul": (1, "one multiplication"),
    "div": (1, "one division"),
    "maximum": (1, "one comparison"),
    "minimum": (1, "one comparison"),
    "pow": (1, "one power"),
    "mod": (1, "one remainder"),
    "compare": (1, "one comparison"),
    "logic": (1, "one and, or, not"),
    "where": (1, "one choice"),
    "sum": (1, "one addition per term after the first"),
    "bias_add": (1, "one addition"),
    "batch_norm": (2, "one multiplication and one addition: at inference the four vectors make a scale and a shift"),
    "softmax": (5, "maximum, subtraction, exp, sum, division; each touches every element once"),
    "layer_norm": (7, "sum, subtraction of the mean, square, sum, scaling by 1/std, times gamma, plus beta"),
    "instance_norm": (7, "as layer norm, over each channel's image"),
    "l2_norm": (3, "square, sum, scaling by 1/length"),
    "lrn": (5, "square, scaling, offset, power, division; and one addition per neighbour beyond the first"),
    "lstm": (34, "per step and unit: 8 additions for 4 gates, 3 sigmoids, 2 tanh, 3 multiplications, 1 addition"),
    "gru": (24, "per step and unit: 6 additions for 3 gates, 2 sigmoids, 1 tanh, 5 to mix the states"),
    "rnn": (7, "per step and unit: 2 additions, 1 tanh"),
    "rms_norm": (4, "square, sum, scaling by 1/rms, times gamma"),
    "rotary": (3, "two multiplications and an addition: each value and its partner turn by an angle"),
    "max_pool": (1, "one comparison per tap of the window"),
    "avg_pool": (1, "one addition per tap of the window"),
    "reduce_sum": (1, "one addition per input element"),
    "reduce_mean": (1, "one addition per input element"),
    "reduce_max": (1, "one comparison per input element"),
    "reduce_min": (1, "one comparison per input element"),
    "reduce_prod": (1, "one multiplication per input element"),
    "reduce_l2": (2, "one square and one addition per input element"),
    "arg_max": (1, "one comparison per input element"),
    "cumsum": (1, "one addition"),
    "resize": (7, "bilinear: four multiplications and three additions"),
    "upsample_nearest": (0, "a copy"),
    "upsample_bilinear": (7, "four multiplications and three additions"),
}

#: Families of kinds: one marker shape each in the pictures.
FAMILIES = ("convolution", "depthwise convolution", "matrix product", "elementwise", "reduction", "data movement")

Attributes = Mapping[str, Any]
Cost = tuple[list[tuple[int, ...]], Work]


@dataclass(frozen=True)
class OperatorKind:
    """A kind of operator: its family and the rule that gives output shapes and work."""

    family: str
    rule: Callable[[Sequence[Tensor], Attributes], Cost]
    is_view: bool = False


def make_operator(
    name: str, kind: str, inputs: Sequence[Tensor], attributes: Attributes, outputs: Sequence[str]
) -> Operator:
    """An operator with its output tensors and its work.

    Raises
    ------
    UnknownNameError
        A kind that is not in `OPERATORS`.
    GraphError
        Shapes that do not fit; the message names the operator.
    """
    if kind not in OPERATORS:
        raise unknown_name("operator kind", kind, OPERATORS)
    entry = OPERATORS[kind]
    try:
        shapes, work = entry.rule(inputs, attributes)
        bits = inputs[0].bits if entry.family == "data movement" else None  # moved indices are indices
        made = tuple(Tensor(n, tuple(int(d) for d in s), bits=bits) for n, s in zip(outputs, shapes, strict=True))
    except GraphError as error:
        raise GraphError(f"{name} ({kind}): {error}") from None
    is_view = entry.is_view or bool(attributes.get("in_place"))
    return Operator(name, kind, tuple(inputs), made, work, attributes, is_view)


def is_elementwise(kind: str) -> bool:
    """One output element needs one element of each input: such a kind can follow anything without new traffic."""
    return OPERATORS[kind].family == "elementwise"


def family(op: Operator) -> str:
    """The family of an operator, one of `FAMILIES`. A convolution with one input channel per group is depthwise."""
    if op.kind in ("conv2d", "conv_transpose2d") and op.attributes["groups"] == op.inputs[0].shape[1] > 1:
        return "depthwise convolution"
    return OPERATORS[op.kind].family


def _work(inputs: Sequence[Tensor], outputs: list[tuple[int, ...]], macs: int = 0, other: int = 0) -> Cost:
    """The usual case: every input read once, every output written once."""
    read = tuple(t.elements for t in inputs)
    return outputs, Work(macs, other, read, tuple(math.prod(s) for s in outputs))


def _conv_shape(size: int, kernel: int, stride: int, before: int, after: int, dilation: int) -> int:
    """Output size of a convolution or pooling along one axis (Dumoulin & Visin, arXiv 1603.07285, relationship 15)."""
    reach = dilation * (kernel - 1) + 1
    padded = size + before + after
    if padded < reach:
        raise GraphError(f"the window spans {reach} but the padded input only {padded}")
    return (padded - reach) // stride + 1


def _window(x: Tensor, a: Attributes) -> tuple[int, int]:
    """Output height and width of a windowed operator on an input (N, C, H, W)."""
    (top, bottom, left, right), (h, w) = a["padding"], x.shape[2:]
    (kh, kw), (sh, sw), (dh, dw) = a["kernel"], a["stride"], a["dilation"]
    return _conv_shape(h, kh, sh, top, bottom, dh), _conv_shape(w, kw, sw, left, right, dw)


def _image(x: Tensor) -> None:
    if len(x.shape) != 4:
        raise GraphError(f"{x.name} must have the shape (batch, channels, height, width), not {x.shape}")


def _conv2d(inputs: Sequence[Tensor], a: Attributes) -> Cost:
    """Weight (C_out, C_in / groups, kh, kw). MACs: one per weight tap and output position."""
    x, w = inputs[0], inputs[1]
    _image(x)
    if x.shape[1] != w.shape[1] * a["groups"] or w.shape[0] % a["groups"]:
        raise GraphError(
            f"weight {w.name} {w.shape} with {a['groups']} groups takes {w.shape[1] * a['groups']} input channels, "
            f"but {x.name} has {x.shape[1]}"
        )
    out = (x.shape[0], w.shape[0], *_window(x, a))
    macs = math.prod(out) * math.prod(w.shape[1:])
    return _work(inputs, [out], macs, _bias(inputs, 2, out))


def _conv_transpose2d(inputs: Sequence[Tensor], a: Attributes) -> Cost:
    """Weight (C_in, C_out / groups, kh, kw). MACs: one per weight tap and *input* position (cropped taps counted)."""
    x, w = inputs[0], inputs[1]
    _image(x)
    if x.shape[1] != w.shape[0] or w.shape[0] % a["groups"]:
        raise GraphError(f"weight {w.name} {w.shape} takes {w.shape[0]} input channels, but {x.name} has {x.shape[1]}")
    (top, bottom, left, right), (h, wid) = a["padding"], x.shape[2:]
    (kh, kw), (sh, sw), (dh, dw), (eh, ew) = a["kernel"], a["stride"], a["dilation"], a["output_padding"]
    if eh >= max(sh, dh) or ew >= max(sw, dw):
        raise GraphError(f"output_padding {a['output_padding']} must be smaller than the stride or the dilation")
    height = (h - 1) * sh - top - bottom + dh * (kh - 1) + eh + 1
    width = (wid - 1) * sw - left - right + dw * (kw - 1) + ew + 1
    if height < 1 or width < 1:
        raise GraphError(f"padding {a['padding']} crops the whole output ({height} x {width})")
    out = (x.shape[0], w.shape[1] * a["groups"], height, width)
    macs = x.elements * math.prod(w.shape[1:])
    return _work(inputs, [out], macs, _bias(inputs, 2, out))


def _dense(inputs: Sequence[Tensor], a: Attributes) -> Cost:
    """x (..., K) times weight (M, K), as torch.nn.Linear; with `a["transposed"]` the weight lies as (K, M)."""
    x, w = inputs[0], inputs[1]
    rows, inner = w.shape[::-1] if a.get("transposed") and len(w.shape) == 2 else (w.shape[0], w.shape[-1])
    if len(x.shape) < 2 or len(w.shape) != 2 or x.shape[-1] != inner:
        raise GraphError(f"weight {w.name} {w.shape} needs inputs (..., {inner}), but {x.name} is {x.shape}")
    out = (*x.shape[:-1], rows)
    return _work(inputs, [out], math.prod(out) * x.shape[-1], _bias(inputs, 2, out))


def _matmul(inputs: Sequence[Tensor], a: Attributes) -> Cost:
    """Batched product of (..., M, K) and (..., K, N); leading dimensions broadcast.

    Grouped-query attention: `a["share"]` query heads use one key/value head, so the second operand's head axis is that
    much shorter; its bytes count once, its MACs for every query head.

    Causal attention: `a["triangle"]` is "output" for the scores (what lies above the diagonal is neither computed nor
    written) and "input" for their product with the values (what lies above the diagonal of x is zero and skipped).
    """
    x, y = inputs
    if len(x.shape) < 2 or len(y.shape) < 2:
        raise GraphError(f"both operands need at least two dimensions, not {x.shape} and {y.shape}")
    rows, inner = x.shape[-2:]
    right = y.shape[-2:][::-1] if a["transpose_b"] else y.shape[-2:]
    if inner != right[0]:
        raise GraphError(f"inner sizes differ: {x.name} {x.shape} has {inner}, {y.name} {y.shape} has {right[0]}")
    lead = list(y.shape[:-2])
    if a["share"] > 1:
        if not lead:
            raise GraphError(f"share={a['share']} needs a head axis in {y.name} {y.shape}")
        lead[-1] *= a["share"]
        if x.shape[:-2][-1:] != (lead[-1],):
            raise GraphError(
                f"share={a['share']} of {y.name} {y.shape} needs {lead[-1]} query heads, {x.name} is {x.shape}"
            )
    out = (*_broadcast([x.shape[:-2], tuple(lead)]), rows, right[1])
    macs, part = math.prod(out) * inner, a.get("triangle")
    if part is None:
        return _work(inputs, [out], macs)
    if part == "output":
        read, written, columns = x.elements, _visible(math.prod(out), rows, right[1]), right[1]
    else:
        read, written, columns = _visible(x.elements, rows, inner), math.prod(out), inner
    return [out], Work(_visible(macs, rows, columns), 0, (read, y.elements), (written,))


def _visible(amount: int, rows: int, columns: int) -> int:
    """What is left of an amount spread evenly over a matrix when a causal mask hides part of it.

    The last row sees every column, the row before one less, and so on.
    """
    if columns < rows:
        raise GraphError(f"a causal mask needs at least as many keys as queries, not {columns} for {rows}")
    pairs = rows * (columns - rows) + rows * (rows + 1) // 2
    return amount * pairs // (rows * columns)


def _bias(inputs: Sequence[Tensor], position: int, out: tuple[int, ...]) -> int:
    """FLOPs of the bias, where there is one: an addition per output element, not a MAC."""
    if len(inputs) <= position:
        return 0
    return FLOP_PER_ELEMENT["bias_add"][0] * math.prod(out)


def _broadcast(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    try:
        return tuple(int(d) for d in np.broadcast_shapes(*shapes))
    except ValueError:
        raise GraphError(f"the shapes {' and '.join(map(str, shapes))} do not broadcast") from None


def _elementwise(kind: str) -> OperatorKind:
    """One FLOP_PER_ELEMENT count per output element; operands broadcast, each read once at its own size."""

    def rule(inputs: Sequence[Tensor], a: Attributes) -> Cost:
        out = _broadcast([t.shape for t in inputs])
        return _work(inputs, [out], other=FLOP_PER_ELEMENT[kind][0] * math.prod(out))

    return OperatorKind("elementwise", rule)


def _per_channel(kind: str, fam: str) -> OperatorKind:
    """x and vectors along one axis (bias, batch norm, layer norm)."""

    def rule(inputs: Sequence[Tensor], a: Attributes) -> Cost:
        x = inputs[0]
        axis = _axis(x, a["axis"])
        for vector in inputs[1:]:
            if vector.shape != (x.shape[axis],):
                raise GraphError(f"{vector.name} {vector.shape} must be ({x.shape[axis]},), one value per channel")
        return _work(inputs, [x.shape], other=FLOP_PER_ELEMENT[kind][0] * x.elements)

    return OperatorKind(fam, rule)


def _softmax(inputs: Sequence[Tensor], a: Attributes) -> Cost:
    """Along one axis; of a causal matrix of scores (`a["triangle"]`) only what the mask leaves."""
    x = inputs[0]
    if a.get("triangle") and (len(x.shape) < 2 or _axis(x, a["axis"]) != len(x.shape) - 1):
        raise GraphError(f"causal scores are a matrix, normalised along the last axis; {x.name} is {x.shape}")
    _axis(x, a["axis"])
    used = _visible(x.elements, *x.shape[-2:]) if a.get("triangle") else x.elements
    return [x.shape], Work(0, FLOP_PER_ELEMENT["softmax"][0] * used, (used,), (used,))


def _rotary(inputs: Sequence[Tensor], a: Attributes) -> Cost:
    """x (..., positions, width) turned by angles (positions, width): a cosine and a sine for each pair of values."""
    x, angles = inputs
    if len(x.shape) < 2 or x.shape[-2:] != angles.shape or x.shape[-1] % 2:
        raise GraphError(f"{x.name} {x.shape} needs an even width and angles of {x.shape[-2:]}, not {angles.shape}")
    return _work(inputs, [x.shape], other=FLOP_PER_ELEMENT["rotary"][0] * x.elements)


def _pool(kind: str) -> OperatorKind:
    def rule(inputs: Sequence[Tensor], a: Attributes) -> Cost:
        x = inputs[0]
        _image(x)
        out = (*x.shape[:2], *_window(x, a))
        return _work(inputs, [out], other=FLOP_PER_ELEMENT[kind][0] * math.prod(out) * math.prod(a["kernel"]))

    return OperatorKind("reduction", rule)


def _reduce(kind: str) -> OperatorKind:
    def rule(inputs: Sequence[Tensor], a: Attributes) -> Cost:
        x = inputs[0]
        axes = {_axis(x, axis) for axis in a["axes"]}
        kept = [(1 if i in axes else d) for i, d in enumerate(x.shape) if i not in axes or a["keepdims"]]
        return _work(inputs, [tuple(kept)], other=FLOP_PER_ELEMENT[kind][0] * x.elements)

    return OperatorKind("reduction", rule)


def _axis(x: Tensor, axis: int) -> int:
    if not -len(x.shape) <= axis < len(x.shape):
        raise GraphError(f"{x.name} {x.shape} has no axis {axis}")
    return axis % len(x.shape)


def _concat(inputs: Sequence[Tensor], a: Attributes) -> Cost:
    """A read and a write; or a view of its parts, when their producers write straight into the result (`in_place`)."""
    if not inputs:
        raise GraphError("there must be at least one tensor to join")
    axis = _axis(inputs[0], a["axis"])
    rest = {t.shape[:axis] + t.shape[axis + 1 :] for t in inputs}
    if len(rest) > 1:
        raise GraphError(f"shapes may differ only along axis {axis}: {', '.join(str(t.shape) for t in inputs)}")
    shape = inputs[0].shape
    out = (*shape[:axis], sum(t.shape[axis] for t in inputs), *shape[axis + 1 :])
    if a["in_place"]:
        return [out], Work(0, 0, tuple(0 for _ in inputs), (0,))
    return _work(inputs, [out])


def _view(shape_of: Callable[[Tensor, Attributes], tuple[int, ...]]) -> OperatorKind:
    """Other words for the same bytes: no FLOP, no byte, no kernel."""

    def rule(inputs: Sequence[Tensor], a: Attributes) -> Cost:
        x = inputs[0]
        out = shape_of(x, a)
        if math.prod(out) != x.elements:
            raise GraphError(f"{x.name} {x.shape} holds {x.elements} elements, {out} would hold {math.prod(out)}")
        return [out], Work(0, 0, (0,), (0,))

    return OperatorKind("data movement", rule, is_view=True)


def _reshaped(x: Tensor, a: Attributes) -> tuple[int, ...]:
    """The asked-for shape, with one -1 filled in."""
    shape = tuple(a["shape"])
    if shape.count(-1) == 1:
        rest = math.prod(d for d in shape if d != -1)
        if rest < 1 or x.elements % rest:
            raise GraphError(f"{x.elements} elements of {x.name} do not fill {shape}")
        shape = tuple(x.elements // rest if d == -1 else d for d in shape)
    return shape


def _flattened(x: Tensor, a: Attributes) -> tuple[int, ...]:
    axis = _axis(x, a["axis"])
    return (*x.shape[:axis], math.prod(x.shape[axis:]))


def _squeezed(x: Tensor, a: Attributes) -> tuple[int, ...]:
    axes = {_axis(x, axis) for axis in a["axes"]}
    if any(x.shape[axis] != 1 for axis in axes):
        raise GraphError(f"only axes of size 1 can be squeezed, and {x.name} is {x.shape}")
    return tuple(d for i, d in enumerate(x.shape) if i not in axes)


def _transpose(inputs: Sequence[Tensor], a: Attributes) -> Cost:
    """A materialised transpose: a read and a write. Or a view, when its reader follows the strides (`in_place`)."""
    x = inputs[0]
    if sorted(a["axes"]) != list(range(len(x.shape))):
        raise GraphError(f"axes {a['axes']} must name each of the {len(x.shape)} axes of {x.name} once")
    out = tuple(x.shape[i] for i in a["axes"])
    return ([out], Work(0, 0, (0,), (0,))) if a.get("in_place") else _work(inputs, [out])


def _slice(inputs: Sequence[Tensor], a: Attributes) -> Cost:
    """A copy of the places start ... stop - 1 along an axis: only they are read."""
    x = inputs[0]
    axis = _axis(x, a["axis"])
    if not 0 <= a["start"] < a["stop"] <= x.shape[axis]:
        raise GraphError(f"{a['start']} to {a['stop']} is no part of the {x.shape[axis]} places of {x.name}")
    out = (*x.shape[:axis], a["stop"] - a["start"], *x.shape[axis + 1 :])
    return [out], Work(0, 0, (math.prod(out),), (math.prod(out),))


def _expand(inputs: Sequence[Tensor], a: Attributes) -> Cost:
    """A copy that repeats x until it fills a shape."""
    x, shape = inputs[0], tuple(a["shape"])
    if _broadcast([x.shape, shape]) != shape:
        raise GraphError(f"{x.name} {x.shape} does not repeat to {shape}")
    return _work(inputs, [shape])


def _gather(inputs: Sequence[Tensor], a: Attributes) -> Cost:
    """Rows of a table (rows, width) by index. Only the touched rows are read, at most the whole table.

    With `a["axis"]` not rows but places along another axis.
    """
    table, index = inputs
    axis = _axis(table, a.get("axis", 0))
    out = (*table.shape[:axis], *index.shape, *table.shape[axis + 1 :])
    return [out], Work(0, 0, (min(math.prod(out), table.elements), index.elements), (math.prod(out),))


def _upsample(kind: str) -> OperatorKind:
    def rule(inputs: Sequence[Tensor], a: Attributes) -> Cost:
        x = inputs[0]
        _image(x)
        out = (*x.shape[:2], x.shape[2] * a["scale"], x.shape[3] * a["scale"])
        return _work(inputs, [out], other=FLOP_PER_ELEMENT[kind][0] * math.prod(out))

    return OperatorKind("data movement", rule)


_UNARY = "relu relu6 leaky_relu elu sigmoid tanh silu gelu hard_sigmoid hard_swish exp sqrt erf neg clip".split()
_BINARY = "add sub mul div maximum minimum".split()
_FOREIGN = (  # elementwise kinds without a method of the builder
    "abs log square reciprocal rsqrt round sin cos softplus softsign selu mish cast quantize dequantize "
    "pow mod compare logic where"
).split()


def _foreign(rule: Callable[..., Cost], kind: str, fam: str) -> OperatorKind:
    """A kind of `foreign.py` with its row of FLOP_PER_ELEMENT."""
    return OperatorKind(fam, lambda inputs, a: rule(FLOP_PER_ELEMENT[kind][0], inputs, a))


def _recurrent(kind: str) -> OperatorKind:
    return OperatorKind(
        "matrix product", lambda inputs, a: foreign.recurrent(kind, FLOP_PER_ELEMENT[kind][0], inputs, a)
    )


#: Every kind of operator.
OPERATORS: Mapping[str, OperatorKind] = {
    "conv2d": OperatorKind("convolution", _conv2d),
    "conv_transpose2d": OperatorKind("convolution", _conv_transpose2d),
    "dense": OperatorKind("matrix product", _dense),
    "matmul": OperatorKind("matrix product", _matmul),
    **{kind: _elementwise(kind) for kind in (*_UNARY, *_BINARY, *_FOREIGN)},
    "sum": _foreign(lambda n, i, a: foreign.total(n, i, _broadcast([t.shape for t in i])), "sum", "elementwise"),
    "prelu": _per_channel("prelu", "elementwise"),
    "bias_add": _per_channel("bias_add", "elementwise"),
    "batch_norm": _per_channel("batch_norm", "elementwise"),
    "layer_norm": _per_channel("layer_norm", "reduction"),
    "rms_norm": _per_channel("rms_norm", "reduction"),
    "softmax": OperatorKind("reduction", _softmax),
    "max_pool": _pool("max_pool"),
    "avg_pool": _pool("avg_pool"),
    "reduce_sum": _reduce("reduce_sum"),
    "reduce_mean": _reduce("reduce_mean"),
    "reduce_max": _reduce("reduce_max"),
    "reduce_min": _reduce("reduce_min"),
    "reduce_prod": _reduce("reduce_prod"),
    "reduce_l2": _reduce("reduce_l2"),
    "arg_max": _reduce("arg_max"),
    "cumsum": _per_channel("cumsum", "reduction"),
    "l2_norm": _per_channel("l2_norm", "reduction"),
    "instance_norm": _per_channel("instance_norm", "reduction"),
    "lrn": _foreign(foreign.lrn, "lrn", "reduction"),
    "lstm": _recurrent("lstm"),
    "gru": _recurrent("gru"),
    "rnn": _recurrent("rnn"),
    "concat": OperatorKind("data movement", _concat),
    "transpose": OperatorKind("data movement", _transpose),
    "slice": OperatorKind("data movement", _slice),
    "expand": OperatorKind("data movement", _expand),
    # not elementwise: a value needs its partner, which lies elsewhere
    "rotary": OperatorKind("data movement", _rotary),
    "copy": OperatorKind("data movement", foreign.copy),
    "split": OperatorKind("data movement", foreign.split),
    "resize": _foreign(foreign.resize, "resize", "data movement"),
    "unknown": OperatorKind("data movement", foreign.unknown),  # its bytes are all that is known
    "gather": OperatorKind("data movement", _gather),
    "upsample_nearest": _upsample("upsample_nearest"),
    "upsample_bilinear": _upsample("upsample_bilinear"),
    "reshape": _view(_reshaped),
    "flatten": _view(_flattened),
    "squeeze": _view(_squeezed),
    "layout": _view(foreign.layout),
    "identity": _view(lambda x, a: x.shape),
    "dropout": _view(lambda x, a: x.shape),
}
