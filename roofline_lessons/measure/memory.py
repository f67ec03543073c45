"""Arrays to measure with, and how much memory there is for them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from .errors import MeasureError

_PAGE = 4096
_MIB = 1 << 20

#: Share of the machine's memory that measuring may take.
_SHARE = 1 / 8


def aligned(elements: int, value: float = 1.0) -> np.ndarray:
    """An fp32 array that begins on a page and whose pages are there already.

    Unaligned arrays are slower by a little that differs from run to run, and untouched pages cost time once.
    """
    raw = np.empty(4 * elements + _PAGE, np.uint8)
    start = -raw.ctypes.data % _PAGE
    array = raw[start : start + 4 * elements].view(np.float32)
    array.fill(value)
    return array


def total_bytes(root: Path = Path("/")) -> float:
    """Memory of this machine in bytes, or of the container it is, whichever is less; a careful 2 GB if unknown."""
    known = []
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        known.append(float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")))
    for name in ("sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            known.append(float((root / name).read_text()))
        except (OSError, ValueError):  # not there, or "max"
            continue
    return min(known, default=2e9)


def last_cache_bytes(root: Path = Path("/")) -> float | None:
    """The largest cache that the system knows of; None where it does not say."""
    sizes = []
    for path in (root / "sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        try:
            text = path.read_text().strip()
            factor = {"K": 1 << 10, "M": _MIB}.get(text[-1:], 1)
            sizes.append(float(text.rstrip("KM")) * factor)
        except (OSError, ValueError):  # some systems list a cache and do not say how large it is
            continue
    return max(sizes, default=None)


def largest_working_set(cache: float | None, memory: float) -> int:
    """Bytes beyond every cache, four times the largest, as far as the memory allows. A power of two.

    Examples
    --------
    >>> largest_working_set(32 * 2**20, 16e9) // 2**20, largest_working_set(None, 1e9) // 2**20
    (128, 64)
    """
    wanted = 256 * _MIB if cache is None else min(max(4 * cache, 128 * _MIB), 1024 * _MIB)
    return 1 << int(np.log2(min(wanted, memory * _SHARE)))


def check_fits(what: str, wanted: float, memory: float | None = None) -> None:
    """A `MeasureError` where something needs more memory than measuring may take.

    Raises
    ------
    MeasureError
    """
    allowed = (total_bytes() if memory is None else memory) * 2 * _SHARE
    if wanted > allowed:
        raise MeasureError(
            f"{what} needs {wanted / 1e9:.1f} GB; measuring takes at most {allowed / 1e9:.1f} GB of this machine's "
            "memory. Take fewer elements."
        )
