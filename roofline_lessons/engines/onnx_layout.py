"""ONNX Runtime's blocked layout (NCHWc) taken out of a graph again, so that its nodes can be compared with ours.

At its highest level the engine stores images in blocks of channels. Its tensors then have new names, and two kinds of
nodes belong to no operator: they only rearrange numbers. A convolution is made anew and keeps the name of what it made
before, and the activation or addition that it takes in leaves no trace but the tensors that are gone.
(onnxruntime/core/optimizer/nchwc_transformer.cc, version 1.32.)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from .merges import Node

#: Kinds of nodes that only rearrange numbers.
LAYOUT = ("ReorderInput", "ReorderOutput")

#: Kinds of nodes that a convolution in blocks of channels takes in.
TAKEN_IN = ("Add", "Sum", "Relu", "LeakyRelu", "Clip", "Sigmoid", "Tanh", "HardSigmoid")

_BLOCKED = "_nchwc"


def unblocked(before: Sequence[Node], after: Sequence[Node]) -> list[Node]:
    """The nodes of the engine's graph without those of the layout, with the names that its tensors had before.

    Parameters
    ----------
    before, after : sequence of Node
        The given graph and the engine's, in the order they run.

    Examples
    --------
    >>> conv, relu = Node("a", "Conv", ("x",), ("y",)), Node("b", "Relu", ("y",), ("z",))
    >>> made = [Node("ReorderInput", "ReorderInput", ("x",), ("r0",)), Node("y_nchwc", "Conv", ("r0",), ("r1",)),
    ...         Node("ReorderOutput", "ReorderOutput", ("r1",), ("z",))]
    >>> unblocked([conv, relu], made)
    [Node(name='y_nchwc', kind='Conv', inputs=('x',), outputs=('z',))]
    """
    if not any(node.kind in LAYOUT or node.name.endswith(_BLOCKED) for node in after):
        return list(after)
    known = {name for node in before for name in (*node.inputs, *node.outputs)}
    kept = {node.name: node for node in before}
    ends = {node.name: _end(node, known, kept) for node in after if node.kind not in LAYOUT}
    taken_in = _TakenIn(before, after, ends)
    called: dict[str, str] = {}  # the engine's tensor -> ours
    for node in after:
        if node.kind in LAYOUT:
            called |= {name: called.get(node.inputs[0], node.inputs[0]) for name in node.outputs}
        elif ends[node.name]:
            called[node.outputs[0]] = taken_in.last(node, ends[node.name])

    def ours(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(called.get(name, name) for name in names)

    working = [node for node in after if node.kind not in LAYOUT]
    return [dataclasses.replace(n, inputs=ours(n.inputs), outputs=ours(n.outputs)) for n in working]


def _end(node: Node, known: set[str], kept: dict[str, Node]) -> str:
    """The tensor of the given graph that a node made before anything was taken in; "" where there was none."""
    if node.outputs[0] in known:
        return node.outputs[0]
    if node.name.removesuffix(_BLOCKED) in known:
        return node.name.removesuffix(_BLOCKED)
    return kept[node.name].outputs[0] if node.name in kept else ""


class _TakenIn:
    """What convolutions took in: nodes that nothing in the engine's graph stands for."""

    def __init__(self, before: Sequence[Node], after: Sequence[Node], ends: dict[str, str]) -> None:
        self._readers: dict[str, list[Node]] = {}
        for node in before:
            for name in node.inputs:
                self._readers.setdefault(name, []).append(node)
        self._there = {node.name for node in after} | set(ends.values())

    def last(self, node: Node, tensor: str) -> str:
        """The tensor that a node makes with everything that it took in."""
        operands = len(node.inputs)
        while node.kind == "Conv" and len(self._readers.get(tensor, ())) == 1:
            (reader,) = self._readers[tensor]
            others = len(reader.inputs) - 1
            if reader.kind not in TAKEN_IN or others >= operands or self._there & {reader.name, *reader.outputs}:
                break
            operands -= others
            tensor = reader.outputs[0]
        return tensor
