"""The fuse-it-yourself scene: a graph whose kernels a person merges and splits, edge by edge.

The state is a plan and the plans before it. A change that no compiler could make is refused: `status` says why in the
words of `Plan.why_not`, and nothing else changes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

from ..cost import Estimate, estimate
from ..device import Device
from ..errors import FusionError, unknown_name
from ..fusion import RULE_SETS, Plan, Saved, best_plan, choose_tiles, fuse, unfused
from ..graph import Graph, Operator
from ..text import counted
from . import by_hand_words as words
from .by_hand_graph import Edge, cuts, edges_of, graph_of
from .by_hand_picture import Layout, layout
from .controls import as_device, closest_precision, first_precision


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
    told : int
        How often `status` was set.
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

    #: Id of the arrow tips; each picture on a page needs its own (`TilingScene.hatch`).
    tip = "rl-tip"

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
        self._precision = first_precision(self._device, precision)
        self._start, self.told = (self._device, self._precision), 0
        self._best: tuple[tuple[Device, str], float] | None = None  # found once for a device and a precision
        self.reset()

    # -- what a person does ------------------------------------------------------------------------------------------

    def merge(self, a: str, b: str) -> str | None:
        """Make the kernels of two operators one. None, or the sentence that says why not; then nothing changes."""
        first, second = self.plan.kernel_of(a), self.plan.kernel_of(b)
        if first is second:
            return self._refuse(f"{a} and {b} share a kernel already.")
        if reason := self.plan.why_not(a, b):
            return self._refuse(words.about_refusal(self, a, b, reason))
        others = [k.operators for k in self.plan.kernels if k not in (first, second)]
        before = self.estimate
        if reason := self._become([*others, (*first.operators, *second.operators)]):
            return self._refuse(words.about_refusal(self, a, b, reason))
        self._tell(f"Merged {a} and {b}: {words.change(before, self.estimate)}.")
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
                self._tell(f"Split {a} from {b}: {words.change(before, self.estimate)}.")
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
        self._tell(f"“{rules}” ({RULE_SETS[rules].whose}): {words.change(self.unfused, self.estimate)}.")
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
        self._tell(f"Undone: {counted(len(self.plan), 'kernel')} again.")

    def reset(self) -> None:
        """Unfused again, on the first device, with nothing to undo."""
        self._device, self._precision = self._start
        self._history: list[tuple[Plan, str | None]] = [(unfused(self.graph), None)]
        self._tell(f"Unfused: {counted(len(self.plan), 'kernel')}. Merge two neighbours with the + between them.")

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

    def _refuse(self, sentence: str) -> str:
        self.status, self.refused = sentence, True
        self.told += 1
        return sentence

    def _tell(self, sentence: str) -> None:
        self.status, self.refused = sentence, False
        self.told += 1

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
        return words.sentence(self)

    @property
    def challenge(self) -> str:
        """The person's time against the best that the search knows."""
        return words.challenge(self)

    @property
    def texts(self) -> dict[str, str]:
        """Everything that is shown as HTML: name -> text."""
        return words.texts(self)
