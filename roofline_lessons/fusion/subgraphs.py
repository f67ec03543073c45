"""Small graphs that an engine looks for and replaces by one operator: GELU and layer norm spelt out in primitives.

The search is for the spelling, not for the meaning: another spelling of the same formula is not found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..graph import Graph, Operator
from .legality import flow, in_order


@dataclass(frozen=True)
class Subgraph:
    """Operators that an engine replaces by one.

    name : what they are together.
    kinds : of each operator the kind, or several with "|" between.
    edges : (producer, reader) as places in `kinds`. Nothing else may connect them; all read one tensor from outside.
    reads : the places that read that tensor; whichever do when not given.
    """

    name: str
    kinds: tuple[str, ...]
    edges: tuple[tuple[int, int], ...]
    reads: tuple[int, ...] | None = None


def _path(*places: int) -> tuple[tuple[int, int], ...]:
    return tuple(zip(places, places[1:]))


_GELU = _path(0, 1, 2, 3, 4)
_GELU_HALF_FIRST = (*_path(0, 1, 2, 3), (4, 3))

#: x / √2, erf, + 1, times x, times ½; the half may also be taken from x first (or, in the first, of the sum).
GELU_ERF = (
    Subgraph("gelu", ("div|mul", "erf", "add", "mul", "mul"), _GELU),
    Subgraph("gelu", ("div|mul", "erf", "add", "mul", "mul"), _GELU_HALF_FIRST),
)
GELU_ERF_DIVIDED = (
    Subgraph("gelu", ("div", "erf", "add", "mul", "mul"), _GELU, reads=(0, 3)),
    Subgraph("gelu", ("div", "erf", "add", "mul", "mul"), _GELU_HALF_FIRST, reads=(0, 4)),
)

_TANH_KINDS = ("pow", "mul", "add", "mul", "tanh", "add", "mul", "mul")

#: x³, times 0.044715, + x, times √(2/π), tanh, + 1, times x/2; or times ½ first, then times x.
GELU_TANH = (
    Subgraph("gelu (tanh)", _TANH_KINDS, (*_path(0, 1, 2, 3, 4, 5, 7), (6, 7))),
    Subgraph("gelu (tanh)", _TANH_KINDS, _path(0, 1, 2, 3, 4, 5, 6, 7)),
)

#: x times sigmoid(x).
SILU = (Subgraph("silu", ("sigmoid", "mul"), _path(0, 1), reads=(0, 1)),)

#: Power of 2, mean, + ε, root, division, times gamma.
RMS_NORM = (
    Subgraph("rms norm", ("pow", "reduce_mean", "add", "sqrt", "div", "mul"), _path(0, 1, 2, 3, 4, 5), reads=(0, 4)),
)

#: Mean, x - mean, its power of 2, mean, + ε, root, division, times gamma, + beta: as PyTorch exports it to ONNX.
LAYER_NORM_DIVIDED = (
    Subgraph(
        "layer norm",
        ("reduce_mean", "sub", "pow", "reduce_mean", "add", "sqrt", "div", "mul", "add"),
        (*_path(0, 1, 2, 3, 4, 5, 6, 7, 8), (1, 6)),
        reads=(0, 1),
    ),
)

#: x·s + (beta - mean·s), where s = gamma / √(variance + ε): as TensorFlow spells it.
LAYER_NORM_SCALED = (
    Subgraph(
        "layer norm",
        ("reduce_mean", "sub", "square", "reduce_mean", "add", "rsqrt", "mul", "mul", "mul", "sub", "add"),
        (*_path(0, 1, 2, 3, 4, 5, 6, 7, 10), (6, 8), (0, 8), (8, 9), (9, 10)),
        reads=(0, 1, 7),
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
            if not taken & set(match) and _closed(graph, operators) and _reads_right(graph, wanted, match):
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


def _reads_right(graph: Graph, wanted: Subgraph, match: Mapping[str, int]) -> bool:
    """The tensor from outside is read where the subgraph says."""
    makes = {graph[name].output.name for name in match}
    reads = {
        place
        for name, place in match.items()
        if any(s.name not in makes for t in graph[name].activations for s in graph.storage(t))
    }
    return wanted.reads is None or reads == set(wanted.reads)
