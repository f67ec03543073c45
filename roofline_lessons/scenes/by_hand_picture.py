"""The picture of the fuse-it-yourself scene: operators in a row, kernels as lettered boxes, and what goes to DRAM.

One function makes the SVG text, another says where the edges are, so that a widget can lay buttons on them.
"""

from __future__ import annotations

import html
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from ..fusion import Kernel
from ..fusion.traffic import Transfer, tensor_bytes
from ..graph import Graph, Operator, Tensor
from ..precision import precision
from ..text import counted, si

if TYPE_CHECKING:
    from .by_hand import ByHandScene
    from .by_hand_graph import Edge

WIDTH, _BOX, _GAP, _LEVEL, _PER_ROW = 1080, 56, 40, 40, 9
#: From the bottom of an operator to the bottom of its kernel's box and to the DRAM bar below; height of that bar.
_KERNEL, _DRAM, _BAR = 31, 56, 42
#: The room that an amount needs, in pixels.
_AMOUNT = 66

#: Colours of kernels, in turn; the letters say the same.
_COLORS = ("#0072b2", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#7a5195", "#8a8a8a")

_WORDS = {"batch_norm": "batch norm", "max_pool": "max pool", "avg_pool": "avg pool", "layer_norm": "layer norm"}


@dataclass(frozen=True)
class Layout:
    """Where things are, in pixels: left and top of each operator's box, the middle of each edge's button.

    box : the width of a box.
    rows : top and DRAM bar of each row.
    arcs : height of each arc, for edges that are not between neighbours in a row.
    """

    box: float
    height: float
    boxes: Mapping[str, tuple[float, float]]
    buttons: Mapping[Edge, tuple[float, float]]
    bars: Sequence[float]
    arcs: Mapping[Edge, float]


def layout(graph: Graph, edges: Sequence[Edge]) -> Layout:
    """Operators in the order of the graph, in as few rows as fit; edges between neighbours straight, others as arcs."""
    names = [op.name for op in graph if not op.is_view]
    rows = math.ceil(len(names) / _PER_ROW)
    per_row = math.ceil(len(names) / rows)
    pitch = min(176, WIDTH // per_row)
    box = pitch - _GAP
    place = {name: divmod(i, per_row) for i, name in enumerate(names)}
    arcs = _levels(edges, place)
    boxes: dict[str, tuple[float, float]] = {}
    bars: list[float] = []
    top = 0.0
    for row in range(rows):
        levels = [level for e, level in arcs.items() if place[e.reader][0] == row]
        y = top + 16 + _LEVEL * max(levels, default=0)
        boxes |= {name: (c * pitch + _GAP / 2, y) for name, (r, c) in place.items() if r == row}
        bars.append(y + _BOX + _DRAM)
        top = bars[-1] + _BAR + 8
    heights = {e: boxes[e.reader][1] - _LEVEL * level + 10 for e, level in arcs.items()}
    return Layout(box, top + 2, boxes, _buttons(edges, place, boxes, box, heights), bars, heights)


def _levels(edges: Sequence[Edge], place: Mapping[str, tuple[int, int]]) -> dict[Edge, int]:
    """Edges that are not between neighbours in a row, each at a level above those that it spans."""
    levels: dict[Edge, int] = {}

    def span(e: Edge) -> tuple[int, int]:
        (row, _), (reader_row, column) = place[e.maker], place[e.reader]
        return (place[e.maker][1] if row == reader_row else -1, column)

    far = [e for e in edges if place[e.reader] != (place[e.maker][0], place[e.maker][1] + 1)]
    for e in sorted(far, key=lambda e: span(e)[1] - span(e)[0]):
        low, high = span(e)
        beside = [
            level
            for other, level in levels.items()
            if place[other.reader][0] == place[e.reader][0] and span(other)[0] < high and low < span(other)[1]
        ]
        levels[e] = 1 + max(beside, default=0)
    return levels


def _buttons(
    edges: Sequence[Edge],
    place: Mapping[str, tuple[int, int]],
    boxes: Mapping[str, tuple[float, float]],
    box: float,
    heights: Mapping[Edge, float],
) -> dict[Edge, tuple[float, float]]:
    found = {}
    for e in edges:
        (x, y), (reader_x, _) = boxes[e.maker], boxes[e.reader]
        if e not in heights:
            found[e] = (x + box + _GAP / 2, y + _BOX / 2)
        elif place[e.maker][0] == place[e.reader][0]:
            found[e] = ((x + reader_x + box) / 2, heights[e])
        else:  # from a row above: where the arc comes in
            found[e] = (reader_x + box / 2 - 34, heights[e])
    return found


# -- drawing ----------------------------------------------------------------------------------------------------------


def picture(scene: ByHandScene) -> str:
    """The scene as SVG text."""
    at = scene.layout
    kernels = scene.plan.kernels
    parts = [_bar(y, scene.device.memory_kind) for y in at.bars]
    parts += [part for i, kernel in enumerate(kernels) for part in _kernel(kernel, i, at)]
    parts += [_edge(scene, edge, at) for edge in scene.edges]
    parts += _outer_trips(scene, at)
    folded = {op.name for kernel in kernels for op in kernel.folded}
    parts += [_operator(op, op.name in folded, at) for op in scene.graph if not op.is_view]
    title = f"{len(at.boxes)} operators in {counted(len(kernels), 'kernel')}"
    return (
        f'<svg class="rl-graph" width="{WIDTH}" height="{at.height:g}" viewBox="0 0 {WIDTH} {at.height:g}" role="img">'
        f'<title>{title}</title><defs><marker id="{scene.tip}" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="4" '
        'markerHeight="4" orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" fill="#d55e00"/></marker></defs>'
        f"{''.join(parts)}</svg>"
    )


def kernel_letter(index: int) -> str:
    """A, B … Z, AA … as kernels are called."""
    return (kernel_letter(index // 26 - 1) if index >= 26 else "") + chr(ord("A") + index % 26)


def _bar(y: float, word: str) -> str:
    return (
        f'<rect class="rl-dram" x="4" y="{y:g}" width="{WIDTH - 8}" height="{_BAR}" rx="4"/>'
        f'<text class="rl-dram-word" x="14" y="{y + 35:g}">{html.escape(word)}</text>'
    )


def _kernel(kernel: Kernel, index: int, at: Layout) -> list[str]:
    """A box around the operators of a kernel, one for each run of neighbours."""
    places = sorted((at.boxes[op.name][1], at.boxes[op.name][0]) for op in kernel.operators)
    pitch = at.box + _GAP
    color = _COLORS[index % len(_COLORS)]
    parts = []
    for _, run in groupby(enumerate(places), key=lambda p: (p[1][0], round(p[1][1] / pitch) - p[0])):
        (y, x), *_, (_, end) = [(p[1][0], p[1][1]) for p in run] * 2
        last = max(end, x)
        parts.append(
            f'<rect x="{x - 7:g}" y="{y - 7:g}" width="{last - x + at.box + 14:g}" height="{_BOX + _KERNEL + 7}" '
            f'rx="8" fill="{color}" fill-opacity="0.16" stroke="{color}" stroke-width="2.5"/>'
            f'<text class="rl-letter" x="{(x + last + at.box) / 2:g}" y="{y + _BOX + 23:g}">'
            f"{'kernel ' if last > x else ''}{kernel_letter(index)}</text>"
        )
    return parts


def _operator(op: Operator, folded: bool, at: Layout) -> str:
    x, y = at.boxes[op.name]
    middle = x + at.box / 2
    kind = "folded" if folded else _kind(op)
    return (
        f'<g><title>{html.escape(repr(op))}</title><rect class="rl-op{" rl-folded" if folded else ""}" x="{x:g}" '
        f'y="{y:g}" width="{at.box:g}" height="{_BOX}" rx="5"/>'
        f"{_text('rl-kind', kind, middle, y + 24, at.box, 9.6)}"
        f"{_text('rl-name', op.name, middle, y + 43, at.box, 8.0)}</g>"
    )


def _text(css: str, words: str, x: float, y: float, box: float, per_letter: float) -> str:
    """Words in a box: squeezed where they are a little too long, cut where they are far too long."""
    room = box - 8
    most = int(room / per_letter * 1.6)
    short = words if len(words) <= most else words[: most - 1] + "…"
    squeeze = f' textLength="{room:g}" lengthAdjust="spacingAndGlyphs"' if len(short) * per_letter > room else ""
    return f'<text class="{css}" x="{x:g}" y="{y:g}"{squeeze}>{html.escape(short)}</text>'


def _kind(op: Operator) -> str:
    if op.kind == "conv2d":
        kernel = op.attributes["kernel"]
        return f"{'dw' if op.attributes.get('groups', 1) > 1 else 'conv'} {kernel[0]}×{kernel[1]}"
    return _WORDS.get(op.kind, op.kind.replace("_", " "))


def _edge(scene: ByHandScene, edge: Edge, at: Layout) -> str:
    """The way of one tensor: by DRAM where it crosses kernels, else on the chip."""
    joined = scene.joined(edge)
    x, y = at.buttons[edge]
    css = "rl-stays" if joined else "rl-travels"
    (from_x, from_y), (to_x, to_y) = at.boxes[edge.maker], at.boxes[edge.reader]
    if edge in at.arcs:
        end = to_x + at.box / 2
        if from_y == to_y:
            way = f"M{from_x + at.box / 2:g} {from_y:g}V{y + 12:g}q0 -12 12 -12H{end - 12:g}q12 0 12 12V{to_y:g}"
        else:  # from the row above
            way = f"M{x:g} {y - 24:g}V{y:g}H{end - 8:g}q8 0 8 8V{to_y:g}"
        label = f'<text class="rl-far" x="{x + 20:g}" y="{y - 8:g}">{_travel(scene, edge)}</text>'
        return f'<path class="{css}" d="{way}"/>{label}'
    line = f'<path class="{css}" d="M{from_x + at.box:g} {y:g}H{to_x:g}"/>'
    if joined:
        return line
    bar = from_y + _BOX + _DRAM
    written = "" if _is_result(scene, edge.tensor) else f' marker-end="url(#{scene.tip})"'  # that has an arrow already
    return (
        f'{line}<path class="rl-trip" marker-start="url(#{scene.tip})"{written} d="M{x:g} {y + 18:g}V{bar:g}"/>'
        f'<text class="rl-bytes" x="{x:g}" y="{bar + 35:g}">{_size(scene, edge)}</text>'
    )


def _outer_trips(scene: ByHandScene, at: Layout) -> list[str]:
    """An arrow into the kernel for each input of the graph that it reads, one out of it for each result it writes."""
    parts = []
    for name, trips in _trips_of_operators(scene).items():
        left, top = at.boxes[name]
        bottom, bar = top + _BOX + _KERNEL + 2, top + _BOX + _DRAM
        lines = 1 if at.box >= _AMOUNT * len(trips) else 2
        free = min(_AMOUNT - _GAP / 2, at.box / 2)  # on the second line are the amounts of the edges, in the gaps
        for i, (way, moved) in enumerate(trips):
            x = left + at.box * (i + 0.5) / len(trips)
            line = i % lines
            middle = min(max(x, left + free), left + at.box - free) if line else x
            start, end = (bar, bottom) if way == "read" else (bottom, bar)
            amount = _amount(scene, moved)
            parts.append(
                f'<g><title>{way} {html.escape(moved.tensor.name)}: {amount}</title><path class="rl-outer rl-{way}" '
                f'marker-end="url(#{scene.tip})" d="M{x:g} {start:g}V{end:g}"/></g>'
                f'<text class="rl-bytes" x="{middle:g}" y="{bar + 17 + 18 * line:g}">{amount}</text>'
            )
    return parts


def _trips_of_operators(scene: ByHandScene) -> dict[str, list[tuple[str, Transfer]]]:
    """Operator -> the inputs that its kernel reads for it first, and the results that it makes."""
    graph, found = scene.graph, defaultdict(list)
    for kernel in scene.plan.kernels:
        for moved in kernel.reads:
            if not moved.tensor.is_constant and moved.tensor.name not in graph.producers:
                reader = next(op for op in kernel.operators if _reads(graph, op, moved.tensor))
                found[reader.name].append(("read", moved))
        for moved in kernel.writes:
            if _is_result(scene, moved.tensor):
                found[graph.producers[moved.tensor.name].name].append(("write", moved))
    return found


def _reads(graph: Graph, op: Operator, tensor: Tensor) -> bool:
    return any(stored.name == tensor.name for t in op.activations for stored in graph.storage(t))


def _is_result(scene: ByHandScene, tensor: Tensor) -> bool:
    """The graph gives it back, so it is written whoever reads it inside."""
    return any(stored.name == tensor.name for t in scene.graph.outputs for stored in scene.graph.storage(t))


def _amount(scene: ByHandScene, moved: Transfer) -> str:
    return si(float(tensor_bytes(moved.tensor, moved.elements, precision(scene.precision))), "B")


def _travel(scene: ByHandScene, edge: Edge) -> str:
    """What an arc says: a tensor is written once, and read by each kernel that needs it."""
    if scene.joined(edge):
        return "on chip"
    others = [e for e in scene.edges if e.maker == edge.maker and not scene.joined(e)]
    others = others[: others.index(edge)]
    kernel = scene.plan.kernel_of(edge.reader)
    if any(scene.plan.kernel_of(e.reader) is kernel for e in others):
        return "the same read"  # a kernel reads a tensor once
    again = others or _is_result(scene, edge.tensor)
    return f"{_size(scene, edge)} {'read again' if again else 'by ' + html.escape(scene.device.memory_kind)}"


def _size(scene: ByHandScene, edge: Edge) -> str:
    return _amount(scene, Transfer(edge.tensor, edge.tensor.elements))


def bars(scene: ByHandScene) -> str:
    """Two bars of time, unfused and now, each kernel a part with its letter."""
    now, before = scene.estimate, scene.unfused
    longest = max(now.seconds, before.seconds)
    rows = []
    for name, est, colors in (("unfused", before, ("#8a8a8a",)), ("now", now, _COLORS)):
        parts = "".join(
            f'<span title="{kernel_letter(i)}" style="width:{100 * seconds / longest:.2f}%;'
            f'background:{colors[i % len(colors)]}">{kernel_letter(i) if seconds > 0.015 * longest else ""}</span>'
            for i, seconds in enumerate(est.kernel_seconds)
        )
        rows.append(
            f'<div class="rl-time"><span>{name}</span><div class="rl-bar">{parts}</div>'
            f"<span>{si(est.seconds, 's')}</span></div>"
        )
    return "".join(rows)
