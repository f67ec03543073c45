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

from typing import Any

from .block_results import Result
from .blocks import BLOCKS, SPELLINGS, block
from .catalogue import ENGINES, RULES, available, load, why_missing
from .compared_savings import Saved, recorded_savings, savings
from .errors import EngineError, MissingEngineError
from .here_or_recorded import profiles, results
from .merges import Difference, Merge, differences, plan_of
from .node_times import KernelTime, Moved, NodeTime, Profile, moved
from .predicted_savings import TERMS, Saving
from .recorded_engines import recorded, recorded_profiles
from .torch_results import Compiled, compiled, recorded_compiled

__all__ = [
    "BLOCKS", "ENGINES", "RULES", "SPELLINGS", "TERMS", "Compiled", "Difference", "EngineError", "KernelTime", "Merge",
    "MissingEngineError", "Moved", "NodeTime", "Profile", "Result", "Saved", "Saving", "available", "block", "compiled",
    "coreml", "differences", "litert", "moved", "onnxruntime", "plan_of", "profiles", "recorded", "recorded_compiled",
    "recorded_profiles", "recorded_savings", "results", "savings", "torch", "why_missing",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in ENGINES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load(name)
