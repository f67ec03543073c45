"""The shape that each kind of operator makes, from its inputs and attributes; and what must fit for it.

Images are (batch, channels, height, width).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import GraphError
from ..graph import Tensor

Attributes = Mapping[str, Any]
Shape = tuple[int, ...]


# -- convolutions and other windows --------------------------------------------------------------------------------


def conv2d(inputs: Sequence[Tensor], a: Attributes) -> Shape:
    """Weight (C_out, C_in / groups, kh, kw)."""
    x, w = inputs[0], inputs[1]
    _check_image(x)
    if x.shape[1] != w.shape[1] * a["groups"] or w.shape[0] % a["groups"]:
        raise GraphError(
            f"weight {w.name} {w.shape} with {a['groups']} groups takes {w.shape[1] * a['groups']} input channels, "
            f"but {x.name} has {x.shape[1]}"
        )
    return (x.shape[0], w.shape[0], *_windows(x, a))


def conv_transpose2d(inputs: Sequence[Tensor], a: Attributes) -> Shape:
    """Weight (C_in, C_out / groups, kh, kw)."""
    x, w = inputs[0], inputs[1]
    _check_image(x)
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
    return (x.shape[0], w.shape[1] * a["groups"], height, width)


def pooled(inputs: Sequence[Tensor], a: Attributes) -> Shape:
    """One value per window and channel."""
    x = inputs[0]
    _check_image(x)
    return (*x.shape[:2], *_windows(x, a))


def enlarged(inputs: Sequence[Tensor], a: Attributes) -> Shape:
    """Height and width times a whole factor."""
    x = inputs[0]
    _check_image(x)
    return (*x.shape[:2], x.shape[2] * a["scale"], x.shape[3] * a["scale"])


def _windows(x: Tensor, a: Attributes) -> tuple[int, int]:
    """Windows from top to bottom and from left to right of an image."""
    (top, bottom, left, right), (h, w) = a["padding"], x.shape[2:]
    (kh, kw), (sh, sw), (dh, dw) = a["kernel"], a["stride"], a["dilation"]
    return _windows_along(h, kh, sh, top, bottom, dh), _windows_along(w, kw, sw, left, right, dw)


def _windows_along(size: int, kernel: int, stride: int, before: int, after: int, dilation: int) -> int:
    """Output size of a convolution or pooling along one axis (Dumoulin & Visin, arXiv 1603.07285, relationship 15)."""
    reach = dilation * (kernel - 1) + 1
    padded = size + before + after
    if padded < reach:
        raise GraphError(f"the window spans {reach} but the padded input only {padded}")
    return (padded - reach) // stride + 1


def _check_image(x: Tensor) -> None:
    if len(x.shape) != 4:
        raise GraphError(f"{x.name} must have the shape (batch, channels, height, width), not {x.shape}")


# -- matrix products -----------------------------------------------------------------------------------------------


def dense(inputs: Sequence[Tensor], a: Attributes) -> Shape:
    """x (..., K) times weight (M, K), as torch.nn.Linear; with `a["transposed"]` the weight lies as (K, M)."""
    x, w = inputs[0], inputs[1]
    rows, inner = w.shape[::-1] if a.get("transposed") and len(w.shape) == 2 else (w.shape[0], w.shape[-1])
    if len(x.shape) < 2 or len(w.shape) != 2 or x.shape[-1] != inner:
        raise GraphError(f"weight {w.name} {w.shape} needs inputs (..., {inner}), but {x.name} is {x.shape}")
    return (*x.shape[:-1], rows)


def matmul(inputs: Sequence[Tensor], a: Attributes) -> Shape:
    """(..., M, K) times (..., K, N); leading dimensions broadcast, and `a["share"]` heads of x use one of y."""
    x, y = inputs
    if len(x.shape) < 2 or len(y.shape) < 2:
        raise GraphError(f"both operands need at least two dimensions, not {x.shape} and {y.shape}")
    inner, columns = y.shape[-2:][::-1] if a["transpose_b"] else y.shape[-2:]
    if x.shape[-1] != inner:
        raise GraphError(f"inner sizes differ: {x.name} {x.shape} has {x.shape[-1]}, {y.name} {y.shape} has {inner}")
    return (*_broadcast(x.shape[:-2], _heads(x, y, a["share"])), x.shape[-2], columns)


def _heads(x: Tensor, y: Tensor, share: int) -> Shape:
    """Leading dimensions of y, its head axis as long as that of x."""
    lead = list(y.shape[:-2])
    if share > 1:
        if not lead:
            raise GraphError(f"share={share} needs a head axis in {y.name} {y.shape}")
        lead[-1] *= share
        if x.shape[:-2][-1:] != (lead[-1],):
            raise GraphError(f"share={share} of {y.name} {y.shape} needs {lead[-1]} query heads, {x.name} is {x.shape}")
    return tuple(lead)


# -- element by element, norms, reductions -------------------------------------------------------------------------


def broadcast(inputs: Sequence[Tensor], a: Attributes) -> Shape:
    """Operands of any shapes that fit together as NumPy's do."""
    return _broadcast(*(t.shape for t in inputs))


def per_channel(inputs: Sequence[Tensor], a: Attributes) -> Shape:
    """x and vectors along one axis of it (bias, batch norm, layer norm)."""
    x = inputs[0]
    channels = x.shape[axis_of(x, a["axis"])]
    for vector in inputs[1:]:
        if vector.shape != (channels,):
            raise GraphError(f"{vector.name} {vector.shape} must be ({channels},), one value per channel")
    return x.shape


def softmax(inputs: Sequence[Tensor], a: Attributes) -> Shape:
    """Along one axis; a causal matrix of scores (`a["triangle"]`) along its rows."""
    x = inputs[0]
    if a.get("triangle") and (len(x.shape) < 2 or axis_of(x, a["axis"]) != len(x.shape) - 1):
        raise GraphError(f"causal scores are a matrix, normalised along the last axis; {x.name} is {x.shape}")
    axis_of(x, a["axis"])
    return x.shape


def rotary(inputs: Sequence[Tensor], a: Attributes) -> Shape:
    """x (..., positions, width) and angles (positions, width): a cosine and a sine for each pair of values."""
    x, angles = inputs
    if len(x.shape) < 2 or x.shape[-2:] != angles.shape or x.shape[-1] % 2:
        raise GraphError(f"{x.name} {x.shape} needs an even width and angles of {x.shape[-2:]}, not {angles.shape}")
    return x.shape


def reduced(inputs: Sequence[Tensor], a: Attributes) -> Shape:
    """What is left without these axes, or with them at length 1."""
    x = inputs[0]
    axes = {axis_of(x, axis) for axis in a["axes"]}
    return tuple(1 if i in axes else d for i, d in enumerate(x.shape) if i not in axes or a["keepdims"])


def axis_of(x: Tensor, axis: int) -> int:
    """An axis of x, counted from the front."""
    if not -len(x.shape) <= axis < len(x.shape):
        raise GraphError(f"{x.name} {x.shape} has no axis {axis}")
    return axis % len(x.shape)


def _broadcast(*shapes: Shape) -> Shape:
    try:
        return tuple(int(d) for d in np.broadcast_shapes(*shapes))
    except ValueError:
        raise GraphError(f"the shapes {' and '.join(map(str, shapes))} do not broadcast") from None


# -- moving data ---------------------------------------------------------------------------------------------------


def joined(inputs: Sequence[Tensor], a: Attributes) -> Shape:
    """Tensors one behind the other along an axis."""
    if not inputs:
        raise GraphError("there must be at least one tensor to join")
    shape, axis = inputs[0].shape, axis_of(inputs[0], a["axis"])
    rest = {t.shape[:axis] + t.shape[axis + 1 :] for t in inputs}
    if len(rest) > 1:
        raise GraphError(f"shapes may differ only along axis {axis}: {', '.join(str(t.shape) for t in inputs)}")
    return (*shape[:axis], sum(t.shape[axis] for t in inputs), *shape[axis + 1 :])


def parts(inputs: Sequence[Tensor], a: Attributes) -> list[Shape]:
    """x in parts of these `sizes` along an axis."""
    x, axis = inputs[0], a["axis"] % max(len(inputs[0].shape), 1)
    if sum(a["sizes"]) != x.shape[axis]:
        raise GraphError(f"parts of {a['sizes']} are not the {x.shape[axis]} places of {x.name}")
    return [(*x.shape[:axis], size, *x.shape[axis + 1 :]) for size in a["sizes"]]


def sliced(inputs: Sequence[Tensor], a: Attributes) -> Shape:
    """The places start ... stop - 1 along an axis."""
    x = inputs[0]
    axis = axis_of(x, a["axis"])
    if not 0 <= a["start"] < a["stop"] <= x.shape[axis]:
        raise GraphError(f"{a['start']} to {a['stop']} is no part of the {x.shape[axis]} places of {x.name}")
    return (*x.shape[:axis], a["stop"] - a["start"], *x.shape[axis + 1 :])


def gathered(inputs: Sequence[Tensor], a: Attributes) -> Shape:
    """For each index a row of a table; with `a["axis"]` a place along another axis."""
    table, index = inputs
    axis = axis_of(table, a.get("axis", 0))
    return (*table.shape[:axis], *index.shape, *table.shape[axis + 1 :])


def expanded(inputs: Sequence[Tensor], a: Attributes) -> Shape:
    """x repeated until it fills a shape."""
    x, shape = inputs[0], tuple(a["shape"])
    if _broadcast(x.shape, shape) != shape:
        raise GraphError(f"{x.name} {x.shape} does not repeat to {shape}")
    return shape


def transposed(inputs: Sequence[Tensor], a: Attributes) -> Shape:
    """The axes in another order."""
    x = inputs[0]
    if sorted(a["axes"]) != list(range(len(x.shape))):
        raise GraphError(f"axes {a['axes']} must name each of the {len(x.shape)} axes of {x.name} once")
    return tuple(x.shape[i] for i in a["axes"])


def same(inputs: Sequence[Tensor], a: Attributes) -> Shape:
    """The shape of x."""
    return inputs[0].shape


def given(inputs: Sequence[Tensor], a: Attributes) -> Shape:
    """The shape that the attributes name."""
    return tuple(a["shape"])


def reshaped(inputs: Sequence[Tensor], a: Attributes) -> Shape:
    """The asked-for shape, with one -1 filled in."""
    x, shape = inputs[0], tuple(a["shape"])
    if shape.count(-1) == 1:
        rest = math.prod(d for d in shape if d != -1)
        if rest < 1 or x.elements % rest:
            raise GraphError(f"{x.elements} elements of {x.name} do not fill {shape}")
        shape = tuple(x.elements // rest if d == -1 else d for d in shape)
    return shape


def flattened(inputs: Sequence[Tensor], a: Attributes) -> Shape:
    """All axes from one on merged."""
    x = inputs[0]
    axis = axis_of(x, a["axis"])
    return (*x.shape[:axis], math.prod(x.shape[axis:]))


def squeezed(inputs: Sequence[Tensor], a: Attributes) -> Shape:
    """Without the named axes of size 1."""
    x = inputs[0]
    axes = {axis_of(x, axis) for axis in a["axes"]}
    if any(x.shape[axis] != 1 for axis in axes):
        raise GraphError(f"only axes of size 1 can be squeezed, and {x.name} is {x.shape}")
    return tuple(d for i, d in enumerate(x.shape) if i not in axes)
