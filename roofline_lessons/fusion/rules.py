"""Rule sets: which operators a compiler or an engine puts into one kernel, as data.

A rule set says what may follow what. A kernel grows along the graph: an operator joins the kernel that makes its
input when the rule set lets its kind follow, and when it is legal (`legality.py`). That is the greedy pass of a
compiler (`fuse.py`), which need not find the best plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from ..errors import unknown_name
from ..graph import Graph, Operator
from ..operators import OPERATORS, is_elementwise
from .dominators import BROADCAST, COMM_REDUCE, ELEMWISE, INJECTIVE, OUT_EWISE_FUSABLE
from .legality import is_heavy, makers, why_not_folded, working_producers, working_readers
from .subgraphs import (
    GELU_ERF,
    GELU_ERF_DIVIDED,
    GELU_TANH,
    LAYER_NORM_DIVIDED,
    LAYER_NORM_SCALED,
    RMS_NORM,
    SILU,
    Subgraph,
)

_ELEMENTWISE = frozenset(kind for kind in OPERATORS if is_elementwise(kind))
_ANCHORS = frozenset({"conv2d", "conv_transpose2d", "dense", "matmul"})
_WINDOWS = frozenset({"conv2d", "conv_transpose2d", "max_pool", "avg_pool"})
_CLAMPS = frozenset({"relu", "relu6"})
_BETWEEN_PRODUCTS = _ELEMENTWISE | {"softmax"}  # scale, mask, softmax
_BIASES = frozenset({"bias_add", "batch_norm"})

_BROADCASTS = ("add sub mul div maximum minimum pow mod compare logic where bias_add batch_norm prelu").split()
_MOVES = ("concat", "transpose", "slice", "expand", "split", "gather", "upsample_nearest", "upsample_bilinear")

#: Pattern kinds as TVM registers them (apache/tvm, python/tvm/relay/op/nn/_nn.py, op/_transform.py and op/_reduce.py).
#: A batch norm is a multiplication and an addition by then. Softmax and layer norm are opaque: not in the table.
_TVM_PATTERNS = (
    dict.fromkeys(_ELEMENTWISE, ELEMWISE)
    | dict.fromkeys((kind for kind in _BROADCASTS if kind in OPERATORS), BROADCAST)
    | dict.fromkeys(_MOVES, INJECTIVE)
    | dict.fromkeys((kind for kind in OPERATORS if kind.startswith("reduce_")), COMM_REDUCE)
    | dict.fromkeys(_ANCHORS | _WINDOWS, OUT_EWISE_FUSABLE)
)

#: What goes into the weights of a convolution when its other operand is a constant.
_WITH_CONSTANTS = frozenset({"add", "sub", "mul", "div"})

#: Read off ONNX Runtime itself: tests/engines asks it about each of these pairs.
_ONNXRUNTIME: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "conv2d": _BIASES | {"mul", "add"} | {"relu", "relu6", "clip", "leaky_relu", "sigmoid", "tanh", "hard_sigmoid"},
        "conv_transpose2d": frozenset({"batch_norm"}),
        "dense": frozenset({"bias_add", "add", "relu", "leaky_relu", "sigmoid", "tanh", "hard_sigmoid", "elu"}),
        "matmul": frozenset({"mul", "div"}),
        "relu": frozenset({"relu6", "clip"}),
        "add": frozenset({"layer_norm", "gelu"}),
        "bias_add": frozenset({"gelu"}),
    }
)
_ONNXRUNTIME_SUBGRAPHS = (*GELU_ERF_DIVIDED, *LAYER_NORM_DIVIDED, *RMS_NORM, *SILU)


@dataclass(frozen=True)
class RuleSet:
    """What may share a kernel.

    name : what to call it.
    whose : one line: who does it so, and where that was read.
    follows : kind of the operator before -> kinds that may join behind it. What `keeps` keep the kind before them:
        behind a convolution and its batch norm may follow what may follow the convolution.
    keeps : kinds that do not count as the operator before.
    folds : batch norms move into the convolution's weight.
    anchors : how many windowed operators and products one kernel may hold.
    constants_only : an operator with two operands joins only when the other one is a constant.
    takes_in : kinds for which it need not be.
    subgraphs : spelt-out operators that become one kernel before anything else.
    patterns : kind -> pattern kind of TVM, which decides by post-dominators instead of by `follows`.
    most : the most operators of one kernel.
    """

    name: str
    whose: str
    follows: Mapping[str, frozenset[str]] = field(default_factory=dict)
    keeps: frozenset[str] = frozenset()
    folds: bool = False
    anchors: int = 1
    constants_only: bool = True
    takes_in: frozenset[str] = frozenset()
    subgraphs: tuple[Subgraph, ...] = ()
    patterns: Mapping[str, int] | None = None
    most: int = 1_000_000


def _all(before: frozenset[str], after: frozenset[str]) -> Mapping[str, frozenset[str]]:
    return MappingProxyType(dict.fromkeys(before, after))


_SETS = (
    RuleSet("none", "nobody's: one kernel per operator, as an interpreter without a compiler runs"),
    RuleSet(
        "elementwise",
        "loop fusion, as NumExpr and XLA do for chains of elementwise operators",
        _all(_ELEMENTWISE, _ELEMENTWISE),
        constants_only=False,
    ),
    RuleSet(
        "epilogue",
        "an anchor and what follows it element by element with constants: "
        "what TFLite, Core ML and ONNX Runtime do first",
        _all(_ANCHORS | _ELEMENTWISE, _ELEMENTWISE),
        folds=True,
    ),
    RuleSet(
        "tvm",
        "TVM (Chen 2018, section 3; fuse_ops.cc): into the post-dominator when every operator on every path fuses",
        folds=True,  # FoldScaleAxis, which TVM runs before
        patterns=MappingProxyType(_TVM_PATTERNS),
        most=256,
    ),
    RuleSet(
        "tflite",
        "TensorFlow Lite's converter (optimize_patterns.td): an activation into convolution, pooling, fully connected, "
        "addition or multiplication; constants folded",
        MappingProxyType(
            dict.fromkeys(("conv2d", "conv_transpose2d", "dense"), _CLAMPS | _BIASES | _WITH_CONSTANTS)
            | dict.fromkeys(("max_pool", "avg_pool", "add", "sub", "mul", "div"), _CLAMPS)
        ),
        keeps=_BIASES | _WITH_CONSTANTS,
        folds=True,
    ),
    RuleSet(
        "coreml",
        "coremltools 9, default passes: batch norm, scale and bias into the convolution, bias into the linear; "
        "an activation stays an operator of its own",
        MappingProxyType(
            dict.fromkeys(("conv2d", "conv_transpose2d"), _BIASES | _WITH_CONSTANTS)
            | {"dense": frozenset({"bias_add", "add", "sub"}), "relu": frozenset({"relu"})}
        ),
        keeps=_BIASES | _WITH_CONSTANTS,
        folds=True,
        subgraphs=(*GELU_ERF, *GELU_TANH, *LAYER_NORM_SCALED),
    ),
    RuleSet(
        "onnxruntime",
        "ONNX Runtime 1.32, basic and extended: batch norm and bias into the convolution, then one activation; "
        "an addition before a layer norm; no general elementwise fusion",
        _ONNXRUNTIME,
        keeps=_BIASES | {"mul", "add"},
        folds=True,
        subgraphs=_ONNXRUNTIME_SUBGRAPHS,
    ),
    RuleSet(
        "onnxruntime-all",
        "ONNX Runtime 1.32 at its default level: the addition of a residual block goes into the convolution, too, and "
        "the activation behind it",
        _ONNXRUNTIME,
        keeps=_BIASES | {"mul", "add"},
        folds=True,
        takes_in=frozenset({"add"}),
        subgraphs=_ONNXRUNTIME_SUBGRAPHS,
    ),
    RuleSet(
        "attention",
        "FlashAttention (Dao 2022): both products and the softmax between in one kernel; scores never leave the chip",
        MappingProxyType(
            {"matmul": _BETWEEN_PRODUCTS, "softmax": _BETWEEN_PRODUCTS | {"matmul"}}
            | dict.fromkeys(_ELEMENTWISE, _BETWEEN_PRODUCTS | {"matmul"})
        ),
        anchors=2,
        constants_only=False,
    ),
    RuleSet(
        "depth-first",
        "fused-layer accelerators (Alwani 2016, DeFiNES 2023): convolutions and all between them, tile by tile",
        _all(_WINDOWS | _ELEMENTWISE, _WINDOWS | _ELEMENTWISE),
        folds=True,
        anchors=1_000_000,
        constants_only=False,
    ),
)

#: Every rule set by its name.
RULE_SETS: Mapping[str, RuleSet] = MappingProxyType({rules.name: rules for rules in _SETS})


def rule_set(name: str | RuleSet) -> RuleSet:
    """The rule set with this name.

    Raises
    ------
    UnknownNameError
        No such rule set; the message lists them.
    """
    if isinstance(name, RuleSet):
        return name
    if name not in RULE_SETS:
        raise unknown_name("rule set", name, RULE_SETS)
    return RULE_SETS[name]


def objection(rules: RuleSet, graph: Graph, kernel: Sequence[Operator], op: Operator) -> str | None:
    """Why a rule set would not let an operator join the kernel that makes its input: None, or a sentence."""
    before = next((o for o in reversed(kernel) if o.kind not in rules.keeps), kernel[0])
    if reason := pair_objection(rules, graph, before, kernel[-1], op):
        return reason
    heavy = [o for o in (*kernel, op) if is_heavy(o)]
    if len(heavy) > rules.anchors:
        return f"not fused: {heavy[0].name} and {op.name} both need a kernel of their own under “{rules.name}”."
    return None


def pair_objection(rules: RuleSet, graph: Graph, before: Operator, maker: Operator, op: Operator) -> str | None:
    """The part of an objection that only depends on the end of a kernel.

    before : the last operator whose kind counts (`RuleSet.keeps`).
    maker : the last operator.
    """
    if op.kind not in rules.follows.get(before.kind, frozenset()):
        return f"not fused: the rule set “{rules.name}” does not put {op.kind} ({op.name}) behind {before.kind}."
    if maker not in working_producers(graph, op):
        return f"not fused: {op.name} does not read {maker.output.name}, the end of the kernel."
    others = [reader.name for reader in working_readers(graph, maker) if reader is not op]
    if others:
        return f"not fused: {maker.output.name} is also read by {others[0]}."
    if any(t.name == maker.output.name for t in graph.outputs):
        return f"not fused: {maker.output.name} is an output of the graph."
    strangers = [t.name for t in op.activations if maker not in makers(graph, t)]
    if rules.constants_only and strangers and op.kind not in rules.takes_in:
        return f"not fused: {op.name} also reads {strangers[0]}, which is not a constant."
    if op.kind == "batch_norm" and rules.folds and rules.keeps:
        return why_not_folded(graph, op, [maker])
    return None
