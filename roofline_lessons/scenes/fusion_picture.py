"""Where the data goes: the operators of the fusion scene in their kernels below DRAM, as an SVG picture.

Pure functions from tables to a string. `fusion_picture.js` draws the same string in the browser; golden vectors hold
the two equal to the letter, so every coordinate goes through `px`, which no last bit can tip over.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..text import number, si

#: Colours of the kernels (Okabe & Ito), in turn; the letter says which kernel it is, the colour only helps.
KERNEL_COLORS = ("#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
READ_COLOR, WRITE_COLOR, OVER_COLOR = "#d55e00", "#0072b2", "#d55e00"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

WIDTH, HEIGHT = 600, 240
_DRAM, _CHIP, _BOX = 32, 118, 116  # bottom of the DRAM bar; top and height of the kernels' boxes
_WIDEST, _MARGIN = 190, 26  # the widest slot of an operator; room on the right for the amount of the last arrow
_PULSES, _LAP = 3, 45  # points on an arrow at once; steps of the clock in which one runs down it

HALO = 'paint-order="stroke" stroke="var(--jp-layout-color0, #fff)" stroke-width="3.5" stroke-linejoin="round"'

Table = Mapping[str, Any]


def px(value: float) -> str:
    """A coordinate in tenths. Halves go up in both languages, also where one falls a last bit short of a half."""
    return f"{math.floor(value * 10 + 0.5 + 1e-6) / 10:g}"


def color_of(kernel: int) -> str:
    return KERNEL_COLORS[kernel % len(KERNEL_COLORS)]


def amount(t: Table, moved: float) -> str:
    """Bytes in the picture's unit, two digits, no unit: the line below the picture names it."""
    value = moved / t["unit"][1]
    return "&lt;0.01" if value < 0.01 else number(value, 2 if value < 100 else 3)


def picture(t: Table, plan: Sequence[int], over: int | None, current: int | None, tick: int) -> str:
    """The operators in their kernels below DRAM, with an arrow for each trip of a tensor.

    Parameters
    ----------
    t : mapping
        The tables.
    plan : sequence of int
        The kernels, as rows of ``t["kernels"]``.
    over : int or None
        The kernel that does not fit on the chip.
    current : int or None
        The kernel that runs now.
    tick : int
        The clock, which moves the pulses along the arrows.
    """
    rows = [t["kernels"][k] for k in plan]
    order = [op for row in rows for op in row["ops"]]
    slot = min((WIDTH - _MARGIN) / len(order), _WIDEST)
    left = (WIDTH - _MARGIN - slot * len(order)) / 2
    place = {op: left + slot * i for i, op in enumerate(order)}
    parts = [_dram(t["dram"]), *_gone(t, rows, place, slot)]
    for i, row in enumerate(rows):
        tile = f" · tile {row['tile'][0]} × {row['tile'][1]}" if row["tile"] and over is None else ""
        name = f"kernel {LETTERS[i]}{tile}"
        box = place[row["ops"][0]] + 2, slot * len(row["ops"]) - 4
        title = f"{name}: {_names(t, row)}"
        parts.append(_over(box, title) if i == over else _kernel(i, box, name, title, i == current))
    parts += _edges(t, rows, place, slot)
    parts += [_operator(t, op, place[op], slot) for op in order]
    words: list[str] = []  # above all arrows
    for i, row in enumerate(rows):
        _arrows(t, row, place, slot, tick if i == current and over is None else None, parts, words)
    return (
        f'<svg class="rl-where" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{_said(t, rows)}">'
        f"{''.join(parts + words)}</svg>"
    )


def _said(t: Table, rows: Sequence[Table]) -> str:
    kernels = "; ".join(f"{LETTERS[i]}: {_names(t, row)}" for i, row in enumerate(rows))
    return f"{len(rows)} kernels below {t['dram']}. {kernels}. The ledger says what each tensor moves."


def _names(t: Table, row: Table) -> str:
    return ", ".join(t["names"][op] for op in row["ops"])


def _dram(word: str) -> str:
    return (
        f'<rect x="1" y="1" width="{WIDTH - 2}" height="{_DRAM - 2}" rx="6" fill="{READ_COLOR}" fill-opacity="0.1" '
        f'stroke="{READ_COLOR}" stroke-width="1.5"/><text x="{WIDTH // 2}" y="22" text-anchor="middle" '
        f'font-size="16" font-weight="600" fill="currentColor">{word}</text>'
    )


def _kernel(i: int, box: tuple[float, float], name: str, title: str, runs: bool) -> str:
    """A kernel as a box with its letter; the one that runs glows."""
    color = color_of(i)
    frame = _frame(box)
    glow = f'<rect {frame} fill="none" stroke="{color}" stroke-width="13" stroke-opacity="0.4"/>' if runs else ""
    words = name if box[1] > 190 else name.split(" ·")[0] if box[1] > 78 else LETTERS[i]
    return (
        f'<g class="rl-kernel{" rl-runs" if runs else ""}"><title>{title}</title>{glow}'
        f'<rect {frame} fill="{color}" fill-opacity="{0.35 if runs else 0.1}" stroke="{color}" '
        f'stroke-width="{4 if runs else 2}"/>{_box_text(box, words, "")}</g>'
    )


def _over(box: tuple[float, float], title: str) -> str:
    """A kernel that does not fit: hatched, with a dashed frame and words, not told by its colour alone."""
    x, width = box
    path = ""
    for i in range(-(_BOX // 14), math.ceil(width / 14)):  # slanted lines, cut at the edges
        low, high = max(14 * i, 0), min(14 * i + _BOX, width)
        bottom = _CHIP + _BOX + 14 * i
        path += f"M{px(x + low)} {px(bottom - low)}L{px(x + high)} {px(bottom - high)}"
    words = _box_text(box, "does not fit" if width > 96 else "✕", HALO)
    return (
        f'<g class="rl-kernel rl-over"><title>{title}</title><rect {_frame(box)} fill="{OVER_COLOR}" '
        f'fill-opacity="0.1" stroke="{OVER_COLOR}" stroke-width="2.5" stroke-dasharray="7 4"/><path d="{path}" '
        f'stroke="{OVER_COLOR}" stroke-opacity="0.55"/>{words}</g>'
    )


def _frame(box: tuple[float, float]) -> str:
    return f'x="{px(box[0])}" y="{_CHIP}" width="{px(box[1])}" height="{_BOX}" rx="9"'


def _box_text(box: tuple[float, float], words: str, look: str) -> str:
    return (
        f'<text x="{px(box[0] + box[1] / 2)}" y="{_CHIP + _BOX - 14}" text-anchor="middle" font-size="15" '
        f'font-weight="600" fill="currentColor" {look}>{words}</text>'
    )


def _operator(t: Table, op: int, x: float, slot: float) -> str:
    top, bottom = t["labels"][op]
    size = px(min(max((slot - 15) / (0.62 * max(len(top), len(bottom))), 8), 14))
    middle = px(x + slot / 2)
    y = (_CHIP + 36, _CHIP + 54) if bottom else (_CHIP + 45, 0)
    words = "".join(
        f'<text x="{middle}" y="{at}" text-anchor="middle" font-size="{size}" fill="currentColor">{line}</text>'
        for at, line in zip(y, (top, bottom))
        if line
    )
    return (
        f'<g><title>{t["names"][op]}</title><rect x="{px(x + 6)}" y="{_CHIP + 14}" width="{px(slot - 12)}" height="54" '
        f'rx="5" fill="var(--jp-layout-color0, #fff)" stroke="currentColor" stroke-opacity="0.55"/>{words}</g>'
    )


def _edges(t: Table, rows: Sequence[Table], place: Mapping[int, float], slot: float) -> list[str]:
    """What stays on the chip: a line to the next operator, an arc below to one farther away."""
    parts = []
    for row in rows:
        for a, b in t["edges"]:
            if a not in row["ops"] or b not in row["ops"]:
                continue
            x, y = place[a] + slot - 6, _CHIP + 41
            if place[b] - place[a] < 1.5 * slot:
                path = f"M{px(x)} {y}H{px(place[b] + 6)}"
            else:
                start, end, low = place[a] + slot / 2, place[b] + slot / 2, _CHIP + 68
                path = f"M{px(start)} {low}C{px(start)} {low + 20} {px(end)} {low + 20} {px(end)} {low}"
            parts.append(f'<path d="{path}" fill="none" stroke="currentColor" stroke-width="2"/>')
    return parts


def bytes_of(row: Table) -> float:
    """DRAM bytes of a kernel."""
    return float(sum(moved for _, moved, _ in (*row["reads"], *row["writes"])) + (row["again"] or 0.0))


def trips(row: Table) -> list[tuple[int, int, int, float]]:
    """The arrows of a kernel: (operator, tensor, 0 read or 1 write, bytes).

    Weights, and what a kernel reads again because it does not fit the chip, come along with the first read.
    """
    reads = [(op, tensor, 0, moved) for tensor, moved, op in row["reads"] if op >= 0 and moved > 0]
    constants = sum(moved for _, moved, op in row["reads"] if op < 0) + (row["again"] or 0.0)
    if reads:
        reads[0] = (*reads[0][:3], reads[0][3] + constants)
    elif constants:
        reads = [(row["ops"][0], -1, 0, constants)]
    return reads + [(op, tensor, 1, moved) for tensor, moved, op in row["writes"] if moved > 0]


def _at(t: Table, place: Mapping[int, float], slot: float, op: int, tensor: int, way: int) -> float:
    """Where the arrow of a tensor stands above its operator: side by side in the order of the unfused plan."""
    arrows = t["arrows"][op]
    return place[op] + slot * (arrows.index([tensor, way]) + 0.5) / len(arrows)


def _gone(t: Table, rows: Sequence[Table], place: Mapping[int, float], slot: float) -> list[str]:
    """Dotted: the trips of the unfused plan that are made no more."""
    made = {trip[:3] for row in rows for trip in trips(row)}
    parts = []
    for op, arrows in enumerate(t["arrows"]):
        for tensor, way in arrows:
            if (op, tensor, way) not in made:
                x = px(_at(t, place, slot, op, tensor, way))
                parts.append(
                    f'<path class="rl-gone" d="M{x} {_DRAM + 4}V{_CHIP - 4}" stroke="currentColor" '
                    'stroke-opacity="0.45" stroke-width="1.5" stroke-dasharray="2 5"/>'
                )
    return parts


def _arrows(
    t: Table,
    row: Table,
    place: Mapping[int, float],
    slot: float,
    tick: int | None,
    parts: list[str],
    words: list[str],
) -> None:
    """The arrows of a kernel, pulses on them while it runs, and their amounts."""
    reads = 0
    for op, tensor, way, moved in trips(row):
        x = _at(t, place, slot, op, tensor, way)
        name = "constants" if tensor < 0 else t["tensors"][tensor]
        width = 1.5 + 4.5 * moved / t["most"]
        parts.append(_arrow(x, way, width, f"{'write' if way else 'read'} {name}: {si(moved, 'B')}"))
        if tick is not None:
            parts += _pulses(x, way, tick)
        # reads of one kernel and its write at different heights: they may stand close together
        y = 58 if way else 98 - 19 * (reads % 2)
        reads += 1 - way
        words.append(
            f'<text x="{px(x + 4 + width / 2)}" y="{y}" font-size="13" fill="currentColor" {HALO}>'
            f"{amount(t, moved)}</text>"
        )


def _arrow(x: float, way: int, width: float, title: str) -> str:
    half = 4 + width / 2
    start, end, head = (_DRAM + 2, _CHIP - 2, -10) if way == 0 else (_CHIP - 2, _DRAM + 2, 10)
    color = READ_COLOR if way == 0 else WRITE_COLOR
    return (
        f'<g class="rl-{"write" if way else "read"}"><title>{title}</title>'
        f'<path d="M{px(x)} {start}V{end + head}" stroke="{color}" stroke-width="{px(width)}"/>'
        f'<path d="M{px(x - half)} {end + head}H{px(x + half)}L{px(x)} {end}Z" fill="{color}"/></g>'
    )


def _pulses(x: float, way: int, tick: int) -> list[str]:
    color = READ_COLOR if way == 0 else WRITE_COLOR
    parts = []
    for i in range(_PULSES):
        done = (tick * _PULSES + i * _LAP) % (_PULSES * _LAP) / (_PULSES * _LAP)
        y = _DRAM + 8 + (_CHIP - _DRAM - 20) * (done if way == 0 else 1 - done)
        parts.append(
            f'<circle class="rl-pulse" cx="{px(x)}" cy="{px(y)}" r="5" fill="var(--jp-layout-color0, #fff)" '
            f'stroke="{color}" stroke-width="2.5"/>'
        )
    return parts
