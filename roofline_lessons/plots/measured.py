"""What was measured on a machine as pictures: its bandwidths, its roofs, and chains beside what was predicted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

from ..measure import ENGINES, Chains, Machine, Point, Run, term_by_term
from ..text import si
from .picture import FAINT, INK, Picture, figure_of, quiet
from .roofs import DASHES, measured_points, roofs_of_machine

_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a8a8a")
_MARKERS = "osD^v"


def bandwidths(machine: Machine, kinds: Sequence[str] = ("copy", "in place", "read", "fill")) -> Figure:
    """Bandwidth against working set: each plateau is a level of memory, and the last one is DRAM.

    Parameters
    ----------
    machine : Machine
    kinds : sequence of str
        Which probes.

    Returns
    -------
    Figure
    """
    m = machine.measurement
    axes = Picture(9, 4.6).add_subplot()
    for kind, color, marker, dashes in zip(kinds, _COLORS, _MARKERS, DASHES):
        axes.plot(m.working_sets, m.bandwidth[kind], dashes, marker=marker, color=color, label=kind)
    half = (m.working_sets[1] / m.working_sets[0]) ** 0.5  # of a step: a level that one size alone found shows, too
    start = m.working_sets[0] / half
    for level in m.levels:
        axes.hlines(level.bytes_per_second, start, level.bytes * half, color=INK, linewidth=5, alpha=0.2)
        start = level.bytes * half
    axes.set(xscale="log", yscale="log")
    axes.set_xlabel("working set: bytes of all arrays that the loop touches (log scale)")
    axes.set_ylabel("bytes per second (log scale)")
    _si_axis(axes, "x", "B")
    _si_axis(axes, "y", "B/s", every=(1, 2, 5))
    axes.legend(frameon=False, title="loop (grey: levels found)")
    return _finished(axes, machine.name)


def roofline(machine: Machine, points: Sequence[Point] = (), precision: str = "fp32") -> Figure:
    """The roofs of a machine, its caches as further roofs, and measured points.

    Parameters
    ----------
    machine : Machine
    points : sequence of Point
    precision : str

    Returns
    -------
    Figure
    """
    axes = Picture(9, 5.4).add_subplot()
    roofs_of_machine(axes, machine, precision)
    measured_points(axes, points)
    _name_points(axes, points)
    _si_axis(axes, "y", "FLOP/s")
    axes.legend(loc="lower right", frameon=False, fontsize=9)
    return _finished(axes, machine.name)


def speedups(chains: Chains) -> Figure:
    """Speed-up over one kernel per operator against depth: measured (hollow) and predicted (lines), by array size.

    A bar goes from the speed-up of the fastest rounds to that of the median ones.

    Parameters
    ----------
    chains : Chains

    Returns
    -------
    Figure
    """
    sizes = list(dict.fromkeys(c.run.elements for c in chains))
    figure = Picture(10, 4.2)
    for axes, size in zip(np.atleast_1d(figure.subplots(1, len(sizes), sharey=True)), sizes):
        used = {c.run.engine for c in chains}
        names = [name for name in ENGINES if name in used]
        for name, color, marker, dashes in zip(names, _COLORS, _MARKERS, DASHES):
            own = [c for c in chains if c.run.engine == name and c.run.elements == size]
            depths = [c.run.depth for c in own]
            axes.plot(depths, [c.predicted_speedup for c in own], dashes, color=color, label=f"{name}, predicted")
            axes.vlines(depths, *zip(*(sorted((c.speedup, c.usual_speedup)) for c in own)), color=color, linewidth=1.5)
            axes.scatter(
                depths, [c.speedup for c in own], s=60, marker=marker, facecolors="white", edgecolors=color,
                linewidths=1.8, zorder=3, label=f"{name}, measured",
            )  # fmt: skip
        axes.axhline(1, color=FAINT, linewidth=1)
        axes.set(xscale="log", yscale="log")
        axes.set_xticks(depths, [str(d) for d in depths])
        axes.xaxis.set_minor_locator(FixedLocator([]))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}×"))
        axes.set_xlabel("operators in the chain (log scale)")
        _finished(axes, f"arrays of {si(4 * size, 'B')}")
    figure.axes[0].set_ylabel("times as fast (log scale)")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(names), frameon=False, fontsize=9)
    return figure


def terms(run: Run) -> Figure:
    """The prediction with no term, with the first, with the first two, ..., and what was measured.

    Parameters
    ----------
    run : Run

    Returns
    -------
    Figure
    """
    found = term_by_term(run.machine.measurement, run.depth, run.elements, run.engine)
    axes = Picture(9, 3.4).add_subplot()
    bars = axes.barh(list(found), list(found.values()), 0.6, color=_COLORS[0])
    axes.axvline(run.seconds, color=_COLORS[1], linewidth=2, linestyle="--", label=f"measured: {si(run.seconds, 's')}")
    for label in axes.bar_label(bars, [si(s, "s") for s in found.values()], padding=5):
        label.set(zorder=4, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})  # else the line strikes it out
    axes.invert_yaxis()
    axes.margins(x=0.15)
    _si_axis(axes, "x", "s")
    axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.1))
    return _finished(axes, f"{run.depth} operators on arrays of {si(4 * run.elements, 'B')}, {run.engine}")


def _name_points(axes: Axes, points: Sequence[Point]) -> None:
    """Names to the right of the points; where two would touch, the lower one goes to the left."""
    above: Point | None = None
    for p in sorted(points, key=lambda p: (p.intensity, -p.flops_per_second)):
        crowded = (
            above is not None and p.intensity == above.intensity and p.flops_per_second * 1.3 > above.flops_per_second
        )
        place, align = ((-10, -8), "right") if crowded else ((10, -3), "left")
        look: dict[str, Any] = {"textcoords": "offset points", "ha": align, "fontsize": 9, "zorder": 6}
        axes.annotate(p.name, (p.intensity, p.flops_per_second), place, **look)
        above = None if crowded else p


def _si_axis(axes: Axes, which: str, unit: str, every: Sequence[int] = ()) -> None:
    """Numbers with prefix and unit; on a log axis at these multiples of powers of ten."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    if every:
        axis.set_major_locator(LogLocator(subs=every))
    axis.set_major_formatter(FuncFormatter(lambda v, _: si(v, unit, 2)))
    axis.set_minor_formatter(NullFormatter())


def _finished(axes: Axes, title: str) -> Figure:
    quiet(axes)
    axes.set_title(title, loc="left", fontsize=11)
    return figure_of(axes)
