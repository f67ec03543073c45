"""Kinds of operators that only files of other programs bring: recurrent layers, copies in any arrangement, the unknown.

Rules as in `operators.py`, from inputs and attributes to output shapes and work. They have no method of
`GraphBuilder`; the readers make them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .errors import GraphError
from .graph import Tensor, Work

Attributes = Mapping[str, Any]
Cost = tuple[list[tuple[int, ...]], Work]

#: Gates of one cell of each kind of recurrent layer.
GATES = {"lstm": 4, "gru": 3, "rnn": 1}


def _all_once(inputs: Sequence[Tensor], outputs: Sequence[tuple[int, ...]], macs: int = 0, other: int = 0) -> Cost:
    """Every input read once, every output written once."""
    read = tuple(t.elements for t in inputs)
    return list(outputs), Work(macs, other, read, tuple(math.prod(s) for s in outputs))


def unknown(inputs: Sequence[Tensor], a: Attributes) -> Cost:
    """An operator that this package does not know: it moves what it reads and writes; its FLOPs are not known."""
    shapes, work = _all_once(inputs, [tuple(s) for s in a["shapes"]])
    return shapes, Work(0, 0, work.read, work.written, flops_known=False)


def copy(inputs: Sequence[Tensor], a: Attributes) -> Cost:
    """Elements in another arrangement (padded, strided, repeated, space to depth ...): what is used of x, and `shape`.

    No more is read than is written: a part of x is read for a part, and a repeated x once.
    """
    x, out = inputs[0], tuple(a["shape"])
    rest = tuple(t.elements for t in inputs[1:])
    return [out], Work(0, 0, (min(x.elements, math.prod(out)), *rest), (math.prod(out),))


def split(inputs: Sequence[Tensor], a: Attributes) -> Cost:
    """x in parts of these `sizes` along an axis: everything read once and written once."""
    x, axis = inputs[0], a["axis"] % max(len(inputs[0].shape), 1)
    if sum(a["sizes"]) != x.shape[axis]:
        raise GraphError(f"parts of {a['sizes']} are not the {x.shape[axis]} places of {x.name}")
    return _all_once(inputs, [(*x.shape[:axis], size, *x.shape[axis + 1 :]) for size in a["sizes"]])


def layout(x: Tensor, a: Attributes) -> tuple[int, ...]:
    """The same bytes with their axes named in another order (NHWC read as NCHW)."""
    if sorted(a["axes"]) != list(range(len(x.shape))):
        raise GraphError(f"axes {a['axes']} must name each of the {len(x.shape)} axes of {x.name} once")
    return tuple(x.shape[i] for i in a["axes"])


def total(flops: int, inputs: Sequence[Tensor], out: tuple[int, ...]) -> Cost:
    """The sum of any number of tensors: one addition less than there are terms, per element."""
    return _all_once(inputs, [out], other=flops * (len(inputs) - 1) * math.prod(out))


def lrn(flops: int, inputs: Sequence[Tensor], a: Attributes) -> Cost:
    """Local response normalisation over `size` channels (Krizhevsky 2012, section 3.3)."""
    x = inputs[0]
    return _all_once(inputs, [x.shape], other=(flops + a["size"] - 1) * x.elements)


def resize(flops: int, inputs: Sequence[Tensor], a: Attributes) -> Cost:
    """An image in another size, each value from its four neighbours."""
    out = tuple(a["shape"])
    return _all_once(inputs, [out], other=flops * math.prod(out))


def recurrent(kind: str, flops: int, inputs: Sequence[Tensor], a: Attributes) -> Cost:
    """LSTM, GRU or plain recurrent layer over time. All weights are read once, and used in every step.

    Inputs: x (steps, batch, width), weights of x (directions, gates * hidden, width), weights of the state
    (directions, gates * hidden, hidden), then whatever else is read once. `shapes` are those of the outputs.

    References
    ----------
    steps * gates * (width * hidden + hidden * hidden) MACs per sequence and direction: faults.md A9.
    """
    x, w, r = inputs[:3]
    if len(x.shape) != 3 or len(w.shape) != 3 or len(r.shape) != 3:
        raise GraphError(f"{x.name} {x.shape}, {w.name} {w.shape}, {r.name} {r.shape} must have three dimensions each")
    steps, batch, width = x.shape
    directions, rows, hidden = r.shape
    if w.shape != (directions, rows, width) or rows != GATES[kind] * hidden:
        raise GraphError(f"weights {w.name} {w.shape} and {r.name} {r.shape} are not those of {kind} on {x.shape}")
    macs = steps * batch * (w.elements + r.elements)
    return _all_once(inputs, [tuple(s) for s in a["shapes"]], macs, flops * steps * batch * directions * hidden)
