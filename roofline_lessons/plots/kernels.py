"""One graph under several plans as a still picture: a row per plan, its kernels as lettered boxes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch
from matplotlib.text import Text

from ..cost import Estimate
from ..fusion.legality import working_readers
from ..graph import Graph
from ..scenes.by_hand_picture import kernel_letter
from ..text import counted, si
from .picture import FAINT, INK, Picture

#: Fills of kernels in turn; letters and gaps say the same.
_FILLS = ("#cfe3f2", "#fde3cf", "#d5eee3", "#f3dbe8")
_EDGES = ("#0072b2", "#d55e00", "#009e73", "#a23b72")
_ROW = 0.62  # height of a box; rows are 1 apart


def kernels(estimates: Mapping[str, Estimate]) -> Picture:
    """Which operators of a graph each plan puts into one kernel, and what that costs.

    Parameters
    ----------
    estimates : mapping of str to Estimate
        Name of a row -> estimate of its plan. All plans are of one graph, without room for more than a dozen operators.

    Returns
    -------
    Picture

    Raises
    ------
    ValueError
        No estimates, or estimates of different graphs.
    """
    graphs = {id(est.plan.graph): est.plan.graph for est in estimates.values()}
    if len(graphs) != 1:
        raise ValueError(f"a picture of kernels needs plans of one graph, not of {len(graphs)}.")
    (graph,) = graphs.values()
    place = {op.name: i for i, op in enumerate(op for op in graph if not op.is_view)}
    figure = Picture(10.5, 1.1 + 0.52 * len(estimates))
    axes = figure.add_subplot()
    _heads(axes, place)
    _skips(axes, graph, place)
    for row, (name, est) in enumerate(estimates.items()):
        _row(axes, row, name, est, place)
    axes.set(xlim=(-1.75, len(place) + 2.9), ylim=(len(estimates) - 0.4, -2.0))
    axes.set_axis_off()
    return figure


def text(estimates: Mapping[str, Estimate]) -> list[str]:
    """What the picture says, a line for each row: its kernels, their count, DRAM bytes and time."""
    return [f"{name}: {' | '.join(k.name for k in est.kernels)}; {_cost(est)}" for name, est in estimates.items()]


def _cost(est: Estimate) -> str:
    return f"{counted(len(est.kernels), 'kernel')}, {si(est.dram_bytes, 'B')}, {si(est.seconds, 's')}"


def _heads(axes: Axes, place: Mapping[str, int]) -> None:
    for name, x in place.items():
        axes.text(x + 0.5, -0.62, name.replace("batch_norm", "norm"), ha="center", fontsize=10, color=INK)


def _skips(axes: Axes, graph: Graph, place: Mapping[str, int]) -> None:
    """An arrow over the names where an operator reads what one further back makes."""
    for name, x in place.items():
        for reader in working_readers(graph, graph[name]):
            if place[reader.name] != x + 1:
                end, top = place[reader.name] + 0.5, -1.55
                axes.plot([x + 0.5, x + 0.5, end, end], [-1.05, top, top, -1.05], color=FAINT, linewidth=1.5)
                axes.plot([end], [-1.08], marker="v", color=FAINT, markersize=6)
                axes.text((x + 0.5 + end) / 2, top - 0.1, f"read again by {reader.name}", ha="center", color=FAINT)


def _row(axes: Axes, row: int, name: str, est: Estimate, place: Mapping[str, int]) -> None:
    axes.text(-0.15, row, name, ha="right", va="center", fontsize=11, color=INK)
    for i, kernel in enumerate(est.plan.kernels):
        places = sorted(place[op.name] for op in kernel.operators)
        for _, run in groupby(enumerate(places), key=lambda p: p[1] - p[0]):
            xs = [x for _, x in run]
            _box(axes, row, xs[0], xs[-1] + 1, kernel_letter(i), i)
        for op in kernel.folded:
            axes.text(place[op.name] + 0.5, row, "folded", ha="center", va="center", fontsize=8, color=FAINT)
    axes.text(len(place) + 0.1, row, _cost(est), va="center", fontsize=10, color=INK)


def _box(axes: Axes, row: int, start: int, end: int, letter: str, index: int) -> Text:
    fill, edge = _FILLS[index % len(_FILLS)], _EDGES[index % len(_EDGES)]
    axes.add_patch(
        FancyBboxPatch(
            (start + 0.1, row - _ROW / 2), end - start - 0.2, _ROW, boxstyle="round,pad=0,rounding_size=0.12",
            facecolor=fill, edgecolor=edge, linewidth=1.5,
        )
    )  # fmt: skip
    return axes.text(start + 0.5, row, letter, ha="center", va="center", fontsize=10, color=INK)
