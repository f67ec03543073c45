"""Scenes drawn with matplotlib: still pictures, for print and for readers without a kernel."""

from __future__ import annotations

import html
import io
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter

from .cost import Estimate
from .scenes.roofline import RooflineScene
from .scenes.roofline_marks import BOUND_COLORS, FAMILY_MARKERS, ON_CHIP_ROOFS
from .text import si

_MARKERS = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "triangle-up": "^",
    "triangle-down": "v",
    "cross": "P",
}  # fmt: skip
_INK, _FAINT = "#1c1f26", "#5b6270"


class Picture(Figure):
    """A figure that shows itself in a notebook, whichever matplotlib backend is in use (or none)."""

    def __init__(self, width: float, height: float) -> None:
        super().__init__(figsize=(width, height), layout="constrained")

    def _repr_png_(self) -> bytes:
        data = io.BytesIO()
        self.savefig(data, format="png", dpi=96)
        return data.getvalue()


def roofline(scene: RooflineScene, axes: Axes | None = None) -> Figure:
    """The roofline scene as a still picture.

    Parameters
    ----------
    scene : RooflineScene
    axes : matplotlib Axes, optional
        Where to draw; a new figure when not given.

    Returns
    -------
    Figure
    """
    if axes is None:
        axes = Picture(9, 5.6).add_subplot()
    marks, tables = scene.marks, scene.tables
    _axes(axes, tables)
    _roofs(axes, marks)
    _points(axes, marks)
    axes.set_title(html.unescape(marks["sentence"]["value"].split(". ")[0]) + ".", loc="left", fontsize=11, wrap=True)
    figure = axes.get_figure(root=True)
    assert figure is not None
    return figure


def times(est: Estimate, axes: Axes | None = None) -> Figure:
    """Two bars per kernel: how long its arithmetic takes and how long its DRAM bytes. The longer one is its time.

    Parameters
    ----------
    est : Estimate
        Of a plan with a few kernels.
    axes : matplotlib Axes, optional
        Where to draw; a new figure when not given.

    Returns
    -------
    Figure
    """
    if axes is None:
        axes = Picture(9, 1 + 0.75 * len(est.kernels)).add_subplot()
    parts = {
        "arithmetic": (-0.2, BOUND_COLORS["compute"], est.kernel_arithmetic_seconds),
        "memory": (0.2, BOUND_COLORS["memory"], est.kernel_memory_seconds),
    }
    for name, (offset, color, seconds) in parts.items():
        places = [i + offset for i in range(len(seconds))]
        bars = axes.barh(places, seconds, 0.38, color=color, label=name, hatch="//" if name == "memory" else None)
        axes.bar_label(bars, [f" {si(s, 's')}" for s in seconds])
    axes.set_yticks(range(len(est.kernels)), [k.name for k in est.kernels])
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: si(v, "s", 2)))
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(f"{est.plan.graph.name} on {est.device.name}, {est.precision}", loc="left", fontsize=11)
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return figure


def _axes(axes: Axes, tables: dict[str, Any]) -> None:
    axes.set(xscale="log", yscale="log", xlim=tables["x_limits"], ylim=tables["y_limits"])
    axes.set_xlabel("arithmetic intensity, FLOP per DRAM byte (log scale)")
    axes.set_ylabel("FLOP/s (log scale)")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: si(v, "", 1).strip()))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(FixedLocator([]))
    axes.grid(color="#e6e8ee")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _roofs(axes: Axes, marks: dict[str, dict[str, Any]]) -> None:
    thin = {"vector_peak": "--", "ridge": ":"} | {f"roof_{i}": "-." for i in range(ON_CHIP_ROOFS)}
    for name, style in thin.items():
        if marks[name]["visible"]:
            axes.plot(marks[name]["x"], marks[name]["y"], style, color=_FAINT, linewidth=1.5)
    axes.plot(marks["roof"]["x"], marks["roof"]["y"], color=_INK, linewidth=3)
    for name, align in (("label_peak", "right"), ("label_bandwidth", "right"), ("label_ridge", "left")):
        label = marks[name]
        beside = 1.06 if align == "left" else 1.0
        words = html.unescape(label["text"][0])
        axes.text(label["x"][0] * beside, label["y"][0], words, ha=align, color=_INK, fontsize=11)


def _points(axes: Axes, marks: dict[str, dict[str, Any]]) -> None:
    for family, marker in FAMILY_MARKERS.items():
        mark = marks[f"points {family}"]
        if mark["x"]:
            area = [12 + 240 * size for size in mark["size"]]
            look: dict[str, Any] = {"marker": _MARKERS[marker], "alpha": 0.55, "linewidth": 0, "zorder": 3}
            axes.scatter(mark["x"], mark["y"], s=area, c=mark["colors"], **look)
            _legend_entry(axes, family, _MARKERS[marker], _INK)
    axes.scatter(marks["total"]["x"], marks["total"]["y"], s=130, c="#cc79a7", marker="D", edgecolors=_INK, zorder=4)
    _legend_entry(axes, "whole network", "D", "#cc79a7")
    used = {color for family in FAMILY_MARKERS for color in marks[f"points {family}"]["colors"]}
    for name, color in BOUND_COLORS.items():
        if color in used:
            _legend_entry(axes, f"limited by {name}", "s", color)
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.legend(loc="outside lower center", ncols=4, fontsize=9, frameon=False)


def _legend_entry(axes: Axes, label: str, marker: str, color: str) -> None:
    axes.scatter([], [], s=60, c=color, marker=marker, linewidth=0, label=label)
