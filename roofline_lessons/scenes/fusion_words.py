"""What the fusion scene says: sentences, readouts, the formula and the ledger. Their twins are in `fusion.js`."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

from ..cost import BOUNDS, Estimate
from ..text import counted, number, percent, si
from .fusion_bars import time_bars
from .fusion_picture import LETTERS, picture
from .fusion_shown import Shown, thousands
from .roofline_marks import Marks, energy_parts

Table = Mapping[str, Any]

#: A gain below this share of the time is not worth another depth: models are not that exact.
WORTH = 0.02


def texts(s: Shown) -> Marks:
    t = s.tables
    whole = s.now or s.before
    said = {
        "title": f'<span class="rl-title">{t["network"]}</span><br>{t["device"]} · {t["precision"]}',
        "depth_text": counted(s.depth, "operator"),
        "bandwidth_text": si(whole.device.bandwidth, "B/s"),
        "on_chip_text": "unknown" if s.on_chip is None else si(s.on_chip, "B"),
        "clock_text": _clock_text(s),
        "rules_text": f"<b>{t['rules']}</b>: {t['whose']}.",
        "picture": picture(t, s.plan, s.over["kernel"] if s.over else None, s.current, s.tick),
        "removed": _removed(s),
        "bars": time_bars(s),
        "on_chip_note": _on_chip_note(s),
        "energy": _energy(s),
        "sentence": f"{_first(s)}<br><small>{_second(s)}</small>",
        "formula": _formula(s),
        "off_plot": _off_plot(s),
        "ledger": _ledger(s),
    }
    return {name: {"value": value} for name, value in said.items()}


def _clock_text(s: Shown) -> str:
    slowed = s.tables["clock_seconds"] / s.longest
    pace = f"slowed {number(slowed, 2)} times" if slowed >= 1 else f"speeded up {number(1 / slowed, 2)} times"
    return f"{si(s.clock, 's')} of {si(s.longest, 's')} <small>{pace}</small>"


def _removed(s: Shown) -> str:
    kinds = '<span class="rl-key-read">▼</span> read with weights <span class="rl-key-write">▲</span> write, '
    kinds += f"in {s.tables['unit'][0]} &nbsp; "
    before = si(s.before.dram_bytes, "B")
    if s.now is None:
        return f"{kinds}{before} unfused; this plan does not fit"
    saved = s.before.dram_bytes - s.now.dram_bytes
    if saved == 0:
        return f"{kinds}┊ saved: nothing of {before}"
    if saved < 0:
        return f"{kinds}<b>{si(-saved, 'B')} more</b> than the {before} of unfused"
    return f"{kinds}┊ saved: <b>{si(saved, 'B')} of {before}</b>"


def _on_chip_note(s: Shown) -> str:
    """What the size of the on-chip memory decides."""
    rows = [s.tables["kernels"][k] for k in s.plan]
    have = "an unknown size" if s.on_chip is None else f"{thousands(s.on_chip)} B"
    tiled = [i for i, row in enumerate(rows) if row["tile"]]
    if s.over:
        return f"On chip: {have}, for tiles and for weights each."
    if tiled:
        i = max(tiled, key=lambda i: rows[i]["needs"][0])
        height, width = rows[i]["tile"]
        return (
            f"On chip: kernel {LETTERS[i]} works in tiles of {height} × {width}, the fastest that fit; its tiles take "
            f"{thousands(rows[i]['needs'][0])} B, its weights {thousands(rows[i]['needs'][1])} B, of {have} for each."
        )
    again = [i for i, row in enumerate(rows) if row["again"] is not None]
    if not again:
        return "On chip: every kernel here streams through, so the size of the on-chip memory changes nothing."
    i = max(again, key=lambda i: rows[i]["again"])
    if rows[i]["again"]:
        return f"On chip: {have} are too few for kernel {LETTERS[i]}; it reads {si(rows[i]['again'], 'B')} again."
    return f"On chip: all that kernel {LETTERS[i]} needs at once fits into {have}; nothing is read again."


def _energy(s: Shown) -> str:
    runs = [s.before, *([s.now] if s.now and s.plan != s.unfused else [])]
    if s.before.joules is None:
        return "Energy: unknown for this device."
    parts = energy_parts(s.tables["dram"]).items()
    words = [
        f"{name} {' → '.join(si(e.joules_by_part[part], 'J') for e in runs)}"
        for part, name in parts
        if s.before.joules_by_part[part] is not None
    ]
    missing = [name for part, name in parts if s.before.joules_by_part[part] is None]
    without = f"; without {', '.join(missing)}: unknown" if missing else ""
    return f"<b>Energy {' → '.join(si(e.joules, 'J') for e in runs)}</b> <small>{' · '.join(words)}{without}</small>"


def _first(s: Shown) -> str:
    """What this fusion saved."""
    if s.now is None:
        assert s.over is not None and s.on_chip is not None
        return (
            f"Fusing up to {s.depth} operators does not fit: the {s.over['what']} of kernel "
            f"{LETTERS[s.over['kernel']]} need {thousands(s.over['bytes'])} B of {thousands(s.on_chip)} B on the chip, "
            f"{thousands(s.over['bytes'] - s.on_chip)} B too many."
        )
    moved, time, dram = si(s.now.dram_bytes, "B"), si(s.now.seconds, "s"), s.tables["dram"]
    if s.plan == s.unfused:
        why = "Unfused" if s.depth == 1 else f"The rule set “{s.tables['rules']}” fuses nothing here"
        return f"{why}: {counted(len(s.plan), 'kernel')}, {moved} to and from {dram}, <b>{time}</b>."
    saved = s.before.dram_bytes - s.now.dram_bytes
    bytes_ = f"keeps {si(saved, 'B')} out of {dram}" if saved >= 0 else f"moves {si(-saved, 'B')} more through {dram}"
    gain = s.before.seconds / s.now.seconds
    slower = ", slower" if gain < 0.995 else ""
    return (
        f"Fusing up to {s.depth} operators {bytes_}: "
        f"<b>{si(s.before.seconds, 's')} → {time} ({number(gain, 2)}×{slower})</b>."
    )


_VERBS = {
    "memory": "waits for memory",
    "compute": "is limited by arithmetic",
    "launch": "is mostly being started",
    "balanced": "sits on the ridge",
}


def _second(s: Shown) -> str:
    """What limits now, and in which direction a better depth lies."""
    if s.now is None:
        return "Make the on-chip memory larger, or the depth smaller."
    est, i = s.now, _slowest(s.now)
    who = f"Kernel {LETTERS[i]} takes longest" if len(s.plan) > 1 else "The only kernel"
    moved = est.kernel_dram_bytes[i]
    intensity = number(float(est.kernel_flops[i] / moved)) if moved else "∞"
    ridge = number(est.device.bandwidth and est.device.peak_for(est.precision) / est.device.bandwidth)
    share = percent(float(est.kernel_seconds[i]) / est.seconds)
    limit = f"{who} ({share}) and" if len(s.plan) > 1 else who
    fitting = [(d, x) for d, x in enumerate(s.others, 1) if x is not None]
    least = (1 - WORTH) * est.seconds
    if any(d > s.depth and x < least for d, x in fitting):
        advice = "A larger depth is faster."
    elif any(d < s.depth and x < least for d, x in fitting):
        advice = "A smaller depth is faster."
    else:
        advice = f"No other depth is faster by more than {percent(WORTH)}."
    return f"{limit} {_VERBS[BOUNDS[est.kernel_bound[i]]]} ({intensity} FLOP/B, ridge {ridge}). {advice}"


def _slowest(est: Estimate) -> int:
    """The first of the kernels that take longest."""
    return max(range(len(est.plan)), key=lambda i: float(est.kernel_seconds[i]))


def _formula(s: Shown) -> str:
    """Time of the slowest kernel with its numbers put in."""
    if s.now is None:
        return "time of a kernel = launch + max(bytes ÷ bandwidth, FLOP ÷ peak)"
    est, i = s.now, _slowest(s.now)
    d, peak = est.device, est.device.peak_for(est.precision)
    known = d.launch_seconds is not None
    roofs = d.roofs()
    level = max(roofs, key=lambda name: _moved(est, name, i) / roofs[name])
    memory = f"{si(_moved(est, level, i), 'B')} ÷ {si(roofs[level], 'B/s')}"
    vector = min(d.vector_peak or peak, peak)
    macs, other = 2 * float(est.kernel_macs[i]), float(est.kernel_other_flops[i])
    if vector < peak:
        work = f"{si(macs, 'FLOP')} ÷ {si(peak, 'FLOP/s')} + {si(other, 'FLOP')} ÷ {si(vector, 'FLOP/s')}"
    else:
        work = f"{si(macs + other, 'FLOP')} ÷ {si(peak, 'FLOP/s')}"
    where = "bytes ÷ bandwidth" if level == "DRAM" else f"{html.escape(level)} bytes ÷ its bandwidth"
    law, start = ("launch + ", f"{si(d.launch_seconds, 's')} + ") if known else ("", "")
    note = "" if known else "; what starting a kernel costs is unknown here and left out"
    return (
        f"time of kernel {LETTERS[i]} = {law}max({where}, FLOP ÷ peak) = {start}max({memory}, {work}) = "
        f"{si(float(est.kernel_seconds[i]), 's')}{note}"
    )


def _moved(est: Estimate, level: str, i: int) -> float:
    return float(est.kernel_dram_bytes[i] if level == "DRAM" else est.kernel_on_chip_bytes[i])


def _off_plot(s: Shown) -> str:
    if s.now is None:
        return ""
    dram = s.tables["dram"]
    hidden = [
        f"kernel {LETTERS[i]} {'does no arithmetic' if s.now.kernel_flops[i] == 0 else f'moves no {dram} byte'}"
        for i in range(len(s.plan))
        if s.now.kernel_flops[i] == 0 or s.now.kernel_dram_bytes[i] == 0
    ]
    return f"Not on the plot (its axes are logarithmic): {'; '.join(hidden)}." if hidden else ""


def _ledger(s: Shown) -> str:
    """DRAM bytes per tensor before and now, as an HTML table: what is saved most comes first."""
    t = s.tables
    before, now = _by_tensor(t, s.unfused), _by_tensor(t, s.plan)
    names = [n for n in dict.fromkeys([*before, *now]) if n >= 0]
    rows = [(t["tensors"][n], before.get(n, 0.0), now.get(n, 0.0)) for n in names]
    if before[-1] or now[-1]:
        rows.append(("read again", before[-1], now[-1]))
    changed = sorted((r for r in rows if r[1] != r[2]), key=lambda r: r[2] - r[1])
    same = [r for r in rows if r[1] == r[2]]
    if same:
        changed.append((f"{len(same)} others, unchanged", sum(r[1] for r in same), sum(r[2] for r in same)))
    changed.append(("<b>all</b>", sum(r[1] for r in rows), sum(r[2] for r in rows)))
    body = "".join(
        f"<tr><td>{name}</td><td>{si(a, 'B')}</td><td>{si(b, 'B')}</td><td>{si(a - b, 'B')}</td></tr>"
        for name, a, b in changed
    )
    head = "".join(f"<th>{h}</th>" for h in ("tensor", "unfused", "now", "kept on chip"))
    return f'<table class="rl-table"><tr>{head}</tr>{body}</table>'


def _by_tensor(t: Table, plan: Sequence[int]) -> dict[int, float]:
    moved: dict[int, float] = {}
    for k in plan:
        row = t["kernels"][k]
        for tensor, amount, _ in (*row["reads"], *row["writes"], (-1, row["again"] or 0.0, 0)):
            moved[tensor] = moved.get(tensor, 0.0) + amount
    return moved
