"""Fusion: which operators run together as one kernel."""

from .fuse import fuse, why_not
from .kernel import Kernel
from .plan import Plan, Saved, unfused
from .rules import RULE_SETS, RuleSet
from .tiling import HALO_MODES, Tiling

__all__ = ["HALO_MODES", "RULE_SETS", "Kernel", "Plan", "RuleSet", "Saved", "Tiling", "fuse", "unfused", "why_not"]
