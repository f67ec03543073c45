"""Roofline lessons: why a neural network is slow on a small device, and what fusing its operators does about it.

    >>> import roofline_lessons as rl
    >>> graph = rl.networks.mobilenet_v2()
    >>> est = rl.estimate(rl.unfused(graph), rl.device("raspberry-pi-5"), precision="fp32")
    >>> est.bound
    'memory'

The model needs NumPy alone. Pictures and widgets load matplotlib, ipywidgets and bqplot when they are first used.
"""

from __future__ import annotations

import importlib
from typing import Any

from . import networks
from .builder import GraphBuilder
from .cost import Estimate, KernelEstimate, attainable, estimate
from .device import Device, Fact, MemoryLevel, device, devices
from .errors import FusionError, GraphError, ModelFileError, ModelFileWarning, UnknownNameError
from .fusion import Kernel, Plan, best_plan, choose_tiles, fuse, unfused
from .graph import Graph, Operator, Tensor
from .precision import Precision, precision
from .text import number, si

#: Names that need a widget or plotting library, and the module each comes from: loaded on first use, so that
#: importing the model stays quick.
_LAZY = {
    "EngineExplorer": "widgets",
    "FuseByHand": "widgets",
    "FusionExplorer": "widgets",
    "ModelReport": "widgets",
    "NodeExplorer": "widgets",
    "RooflineExplorer": "widgets",
    "SelfCheck": "widgets",
    "TilingExplorer": "widgets",
    "Idea": "teaching",
    "check": "teaching",
    "compare": "teaching",
    "predict": "teaching",
    "progress": "teaching",
    "quiz": "teaching",
    "trace": "teaching",
    "export_html": "widgets.export",
    "plan_from_file": "readers",
    "precision_of": "reports",
    "report": "reports",
    "report_on_file": "reports",
    "read_model": "readers",
    "read_onnx": "readers",
    "read_tflite": "readers",
    "write_onnx": "readers",
}

#: Modules that are loaded on first use, too.
_MODULES = {
    "engine_plots": "plots.engines",
    "engines": "engines",
    "kernel_plots": "plots.kernels",
    "measure": "measure",
    "measure_plots": "plots.measured",
    "network_plots": "plots.networks",
    "plots": "plots",
}

__all__ = [
    "Device", "Estimate", "Fact", "FusionError", "Graph", "GraphBuilder", "GraphError", "Kernel", "KernelEstimate",
    "MemoryLevel", "ModelFileError", "ModelFileWarning", "Operator", "Plan", "Precision", "Tensor", "UnknownNameError",
    "attainable", "best_plan", "choose_tiles", "device", "devices", "estimate", "fuse", "networks", "number",
    "precision", "si", "unfused", *_LAZY, *_MODULES,
]  # fmt: skip

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{_MODULES[name]}", __name__)
    if name in _LAZY:
        return getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
