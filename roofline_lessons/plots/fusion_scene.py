"""The fusion scene as a still picture."""

from __future__ import annotations

import textwrap
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..scenes.fusion import FusionScene
from ..scenes.fusion_bars import bar_row
from ..scenes.fusion_picture import LETTERS, color_of
from ..scenes.fusion_shown import Shown
from ..scenes.roofline_marks import BOUND_COLORS
from ..text import si
from .picture import INK, Picture
from .roofs import log_axes, roofs_of_scene


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
    for name, title in (("seconds", "Time"), ("bytes", f"{scene.device.memory_kind} bytes")):
        _bars(axes[name], shown, name)
        axes[name].set_title(title, loc="left", fontsize=11)
    _roofline(axes["roofline"], scene.marks, scene.tables)
    title = f"{scene.title} on {scene.device.name}, {scene.precision}: {scene.sentence.split('. ')[0]}."
    figure.suptitle(textwrap.fill(title, 110), x=0.01, ha="left", fontsize=11)
    return figure


def _bars(axes: Axes, shown: Shown, what: str) -> None:
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


def _roofline(axes: Axes, marks: dict[str, dict[str, Any]], tables: dict[str, Any]) -> None:
    log_axes(axes, tables)
    roofs_of_scene(axes, marks, tables)
    axes.plot(marks["trail"]["x"], marks["trail"]["y"], "--", color=INK, linewidth=1.5)
    axes.scatter(marks["kernels"]["x"], marks["kernels"]["y"], s=90, c=marks["kernels"]["colors"], zorder=3)
    for name, face in (("before", "none"), ("now", INK)):
        axes.scatter(marks[name]["x"], marks[name]["y"], s=70, marker="D", facecolor=face, edgecolor=INK, zorder=4)
    looks = (("names", (9, -13), "left"), ("label_before", (-9, -2), "right"), ("label_on_chip", (0, -3), "center"))
    for name, offset, align in looks:
        look: dict[str, Any] = {"ha": align, "weight": "bold" if name == "names" else "normal"}
        for x, y, text in zip(marks[name]["x"], marks[name]["y"], marks[name]["text"], strict=True):
            axes.annotate(text, (x, y), offset, textcoords="offset points", fontsize=10, **look)
