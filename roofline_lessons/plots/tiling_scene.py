"""The tiling scene as a still picture."""

from __future__ import annotations

import textwrap
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ..scenes.roofline_marks import BOUND_COLORS
from ..scenes.tiling import TilingScene
from .picture import INK, Picture, quiet


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
        "times": ("time", {"color": INK, "linewidth": 3}),
    }
    for name, (label, look) in lines.items():
        axes.plot(marks[name]["x"], marks[name]["y"], label=label, **look)
    axes.scatter(marks["fits"]["x"], marks["fits"]["y"], s=60, color=INK, zorder=3)
    axes.scatter(marks["too_big"]["x"], marks["too_big"]["y"], s=70, color=INK, marker="x", label="does not fit")
    axes.scatter(marks["star"]["x"], marks["star"]["y"], s=220, color="#cc79a7", marker="*", zorder=4, label="fastest")
    for name in ("label_best", "label_now"):
        for x, y, words in zip(marks[name]["x"], marks[name]["y"], marks[name]["text"]):
            axes.text(x, y, words, ha="center", color=INK, fontsize=11)
    axes.set(xlim=list(marks["x_scale"].values()), ylim=list(marks["y_scale"].values()))
    few = scene.layers <= 4  # there is room for what is in the kernels
    names = [c.name if few else str(c.depth) for c in scene.candidates]
    axes.set_xticks(marks["x_axis"]["tick_values"], names, fontsize=9)
    axes.set_xlabel("kernels (W depthwise, D dense convolution, P pooling)" if few else "layers per kernel")
    axes.set_yticks(marks["y_axis"]["tick_values"])
    axes.set_ylabel(marks["y_axis"]["label"])
    quiet(axes, grid="y")


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
