"""What no rule set may do: the legality of a kernel, always checked. Every refusal is a sentence with names in it."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..graph import Graph, Operator, Tensor
from .tiling import why_not_tiled

if TYPE_CHECKING:
    import networkx as nx


def in_order(graph: Graph, operators: Iterable[Operator]) -> tuple[Operator, ...]:
    """Operators in the order of their graph."""
    return tuple(sorted(operators, key=graph.position))


def makers(graph: Graph, tensor: Tensor) -> list[Operator]:
    """The operators that make a tensor, views looked through; none where it comes from outside."""
    return [graph.producers[stored.name] for stored in graph.storage(tensor) if stored.name in graph.producers]


def working_producers(graph: Graph, op: Operator) -> list[Operator]:
    """The operators that make what an operator reads, views looked through."""
    return list({p.name: p for t in op.activations for p in makers(graph, t)}.values())


def working_readers(graph: Graph, op: Operator) -> list[Operator]:
    """The operators that read what an operator makes, views looked through."""
    return [graph[name] for name in flow(graph).successors(op.name)]


def is_heavy(op: Operator) -> bool:
    """It makes sums (a convolution, a product) or reads windows (a pooling)."""
    return bool(op.macs) or "kernel" in op.attributes


def is_tiled(operators: Sequence[Operator]) -> bool:
    """A kernel of several heavy operators works tile by tile."""
    return sum(map(is_heavy, operators)) > 1


def why_not_tiles(graph: Graph, operators: Sequence[Operator]) -> str | None:
    """None when operators can be computed together tile by tile; otherwise the reason as a sentence."""
    inside = {op.name for op in operators}
    for op in operators:
        if reason := why_not_tiled(op):
            return f"not fused: {reason}."
        for t in op.activations:
            maker = graph.producers.get(t.name)
            if maker is not None and maker.is_view and any(p.name in inside for p in working_producers(graph, op)):
                return f"not fused: {op.name} reads {t.name}, a view, whose places are not those of a tile."
    return None


def why_not_connected(graph: Graph, first: Any, second: Any) -> str | None:
    """None when one of two kernels reads what the other makes, or both read one tensor; otherwise a sentence."""
    makes = [{t.name for op in k.operators for t in op.outputs} for k in (first, second)]
    reads = [{s.name for op in k.operators for t in op.activations for s in graph.storage(t)} for k in (first, second)]
    if makes[0] & reads[1] or makes[1] & reads[0] or reads[0] & reads[1] or first is second:
        return None
    return f"not fused: {first.operators[-1].name} and {second.operators[0].name} share no tensor."


def why_not_convex(graph: Graph, operators: Sequence[Operator]) -> str | None:
    """None when no path leaves a kernel and comes back; otherwise a sentence that names the operator outside."""
    inside = {op.name for op in operators}
    feeds = flow(graph)
    last = max(graph.position(op) for op in operators)
    # operators outside that depend on the kernel, up to its last operator
    reached: set[str] = set()
    queue = [(reader, op.name) for op in operators for reader in feeds.successors(op.name) if reader not in inside]
    while queue:
        name, source = queue.pop()
        if name in reached or graph.position(graph[name]) > last:
            continue
        reached.add(name)
        for reader in feeds.successors(name):
            if reader in inside:
                return (
                    f"not fused: {source} and {reader} cannot share a kernel without {name}, "
                    f"which needs {source} and feeds {reader}."
                )
            queue.append((reader, source))
    return None


def why_not_folded(graph: Graph, norm: Operator, operators: Sequence[Operator]) -> str | None:
    """None when a batch norm can move into the weight of the convolution before it; otherwise the reason.

    Only at inference (a graph here is inference), only directly behind the convolution, and only when nothing else
    reads the convolution's output or its weight: they would see the changed numbers.
    """
    if norm.kind != "batch_norm":
        return f"not folded: {norm.name} is no batch norm."
    source = norm.inputs[0]
    conv = graph.producers.get(source.name)
    if conv is None or conv.kind not in ("conv2d", "conv_transpose2d"):
        maker = conv.name if conv is not None else "nothing"
        return f"not folded: {norm.name} reads {source.name}, which {maker} makes; only a convolution takes a scale."
    if conv not in operators:
        return f"not folded: {conv.name} is not in the kernel of {norm.name}."
    others = [op.name for op in graph.consumers[source.name] if op is not norm]
    if others or any(t.name == source.name for t in graph.outputs):
        who = f"{others[0]} reads it too" if others else "it is an output of the graph"
        return f"not folded: {norm.name} would change {source.name}, and {who}."
    weight = conv.inputs[1]
    sharing = [op.name for op in graph.consumers[weight.name] if op is not conv]
    if sharing:
        return f"not folded: {norm.name} would change {weight.name}, which {sharing[0]} uses too."
    return None


def folded_bias(graph: Graph, norm: Operator) -> Tensor | None:
    """The bias that a convolution gets from a folded batch norm; None where it has one already."""
    conv = graph.producers[norm.inputs[0].name]
    if len(conv.inputs) > 2:
        return None
    return Tensor(f"{norm.name}.folded", (norm.output.shape[1],), "weight")


def folded_flops(graph: Graph, norm: Operator) -> int:
    """What is left of a folded batch norm: an addition per element where the convolution had no bias, else nothing."""
    return norm.output.elements if folded_bias(graph, norm) else 0


_flows: weakref.WeakKeyDictionary[Graph, nx.DiGraph] = weakref.WeakKeyDictionary()


def flow(graph: Graph) -> nx.DiGraph:
    """Who feeds whom, views looked through; made once per graph."""
    import networkx as nx  # see plan.py

    if graph not in _flows:
        flow: nx.DiGraph = nx.DiGraph()
        flow.add_nodes_from(op.name for op in graph if not op.is_view)
        flow.add_edges_from((p.name, op.name) for op in graph if not op.is_view for p in working_producers(graph, op))
        _flows[graph] = flow
    return _flows[graph]
