"""The room that slices need on the chip when their output is one tile: bytes of live tensors and of weights."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence

import numpy as np
from numpy.typing import NDArray

from ...graph import Operator, Tensor
from ...operators import is_elementwise
from ...precision import Precision

Floats = NDArray[np.float64]


class SliceRoom:
    """On-chip bytes of the slices of a list of operators, from each start to one end.

    Parameters
    ----------
    order : sequence of Operator
    p : Precision
    """

    def __init__(self, order: Sequence[Operator], p: Precision) -> None:
        self.order, self.p = order, p
        self._is_chain = _is_chain(order)
        self._alive_alone = np.array([_alive(op) for op in order])
        self._weights_before = np.cumsum([0, *(sum(t.elements for t in op.weights) for op in order)])
        names = [t.name for op in order for t in op.weights]
        self._distinct_weights = len(names) == len(set(names))

    def tile_bytes(self, first: int, end: int) -> Floats:
        """Bytes of the tensors alive at once in one tile, of the slices to `end` from `first` and each later start."""
        steps = slice(first, end + 1)
        if self._is_chain:
            alive = np.maximum.accumulate(self._alive_alone[steps][::-1])[::-1]
        else:
            alive = self._alive_with_side_inputs(first, end)[steps]
        return np.asarray(np.ceil(alive * self.p.activation_bits / 8))

    def _alive_with_side_inputs(self, first: int, end: int) -> Floats:
        live, most = np.zeros(end + 1), np.zeros(end + 1)
        first_reader: dict[str, int] = {}
        for i in range(end, first - 1, -1):
            op = self.order[i]
            live[i] = _alive(op, first_reader)
            again = False
            for t in {t.name: t for t in (*op.activations, op.output)}.values():
                reader = first_reader.get(t.name, i + 1)
                if reader > i + 1:  # read again later, or made early: alive in between
                    live[i + 1 : reader] += _image_elements(t)
                    again = True
            first_reader |= {t.name: i for t in op.activations}
            most[i] = live[i:].max() if again else max(live[i], most[i + 1] if i < end else 0.0)
        return most

    def weight_bytes(self, first: int, end: int) -> Floats:
        """Bytes of the weights of the slices to `end` from `first` and each later start."""
        if self._distinct_weights:
            elements = self._weights_before[end + 1] - self._weights_before[first : end + 1]
        else:
            elements, seen, total = np.zeros(end + 1 - first), set(), 0
            for i in range(end, first - 1, -1):
                new = {t.name: t.elements for t in self.order[i].weights if t.name not in seen}
                seen |= set(new)
                total += sum(new.values())
                elements[i - first] = total
        return np.asarray(np.ceil(elements * self.p.weight_bits / 8))


def _is_chain(order: Sequence[Operator]) -> bool:
    """Each tensor is read by one operator, right behind the one that makes it; no weight is shared."""
    inputs = [t.name for op in order for t in dict.fromkeys(op.inputs)]
    follows = all(a.output in b.activations for a, b in zip(order, order[1:]))
    return follows and len(inputs) == len(set(inputs))


def _alive(op: Operator, read_later: Container[str] = ()) -> int:
    """Elements alive while an operator runs; an elementwise one works in place where its input is done with."""
    sizes = {t.name: _image_elements(t) for t in op.activations}
    done = [size for name, size in sizes.items() if name not in read_later]
    saved = max(done, default=0) if is_elementwise(op.kind) else 0
    return sum(sizes.values()) + _image_elements(op.output) - saved


def _image_elements(t: Tensor) -> int:
    """Elements of one image."""
    return math.prod(t.shape[1:])
