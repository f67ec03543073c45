"""The marks of the fusion scene: what is drawn and said, from tables and estimates.

Their twins (`fusionPoints` ...) are in `fusion.js` and work from the tables and the sliders alone; golden vectors hold
them equal, numbers and text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..cost import Estimate
from ..text import number, si
from .fusion_picture import LETTERS, color_of
from .fusion_shown import Shown
from .fusion_words import texts
from .roofline_marks import ON_CHIP_ROOFS, Marks, roof_marks

Table = Mapping[str, Any]

#: Points of the trail from before to now.
_TRAIL = 12

#: Shares of the width of a small picture: a letter of a label, and what is between a point and its label. A letter of
#: DejaVu Sans, the widest font that a bare system falls back to (0.029).
_LETTER, _BESIDE = 0.0295, 0.045

#: A label of more letters begins where one of so many does: in the left half it would not be near its points.
_LONGEST = 18


def marks(s: Shown) -> Marks:
    """Every mark and text: name -> its traits."""
    est = s.now or s.before
    roofs = roof_marks(s.tables, est)
    roofs["label_ridge"]["text"] = [f"ridge {number(est.device.ridge(est.precision))}"]
    return roofs | _points(s) | texts(s)


def _points(s: Shown) -> Marks:
    """Kernels as points with their letters, the whole graph before and now, the trail, and the kernel that runs."""
    x: list[float] = []
    y: list[float] = []
    shown: list[int] = []
    if s.now:
        shown = [i for i in range(len(s.plan)) if s.now.kernel_flops[i] > 0 and s.now.kernel_dram_bytes[i] > 0]
        x = [float(s.now.kernel_flops[i] / s.now.kernel_dram_bytes[i]) for i in shown]
        y = [float(s.now.kernel_flops[i] / s.now.kernel_seconds[i]) for i in shown]
    before = _total(s.before)
    now = _total(s.now) if s.now else []
    moved = len(before) == len(now) == 1 and before != now
    apart = before if moved or s.now is None else []
    total = "now" if moved else "unfused"
    trail = _trail(s.tables, before[0], now[0], s.before.device.ridge(s.before.precision)) if moved else []
    glow = [(a, b) for i, a, b in zip(shown, x, y) if i == s.current]
    return {
        "kernels": {"x": x, "y": y, "colors": [color_of(i) for i in shown] or [color_of(0)]},
        "names": _grouped(s.tables, [*zip(x, y, (LETTERS[i] for i in shown)), *((*p, total) for p in now)]),
        "before": _xy(before),
        "now": _xy(now),
        "trail": _xy(trail),
        "glow": _xy(glow),
        "label_on_chip": _on_chip_labels(s.tables, s.now or s.before),
        "label_bandwidth": _bandwidth_label(s.tables, s.now or s.before, [*before, *now]),
        "label_before": _xy(apart) | {"text": ["unfused"] * len(apart)},
    }


def _bandwidth_label(t: Table, est: Estimate, taken: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Three quarters up the slope; where the point of the whole graph is, half-way or a quarter."""
    (x0, x1), d = t["x_limits"], est.device
    far = math.sqrt(math.sqrt(math.sqrt(x1 / x0)))  # an eighth of the axis
    at = min(max(d.ridge(est.precision), x0), x1)
    middle = math.sqrt(x0 * at)
    places = (math.sqrt(middle * at), middle, math.sqrt(x0 * middle))
    free = (x for x in places if all(max(p[0] / x, x / p[0]) > far for p in taken))
    x = next(free, places[0])
    name = f"{t['memory']} " if t["levels"] else ""  # it may lie on another roof
    return {"x": [x * t["beside"][0]], "y": [x * d.bandwidth * t["beside"][1]], "text": [name + si(d.bandwidth, "B/s")]}


def _on_chip_labels(t: Table, est: Estimate) -> dict[str, Any]:
    """What the dash-dotted roofs are: above their corners, clear of the label of the peak at the right."""
    levels, peak = t["levels"][:ON_CHIP_ROOFS], est.device.peak_for(est.precision)
    low, high = t["roof_labels"]
    return {
        "x": [min(max(peak / bandwidth, low), high) for _, bandwidth in levels],
        "y": [peak * (t["lift"] if i == 0 else t["lift"] * t["lift"]) for i in range(len(levels))],
        "text": [f"{'on chip' if len(levels) == 1 else name} {si(bandwidth, 'B/s')}" for name, bandwidth in levels],
    }


def _xy(points: Sequence[tuple[float, float]]) -> dict[str, Any]:
    return {"x": [p[0] for p in points], "y": [p[1] for p in points]}


def _total(est: Estimate) -> list[tuple[float, float]]:
    """The point of the whole graph, where it has one on logarithmic axes."""
    drawn = est.flops > 0 and est.dram_bytes > 0
    return [(est.intensity, est.flops_per_second)] if drawn else []


def _trail(t: Table, a: tuple[float, float], b: tuple[float, float], ridge: float) -> list[tuple[float, float]]:
    """A bow from a to b, above the straight line between them; below it under the flat roof, whose label is above."""
    (x0, x1), (y0, y1) = t["x_limits"], t["y_limits"]
    across, up = math.log(b[0] / a[0]), math.log(b[1] / a[1])
    long = math.hypot(across / math.log(x1 / x0), up / math.log(y1 / y0))
    bow = (4 if a[0] < ridge else -4) * (0.06 + 0.2 * long) * math.log(y1 / y0)  # a quarter of this in the middle
    points = []
    for i in range(_TRAIL + 1):
        p = i / _TRAIL
        lift = up * p + bow * p * (1 - p)
        points.append((a[0] * math.exp(across * p), a[1] * math.exp(lift)))
    return points


def _grouped(t: Table, named: Sequence[tuple[float, float, str]]) -> dict[str, Any]:
    """One label for points that lie on top of each other: "A D · now". A long one at the right begins farther left."""
    groups: list[tuple[float, float, list[str]]] = []
    near_x, near_y = t["near"]
    for a, b, name in named:
        for x, y, names in groups:
            if max(a / x, x / a) < near_x and max(b / y, y / b) < near_y:
                names.append(name)
                break
        else:
            groups.append((a, b, [name]))
    texts, ends = [_together(g[2]) for g in groups], t["label_ends"]
    starts = [min(g[0], ends[min(len(text), len(ends) - 1)]) for g, text in zip(groups, texts)]
    return {"x": starts, "y": [g[1] for g in groups], "text": texts}


def label_ends(x_limits: Sequence[float]) -> list[float]:
    """Where a label of 0, 1, 2 … letters may begin at the latest, as an intensity: farther right it would be cut off.

    Examples
    --------
    >>> ends = label_ends((0.01, 1000))
    >>> 1000 > ends[0] > ends[1] > ends[-1] > 0.01
    True
    """
    x0, x1 = x_limits
    return [x1 * (x0 / x1) ** (_BESIDE + _LETTER * n) for n in range(_LONGEST + 1)]


def _together(names: Sequence[str]) -> str:
    """The letters of kernels, then what the whole graph is called."""
    letters, total = (" ".join(n for n in names if (n in LETTERS) is which) for which in (True, False))
    return " · ".join(words for words in (letters, total) if words)
