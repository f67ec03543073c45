"""Fusion: which operators run together as one kernel."""

from .fuse import fuse, why_not
from .kernel import Kernel
from .liveness import live_bytes, peak_live_bytes
from .plan import Plan, Saved, unfused
from .products import ProductTraffic, product_traffic
from .rules import RULE_SETS, RuleSet
from .search import best_plan, choose_tiles
from .sweeps import passes
from .tiling import HALO_MODES, Tiling

__all__ = [
    "HALO_MODES", "RULE_SETS", "Kernel", "Plan", "ProductTraffic", "RuleSet", "Saved", "Tiling", "best_plan",
    "choose_tiles", "fuse", "live_bytes", "passes", "peak_live_bytes", "product_traffic", "unfused", "why_not",
]  # fmt: skip
