"""The search: the fastest plan of a graph, and the fastest tile of each kernel of a plan (`plans.py`)."""

from .plans import best_plan, choose_tiles

__all__ = ["best_plan", "choose_tiles"]
