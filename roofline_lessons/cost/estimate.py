"""What a plan costs as a whole: the totals of its kernels, its energy, and what limits most of its time."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ..device import Device
from ..fusion.plan import Plan
from ..precision import Precision, precision
from ..text import si
from . import tables
from .kernels import KernelCosts, flops_known, intensity
from .roofline import BOUNDS
from .words import why_plan

if TYPE_CHECKING:
    import pandas


class Estimate(KernelCosts):
    """What a plan costs on a device at a precision. Made by `estimate`.

    Arrays have one entry per kernel: `kernel_seconds`, `kernel_flops`, `kernel_dram_bytes` and so on; the attributes
    without ``kernel_`` are totals of the plan. `kernels` gives the same, one `KernelEstimate` each.
    """

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
        moved = sum(b for k, b in zip(self.plan.kernels, self.kernel_dram_bytes) if not flops_known(k))
        return float(moved / self.dram_bytes) if moved else 0.0

    @property
    def intensity(self) -> float:
        """FLOP per DRAM byte of the whole plan; infinite when no byte moves, 0 when nothing happens at all."""
        return intensity(self.flops, self.dram_bytes)

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
        return why_plan(self)

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

    # -- as text and tables ------------------------------------------------------------------------------------------

    def to_frame(self) -> pandas.DataFrame:
        """The kernels as a pandas table, one row each, SI units in the column names."""
        return tables.kernels(self)

    def ledger(self) -> pandas.DataFrame:
        """Every trip of a tensor to or from DRAM as a pandas table: kernel, direction, tensor, dram_bytes.

        Direction is "read", "write", or "again" for what a kernel moves again because it does not fit the chip.
        """
        return tables.ledger(self)

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


def _times(amount: float, each: float | None) -> float | None:
    return None if each is None else float(amount * each)
