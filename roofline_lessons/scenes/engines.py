"""What three engines make of one block, side by side: kernels as rows of boxes, a table, and a sentence."""

from __future__ import annotations

import html
import os
import re
from itertools import groupby
from pathlib import Path

from ..engines import BLOCKS, block, differences
from ..engines.block_results import Result
from ..engines.catalogue import RULES, WAYS
from ..engines.compared_savings import predict
from ..engines.here_or_recorded import results
from ..engines.predicted_savings import Saving, predict_saving, signed
from ..fusion import Plan, fuse, unfused
from ..measure import Machine, MeasureError, recorded
from ..measure.machine import FILE
from ..measure.measurement import from_json
from ..text import number, si

#: Words for the blocks in a menu.
TITLES = {
    "conv_bn_relu": "convolution, batch norm, ReLU, twice", "inverted_residual": "block of MobileNetV2",
    "residual": "block of ResNet-18", "pointwise": "1 × 1 convolution, ReLU, twice",
    "convolutions": "3 × 3 convolution, ReLU, twice", "separable": "depthwise and pointwise convolution, three times",
    "chain": "eight elementwise operators", "big_chain": "eight elementwise operators, bigger",
    "gelu": "GELU from five operators",
    "add_layer_norm": "addition and layer norm", "layer_norm_power": "layer norm, spelt with a power",
    "layer_norm_product": "layer norm, spelt with a product", "layer_norm_scaled": "layer norm, spelt with a scale",
    "layer_norm_moments": "layer norm, spelt with two moments",
}  # fmt: skip

#: The engines from the one that merges least.
ORDER = ("coreml", "litert", "onnxruntime")

#: Times that differ by less are called alike: on a busy machine they are.
_ALIKE = 1.2

WIDTH, _NAMES, _HEADS, _ROW, _BOX = 940, 140, 44, 44, 32
_COLORS, _OPACITY = ("#0072b2", "#d55e00", "#009e73", "#a23b72"), 0.16


def my_machine() -> Machine:
    """The measurement of this machine that is kept beside the notebooks; the recorded one where there is none."""
    try:
        return from_json(Path(os.environ.get("ROOFLINE_MACHINE") or FILE).read_bytes()).device()
    except (OSError, MeasureError):
        return recorded()


class EngineScene:
    """Three engines on a block.

    Parameters
    ----------
    name : str
        One of `engines.BLOCKS`.
    machine : measure.Machine, optional
        For the predicted savings; `my_machine` when not given.

    Attributes
    ----------
    results : dict of str to engines.Result
    """

    def __init__(self, name: str = "conv_bn_relu", machine: Machine | None = None) -> None:
        self.machine = my_machine() if machine is None else machine
        self.block = name

    @property
    def block(self) -> str:
        return self._block

    @block.setter
    def block(self, name: str) -> None:
        self.results: dict[str, Result] = results(name)
        self._block = name

    def measure_again(self) -> None:
        """Run the engines once more."""
        self.results = results(self._block, again=True)

    @property
    def plans(self) -> dict[str, Plan]:
        """Name of a row -> plan: nothing merged, then each engine's kernels."""
        known = [self.results[engine] for engine in ORDER if self.results[engine].after]
        return {"as written": unfused(block(self._block)), **{r.name: r.plan for r in known}}

    @property
    def sentence(self) -> str:
        """The picture in words."""
        return " ".join(_said(self.results[engine]) for engine in ORDER)

    @property
    def texts(self) -> dict[str, str]:
        """Pieces of HTML by name: title, picture, table, sentence, source."""
        title = (BLOCKS[self._block].__doc__ or "").strip().splitlines()[0]
        return {
            "title": html.escape(title),
            "picture": picture(self.plans),
            "table": self._table(),
            "sentence": html.escape(self.sentence),
            "source": html.escape(self._source()),
        }

    def predicted(self, engine: str) -> Saving:
        """What merging should save an engine; of Core ML only the trips are known, not what its operators cost."""
        result = self.results[engine]
        if engine in WAYS:
            return predict(result, engine, self.machine)
        return predict_saving(result.plan, result.name, self._roofs_of(engine))

    def _roofs_of(self, engine: str) -> Machine:
        """What is recorded is predicted for the machine on which it was recorded."""
        return recorded() if self.results[engine].recorded else self.machine

    def _source(self) -> str:
        came: dict[str, list[str]] = {}
        for r in (self.results[engine] for engine in ORDER):
            came.setdefault(_where(r), []).append(f"{r.name} {r.version}")
        where = "; ".join(f"{', '.join(names)}: {place}" for place, names in came.items())
        roofs = " and ".join(dict.fromkeys(self._roofs_of(e).name for e in ORDER))
        notes = dict.fromkeys(r.note for r in (self.results[e] for e in ORDER) if r.note)
        return f"{where}. Predicted savings: {roofs}. {' · '.join(notes)}"

    def _table(self) -> str:
        heads = ("engine", "kernels", "our rules say", "by which rule", "as written", "merged", "times as fast",
                 "saved: measured", "predicted")  # fmt: skip
        rows = [_row([html.escape(cell) for cell in self._cells(engine)]) for engine in ORDER]
        return f'<table class="rl-table"><tr>{"".join(f"<th>{h}</th>" for h in heads)}</tr>{"".join(rows)}</table>'

    def _cells(self, engine: str) -> list[str]:
        r, graph = self.results[engine], block(self._block)
        if not r.after:
            return [r.name, "–", "–", r.note, *["–"] * 5]
        ours = fuse(graph, RULES[engine])
        agreed = "the same" if not differences(graph, r.merges, RULES[engine]) else f"{len(ours)}, others"
        rules = "; ".join(dict.fromkeys(m.rule for m in r.merges)) or "nothing merged"
        cells = [r.name, f"{len(r.plan)} of {len(graph)}", agreed, rules]
        predicted = str(self.predicted(engine)) if r.merges else "–"
        before, after, times = r.unfused_seconds, r.fused_seconds, r.times_as_fast
        if before is None or after is None or times is None:
            return [*cells, *["on a Mac only"] * 2, "–", "–", predicted]
        # where nothing was merged the two times differ only by chance
        gained = [number(times, 2), signed(before - after)] if r.merges else ["–", "–"]
        return [*cells, si(before, "s"), si(after, "s"), *gained, predicted]


def _where(r: Result) -> str:
    """Where a result comes from; an engine that cannot run here only told what it merges."""
    return r.where if r.recorded or r.seconds else "asked here, not timed"


def _breakable(text: str) -> str:
    """Text in which long names may be broken between their words."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=_)", "<wbr>", text)


def _row(cells: list[str]) -> str:
    cells[3] = _breakable(cells[3])  # the rules
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _said(r: Result) -> str:
    """A sentence on one engine."""
    if not r.after:
        return f"{r.name}: {r.note}"
    operators, kernels = len(block(r.block)), len(r.plan)
    if kernels == operators:
        return f"{r.name} merges nothing: {_count(kernels)}."
    made, times = f"{r.name} makes {_count(kernels)} of {operators} operators", r.times_as_fast
    if times is None:
        return f"{made}."
    if times < 1 / _ALIKE:
        return f"{made}, and that takes {number(1 / times, 2)} times as long: a fusion that loses."
    if times < _ALIKE:
        return f"{made}, which changes its time by less than a fifth."
    return f"{made}, {number(times, 2)} times as fast."


def _count(kernels: int) -> str:
    return f"{kernels} kernel{'' if kernels == 1 else 's'}"


# -- the picture ------------------------------------------------------------------------------------------------------


def picture(plans: dict[str, Plan]) -> str:
    """Plans of one graph as SVG: a column for each operator, a row for each plan, a box for each kernel."""
    graph = next(iter(plans.values())).graph
    place = {op.name: i for i, op in enumerate(op for op in graph if not op.is_view)}
    pitch = min((WIDTH - _NAMES) / len(place), 130)
    parts = [part for name, i in place.items() for part in _head(graph[name].kind, _NAMES + (i + 0.5) * pitch)]
    for row, (name, plan) in enumerate(plans.items()):
        y = _HEADS + row * _ROW
        parts.append(f'<text x="{_NAMES - 12}" y="{y + _BOX / 2 + 5:g}" class="rl-row">{html.escape(name)}</text>')
        for i, kernel in enumerate(plan.kernels):
            parts += _boxes(sorted(place[op.name] for op in kernel.operators), i, y, pitch)
    height = _HEADS + len(plans) * _ROW
    words = "; ".join(f"{name}: {' | '.join(k.name for k in plan.kernels)}" for name, plan in plans.items())
    return (
        f'<svg class="rl-engines-picture" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" role="img">'
        f"<title>{html.escape(words)}</title>{''.join(parts)}</svg>"
    )


def _head(kind: str, x: float) -> list[str]:
    """The name of a kind, on two lines where it has two parts."""
    lines = kind.split("_", 1)
    return [
        f'<text x="{x:g}" y="{34 - 16 * (len(lines) - 1 - i)}" class="rl-head">{html.escape(line)}</text>'
        for i, line in enumerate(lines)
    ]


def _boxes(places: list[int], index: int, y: float, pitch: float) -> list[str]:
    """A kernel: a box over operators that stand side by side, several boxes with one letter where they do not."""
    color, parts = _COLORS[index % len(_COLORS)], []
    for _, run in groupby(enumerate(places), key=lambda p: p[1] - p[0]):
        xs = [x for _, x in run]
        x, width = _NAMES + xs[0] * pitch + 4, len(xs) * pitch - 8
        parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{_BOX}" rx="7" fill="{color}" '
            f'fill-opacity="{_OPACITY}" stroke="{color}" stroke-width="2"/>'
            f'<text x="{x + width / 2:g}" y="{y + _BOX / 2 + 5:g}" class="rl-head">{_letter(index)}</text>'
        )
    return parts


def _letter(index: int) -> str:
    return chr(ord("A") + index % 26)
