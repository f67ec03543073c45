"""The graphs that are fused by hand, their edges, and the ways to cut a kernel at an edge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import networkx as nx

from ..errors import GraphError, unknown_name
from ..fusion import Kernel
from ..fusion.legality import in_order, makers
from ..graph import Graph, Operator, Tensor
from .small_networks import chosen

#: Operators that the picture has room for.
MOST_OPERATORS = 32


#: Graphs of the widget: each holds something to find out.
NETWORKS = chosen(
    "MobileNetV2 block", "residual block", "fork", "WDWD", "elementwise chain", "attention", "VGG-19 start"
)


@dataclass(frozen=True)
class Edge:
    """Two operators of which the second reads what the first makes."""

    maker: str
    reader: str
    tensor: Tensor

    @property
    def name(self) -> str:
        return f"{self.maker} and {self.reader}"


def graph_of(network: str | Graph) -> Graph:
    if not isinstance(network, Graph) and network not in NETWORKS:
        raise unknown_name("network", network, NETWORKS)
    graph = network if isinstance(network, Graph) else NETWORKS[network]()
    count = sum(not op.is_view for op in graph)
    if not 2 <= count <= MOST_OPERATORS:
        raise GraphError(
            f"{graph.name} has {count} operators; to fuse by hand there is room for 2 to {MOST_OPERATORS}."
        )
    return graph


def edges_of(graph: Graph) -> tuple[Edge, ...]:
    """Each operator and each reader of what it makes, views looked through, in the order of the graph."""
    found = {
        (maker.name, op.name): Edge(maker.name, op.name, maker.output)
        for op in graph
        if not op.is_view
        for t in op.activations
        for maker in makers(graph, t)
    }
    order = sorted(found, key=lambda pair: [graph.position(graph[name]) for name in pair])
    return tuple(found[pair] for pair in order)


def cuts(graph: Graph, kernel: Kernel, a: str, b: str) -> list[list[tuple[Operator, ...]]]:
    """Ways to separate two operators of a kernel, those first that cut the fewest edges.

    Either the second operator leaves with all that depends on it, or the first with all that it needs: both leave
    convex parts. What falls apart then becomes kernels of its own.
    """
    inside: nx.DiGraph = nx.DiGraph()
    inside.add_nodes_from(op.name for op in kernel.operators)
    names = set(inside)
    inside.add_edges_from((e.maker, e.reader) for e in edges_of(graph) if {e.maker, e.reader} <= names)
    late, early = {b, *nx.descendants(inside, b)}, {a, *nx.ancestors(inside, a)}
    ways = []
    for part in (late, early):
        pieces = [piece for side in (part, names - part) for piece in _pieces(inside, side)]
        ways.append([in_order(graph, (graph[name] for name in piece)) for piece in pieces])
    return sorted(ways, key=lambda way: sum(not _together(way, *edge) for edge in inside.edges))


def _pieces(inside: nx.DiGraph, names: set[str]) -> list[set[str]]:
    return list(nx.weakly_connected_components(inside.subgraph(names)))


def _together(way: Sequence[Sequence[Operator]], a: str, b: str) -> bool:
    return any({a, b} <= {op.name for op in operators} for operators in way)
