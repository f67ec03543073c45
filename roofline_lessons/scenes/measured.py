"""Measured points in a roofline scene. No slider moves them, so the browser's driver need not know them."""

from __future__ import annotations

import html
from collections.abc import Sequence

from ..device import Device
from ..measure import Point, explained
from ..text import number, si
from .roofline_marks import Marks


def measured_marks(points: Sequence[Point], device: Device, precision: str) -> Marks:
    """Points, their bars from the fastest to the median round, and a sentence for each that lies above the roof."""
    return {
        "measured": {
            "x": [p.intensity for p in points],
            "y": [p.flops_per_second for p in points],
            "names": [
                f"measured: {p.name} · {number(p.intensity)} FLOP/B · {si(p.flops_per_second, 'FLOP/s')}"
                for p in points
            ],
        },
        "measured_spread": {
            "x": [[p.intensity, p.intensity] for p in points],
            "y": [[p.usual_flops_per_second, p.flops_per_second] for p in points],
        },
        "measured_text": {"value": html.escape(" ".join(explained(points, device, precision)))},
    }


def limits_that_hold(points: Sequence[Point], x: list[float], y: list[float]) -> tuple[list[float], list[float]]:
    """Limits of both axes, wide enough for every point: nothing that was measured is cut off."""
    for p in points:
        x = [min(x[0], p.intensity / 2), max(x[1], p.intensity * 2)]
        y = [min(y[0], p.usual_flops_per_second / 2), max(y[1], p.flops_per_second * 2)]
    return x, y
