"""Attention as one kernel: the scores never leave the chip.

Scores = Q Kᵀ are as large as queries x keys. One kernel works on a block of queries and a block of keys at a time and
keeps a running maximum and sum of each row (the online softmax), so no score is ever written.

References
----------
Dao et al., "FlashAttention", arXiv 2205.14135, 2022: algorithm 1 (blocks of M / 4d rows) and theorem 2 (its traffic).
Dao, "FlashAttention-2", arXiv 2307.08691, 2023: the other order of the two loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..graph import Graph, Operator
from ..operators import is_elementwise

#: Which loop is the outer one. FlashAttention walks over keys and reads queries and results again for each block;
#: FlashAttention-2 walks over queries and reads keys and values again.
ORDERS = ("keys outside", "queries outside")


@dataclass(frozen=True)
class Attention:
    """Sizes of an attention kernel, in elements over all heads: Q and the result O, K and V together.

    queries, keys : rows of Q and of K of one head.
    width : elements of a row, the wider of Q and V.
    """

    queries: int
    keys: int
    width: int
    q_elements: int
    kv_elements: int
    o_elements: int

    @property
    def least_elements(self) -> int:
        """What must be on the chip at least: one row each of Q, K, V and O."""
        return 4 * self.width

    def block(self, on_chip_elements: float) -> int:
        """Rows of a block when each of Q, K, V and O has a quarter of the chip (algorithm 1, line 1)."""
        return max(int(on_chip_elements // (4 * self.width)), 1)

    def read_again(self, on_chip_elements: float, order: str) -> int:
        """Elements moved beyond the compulsory traffic: what does not fit the chip at once comes again.

        Keys outside: for each further block of keys, Q and O are read and O is written again. Queries outside: for
        each further block of queries, K and V are read again.
        """
        block = self.block(on_chip_elements)
        if order == "keys outside":
            return (-(-self.keys // block) - 1) * (self.q_elements + 2 * self.o_elements)
        return (-(-self.queries // block) - 1) * self.kv_elements


def _scales(op: Operator, before: Operator) -> bool:
    """It multiplies or divides what comes by something else: that commutes with dividing by the row's sum."""
    names = [t.name for t in op.inputs]
    if op.kind not in ("mul", "div") or names.count(before.output.name) != 1:
        return False
    return op.kind == "mul" or names[0] == before.output.name


def find_attention(graph: Graph, operators: Sequence[Operator]) -> Attention | str:
    """The sizes when operators are an attention kernel, else the reason why they are not one, as a sentence."""
    first, second = operators[0], operators[-1]
    names = f"{first.name} and {second.name}"
    if not first.kind == second.kind == "matmul":
        return f"not fused: {names} are not the two products of an attention."
    softmaxes = [op for op in operators if op.kind == "softmax"]
    if len(softmaxes) != 1:
        return f"not fused: between {names} there are {len(softmaxes)} softmaxes; attention has one."
    for op in operators[1:-1]:
        if not (is_elementwise(op.kind) or op.kind == "softmax"):
            return f"not fused: {op.name} ({op.kind}) stands between the scores and the values of {names}."
        if op.output.shape != first.output.shape:
            return f"not fused: {op.name} changes the shape of the scores {first.output.name}."
    if softmaxes[0].attributes["axis"] not in (-1, len(first.output.shape) - 1):
        return f"not fused: {softmaxes[0].name} does not run along the keys."
    for before, op in zip(operators, operators[1:]):
        if before.output.name not in {s.name for t in op.activations for s in graph.storage(t)}:
            return f"not fused: {op.name} does not read {before.output.name}."
        outside = [o.name for o in graph.consumers.get(before.output.name, ()) if o is not op]
        if outside or any(t.name == before.output.name for t in graph.outputs):
            return f"not fused: the scores {before.output.name} are needed outside the attention."
    place = operators.index(softmaxes[0])
    if mixing := [
        op.name for before, op in zip(operators[place:], operators[place + 1 : -1]) if not _scales(op, before)
    ]:
        return f"not fused: {mixing[0]} needs finished rows of {softmaxes[0].name}; only factors may stand behind it."
    if second.inputs[0].name != operators[-2].output.name:
        return f"not fused: {second.name} does not weigh its values with {operators[-2].output.name}."
    q, k, v = first.inputs[0], first.inputs[1], second.inputs[1]
    return Attention(
        queries=q.shape[-2],
        keys=first.output.shape[-1],
        width=max(q.shape[-1], second.output.shape[-1]),
        q_elements=q.elements,
        kv_elements=k.elements + v.elements,
        o_elements=second.output.elements,
    )
