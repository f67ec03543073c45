"""How long it takes: the time bars of the fusion scene as an SVG picture. Their twins are in `fusion_picture.js`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..cost import Estimate
from ..text import si
from .fusion_picture import HALO, LETTERS, OVER_COLOR, WIDTH, color_of, px
from .fusion_shown import Shown, is_over, so_far, thousands

_BAR_LEFT, _BAR_WIDTH, _BAR_HEIGHT = 62, 372, 34

Table = Mapping[str, Any]


def time_bars(s: Shown) -> str:
    """Unfused above now, each kernel a part of its bar."""
    return bars(bar_row(s, s.before, True), bar_row(s, s.now, False) if s.now else None, _over(s))


def bar_row(s: Shown, est: Estimate, unfused: bool) -> dict[str, Any]:
    """One bar of the time picture. The unfused one has the letters of the kernels in which its operators are now."""
    t = s.tables
    kernel_of = {op: i for i, k in enumerate(s.plan) for op in t["kernels"][k]["ops"]}
    rows = s.unfused if unfused else s.plan
    kernels = [
        {
            "letter": kernel_of[t["kernels"][k]["ops"][0]],
            "launch": est.launch_seconds,
            "memory": float(est.kernel_memory_seconds[i]),
            "arithmetic": float(est.kernel_arithmetic_seconds[i]),
            "seconds": float(est.kernel_seconds[i]),
            "title": _bar_title(est, i, ", ".join(t["names"][op] for op in t["kernels"][k]["ops"])),
        }
        for i, k in enumerate(rows)
    ]
    running = s.tick > 0
    done = running and is_over(s.clock, est.seconds)
    _, moved, joules = so_far(est, s.clock if running else est.seconds)
    words = [si(moved, "B")] + ([] if joules is None else [si(joules, "J")])
    return {
        "kernels": kernels,
        "longest": s.longest,
        "time": si(min(s.clock, est.seconds) if running else est.seconds, "s") + (" · done" if done else ""),
        "moved": " · ".join(words),
        "cursor": min(s.clock, est.seconds) if running else None,
    }


def _bar_title(est: Estimate, i: int, names: str) -> str:
    return (
        f"{names}: {si(float(est.kernel_seconds[i]), 's')}, of which launch {si(est.launch_seconds, 's')}; memory "
        f"{si(float(est.kernel_memory_seconds[i]), 's')}, arithmetic {si(float(est.kernel_arithmetic_seconds[i]), 's')}"
    )


def _over(s: Shown) -> str:
    """How far a plan is from fitting."""
    if s.over is None or s.on_chip is None:
        return ""
    return f"does not fit: {thousands(s.over['bytes'])} B of {thousands(s.on_chip)} B"


def bars(before: Table, now: Table | None, over: str) -> str:
    """Two bars of time, before and now: per kernel its launch, then its memory time above its arithmetic time.

    A row holds `kernels` (launch, memory, arithmetic and whole seconds, the letter's number), `longest`, `time` and
    `moved` (texts), and `cursor` (seconds, or None while the clock stands at its start).
    """
    rows = [_bar("unfused", before, 6)]
    if now:
        rows.append(_bar("now", now, 58))
    else:
        rows.append(
            f'<text x="0" y="80" font-size="14" fill="currentColor">now</text>'
            f'<text x="{_BAR_LEFT}" y="80" font-size="15" font-weight="600" fill="{OVER_COLOR}">✕ {over}</text>'
        )
    said = f"unfused {before['time']}, now {now['time'] if now else over}"
    return f'<svg class="rl-bars" viewBox="0 0 {WIDTH} 98" role="img" aria-label="{said}">{"".join(rows)}</svg>'


def _bar(name: str, row: Table, y: int) -> str:
    scale = _BAR_WIDTH / row["longest"]
    parts, at = [f'<text x="0" y="{y + 22}" font-size="14" fill="currentColor">{name}</text>'], 0.0
    for kernel in row["kernels"]:
        parts.append(_segment(kernel, _BAR_LEFT + at * scale, scale, y))
        at += kernel["seconds"]
    parts += _bar_letters(row["kernels"], scale, y)
    end = px(_BAR_LEFT + at * scale + 10)
    parts.append(
        f'<text x="{end}" y="{y + 15}" font-size="15" font-weight="600" fill="currentColor">{row["time"]}</text>'
        f'<text x="{end}" y="{y + 32}" font-size="13" fill="currentColor" fill-opacity="0.75">{row["moved"]}</text>'
    )
    if row["cursor"] is not None:
        x = px(_BAR_LEFT + row["cursor"] * scale)
        parts.append(
            f'<path class="rl-cursor" d="M{x} {y - 5}V{y + _BAR_HEIGHT + 5}" stroke="currentColor" stroke-width="3"/>'
        )
    return "".join(parts)


def _segment(kernel: Table, x: float, scale: float, y: int) -> str:
    color, half = color_of(kernel["letter"]), _BAR_HEIGHT // 2
    inner = x + kernel["launch"] * scale

    def box(left: float, top: int, seconds: float, height: int, fill: str, opacity: str) -> str:
        return (
            f'<rect x="{px(left)}" y="{top}" width="{px(seconds * scale)}" height="{height}" fill="{fill}" '
            f'fill-opacity="{opacity}"/>'
        )

    return (
        f"<g><title>{kernel['title']}</title>"
        f"{box(x, y, kernel['launch'], _BAR_HEIGHT, 'currentColor', '0.6')}"
        f"{box(inner, y, kernel['memory'], half, color, '0.6')}"
        f"{box(inner, y + half, kernel['arithmetic'], half, color, '0.25')}"
        f'<rect x="{px(x)}" y="{y}" width="{px(kernel["seconds"] * scale)}" height="{_BAR_HEIGHT}" fill="none" '
        f'stroke="{color}" stroke-width="1.5"/></g>'
    )


def _bar_letters(kernels: Sequence[Table], scale: float, y: int) -> list[str]:
    """One letter per run of kernels with the same letter, where there is room for it."""
    runs: list[list[float]] = []
    at = 0.0
    for kernel in kernels:
        if runs and runs[-1][0] == kernel["letter"]:
            runs[-1][2] = at + kernel["seconds"]
        else:
            runs.append([kernel["letter"], at, at + kernel["seconds"]])
        at += kernel["seconds"]
    return [
        f'<text x="{px(_BAR_LEFT + (start + end) / 2 * scale)}" y="{y + 22}" text-anchor="middle" font-size="14" '
        f'font-weight="600" fill="currentColor" {HALO}>{LETTERS[int(letter)]}</text>'
        for letter, start, end in runs
        if (end - start) * scale > 14
    ]
