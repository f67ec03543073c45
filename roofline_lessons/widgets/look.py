"""How the explorers look: styles, axes, and small pieces of HTML. Nothing here knows a scene."""

from __future__ import annotations

import html
import math
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

import bqplot
import ipywidgets as W

#: Text and line colour of the theme in JupyterLab, and a dark one elsewhere (an exported page).
INK = "var(--jp-content-font-color1, #1c1f26)"
FAINT = "var(--jp-content-font-color2, #5b6270)"

STYLE = """<style>
.rl-explorer { --rl-ink: var(--jp-content-font-color1, #1c1f26); --rl-faint: var(--jp-content-font-color2, #5b6270);
  --rl-line: var(--jp-border-color2, #d9dce3); --rl-soft: var(--jp-layout-color2, #f4f5f9);
  color: var(--rl-ink); font-size: 15px; max-width: 1240px; overflow: visible; }
.rl-explorer .widget-html-content, .rl-explorer .widget-label, .rl-explorer .widget-html { color: var(--rl-ink); }
.rl-explorer .widget-html-content { font-size: 15px; line-height: 1.35; }
.rl-explorer .widget-label, .rl-explorer select { font-size: 14px; }
.rl-explorer small { color: var(--rl-faint); font-size: 13px; }
.rl-explorer h2.rl-title { font-size: 20px; margin: 0; }
.rl-explorer .rl-heading { font-weight: 600; font-size: 15px; margin: 8px 0 0; }
.rl-explorer .rl-value .widget-html-content { font-size: 17px; font-weight: 600; }
.rl-explorer .rl-value small { font-weight: 400; }
.rl-explorer .rl-sentence { background: var(--rl-soft); border-radius: 8px; padding: 8px 16px; }
.rl-explorer .rl-sentence .widget-html-content { font-size: 17px; line-height: 1.4; white-space: normal; }
.rl-explorer .rl-wrap .widget-html-content { white-space: normal; }
.rl-explorer .rl-bar { display: flex; height: 26px; border-radius: 4px; overflow: hidden; margin: 4px 0; }
.rl-explorer .rl-bar span { color: #fff; font-weight: 600; font-size: 13px; line-height: 26px; text-align: center; }
.rl-explorer .rl-legend { display: flex; flex-wrap: wrap; gap: 0 16px; font-size: 14px; }
.rl-explorer .rl-legend svg { vertical-align: -3px; }
.rl-explorer table.rl-table { border-collapse: collapse; color: var(--rl-ink); font-size: 14px; }
.rl-explorer table.rl-table caption { text-align: left; color: var(--rl-faint); }
.rl-explorer table.rl-table td, .rl-explorer table.rl-table th { padding: 3px 12px 3px 0; text-align: left;
  border-bottom: 1px solid var(--rl-line); }
.rl-explorer .bqplot text { fill: var(--rl-ink); }
/* lines end before the words that lie on them, in the colour of the page */
.rl-explorer .bqplot text.label { paint-order: stroke; stroke: var(--jp-layout-color0, #fff) !important;
  stroke-width: 4px !important; stroke-linejoin: round; }
.rl-explorer .bqplot .axislabel { font-size: 14px !important; fill: var(--rl-faint) !important; }
.rl-explorer .bqplot .axis .tick text { font-size: 14px !important; fill: var(--rl-faint) !important; }
.rl-explorer .bqplot .axis line.grid-line, .rl-explorer .bqplot .axis .tick line { stroke: var(--rl-line); }
/* the ends of a vertical axis would strike through the numbers beside them */
.rl-explorer .bqplot .axis path.domain[d^="M-6"] { clip-path: inset(0 -2px 0 5px); }
/* the arrow of a menu is black in every theme of JupyterLab */
body[data-jp-theme-light="false"] .rl-explorer select { --jp-widgets-dropdown-arrow: url("data:image/svg+xml,\
%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 18 18'%3E%3Cpath fill='rgb(224,224,224)' \
d='M5.2 5.9 9 9.7l3.8-3.8 1.2 1.2-4.9 5-4.9-5z'/%3E%3C/svg%3E"); }
/* what a slider moves is laid out by itself, not with the rest of the notebook: a third less work per frame */
.rl-explorer .bqplot, .rl-explorer .widget-html { contain: layout style; }
/* hangs below <body>, outside the explorer; bqplot makes it orange and see-through in the dark theme */
.bqplot_mark_tooltip { opacity: 1 !important; border: 1px solid var(--jp-border-color1, #9aa0ac) !important;
  background: var(--jp-layout-color1, #fff) !important; }
.bqplot_mark_tooltip, .bqplot_mark_tooltip * { font-size: 14px !important;
  color: var(--jp-content-font-color1, #1c1f26) !important; }
</style>"""

_MARKER_PATHS = {
    "circle": '<circle r="5"/>',
    "square": '<rect x="-5" y="-5" width="10" height="10"/>',
    "diamond": '<path d="M0-6.5 5 0 0 6.5-5 0z"/>',
    "triangle-up": '<path d="M0-6 6 5H-6z"/>',
    "triangle-down": '<path d="M0 6 6-5H-6z"/>',
    "cross": '<path d="M-2-6h4v4h4v4h-4v4h-4v-4h-4v-4h4z"/>',
}


def marker_svg(marker: str, color: str = "currentColor") -> str:
    """A marker as a small inline picture, for legends."""
    return (
        f'<svg width="16" height="16" viewBox="-8 -8 16 16" aria-hidden="true">'
        f'<g fill="{html.escape(color)}">{_MARKER_PATHS[marker]}</g></svg>'
    )


def line_svg(dashes: str) -> str:
    """A line as a small inline picture, for legends."""
    return (
        '<svg width="34" height="10" viewBox="0 0 34 10" aria-hidden="true"><path d="M1 5H33" fill="none" '
        f'stroke="currentColor" stroke-width="2" stroke-dasharray="{dashes}"/></svg>'
    )


def slider_head(label: str, value: W.Widget) -> W.HBox:
    """What stands above a slider: its name, and the value that the driver writes."""
    return W.HBox([W.Label(label), value], layout=W.Layout(justify_content="space-between", align_items="center"))


def label_side(tables: dict[str, Any]) -> str:
    """Whether the label of the slanted roof starts or ends at its place."""
    return "start" if tables["beside"][0] > 1 else "end"


def heading(words: str) -> W.HTML:
    """A heading over a part of an explorer."""
    return W.HTML(f'<div class="rl-heading">{words}</div>')


def bytes_heading(dram: str) -> str:
    """The heading over the bytes to and from a device's main memory, by what that is called (`memory_kind`)."""
    return f'<div class="rl-heading">{html.escape(dram)} bytes</div>'


def intensity_label(dram: str) -> str:
    """The label of an axis of intensities."""
    return f"arithmetic intensity, FLOP per {dram} byte (log scale)"


def step_slider(value: int, low: int, high: int, width: str = "100%") -> W.IntSlider:
    """A slider over steps. The driver writes what a step means beside it."""
    return W.IntSlider(value, low, high, readout=False, continuous_update=True, layout=W.Layout(width=width))


def figure(marks: Iterable[Any], axes: Sequence[bqplot.Axis], margin: dict[str, int], **layout: str) -> bqplot.Figure:
    """A figure as wide as its place, that moves at once and only by the controls."""
    return bqplot.Figure(
        marks=list(marks),
        axes=axes,
        fig_margin=margin,
        layout=W.Layout(width="100%", **layout),
        animation_duration=0,
        display_toolbar=False,  # its panning would leave the axes where no control can bring them back
        padding_x=0,
        padding_y=0,
    )


def lines(
    marks: dict[str, dict[str, Any]], scales: dict[str, Any], looks: dict[str, tuple[str, int, str]]
) -> dict[str, Any]:
    """bqplot lines under the scene's names: style, width and colour of each."""
    return {
        name: bqplot.Lines(**marks[name], scales=scales, line_style=style, stroke_width=width, colors=[color])
        for name, (style, width, color) in looks.items()
    }


def unique(name: str) -> str:
    """A name that no other picture on the page has."""
    return f"{name}-{uuid.uuid4().hex[:8]}"


def text_widget(value: str, *classes: str) -> W.HTML:
    """Text that the driver may replace."""
    widget = W.HTML(value)
    for name in classes:
        widget.add_class(name)
    return widget


def decades(low: float, high: float, most: int = 8) -> list[float]:
    """The powers of ten between two limits, every second (third ...) one when there are more than `most`.

    Examples
    --------
    >>> decades(0.04, 150)
    [0.1, 1.0, 10.0, 100.0]
    """
    first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
    every = max(1, math.ceil((last - first + 1) / most))
    return [10.0**k for k in range(first, last + 1) if k % every == 0]


def log_scale(limits: list[float]) -> bqplot.LogScale:
    """A log scale that always has both limits: bqplot draws nothing, or endless ticks, without them."""
    return bqplot.LogScale(min=limits[0], max=limits[1])


def log_axis(scale: bqplot.LogScale, label: str, vertical: bool = False) -> bqplot.Axis:
    """A log axis with decade ticks only (its own ticks would overlap)."""
    return bqplot.Axis(
        scale=scale,
        label=label,
        side="left" if vertical else "bottom",
        tick_values=decades(scale.min, scale.max),
        tick_format="~s" if vertical else "~g",
        label_offset="3.6em" if vertical else "2.6em",
        grid_lines="solid",
        grid_color="var(--rl-line, #d9dce3)",
    )
