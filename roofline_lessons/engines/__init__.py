"""Real engines, really run: what each one merges into one kernel, and how long it takes.

    >>> import roofline_lessons as rl
    >>> sorted(rl.engines.ENGINES)
    ['coreml', 'litert', 'onnxruntime']

Each is a module with the same functions, loaded when it is first used:

- ``fusions(model)``: what the engine merged, as a list of `Merge` (operators before, operators after, rule);
- ``seconds(model)``: how long the model takes, fused and not, as a dict of `measure.Timing`;
- ``run(model, inputs)``: what it computes.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from .blocks import BLOCKS, SPELLINGS, block
from .errors import EngineError, MissingEngineError
from .merges import Difference, Merge, differences, plan_of
from .results import RULES, Result, predicted_saving, recorded, results

#: Module -> the engine's name, the packages it needs, and how they are installed.
ENGINES: Mapping[str, tuple[str, tuple[str, ...], str]] = MappingProxyType(
    {
        "litert": ("TensorFlow Lite", ("ai_edge_litert", "tflite"), "pip install ai-edge-litert tflite"),
        "coreml": ("Core ML", ("coremltools",), 'pip install "coremltools>=9"'),
        "onnxruntime": ("ONNX Runtime", ("onnxruntime", "onnx"), "pip install onnxruntime onnx"),
    }
)

_DISTRIBUTIONS = {"litert": "ai-edge-litert", "coreml": "coremltools", "onnxruntime": "onnxruntime"}

__all__ = [
    "BLOCKS", "ENGINES", "RULES", "SPELLINGS", "Difference", "EngineError", "Merge", "MissingEngineError", "Result",
    "available", "block", "coreml", "differences", "litert", "onnxruntime", "plan_of", "predicted_saving", "recorded",
    "results", "why_missing",
]  # fmt: skip


def available() -> dict[str, str | None]:
    """Engine -> its version, or None where it is not installed. Nothing is imported.

    Examples
    --------
    >>> list(available())
    ['litert', 'coreml', 'onnxruntime']
    """
    here = importlib.metadata.version
    return {engine: None if _missing(engine) else here(name) for engine, name in _DISTRIBUTIONS.items()}


def _missing(engine: str) -> list[str]:
    """The packages that an engine needs and that are not here."""
    return [p for p in ENGINES[engine][1] if importlib.util.find_spec(p) is None]


def why_missing(engine: str) -> str:
    """Why an engine cannot run here, with what to do about it; "" where it can."""
    name, _, install = ENGINES[engine]
    missing = _missing(engine)
    if not missing:
        return ""
    sentence = f"{name} cannot run here: the package {' and the package '.join(missing)} is not installed"
    if sys.platform == "emscripten":
        return f"{sentence}, and there is none for a browser tab. On a computer of your own: {install}"
    if engine == "coreml":
        return f"{sentence}: {install} (there are wheels for macOS and for Linux on x86-64)"
    return f"{sentence}: {install}"


def __getattr__(name: str) -> Any:
    if name not in ENGINES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if reason := why_missing(name):
        raise MissingEngineError(reason)
    return importlib.import_module(f".{name}", __name__)
