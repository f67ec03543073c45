"""What one engine makes of one block: the result as plain data, and running the engine for it, here and now."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..fusion import Plan
from ..measure import Bench, Timing
from .blocks import block
from .catalogue import ENGINES, PAIR, available, load
from .errors import EngineError
from .merges import Merge, plan_of


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
        """The engine's, for a person."""
        return ENGINES[self.engine][0]

    @property
    def plan(self) -> Plan:
        """The engine's kernels as a plan of the block."""
        return plan_of(block(self.block), self.merges)

    @property
    def unfused_seconds(self) -> float | None:
        """Of the fastest round with nothing merged; None where it was not timed."""
        return self.seconds.get(PAIR[self.engine][0])

    @property
    def fused_seconds(self) -> float | None:
        """The same, merged."""
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


def best_of(engine: str, name: str, bench: Bench | None = None, models: int = 1) -> Result:
    """Run an engine on a block, and take the fastest of several models that are made anew.

    Where a model's memory happens to lie matters too. The spread is how far the second fastest is from the fastest: no
    difference smaller than that says anything.

    Parameters
    ----------
    engine : str
        One of `RULES`.
    name : str
        One of `BLOCKS`.
    bench : measure.Bench, optional
    models : int

    Raises
    ------
    MissingEngineError
        The engine is not installed.
    """
    module, graph = load(engine), block(name)
    result = Result(engine, available()[engine] or "", name)
    try:
        before, after = _kinds(engine, module, name)
        result = dataclasses.replace(result, before=before, after=after, merges=tuple(module.fusions(graph)))
        timed = [module.seconds(graph, bench=bench) for _ in range(models)]
    except EngineError as error:  # what was found before it stays
        return dataclasses.replace(result, note=str(error))
    return _with_fastest(result, timed)


def _with_fastest(result: Result, timed: list[Mapping[str, Timing]]) -> Result:
    ranked = {v: sorted((t[v] for t in timed), key=lambda t: t.seconds) for v in timed[0]}
    return dataclasses.replace(
        result,
        seconds={v: times[0].seconds for v, times in ranked.items()},
        noise={v: times[0].noise for v, times in ranked.items()},
        spread={v: times[min(1, len(times) - 1)].seconds - times[0].seconds for v, times in ranked.items()},
    )


def _kinds(engine: str, module: Any, name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Kinds of the operators that run with nothing merged, and by default."""
    graph = block(name)
    if engine == "litert":
        twins = module.twins(graph)
        before, after = (module.kinds(twins[which], xnnpack=False) for which in PAIR[engine])
    else:
        before, after = (module.kinds(graph, variant) for variant in PAIR[engine])
    return tuple(before), tuple(after)
