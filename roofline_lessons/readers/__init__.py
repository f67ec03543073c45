"""Readers: a learner's own model, from ONNX or TensorFlow Lite, as a `Graph`; and a graph written as ONNX.

Each loads the package it needs when it is first called.
"""

from __future__ import annotations

import importlib
from os import PathLike
from pathlib import Path
from typing import Any

from ..errors import ModelFileError
from ..fusion import Plan
from ..graph import Graph
from .assembly import model_file_error
from .files import opened

__all__ = ["ModelFileError", "plan_from_file", "read_model", "read_onnx", "read_tflite", "write_onnx"]

#: Name -> (module, package that it needs).
_NEEDS = {
    "read_onnx": ("onnx", "onnx"),
    "write_onnx": ("onnx_write", "onnx"),
    "read_tflite": ("tflite", "tflite"),
}


def __getattr__(name: str) -> Any:
    if name not in _NEEDS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, package = _NEEDS[name]
    try:
        importlib.import_module(package)
    except ImportError as error:
        raise ImportError(f"{name} needs the package {package}: pip install {package}") from error
    return getattr(importlib.import_module(f".{module}", __name__), name)


def read_model(path: str | PathLike[str], **sizes: int) -> Graph:
    """The graph of a model file, ONNX or TensorFlow Lite: its content decides, not its name.

    Parameters
    ----------
    path : path of the file
    **sizes : int
        Sizes that an ONNX file leaves open, e.g. ``batch=1``; a TensorFlow Lite file leaves none open.

    Returns
    -------
    Graph

    Raises
    ------
    ModelFileError
        Neither of the two, or damaged.
    """
    path = Path(path)
    with opened(path) as data:
        start = bytes(data[:8])
    if start[4:8] != b"TFL3":
        return __getattr__("read_onnx")(path, **sizes)
    if sizes:
        raise model_file_error(path, f"a TensorFlow Lite file leaves no size open, and {', '.join(sizes)} was given")
    return __getattr__("read_tflite")(path)


def plan_from_file(path: str | PathLike[str], **sizes: int) -> Plan:
    """The kernels that a model file implies: one for each of its operators, fused activations with theirs.

    Parameters
    ----------
    path, **sizes
        As for `read_model`.

    Returns
    -------
    Plan
        Its graph is ``plan.graph``.

    Raises
    ------
    ModelFileError
        As `read_model`.
    """
    graph = read_model(path, **sizes)
    groups: dict[str, list[Any]] = {}
    for op in graph:
        if not op.is_view:
            groups.setdefault(op.attributes.get("fused_with", op.name), []).append(op)
    return Plan(graph, list(groups.values()), rules="as in the file")
