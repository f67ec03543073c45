"""How busy the machine is, in words: every timing is printed beside it."""

from __future__ import annotations

import os


def load() -> str:
    """For instance "1.0 on 2 processors"; "unknown" on Windows, which does not say."""
    return f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} processors" if hasattr(os, "getloadavg") else "unknown"
