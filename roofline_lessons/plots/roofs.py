"""Roofs on logarithmic axes, and measured points below them: what several pictures draw."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter

from ..measure import Machine, Point
from ..scenes.roofline_marks import ON_CHIP_ROOFS, line_names
from ..text import si
from .picture import FAINT, INK, quiet

#: Line styles, in turn.
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (6, 1)))


def log_axes(axes: Axes, tables: dict[str, Any]) -> None:
    """Intensity and FLOP/s, as far as the scene's tables say."""
    axes.set(xscale="log", yscale="log", xlim=tables["x_limits"], ylim=tables["y_limits"])
    axes.set_xlabel(f"arithmetic intensity, FLOP per {html.unescape(tables['dram'])} byte (log scale)")
    axes.set_ylabel("FLOP/s (log scale)")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: si(v, "", 1).strip()))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(FixedLocator([]))
    quiet(axes)


def roofs_of_scene(axes: Axes, marks: dict[str, dict[str, Any]], tables: dict[str, Any]) -> None:
    """The roofs of a scene with their words."""
    thin = {"vector_peak": "--", "ridge": ":"} | {f"roof_{i}": "-." for i in range(ON_CHIP_ROOFS)}
    named = dict(line_names(tables))  # for a legend
    for name, style in thin.items():
        if marks[name]["visible"]:
            words = html.unescape(named.get(name, ""))
            axes.plot(marks[name]["x"], marks[name]["y"], style, color=FAINT, linewidth=1.5, label=words)
    axes.plot(marks["roof"]["x"], marks["roof"]["y"], color=INK, linewidth=3)
    side = "left" if tables["beside"][0] > 1 else "right"
    for name, align in (("label_peak", "right"), ("label_bandwidth", side), ("label_ridge", "left")):
        label = marks[name]
        beside = 1.06 if align == "left" else 1.0
        words = html.unescape(label["text"][0])
        axes.text(label["x"][0] * beside, label["y"][0], words, ha=align, color=INK, fontsize=11)


def roofs_of_machine(axes: Axes, machine: Machine, precision: str = "fp32") -> None:
    """The roofs of a machine, DRAM's thick, those of its caches thin, and what the axes are."""
    ridge, peak = machine.ridge(precision), machine.peak_for(precision)
    x = np.geomspace(min(0.02, ridge / 50), ridge * 10, 200)
    axes.set(xscale="log", yscale="log", xlim=(x[0], x[-1]), ylim=(x[0] * machine.bandwidth / 2, peak * 2))
    for i, (name, bandwidth) in enumerate(machine.roofs().items()):
        look: dict[str, Any] = {"color": INK, "linewidth": 3} if name == "DRAM" else {"color": FAINT, "linewidth": 1.5}
        roof = np.minimum(peak, x * bandwidth)
        axes.plot(x, roof, linestyle=DASHES[i % len(DASHES)], label=f"{name}: {si(bandwidth, 'B/s')}", **look)
    axes.text(x[-1], peak * 1.08, f"{precision} {si(peak, 'FLOP/s')} ", ha="right", fontsize=10, color=INK)
    axes.set_xlabel("arithmetic intensity, FLOP per byte (log scale)")
    axes.set_ylabel("FLOP/s (log scale)")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))


def measured_points(axes: Axes, points: Sequence[Point]) -> None:
    """Measured points: hollow, with a bar from the fastest round to the median one.

    The axes grow to hold them all: a point above a roof is not cut off.
    """
    for x, y, usual in ((p.intensity, p.flops_per_second, p.usual_flops_per_second) for p in points):
        axes.plot([x, x], [usual, y], color=INK, linewidth=1.5, marker="_", markevery=[0], zorder=5)
        axes.scatter([x], [y], s=80, facecolors="white", edgecolors=INK, linewidths=1.8, zorder=5)
    if points:
        axes.scatter([], [], s=80, facecolors="white", edgecolors=INK, linewidths=1.8, label="measured")
        for get, grow, values in (
            (axes.get_xlim, axes.set_xlim, [p.intensity for p in points]),
            (axes.get_ylim, axes.set_ylim, [v for p in points for v in (p.flops_per_second, p.usual_flops_per_second)]),
        ):
            low, high = get()
            grow(min(low, min(values) / 2), max(high, max(values) * 2))
