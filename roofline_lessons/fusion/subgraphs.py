"""Small graphs that an engine looks for and replaces by one operator: GELU and layer norm spelt out in primitives.

The search is for the spelling, not for the meaning: another spelling of the same formula is not found.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..graph import Graph, Operator
from .legality import flow, in_order


@dataclass(frozen=True)
class Subgraph:
    """Operators that an engine replaces by one.

    name : what they are together.
    kinds : of each operator the kind, or several with "|" between.
    edges : (producer, reader) as places in `kinds`. Nothing else may connect them; all read one tensor from outside.
    """

    name: str
    kinds: tuple[str, ...]
    edges: tuple[tuple[int, int], ...]


def _path(*places: int) -> tuple[tuple[int, int], ...]:
    return tuple(zip(places, places[1:]))


#: x / √2, erf, + 1, times x, times ½; the half may also be taken from x first.
GELU_ERF = (
    Subgraph("gelu", ("div|mul", "erf", "add", "mul", "mul"), _path(0, 1, 2, 3, 4)),
    Subgraph("gelu", ("div|mul", "erf", "add", "mul", "mul"), (*_path(0, 1, 2, 3), (4, 3))),
)

#: x³, times 0.044715, + x, times √(2/π), tanh, + 1, times x/2.
GELU_TANH = (
    Subgraph(
        "gelu (tanh)", ("pow", "mul", "add", "mul", "tanh", "add", "mul", "mul"), (*_path(0, 1, 2, 3, 4, 5, 7), (6, 7))
    ),
)

#: Mean, x - mean, square, mean, + ε, root, division, times gamma, + beta.
LAYER_NORM = (
    Subgraph(
        "layer norm",
        ("reduce_mean", "sub", "pow|square|mul", "reduce_mean", "add", "sqrt", "div", "mul", "add"),
        (*_path(0, 1, 2, 3, 4, 5, 6, 7, 8), (1, 6)),
    ),
)


def find(graph: Graph, subgraphs: Iterable[Subgraph]) -> list[tuple[Operator, ...]]:
    """The places of a graph where one of the subgraphs stands, each operator in one of them at most."""
    import networkx as nx  # see plan.py

    flows = flow(graph)
    kinds = {name: graph[name].kind for name in flows}
    found: list[tuple[Operator, ...]] = []
    taken: set[str] = set()
    for wanted in subgraphs:
        if not all(set(kind.split("|")) & set(kinds.values()) for kind in wanted.kinds):
            continue
        pattern = nx.DiGraph(wanted.edges)
        nx.set_node_attributes(pattern, dict(enumerate(wanted.kinds)), "kind")
        nx.set_node_attributes(flows, kinds, "kind")
        matcher = nx.isomorphism.DiGraphMatcher(
            flows, pattern, node_match=lambda here, there: here["kind"] in there["kind"].split("|")
        )
        for match in matcher.subgraph_isomorphisms_iter():
            operators = in_order(graph, (graph[name] for name in match))
            if not taken & set(match) and _closed(graph, operators):
                taken |= set(match)
                found.append(operators)
    return found


def _closed(graph: Graph, operators: tuple[Operator, ...]) -> bool:
    """One tensor comes in, and nothing but the last result is needed outside."""
    inside = {op.name for op in operators}
    makes = {op.output.name for op in operators}
    comes = {s.name for op in operators for t in op.activations for s in graph.storage(t)} - makes
    kept = {t.name for t in graph.outputs}
    return len(comes) == 1 and all(
        op.output.name not in kept and inside.issuperset(flow(graph).successors(op.name)) for op in operators[:-1]
    )
