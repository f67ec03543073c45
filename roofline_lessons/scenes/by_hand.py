"""The fuse-it-yourself scene: a graph whose kernels a person merges and splits, edge by edge.

The state is a plan and the plans before it. A change that no compiler could make is refused: `status` says why in the
words of `Plan.why_not`, and nothing else changes.
"""

from __future__ import annotations

import functools
import html
from collections.abc import Iterable, Sequence

from ..cost import Estimate, estimate
from ..device import Device
from ..errors import FusionError, unknown_name
from ..fusion import RULE_SETS, Plan, Saved, best_plan, choose_tiles, fuse, unfused
from ..graph import Graph, Operator
from ..text import number, si
from .by_hand_graph import Edge, cuts, edges_of, graph_of
from .by_hand_picture import Layout, bars, kernel_letter, layout, picture
from .roofline import as_device, closest_precision


class ByHandScene:
    """What the fuse-it-yourself widget shows.

    Parameters
    ----------
    network : str or Graph
        A name of `NETWORKS`, or a graph of at most 32 operators.
    device : str or Device
    precision : str
        By default fp32, or else the first one that the device can run.

    Attributes
    ----------
    graph : Graph
    edges : tuple of Edge
        What can be merged and split.
    plan : Plan
        The kernels as they are now, each tiled kernel with its fastest tile.
    status : str
        What the last change did, or why it was refused.
    refused : bool
    rules : str or None
        The rule set that made the plan; None when a person did.

    Raises
    ------
    ValueError
        A name that does not exist, a precision that the device has no peak for.
    GraphError
        More operators than the picture has room for.

    Examples
    --------
    >>> scene = ByHandScene("residual block")
    >>> scene.merge("relu_0", "add_0")
    'not fused: relu_0 and add_0 cannot share a kernel without batch_norm_1, which needs relu_0 and feeds add_0.'
    >>> scene.merge("conv_0", "batch_norm_0") is None, len(scene.plan)
    (True, 7)
    """

    def __init__(
        self,
        network: str | Graph = "MobileNetV2 block",
        device: str | Device = "raspberry-pi-5",
        precision: str | None = None,
    ) -> None:
        self.graph = graph_of(network)
        self.title = network.name if isinstance(network, Graph) else network
        self.edges = edges_of(self.graph)
        self._device = as_device(device)
        self._precision = closest_precision(self._device, precision)
        if precision is not None and precision != self._precision:
            self._device.peak_for(precision)  # says what the device has
        self._start, self._told = (self._device, self._precision), 0
        self._best: tuple[tuple[Device, str], float] | None = None  # found once for a device and a precision
        self.reset()

    # -- what a person does ------------------------------------------------------------------------------------------

    def merge(self, a: str, b: str) -> str | None:
        """Make the kernels of two operators one. None, or the sentence that says why not; then nothing changes."""
        first, second = self.plan.kernel_of(a), self.plan.kernel_of(b)
        if first is second:
            return self._refuse(f"{a} and {b} share a kernel already.")
        if reason := self.plan.why_not(a, b):
            return self._refuse(self._about(a, b, reason))
        others = [k.operators for k in self.plan.kernels if k not in (first, second)]
        before = self.estimate
        if reason := self._become([*others, (*first.operators, *second.operators)]):
            return self._refuse(self._about(a, b, reason))
        self._tell(f"Merged {a} and {b}: {_change(before, self.estimate)}.")
        return None

    def split(self, a: str, b: str) -> str | None:
        """Cut the kernel of two operators between them. None, or the sentence that says why not."""
        kernel = self.plan.kernel_of(a)
        if kernel is not self.plan.kernel_of(b):
            return self._refuse(f"{a} and {b} are in two kernels already.")
        others = [k.operators for k in self.plan.kernels if k is not kernel]
        before, reason = self.estimate, None
        for parts in cuts(self.graph, kernel, a, b):
            reason = self._become([*others, *parts])
            if reason is None:
                self._tell(f"Split {a} from {b}: {_change(before, self.estimate)}.")
                return None
        return self._refuse(reason or f"{a} and {b} cannot be separated.")

    def toggle(self, edge: Edge) -> str | None:
        """Merge where there are two kernels, split where there is one."""
        return (self.split if self.joined(edge) else self.merge)(edge.maker, edge.reader)

    def follow(self, rules: str) -> str | None:
        """Take the plan that a rule set makes. None, or the sentence that says why it cannot be."""
        if rules not in RULE_SETS:
            raise unknown_name("rule set", rules, RULE_SETS)
        try:
            plan = self._tiled(fuse(self.graph, rules))
        except FusionError as error:
            return self._refuse(str(error))
        self._history.append((plan, rules))
        self._tell(f"“{rules}” ({RULE_SETS[rules].whose}): {_change(self.unfused, self.estimate)}.")
        return None

    def undo(self) -> None:
        """Take the last change back; what would not fit a device chosen since then is passed over."""
        if not self.can_undo:
            self._tell("There is nothing to undo.")
            return
        while self.can_undo:
            self._history.pop()
            try:
                self._history[-1] = (self._tiled(self.plan), self.rules)
                break
            except FusionError:
                continue
        self._tell(f"Undone: {_kernels(len(self.plan))} again.")

    #: Id of the arrow tips; each picture on a page needs its own (`TilingScene.hatch`).
    tip = "rl-tip"

    def reset(self) -> None:
        """Unfused again, on the first device, with nothing to undo."""
        self._device, self._precision = self._start
        self._history: list[tuple[Plan, str | None]] = [(unfused(self.graph), None)]
        self._tell(f"Unfused: {_kernels(len(self.plan))}. Merge two neighbours with the + between them.")

    def move_to(self, device: str | Device, precision: str | None = None) -> str | None:
        """Take the plan to another device or precision. None, or the sentence that says what does not fit there."""
        before = self._device, self._precision
        self._device = as_device(device)
        self._precision = closest_precision(self._device, precision or self._precision)
        try:
            plan = self._tiled(self.plan)
        except FusionError as error:
            self._device, self._precision = before
            return self._refuse(str(error))
        self._history[-1] = (plan, self.rules)
        self._tell(f"Now on {self._device.name} at {self._precision}.")
        return None

    # -- state -------------------------------------------------------------------------------------------------------

    @property
    def plan(self) -> Plan:
        return self._history[-1][0]

    @property
    def rules(self) -> str | None:
        return self._history[-1][1]

    @property
    def can_undo(self) -> bool:
        return len(self._history) > 1

    @property
    def device(self) -> Device:
        return self._device

    @property
    def precision(self) -> str:
        return self._precision

    def joined(self, edge: Edge) -> bool:
        """Both operators are in one kernel."""
        return self.plan.kernel_of(edge.maker) is self.plan.kernel_of(edge.reader)

    def _become(self, groups: Iterable[Sequence[Operator]]) -> str | None:
        """Take other kernels, if they are legal and fit. Batch norms fold as soon as they can, as compilers do."""
        try:
            plan = self._tiled(Plan(self.graph, list(groups), fold=True))
        except FusionError as error:
            return str(error)
        self._history.append((plan, None))
        return None

    def _tiled(self, plan: Plan) -> Plan:
        return choose_tiles(plan, self._device, self._precision)

    def _about(self, a: str, b: str, reason: str) -> str:
        """A refusal that begins with what was clicked, and says which others that would bring along."""
        start = "not fused: "
        if not reason.startswith(start) or reason.startswith(f"{start}{a} and {b} "):
            return reason
        beside = {name: self._beside(name) for name in (a, b)}
        along = [f"{name} stands in a kernel with {_listed(others)}" for name, others in beside.items() if others]
        return f"{start}{a} and {b}. {'; '.join([*along, reason.removeprefix(start)])}"

    def _beside(self, name: str) -> list[str]:
        return [op.name for op in self.plan.kernel_of(name).operators if op.name != name]

    def _refuse(self, sentence: str) -> str:
        self.status, self.refused = sentence, True
        self._told += 1
        return sentence

    def _tell(self, sentence: str) -> None:
        self.status, self.refused = sentence, False
        self._told += 1

    # -- what it costs -----------------------------------------------------------------------------------------------

    @property
    def estimate(self) -> Estimate:
        """What the kernels cost."""
        return estimate(self.plan, self._device, self._precision)

    @property
    def unfused(self) -> Estimate:
        """What one kernel per operator costs."""
        return estimate(unfused(self.graph), self._device, self._precision)

    @property
    def speed_up(self) -> float:
        """How many times faster than unfused."""
        return self.unfused.seconds / self.estimate.seconds

    @property
    def saved(self) -> list[Saved]:
        """The tensors that travel less than unfused, the largest saving first."""
        return [s for s in self.unfused.plan.diff(self.plan, self._precision) if s.bytes_saved > 0]

    @property
    def best_seconds(self) -> float:
        """The time of the fastest plan that the search finds."""
        here = (self._device, self._precision)
        if self._best is None or self._best[0] != here:
            plan = best_plan(self.graph, *here)
            self._best = (here, estimate(plan, *here).seconds)
        return self._best[1]

    # -- what is shown -----------------------------------------------------------------------------------------------

    @functools.cached_property
    def layout(self) -> Layout:
        """Where operators and edges are in the picture, in pixels."""
        return layout(self.graph, self.edges)

    @property
    def sentence(self) -> str:
        """What is seen, in two sentences."""
        est = self.estimate
        slowest = max(range(len(self.plan)), key=lambda i: est.kernels[i].seconds)
        kernel = est.kernels[slowest]
        return (
            f"{self.title} on {self._device.name} at {self._precision}: {_kernels(len(self.plan))} with "
            f"{si(est.dram_bytes, 'B')} of DRAM traffic take {si(est.seconds, 's')}, {number(self.speed_up)} times as "
            f"fast as unfused. The slowest kernel is {kernel_letter(slowest)}, {kernel.name}. It is "
            f"{kernel.bound}{'' if kernel.bound == 'balanced' else '-bound'}:{kernel.because.split(':', 1)[1]}"
        )

    @property
    def challenge(self) -> str:
        """The person's time against the best that the search knows."""
        ours, best = self.estimate.seconds, self.best_seconds
        if ours <= best * 1.000001:
            return f"★ You have found the fastest plan that the search knows: {si(ours, 's')}."
        return f"Your plan takes {si(ours, 's')}; the fastest that the search knows {si(best, 's')}. Can you find it?"

    @property
    def texts(self) -> dict[str, str]:
        """Everything that is shown as HTML: name -> text."""
        est, before = self.estimate, self.unfused
        role = "alert" if self.refused else "status"
        mark = "✕ " if self.refused else ""
        return {
            "picture": picture(self),
            "status": f'<div role="{role}" data-change="{self._told}" '  # the same refusal again is news again
            f'class="rl-{"refused" if self.refused else "done"}">{mark}{html.escape(self.status)}</div>',
            "time": f"{si(est.seconds, 's')} <small>unfused {si(before.seconds, 's')}</small>",
            "bytes": f"{si(est.dram_bytes, 'B')} <small>unfused {si(before.dram_bytes, 'B')}</small>",
            "speed_up": f"{number(self.speed_up)} × <small>{_kernels(len(self.plan))} of {len(before.plan)}</small>",
            "limit": f"{est.bound} <small>{number(est.intensity)} FLOP/B, ridge "
            f"{number(self._device.ridge(self._precision))}</small>",
            "bars": bars(self),
            "saved": self._saved_text(),
            "formula": self._formula(),
            "challenge": html.escape(self.challenge),
            "sentence": html.escape(self.sentence),
            "table": self._table(),
        }

    def _saved_text(self, most: int = 6) -> str:
        if not self.saved:
            return "None yet: every tensor goes out to DRAM and comes back."
        parts = [
            f"<b>{html.escape(s.tensor)}</b> {si(s.bytes_saved, 'B')} saved"
            + (f", {si(s.after, 'B')} still travel" if s.after else "")
            for s in self.saved
        ]
        more = len(parts) - most
        rest = f" and {more} smaller one{'' if more == 1 else 's'}" if more > 0 else ""
        return "; ".join(parts[:most]) + rest

    def _formula(self) -> str:
        """The time with its numbers put in, kernel by kernel."""
        est = self.estimate
        parts = [f"{kernel_letter(i)} {si(float(seconds), 's')}" for i, seconds in enumerate(est.kernel_seconds)]
        return (
            "time = sum over kernels of launch + max(FLOP ÷ peak, bytes ÷ bandwidth)<br>"
            f"{si(est.seconds, 's')} = {' + '.join(parts)}"
        )

    def _table(self) -> str:
        head = "".join(f"<th>{h}</th>" for h in "kernel|operators|time|FLOP|DRAM bytes|FLOP/B|limit".split("|"))
        body = ""
        for i, k in enumerate(self.estimate.kernels):
            operators = ", ".join(html.escape(op.name) for op in k.operators)
            cells = (kernel_letter(i), operators, si(k.seconds, "s"), si(k.flops, "FLOP"), si(k.dram_bytes, "B"),
                     number(k.intensity), k.bound)  # fmt: skip
            body += "<tr>" + "".join(f"<td>{c}</td>" for c in cells) + "</tr>"
        return f'<table class="rl-table"><caption>The kernels</caption><tr>{head}</tr>{body}</table>'


def _kernels(count: int) -> str:
    return f"{count} kernel{'' if count == 1 else 's'}"


def _listed(names: Sequence[str], most: int = 3) -> str:
    """ "a, b and c"; of a long list the first ones and how many more there are."""
    shown = list(names) if len(names) <= most else [*names[: most - 1], f"{len(names) - most + 1} others"]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _change(before: Estimate, after: Estimate) -> str:
    """What a change did to bytes and time: "DRAM bytes 18.1 MB → 14.5 MB, time 1.20 ms → 980 µs"."""
    return (
        f"DRAM bytes {si(before.dram_bytes, 'B')} → {si(after.dram_bytes, 'B')}, "
        f"time {si(before.seconds, 's')} → {si(after.seconds, 's')}"
    )
