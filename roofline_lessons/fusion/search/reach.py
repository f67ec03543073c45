"""How far a slice may go: for each start, the last operator that may stand in one kernel with it."""

from __future__ import annotations

import bisect
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...graph import Graph, Operator
from ..legality import is_heavy
from ..rules import RuleSet, pair_objection

Ends = NDArray[np.intp]


def reach(graph: Graph, order: Sequence[Operator], rules: RuleSet | None) -> Ends:
    """For each start the last end, under a rule set or, without one, as long as operators share tensors."""
    far = _by_rules(graph, order, rules) if rules else _by_links(graph, order)
    return np.minimum(far, _before_unknown(order))


def _by_links(graph: Graph, order: Sequence[Operator]) -> Ends:
    """Every further operator shares a tensor with one before it in the slice."""
    last: dict[str, int] = {}
    link = np.full(len(order), -1)
    for i, op in enumerate(order):
        for name in {s.name for t in op.activations for s in graph.storage(t)}:
            link[i] = max(link[i], last.get(name, -1))
            last[name] = i
        last |= {t.name: i for t in op.outputs}
    ends = np.full(len(order), len(order) - 1)
    for i in range(len(order)):
        broken = np.flatnonzero(link[i + 1 :] < i)
        if len(broken):
            ends[i] = i + broken[0]
    return ends


def _before_unknown(order: Sequence[Operator]) -> Ends:
    """An operator of an unknown kind runs alone."""
    unknown = [i for i, op in enumerate(order) if not op.flops_known]
    n = len(order)
    behind = [*unknown, n]
    ends = [behind[bisect.bisect_right(unknown, i)] - 1 for i in range(n)]
    return np.array([i if i in unknown else end for i, end in enumerate(ends)])


def _by_rules(graph: Graph, order: Sequence[Operator], rules: RuleSet) -> Ends:
    """What the rule set comes to, operator by operator."""
    asked: dict[tuple[int, str], bool] = {}
    ends = np.arange(len(order))
    for start, first in enumerate(order):
        before, heavies = first, int(is_heavy(first))
        for i in range(start + 1, len(order)):
            op, key = order[i], (i, before.kind)
            if key not in asked:
                asked[key] = pair_objection(rules, graph, before, order[i - 1], op) is None
            heavies += is_heavy(op)
            if not asked[key] or heavies > rules.anchors:
                break
            ends[start] = i
            before = before if op.kind in rules.keeps else op
    return ends
