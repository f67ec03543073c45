"""The fastest plan of a small graph, exactly: every way to cut it into kernels that run one after the other.

After some kernels have run, the operators done so far are a set that holds the producers of each of its members. A
kernel leads from one such set to a larger one. So the fastest plan is a shortest path over these sets. A chain of n
operators has n + 1 of them, a graph of n independent operators 2ⁿ: hence only for small graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...errors import FusionError
from ...graph import Graph, Operator
from ..kernel import Kernel
from ..legality import working_producers
from .pricing import Pricer

Joins = Callable[[Sequence[Operator]], bool]


def done_sets(graph: Graph, working: Sequence[Operator]) -> list[int]:
    """Every set of operators that may be done at some moment, as bits, the smaller before the larger."""
    bit = {op.name: 1 << i for i, op in enumerate(working)}
    needs = [sum(bit[p.name] for p in working_producers(graph, op)) for op in working]
    found = {0}
    queue = [0]
    for done in queue:  # which grows
        for i, needed in enumerate(needs):
            more = done | 1 << i
            if not needed & ~done and more not in found:
                found.add(more)
                queue.append(more)
    return sorted(found, key=int.bit_count)


def fastest(graph: Graph, pricer: Pricer, joins: Joins, depth: int) -> list[Kernel]:
    """The kernels of the fastest plan.

    joins : whether a rule set makes a kernel of these operators.
    depth : the most operators of a kernel.
    """
    working = [op for op in graph if not op.is_view]
    sets, links = done_sets(graph, working), linked(graph, working)
    known: dict[int, tuple[float, Kernel | None]] = {}

    def price(members: int) -> tuple[float, Kernel | None]:
        if members not in known:
            known[members] = _price(tuple(op for i, op in enumerate(working) if members >> i & 1), pricer, joins)
        return known[members]

    best: dict[int, tuple[float, int]] = {0: (0.0, 0)}
    for done in sets:
        if done not in best:
            continue
        for more in sets:
            members = more & ~done
            if more & done != done or not members or members.bit_count() > depth or not _connected(members, links):
                continue
            seconds = best[done][0] + price(members)[0]
            if seconds < best.get(more, (float("inf"), 0))[0]:
                best[more] = seconds, done
    kernels: list[Kernel] = []
    at = sets[-1]
    while at:
        before = best[at][1]
        kernel = price(at & ~before)[1]
        assert kernel is not None
        kernels.append(kernel)
        at = before
    return kernels[::-1]


def _price(operators: tuple[Operator, ...], pricer: Pricer, joins: Joins) -> tuple[float, Kernel | None]:
    if not joins(operators):
        return float("inf"), None
    try:
        kernel = pricer.kernel(operators)
    except FusionError:
        return float("inf"), None
    return pricer.seconds(kernel), kernel


def linked(graph: Graph, working: Sequence[Operator]) -> list[int]:
    """For each operator the bits of those it shares a tensor with: one makes it and one reads it, or both read it."""
    reads = [{s.name for t in op.activations for s in graph.storage(t)} for op in working]
    makes = [{t.name for t in op.outputs} for op in working]
    links = [0] * len(working)
    for i in range(len(working)):
        for j in range(i):
            if makes[j] & reads[i] or reads[i] & reads[j]:
                links[i] |= 1 << j
                links[j] |= 1 << i
    return links


def _connected(members: int, links: Sequence[int]) -> bool:
    reached = frontier = members & -members
    while frontier:
        i = frontier.bit_length() - 1
        frontier &= ~(1 << i)
        new = links[i] & members & ~reached
        reached |= new
        frontier |= new
    return reached == members
