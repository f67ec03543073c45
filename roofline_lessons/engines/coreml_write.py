"""A graph as a MIL program, the form in which coremltools optimises a network for Core ML."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from coremltools.converters.mil.mil import Builder as mb
from coremltools.converters.mil.mil import Function, Program, types
from numpy.typing import NDArray

from ..graph import Graph, Operator, Tensor
from .errors import EngineError
from .weights_and_inputs import Arrays, weights_of

_EPSILON = np.float32(1e-5)


def program(graph: Graph, weights: Arrays | None = None) -> Program:
    """A MIL program of a graph, operator by operator, nothing merged; 32-bit floats.

    Parameters
    ----------
    graph : Graph
    weights : dict of str to array, optional
        Of each weight and buffer by name; random numbers when not given.

    Raises
    ------
    EngineError
        A kind of operator that MIL does not have, or that is not written.
    """
    arrays = weights_of(graph) if weights is None else weights
    called = mil_names(graph)
    inputs = {called[t.name]: mb.placeholder(t.shape, types.int32 if t.bits else types.fp32) for t in graph.inputs}
    made = Program()
    with Function(inputs) as function:
        known = {t.name: function.inputs[called[t.name]] for t in graph.inputs}
        for op in graph:
            if op.kind not in WRITE:
                raise EngineError(f"{op.name}: {op.kind} is not written for Core ML.")
            known[op.output.name] = WRITE[op.kind](op, _operands(op, known, arrays), called[op.output.name])
        function.set_outputs([known[t.name] for t in graph.outputs])
    made.add_function("main", function)
    return made


def mil_names(graph: Graph) -> dict[str, str]:
    """Tensor -> its name in MIL, where letters, digits and _ are allowed; coremltools would rename others."""
    found: dict[str, str] = {}
    for t in (*graph.inputs, *(t for op in graph for t in op.outputs)):
        name = re.sub(r"\W", "_", t.name, flags=re.ASCII)
        name = name if name[0].isalpha() or name[0] == "_" else f"_{name}"
        while name in found.values():
            name += "_"
        found[t.name] = name
    return found


def _operands(op: Operator, known: Mapping[str, Any], arrays: Arrays) -> list[Any]:
    """What an operator reads: values of the program, and constants as arrays (a scalar as a number)."""
    return [known[t.name] if not t.is_constant else _constant(t, arrays) for t in op.inputs]


def _constant(t: Tensor, arrays: Arrays) -> NDArray[Any] | np.float32:
    array = arrays[t.name].astype(np.float32)
    return np.float32(array) if array.ndim == 0 else array


Write = Callable[[Operator, list[Any], str], Any]


def _windows(op: Operator) -> dict[str, Any]:
    a = op.attributes
    padding = {"pad_type": "custom", "pad": list(a["padding"])}
    return {"strides": list(a["stride"]), **padding}


def _conv(op: Operator, i: list[Any], name: str) -> Any:
    a = op.attributes
    bias = {"bias": i[2]} if len(i) > 2 else {}
    return mb.conv(
        x=i[0], weight=i[1], **bias, **_windows(op), dilations=list(a["dilation"]), groups=a["groups"], name=name
    )


def _conv_transpose(op: Operator, i: list[Any], name: str) -> Any:
    a = op.attributes
    bias = {"bias": i[2]} if len(i) > 2 else {}
    return mb.conv_transpose(x=i[0], weight=i[1], **bias, **_windows(op), dilations=list(a["dilation"]),
                             groups=a["groups"], output_shape=list(op.output.shape), name=name)  # fmt: skip


def _dense(op: Operator, i: list[Any], name: str) -> Any:
    """A product with a constant, and an addition: what coremltools has in front of it after reading other formats."""
    turned = not op.attributes.get("transposed")
    if len(i) == 2:
        return mb.matmul(x=i[0], y=i[1], transpose_y=turned, name=name)
    product = mb.matmul(x=i[0], y=i[1], transpose_y=turned, name=f"{name}_product")
    return mb.add(x=product, y=i[2], name=name)


def _matmul(op: Operator, i: list[Any], name: str) -> Any:
    a = op.attributes
    if a["share"] > 1 or a.get("triangle"):
        raise EngineError(f"{op.name}: products with shared heads or a causal mask are not written for Core ML.")
    return mb.matmul(x=i[0], y=i[1], transpose_y=bool(a["transpose_b"]), name=name)


def _batch_norm(op: Operator, i: list[Any], name: str) -> Any:
    x, gamma, beta, mean, variance = i
    return mb.batch_norm(x=x, mean=mean, variance=variance, gamma=gamma, beta=beta, epsilon=_EPSILON, name=name)


def _layer_norm(op: Operator, i: list[Any], name: str) -> Any:
    return mb.layer_norm(x=i[0], axes=[-1], gamma=i[1], beta=i[2], epsilon=_EPSILON, name=name)


def _along_axis(array: NDArray[Any], op: Operator) -> NDArray[Any]:
    """A vector in the shape that broadcasts along the operator's axis."""
    x = op.inputs[0]
    return array.reshape([-1 if i == op.attributes["axis"] % len(x.shape) else 1 for i in range(len(x.shape))])


def _softmax(op: Operator, i: list[Any], name: str) -> Any:
    if op.attributes.get("triangle"):
        raise EngineError(f"{op.name}: a causal mask is not written for Core ML.")
    return mb.softmax(x=i[0], axis=op.attributes["axis"], name=name)


def _unary(function: str, **more: Any) -> Write:
    return lambda op, i, name: getattr(mb, function)(x=i[0], **more, name=name)


def _binary(function: str) -> Write:
    return lambda op, i, name: getattr(mb, function)(x=i[0], y=i[1], name=name)


def _reduce(function: str) -> Write:
    return lambda op, i, name: getattr(mb, function)(
        x=i[0], axes=list(op.attributes["axes"]), keep_dims=bool(op.attributes["keepdims"]), name=name
    )


def _pool(function: str, **more: Any) -> Write:
    return lambda op, i, name: getattr(mb, function)(
        x=i[0], kernel_sizes=list(op.attributes["kernel"]), **_windows(op), **more, name=name
    )


def _view(op: Operator, i: list[Any], name: str) -> Any:
    return mb.reshape(x=i[0], shape=list(op.output.shape), name=name)


#: Our kind -> how it is written in MIL.
WRITE: Mapping[str, Write] = {
    "conv2d": _conv, "conv_transpose2d": _conv_transpose, "dense": _dense, "matmul": _matmul,
    "batch_norm": _batch_norm, "softmax": _softmax,
    **{kind: _unary(kind) for kind in "relu relu6 sigmoid tanh silu exp sqrt rsqrt square erf identity".split()},
    "dropout": _unary("identity"), "gelu": _unary("gelu", mode="EXACT"),
    "leaky_relu": _unary("leaky_relu", alpha=np.float32(0.01)), "elu": _unary("elu", alpha=np.float32(1)),
    "clip": _unary("clip", alpha=np.float32(-1), beta=np.float32(1)),
    "hard_sigmoid": _unary("sigmoid_hard", alpha=np.float32(1 / 6), beta=np.float32(0.5)),
    "neg": lambda op, i, name: mb.mul(x=i[0], y=np.float32(-1), name=name),
    **{kind: _binary(kind) for kind in ("add", "sub", "mul", "maximum", "minimum", "pow")}, "div": _binary("real_div"),
    "bias_add": lambda op, i, name: mb.add(x=i[0], y=_along_axis(i[1], op), name=name),
    "prelu": lambda op, i, name: mb.prelu(x=i[0], alpha=i[1], name=name),
    "layer_norm": _layer_norm,
    "max_pool": _pool("max_pool"), "avg_pool": _pool("avg_pool", exclude_padding_from_average=False),
    **{kind: _reduce(kind) for kind in ("reduce_sum", "reduce_mean", "reduce_max")},
    "reshape": _view, "flatten": _view, "squeeze": _view,
    "concat": lambda op, i, name: mb.concat(values=i, axis=op.attributes["axis"], name=name),
    "transpose": lambda op, i, name: mb.transpose(x=i[0], perm=list(op.attributes["axes"]), name=name),
}  # fmt: skip
