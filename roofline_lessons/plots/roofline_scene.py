"""The roofline scene as a still picture."""

from __future__ import annotations

import html
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..scenes.roofline import RooflineScene
from ..scenes.roofline_marks import BOUND_COLORS, FAMILY_MARKERS
from .picture import INK, Picture, figure_of
from .roofs import log_axes, measured_points, roofs_of_scene

_MARKERS = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "triangle-up": "^",
    "triangle-down": "v",
    "cross": "P",
}  # fmt: skip


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
    log_axes(axes, tables)
    roofs_of_scene(axes, marks, tables)
    measured_points(axes, scene.measured)
    _points(axes, marks)
    axes.set_title(html.unescape(marks["sentence"]["value"].split(". ")[0]) + ".", loc="left", fontsize=11, wrap=True)
    return figure_of(axes)


def _points(axes: Axes, marks: dict[str, dict[str, Any]]) -> None:
    for family, marker in FAMILY_MARKERS.items():
        mark = marks[f"points {family}"]
        if mark["x"]:
            area = [12 + 240 * size for size in mark["size"]]
            look: dict[str, Any] = {"marker": _MARKERS[marker], "alpha": 0.55, "linewidth": 0, "zorder": 3}
            axes.scatter(mark["x"], mark["y"], s=area, c=mark["colors"], **look)
            _legend_entry(axes, family, _MARKERS[marker], INK)
    axes.scatter(marks["total"]["x"], marks["total"]["y"], s=130, c="#cc79a7", marker="D", edgecolors=INK, zorder=4)
    _legend_entry(axes, "whole network", "D", "#cc79a7")
    used = {color for family in FAMILY_MARKERS for color in marks[f"points {family}"]["colors"]}
    for name, color in BOUND_COLORS.items():
        if color in used:
            _legend_entry(axes, f"limited by {name}", "s", color)
    figure_of(axes).legend(loc="outside lower center", ncols=4, fontsize=9, frameon=False)


def _legend_entry(axes: Axes, label: str, marker: str, color: str) -> None:
    axes.scatter([], [], s=60, c=color, marker=marker, linewidth=0, label=label)
