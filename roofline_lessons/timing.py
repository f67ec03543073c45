"""Seconds of arithmetic and of memory: the two sides of the roofline, for one kernel or for arrays of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from .device import Device
from .precision import Precision


def arithmetic_seconds(device: Device, p: Precision, macs: Any, other_flops: Any) -> Any:
    """Seconds of the arithmetic: multiply-accumulates at the peak, all other work at the vector unit's.

    Parameters
    ----------
    macs, other_flops : float or array
    """
    peak = device.peak_for(p)
    vector_peak = min(device.vector_peak or peak, peak)  # no format runs faster than its own peak
    return 2 * macs / peak + other_flops / vector_peak


def level_seconds(device: Device, dram_bytes: Any, on_chip_bytes: Any) -> dict[str, Any]:
    """Seconds each memory level with a known bandwidth needs: DRAM its external bytes, the chip all of them."""
    return {
        name: (dram_bytes if name == "DRAM" else on_chip_bytes) / bandwidth
        for name, bandwidth in device.roofs().items()
    }


def kernel_seconds(
    device: Device, p: Precision, macs: Any, other_flops: Any, dram_bytes: Any, on_chip_bytes: Any
) -> Any:
    """Seconds of a kernel: launch + max(arithmetic, bytes / bandwidth at every level known)."""
    seconds = arithmetic_seconds(device, p, macs, other_flops)
    for of_level in level_seconds(device, dram_bytes, on_chip_bytes).values():
        seconds = np.maximum(seconds, of_level)
    return (device.launch_seconds or 0.0) + seconds
