"""The nodes of an ONNX graph in an order in which each runs after those that make what it reads."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from onnx import AttributeProto, GraphProto, NodeProto

from .assembly import MOST_OPERATORS, Assembly, shown


def in_order(graph: GraphProto, assembly: Assembly) -> list[tuple[int, NodeProto]]:
    """(place in the file, node), sorted where the file is not.

    Raises
    ------
    ModelFileError
        A name made twice, or nodes that wait for each other.
    """
    nodes = list(graph.node)
    if len(nodes) > MOST_OPERATORS:
        raise assembly.error(f"{len(nodes):,} nodes, more than {MOST_OPERATORS:,}")
    maker: dict[str, int] = {}
    for i, node in enumerate(nodes):
        for name in node.output:
            if name and name in maker:
                raise assembly.error(f"it makes {shown(name)}, which another node makes too", _name(node, i))
            maker[name] = i
    before = [{maker[n] for n in _reads(node) if n and n in maker} for node in nodes]
    if all(max(b, default=-1) < i for i, b in enumerate(before)):
        return list(enumerate(nodes))
    return [(i, nodes[i]) for i in _sorted(before, nodes, assembly)]


def _sorted(before: list[set[int]], nodes: list[NodeProto], assembly: Assembly) -> list[int]:
    """Kahn's algorithm; what is left over waits for itself."""
    waits = [len(b) for b in before]
    after: list[list[int]] = [[] for _ in nodes]
    for i, b in enumerate(before):
        for j in b:
            after[j].append(i)
    ready = deque(i for i, n in enumerate(waits) if n == 0)
    order: list[int] = []
    while ready:
        i = ready.popleft()
        order.append(i)
        for j in after[i]:
            waits[j] -= 1
            if waits[j] == 0:
                ready.append(j)
    if len(order) < len(nodes):
        stuck = next(i for i, n in enumerate(waits) if n > 0)
        raise assembly.error("it waits for its own result: the graph has a cycle", _name(nodes[stuck], stuck))
    return order


def _reads(node: NodeProto) -> Iterator[str]:
    """What a node reads; its inner graphs read names of the graph around them."""
    yield from node.input
    for a in node.attribute:
        if a.type == AttributeProto.GRAPH:
            own = {o for n in a.g.node for o in n.output} | {i.name for i in a.g.input}
            yield from (n for inner in a.g.node for n in _reads(inner) if n not in own)
            yield from (o.name for o in a.g.output if o.name not in own)


def _name(node: NodeProto, i: int) -> str:
    return node.name or f"{node.op_type}_{i}"
