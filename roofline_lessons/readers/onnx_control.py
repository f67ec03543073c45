"""ONNX operators that hold graphs: If and Loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..graph import Operator
from .assembly import NotKnown, TooLong, Value
from .onnx_node import Node

#: Loops are unrolled up to so many nodes together.
MOST_UNROLLED = 10_000


def branch(n: Node) -> None:
    """If: both branches are read, and the costlier one counts. A known condition leaves no choice."""
    condition = n.data(0)
    keys = ["then_branch", "else_branch"]
    if condition:
        keys = keys[:1] if condition[0] else keys[1:]
    start = len(n.assembly.operators)
    found = []
    for key in keys:
        outputs = _graph(n, n.attributes[key], [])
        found.append((key, n.assembly.operators[start:], outputs))
        del n.assembly.operators[start:]
    key, operators, outputs = max(found, key=lambda f: _cost(f[1]))
    if len(found) > 1:
        costs = " and ".join(f"{k} {sum(op.flops for op in ops):,} FLOP" for k, ops, _ in found)
        n.assembly.note(f"of {n.name} the costlier branch counts ({costs})")
    n.assembly.operators += operators
    for i, value in enumerate(outputs):
        n.define(i, value)


def loop(n: Node) -> None:
    """Loop: its body once for each iteration. Where their number is not known, once, which is said."""
    body = n.attributes["body"]
    count = n.data(0)
    trips = int(count[0]) if count else 1
    if not count:
        n.assembly.note(f"how often {n.name} runs is not known: one iteration counts")
    if trips < 1:
        raise NotKnown("no iteration")
    n.assembly.unrolled += trips * max(len(body.node), 1)
    if n.assembly.unrolled > MOST_UNROLLED:
        raise TooLong(f"{trips} iterations")
    carried = [v for v in n.inputs[2:] if v is not None]
    stacked: list[list[Value]] = []
    for i in range(trips):
        outputs = _graph(n, body, [_number(i), n.inputs[1] or _number(1), *carried])
        carried = outputs[1 : 1 + len(carried)]
        stacked.append(outputs[1 + len(carried) :])
    for i, value in enumerate(carried):
        n.define(i, value)
    for k in range(len(body.output) - 1 - len(carried)):
        _stack(n, len(carried) + k, [s[k] for s in stacked])


def _graph(n: Node, graph: Any, inputs: list[Value]) -> list[Value]:
    from .onnx import read_graph  # a graph in a graph

    return read_graph(graph, n.scope.inside(), n.assembly, inputs)


def _cost(operators: list[Operator]) -> tuple[int, int]:
    return sum(op.flops for op in operators), sum(sum(op.work.read) + sum(op.work.written) for op in operators)


def _number(i: int) -> Value:
    import numpy as np

    from .onnx_constants import from_array

    return from_array("number", np.array(i, np.int64))


def _stack(n: Node, output: int, parts: list[Value]) -> None:
    """The results of all iterations one after another: each is written straight into its place."""
    tensors = [p.tensor for p in parts if p.tensor is not None]
    if output >= len(n.outputs) or not n.outputs[output]:
        return
    if len(tensors) < len(parts):
        n.define(output, replace(parts[0], name=n.outputs[output], shape=None, data=None))
        return
    rows = [n.reshaped(t, (1, *t.shape)) for t in tensors]
    n.emit("concat", rows, output=output, axis=0, in_place=True)


def control(make: Callable[[Node], None]) -> Callable[[Node], None]:
    """What cannot be followed is an operator that is not known."""

    def read(n: Node) -> None:
        from .onnx import unknown

        start = len(n.assembly.operators)
        try:
            make(n)
        except NotKnown as reason:
            if isinstance(reason, TooLong) and n.scope.outer is not None:
                raise
            del n.assembly.operators[start:]
            unknown(n)

    return read


CONTROL: Mapping[str, Callable[[Node], None]] = {"If": control(branch), "Loop": control(loop)}
