"""How much memory the tensors between kernels need at once: what must fit where they are kept.

A tensor is alive from the kernel that writes it to the last kernel that reads it; a graph input from the start, a
graph output to the end. What stays inside a kernel is never alive here: it lives on the chip, as tiles. A kernel's
outputs get memory of their own, none is written over an input. Weights are not counted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..graph import Tensor
from ..precision import Precision, precision
from .plan import Plan
from .traffic import tensor_bytes


def live_bytes(plan: Plan, p: str | Precision = "fp32") -> NDArray[np.float64]:
    """Bytes of activations that are alive while each kernel runs, in the order of the plan.

    Parameters
    ----------
    plan : Plan
        Its kernels run in its order; another order may need less.
    p : str or Precision

    Returns
    -------
    array (kernels,)

    Examples
    --------
    Two operators, each with its input and its output of 4,096 bytes; as one kernel the same two tensors are left.

    >>> from roofline_lessons import GraphBuilder, fuse, unfused
    >>> b = GraphBuilder("two")
    >>> graph = b.build(outputs=[b.relu(b.relu(b.input("x", (1, 1024))))])
    >>> live_bytes(unfused(graph)).tolist(), live_bytes(fuse(graph, "elementwise")).tolist()
    ([8192.0, 8192.0], [8192.0])
    """
    p = precision(p)
    alive = np.zeros(len(plan))
    for tensor, first, last in _lives(plan):
        alive[first : last + 1] += tensor_bytes(tensor, tensor.elements, p)
    return alive


def peak_live_bytes(plan: Plan, p: str | Precision = "fp32") -> float:
    """Bytes of memory that the activations between the kernels of a plan need: the most that are alive at once.

    Parameters
    ----------
    plan : Plan
    p : str or Precision

    Returns
    -------
    float

    See Also
    --------
    live_bytes : the same, kernel by kernel.
    """
    return float(live_bytes(plan, p).max(initial=0.0))


def _lives(plan: Plan) -> list[tuple[Tensor, int, int]]:
    """Every activation in memory, with the first and the last kernel during which it is there."""
    tensor: dict[str, Tensor] = {}
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for t in plan.graph.inputs:
        tensor[t.name], first[t.name], last[t.name] = t, 0, 0
    for i, kernel in enumerate(plan.kernels):
        for transfer in (*kernel.reads, *kernel.writes):
            t = transfer.tensor
            if not t.is_constant:
                tensor[t.name] = t
                first.setdefault(t.name, i)
                last[t.name] = i
    for output in plan.graph.outputs:
        for t in plan.graph.storage(output):
            if t.name in last:
                last[t.name] = len(plan) - 1
    return [(t, first[name], last[name]) for name, t in tensor.items()]
