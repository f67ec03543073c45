"""What the fuse-it-yourself scene says: sentences, readouts, the formula, the table of kernels."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..cost import Estimate
from ..text import counted, number, si
from .by_hand_picture import bars, kernel_letter, picture

if TYPE_CHECKING:
    from .by_hand import ByHandScene


def texts(scene: ByHandScene) -> dict[str, str]:
    """Everything that is shown as HTML: name -> text."""
    est, before = scene.estimate, scene.unfused
    kernels = counted(len(scene.plan), "kernel")
    role = "alert" if scene.refused else "status"
    mark = "✕ " if scene.refused else ""
    return {
        "picture": picture(scene),
        "status": f'<div role="{role}" data-change="{scene.told}" '  # the same refusal again is news again
        f'class="rl-{"refused" if scene.refused else "done"}">{mark}{html.escape(scene.status)}</div>',
        "time": f"{si(est.seconds, 's')} <small>unfused {si(before.seconds, 's')}</small>",
        "bytes": f"{si(est.dram_bytes, 'B')} <small>unfused {si(before.dram_bytes, 'B')}</small>",
        "speed_up": f"{number(scene.speed_up)} × <small>{kernels} of {len(before.plan)}</small>",
        "limit": f"{est.bound} <small>{number(est.intensity)} FLOP/B, ridge "
        f"{number(scene.device.ridge(scene.precision))}</small>",
        "bars": bars(scene),
        "saved": _saved(scene),
        "formula": _formula(scene),
        "challenge": html.escape(challenge(scene)),
        "sentence": html.escape(sentence(scene)),
        "table": _table(scene),
    }


def sentence(scene: ByHandScene) -> str:
    """What is seen, in two sentences."""
    est = scene.estimate
    slowest = max(range(len(scene.plan)), key=lambda i: est.kernels[i].seconds)
    kernel = est.kernels[slowest]
    dram = scene.device.memory_kind
    return (
        f"{scene.title} on {scene.device.name} at {scene.precision}: {counted(len(scene.plan), 'kernel')} with "
        f"{si(est.dram_bytes, 'B')} of {dram} traffic take {si(est.seconds, 's')}, {number(scene.speed_up)} times "
        f"as fast as unfused. The slowest kernel is {kernel_letter(slowest)}, {kernel.name}. It is "
        f"{kernel.bound}{'' if kernel.bound == 'balanced' else '-bound'}:{kernel.because.split(':', 1)[1]}"
    )


def challenge(scene: ByHandScene) -> str:
    """The person's time against the best that the search knows."""
    ours, best = scene.estimate.seconds, scene.best_seconds
    if ours <= best * 1.000001:
        return f"★ You have found the fastest plan that the search knows: {si(ours, 's')}."
    return f"Your plan takes {si(ours, 's')}; the fastest that the search knows {si(best, 's')}. Can you find it?"


def _saved(scene: ByHandScene, most: int = 6) -> str:
    if not scene.saved:
        return f"None yet: every tensor goes out to {html.escape(scene.device.memory_kind)} and comes back."
    parts = [
        f"<b>{html.escape(s.tensor)}</b> {si(s.bytes_saved, 'B')} saved"
        + (f", {si(s.after, 'B')} still travel" if s.after else "")
        for s in scene.saved
    ]
    more = len(parts) - most
    rest = f" and {counted(more, 'smaller one')}" if more > 0 else ""
    return "; ".join(parts[:most]) + rest


def _formula(scene: ByHandScene) -> str:
    """The time with its numbers put in, kernel by kernel."""
    est = scene.estimate
    parts = [f"{kernel_letter(i)} {si(float(seconds), 's')}" for i, seconds in enumerate(est.kernel_seconds)]
    return (
        "time = sum over kernels of launch + max(FLOP ÷ peak, bytes ÷ bandwidth)<br>"
        f"{si(est.seconds, 's')} = {' + '.join(parts)}"
    )


def _table(scene: ByHandScene) -> str:
    moved = f"{html.escape(scene.device.memory_kind)} bytes"
    head = "".join(f"<th>{h}</th>" for h in f"kernel|operators|time|FLOP|{moved}|FLOP/B|limit".split("|"))
    body = ""
    for i, k in enumerate(scene.estimate.kernels):
        operators = ", ".join(html.escape(op.name) for op in k.operators)
        cells = (kernel_letter(i), operators, si(k.seconds, "s"), si(k.flops, "FLOP"), si(k.dram_bytes, "B"),
                 number(k.intensity), k.bound)  # fmt: skip
        body += "<tr>" + "".join(f"<td>{c}</td>" for c in cells) + "</tr>"
    return f'<table class="rl-table"><caption>The kernels</caption><tr>{head}</tr>{body}</table>'


def about_refusal(scene: ByHandScene, a: str, b: str, reason: str) -> str:
    """A refusal that begins with what was clicked, and says which others that would bring along."""
    start = "not fused: "
    if not reason.startswith(start) or reason.startswith(f"{start}{a} and {b} "):
        return reason
    beside = {name: _beside(scene, name) for name in (a, b)}
    along = [f"{name} stands in a kernel with {_listed(others)}" for name, others in beside.items() if others]
    return f"{start}{a} and {b}. {'; '.join([*along, reason.removeprefix(start)])}"


def _beside(scene: ByHandScene, name: str) -> list[str]:
    return [op.name for op in scene.plan.kernel_of(name).operators if op.name != name]


def _listed(names: Sequence[str], most: int = 3) -> str:
    """ "a, b and c"; of a long list the first ones and how many more there are."""
    shown = list(names) if len(names) <= most else [*names[: most - 1], f"{len(names) - most + 1} others"]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def change(before: Estimate, after: Estimate) -> str:
    """What a change did to bytes and time: "DRAM bytes 18.1 MB → 14.5 MB, time 1.20 ms → 980 µs"."""
    return (
        f"{before.device.memory_kind} bytes {si(before.dram_bytes, 'B')} → {si(after.dram_bytes, 'B')}, "
        f"time {si(before.seconds, 's')} → {si(after.seconds, 's')}"
    )
