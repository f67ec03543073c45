"""Fusion: which operators run together as one kernel."""

from .plan import Kernel, Plan, unfused

__all__ = ["Kernel", "Plan", "unfused"]
