"""The marks of the roofline scene: what is drawn and said, from tables and an estimate.

`roof_marks`, `point_marks` and `text_marks` have twins (`roofMarks` ...) in `driver.js`, which work from the tables
and the sliders alone; golden vectors hold them equal, numbers and text.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..cost import BOUNDS, Estimate
from ..operators import FAMILIES
from ..text import number, percent, si

#: Colours of the bounds (Okabe & Ito, safe for colour-blind readers, and of middling lightness: for both themes).
BOUND_COLORS = {"compute": "#0072b2", "memory": "#d55e00", "launch": "#8a8a8a", "balanced": "#009e73"}

#: Marker of each family of operators.
FAMILY_MARKERS = {
    "convolution": "circle",
    "depthwise convolution": "square",
    "matrix product": "diamond",
    "elementwise": "triangle-up",
    "reduction": "triangle-down",
    "data movement": "cross",
}

#: On-chip roofs that are drawn, at most.
ON_CHIP_ROOFS = 2

Marks = dict[str, dict[str, Any]]


class Points:
    """Kernels with work and traffic, so with a place on a log-log plot; the rest is listed with its reason."""

    def __init__(self, est: Estimate) -> None:
        drawn = (est.kernel_flops > 0) & (est.kernel_dram_bytes > 0)
        self.index = np.flatnonzero(drawn)
        self.intensity = est.kernel_flops[drawn] / est.kernel_dram_bytes[drawn]
        self.flops_per_second = est.kernel_flops[drawn] / est.kernel_seconds[drawn]
        self.seconds = est.kernel_seconds[drawn]
        self.bound = est.kernel_bound[drawn]
        self.hidden = [
            (k.name, "does no arithmetic" if k.flops == 0 else f"moves no {est.device.memory_kind} byte")
            for k, shown in zip(est.plan.kernels, drawn, strict=True)
            if not shown
        ]


def roof_marks(t: Mapping[str, Any], est: Estimate) -> Marks:
    """Roof lines from the left edge to the right one, the ridge, and their labels."""
    (x0, x1), (y0, _), d = t["x_limits"], t["y_limits"], est.device
    peak = d.peak_for(est.precision)
    marks: Marks = {"roof": _roof(d.bandwidth, peak, x0, x1)}
    for i in range(ON_CHIP_ROOFS):
        shown = i < len(t["levels"])
        marks[f"roof_{i}"] = _roof(t["levels"][i][1] if shown else d.bandwidth, peak, x0, x1) | {"visible": shown}
    vector = d.vector_peak if d.vector_peak is not None and d.vector_peak < peak else None
    marks["vector_peak"] = {
        "x": [(vector or peak) / d.bandwidth, x1],
        "y": [vector or peak] * 2,
        "visible": vector is not None,
    }
    ridge = peak / d.bandwidth
    at = min(max(ridge, x0), x1)
    marks["ridge"] = {"x": [at, at], "y": [y0, peak], "visible": x0 <= ridge <= x1}
    slope_x = math.sqrt(math.sqrt(x0 * at) * at)  # three quarters of the way up; a square root is exact anywhere
    lift, (right, up) = t["lift"], t["beside"]
    marks["label_peak"] = _label(x1 / 1.1, peak * lift, f"peak {si(peak, 'FLOP/s')}")
    marks["label_bandwidth"] = _label(
        slope_x * right, slope_x * d.bandwidth * up, f"{t['memory']} {si(d.bandwidth, 'B/s')}"
    )
    marks["label_ridge"] = _label(at, y0 * lift, f"ridge {number(ridge)} FLOP/B")
    return marks


def beside_slope(levels: Sequence[Any], lift: float) -> list[float]:
    """The factors in x and y from the slanted roof to its label, which starts there (x above 1) or ends there.

    Above the roof, but below it where on-chip roofs lie above: their lines would run through the words.
    """
    return [1.05, 1 / lift] if levels else [1 / 1.1, lift]


def line_names(t: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(mark, what it is) of the lines that have no label in the picture."""
    levels = t["levels"][:ON_CHIP_ROOFS]
    named = [(f"roof_{i}", f"on chip: {name} {si(b, 'B/s')}") for i, (name, b) in enumerate(levels)]
    if t["vector_peak"] is not None and t["vector_peak"] < t["peak"]:
        named.append(("vector_peak", "peak of all that is not multiply-accumulate"))
    return named


def _label(x: float, y: float, text: str) -> dict[str, Any]:
    return {"x": [x], "y": [y], "text": [text]}


def _roof(bandwidth: float, peak: float, x0: float, x1: float) -> dict[str, Any]:
    """min(peak, x * bandwidth) between the edges: in log-log coordinates three points are enough."""
    corner = min(max(peak / bandwidth, x0), x1)
    x = [x0, corner, x1]
    return {"x": x, "y": [min(peak, v * bandwidth) for v in x]}


def point_marks(t: Mapping[str, Any], est: Estimate) -> Marks:
    """One scatter per family, the area of a point growing with its time, and the point of the whole network."""
    longest = float(est.kernel_seconds.max())
    marks: Marks = {}
    for name in FAMILIES:
        marks[f"points {name}"] = {"x": [], "y": [], "size": [], "colors": [], "names": []}
    points = Points(est)
    rows = zip(points.index, points.intensity, points.flops_per_second, points.seconds, points.bound, strict=True)
    for i, x, y, seconds, bound in rows:
        mark = marks[f"points {t['families'][i]}"]
        mark["x"].append(float(x))
        mark["y"].append(float(y))
        mark["size"].append(float(seconds) / longest)
        mark["colors"].append(BOUND_COLORS[BOUNDS[bound]])
        mark["names"].append(
            f"{t['names'][i]} · {si(est.kernel_flops[i], 'FLOP')} · {si(est.kernel_dram_bytes[i], 'B')} · "
            f"{number(x)} FLOP/B · {si(seconds, 's')} · {BOUNDS[bound]}"
        )
    drawn = est.flops > 0 and est.dram_bytes > 0
    marks["total"] = {
        "x": [est.intensity] if drawn else [],
        "y": [est.flops_per_second] if drawn else [],
        "names": [f"whole network · {number(est.intensity)} FLOP/B · {si(est.seconds, 's')}"] if drawn else [],
    }
    return marks


def text_marks(t: Mapping[str, Any], est: Estimate) -> Marks:
    """Everything that is said in words."""
    d, n = est.device, len(est.plan)
    peak = d.peak_for(est.precision)
    counts = [int((est.kernel_bound == i).sum()) for i in range(len(BOUNDS))]
    shares = [est.seconds_by_bound[name] / est.seconds for name in BOUNDS]
    sentence = (
        f"{t['network']} on {t['device']} at {t['precision']} takes {si(est.seconds, 's')}: "
        f"{counts[1]} of {n} kernels wait for memory, {percent(shares[1])} of the time. {_ADVICE[est.bound]}{t['note']}"
    )
    formula = (
        f"attainable = min(peak, intensity × bandwidth) = min({si(peak, 'FLOP/s')}, intensity × "
        f"{si(d.bandwidth, 'B/s')}) &nbsp;·&nbsp; ridge = {si(peak, 'FLOP/s')} ÷ {si(d.bandwidth, 'B/s')} = "
        f"{number(peak / d.bandwidth)} FLOP/B"
    )
    hidden = Points(est).hidden
    off = "Every kernel is on the plot."
    if hidden:
        off = (
            "Not on the plot (its axes are logarithmic): "
            + "; ".join(html.escape(f"{name} {why}") for name, why in hidden)
            + "."
        )
    launch = "unknown, not counted" if d.launch_seconds is None else f"{si(d.launch_seconds, 's')} each"
    texts = {
        "bandwidth_text": si(d.bandwidth, "B/s"),
        "peak_text": si(peak, "FLOP/s"),
        "time": f"{si(est.seconds, 's')} <small>to {si(est.seconds_no_overlap, 's')} without overlap</small>",
        "bytes": si(est.dram_bytes, "B"),
        "work": f"{si(est.flops, 'FLOP')} <small>{n} kernels, launch {launch}</small>",
        "intensity": f"{number(est.intensity)} FLOP/B <small>ridge {number(peak / d.bandwidth)}</small>",
        "energy": _energy_text(est, t["dram"]),
        "bar": _bar(counts, shares),
        "sentence": sentence,
        "formula": formula,
        "off_plot": off,
        "table": _table(t, est),
    }
    return {name: {"value": value} for name, value in texts.items()}


_ADVICE = {
    "memory": "Most of the time is waiting for memory: more bandwidth or fewer bytes help most, a higher peak less.",
    "compute": "Most of the time is arithmetic: a higher peak or fewer FLOPs help most, more bandwidth less.",
    "launch": "Most of the time goes into starting kernels: fewer kernels help, a faster chip hardly does.",
    "balanced": "Most of the time is spent on the ridge: arithmetic and memory are equally busy.",
}


def energy_parts(dram: str) -> dict[str, str]:
    """What the parts of the energy are called on a device whose main memory is called so."""
    return {"arithmetic": "arithmetic", "dram": dram, "on_chip": "on-chip memory", "static": "static power"}


def _energy_text(est: Estimate, dram: str) -> str:
    if est.joules is None:
        return "unknown"
    without = ", ".join(energy_parts(dram)[name] for name in est.joules_missing)
    return si(est.joules, "J") + (f" <small>without {without}: unknown</small>" if without else "")


def _bar(counts: Sequence[int], shares: Sequence[float]) -> str:
    """Where the time goes: one coloured part per bound, named, its width the share of the time."""
    parts = [
        f'<span title="{name}" style="width:{percent(share).replace(" ", "")};background:{BOUND_COLORS[name]}">'
        f"{name if share > 0.2 else ''}</span>"
        for name, share in zip(BOUNDS, shares, strict=True)
        if share > 0
    ]
    words = ", ".join(
        f"{name} {percent(share)} ({count})"
        for name, share, count in zip(BOUNDS, shares, counts, strict=True)
        if count > 0
    )
    return f'<div class="rl-bar">{"".join(parts)}</div><small>{words}</small>'


def _table(t: Mapping[str, Any], est: Estimate, rows: int = 10) -> str:
    """The kernels that take longest, as an HTML table."""
    order = sorted(range(len(est.plan)), key=lambda i: -est.kernel_seconds[i])[:rows]
    head = "".join(f"<th>{h}</th>" for h in f"kernel|family|FLOP|{t['dram']} bytes|FLOP/B|time|limit".split("|"))
    body = ""
    for i in order:
        moved, flops = est.kernel_dram_bytes[i], est.kernel_flops[i]
        cells = (
            t["names"][i], t["families"][i], si(flops, "FLOP"), si(moved, "B"),
            number(flops / moved) if moved else "∞", si(est.kernel_seconds[i], "s"), BOUNDS[est.kernel_bound[i]],
        )  # fmt: skip
        body += "<tr>" + "".join(f"<td>{c}</td>" for c in cells) + "</tr>"
    return f'<table class="rl-table"><caption>The ten kernels that take longest</caption><tr>{head}</tr>{body}</table>'
