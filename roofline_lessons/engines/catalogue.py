"""Which engines there are: what they need, the rule set of ours for each, and the variants that are compared."""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ..errors import unknown_name
from ..graph import Graph
from ..measure.protocol import installed
from .errors import EngineError, MissingEngineError

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

#: Engine -> our rule set for it. These are compared on every block; PyTorch is optional, and apart (`torch_results`).
RULES: Mapping[str, str] = MappingProxyType({"litert": "tflite", "coreml": "coreml", "onnxruntime": "onnxruntime-all"})

#: Engine -> the two of its variants that differ in what is merged and in nothing else.
PAIR: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "litert": ("unfused", "fused"),
        "coreml": ("no passes", "default passes"),
        "onnxruntime": ("off", "all but layout"),
    }
)


@dataclass(frozen=True)
class Way:
    """A way to run a block twice, so that the two differ in what is merged and in nothing else.

    engine, title : module of the engine, and what it is called here.
    before, after : two of its variants: with nothing merged, and merged.
    """

    engine: str
    title: str
    before: str
    after: str


#: Name -> way. Core ML is missing: it runs on a Mac only.
WAYS: Mapping[str, Way] = MappingProxyType(
    {
        "onnxruntime": Way("onnxruntime", "ONNX Runtime", *PAIR["onnxruntime"]),
        "litert": Way("litert", "TensorFlow Lite, XNNPACK", *PAIR["litert"]),
        "litert, plain": Way("litert", "TensorFlow Lite, plain", "unfused, plain", "fused, plain"),
    }
)


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
    return [p for p in ENGINES[engine][1] if not installed(p)]


def why_missing(engine: str) -> str:
    """Why an engine cannot run here, with what to do about it; "" where it can.

    Raises
    ------
    UnknownNameError
        No such engine.
    """
    if engine not in ENGINES:
        raise unknown_name("engine", engine, ENGINES)
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


def load(engine: str) -> Any:
    """An engine's module.

    Raises
    ------
    MissingEngineError
        It is not installed; the message says how it is.
    """
    if reason := why_missing(engine):
        raise MissingEngineError(reason)
    return importlib.import_module(f"{__package__}.{engine}")


def known_variant(engine: str, variant: str, variants: Collection[str]) -> str:
    """The variant, where the engine has it; else an `UnknownNameError`."""
    if variant not in variants:
        raise unknown_name(f"variant of {ENGINES[engine][0]}", variant, variants)
    return variant


def only_a_graph(engine: str, model: Any) -> Graph:
    """The model, where it is a graph; else an `EngineError`: this engine is given no files here."""
    if not isinstance(model, Graph):
        name = ENGINES[engine][0]
        raise EngineError(f"{name} is given a Graph here (rl.read_onnx makes one of a file), not {model!r}.")
    return model
