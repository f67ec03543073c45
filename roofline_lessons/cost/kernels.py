"""What each kernel of a plan costs on a device: arrays with one entry per kernel, and the same one by one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..device import Device
from ..errors import FusionError
from ..fusion.again import again_per_kernel
from ..fusion.kernel import Kernel, does_not_fit
from ..fusion.plan import Plan
from ..graph import Operator
from ..precision import Precision
from ..timing import arithmetic_seconds, level_seconds
from .roofline import BOUNDS, Floats, classify
from .words import why_kernel


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


class KernelCosts:
    """Arrays of what a plan's kernels cost: `kernel_seconds`, `kernel_flops`, `kernel_dram_bytes` and so on."""

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
        self.level_seconds = level_seconds(device, self.kernel_dram_bytes, self.kernel_on_chip_bytes)
        self.kernel_memory_seconds: Floats = np.max(list(self.level_seconds.values()), axis=0)
        overlapped = np.maximum(self.kernel_arithmetic_seconds, self.kernel_memory_seconds)
        self.launch_seconds = device.launch_seconds or 0.0
        self.kernel_seconds: Floats = self.launch_seconds + overlapped
        self.kernel_seconds_no_overlap: Floats = (
            self.launch_seconds + self.kernel_arithmetic_seconds + self.kernel_memory_seconds
        )
        self.kernel_bound = classify(self.kernel_arithmetic_seconds, self.kernel_memory_seconds, self.launch_seconds)

    @cached_property
    def kernels(self) -> tuple[KernelEstimate, ...]:
        """The kernels one by one."""
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
            intensity=intensity(flops, dram_bytes),
            flops_per_second=flops / seconds if seconds else 0.0,
            bound=BOUNDS[self.kernel_bound[i]],
            because=why_kernel(self, i),
        )


def flops_known(kernel: Kernel) -> bool:
    """No operator of it is of a kind that this package does not know."""
    return all(op.flops_known for op in kernel.operators)


def intensity(flops: float, dram_bytes: float) -> float:
    """FLOP per DRAM byte; infinite when no byte moves, 0 when nothing happens at all."""
    return flops / dram_bytes if dram_bytes else (np.inf if flops else 0.0)


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
