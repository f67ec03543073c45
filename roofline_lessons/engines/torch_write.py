"""A graph as plain PyTorch: a module of `torch.fx`, whose nodes are called as our operators are.

PyTorch is optional and slow to import, so nothing here imports it before it is used.
"""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..graph import Graph, Operator
from .catalogue import why_missing
from .errors import EngineError, MissingEngineError
from .weights_and_inputs import Arrays, weights_of

_EPSILON = 1e-5  # as in arithmetic.py


def torch_here() -> Any:
    """The package `torch`, imported now.

    Raises
    ------
    MissingEngineError
        It is not installed.
    """
    if reason := why_missing("torch"):
        raise MissingEngineError(reason)
    return importlib.import_module("torch")


@dataclass(frozen=True)
class Network:
    """A graph as a PyTorch module.

    module : takes the graph's inputs in their order, returns a tuple of its outputs.
    operators : name of a node of the module -> the operator of ours it was written for.
    """

    graph: Graph
    module: Any
    operators: Mapping[str, str]


def network(graph: Graph, weights: Arrays | None = None) -> Network:
    """Write a graph as a PyTorch module.

    Parameters
    ----------
    graph : Graph
    weights : dict of str to array, optional
        Of each weight and buffer by name; random numbers when not given.

    Raises
    ------
    EngineError
        A kind of operator that is not written.
    MissingEngineError
        PyTorch is not installed.
    """
    torch = torch_here()
    fx = torch.fx
    numbers = weights_of(graph) if weights is None else weights
    root, made = torch.nn.Module(), fx.Graph()
    tracer = fx.proxy.GraphAppendingTracer(made)
    called = _node_names([*(t.name for t in graph.inputs), *numbers, *(op.name for op in graph)])
    values = {t.name: fx.Proxy(made.placeholder(called[t.name]), tracer) for t in graph.inputs}
    for name, array in numbers.items():
        root.register_buffer(called[name], torch.from_numpy(array.copy()))
        node = made.get_attr(called[name])
        node.name = called[name]
        values[name] = fx.Proxy(node, tracer)
    operators: dict[str, str] = {}
    for op in graph:
        before = len(made.nodes)
        values[op.output.name] = _written(torch, op, [values[t.name] for t in op.inputs])
        parts = list(made.nodes)[before:]
        for i, node in enumerate(parts, 1):
            # the last node makes the output: it is called as the operator, those before it are its steps
            node.name = called[op.name] if i == len(parts) else f"{called[op.name]}step{i}_"
            operators[node.name] = op.name
    made.output(tuple(values[t.name].node for t in graph.outputs))
    made.lint()
    return Network(graph, fx.GraphModule(root, made).eval(), operators)


def _node_names(names: Iterable[str]) -> dict[str, str]:
    """Names as Python allows them, which all differ. They end in "_": no name that torch.compile makes up does.

    Examples
    --------
    >>> _node_names(["relu_0", "a.b", "a_b", "1.0"])
    {'relu_0': 'relu_0_', 'a.b': 'a_b_', 'a_b': 'a_b__', '1.0': 'c1_0_'}
    """
    found: dict[str, str] = {}
    for name in names:
        allowed = re.sub(r"\W", "_", name, flags=re.ASCII) + "_"
        allowed = allowed if re.match(r"[A-Za-z]", allowed) else f"c{allowed}"
        while allowed in found.values():
            allowed += "_"
        found[name] = allowed
    return found


def _written(torch: Any, op: Operator, inputs: list[Any]) -> Any:
    if op.kind not in KINDS:
        raise EngineError(f"{op.name}: {op.kind} is not written for PyTorch.")
    return KINDS[op.kind](torch, op, inputs)


# -- windows ----------------------------------------------------------------------------------------------------------


def _padded(torch: Any, op: Operator, x: Any, fill: float = 0.0) -> tuple[Any, tuple[int, int]]:
    """The image and what PyTorch's operator still has to pad: nothing where the two sides of an axis differ."""
    top, bottom, left, right = op.attributes["padding"]
    height, width = op.attributes["kernel"]
    if (top, left) == (bottom, right) and 2 * top <= height and 2 * left <= width:
        return x, (top, left)
    return torch.nn.functional.pad(x, (left, right, top, bottom), value=fill), (0, 0)


def _conv2d(torch: Any, op: Operator, i: list[Any]) -> Any:
    a = op.attributes
    x, padding = _padded(torch, op, i[0])
    return torch.conv2d(x, i[1], i[2] if len(i) > 2 else None, a["stride"], padding, a["dilation"], a["groups"])


def _conv_transpose2d(torch: Any, op: Operator, i: list[Any]) -> Any:
    a, bias = op.attributes, i[2] if len(i) > 2 else None
    top, bottom, left, right = a["padding"]
    if (top, left) != (bottom, right):
        raise EngineError(f"{op.name}: PyTorch crops a transposed convolution alike on both sides, not {a['padding']}.")
    return torch.conv_transpose2d(
        i[0], i[1], bias, a["stride"], (top, left), a["output_padding"], a["groups"], a["dilation"]
    )


def _max_pool(torch: Any, op: Operator, i: list[Any]) -> Any:
    a = op.attributes
    x, padding = _padded(torch, op, i[0], -math.inf)
    return torch.max_pool2d(x, a["kernel"], a["stride"], padding, a["dilation"])


def _avg_pool(torch: Any, op: Operator, i: list[Any]) -> Any:
    a = op.attributes
    if tuple(a["dilation"]) != (1, 1):
        raise EngineError(f"{op.name}: PyTorch has no average pooling with dilation.")
    x, padding = _padded(torch, op, i[0])
    return torch.nn.functional.avg_pool2d(x, a["kernel"], a["stride"], padding)


# -- products ---------------------------------------------------------------------------------------------------------


def _dense(torch: Any, op: Operator, i: list[Any]) -> Any:
    weight = i[1].t() if op.attributes.get("transposed") else i[1]
    return torch.nn.functional.linear(i[0], weight, i[2] if len(i) > 2 else None)


def _matmul(torch: Any, op: Operator, i: list[Any]) -> Any:
    a, (x, y) = op.attributes, i
    if a.get("triangle"):
        raise EngineError(f"{op.name}: products of causal attention, of which one half is left out, are not written.")
    if a.get("share", 1) > 1:
        y = torch.repeat_interleave(y, a["share"], -3)
    return torch.matmul(x, y.transpose(-1, -2) if a.get("transpose_b") else y)


# -- norms, softmax, constants along an axis --------------------------------------------------------------------------


def _along(op: Operator, vector: Any) -> Any:
    """A vector in the shape that broadcasts along an axis of the operator's output."""
    rank = len(op.output.shape)
    behind = rank - 1 - op.attributes["axis"] % rank
    return vector.reshape((-1, *[1] * behind)) if behind else vector


def _batch_norm(torch: Any, op: Operator, i: list[Any]) -> Any:
    x, scale, shift, mean, variance = i
    return torch.nn.functional.batch_norm(x, mean, variance, scale, shift, eps=_EPSILON)


def _layer_norm(torch: Any, op: Operator, i: list[Any]) -> Any:
    return torch.layer_norm(i[0], op.output.shape[-1:], i[1], i[2], _EPSILON)


def _softmax(torch: Any, op: Operator, i: list[Any]) -> Any:
    if op.attributes.get("triangle"):
        raise EngineError(f"{op.name}: the softmax of causal attention, of which one half is hidden, is not written.")
    return torch.softmax(i[0], op.attributes["axis"])


def _gather(torch: Any, op: Operator, i: list[Any]) -> Any:
    if op.attributes.get("axis", 0):
        raise EngineError(f"{op.name}: only rows are looked up in PyTorch here, not places along another axis.")
    return torch.nn.functional.embedding(i[1], i[0])


Write = Callable[[Any, Operator, list[Any]], Any]


def _call(name: str, *more: Any) -> Write:
    """A function of PyTorch on the operator's inputs."""
    return lambda torch, op, i: getattr(torch, name)(*i, *more)


def _functional(name: str, *more: Any, **named: Any) -> Write:
    return lambda torch, op, i: getattr(torch.nn.functional, name)(*i, *more, **named)


def _reduce(name: str) -> Write:
    return lambda torch, op, i: getattr(torch, name)(i[0], op.attributes["axes"], op.attributes["keepdims"])


def _shaped(torch: Any, op: Operator, i: list[Any]) -> Any:
    return i[0].reshape(op.output.shape)


def _upsample(mode: str) -> Write:
    def write(torch: Any, op: Operator, i: list[Any]) -> Any:
        return torch.nn.functional.interpolate(i[0], scale_factor=op.attributes["scale"], mode=mode)

    return write


#: Our kind -> how it is written.
KINDS: Mapping[str, Write] = {
    "conv2d": _conv2d, "conv_transpose2d": _conv_transpose2d, "max_pool": _max_pool, "avg_pool": _avg_pool,
    "dense": _dense, "matmul": _matmul,
    **{kind: _call(kind) for kind in (
        "relu sigmoid tanh exp sqrt rsqrt square erf neg add sub mul div pow maximum minimum prelu").split()},
    **{kind: _functional(kind) for kind in "relu6 elu silu gelu".split()},
    "leaky_relu": _functional("leaky_relu", 0.01), "hard_sigmoid": _functional("hardsigmoid"),
    "hard_swish": _functional("hardswish"), "clip": _functional("hardtanh"),
    "bias_add": lambda torch, op, i: torch.add(i[0], _along(op, i[1])),
    "batch_norm": _batch_norm, "layer_norm": _layer_norm, "softmax": _softmax,
    "rms_norm": lambda torch, op, i: torch.rms_norm(i[0], op.output.shape[-1:], i[1], _EPSILON),
    "reduce_sum": _reduce("sum"), "reduce_mean": _reduce("mean"), "reduce_max": _reduce("amax"),
    "concat": lambda torch, op, i: torch.cat(i, op.attributes["axis"]),
    "transpose": lambda torch, op, i: i[0].permute(op.attributes["axes"]),
    "slice": lambda torch, op, i: i[0].narrow(
        op.attributes["axis"], op.attributes["start"], op.attributes["stop"] - op.attributes["start"]),
    "expand": lambda torch, op, i: i[0].expand(op.output.shape),
    "gather": _gather, "upsample_nearest": _upsample("nearest"), "upsample_bilinear": _upsample("bilinear"),
    "reshape": _shaped, "flatten": _shaped, "squeeze": _shaped,
    "identity": lambda torch, op, i: i[0], "dropout": lambda torch, op, i: i[0],
}  # fmt: skip
