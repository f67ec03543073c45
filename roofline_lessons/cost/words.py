"""Why a kernel or a plan takes as long as it does, in one sentence with the numbers in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..text import si
from .roofline import BOUNDS

if TYPE_CHECKING:
    from .estimate import Estimate
    from .kernels import KernelCosts

_LIMIT = {
    "compute": "arithmetic",
    "memory": "memory",
    "launch": "the cost of starting them",
    "balanced": "arithmetic and memory alike",
}


def why_kernel(costs: KernelCosts, i: int) -> str:
    """Why kernel i takes as long as it does: the larger time, and beside it the smaller."""
    bound = BOUNDS[costs.kernel_bound[i]]
    arithmetic, memory = _arithmetic(costs, i), _memory(costs, i)
    if bound == "launch":
        return f"launch: starting the kernel takes {si(costs.launch_seconds, 's')}; {memory} and {arithmetic}."
    first, second = (memory, arithmetic) if bound == "memory" else (arithmetic, memory)
    return f"{bound}: {first}; {second}."


def _arithmetic(costs: KernelCosts, i: int) -> str:
    for op in costs.plan.kernels[i].operators:
        if not op.flops_known:
            return f"the FLOPs of {op.name} are not known"
    return f"{si(costs.kernel_flops[i], 'FLOP')} take {si(costs.kernel_arithmetic_seconds[i], 's')}"


def _memory(costs: KernelCosts, i: int) -> str:
    """What the slowest memory level moves."""
    device, seconds = costs.device, costs.level_seconds
    level = max(seconds, key=lambda name: seconds[name][i])
    moved = costs.kernel_dram_bytes[i] if level == "DRAM" else costs.kernel_on_chip_bytes[i]
    where = device.memory if level == "DRAM" else level  # a microcontroller has none
    return (
        f"moving {si(moved, 'B')} at {si(device.roofs()[level], 'B/s')} ({where}) "
        f"takes {si(costs.kernel_memory_seconds[i], 's')}"
    )


def why_plan(est: Estimate) -> str:
    """The bound of a whole plan."""
    share = est.seconds_by_bound[est.bound] / est.seconds if est.seconds else 1.0
    count = int((est.kernel_bound == BOUNDS.index(est.bound)).sum())
    return (
        f"{est.bound}: {count} of {len(est.plan)} kernels, with {share:.0%} of the {si(est.seconds, 's')}, "
        f"are limited by {_LIMIT[est.bound]}."
    )
