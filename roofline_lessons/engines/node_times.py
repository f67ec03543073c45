"""Which node of an engine took how long, and where that puts each kernel on a roofline.

An engine's profiler knows nodes and seconds, our model knows operators, FLOPs and DRAM bytes. Put together they are
measured points. Nodes that only rearrange numbers belong to no operator: they compute nothing, so they have no place
on a roofline, but they take their time all the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..fusion import Plan, fuse
from ..graph import Graph
from ..measure import Point, Timing
from ..text import number, si

#: The profiler counts whole microseconds: so long is the shortest time that can be believed.
CLOCK_SECONDS = 1e-6


@dataclass(frozen=True)
class NodeTime:
    """A node as the engine's profiler saw it: its kind, whose work it does, and how long it took.

    name, kind : of the engine.
    operators : ours, in their order; of a file the names of its nodes. Empty for a node that only rearranges numbers.
    timing : fastest and median of all runs.
    moved_bytes : what it reads and writes, by the engine's own count.
    """

    name: str
    kind: str
    operators: tuple[str, ...]
    timing: Timing
    moved_bytes: int = 0

    @property
    def seconds(self) -> float:
        """Of its fastest run."""
        return self.timing.seconds


@dataclass(frozen=True)
class KernelTime:
    """A kernel of the engine: the nodes that do the work of its operators, and what our model says that work is."""

    name: str
    operators: tuple[str, ...]
    nodes: tuple[NodeTime, ...]
    macs: float
    flops: float
    dram_bytes: float

    @property
    def timing(self) -> Timing:
        """The sum over its nodes."""
        parts = [node.timing for node in self.nodes]
        return Timing(sum(t.seconds for t in parts), sum(t.median for t in parts), min(t.rounds for t in parts))

    @property
    def seconds(self) -> float:
        """Of the fastest run of each of its nodes."""
        return self.timing.seconds

    @property
    def kinds(self) -> str:
        """The kinds of its nodes, as the engine calls them."""
        return " + ".join(node.kind for node in self.nodes)

    @property
    def off_the_plot(self) -> str:
        """Why it has no place on a roofline, as a sentence; "" where it has one."""
        if not self.flops:
            return f"{self.name} does no FLOP"
        if self.seconds < CLOCK_SECONDS:
            return f"{self.name} takes less than the profiler's clock shows"
        return ""

    @property
    def point(self) -> Point:
        """Its place on a roofline: our FLOPs over our DRAM bytes, our FLOPs over the measured seconds."""
        return Point.of(self.name, self.flops, self.dram_bytes, self.timing)


@dataclass(frozen=True)
class Profile:
    """A graph run by an engine, node by node.

    Attributes
    ----------
    graph : Graph
    engine, variant : str
    nodes : tuple of NodeTime
        In the order they ran.
    run, profiled : measure.Timing
        The whole graph without the profiler, and with it.
    recorded : str
        "" for what was measured here, else when and on what it was recorded.
    """

    graph: Graph
    engine: str
    variant: str
    nodes: tuple[NodeTime, ...]
    run: Timing
    profiled: Timing
    recorded: str = ""

    @cached_property
    def plan(self) -> Plan:
        """The engine's kernels."""
        groups = dict.fromkeys(self._working(node) for node in self.nodes)
        return fuse(self.graph, groups=[group for group in groups if len(group) > 1], fold=True)

    @cached_property
    def kernels(self) -> tuple[KernelTime, ...]:
        """Kernels with their nodes' seconds and our model's FLOPs and DRAM bytes (fp32), in the order they ran."""
        moved = self.plan.dram_moves.bytes_per_kernel(len(self.plan), 32, 32)
        made = []
        for kernel, dram_bytes in zip(self.plan.kernels, np.asarray(moved, dtype=float).tolist(), strict=True):
            own = tuple(op.name for op in kernel.operators)
            nodes = tuple(n for n in self.nodes if self._working(n) and set(self._working(n)) <= set(own))
            if nodes:
                made.append(KernelTime(kernel.name, own, nodes, kernel.macs, kernel.flops, dram_bytes))
        order = {node.name: i for i, node in enumerate(self.nodes)}
        return tuple(sorted(made, key=lambda k: order[k.nodes[0].name]))

    @property
    def points(self) -> list[Point]:
        """A measured point for each kernel that computes something."""
        return [kernel.point for kernel in self.kernels if not kernel.off_the_plot]

    @property
    def rearranging(self) -> list[NodeTime]:
        """The nodes that belong to no operator that computes: they only move numbers to other places."""
        return [node for node in self.nodes if not self._working(node)]

    @property
    def nodes_seconds(self) -> float:
        """All nodes together."""
        return sum(node.seconds for node in self.nodes)

    @property
    def outside_seconds(self) -> float:
        """What a run takes beside its nodes: the call, new arrays for the outputs, going from node to node."""
        return max(self.run.seconds - self.nodes_seconds, 0.0)

    @property
    def overhead(self) -> float:
        """How much longer a run takes with the profiler on: 0.02 is 2 %."""
        return self.profiled.seconds / self.run.seconds - 1

    @property
    def overhead_seconds(self) -> float:
        """What the profiler costs for each node; a part of it is inside the times that it tells."""
        return max(self.profiled.seconds - self.run.seconds, 0.0) / max(len(self.nodes), 1)

    @property
    def where(self) -> str:
        """Where it comes from, for a person."""
        return self.recorded or "measured here"

    def _working(self, node: NodeTime) -> tuple[str, ...]:
        """A node's operators that are more than a view."""
        return tuple(name for name in node.operators if not self.graph[name].is_view)

    def __repr__(self) -> str:
        head = f"{self.graph.name}, {self.engine}, {self.variant}: {si(self.run.seconds, 's')}, {self.where}"
        rows = [f"<Profile of {head}>"]
        for k in self.kernels:
            point = None if k.off_the_plot else k.point
            rate = f", {si(point.flops_per_second, 'FLOP/s')} at {number(point.intensity)} FLOP/B" if point else ""
            rows.append(f"  {k.name} ({k.kinds}): {si(k.seconds, 's')}, noise {k.timing.noise:.2f}{rate}")
        rows += [f"  {n.kind}, of no operator: {si(n.seconds, 's')}" for n in self.rearranging]
        return "\n".join(rows)


@dataclass(frozen=True)
class Moved:
    """What became of the time of some operators when a kernel took them in.

    kernel : the merged kernel's name.
    alone_seconds : before, of the operator that does the most work in it, on its own.
    taken_in_seconds : before, of all the others.
    merged_seconds : of the kernel.
    """

    kernel: str
    alone_seconds: float
    taken_in_seconds: float
    merged_seconds: float

    @property
    def grew_seconds(self) -> float:
        """By how much the kernel takes longer than its main operator alone."""
        return self.merged_seconds - self.alone_seconds

    @property
    def saved_seconds(self) -> float:
        """What the operators took on their own, less what they cost the kernel now."""
        return self.taken_in_seconds - self.grew_seconds


def moved(before: Profile, after: Profile) -> list[Moved]:
    """Kernel by kernel: the time of the nodes that fusing took away, and what it put onto the node that is left.

    Parameters
    ----------
    before, after : Profile
        Of the same graph, with nothing merged and merged.
    """
    apart = {name: kernel for kernel in before.kernels for name in kernel.operators}
    found = []
    for kernel in after.kernels:
        parts = list(dict.fromkeys(apart[name] for name in kernel.operators))
        if len(parts) > 1:
            main = max(parts, key=lambda part: part.seconds)
            rest = sum(part.seconds for part in parts if part is not main)
            found.append(Moved(kernel.name, main.seconds, rest, kernel.seconds))
    return found
