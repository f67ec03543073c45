"""ONNX Runtime's own profiler: the time of each node, matched with our operators."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx

from ..errors import whole
from ..graph import Graph
from ..measure import Timing
from .errors import EngineError
from .merges import Node, names, replacements
from .node_times import NodeTime, Profile
from .onnx_layout import unblocked
from .onnx_session import MAKE_CONSTANTS, Model, feeds_of, file_of, loaded, node_names, nodes_of, optimised, session_of

#: Levels that show, side by side, what fusion moves and what the layout does.
COMPARED = ("off", "all but layout", "all")

#: Runs of a session in one of its turns: the first finds the caches full of another session's numbers.
_IN_A_TURN = 3


def profile(graph: Graph, variant: str = "all but layout", runs: int = 60, threads: int = 1) -> Profile:
    """Where each kernel that the engine made of a graph lies on a roofline: seconds measured, FLOPs and bytes ours.

    Parameters
    ----------
    graph : Graph
    variant : str
        One of `VARIANTS`.
    runs : int
        So often the graph is run, with the profiler and without it in turns.
    threads : int

    Returns
    -------
    Profile
        `.kernels` with operators' names, seconds and noise, `.points` for a roofline, `.rearranging` for what belongs
        to no operator, `.overhead` for what the profiler itself costs.
    """
    return profiles(graph, (variant,), runs, threads)[variant]


def profiles(graph: Graph, variants: Sequence[str] = COMPARED, runs: int = 60, threads: int = 1) -> dict[str, Profile]:
    """The same for several levels of optimisation, all run in turns: what disturbs one, disturbs all.

    Parameters
    ----------
    graph : Graph
    variants : sequence of str
    runs, threads : int

    Returns
    -------
    dict of str to Profile
    """
    found = _profiled(graph, variants, runs, threads)
    return {
        variant: Profile(graph, "onnxruntime", variant, nodes, turn.plain, turn.profiled)
        for variant, (nodes, turn) in found.items()
    }


def node_seconds(model: Model, variant: str = "all but layout", runs: int = 20, threads: int = 1) -> list[NodeTime]:
    """The time of each node, from the engine's own profiler.

    Parameters
    ----------
    model : Graph, or path of an ONNX file
    variant : str
    runs : int
        So often the model is run; the fastest time of each node counts.
    threads : int
    """
    return list(_profiled(model, (variant,), runs, threads)[variant][0])


# -- running ----------------------------------------------------------------------------------------------------------


@dataclass
class _Turns:
    """One model with the profiler and without, run in turns."""

    sessions: Mapping[str, Any]
    feeds: Mapping[str, Any]
    clock: Callable[[], float] = time.perf_counter
    seconds: dict[str, list[float]] = field(default_factory=lambda: {"plain": [], "profiled": []})

    def take(self, times: int) -> None:
        """Run both sessions so many times, one after the other."""
        for name, samples in self.seconds.items():
            for _ in range(times):
                before = self.clock()
                self.sessions[name].run(None, self.feeds)
                samples.append(self.clock() - before)

    @property
    def plain(self) -> Timing:
        """Of a run without the profiler."""
        return _timing(self.seconds["plain"])

    @property
    def profiled(self) -> Timing:
        """Of a run with it."""
        return _timing(self.seconds["profiled"])


def _profiled(
    model: Model, variants: Sequence[str], runs: int, threads: int
) -> dict[str, tuple[tuple[NodeTime, ...], _Turns]]:
    runs = whole("runs", runs)
    with file_of(model) as given, tempfile.TemporaryDirectory(prefix="roofline-") as folder, ExitStack() as stack:
        path = _named(given, folder)
        before = nodes_of(loaded(path))
        called, turns = names(model if isinstance(model, Graph) else None, before), {}
        for i, variant in enumerate(variants):
            profiled = session_of(path, variant, threads=threads, profile=f"{folder}/{i}")
            stack.callback(profiled.end_profiling)  # whatever happens: the folder goes only when its files are closed
            both = {"plain": session_of(path, variant, threads=threads), "profiled": profiled}
            turns[variant] = _Turns(both, feeds_of(profiled, model))
        for done in range(0, runs, _IN_A_TURN):
            for turn in turns.values():
                turn.take(min(_IN_A_TURN, runs - done))
        return {v: (_nodes(path, v, before, called, turn.sessions["profiled"]), turn) for v, turn in turns.items()}


def _named(path: str, folder: str) -> str:
    """The file, or a copy in which every node has a name.

    The profiler knows nodes by their names alone; to one without a name it gives one with a place in a graph that has
    changed by then, so that what it tells could not be matched with the file.
    """
    model = loaded(path)
    if all(node.name for node in model.graph.node):
        return path
    model = onnx.load(path)
    for node, name in zip(model.graph.node, node_names(model), strict=True):
        node.name = name
    onnx.save(model, f"{folder}/named.onnx")
    return f"{folder}/named.onnx"


def _nodes(
    path: str, variant: str, before: Sequence[Node], called: Mapping[str, str], session: Any
) -> tuple[NodeTime, ...]:
    """The nodes of the file that the profiler wrote, with our names of what they do."""
    ran = optimised(path, variant)
    whose: dict[str, tuple[str, ...]] = {node.name: () for node in ran}
    for r in replacements(before, unblocked(before, ran)):
        own = tuple(dict.fromkeys(called[node.name] for node in r.before if node.name in called))
        whose |= {node.name: own for node in r.after}
    return node_times(Path(session.end_profiling()).read_text(encoding="utf-8"), whose)


def node_times(written: str, whose: Mapping[str, tuple[str, ...]]) -> tuple[NodeTime, ...]:
    """The nodes in a file of the profiler, in the order in which they first ran.

    Parameters
    ----------
    written : str
        JSON. Of each run of a node there is an event with its whole microseconds (Chrome's trace format).
    whose : mapping of str to tuple of str
        Node -> the operators that it does; none for one that only rearranges numbers.

    Raises
    ------
    EngineError
        The file is not as ONNX Runtime 1.32 writes it.
    """
    events: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    try:
        for event in json.loads(written):
            if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
                events.setdefault((event["name"], event["args"]["node_index"]), []).append(event)
        found = tuple(_node_time(own, whose) for own in events.values())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise EngineError(f"What the profiler of ONNX Runtime wrote cannot be read: {error!r}") from None
    for node in found:
        if node.name not in whose and node.kind not in MAKE_CONSTANTS:
            raise EngineError(f"The profiler of ONNX Runtime timed {node.name}, which is no node of the graph it ran.")
    return found


def _node_time(events: Sequence[Mapping[str, Any]], whose: Mapping[str, tuple[str, ...]]) -> NodeTime:
    name, args = events[0]["name"].removesuffix("_kernel_time"), events[0]["args"]
    moved = sum(int(args.get(size, 0)) for size in ("activation_size", "parameter_size", "output_size"))
    timing = _timing([event["dur"] * 1e-6 for event in events])
    return NodeTime(name, args["op_name"], whose.get(name, ()), timing, moved)


def _timing(samples: Sequence[float]) -> Timing:
    return Timing(min(samples), statistics.median(samples), len(samples))
