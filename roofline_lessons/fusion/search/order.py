"""Operators in a line: an order to cut into slices, and who reads first and last in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...graph import Graph, Operator
from ..legality import flow


def depth_first_order(graph: Graph) -> list[Operator]:
    """Operators in an order in which they can run, each directly behind the producer on its longest path.

    So a side branch stands before the main one, and what joins them stands behind the main one.
    """
    import networkx as nx  # see ../plan.py

    flows = flow(graph)
    longest: dict[str, int] = {}
    for name in flows:  # in the order they run
        longest[name] = 1 + max((longest[p] for p in flows.predecessors(name)), default=0)
    backward = flows.reverse()
    backward.add_edges_from(("", name) for name in flows if not flows.out_degree(name))  # no operator has no name
    order = nx.dfs_postorder_nodes(backward, "", sort_neighbors=lambda names: sorted(names, key=longest.__getitem__))
    return [graph[name] for name in order if name]


def positions(order: Sequence[Operator]) -> dict[str, int]:
    """Name of each operator -> its place."""
    return {op.name: i for i, op in enumerate(order)}


def first_readers(graph: Graph, order: Sequence[Operator]) -> NDArray[np.float64]:
    """Position of the first reader of what each operator makes; infinity where nobody reads it."""
    at, first = positions(order), np.full(len(order), np.inf)
    for i, op in enumerate(order):
        for stored in (s for t in op.activations for s in graph.storage(t)):
            if (maker := graph.producers.get(stored.name)) is not None:
                first[at[maker.name]] = min(first[at[maker.name]], i)
    return first


def last_readers(graph: Graph, order: Sequence[Operator]) -> Mapping[str, float]:
    """Position of the last reader of each tensor; infinity for what the graph keeps."""
    last: dict[str, float] = {}
    for i, op in enumerate(order):
        last |= {stored.name: i for t in op.activations for stored in graph.storage(t)}
    return last | {stored.name: np.inf for t in graph.outputs for stored in graph.storage(t)}
