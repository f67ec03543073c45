"""Scenes: what there is to see, as arrays, labels and sentences. Views (widgets, plots) only copy them."""

from .roofline import NETWORKS, RooflineScene

__all__ = ["NETWORKS", "RooflineScene"]
