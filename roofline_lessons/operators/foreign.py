"""Kinds of operators that only files of other programs bring: recurrent layers, copies in any arrangement, the unknown.

Rules as in `costs.py`, from inputs and attributes to output shapes and work. They have no method of
`GraphBuilder`; the readers make them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..errors import GraphError
from ..graph import Tensor, Work
from . import shapes
from .costs import Cost, Rule, flop_of, moved_once
from .shapes import Attributes

#: Gates of one cell of each kind of recurrent layer.
GATES = {"lstm": 4, "gru": 3, "rnn": 1}


def unknown(inputs: Sequence[Tensor], a: Attributes) -> Cost:
    """An operator that this package does not know: it moves what it reads and writes; its FLOPs are not known."""
    made, work = moved_once(inputs, [tuple(s) for s in a["shapes"]])
    return made, Work(0, 0, work.read, work.written, flops_known=False)


def copy(inputs: Sequence[Tensor], a: Attributes) -> Cost:
    """Elements in another arrangement (padded, strided, repeated, space to depth ...): what is used of x, and `shape`.

    No more is read than is written: a part of x is read for a part, and a repeated x once.
    """
    x, out = inputs[0], tuple(a["shape"])
    rest = tuple(t.elements for t in inputs[1:])
    return [out], Work(0, 0, (min(x.elements, math.prod(out)), *rest), (math.prod(out),))


def split(inputs: Sequence[Tensor], a: Attributes) -> Cost:
    """Everything read once and written once, in parts."""
    return moved_once(inputs, shapes.parts(inputs, a))


def lrn(inputs: Sequence[Tensor], a: Attributes) -> Cost:
    """Local response normalisation over `size` channels (Krizhevsky 2012, section 3.3)."""
    x = inputs[0]
    return moved_once(inputs, [x.shape], other=(flop_of("lrn") + a["size"] - 1) * x.elements)


def recurrent(kind: str) -> Rule:
    """LSTM, GRU or plain recurrent layer over time. All weights are read once, and used in every step.

    Inputs: x (steps, batch, width), weights of x (directions, gates * hidden, width), weights of the state
    (directions, gates * hidden, hidden), then whatever else is read once. `shapes` are those of the outputs.

    References
    ----------
    steps * gates * (width * hidden + hidden * hidden) MACs per sequence and direction: faults.md A9.
    """

    def rule(inputs: Sequence[Tensor], a: Attributes) -> Cost:
        x, w, r = inputs[:3]
        if len(x.shape) != 3 or len(w.shape) != 3 or len(r.shape) != 3:
            raise GraphError(
                f"{x.name} {x.shape}, {w.name} {w.shape}, {r.name} {r.shape} must have three dimensions each"
            )
        steps, batch, width = x.shape
        directions, rows, hidden = r.shape
        if w.shape != (directions, rows, width) or rows != GATES[kind] * hidden:
            raise GraphError(f"weights {w.name} {w.shape} and {r.name} {r.shape} are not those of {kind} on {x.shape}")
        macs = steps * batch * (w.elements + r.elements)
        other = flop_of(kind) * steps * batch * directions * hidden
        return moved_once(inputs, [tuple(s) for s in a["shapes"]], macs, other)

    return rule
