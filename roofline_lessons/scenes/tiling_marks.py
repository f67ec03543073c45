"""The marks of the tiling scene: the chart over the fusion depths, the picture of a tile, and everything said in words.

`tiling.js` holds the twins of these functions (`tilingChart` ...), which work from the tables and the sliders alone;
golden vectors hold them equal, numbers and text.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..text import counted, number, si
from .roofline_marks import Marks
from .tiling_picture import picture, px

if TYPE_CHECKING:
    from .tiling import TilingScene
    from .tiling_plans import Candidate

_UNITS = (("s", 1.0), ("ms", 1e3), ("µs", 1e6), ("ns", 1e9))
#: Ends of an axis, and how many steps its ticks make.
_NICE = ((1, 5), (1.2, 6), (1.5, 5), (2, 4), (2.5, 5), (3, 6), (4, 4), (5, 5), (6, 6), (8, 4), (10, 5))


def tiling_marks(scene: TilingScene) -> Marks:
    """Every mark and text: name -> its traits."""
    candidates, best = scene.candidates, scene.best
    return _chart(candidates, scene.depth, best.depth) | _texts(scene, candidates, best.depth)


# -- the chart --------------------------------------------------------------------------------------------------------


def _chart(candidates: Sequence[Candidate], depth: int, best: int) -> Marks:
    """Time against depth with its two parts; what does not fit is drawn hollow, crossed and not connected."""
    times = [c.estimate.seconds for c in candidates]
    arithmetic, memory = [c.arithmetic_seconds for c in candidates], [c.memory_seconds for c in candidates]
    longest = max(*times, *arithmetic, *memory)
    unit, factor = next((u for u in _UNITS if longest * u[1] >= 1), _UNITS[-1])
    limit, ticks = _nice(longest * factor * 1.1)
    x = [float(c.depth) for c in candidates]
    y = [t * factor for t in times]
    names = [f"{c.name} · {si(c.estimate.seconds, 's')} · {_fit_words(c)}" for c in candidates]
    fit, too_big = ([i for i, c in enumerate(candidates) if c.fits is which] for which in (True, False))
    now, star, last = depth - 1, best - 1, fit[-1]
    lift = limit * 0.1
    best_words = f"fastest {si(times[star], 's')}"
    now_words = [] if now == star else [_now_words(candidates[now])]
    # below its point where it would cover the other label
    away = -lift if abs(now - star) < 0.3 * len(x) and abs(y[now] - y[star]) < lift else lift
    return {
        "x_scale": {"min": 0.5, "max": len(x) + 0.5},
        "x_axis": {"tick_values": x},
        "y_scale": {"min": 0.0, "max": limit},
        "y_axis": {"label": f"time, {unit}", "tick_values": ticks},
        "arithmetic": {"x": x, "y": [t * factor for t in arithmetic]},
        "memory": {"x": x, "y": [t * factor for t in memory]},
        # a gap where it does not fit; bqplot cannot end with one
        "times": {"x": x[: last + 1], "y": [t if c.fits else math.nan for t, c in zip(y, candidates)][: last + 1]},
        "now": {"x": [x[now]], "y": [y[now]]},
        "fits": {"x": [x[i] for i in fit], "y": [y[i] for i in fit], "names": [names[i] for i in fit]},
        "too_big": {"x": [x[i] for i in too_big], "y": [y[i] for i in too_big], "names": [names[i] for i in too_big]},
        "crosses": {"x": [x[i] for i in too_big], "y": [y[i] for i in too_big], "text": ["✕" for _ in too_big]},
        "star": {"x": [x[star]], "y": [y[star]], "text": ["★"]},
        "label_best": {"x": [_inside(star + 1, len(x))], "y": [y[star] + lift], "text": [best_words]},
        "label_now": {"x": [_inside(depth, len(x))], "y": [y[now] + away], "text": now_words},
    }


def _nice(value: float) -> tuple[float, list[float]]:
    """A round number that is not below, and ticks up to it: axes that jump seldom are easier to follow."""
    step = 1.0
    while value > 10 * step:
        step *= 10
    end, parts = next((nice for nice in _NICE if nice[0] * step >= value), _NICE[-1])
    return end * step, [end * step * i / parts for i in range(parts + 1)]


def _fit_words(c: Candidate) -> str:
    if c.fits:
        return "fits"
    needed = c.tile_bytes if c.over == "tiles" else c.weight_bytes
    return f"does not fit: {_whole(needed)} B of {_whole(needed - c.over_bytes)} B"


def _inside(depth: int, depths: int) -> float:
    """Where a label of a depth has its middle: no nearer to the edge than an eighth of the axis."""
    return min(max(float(depth), 0.5 + 0.125 * depths), 0.5 + 0.875 * depths)


def _now_words(c: Candidate) -> str:
    return f"now {si(c.estimate.seconds, 's')}" if c.fits else "does not fit"


def _whole(count: float) -> str:
    """A count in full: 226,304."""
    return f"{count:,.0f}"


# -- the words --------------------------------------------------------------------------------------------------------


def _texts(scene: TilingScene, candidates: Sequence[Candidate], best: int) -> Marks:
    c, unfused, capacity = candidates[scene.depth - 1], candidates[0], scene.on_chip_bytes
    tiles = "not used" if c.depth == 1 else _grid(scene)
    beside = f"unfused {si(unfused.estimate.seconds, 's')}" if c.fits else "if it did fit"
    again = "nothing" if c.flops_again == 0 else si(c.flops_again, "FLOP")
    texts = {
        "depth_text": f"{c.depth} <small>of {len(candidates)}</small> {c.name}",
        "tile_text": f"{scene.tile} × {scene.tile} <small>{tiles}</small>",
        "memory_text": _memory_text(scene),
        "time": f"{si(c.estimate.seconds, 's')} <small>{beside}</small>",
        "bytes": f"{si(c.estimate.dram_bytes, 'B')} <small>unfused {si(unfused.estimate.dram_bytes, 'B')}</small>",
        "again": f"{again} <small>{number(100 * c.flops_again / unfused.estimate.flops, 2)} % more work</small>",
        "halo": f"{si(c.halo_bytes, 'B')} <small>of the {_dram(c)} bytes</small>",
        "fit": _fit(c, capacity, scene.device.on_chip_bytes is None),
        "picture": picture(scene),
        "sentence": _sentence(candidates, scene.depth, best),
        "formula": _formula(c),
        "table": _table(candidates, scene.depth, best),
    }
    return {name: {"value": value} for name, value in texts.items()}


def _dram(c: Candidate) -> str:
    """What the device's main memory is called."""
    return html.escape(c.estimate.device.memory_kind)


def _memory_text(scene: TilingScene) -> str:
    capacity = scene.on_chip_bytes
    if capacity is None:
        return "unknown" if scene.device.on_chip_bytes is None else "no limit"
    return f"{si(capacity, 'B')} <small>{_whole(capacity)} B</small>"


def _grid(scene: TilingScene) -> str:
    """How many tiles cut the output of the first kernel: "4 × 4 tiles"."""
    height, width = scene.pyramid[-1][:2]
    return f"{math.ceil(height / scene.tile)} × {math.ceil(width / scene.tile)} tiles"


def _sentence(candidates: Sequence[Candidate], depth: int, best: int) -> str:
    now, fastest, deepest, unfused = candidates[depth - 1], candidates[best - 1], candidates[-1], candidates[0]
    time = si(now.estimate.seconds, "s")
    record = f"{fastest.name} is the fastest that fits: {si(fastest.estimate.seconds, 's')}."
    if not now.fits:
        needed = now.tile_bytes if now.over == "tiles" else now.weight_bytes
        capacity = needed - now.over_bytes
        return (
            f"<b>{now.name} does not fit:</b> its {now.over} need {_whole(needed)} B of {_whole(capacity)} B, "
            f"{_whole(now.over_bytes)} B too many. {record}"
        )
    if now is not fastest:
        return f"<b>{now.name} takes {time}.</b> {record} {now.name} is slower because {_why(now, fastest)}."
    first = f"<b>{now.name} takes {time}</b>, the fastest that fits at this tile."
    other = deepest if now is not deepest else unfused
    if now is unfused and now is deepest:
        return first
    if not other.fits:
        return f"{first} {other.name} does not fit."
    return f"{first} {other.name} takes {si(other.estimate.seconds, 's')}, because {_why(other, now)}."


def _why(slow: Candidate, fast: Candidate) -> str:
    """Why one depth is slower than another: the part of its time that grows most."""
    arithmetic = slow.arithmetic_seconds - fast.arithmetic_seconds
    memory = slow.memory_seconds - fast.memory_seconds
    launches = len(slow.estimate.plan) - len(fast.estimate.plan)
    launch = slow.estimate.launch_seconds * launches
    most = max(arithmetic, memory, launch)
    if most < 0.1 * (slow.estimate.seconds - fast.estimate.seconds):
        return "arithmetic and memory hide less of each other"
    if most == arithmetic:
        return f"its tiles overlap: {si(slow.flops_again, 'FLOP')} are computed again"
    if most == launch:
        return f"it starts {counted(launches, 'more kernel')}"
    more = slow.estimate.dram_bytes - fast.estimate.dram_bytes
    return (
        f"it moves {si(more, 'B')} more to and from {_dram(slow)}" if more > 0 else "its on-chip traffic takes longer"
    )


def _formula(c: Candidate) -> str:
    """The time with its numbers put in, kernel by kernel."""
    est = c.estimate
    kernels = c.name[1:-1].split("][")
    start = f"{si(est.launch_seconds, 's')} + " if est.launch_seconds else ""
    parts = [
        f"[{name}] {start}max({si(arithmetic, 's')}, {si(memory, 's')})"
        for name, arithmetic, memory in zip(
            kernels, est.kernel_arithmetic_seconds, est.kernel_memory_seconds, strict=True
        )
    ]
    return (
        "time = sum over kernels of launch + max(FLOP ÷ peak, bytes ÷ bandwidth)<br>"
        f"{si(est.seconds, 's')} = {' &nbsp;+&nbsp; '.join(parts)}"
    )


def _table(candidates: Sequence[Candidate], depth: int, best: int) -> str:
    moved = f"{_dram(candidates[0])} bytes"
    head = f"layers per kernel|kernels|time|arithmetic|memory|computed again|{moved}|tiles|weights|fits".split("|")
    body = ""
    for c in candidates:
        est = c.estimate
        mark = ("★ " if c.depth == best else "") + ("▸ " if c.depth == depth else "")
        cells = (
            f"{mark}{c.depth}", c.name, si(est.seconds, "s"), si(c.arithmetic_seconds, "s"), si(c.memory_seconds, "s"),
            si(c.flops_again, "FLOP"), si(est.dram_bytes, "B"), f"{_whole(c.tile_bytes)} B",
            f"{_whole(c.weight_bytes)} B", "yes" if c.fits else f"no: {_whole(c.over_bytes)} B too many",
        )  # fmt: skip
        body += "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    caption = "Every depth at this tile; ★ fastest that fits, ▸ now"
    titles = "".join(f"<th>{h}</th>" for h in head)
    return f'<table class="rl-table"><caption>{caption}</caption><tr>{titles}</tr>{body}</table>'


def _fit(c: Candidate, capacity: float | None, unknown: bool) -> str:
    """What must be on the chip against what there is, as two bars with the capacity as a mark.

    Tiles and weights have a memory each, so they are not added up.
    """
    end = max(c.tile_bytes, c.weight_bytes, 1.0 if capacity is None else capacity)
    limit = "" if capacity is None else f'<i style="left:{px(100 * capacity / end)}%"></i>'
    rows = ""
    for name, needed in (("tiles", c.tile_bytes), ("weights", c.weight_bytes)):
        over = capacity is not None and needed > capacity
        rows += (
            f'<div class="rl-fit"><span>{name}</span><span class="rl-fit-track">'
            f'<b{" class=rl-over" if over else ""} style="width:{px(100 * needed / end)}%"></b>{limit}</span>'
            f"<span>{_whole(needed)} B</span></div>"
        )
    if c.depth == 1:
        words = "✓ nothing is kept: each layer streams"
    elif capacity is None:
        words = "unknown on this device, not checked" if unknown else "✓ no limit is set"
    elif c.fits:
        words = f"✓ each fits in {_whole(capacity)} B"
    else:
        words = f"✕ {_fit_words(c)}"
    return f'{rows}<div class="rl-fit-words">{words}</div>'
