"""Plan + device + precision -> seconds, bytes, joules, and the reason.

The time of a kernel is ``launch + max(arithmetic, bytes / bandwidth)``, the maximum over every memory level whose
bandwidth is known; the time of a plan is the sum over its kernels. Next to it stands the time without any overlap of
arithmetic and memory, so a learner sees an interval, not a false exactness. A whole plan is a handful of array
operations: no Python loop runs when a slider moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .device import Device
from .errors import FusionError, non_negative
from .fusion.again import again_per_kernel
from .fusion.kernel import Kernel, does_not_fit
from .fusion.plan import Plan
from .graph import Operator
from .precision import Precision, precision
from .text import si
from .timing import arithmetic_seconds, level_seconds

if TYPE_CHECKING:
    import pandas

#: Arithmetic and memory time within this factor of each other: the kernel is "balanced", it sits on the ridge.
BALANCED_WITHIN = 1.05

BOUNDS = ("compute", "memory", "launch", "balanced")
COMPUTE, MEMORY, LAUNCH, BALANCED = range(4)

Floats = NDArray[np.float64]


def attainable(intensity: Any, device: Device, precision: str | Precision = "fp32") -> Any:
    """Attainable FLOP/s at an arithmetic intensity: the roofline.

    Parameters
    ----------
    intensity : float or array
        FLOP per DRAM byte, >= 0. Any shape.
    device : Device
    precision : str or Precision
        Number format whose peak applies, e.g. "int8".

    Returns
    -------
    float or array, same shape
        min(peak, intensity * bandwidth), in FLOP/s.

    Raises
    ------
    ValueError
        A negative or NaN intensity; a precision the device has no peak for.

    References
    ----------
    Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009, section 3.

    Examples
    --------
    >>> toy = Device("toy", peak={"fp32": 1e12}, bandwidth=1e11)
    >>> float(attainable(5, toy)), float(attainable(50, toy))
    (500000000000.0, 1000000000000.0)
    """
    return np.minimum(device.peak_for(precision), non_negative("intensity", intensity) * device.bandwidth)


@dataclass(frozen=True)
class KernelEstimate:
    """What one kernel costs. `because` is the bound in one sentence with the numbers in it."""

    name: str
    operators: tuple[Operator, ...]
    macs: int
    flops: int
    dram_bytes: float
    on_chip_bytes: float
    seconds: float
    seconds_no_overlap: float
    arithmetic_seconds: float
    memory_seconds: float
    launch_seconds: float
    intensity: float
    flops_per_second: float
    bound: str
    because: str


class Estimate:
    """What a plan costs on a device at a precision. Made by `estimate`.

    Arrays have one entry per kernel: `kernel_seconds`, `kernel_flops`, `kernel_dram_bytes` and so on; the attributes
    without ``kernel_`` are totals of the plan. `kernels` gives the same, one `KernelEstimate` each.
    """

    def __init__(self, plan: Plan, device: Device, p: Precision) -> None:
        self.plan, self.device, self.precision = plan, device, p
        _check_fits(plan, device, p)
        n = len(plan)
        bits = (p.weight_bits, p.activation_bits)
        #: beyond doing everything once: rows and blocks that do not fit the chip
        self.again_dram_bytes, again_macs, again_other = again_per_kernel(plan, device, p)
        self.kernel_macs: Floats = plan.macs + again_macs
        self.kernel_other_flops: Floats = plan.other_flops + again_other
        self.kernel_flops: Floats = 2 * self.kernel_macs + self.kernel_other_flops
        self.kernel_dram_bytes = plan.dram_moves.bytes_per_kernel(n, *bits) + self.again_dram_bytes
        self.kernel_on_chip_bytes = plan.on_chip_moves.bytes_per_kernel(n, *bits)
        self.kernel_arithmetic_seconds: Floats = arithmetic_seconds(
            device, p, self.kernel_macs, self.kernel_other_flops
        )
        self._level_seconds = level_seconds(device, self.kernel_dram_bytes, self.kernel_on_chip_bytes)
        self.kernel_memory_seconds: Floats = np.max(list(self._level_seconds.values()), axis=0)
        overlapped = np.maximum(self.kernel_arithmetic_seconds, self.kernel_memory_seconds)
        self.launch_seconds = device.launch_seconds or 0.0
        self.kernel_seconds: Floats = self.launch_seconds + overlapped
        self.kernel_seconds_no_overlap: Floats = (
            self.launch_seconds + self.kernel_arithmetic_seconds + self.kernel_memory_seconds
        )
        self.kernel_bound = classify(self.kernel_arithmetic_seconds, self.kernel_memory_seconds, self.launch_seconds)

    # -- totals ------------------------------------------------------------------------------------------------------

    @cached_property
    def seconds(self) -> float:
        """Seconds of the plan: the sum over its kernels, arithmetic and memory of each overlapping fully."""
        return float(self.kernel_seconds.sum())

    @cached_property
    def seconds_no_overlap(self) -> float:
        """Seconds when a kernel's arithmetic and memory never overlap: the other end of the interval."""
        return float(self.kernel_seconds_no_overlap.sum())

    @cached_property
    def macs(self) -> int:
        return int(self.kernel_macs.sum())

    @cached_property
    def flops(self) -> int:
        return int(self.kernel_flops.sum())

    @cached_property
    def dram_bytes(self) -> float:
        return float(self.kernel_dram_bytes.sum())

    @cached_property
    def on_chip_bytes(self) -> float:
        return float(self.kernel_on_chip_bytes.sum())

    @cached_property
    def unknown_bytes_share(self) -> float:
        """Share of the DRAM bytes that kernels with an operator of unknown FLOPs move, from 0 to 1.

        Above 0, FLOPs, seconds and intensity are at least what is said.
        """
        moved = sum(b for k, b in zip(self.plan.kernels, self.kernel_dram_bytes) if not _flops_known(k))
        return float(moved / self.dram_bytes) if moved else 0.0

    @property
    def intensity(self) -> float:
        """FLOP per DRAM byte of the whole plan; infinite when no byte moves, 0 when nothing happens at all."""
        return _intensity(self.flops, self.dram_bytes)

    @property
    def flops_per_second(self) -> float:
        """FLOP/s reached over the whole plan."""
        return self.flops / self.seconds if self.seconds else 0.0

    @cached_property
    def seconds_by_bound(self) -> dict[str, float]:
        """Seconds of the plan by what limits the kernels they are spent in."""
        return {name: float(self.kernel_seconds[self.kernel_bound == i].sum()) for i, name in enumerate(BOUNDS)}

    @property
    def bound(self) -> str:
        """What limits the kernels in which most of the time goes, one of `BOUNDS`."""
        return max(self.seconds_by_bound, key=lambda name: self.seconds_by_bound[name])

    @property
    def because(self) -> str:
        """The bound of the whole plan in one sentence."""
        index = BOUNDS.index(self.bound)
        share = self.seconds_by_bound[self.bound] / self.seconds if self.seconds else 1.0
        count = int((self.kernel_bound == index).sum())
        return (
            f"{self.bound}: {count} of {len(self.plan)} kernels, with {share:.0%} of the {si(self.seconds, 's')}, "
            f"are limited by {_LIMIT[self.bound]}."
        )

    # -- energy ------------------------------------------------------------------------------------------------------

    @cached_property
    def joules_by_part(self) -> dict[str, float | None]:
        """Joules by part: arithmetic, dram, on_chip, static. None where the device's figure is not known."""
        d = self.device
        flop = d.joules_per_flop.get(self.precision.arithmetic)
        return {
            "arithmetic": _times(self.flops, flop),
            "dram": _times(self.dram_bytes, d.joules_per_dram_byte),
            "on_chip": _times(self.on_chip_bytes, d.joules_per_on_chip_byte),
            "static": _times(self.seconds, d.static_watts),
        }

    @property
    def joules(self) -> float | None:
        """Joules of one run: the sum of the known parts; None unless arithmetic and DRAM are both known.

        `joules_missing` names the parts that are not in it.
        """
        parts = self.joules_by_part
        if parts["arithmetic"] is None or parts["dram"] is None:
            return None
        return sum(value for value in parts.values() if value is not None)

    @property
    def joules_missing(self) -> tuple[str, ...]:
        """Parts of the energy that are not known for this device."""
        return tuple(name for name, value in self.joules_by_part.items() if value is None)

    # -- one by one --------------------------------------------------------------------------------------------------

    @cached_property
    def kernels(self) -> tuple[KernelEstimate, ...]:
        return tuple(self._kernel(i) for i in range(len(self.plan)))

    def _kernel(self, i: int) -> KernelEstimate:
        kernel = self.plan.kernels[i]
        seconds, flops = float(self.kernel_seconds[i]), int(self.kernel_flops[i])
        dram_bytes = float(self.kernel_dram_bytes[i])
        return KernelEstimate(
            name=kernel.name,
            operators=kernel.operators,
            macs=int(self.kernel_macs[i]),
            flops=flops,
            dram_bytes=dram_bytes,
            on_chip_bytes=float(self.kernel_on_chip_bytes[i]),
            seconds=seconds,
            seconds_no_overlap=float(self.kernel_seconds_no_overlap[i]),
            arithmetic_seconds=float(self.kernel_arithmetic_seconds[i]),
            memory_seconds=float(self.kernel_memory_seconds[i]),
            launch_seconds=self.launch_seconds,
            intensity=_intensity(flops, dram_bytes),
            flops_per_second=flops / seconds if seconds else 0.0,
            bound=BOUNDS[self.kernel_bound[i]],
            because=self._because(i),
        )

    def _because(self, i: int) -> str:
        """Why kernel i takes as long as it does: the larger time, and beside it the smaller."""
        bound = BOUNDS[self.kernel_bound[i]]
        level = max(self._level_seconds, key=lambda name: self._level_seconds[name][i])
        moved = self.kernel_dram_bytes[i] if level == "DRAM" else self.kernel_on_chip_bytes[i]
        where = self.device.memory if level == "DRAM" else level  # a microcontroller has none
        arithmetic = f"{si(self.kernel_flops[i], 'FLOP')} take {si(self.kernel_arithmetic_seconds[i], 's')}"
        memory = (
            f"moving {si(moved, 'B')} at {si(self.device.roofs()[level], 'B/s')} ({where}) "
            f"takes {si(self.kernel_memory_seconds[i], 's')}"
        )
        if not _flops_known(self.plan.kernels[i]):
            who = next(op for op in self.plan.kernels[i].operators if not op.flops_known)
            arithmetic = f"the FLOPs of {who.name} are not known"
        if bound == "launch":
            return f"launch: starting the kernel takes {si(self.launch_seconds, 's')}; {memory} and {arithmetic}."
        first, second = (memory, arithmetic) if bound == "memory" else (arithmetic, memory)
        return f"{bound}: {first}; {second}."

    def to_frame(self) -> pandas.DataFrame:
        """The kernels as a pandas table, one row each, SI units in the column names."""
        import pandas

        columns: Sequence[str] = (
            "name macs flops dram_bytes on_chip_bytes intensity seconds seconds_no_overlap bound because"
        ).split()
        return pandas.DataFrame([{c: getattr(k, c) for c in columns} for k in self.kernels], columns=list(columns))

    def ledger(self) -> pandas.DataFrame:
        """Every trip of a tensor to or from DRAM as a pandas table: kernel, direction, tensor, dram_bytes.

        Direction is "read", "write", or "again" for what a kernel moves again because it does not fit the chip.
        """
        import pandas

        moved = self.plan.dram_moves.bytes_per_move(self.precision.weight_bits, self.precision.activation_bits)
        rows = [
            (self.plan.kernels[i].name, direction, transfer.tensor.name, int(amount))
            for (i, direction, transfer), amount in zip(self.plan.dram_transfers, moved, strict=True)
        ]
        rows += [
            (self.plan.kernels[i].name, "again", "what does not fit the chip", int(amount))
            for i, amount in enumerate(self.again_dram_bytes)
            if amount
        ]
        return pandas.DataFrame(rows, columns=["kernel", "direction", "tensor", "dram_bytes"])

    def __repr__(self) -> str:
        return (
            f"<Estimate {self.plan.graph.name} on {self.device.name}, {self.precision}: {si(self.seconds, 's')}, "
            f"{si(self.dram_bytes, 'B')}, {si(self.flops, 'FLOP')}, {self.bound}-bound>"
        )


def estimate(plan: Plan, device: Device, precision: str | Precision = "fp32") -> Estimate:
    """What a plan costs on a device.

    Parameters
    ----------
    plan : Plan
        E.g. ``unfused(graph)``.
    device : Device
    precision : str or Precision
        Decides the bytes of weights and activations, and which peak applies.

    Returns
    -------
    Estimate
        Seconds, FLOPs, MACs, DRAM bytes, intensity, joules where known, and per kernel the bound and because of what.

    Raises
    ------
    ValueError
        A precision the device has no peak for, or no precision at all; a graph where a plan belongs, an id where a
        device belongs.

    Notes
    -----
    Not in the time: cache misses inside a kernel, a launch cost that the device does not know, efficiency below the
    peak. So this is a floor; measured times lie above it.

    References
    ----------
    Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009, section 3; per kernel, never the whole graph's totals
    under one roof (openxla-style totals, fault D12).

    Examples
    --------
    >>> from roofline_lessons import GraphBuilder, unfused
    >>> b = GraphBuilder("one")
    >>> x = b.input("x", (1, 250_000_000))
    >>> toy = Device("toy", peak={"fp32": 1e12}, bandwidth=1e11)
    >>> est = estimate(unfused(b.build(outputs=[b.relu(x)])), toy)
    >>> est.seconds, est.dram_bytes, est.bound
    (0.02, 2000000000.0, 'memory')
    """
    if not isinstance(plan, Plan):
        raise ValueError(f"estimate needs a plan, e.g. rl.unfused(graph), not {plan!r}.")
    if not isinstance(device, Device):
        raise ValueError(f'estimate needs a device, e.g. rl.device("raspberry-pi-5"), not {device!r}.')
    return Estimate(plan, device, _precision(precision))


_precision = precision  # the function's parameter of the same name hides the import

_LIMIT = {
    "compute": "arithmetic",
    "memory": "memory",
    "launch": "the cost of starting them",
    "balanced": "arithmetic and memory alike",
}


def _check_fits(plan: Plan, device: Device, p: Precision) -> None:
    """Refuse a plan with a tiled kernel that does not fit the chip, with the bytes it is over.

    Tiles and weights are checked one by one, as accelerators hold them in buffers of their own (DeFiNES 2023).
    """
    if device.on_chip_bytes is None:
        return  # unknown: not checked
    needed = plan.on_chip_bytes_needed(p)
    over = np.argwhere(needed > device.on_chip_bytes)
    if len(over):
        kernel, which = over[0]
        what = ("tiles", "weights")[which]
        raise FusionError(does_not_fit(plan.kernels[kernel].name, what, needed[kernel, which], device))


def classify(arithmetic: Floats, memory: Floats, launch: float) -> NDArray[np.intp]:
    """The bound of each kernel as an index into `BOUNDS`.

    Launch where starting takes longer than everything else; balanced where arithmetic and memory are within
    `BALANCED_WITHIN` of each other; else the larger of the two.
    """
    slower, faster = np.maximum(arithmetic, memory), np.minimum(arithmetic, memory)
    bound = np.where(arithmetic > memory, COMPUTE, MEMORY)
    bound = np.where(slower <= BALANCED_WITHIN * faster, BALANCED, bound)
    bound = np.where((slower == 0) & (launch == 0), MEMORY, bound)  # nothing at all to do: neither limits
    return np.where(launch > slower, LAUNCH, bound)


def _flops_known(kernel: Kernel) -> bool:
    return all(op.flops_known for op in kernel.operators)


def _intensity(flops: float, dram_bytes: float) -> float:
    return flops / dram_bytes if dram_bytes else (np.inf if flops else 0.0)


def _times(amount: float, each: float | None) -> float | None:
    return None if each is None else float(amount * each)
