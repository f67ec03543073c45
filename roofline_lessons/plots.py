"""Scenes drawn with matplotlib: still pictures, for print and for readers without a kernel."""

from __future__ import annotations

import html
import io
import textwrap
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter

from .cost import Estimate
from .measure import Point
from .scenes.fusion import FusionScene
from .scenes.fusion_bars import bar_row
from .scenes.fusion_picture import LETTERS, color_of
from .scenes.fusion_shown import Shown
from .scenes.roofline import RooflineScene
from .scenes.roofline_marks import BOUND_COLORS, FAMILY_MARKERS, ON_CHIP_ROOFS
from .scenes.tiling import TilingScene
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
    """The roofline scene as a still picture, with what was measured as hollow circles.

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
    measured_points(axes, scene.measured)
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


def tiling(scene: TilingScene) -> Figure:
    """The tiling scene as a still picture: time against depth, and beside it the regions that one tile needs.

    Parameters
    ----------
    scene : TilingScene

    Returns
    -------
    Figure
    """
    figure = Picture(10, 4.8)
    chart, tile = figure.subplots(1, 2, width_ratios=(1.7, 1))
    _depths(chart, scene)
    _tile(tile, scene)
    figure.suptitle(textwrap.fill(scene.sentence, 112), x=0.01, ha="left", fontsize=11)
    figure.legend(loc="outside lower left", ncols=5, fontsize=9, frameon=False)
    return figure


def _depths(axes: Axes, scene: TilingScene) -> None:
    marks = scene.marks
    lines: dict[str, tuple[str, dict[str, Any]]] = {
        "memory": ("memory", {"color": BOUND_COLORS["memory"], "linestyle": "--", "linewidth": 2}),
        "arithmetic": ("arithmetic", {"color": BOUND_COLORS["compute"], "linewidth": 1.5}),
        "times": ("time", {"color": _INK, "linewidth": 3}),
    }
    for name, (label, look) in lines.items():
        axes.plot(marks[name]["x"], marks[name]["y"], label=label, **look)
    axes.scatter(marks["fits"]["x"], marks["fits"]["y"], s=60, color=_INK, zorder=3)
    axes.scatter(marks["too_big"]["x"], marks["too_big"]["y"], s=70, color=_INK, marker="x", label="does not fit")
    axes.scatter(marks["star"]["x"], marks["star"]["y"], s=220, color="#cc79a7", marker="*", zorder=4, label="fastest")
    for name in ("label_best", "label_now"):
        for x, y, words in zip(marks[name]["x"], marks[name]["y"], marks[name]["text"]):
            axes.text(x, y, words, ha="center", color=_INK, fontsize=11)
    axes.set(xlim=list(marks["x_scale"].values()), ylim=list(marks["y_scale"].values()))
    few = scene.layers <= 4  # there is room for what is in the kernels
    names = [c.name if few else str(c.depth) for c in scene.candidates]
    axes.set_xticks(marks["x_axis"]["tick_values"], names, fontsize=9)
    axes.set_xlabel("kernels (W depthwise, D dense convolution, P pooling)" if few else "layers per kernel")
    axes.set_yticks(marks["y_axis"]["tick_values"])
    axes.set_ylabel(marks["y_axis"]["label"])
    axes.grid(axis="y", color="#e6e8ee")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _tile(axes: Axes, scene: TilingScene) -> None:
    """The regions of the first kernel's tensors on top of each other: the tile inside, its halos around it."""
    frames = scene.pyramid
    for i, (height, width, r0, r1, _, _, c0, c1, _, _) in enumerate(frames):
        inside = i == len(frames) - 1
        look: dict[str, Any] = {
            "facecolor": BOUND_COLORS["compute"] if inside else "white",
            "hatch": None if inside else "///",
        }
        edge = BOUND_COLORS["compute"] if inside else BOUND_COLORS["memory"]
        x, y, wide, high = (v / n for v, n in ((c0, width), (r0, height), (c1 - c0, width), (r1 - r0, height)))
        axes.add_patch(Rectangle((x, y), wide, high, edgecolor=edge, linewidth=1.2, **look))
        words = f"{r1 - r0}" if r1 - r0 == c1 - c0 else f"{r1 - r0} × {c1 - c0}"
        axes.text(
            x + wide / 2, y, words, ha="center", va="center", fontsize=10, bbox={"fc": "white", "ec": "none", "pad": 1}
        )
    axes.set_title("one tile and what it needs", loc="left", fontsize=11)
    axes.set_aspect("equal")
    axes.autoscale_view()
    axes.invert_yaxis()
    axes.set_axis_off()


def measured_points(axes: Axes, points: Sequence[Point]) -> None:
    """Measured points: hollow, with a bar from the fastest round to the median one.

    The axes grow to hold them all: a point above a roof is not cut off.
    """
    for x, y, usual in ((p.intensity, p.flops_per_second, p.usual_flops_per_second) for p in points):
        axes.plot([x, x], [usual, y], color=_INK, linewidth=1.5, marker="_", markevery=[0], zorder=5)
        axes.scatter([x], [y], s=80, facecolors="white", edgecolors=_INK, linewidths=1.8, zorder=5)
    if points:
        axes.scatter([], [], s=80, facecolors="white", edgecolors=_INK, linewidths=1.8, label="measured")
        for get, grow, values in (
            (axes.get_xlim, axes.set_xlim, [p.intensity for p in points]),
            (axes.get_ylim, axes.set_ylim, [v for p in points for v in (p.flops_per_second, p.usual_flops_per_second)]),
        ):
            low, high = get()
            grow(min(low, min(values) / 2), max(high, max(values) * 2))


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


def fusion(scene: FusionScene, figure: Figure | None = None) -> Figure:
    """The fusion scene as a still picture: time and DRAM bytes before and now, and the way over the roofline.

    Parameters
    ----------
    scene : FusionScene
    figure : Figure, optional
        Where to draw; a new one when not given.

    Returns
    -------
    Figure
    """
    if figure is None:
        figure = Picture(11, 5)
    axes = figure.subplot_mosaic([["seconds", "roofline"], ["bytes", "roofline"]], width_ratios=[1, 1.2])
    shown = scene.shown
    for name, title in (("seconds", "Time"), ("bytes", "DRAM bytes")):
        _fusion_bars(axes[name], shown, name)
        axes[name].set_title(title, loc="left", fontsize=11)
    _fusion_roofline(axes["roofline"], scene.marks, scene.tables)
    title = f"{scene.title} on {scene.device.name}, {scene.precision}: {scene.sentence.split('. ')[0]}."
    figure.suptitle(textwrap.fill(title, 110), x=0.01, ha="left", fontsize=11)
    return figure


def _fusion_bars(axes: Axes, shown: Shown, what: str) -> None:
    """One bar unfused, one now: a part per kernel, with the letter of the kernel in which its operators are now."""
    for y, est, label in ((1, shown.before, "unfused"), (0, shown.now, "now")):
        if est is None:
            axes.text(0, y, " does not fit on the chip", va="center", color=BOUND_COLORS["memory"])
            continue
        kernels = bar_row(shown, est, label == "unfused")["kernels"]
        amounts = est.kernel_seconds if what == "seconds" else est.kernel_dram_bytes
        total, at = float(amounts.sum()), 0.0
        for kernel, amount in zip(kernels, amounts, strict=True):
            color = color_of(kernel["letter"])
            axes.barh(y, amount, 0.6, at, color=color, alpha=0.35, edgecolor=color, linewidth=1.2)
            if amount > 0.035 * max(shown.longest if what == "seconds" else shown.before.dram_bytes, total):
                axes.text(at + amount / 2, y, LETTERS[kernel["letter"]], ha="center", va="center", fontsize=9)
            at += float(amount)
        axes.text(total, y, f"  {si(total, 's' if what == 'seconds' else 'B')}", va="center", fontweight="bold")
    axes.set_yticks([1, 0], ["unfused", "now"])
    axes.set_xticks([])
    axes.margins(x=0.22)
    axes.set_xlim(left=0)
    axes.spines[["top", "right", "bottom"]].set_visible(False)


def _fusion_roofline(axes: Axes, marks: dict[str, dict[str, Any]], tables: dict[str, Any]) -> None:
    _axes(axes, tables)
    _roofs(axes, marks)
    axes.plot(marks["trail"]["x"], marks["trail"]["y"], "--", color=_INK, linewidth=1.5)
    axes.scatter(marks["kernels"]["x"], marks["kernels"]["y"], s=90, c=marks["kernels"]["colors"], zorder=3)
    for name, face in (("before", "none"), ("now", _INK)):
        axes.scatter(marks[name]["x"], marks[name]["y"], s=70, marker="D", facecolor=face, edgecolor=_INK, zorder=4)
    looks = (("names", (9, -13), "left"), ("label_before", (-9, -2), "right"), ("label_on_chip", (0, -3), "center"))
    for name, offset, align in looks:
        look: dict[str, Any] = {"ha": align, "weight": "bold" if name == "names" else "normal"}
        for x, y, text in zip(marks[name]["x"], marks[name]["y"], marks[name]["text"], strict=True):
            axes.annotate(text, (x, y), offset, textcoords="offset points", fontsize=10, **look)
