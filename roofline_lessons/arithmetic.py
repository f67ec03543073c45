"""What each kind of operator computes, in NumPy: small and slow, for tests and lessons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import GraphError
from .graph import Operator

Array = NDArray[Any]

#: Added to a variance before its root is taken.
_EPSILON = 1e-5


def run_operator(op: Operator, inputs: Sequence[Array]) -> Array:
    """The output of an operator on arrays.

    Raises
    ------
    GraphError
        A kind that only files of other programs bring (`operators/foreign.py`): it is counted, not computed.
    """
    if op.kind not in RUN:
        raise GraphError(f"{op.name}: what {op.kind} computes is not in this package; it is only counted.")
    return RUN[op.kind](list(inputs), op.attributes)


Run = Callable[[list[Array], Mapping[str, Any]], Array]


def _windows(x: Array, a: Mapping[str, Any], fill: float) -> Array:
    """All windows of an image: (N, C, height, width, kernel height, kernel width)."""
    top, bottom, left, right = a["padding"]
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=fill)
    (kh, kw), (sh, sw), (dh, dw) = a["kernel"], a["stride"], a["dilation"]
    reach = (dh * (kh - 1) + 1, dw * (kw - 1) + 1)
    views = np.lib.stride_tricks.sliding_window_view(x, reach, axis=(2, 3))
    return views[:, :, ::sh, ::sw, ::dh, ::dw]


def _conv2d(inputs: list[Array], a: Mapping[str, Any]) -> Array:
    x, w = inputs[:2]
    g = a["groups"]
    windows = _windows(x, a, 0.0)
    n, c, h, wid = windows.shape[:4]
    windows = windows.reshape(n, g, c // g, h, wid, *a["kernel"])
    weights = w.reshape(g, w.shape[0] // g, *w.shape[1:])
    y = np.einsum("ngchwij,gocij->ngohw", windows, weights, optimize=True).reshape(n, w.shape[0], h, wid)
    return _plus(y, inputs, 2)


def _conv_transpose2d(inputs: list[Array], a: Mapping[str, Any]) -> Array:
    """Every input value spreads its weight over a window of the output; then the padding is cropped."""
    x, w = inputs[:2]
    (n, c, h, wid), g = x.shape, a["groups"]
    (kh, kw), (sh, sw), (dh, dw) = a["kernel"], a["stride"], a["dilation"]
    (top, bottom, left, right), (eh, ew) = a["padding"], a["output_padding"]
    full = np.zeros((n, w.shape[1] * g, (h - 1) * sh + dh * (kh - 1) + 1 + eh, (wid - 1) * sw + dw * (kw - 1) + 1 + ew))
    weights = w.reshape(g, c // g, *w.shape[1:])
    spread = np.einsum("ngchw,gcoij->ngohwij", x.reshape(n, g, c // g, h, wid), weights)
    spread = spread.reshape(n, -1, h, wid, kh, kw)
    for i in range(kh):
        for j in range(kw):
            rows = slice(i * dh, i * dh + (h - 1) * sh + 1, sh)
            columns = slice(j * dw, j * dw + (wid - 1) * sw + 1, sw)
            full[:, :, rows, columns] += spread[..., i, j]
    y = full[:, :, top : full.shape[2] - bottom, left : full.shape[3] - right]
    return _plus(y, inputs, 2)


def _plus(y: Array, inputs: list[Array], position: int) -> Array:
    return y if len(inputs) <= position else y + inputs[position][:, None, None]


def _matmul(inputs: list[Array], a: Mapping[str, Any]) -> Array:
    x, y = inputs
    if a["transpose_b"]:
        y = np.swapaxes(y, -1, -2)
    if a["share"] > 1:
        y = np.repeat(y, a["share"], axis=-3)
    if a.get("triangle") == "input":
        x = _lower(x)
    return _lower(x @ y) if a.get("triangle") == "output" else x @ y


def _lower(x: Array, hidden: float = 0.0) -> Array:
    """x with another number above the diagonal that ends in the last row and column."""
    rows, columns = x.shape[-2:]
    return np.where(np.tri(rows, columns, columns - rows, dtype=bool), x, hidden)


def _along(vector: Array, x: Array, axis: int) -> Array:
    """A vector in the shape that broadcasts along one axis of x."""
    shape = [1] * x.ndim
    shape[axis] = -1
    return vector.reshape(shape)


def scale_and_shift(vectors: Sequence[Array]) -> tuple[Array, Array]:
    """The factor and the offset per channel that the four vectors of a batch norm come to."""
    scale, shift, mean, variance = vectors
    factor = scale / np.sqrt(variance + _EPSILON)
    return factor, shift - mean * factor


def _batch_norm(inputs: list[Array], a: Mapping[str, Any]) -> Array:
    factor, offset = scale_and_shift(inputs[1:])
    return inputs[0] * _along(factor, inputs[0], 1) + _along(offset, inputs[0], 1)


def _layer_norm(inputs: list[Array], a: Mapping[str, Any]) -> Array:
    x, gamma, beta = inputs
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + _EPSILON) * gamma + beta


def _rms_norm(inputs: list[Array], a: Mapping[str, Any]) -> Array:
    x, gamma = inputs
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + _EPSILON) * gamma


def _softmax(inputs: list[Array], a: Mapping[str, Any]) -> Array:
    x = _lower(inputs[0], -np.inf) if a.get("triangle") else inputs[0]
    e = np.exp(x - x.max(a["axis"], keepdims=True))
    return e / e.sum(a["axis"], keepdims=True)


def _rotary(inputs: list[Array], a: Mapping[str, Any]) -> Array:
    """The halves of the last axis are the coordinates of points; each turns by its angle."""
    (first, second), (cos, sin) = (np.split(i, 2, axis=-1) for i in inputs)
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def _erf(x: Array) -> Array:
    """Error function (Abramowitz & Stegun 7.1.26, within 1.5e-7): NumPy has none."""
    t = 1 / (1 + 0.3275911 * np.abs(x))
    poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return np.sign(x) * (1 - poly * np.exp(-x * x))


def _bilinear(inputs: list[Array], a: Mapping[str, Any]) -> Array:
    """Enlarged with half-pixel centres, edges held."""
    y = inputs[0]
    for axis in (2, 3):
        size, scale = y.shape[axis], a["scale"]
        at = np.clip((np.arange(size * scale) + 0.5) / scale - 0.5, 0, size - 1)
        low = np.floor(at).astype(int)
        part = _along(at - low, y, axis)
        y = y.take(low, axis) * (1 - part) + y.take(np.minimum(low + 1, size - 1), axis) * part
    return y


def _one(function: Callable[[Array], Array]) -> Run:
    return lambda inputs, a: function(inputs[0])


def _two(function: Callable[[Array, Array], Array]) -> Run:
    return lambda inputs, a: function(inputs[0], inputs[1])


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _hard_sigmoid(x: Array) -> Array:
    return np.clip(x + 3, 0, 6) / 6


#: Every kind: from input arrays and attributes to the output array.
RUN: Mapping[str, Run] = {
    "conv2d": _conv2d,
    "conv_transpose2d": _conv_transpose2d,
    "dense": lambda i, a: i[0] @ (i[1] if a.get("transposed") else i[1].T) + (i[2] if len(i) > 2 else 0),
    "matmul": _matmul,
    "relu": _one(lambda x: np.maximum(x, 0)),
    "relu6": _one(lambda x: np.clip(x, 0, 6)),
    "leaky_relu": _one(lambda x: np.where(x > 0, x, 0.01 * x)),
    "prelu": lambda i, a: np.where(i[0] > 0, i[0], _along(i[1], i[0], 1) * i[0]),
    "elu": _one(lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0)))),
    "sigmoid": _one(_sigmoid),
    "tanh": _one(np.tanh),
    "silu": _one(lambda x: x * _sigmoid(x)),
    "gelu": _one(lambda x: x / 2 * (1 + _erf(x / np.sqrt(2)))),
    "hard_sigmoid": _one(_hard_sigmoid),
    "hard_swish": _one(lambda x: x * _hard_sigmoid(x)),
    "exp": _one(np.exp),
    "sqrt": _one(lambda x: np.sqrt(np.maximum(x, 0))),
    "rsqrt": _one(lambda x: 1 / np.sqrt(x)),
    "square": _one(np.square),
    "erf": _one(_erf),
    "neg": _one(np.negative),
    "clip": _one(lambda x: np.clip(x, -1, 1)),
    "add": _two(np.add),
    "sub": _two(np.subtract),
    "mul": _two(np.multiply),
    "div": _two(np.divide),
    "pow": _two(np.power),
    "maximum": _two(np.maximum),
    "minimum": _two(np.minimum),
    "bias_add": lambda i, a: i[0] + _along(i[1], i[0], a["axis"]),
    "batch_norm": _batch_norm,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "softmax": _softmax,
    "max_pool": lambda i, a: _windows(i[0], a, -np.inf).max((-1, -2)),
    "avg_pool": lambda i, a: _windows(i[0], a, 0.0).mean((-1, -2)),
    "reduce_sum": lambda i, a: i[0].sum(a["axes"], keepdims=a["keepdims"]),
    "reduce_mean": lambda i, a: i[0].mean(a["axes"], keepdims=a["keepdims"]),
    "reduce_max": lambda i, a: i[0].max(a["axes"], keepdims=a["keepdims"]),
    "concat": lambda i, a: np.concatenate(i, a["axis"]),
    "transpose": lambda i, a: i[0].transpose(a["axes"]),
    "slice": lambda i, a: i[0].take(range(a["start"], a["stop"]), a["axis"]),
    "expand": lambda i, a: np.broadcast_to(i[0], a["shape"]).copy(),
    "rotary": _rotary,
    "gather": lambda i, a: i[0].take(i[1], a.get("axis", 0)),
    "upsample_nearest": lambda i, a: i[0].repeat(a["scale"], 2).repeat(a["scale"], 3),
    "upsample_bilinear": _bilinear,
    "reshape": lambda i, a: i[0].reshape(a["shape"]),
    "flatten": lambda i, a: i[0].reshape(*i[0].shape[: a["axis"]], -1),
    "squeeze": lambda i, a: i[0].squeeze(a["axes"]),
    "layout": lambda i, a: i[0].transpose(a["axes"]),
    "identity": _one(lambda x: x),
    "dropout": _one(lambda x: x),
}
