"""The exercise of the lesson on what real compilers fuse (12), as data.

A graph is a dict there, as in lesson 07: operator -> what it reads. A tensor has the name of its operator.
"""

from __future__ import annotations

import numpy as np

from .exercise import Exercise, Misconception
from .exercises_legality import Reads

_BLOCK: Reads = {"conv": ["x"], "norm": ["conv"], "relu": ["norm"], "pool": ["relu"]}
_RESIDUAL: Reads = {"first": ["x"], "conv": ["first"], "norm": ["conv"], "add": ["norm", "first"], "relu": ["add"]}
_NORM: Reads = {"mean": ["x"], "centred": ["x", "mean"], "square": ["centred"], "spread": ["square"],
                "root": ["spread"], "divided": ["centred", "root"], "scaled": ["divided"]}  # fmt: skip


def _part_of_a_graph(rng: np.random.Generator) -> tuple[str, set[str], Reads]:
    """A random graph, an operator of it, and all that stands further back than one or two steps as what is read."""
    made, reads = ["x"], {}
    for name in "abcdefghij"[: int(rng.integers(5, 10))]:
        near = made[-3:]
        reads[name] = [str(t) for t in rng.choice(near, min(len(near), int(rng.integers(1, 3))), replace=False)]
        made.append(name)
    output = made[-1]
    inside = {output}
    for _ in range(int(rng.integers(1, 3))):
        inside |= {t for op in inside for t in reads[op] if t != "x"}
    return output, {t for op in inside for t in reads[op]} - inside, reads


def _wrong(line: str, message: str) -> Misconception:
    return Misconception(
        "def f(output, inputs, reads):\n"
        "    found, queue = set(), [output]\n"
        "    while queue:\n"
        "        op = queue.pop()\n"
        f"        if op in found:\n            continue\n        found.add(op)\n        queue += {line}\n"
        "    return found",
        message,
    )


ENGINES = [
    Exercise(
        name="12-stands-for",
        stub="""
def stands_for(output, inputs, reads):
    found, queue = set(), [output]
    while queue:
        op = queue.pop()
        found.add(op)
        queue += ...
    return found
""",
        solution="""
def stands_for(output, inputs, reads):
    found, queue = set(), [output]
    while queue:
        op = queue.pop()
        found.add(op)
        queue += [t for t in reads[op] if t not in inputs]
    return found
""",
        inputs=(
            ("relu", {"x"}, _BLOCK),
            ("relu", {"conv"}, _BLOCK),
            ("pool", {"relu"}, _BLOCK),
            ("relu", {"first"}, _RESIDUAL),
            ("add", {"conv", "first"}, _RESIDUAL),
            ("scaled", {"x"}, _NORM),
            ("divided", {"centred"}, _NORM),
        ),
        random=_part_of_a_graph,
        misconceptions=(
            _wrong(
                '[t for t in reads[op] if t != "x"]',
                "You walk back to the beginning of the network. The new operator reads what is in `inputs`: what makes "
                "that is still there, and is not replaced.",
            ),
            _wrong(
                "[t for t in reads[op] if t in inputs]",
                "The other way round: where a tensor is in `inputs`, the walk has arrived.",
            ),
            _wrong(
                "[t for t in reads[op][:1] if t not in inputs]",
                "You follow only the first tensor that an operator reads. An addition reads two.",
            ),
            _wrong("[]", "That is the last operator alone. What it reads was made by others, and they went, too."),
        ),
        hints=(
            "`queue` holds what still has to be looked at. After `op`: whatever made what `op` reads.",
            "A tensor has the name of the operator that makes it, so `reads[op]` is a list of operators, too.",
            "Stop at the tensors that the new operator itself reads: they are in `inputs`.",
        ),
    ),
]
