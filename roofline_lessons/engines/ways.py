"""Ways to run a block twice, so that the two differ in what is merged and in nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Way:
    """An engine, what it is called here, and two of its variants: with nothing merged, and merged."""

    engine: str
    title: str
    before: str
    after: str


#: Name -> way. Core ML is missing: it runs on a Mac only.
WAYS: Mapping[str, Way] = MappingProxyType(
    {
        "onnxruntime": Way("onnxruntime", "ONNX Runtime", "off", "all but layout"),
        "litert": Way("litert", "TensorFlow Lite, XNNPACK", "unfused", "fused"),
        "litert, plain": Way("litert", "TensorFlow Lite, plain", "unfused, plain", "fused, plain"),
    }
)
