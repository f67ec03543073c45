"""What an engine merged: two graphs compared, the one that was given and the one that the engine made of it.

Engines keep the names of the tensors that still exist. So each operator of the engine's graph stands for the part of
the given graph between the tensors it reads and the tensor it makes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..fusion import Plan, RuleSet, fuse
from ..graph import Graph


class Merge(NamedTuple):
    """Operators that became one kernel.

    before : names of the operators that there were, in their order.
    after : kinds of the engine's operators that do their work now: one, or more where the engine reshapes around it.
    rule : the engine's own name for what it did; several are joined with " + ".
    """

    before: tuple[str, ...]
    after: tuple[str, ...]
    rule: str


@dataclass(frozen=True)
class Node:
    """An operator of an engine's graph, with the names of the activations it reads and makes."""

    name: str
    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Replacement:
    """Nodes of the given graph, and the nodes that stand for them in the engine's."""

    before: tuple[Node, ...]
    after: tuple[Node, ...]


def replacements(before: Sequence[Node], after: Sequence[Node]) -> list[Replacement]:
    """Which nodes of the engine's graph stand for which nodes of the given one.

    Parameters
    ----------
    before, after : sequence of Node
        In the order they run.

    Examples
    --------
    >>> conv, relu = Node("a", "Conv", ("x",), ("y",)), Node("b", "Relu", ("y",), ("z",))
    >>> (one,) = replacements([conv, relu], [Node("c", "FusedConv", ("x",), ("z",))])
    >>> [node.kind for node in one.before]
    ['Conv', 'Relu']
    """
    makers = {name: node for node in before for name in node.outputs}
    still_made = {name for node in after for name in node.outputs if name in makers}
    place = {node.name: i for i, node in enumerate(before)}
    found: list[Replacement] = []
    helpers: dict[str, Node] = {}
    for node in after:
        if not any(name in makers for name in node.outputs):  # it makes something that there was not before
            helpers |= dict.fromkeys(node.outputs, node)
            continue
        part = _between(makers, node.outputs, still_made - set(node.outputs))
        found.append(Replacement(tuple(sorted(part, key=lambda n: place[n.name])), (*_helping(helpers, node), node)))
    return found


def _between(makers: Mapping[str, Node], outputs: Iterable[str], ends: set[str]) -> set[Node]:
    """The nodes on the ways back from some tensors to others."""
    part: set[Node] = set()
    queue = [name for name in outputs if name in makers]
    while queue:
        node = makers[queue.pop()]
        if node not in part:
            part.add(node)
            queue += [name for name in node.inputs if name in makers and name not in ends]
    return part


def _helping(helpers: Mapping[str, Node], node: Node) -> list[Node]:
    """The new nodes whose results a node uses, and theirs, in the order they run."""
    found: dict[str, Node] = {}
    queue = list(node.inputs)
    while queue:
        name = queue.pop()
        if name in helpers and helpers[name].name not in found:
            found[helpers[name].name] = helpers[name]
            queue += helpers[name].inputs
    return [helper for helper in dict.fromkeys(helpers.values()) if helper.name in found]


# -- against the operators and rules of this package ------------------------------------------------------------------


def operator_of(graph: Graph, nodes: Sequence[Node]) -> dict[str, str]:
    """Node -> the operator of ours that it was written for; an operator may have been written as several nodes.

    The nodes of an operator follow each other, and the last one makes its output.
    """
    found: dict[str, str] = {}
    waiting: list[str] = []
    for node in nodes:
        waiting.append(node.name)
        maker = next((graph.producers[name] for name in node.outputs if name in graph.producers), None)
        if maker is not None:
            found |= dict.fromkeys(waiting, maker.name)
            waiting = []
    return found


def names(graph: Graph | None, nodes: Sequence[Node]) -> dict[str, str]:
    """Node -> what it is called in a `Merge`: our operator, or its own name where the model is a file."""
    return {node.name: node.name for node in nodes} if graph is None else operator_of(graph, nodes)


def several(
    graph: Graph | None, called: Mapping[str, str], found: Sequence[Replacement]
) -> list[tuple[Replacement, tuple[str, ...]]]:
    """The replacements of several operators by one, with the operators' names. Views do not count."""
    merged = []
    for replacement in found:
        whole = dict.fromkeys(called[node.name] for node in replacement.before if node.name in called)
        own = {called[node.name] for node in replacement.before if graph is None or _ends(graph, called, node)}
        before = tuple(name for name in whole if name in own and not (graph and graph[name].is_view))
        if len(before) > 1 and len(replacement.after) < len(replacement.before):
            merged.append((replacement, before))
    return merged


def _ends(graph: Graph, called: Mapping[str, str], node: Node) -> bool:
    """Whether a node is the last one of its operator: the one whose kernel the operator counts to."""
    return node.name in called and any(t.name in node.outputs for t in graph[called[node.name]].outputs)


def plan_of(graph: Graph, merges: Iterable[Merge]) -> Plan:
    """The plan that an engine's merges are: what it did not merge runs alone.

    Examples
    --------
    >>> from roofline_lessons import networks
    >>> graph = networks.bottleneck()
    >>> len(plan_of(graph, [Merge(("conv_0", "batch_norm_0"), ("Conv",), "ConvBNFusion")])), len(graph)
    (8, 9)
    """
    return fuse(graph, groups=[merge.before for merge in merges], fold=True)


class Difference(NamedTuple):
    """An operator that an engine and a rule set put into different kernels."""

    operator: str
    engine: tuple[str, ...]
    rules: tuple[str, ...]


def differences(graph: Graph, merges: Iterable[Merge], rules: str | RuleSet) -> list[Difference]:
    """Operator by operator, where an engine's kernels are not those of a rule set.

    Parameters
    ----------
    graph : Graph
    merges : iterable of Merge
        What `fusions` of an engine said of this graph.
    rules : str or RuleSet

    Returns
    -------
    list of Difference
        Empty where they agree.
    """
    theirs = {name: merge.before for merge in merges for name in merge.before}
    ours = {
        op.name: tuple(o.name for o in kernel.operators)
        for kernel in fuse(graph, rules).kernels
        for op in kernel.operators
    }
    pairs = [(op.name, theirs.get(op.name, (op.name,)), ours[op.name]) for op in graph if not op.is_view]
    return [Difference(*pair) for pair in pairs if set(pair[1]) != set(pair[2])]
