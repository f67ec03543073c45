"""What an operator costs an engine that runs it alone, in the nearest cache: per node and per element.

The machine's bandwidths say how long numbers travel. What an engine adds, a call for each node and its own arithmetic,
is found here with short chains of one kind of operator on small tensors, where nothing waits for memory. The blocks
that are predicted from it are larger and hold other operators beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..builder import GraphBuilder
from ..graph import Graph, Tensor
from ..measure import Bench, Timing
from .errors import EngineError

#: Time all graphs in turns; name -> timing.
TimeAll = Callable[[Mapping[Any, Graph]], Mapping[Any, Timing]]

#: Elements of a tensor so small that only the call takes time, and of one that still lies in the nearest cache.
ELEMENTS = (64, 6144)

#: Operators in the short chain and in the long one: what a run costs beside its nodes is in both.
LENGTHS = (2, 10)

Step = Callable[[GraphBuilder, Tensor, Tensor], Tensor]

#: Kind -> one more operator of it on x; `c` is a constant with which numbers stay near 1.
_STEPS: Mapping[str, Step] = {
    "relu": lambda b, x, c: b.relu(x),
    "relu6": lambda b, x, c: b.relu6(x),
    "batch_norm": lambda b, x, c: b.batch_norm(x),
    "add": lambda b, x, c: b.add(x, c),
    "sub": lambda b, x, c: b.sub(x, c),
    "mul": lambda b, x, c: b.mul(x, c),
    "div": lambda b, x, c: b.div(x, c),
    "erf": lambda b, x, c: b.erf(x),
    "pow": lambda b, x, c: b.pow(x, c),
    "sqrt": lambda b, x, c: b.sqrt(x),
    "gelu": lambda b, x, c: b.gelu(x),
    "layer_norm": lambda b, x, c: b.layer_norm(x),
}

#: Kinds of which no chain can be made, because what they make is small: so many of them read the same tensor instead.
_SIDE_BY_SIDE: Mapping[str, Callable[[GraphBuilder, Tensor], Tensor]] = {
    "reduce_mean": lambda b, x: b.reduce_mean(x, [-1], keepdims=True),
}

#: Kinds that take images: the file of TensorFlow Lite has other axes for these, which a window in the graph decides.
_ON_IMAGES = ("batch_norm",)

KINDS = (*_STEPS, *_SIDE_BY_SIDE)


@dataclass(frozen=True)
class Costs:
    """What single operators cost an engine.

    node_seconds : kind -> seconds of an operator on hardly any numbers: the call, and going on to the next node.
    element_seconds : kind -> seconds per element of the engine's own arithmetic.
    recorded : "" for what was measured here, else when and on what it was recorded.
    """

    node_seconds: Mapping[str, float] = field(default_factory=dict)
    element_seconds: Mapping[str, float] = field(default_factory=dict)
    recorded: str = ""

    def arithmetic(self, kind: str, elements: float) -> float:
        """Seconds of an operator's arithmetic; 0 for a kind that was not measured."""
        return elements * self.element_seconds.get(kind, 0.0)

    def calls(self, kind: str) -> float:
        """Seconds of an operator before it computes anything: the typical one for a kind that was not measured."""
        known = sorted(self.node_seconds.values()) or [0.0]
        return self.node_seconds.get(kind, known[len(known) // 2])


def probe(kind: str, length: int, elements: int) -> Graph:
    """Operators of one kind on a small tensor, in a chain where one can be made: 64 channels of an image, or some rows.

    Examples
    --------
    >>> [op.kind for op in probe("relu", 2, 64)]
    ['relu', 'relu']
    """
    b = GraphBuilder(f"{length} × {kind}")
    image, rows = (1, 64, elements // 64, 1), min(elements // 64, 8)
    x = b.input("x", image if kind in _ON_IMAGES else (rows, elements // rows))
    if kind in _SIDE_BY_SIDE:
        return b.build(outputs=[_SIDE_BY_SIDE[kind](b, x) for _ in range(length)])
    one, two = b.weight("1.0", ()), b.weight("2.0", ())
    x = b.max_pool(x, 1) if kind in _ON_IMAGES else b.div(x, x) if kind == "pow" else x
    for _ in range(length):
        x = _STEPS[kind](b, x, two if kind == "pow" else one)
    return b.build(outputs=[x])


def measure_costs(time_all: TimeAll, kinds: Sequence[str] = KINDS) -> Costs:
    """Find an engine's costs.

    Parameters
    ----------
    time_all : callable
        Times graphs, nothing of which may be merged.
    kinds : sequence of str
        What the engine cannot take is left out.
    """
    graphs = {(k, n, s): probe(k, n, s) for k in kinds for n in LENGTHS for s in ELEMENTS}
    times = time_all(graphs)
    (few, many), (small, large) = LENGTHS, ELEMENTS
    nodes, elements = {}, {}
    for kind in kinds:
        if (kind, many, large) in times:
            each = {
                s: max(times[kind, many, s].seconds - times[kind, few, s].seconds, 0.0) / (many - few) for s in ELEMENTS
            }
            slope = max(each[large] - each[small], 0.0) / (large - small)
            elements[kind] = slope
            if kind not in _SIDE_BY_SIDE:  # of these each has an output, which costs more than a call
                nodes[kind] = max(each[small] - slope * small, 0.0)
    return Costs(nodes, elements)


def timed_in_turns(run_of: Callable[[Graph], Callable[[int], Any]], bench: Bench | None = None) -> TimeAll:
    """A way of timing many graphs, from a function that makes one of them run; what it refuses is left out.

    Batches are short and rounds many: on a busy machine only a short batch is ever left alone.
    """

    def time_all(graphs: Mapping[Any, Graph]) -> Mapping[Any, Timing]:
        runs = {}
        for name, graph in graphs.items():
            try:
                runs[name] = run_of(graph)
            except EngineError:
                continue
        return (bench or Bench(rounds=15, batch_seconds=2e-4)).time(runs)

    return time_all
