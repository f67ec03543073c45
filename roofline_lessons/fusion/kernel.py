"""A kernel: operators that run as one launch, with what they move to and from DRAM and what they compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..device import Device
from ..errors import FusionError
from ..graph import Graph, Operator, Tensor
from .attention import Attention, find_attention
from .legality import folded_bias, folded_flops, is_tiled, why_not_convex, why_not_folded, why_not_tiles
from .sweeps import SWEEPS, Sweep
from .tiling import TileCosts, Tiling, tile_costs
from .traffic import Transfer


@dataclass(frozen=True)
class Kernel:
    """Operators that run as one launch: nothing between them touches DRAM.

    operators : in the order they run.
    reads : from outside, each tensor once (of a tiled kernel with the halo that each tile reads again).
    writes : needed outside, each tensor once.
    macs, other_flops : the work, with what a tiled kernel computes again and without what is folded.
    folded : batch norms whose scale and shift moved into the weight and bias of the convolution before them.
    tiling : how a kernel of several windowed operators is cut; None for one that streams.
    live_elements, weight_elements : of a tiled kernel, what must be on the chip at once: tiles, and weights.
    attention : sizes of an attention kernel, else None.
    sweeps : softmaxes and norms, which read their rows more than once where a row does not fit the chip.
    """

    operators: tuple[Operator, ...]
    reads: tuple[Transfer, ...]
    writes: tuple[Transfer, ...]
    macs: int
    other_flops: int
    folded: tuple[Operator, ...] = ()
    tiling: Tiling | None = None
    live_elements: int = 0
    weight_elements: int = 0
    attention: Attention | None = None
    sweeps: tuple[Sweep, ...] = ()

    @property
    def name(self) -> str:
        """The name of its operator, or first and last with the number between: "conv_0 … relu_2 (5)"."""
        first, last, n = self.operators[0].name, self.operators[-1].name, len(self.operators)
        return first if n == 1 else f"{first} + {last}" if n == 2 else f"{first} … {last} ({n})"

    @property
    def flops(self) -> int:
        return 2 * self.macs + self.other_flops

    def __repr__(self) -> str:
        return f"<Kernel {' '.join(op.name for op in self.operators)}>"


def make_kernel(graph: Graph, operators: tuple[Operator, ...], fold: bool, tiling: Tiling | None) -> Kernel:
    """The kernel of operators that are in the order of their graph; tiled or not as they need.

    Raises
    ------
    FusionError
        Not convex, or several windowed operators or products that cannot share a kernel.
    """
    if reason := why_not_one_kernel(graph, operators):
        raise FusionError(reason)
    folded = tuple(op for op in operators if fold and why_not_folded(graph, op, operators) is None)
    found = find_attention(graph, operators) if _is_attention(operators) else None
    attention = found if isinstance(found, Attention) else None
    cut = (tiling or whole(operators)) if is_tiled(operators) and not attention else None
    bias = [folded_bias(graph, op) for op in folded]
    work = {op.name: op.work.other_flops for op in operators}
    # a batch norm costs a multiplication and an addition, a bias an addition: folding saves the first,
    # and both where the convolution has a bias already
    work |= {op.name: folded_flops(graph, op) for op in folded}
    costs = tile_costs(operators, cut, work) if cut else None
    return Kernel(
        operators,
        (*reads(graph, operators, folded, costs), *(Transfer(b, b.elements) for b in bias if b)),
        writes(graph, operators),
        costs.macs if costs else sum(op.macs for op in operators),
        costs.other_flops if costs else sum(work.values()),
        folded,
        cut,
        costs.live_elements if costs else attention.least_elements if attention else 0,
        costs.weight_elements if costs else 0,
        attention,
        () if attention else _sweeps(graph, operators, folded, work),
    )


def _sweeps(
    graph: Graph, operators: tuple[Operator, ...], folded: Sequence[Operator], work: Mapping[str, int]
) -> tuple[Sweep, ...]:
    found = []
    for i, op in enumerate(operators):
        if op.kind in SWEEPS:
            before = operators[:i]
            done = (sum(o.macs for o in before), sum(work[o.name] for o in before))
            found.append(Sweep(op, reads(graph, operators[: i + 1], folded), *done))
    return tuple(found)


def why_not_one_kernel(graph: Graph, operators: Sequence[Operator]) -> str | None:
    """None when operators may be one kernel: convex, and computed block by block or tile by tile where that is due."""
    if len(operators) > 1:
        if strangers := [op.name for op in operators if not op.work.flops_known]:
            return f"not fused: {strangers[0]} is of an unknown kind: which of its input it needs when is not known."
        if reason := why_not_convex(graph, operators):
            return reason
    if _is_attention(operators):
        found = find_attention(graph, operators)
        return found if isinstance(found, str) else None
    return why_not_tiles(graph, operators) if is_tiled(operators) else None


def _is_attention(operators: Sequence[Operator]) -> bool:
    """It has the shape of an attention: it begins with one product and ends with another."""
    return len(operators) > 1 and operators[0].kind == operators[-1].kind == "matmul"


def whole(operators: Sequence[Operator]) -> Tiling:
    """One tile: the whole last output."""
    height, width = operators[-1].output.shape[2:]
    return Tiling((height, width))


def reads(
    graph: Graph, operators: Sequence[Operator], folded: Sequence[Operator] = (), costs: TileCosts | None = None
) -> tuple[Transfer, ...]:
    """What operators read from outside, each tensor once."""
    inside = {t.name for op in operators for t in op.outputs}
    found: dict[str, Transfer] = {}
    for op in operators:
        for tensor, elements in zip(op.inputs, op.work.read, strict=True):
            if op in folded and tensor.is_constant:
                continue
            for stored in graph.storage(tensor):
                if stored.name not in inside:
                    # two operators may touch different parts of one tensor; all of it is the most that must come
                    known = found[stored.name].elements if stored.name in found else 0
                    found[stored.name] = Transfer(stored, min(known + elements, stored.elements))
    if costs:
        found = {name: Transfer(r.tensor, costs.read.get(name, r.elements)) for name, r in found.items()}
    return tuple(found.values())


def writes(graph: Graph, operators: Sequence[Operator]) -> tuple[Transfer, ...]:
    """What operators make that is needed outside them."""
    return tuple(
        Transfer(tensor, elements)
        for op in operators
        for tensor, elements in zip(op.outputs, op.work.written, strict=True)
        if needed_outside(graph, tensor, operators)
    )


def on_chip_transfers(graph: Graph, kernel: Kernel) -> list[Transfer]:
    """What the operators of a kernel would have moved one by one: the traffic that stays on the chip."""
    if len(kernel.operators) == 1:  # alone already
        return [*kernel.reads, *kernel.writes]
    working = [op for op in kernel.operators if op not in kernel.folded]
    return [transfer for op in working for transfer in (*reads(graph, (op,)), *writes(graph, (op,)))]


def does_not_fit(name: str, what: str, amount: float, device: Device) -> str:
    """The sentence for a kernel that needs more bytes than the chip has."""
    assert device.on_chip_bytes is not None
    return (
        f"{name} does not fit on {device.name}: its {what} need {amount:,.0f} B of "
        f"{device.on_chip_bytes:,.0f} B, {amount - device.on_chip_bytes:,.0f} B too many."
    )


def needed_outside(graph: Graph, tensor: Tensor, operators: Sequence[Operator]) -> bool:
    """Whether a tensor is a graph output, is read by others than these operators, or is read by nobody at all."""
    inside = {op.name for op in operators}
    names = {tensor.name} | graph.views_of.get(tensor.name, set())
    if any(t.name in names for t in graph.outputs):
        return True
    readers = [op for name in names for op in graph.consumers.get(name, ()) if not op.is_view]
    return not readers or any(op.name not in inside for op in readers)  # a result nobody reads is still written
