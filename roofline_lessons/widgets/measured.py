"""Measured points in the roofline explorer: hollow circles with bars, and words about those above the roof."""

from __future__ import annotations

from typing import Any

import bqplot
import ipywidgets as W

from ..scenes.roofline import RooflineScene
from .look import INK

_RING = (
    '<svg width="16" height="16" viewBox="-8 -8 16 16" aria-hidden="true">'
    '<circle r="5" fill="none" stroke="currentColor" stroke-width="2"/></svg>'
)

#: A hollow circle shows its name wherever in it the mouse is, not on the line of the ring alone.
_HOVER = "<style>.rl-explorer .dot { pointer-events: all; }</style>"


def what_was_measured(scene: RooflineScene) -> list[W.Widget]:
    """A legend, and why some points lie above the roof; nothing where nothing was measured."""
    if not scene.measured:
        return []
    legend = (
        f'<div class="rl-legend"><b>measured</b><span>{_RING} fastest round, the bar to the median one</span></div>'
    )
    text = W.HTML(f"{_HOVER}{legend}<small>{scene.measured_marks['measured_text']['value']}</small>")
    text.add_class("rl-wrap")
    return [text]


def circles_and_bars(scene: RooflineScene, scales: dict[str, Any]) -> list[Any]:
    """The marks. They never change."""
    if not scene.measured:
        return []
    marks = scene.measured_marks
    bars = bqplot.Lines(**marks["measured_spread"], scales=scales, colors=[INK], stroke_width=2)
    circles = bqplot.Scatter(
        **marks["measured"],
        scales=scales,
        marker="circle",
        default_size=110,
        fill=False,
        colors=[INK],
        stroke=INK,
        stroke_width=2,
        display_names=False,
        names_unique=False,
        tooltip=bqplot.Tooltip(fields=["name"], show_labels=False),
    )
    return [bars, circles]
