"""The work of each kind of operator: multiply-accumulates, other FLOPs, and the elements it reads and writes.

A rule goes from inputs and attributes to the output shapes (`shapes.py`) and the `Work`. Most kinds need no rule of
their own: `per_element` makes it from a shape and a row of `FLOP_PER_ELEMENT`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ..errors import GraphError
from ..graph import Tensor, Work
from . import shapes
from .flops import FLOP_PER_ELEMENT
from .shapes import Attributes, Shape

Cost = tuple[list[Shape], Work]
Rule = Callable[[Sequence[Tensor], Attributes], Cost]
ShapeRule = Callable[[Sequence[Tensor], Attributes], Shape]


def flop_of(kind: str) -> int:
    """FLOP per element."""
    return FLOP_PER_ELEMENT[kind][0]


def moved_once(inputs: Sequence[Tensor], outputs: Sequence[Shape], macs: int = 0, other: int = 0) -> Cost:
    """The usual case: every input read once, every output written once."""
    read = tuple(t.elements for t in inputs)
    return list(outputs), Work(macs, other, read, tuple(math.prod(s) for s in outputs))


# -- so many FLOP per element --------------------------------------------------------------------------------------


def of_output(inputs: Sequence[Tensor], a: Attributes, out: Shape) -> int:
    return math.prod(out)


def of_input(inputs: Sequence[Tensor], a: Attributes, out: Shape) -> int:
    return inputs[0].elements


def of_taps(inputs: Sequence[Tensor], a: Attributes, out: Shape) -> int:
    """Every tap of every window."""
    return math.prod(out) * math.prod(a["kernel"])


def of_terms(inputs: Sequence[Tensor], a: Attributes, out: Shape) -> int:
    """Every term of a sum after the first."""
    return (len(inputs) - 1) * math.prod(out)


def per_element(
    kind: str, shape: ShapeRule, counted: Callable[[Sequence[Tensor], Attributes, Shape], int] = of_output
) -> Rule:
    """The rule of a kind that makes this shape with `FLOP_PER_ELEMENT` for each of the elements counted."""

    def rule(inputs: Sequence[Tensor], a: Attributes) -> Cost:
        out = shape(inputs, a)
        return moved_once(inputs, [out], other=flop_of(kind) * counted(inputs, a, out))

    return rule


def softmax(inputs: Sequence[Tensor], a: Attributes) -> Cost:
    """Of a causal matrix of scores (`a["triangle"]`) only what the mask leaves."""
    x, out = inputs[0], shapes.softmax(inputs, a)
    used = _visible(x.elements, *x.shape[-2:]) if a.get("triangle") else x.elements
    return [out], Work(0, flop_of("softmax") * used, (used,), (used,))


# -- multiply-accumulate -------------------------------------------------------------------------------------------


def conv2d(inputs: Sequence[Tensor], a: Attributes) -> Cost:
    """MACs: one per weight tap and output position."""
    out = shapes.conv2d(inputs, a)
    macs = math.prod(out) * math.prod(inputs[1].shape[1:])
    return moved_once(inputs, [out], macs, _bias(inputs, out))


def conv_transpose2d(inputs: Sequence[Tensor], a: Attributes) -> Cost:
    """MACs: one per weight tap and *input* position (cropped taps counted)."""
    out = shapes.conv_transpose2d(inputs, a)
    macs = inputs[0].elements * math.prod(inputs[1].shape[1:])
    return moved_once(inputs, [out], macs, _bias(inputs, out))


def dense(inputs: Sequence[Tensor], a: Attributes) -> Cost:
    """MACs: one per output element and input feature."""
    out = shapes.dense(inputs, a)
    return moved_once(inputs, [out], math.prod(out) * inputs[0].shape[-1], _bias(inputs, out))


def matmul(inputs: Sequence[Tensor], a: Attributes) -> Cost:
    """Batched product of (..., M, K) and (..., K, N).

    Grouped-query attention: `a["share"]` query heads use one key/value head, so the second operand's head axis is that
    much shorter; its bytes count once, its MACs for every query head.

    Causal attention: `a["triangle"]` is "output" for the scores (what lies above the diagonal is neither computed nor
    written) and "input" for their product with the values (what lies above the diagonal of x is zero and skipped).
    """
    x, y = inputs
    out = shapes.matmul(inputs, a)
    (rows, inner), columns, part = x.shape[-2:], out[-1], a.get("triangle")
    macs = math.prod(out) * inner
    if part is None:
        return moved_once(inputs, [out], macs)
    if part == "output":
        read, written, across = x.elements, _visible(math.prod(out), rows, columns), columns
    else:
        read, written, across = _visible(x.elements, rows, inner), math.prod(out), inner
    return [out], Work(_visible(macs, rows, across), 0, (read, y.elements), (written,))


def _bias(inputs: Sequence[Tensor], out: Shape) -> int:
    """FLOPs of the bias, where there is one: an addition per output element, not a MAC."""
    return flop_of("bias_add") * math.prod(out) if len(inputs) > 2 else 0


def _visible(amount: int, rows: int, columns: int) -> int:
    """What is left of an amount spread evenly over a matrix when a causal mask hides part of it.

    The last row sees every column, the row before one less, and so on.
    """
    if columns < rows:
        raise GraphError(f"a causal mask needs at least as many keys as queries, not {columns} for {rows}")
    pairs = rows * (columns - rows) + rows * (rows + 1) // 2
    return amount * pairs // (rows * columns)


# -- moving data: no FLOP ------------------------------------------------------------------------------------------


def view(shape: ShapeRule) -> Rule:
    """The rule of other words for the same bytes: no FLOP, no byte, no kernel."""

    def rule(inputs: Sequence[Tensor], a: Attributes) -> Cost:
        x, out = inputs[0], shape(inputs, a)
        if math.prod(out) != x.elements:
            raise GraphError(f"{x.name} {x.shape} holds {x.elements} elements, {out} would hold {math.prod(out)}")
        return [out], Work(0, 0, (0,), (0,))

    return rule


def copied(shape: ShapeRule) -> Rule:
    """The rule of a read and a write; or of a view, where the neighbour follows the strides (`in_place`).

    A concat is a view of its parts when their producers write straight into the result.
    """

    def rule(inputs: Sequence[Tensor], a: Attributes) -> Cost:
        out = shape(inputs, a)
        return ([out], Work(0, 0, (0,) * len(inputs), (0,))) if a.get("in_place") else moved_once(inputs, [out])

    return rule


def sliced(inputs: Sequence[Tensor], a: Attributes) -> Cost:
    """A copy of which only what is written is read."""
    out = shapes.sliced(inputs, a)
    return [out], Work(0, 0, (math.prod(out),), (math.prod(out),))


def gathered(inputs: Sequence[Tensor], a: Attributes) -> Cost:
    """Only the touched rows are read, at most the whole table."""
    table, index = inputs
    out = shapes.gathered(inputs, a)
    return [out], Work(0, 0, (min(math.prod(out), table.elements), index.elements), (math.prod(out),))
