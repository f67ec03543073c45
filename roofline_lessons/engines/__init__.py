"""Real engines, really run: what each one merges into one kernel, and how long it takes.

    >>> import roofline_lessons as rl
    >>> sorted(rl.engines.ENGINES)
    ['coreml', 'litert', 'onnxruntime', 'torch']

Each is a module with the same functions, loaded when it is first used:

- ``fusions(model)``: what the engine merged, as a list of `Merge` (operators before, operators after, rule);
- ``seconds(model)``: how long the model takes, fused and not, as a dict of `measure.Timing`;
- ``run(model, inputs)``: what it computes.

``onnxruntime.profile(graph)`` says more: the seconds of each node, and with our FLOPs and bytes its place on a roof.
Of the blocks that the lessons compare, `results`, `profiles` and `savings` hold what was measured here, or recorded.
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
from .node_times import KernelTime, Moved, NodeTime, Profile, moved
from .recordings import recorded, recorded_profiles
from .result import RULES, Result
from .results import profiles, results
from .saved import Saved, recorded_savings, savings
from .savings import TERMS, Saving
from .torch_results import Compiled, compiled, recorded_compiled

#: Module -> the engine's name, the packages it needs, and how they are installed.
ENGINES: Mapping[str, tuple[str, tuple[str, ...], str]] = MappingProxyType(
    {
        "litert": ("TensorFlow Lite", ("ai_edge_litert", "tflite"), "pip install ai-edge-litert tflite"),
        "coreml": ("Core ML", ("coremltools",), 'pip install "coremltools>=9"'),
        "onnxruntime": ("ONNX Runtime", ("onnxruntime", "onnx"), "pip install onnxruntime onnx"),
        "torch": ("PyTorch", ("torch",), "pip install torch"),
    }
)

_DISTRIBUTIONS = {"litert": "ai-edge-litert", "coreml": "coremltools", "onnxruntime": "onnxruntime", "torch": "torch"}

__all__ = [
    "BLOCKS", "ENGINES", "RULES", "SPELLINGS", "TERMS", "Compiled", "Difference", "EngineError", "KernelTime", "Merge",
    "MissingEngineError", "Moved", "NodeTime", "Profile", "Result", "Saved", "Saving", "available", "block", "compiled",
    "coreml", "differences", "litert", "moved", "onnxruntime", "plan_of", "profiles", "recorded", "recorded_compiled",
    "recorded_profiles", "recorded_savings", "results", "savings", "torch", "why_missing",
]  # fmt: skip


def available() -> dict[str, str | None]:
    """Engine -> its version, or None where it is not installed. Nothing is imported.

    Examples
    --------
    >>> list(available())
    ['litert', 'coreml', 'onnxruntime', 'torch']
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
    if engine == "torch":
        return f"{sentence}: {install} (optional, and large: take the version without support for graphics chips)"
    return f"{sentence}: {install}"


def __getattr__(name: str) -> Any:
    if name not in ENGINES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if reason := why_missing(name):
        raise MissingEngineError(reason)
    return importlib.import_module(f".{name}", __name__)
