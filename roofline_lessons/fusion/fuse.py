"""`fuse`: from a rule set, or from groups by hand, to a plan."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import FusionError, whole
from ..graph import Graph, Operator
from .dominators import Partition
from .kernel import why_not_one_kernel
from .legality import working_producers
from .options import described
from .plan import Plan
from .rules import RuleSet, objection, rule_set
from .subgraphs import find
from .tiling import Tiling


@described
def fuse(
    graph: Graph,
    rules: str | RuleSet | None = None,
    depth: int | None = None,
    *,
    groups: Sequence[Sequence[str]] | None = None,
    tile: int | tuple[int, int] | None = None,
    halo: str = "recompute",
    fold: bool | None = None,
) -> Plan:
    """Fuse operators into kernels.

    Parameters
    ----------
    graph : Graph
    rules : str or RuleSet
        The greedy pass of a compiler under these rules; "epilogue" when neither rules nor groups are given.
    {depth}
    groups : sequence of sequence of str, optional
        By hand instead: names of the operators of each kernel. Operators that are not named run alone.
    {tile}
        By default the whole.
    {halo}
    {fold}
        By default what the rule set does; by hand no.

    Returns
    -------
    Plan

    Raises
    ------
    UnknownNameError
        A rule set, halo mode or operator that does not exist.
    FusionError
        Groups that break a rule; the message is the sentence that `Plan.why_not` gives.

    Examples
    --------
    >>> from roofline_lessons import networks
    >>> len(fuse(networks.mobilenet_v2(), rules="epilogue"))
    64
    """
    tiling = None if tile is None else Tiling(tile, halo)  # type: ignore[arg-type]
    if groups is not None:
        if rules is not None or depth is not None:
            raise FusionError("either groups by hand, or rules (and depth): not both.")
        return Plan(graph, _by_hand(graph, groups), fold=bool(fold), tiling=tiling)
    chosen = rule_set("epilogue" if rules is None else rules)
    most = len(graph) if depth is None else whole("depth", depth)
    folds = chosen.folds if fold is None else fold
    return Plan(graph, _greedy(graph, chosen, most), fold=folds, tiling=tiling, rules=chosen.name)


def why_not(graph: Graph, a: str, b: str, rules: str | RuleSet) -> str | None:
    """Why a rule set would not put two neighbouring operators into one kernel: None, or a sentence."""
    chosen = rule_set(rules)
    first, second = sorted((graph[a], graph[b]), key=graph.position)
    if chosen.patterns is not None:
        partition = Partition(graph, chosen.patterns, chosen.most)
        together = any(first in group and second in group for group in partition.groups)
        return None if together else partition.reason(first.name, second.name)
    if any(first in match and second in match for match in find(graph, chosen.subgraphs)):
        return None
    return objection(chosen, graph, [first], second)


def _by_hand(graph: Graph, groups: Sequence[Sequence[str]]) -> list[list[Operator]]:
    named = [[graph[name] for name in group] for group in groups]
    taken = {op.name for ops in named for op in ops}
    return [*named, *([op] for op in graph if not op.is_view and op.name not in taken)]


def _greedy(graph: Graph, rules: RuleSet, depth: int) -> Sequence[Sequence[Operator]]:
    """What a rule set makes: its subgraphs first, then each operator joins the kernel of one of its producers."""
    most = min(depth, rules.most)
    if rules.patterns is not None:
        return Partition(graph, rules.patterns, most).groups
    whole_ones = [match for match in find(graph, rules.subgraphs) if len(match) <= most]
    taken = {op.name for match in whole_ones for op in match}
    kernel_of: dict[str, list[Operator]] = {}
    kernels: list[list[Operator]] = []
    for op in graph:
        if op.is_view or op.name in taken:
            continue
        producers = [p for p in working_producers(graph, op) if p.name in kernel_of]
        for producer in sorted(producers, key=graph.position, reverse=True):
            kernel = kernel_of[producer.name]
            if len(kernel) < most and _may_join(graph, rules, kernel, op):
                kernel.append(op)
                kernel_of[op.name] = kernel
                break
        else:
            kernel_of[op.name] = [op]
            kernels.append(kernel_of[op.name])
    return [*whole_ones, *kernels]


def _may_join(graph: Graph, rules: RuleSet, kernel: list[Operator], op: Operator) -> bool:
    return not (objection(rules, graph, kernel, op) or why_not_one_kernel(graph, [*kernel, op]))
