"""What a kernel does more than once because it does not fit the chip: rows of a reduction, blocks of an attention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..device import Device
from ..precision import Precision
from .attention import ORDERS
from .kernel import Kernel
from .sweeps import passes
from .traffic import tensor_bytes

if TYPE_CHECKING:
    from .plan import Plan


@dataclass(frozen=True)
class Again:
    """What a kernel moves and computes beyond doing everything once."""

    dram_bytes: float = 0.0
    macs: float = 0.0
    other_flops: float = 0.0


def may_come_again(kernel: Kernel) -> bool:
    """The kernel has a part that may not fit the chip (and is not cut into tiles)."""
    return kernel.attention is not None or bool(kernel.sweeps)


def again(kernel: Kernel, device: Device, p: Precision) -> Again:
    """What a kernel does again on a device; nothing where its on-chip capacity is not known."""
    if device.on_chip_bytes is None:
        return Again()
    if kernel.attention is not None:  # its softmax is carried along block by block
        elements = device.on_chip_bytes * 8 / p.activation_bits
        least = min(kernel.attention.read_again(elements, order) for order in ORDERS)
        return Again(dram_bytes=float(np.ceil(least * p.activation_bits / 8)))
    moved = macs = other = 0.0
    for sweep in kernel.sweeps:
        more = passes(sweep.operator, device.on_chip_bytes, p) - 1
        if more:
            moved += more * sum(tensor_bytes(r.tensor, r.elements, p) for r in sweep.reads)
            macs += more * sweep.macs
            other += more * sweep.other_flops
    return Again(float(moved), float(macs), float(other))


def again_per_kernel(plan: Plan, device: Device, p: Precision) -> NDArray[np.float64]:
    """Array (3, kernels) of the DRAM bytes, MACs and other FLOPs that come again."""
    extra = np.zeros((3, len(plan)))
    for i in plan.may_come_again:
        more = again(plan.kernels[i], device, p)
        extra[:, i] = more.dram_bytes, more.macs, more.other_flops
    return extra
