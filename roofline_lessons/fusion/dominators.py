"""TVM's way to fuse: an operator merges with the one that everything it makes must pass, its post-dominator.

References
----------
Chen et al., "TVM", OSDI 2018, section 3 (the four kinds of operators). The pass itself: apache/tvm,
`src/relay/transforms/fuse_ops.cc` (`GraphPartitioner::RunFuse`), read there; tuples and its second phase, which is for
tuples alone, do not exist here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..graph import Graph, Operator
from .legality import flow, makers

#: Pattern kinds, from what fuses most freely to what never fuses.
PATTERNS = ("ElemWise", "Broadcast", "Injective", "CommReduce", "OutEWiseFusable", "Opaque")
ELEMWISE, BROADCAST, INJECTIVE, COMM_REDUCE, OUT_EWISE_FUSABLE, OPAQUE = range(6)


#: Pattern of a group -> at most: how its readers may use what it makes, what may stand on the paths, and what the
#: post-dominator may be.
_LIMITS = {
    ELEMWISE: (COMM_REDUCE, INJECTIVE, OUT_EWISE_FUSABLE),
    BROADCAST: (COMM_REDUCE, INJECTIVE, OUT_EWISE_FUSABLE),
    INJECTIVE: (OPAQUE, INJECTIVE, INJECTIVE),
    OUT_EWISE_FUSABLE: (ELEMWISE, BROADCAST, BROADCAST),
}


class Partition:
    """The groups that TVM's pass makes of a graph.

    Parameters
    ----------
    graph : Graph
    pattern_of : mapping of str to int
        Operator kind -> place in `PATTERNS`; kinds that are missing are opaque.
    depth : int
        The most operators of one group.

    Attributes
    ----------
    groups : list of list of Operator
    reasons : dict of str to str
        For each operator that its post-dominator did not take, why: a sentence.
    """

    def __init__(self, graph: Graph, pattern_of: Mapping[str, int], depth: int) -> None:
        self.graph, self.depth = graph, depth
        self._flow = flow(graph)
        self._pattern = {name: pattern_of.get(graph[name].kind, OPAQUE) for name in self._flow}
        self._edge = {edge: self._edge_pattern(*edge) for edge in self._flow.edges}
        self._group = {name: [name] for name in self._flow}
        self._group_pattern = dict(self._pattern)  # by the first name of the group
        self.reasons: dict[str, str] = {}
        self._sinks = self._post_dominators()
        for phase in (0, 1):
            for name in self._flow:
                self._try(name, phase)

    @property
    def groups(self) -> list[list[Operator]]:
        return [[self.graph[n] for n in group] for name, group in self._group.items() if group[0] == name]

    def reason(self, name: str, other: str) -> str:
        """Why an operator is not in one group with another that reads what it makes."""
        if other not in self._flow.successors(name):
            return f"not fused: {other} does not read what {name} makes."
        return self.reasons[name]

    def _edge_pattern(self, producer: str, reader: str) -> int:
        """How a reader uses what it reads: a broadcast with an operand of its own shape is element by element."""
        pattern, op = self._pattern[reader], self.graph[reader]
        same_shape = self.graph[producer].output.shape == op.output.shape
        return ELEMWISE if pattern == BROADCAST and same_shape else pattern

    def _post_dominators(self) -> dict[str, str]:
        """For each operator the next one that all it makes must pass; none where it leads to several results."""
        import networkx as nx  # see plan.py

        backward = self._flow.reverse()
        kept = {op.name for t in self.graph.outputs for op in makers(self.graph, t)}
        ends = [name for name in self._flow if name in kept or not self._flow.out_degree(name)]
        backward.add_edges_from(("", name) for name in ends)  # no operator has no name
        found = nx.immediate_dominators(backward, "")
        return {name: sink for name, sink in found.items() if name and sink}

    def _try(self, name: str, phase: int) -> None:
        """Merge an operator's group into that of its post-dominator, with all between, where the patterns let it."""
        sink = self._sinks.get(name)
        group, pattern = self._group[name], self._group_pattern[self._group[name][0]]
        if pattern == OPAQUE:
            self.reasons[name] = f"not fused: {name} ({self.graph[name].kind}) is opaque to TVM."
            return
        if sink is None:
            self.reasons[name] = f"not fused: what {name} makes is a result, or leads to several."
            return
        if group is self._group[sink]:
            return
        if pattern == COMM_REDUCE:
            self.reasons[name] = f"not fused: TVM puts nothing behind a reduction, and {name} is one."
            return
        if pattern == (INJECTIVE if phase == 0 else OUT_EWISE_FUSABLE):
            return  # injective operators wait for the second phase, anchors are done in the first
        between = self._between(name, sink)
        edges = self._flow.subgraph({name, *between}).edges
        _, reader = widest = max(edges, key=self._edge.__getitem__)
        most_edge, most, most_sink = _LIMITS[pattern]
        if self._edge[widest] > most_edge:
            self.reasons[name] = f"not fused: TVM does not put {self._called(reader)} behind {self._called(name)}."
            return
        blocked = next((n for n in between if self._pattern_now(n) > (most_sink if n == sink else most)), None)
        if blocked is not None:
            self.reasons[name] = (
                f"not fused: the group of {blocked} is {PATTERNS[self._pattern_now(blocked)]} already, "
                f"too much behind {self._called(name)}."
            )
            return
        self._merge(name, sink, between)

    def _called(self, name: str) -> str:
        return f"{name} ({PATTERNS[self._pattern[name]]})"

    def _merge(self, name: str, sink: str, between: Sequence[str]) -> None:
        together = {n for member in (name, *between) for n in self._group[member]}
        if len(together) > self.depth:
            many = f"{name} and {sink} would be {len(together)} operators"
            self.reasons[name] = f"not fused: {many}, over the depth limit of {self.depth}."
            return
        self.reasons.pop(name, None)
        highest = max(self._pattern_now(n) for n in (name, *between))
        group = [n for n in self._flow if n in together]
        for n in group:
            self._group[n] = group
        self._group_pattern[group[0]] = highest

    def _pattern_now(self, name: str) -> int:
        return self._group_pattern[self._group[name][0]]

    def _between(self, name: str, sink: str) -> list[str]:
        """The operators on all paths to the post-dominator, itself included."""
        found: dict[str, None] = {}
        queue = [name]
        for at in queue:
            for reader in self._flow.successors(at):
                if reader not in found:
                    found[reader] = None
                    if reader != sink:
                        queue.append(reader)
        return list(found)
