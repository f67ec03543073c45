"""What the fusion scene shows at one moment: the plan, what it costs, and how far the run has come."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..cost import Estimate

Table = Mapping[str, Any]


@dataclass(frozen=True)
class Shown:
    """What the controls stand at: the plan that is drawn (rows of ``t["kernels"]``) and what it costs.

    now : None when the plan does not fit on the chip; then `over` says why.
    others : seconds of the plan of each depth with everything else as it is; None where it does not fit.
    clock : 0 (at rest) to 1 (the end of the longer of the two runs).
    """

    tables: Table
    plan: Sequence[int]
    before: Estimate
    now: Estimate | None
    over: Table | None
    others: Sequence[float | None]
    depth: int
    on_chip: float | None
    unfused: Sequence[int]
    tick: int

    @property
    def longest(self) -> float:
        """Seconds of the longer run."""
        return max(self.before.seconds, self.now.seconds if self.now else 0.0)

    @property
    def clock(self) -> float:
        """Seconds since the start of both runs."""
        return self.tick / self.tables["clock_steps"] * self.longest

    @property
    def current(self) -> int | None:
        """The kernel of the plan that runs at this moment."""
        if self.now is None or self.tick == 0 or is_over(self.clock, self.now.seconds):
            return None
        return so_far(self.now, self.clock)[0]


def is_over(clock: float, end: float) -> bool:
    """Whether the clock has passed an end. Sums of seconds differ in the last bits between languages: a hair early."""
    return clock >= end * (1 - 1e-9)


def so_far(est: Estimate, clock: float) -> tuple[int, float, float | None]:
    """What a run has done after some seconds: the kernel it is in, DRAM bytes, joules (None where unknown).

    A kernel moves its bytes evenly from the end of its launch to its own end.
    """
    n = len(est.plan)
    start, moved, joules = 0.0, 0.0, 0.0
    for i in range(n):
        seconds = float(est.kernel_seconds[i])
        if not is_over(clock, start + seconds):
            busy = max(clock - start - est.launch_seconds, 0.0) / (seconds - est.launch_seconds)
            part = kernel_joules(est, i)
            return i, moved + float(est.kernel_dram_bytes[i]) * busy, None if part is None else joules + part * busy
        start += seconds
        moved += float(est.kernel_dram_bytes[i])
        joules += kernel_joules(est, i) or 0.0
    return n - 1, est.dram_bytes, est.joules


def kernel_joules(est: Estimate, i: int) -> float | None:
    """Joules of one kernel: its share of `Estimate.joules`."""
    if est.joules is None:
        return None
    parts = (
        (est.device.joules_per_flop.get(est.precision.arithmetic), est.kernel_flops[i]),
        (est.device.joules_per_dram_byte, est.kernel_dram_bytes[i]),
        (est.device.joules_per_on_chip_byte, est.kernel_on_chip_bytes[i]),
        (est.device.static_watts, est.kernel_seconds[i]),
    )
    return sum(each * float(many) for each, many in parts if each is not None)


def thousands(value: float) -> str:
    """A whole number with commas."""
    return f"{math.floor(value + 0.5):,}"
