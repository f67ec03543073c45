"""What an engine's profiler saw as a picture: its kernels on this machine's roofline, and where the time goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator

from ..engines import Saved
from ..engines.predicted_savings import signed
from ..graph import Graph
from ..measure import Machine
from ..scenes.engine_nodes import LEVELS, MOST_LABELS, PARTS, NodesScene
from ..scenes.engines import TITLES
from ..text import si
from .picture import FAINT, INK, Picture, figure_of, quiet
from .roofs import measured_points, roofs_of_machine

_LINE, _MEASURED = "#0072b2", "#d55e00"

#: Behind words that lie on lines.
_PAPER: dict[str, Any] = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1}

#: How the pieces of a run look: colour and hatching say the same.
_LOOK: dict[str, dict[str, Any]] = dict(
    zip(
        PARTS,
        (
            {"facecolor": "#cfe3f2", "edgecolor": "#0072b2"},
            {"facecolor": "#fde3cf", "edgecolor": "#d55e00"},
            {"facecolor": "white", "edgecolor": "#a23b72", "hatch": "//"},
            {"facecolor": "white", "edgecolor": "#8a8a8a", "hatch": "xx"},
        ),
        strict=True,
    )
)

#: A piece shorter than this share of the longest run gets no number in it.
_ROOM = 0.03


def nodes(
    scene: NodesScene | Graph | str, levels: Sequence[str] = ("off", "all but layout"), machine: Machine | None = None
) -> Picture:
    """An engine's kernels on a roofline at several of its levels side by side, and below each where the time goes.

    A hollow circle is measured, with a bar to the median run; the small diamond is what the model says. Numbers are
    those of the kernels in the order they run, above as below.

    Parameters
    ----------
    scene : NodesScene, Graph or str
        A scene, or for one a graph, which is run by ONNX Runtime now, or the name of a block.
    levels : sequence of str
        Which levels of the engine.
    machine : measure.Machine, optional
        Whose roofs, where no scene is given.

    Returns
    -------
    Picture
    """
    scene = scene if isinstance(scene, NodesScene) else NodesScene(scene, machine)
    figure = Picture(1.5 + 4.6 * len(levels), 6.4)
    grid = figure.subplots(2, len(levels), sharex="row", sharey="row", height_ratios=[4.6, 1], squeeze=False)
    for level, above, below in zip(levels, *grid):
        _roofline(above, scene, level)
        _time(below, scene, level)
    for axes in grid[:, 1:].flat:
        axes.set_ylabel("")
    _legend(figure, grid[0][0])
    figure.suptitle(_where(scene), x=0.01, ha="left", fontsize=10, color=FAINT)
    return figure


def terms(saved: Saved) -> Figure:
    """The predicted bracket of a saving with no term, with the first, the first two, ..., and what was measured.

    Parameters
    ----------
    saved : engines.Saved

    Returns
    -------
    Figure
    """
    axes = Picture(9.5, 3.4).add_subplot()
    for row, bracket in enumerate(saved.by_term.values()):
        axes.plot(
            [bracket.low, bracket.high], [row, row], "-|", color=_LINE, linewidth=5, markersize=14, markeredgewidth=3
        )
        place = (bracket.high, row)
        axes.annotate(str(bracket), place, (10, -4), textcoords="offset points", fontsize=10, bbox=_PAPER)
    low, high = (saved.seconds + sign * saved.spread_seconds for sign in (-1, 1))
    axes.axvspan(low, high, color=_MEASURED, alpha=0.15, label="how much models made anew differ")
    label = f"measured: {signed(saved.seconds)}"
    axes.axvline(saved.seconds, color=_MEASURED, linewidth=2, linestyle="--", label=label)
    names = list(saved.by_term)
    axes.set_yticks(range(len(names)), [name if i == 0 else f"+ {name}" for i, name in enumerate(names)])
    axes.invert_yaxis()
    axes.margins(x=0.22, y=0.12)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: signed(v)))
    axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=2)
    axes.set_title(f"{_title(saved.block)} in {saved.way.title}", loc="left", fontsize=11)
    axes.set_xlabel(f"time saved by merging ({saved.where})")
    quiet(axes)
    return figure_of(axes)


def _title(block: str) -> str:
    return TITLES[block][0].upper() + TITLES[block][1:]


def _where(scene: NodesScene) -> str:
    """Whose roofs these are, and where the nodes' times come from."""
    roofs, nodes = scene.machine.name, next(iter(scene.profiles.values()))
    return f"{roofs}; nodes, too" if nodes.recorded else f"{roofs}; nodes {nodes.where}"


def _roofline(axes: Axes, scene: NodesScene, level: str) -> None:
    roofs_of_machine(axes, scene.machine)
    for row in scene.rows(level):
        if not row.kernel.off_the_plot:
            point, says = row.kernel.point, row.predicted_flops_per_second
            axes.plot([point.intensity] * 2, [point.flops_per_second, says], ":", color=FAINT, linewidth=1.2)
            axes.scatter([point.intensity], [says], s=26, marker="D", color=FAINT, zorder=4)
    points = scene.points(level)
    measured_points(axes, points)
    for point, words in scene.labels(level):
        place = (point.intensity, point.flops_per_second)
        axes.annotate(words, place, (9, -4), textcoords="offset points", fontsize=10.5, zorder=6, bbox=_PAPER)
    axes.yaxis.set_major_locator(LogLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: si(v, "FLOP/s", 1)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(FixedLocator([]))
    quiet(axes)
    axes.set_title(f"{LEVELS[level]} (level “{level}”)", loc="left", fontsize=12)


def _time(axes: Axes, scene: NodesScene, level: str) -> None:
    """One bar, a piece for each node in the order they run."""
    whole = max(sum(s.seconds for s in scene.segments(name)) for name in scene.profiles)
    start, segments = 0.0, scene.segments(level)
    width = 1.2 if len(segments) <= MOST_LABELS else 0.3  # of the edges: many thick ones would hide the pieces
    for segment in segments:
        axes.barh([0], [segment.seconds], 0.7, left=start, linewidth=width, **_LOOK[segment.part])
        if segment.label and segment.seconds > _ROOM * whole:
            axes.text(start + segment.seconds / 2, 0, segment.label, ha="center", va="center", fontsize=10.5, color=INK)
        start += segment.seconds
    axes.set(xlim=(0, whole * 1.02), ylim=(-0.6, 0.6), yticks=[])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: si(v, "s", 2)))
    axes.locator_params(axis="x", nbins=4)
    axes.set_xlabel(f"a run: {si(scene.profiles[level].run.seconds, 's')}")
    quiet(axes)


def _legend(figure: Figure, axes: Axes) -> None:
    """One for points, roofs and pieces of time, in as many columns as there is room for."""
    axes.scatter([], [], s=26, marker="D", color=FAINT, label="the model")
    handles, _ = axes.get_legend_handles_labels()
    pieces = [Patch(label=part, **look) for part, look in _LOOK.items()]
    columns = 3 if figure.get_figwidth() < 9 else 4 if figure.get_figwidth() < 13 else 5
    figure.legend(
        handles=[*handles, *pieces], loc="outside lower center", ncols=columns, frameon=False, fontsize=9, borderpad=0
    )
