"""The roofline: the FLOP/s that an intensity allows, and what limits a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..device import Device
from ..errors import non_negative
from ..precision import Precision

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
