"""An engine's kernels on a machine's roofline: measured points beside the model's, and where the time goes.

A scene holds what there is to see of one block at several levels of ONNX Runtime; `plots.engines` draws it.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..cost import attainable, estimate
from ..engines.here_or_recorded import profiles
from ..engines.node_times import KernelTime, Profile
from ..graph import Graph
from ..measure import Machine, Point, recorded
from ..text import number, percent, si
from .engines import my_machine

if TYPE_CHECKING:
    import pandas

#: Words for the levels of ONNX Runtime.
LEVELS = {
    "off": "nothing merged",
    "basic": "a little merged",
    "extended": "more merged",
    "all but layout": "merged",
    "all": "merged, and blocks of channels",
}

#: What a node does: arithmetic of convolutions and products, cheap operators, only moving; and what is no node.
PARTS = ("multiply-accumulate", "elementwise", "rearranging numbers", "between nodes")

#: Points whose FLOP/s differ by less lie on top of each other; they share a label.
_TOUCHING = 1.4

#: A label is as wide as the distance between two points whose intensities differ by this factor.
_WIDTH = 2


#: With more kernels than that only the longest are labelled; a label holds so many numbers at most.
MOST_LABELS, _LONGEST, _MOST_NUMBERS = 20, 5, 6

_RUNS_OF_A_NETWORK = 15


@dataclass(frozen=True)
class Row:
    """A kernel: its number in the picture, measured and predicted."""

    number: int
    kernel: KernelTime
    predicted_seconds: float

    @property
    def part(self) -> str:
        """One of `PARTS`."""
        return PARTS[0] if self.kernel.macs else PARTS[1]

    @property
    def predicted_flops_per_second(self) -> float:
        return self.kernel.flops / self.predicted_seconds


@dataclass(frozen=True)
class Segment:
    """A piece of the time of a run: a kernel's number, or "" for what belongs to none."""

    label: str
    part: str
    seconds: float


class NodesScene:
    """A block or a network on ONNX Runtime, node by node.

    Parameters
    ----------
    name : str or Graph
        One of `engines.BLOCKS`, or a graph that is run now.
    machine : measure.Machine, optional
        Whose roofs are drawn: this machine's when not given. Recorded nodes lie under the roofs of their own machine.
    found : mapping of str to engines.Profile, optional
        Profiles to show; the block is run when not given.

    Attributes
    ----------
    profiles : dict of str to engines.Profile
        Level of ONNX Runtime -> profile.
    """

    def __init__(
        self,
        name: str | Graph = "inverted_residual",
        machine: Machine | None = None,
        found: Mapping[str, Profile] | None = None,
    ) -> None:
        self._given = machine
        self._show(*_profiled(name) if found is None else (str(name), found))

    def choose(self, name: str, again: bool = False) -> None:
        """Another block, or the same one run once more."""
        self._show(name, profiles(name, again))

    def _show(self, name: str, found: Mapping[str, Profile]) -> None:
        self.name, self.profiles = name, dict(found)
        is_recorded = any(profile.recorded for profile in found.values())
        self.machine = recorded() if is_recorded else my_machine() if self._given is None else self._given

    def rows(self, level: str) -> list[Row]:
        """The kernels of a level in the order they run, numbered from 1."""
        profile = self.profiles[level]
        times = dict(zip([k.name for k in profile.plan.kernels], self._predicted(profile), strict=True))
        return [Row(i, kernel, times[kernel.name]) for i, kernel in enumerate(profile.kernels, 1)]

    def _predicted(self, profile: Profile) -> list[float]:
        return [kernel.seconds for kernel in estimate(profile.plan, self.machine, "fp32").kernels]

    @property
    def marks(self) -> dict[str, Any]:
        """Everything that is drawn, as plain data."""
        return {
            level: {
                "points": [
                    [p.name, p.intensity, p.flops_per_second, p.usual_flops_per_second] for p in self.points(level)
                ],
                "model": [row.predicted_flops_per_second for row in self.rows(level)],
                "labels": [words for _, words in self.labels(level)],
                "segments": [[s.label, s.part, s.seconds] for s in self.segments(level)],
            }
            for level in self.profiles
        } | {"roofs": dict(self.machine.roofs()), "machine": self.machine.name}

    def points(self, level: str) -> list[Point]:
        """Measured, for a roofline."""
        return self.profiles[level].points

    def labels(self, level: str) -> list[tuple[Point, str]]:
        """Points with the numbers to write beside them: one label for points on top of each other.

        In a large network only the kernels that take longest have one.
        """
        rows = [row for row in self.rows(level) if not row.kernel.off_the_plot]
        if len(rows) > MOST_LABELS:
            rows = sorted(rows, key=lambda row: -row.kernel.seconds)[:_LONGEST]
        shown = [(row.kernel.point, row.number) for row in rows]
        clusters: list[list[tuple[Point, int]]] = []
        for point, n in sorted(shown, key=lambda s: (s[0].intensity, s[0].flops_per_second)):
            if clusters and _touch(clusters[-1][-1][0], point):
                clusters[-1].append((point, n))
            else:
                clusters.append([(point, n)])
        return [(_rightmost(cluster), _numbers([n for _, n in cluster])) for cluster in clusters]

    def segments(self, level: str) -> list[Segment]:
        """Where the time of a run goes, in the order of the nodes; the last piece is what lies between them."""
        profile, rows = self.profiles[level], self.rows(level)
        owner = {node.name: row for row in rows for node in row.kernel.nodes}
        found = [
            Segment(str(owner[n.name].number), owner[n.name].part, n.seconds) if n.name in owner
            else Segment("", PARTS[2], n.seconds)
            for n in profile.nodes
        ]  # fmt: skip
        return [*found, Segment("", PARTS[3], profile.outside_seconds)]

    def sentences(self, levels: Sequence[str] = ()) -> list[str]:
        """The picture in words, a sentence for each level."""
        return [self._level(level) for level in levels or self.profiles]

    @property
    def source(self) -> str:
        """Where it comes from, and what the profiler itself costs."""
        longest = max(self.profiles.values(), key=lambda p: p.overhead)
        return (
            f"Nodes: ONNX Runtime, {longest.where}. Roofs and the model: {self.machine.name}. The profiler itself "
            f"costs up to {si(longest.overhead_seconds, 's', 2)} per node, and a run with it takes up to "
            f"{percent(max(longest.overhead, 0.0))} longer; whole runs are timed without it."
        )

    def table(self, levels: Sequence[str] = ()) -> str:
        """A row for each kernel, and for each node that belongs to none, as HTML."""
        heads = ("level", "", "kernel", "ONNX Runtime's node", "time", "usually", "FLOP/s", "of its DRAM roof")
        rows = [_tr("th", heads)]
        for level in levels or self.profiles:
            words = LEVELS[level]
            for row in self.rows(level):
                rows.append(_tr("td", (words, str(row.number), *self._cells(row.kernel))))
                words = ""
            for node in self.profiles[level].rearranging:
                kept = si(node.seconds, "s", 2), si(node.timing.median, "s", 2)
                rows.append(_tr("td", ("", "–", "(of no operator)", node.kind, *kept, "–", "–")))
        return f'<table class="rl-table">{"".join(rows)}</table>'

    def _cells(self, kernel: KernelTime) -> tuple[str, ...]:
        times = si(kernel.seconds, "s", 2), si(kernel.timing.median, "s", 2)
        if kernel.off_the_plot:
            return (kernel.name, kernel.kinds, *times, "–", kernel.off_the_plot)
        point = kernel.point
        roof = float(attainable(point.intensity, self.machine, "fp32"))
        reached = percent(point.flops_per_second / roof)
        return (kernel.name, kernel.kinds, *times, si(point.flops_per_second, "FLOP/s"), reached)

    def _level(self, level: str) -> str:
        profile, moving = self.profiles[level], self.profiles[level].rearranging
        rows = self.rows(level)
        slowest = max(rows, key=lambda row: row.kernel.seconds)
        kernels = f"{len(rows)} kernel{'' if len(rows) == 1 else 's'}"
        extra = f", {len(moving)} nodes only rearrange numbers ({si(sum(n.seconds for n in moving), 's', 2)})"
        return (
            f"{LEVELS[level].capitalize()}: {si(profile.run.seconds, 's')} for {kernels}"
            f"{extra if moving else ''}; the longest is {slowest.kernel.name} with {si(slowest.kernel.seconds, 's')}, "
            f"{number(slowest.kernel.seconds / slowest.predicted_seconds, 2)} times as long as the model says."
        )

    def to_frame(self, levels: Sequence[str] = ()) -> pandas.DataFrame:
        """A pandas table, a row for each kernel and each node that belongs to none; SI units in the column names."""
        import pandas

        found = []
        for level in levels or self.profiles:
            for row in self.rows(level):
                k = row.kernel
                found.append(
                    {
                        "level": level, "number": row.number, "kernel": k.name, "engine's node": k.kinds,
                        "seconds": k.seconds, "noise": k.timing.noise, "predicted_seconds": row.predicted_seconds,
                        "intensity": k.flops / k.dram_bytes,
                        "flops_per_second": None if k.off_the_plot else k.point.flops_per_second,
                    }
                )  # fmt: skip
            for node in self.profiles[level].rearranging:
                found.append(
                    {"level": level, "engine's node": node.kind, "seconds": node.seconds, "noise": node.timing.noise}
                )
        return pandas.DataFrame(found)


def _profiled(shown: str | Graph) -> tuple[str, Mapping[str, Profile]]:
    """A name, and profiles of what has it."""
    if isinstance(shown, str):
        return shown, profiles(shown)
    from ..engines import onnxruntime  # needs the engine

    return shown.name, onnxruntime.profiles(shown, runs=_RUNS_OF_A_NETWORK)


def _tr(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"


def _numbers(numbers: Sequence[int]) -> str:
    """Numbers in their order; so many that they would fill the picture are counted."""
    return " ".join(map(str, sorted(numbers))) if len(numbers) <= _MOST_NUMBERS else f"{len(numbers)} kernels"


def _rightmost(cluster: Sequence[tuple[Point, int]]) -> Point:
    """The point beside which a label covers no other one: of those furthest right, the one in the middle."""
    right = [point for point, _ in cluster if point.intensity == cluster[-1][0].intensity]
    return right[len(right) // 2]


def _touch(below: Point, above: Point) -> bool:
    return (
        above.intensity < below.intensity * _WIDTH
        and above.flops_per_second < below.flops_per_second * _TOUCHING
        and below.flops_per_second < above.flops_per_second * _TOUCHING
    )
