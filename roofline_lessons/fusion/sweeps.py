"""Reductions over rows: softmax and the norms need a whole row before the first result is there.

A row that fits the chip is read once. One that does not is swept several times: everything before the reduction is done
again in each further sweep.

References
----------
Milakov, Gimelshein, "Online normalizer calculation for softmax", arXiv 1805.02867, 2018, section 3: a safe softmax
reads its input three times, the online softmax twice; each writes once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import UnknownNameError, unknown_name
from ..graph import Operator
from ..precision import Precision, precision
from .traffic import Transfer

#: Sweeps over a row that does not fit the chip. "online" carries the sums of the first sweep along in one go (maximum
#: and sum; sum and sum of squares); "plain" makes one sweep for each.
SWEEPS: Mapping[str, Mapping[str, int]] = {
    "softmax": {"online": 2, "plain": 3},
    "layer_norm": {"online": 2, "plain": 3},
    "rms_norm": {"online": 2, "plain": 2},
}


@dataclass(frozen=True)
class Sweep:
    """A reduction over rows in a kernel, and what each further sweep over its rows repeats.

    operator : the softmax or norm.
    reads : what the operators up to it read from outside.
    macs, other_flops : the work of the operators before it.
    """

    operator: Operator
    reads: tuple[Transfer, ...]
    macs: int
    other_flops: int


def row_elements(op: Operator) -> int:
    """Elements that a softmax or a norm needs together before its first result; 0 for any other operator."""
    return op.output.shape[op.attributes.get("axis", -1)] if op.kind in SWEEPS else 0


def passes(
    op: Operator, on_chip_bytes: float | None, precision: str | Precision = "fp32", method: str = "online"
) -> int:
    """How often a softmax or a norm reads its input: once when a row fits the chip (or its size is not known).

    Raises
    ------
    UnknownNameError
        An operator that is no softmax and no norm; a method other than "online" and "plain".

    Examples
    --------
    >>> from roofline_lessons import GraphBuilder
    >>> b = GraphBuilder("vocabulary")
    >>> graph = b.build(outputs=[b.softmax(b.input("scores", (1, 128_000)))])
    >>> [passes(graph["softmax_0"], kib * 1024) for kib in (192, 512)]
    [2, 1]
    """
    if op.kind not in SWEEPS:
        raise UnknownNameError(f"{op.name} is a {op.kind}; only {', '.join(SWEEPS)} sweep over rows.")
    sweeps = SWEEPS[op.kind]
    if method not in sweeps:
        raise unknown_name("method", method, sweeps)
    fits = on_chip_bytes is None or row_elements(op) * _precision(precision).activation_bits / 8 <= on_chip_bytes
    return 1 if fits else sweeps[method]


_precision = precision  # the function's parameter of the same name hides the import
