"""Widgets: scenes drawn with ipywidgets and bqplot, moved in the browser by `driver.js`."""

from .roofline import RooflineExplorer
from .self_check import SelfCheck

__all__ = ["RooflineExplorer", "SelfCheck"]
