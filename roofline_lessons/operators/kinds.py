"""Every kind of operator, its family and its rule, and how an operator is made by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import GraphError, unknown_name
from ..graph import Operator, Tensor
from . import costs, foreign, shapes
from .costs import Rule, of_input, of_taps, of_terms, per_element
from .shapes import Attributes

#: Families of kinds: one marker shape each in the pictures.
FAMILIES = ("convolution", "depthwise convolution", "matrix product", "elementwise", "reduction", "data movement")


@dataclass(frozen=True)
class OperatorKind:
    """A kind of operator: its family and the rule that gives output shapes and work."""

    family: str
    rule: Rule
    is_view: bool = False


#: Kinds that make one element from one element of each operand.
_ELEMENTWISE = (
    "relu relu6 leaky_relu elu sigmoid tanh silu gelu hard_sigmoid hard_swish exp sqrt erf neg clip "
    "add sub mul div maximum minimum abs log square reciprocal rsqrt round sin cos softplus softsign selu mish cast "
    "quantize dequantize pow mod compare logic where"
).split()

#: Rules by family. Views stand apart: they move nothing.
_RULES: Mapping[str, Mapping[str, Rule]] = {
    "convolution": {"conv2d": costs.conv2d, "conv_transpose2d": costs.conv_transpose2d},
    "matrix product": {
        "dense": costs.dense,
        "matmul": costs.matmul,
        **{kind: foreign.recurrent(kind) for kind in foreign.GATES},
    },
    "elementwise": {
        **{kind: per_element(kind, shapes.broadcast) for kind in _ELEMENTWISE},
        **{kind: per_element(kind, shapes.per_channel) for kind in ("prelu", "bias_add", "batch_norm")},
        "sum": per_element("sum", shapes.broadcast, of_terms),
    },
    "reduction": {
        **{
            kind: per_element(kind, shapes.per_channel)
            for kind in ("layer_norm", "rms_norm", "instance_norm", "l2_norm", "cumsum")
        },
        "softmax": costs.softmax,
        "lrn": foreign.lrn,
        **{kind: per_element(kind, shapes.pooled, of_taps) for kind in ("max_pool", "avg_pool")},
        **{
            kind: per_element(kind, shapes.reduced, of_input)
            for kind in "reduce_sum reduce_mean reduce_max reduce_min reduce_prod reduce_l2 arg_max".split()
        },
    },
    "data movement": {
        "concat": costs.copied(shapes.joined),
        "transpose": costs.copied(shapes.transposed),
        "expand": costs.copied(shapes.expanded),
        "slice": costs.sliced,
        "gather": costs.gathered,
        "copy": foreign.copy,
        "split": foreign.split,
        "rotary": per_element("rotary", shapes.rotary),  # not elementwise: a value's partner lies elsewhere
        "resize": per_element("resize", shapes.given),
        **{kind: per_element(kind, shapes.enlarged) for kind in ("upsample_nearest", "upsample_bilinear")},
        "unknown": foreign.unknown,  # its bytes are all that is known
    },
}

_VIEWS = {
    "reshape": shapes.reshaped,
    "flatten": shapes.flattened,
    "squeeze": shapes.squeezed,
    "layout": shapes.transposed,  # the same bytes with their axes named in another order: NHWC read as NCHW
    "identity": shapes.same,
    "dropout": shapes.same,
}

#: Every kind of operator.
OPERATORS: Mapping[str, OperatorKind] = {
    **{kind: OperatorKind(family, rule) for family, rules in _RULES.items() for kind, rule in rules.items()},
    **{kind: OperatorKind("data movement", costs.view(shape), is_view=True) for kind, shape in _VIEWS.items()},
}


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
        made, work = entry.rule(inputs, attributes)
        bits = inputs[0].bits if entry.family == "data movement" else None  # moved indices are indices
        tensors = tuple(Tensor(n, tuple(int(d) for d in s), bits=bits) for n, s in zip(outputs, made, strict=True))
    except GraphError as error:
        raise GraphError(f"{name} ({kind}): {error}") from None
    is_view = entry.is_view or bool(attributes.get("in_place"))
    return Operator(name, kind, tuple(inputs), tensors, work, attributes, is_view)


def is_elementwise(kind: str) -> bool:
    """One output element needs one element of each input: such a kind can follow anything without new traffic."""
    return OPERATORS[kind].family == "elementwise"


def family(op: Operator) -> str:
    """The family of an operator, one of `FAMILIES`. A convolution with one input channel per group is depthwise."""
    if op.kind in ("conv2d", "conv_transpose2d") and op.attributes["groups"] == op.inputs[0].shape[1] > 1:
        return "depthwise convolution"
    return OPERATORS[op.kind].family
