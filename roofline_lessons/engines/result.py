"""What an engine made of a block, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ..fusion import Plan
from .blocks import block
from .merges import Merge, plan_of

#: Engine -> its name, our rule set for it, and the two of its variants that differ in what is merged and nothing else.
NAMES: Mapping[str, str] = MappingProxyType(
    {"litert": "TensorFlow Lite", "coreml": "Core ML", "onnxruntime": "ONNX Runtime"}
)
RULES: Mapping[str, str] = MappingProxyType({"litert": "tflite", "coreml": "coreml", "onnxruntime": "onnxruntime-all"})
PAIR: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "litert": ("unfused", "fused"),
        "coreml": ("no passes", "default passes"),
        "onnxruntime": ("off", "all but layout"),
    }
)


@dataclass(frozen=True)
class Result:
    """What an engine made of a block.

    engine, version, block : names, and the version of the engine's package.
    before, after : kinds of the operators that the engine runs with nothing merged, and by default.
    merges : which operators became one, and by which rule.
    seconds : variant of the engine -> seconds of the fastest round; empty where it cannot run.
    noise : variant -> median over fastest.
    spread : variant -> seconds by which the same model, made anew, came out otherwise.
    note : why something is missing, as a sentence; "" where nothing is.
    recorded : "" for a result of this machine, else when and on what it was recorded.
    """

    engine: str
    version: str
    block: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    merges: tuple[Merge, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    noise: Mapping[str, float] = field(default_factory=dict)
    spread: Mapping[str, float] = field(default_factory=dict)
    note: str = ""
    recorded: str = ""

    @property
    def name(self) -> str:
        return NAMES[self.engine]

    @property
    def plan(self) -> Plan:
        """The engine's kernels as a plan of the block."""
        return plan_of(block(self.block), self.merges)

    @property
    def unfused_seconds(self) -> float | None:
        return self.seconds.get(PAIR[self.engine][0])

    @property
    def fused_seconds(self) -> float | None:
        return self.seconds.get(PAIR[self.engine][1])

    @property
    def times_as_fast(self) -> float | None:
        """Unfused over fused; below 1 the fusion lost."""
        before, after = self.unfused_seconds, self.fused_seconds
        return before / after if before and after else None

    @property
    def where(self) -> str:
        """Where it comes from, for a person."""
        return self.recorded or "measured here"
