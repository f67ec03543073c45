"""Widgets: scenes drawn with ipywidgets and bqplot, moved in the browser by `driver.js`."""

from .by_hand import FuseByHand
from .engine_nodes import NodeExplorer
from .engines import EngineExplorer
from .fusion import FusionExplorer
from .model_report import ModelReport
from .roofline import RooflineExplorer
from .self_check import SelfCheck
from .tiling import TilingExplorer

__all__ = [
    "EngineExplorer",
    "FuseByHand",
    "FusionExplorer",
    "ModelReport",
    "NodeExplorer",
    "RooflineExplorer",
    "SelfCheck",
    "TilingExplorer",
]
