"""What each engine makes of a block: measured here where the engine is installed, recorded where it is not."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..fusion import Plan, fuse, unfused
from ..measure import Bench, Machine, Place
from ..measure.machine import here
from .blocks import BLOCKS, block
from .errors import EngineError, MissingEngineError
from .merges import Merge, plan_of

#: What was recorded on one machine, with where and when (benchmarks/record_engines.py writes it).
RECORDED = Path(__file__).parents[1] / "data" / "recorded_engines.json"

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


def results(name: str, again: bool = False) -> dict[str, Result]:
    """What each engine makes of a block, this machine's results where they can be had.

    Parameters
    ----------
    name : str
        One of `BLOCKS`.
    again : bool
        Measure anew, and do not take what was measured before.

    Returns
    -------
    dict of str to Result
        Engine -> result.
    """
    block(name)  # a wrong name is told here
    if again:
        _result.cache_clear()
    return {engine: _result(engine, name) for engine in NAMES}


@cache
def _result(engine: str, name: str) -> Result:
    try:
        return _best(engine, name, Bench(rounds=7), models=2)
    except MissingEngineError as error:
        return recorded(engine, name, str(error))


def measure_block(engine: str, name: str, bench: Bench | None = None) -> Result:
    """Run an engine on a block, here and now.

    Raises
    ------
    MissingEngineError
        The engine is not installed.
    """
    from . import __getattr__ as load  # says what is missing
    from . import available

    module, graph = load(engine), block(name)
    version = available()[engine] or ""
    try:
        merges, (before, after) = tuple(module.fusions(graph)), _kinds(engine, module, name)
    except EngineError as error:
        return Result(engine, version, name, note=str(error))
    try:
        timed = module.seconds(graph, bench=bench)
    except EngineError as error:
        return Result(engine, version, name, before, after, merges, note=str(error))
    return Result(
        engine, version, name, before, after, merges,
        {variant: t.seconds for variant, t in timed.items()},
        {variant: t.noise for variant, t in timed.items()},
    )  # fmt: skip


def _kinds(engine: str, module: Any, name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Kinds of the operators that run with nothing merged, and by default."""
    graph = block(name)
    if engine == "litert":
        twins = module.twins(graph)
        before, after = (module.kinds(twins[which], xnnpack=False) for which in ("unfused", "fused"))
    else:
        before, after = (module.kinds(graph, variant) for variant in PAIR[engine])
    return tuple(before), tuple(after)


# -- prediction -------------------------------------------------------------------------------------------------------


def predicted_saving(name: str, rules: str, machine: Machine) -> tuple[float, float]:
    """Seconds that a rule set saves on a block, as a bracket: the bytes saved, at the bandwidth of their working set.

    Parameters
    ----------
    name : str
        One of `BLOCKS`.
    rules : str
        A rule set.
    machine : measure.Machine
        Measured or recorded.

    Returns
    -------
    (float, float)
        The lower end when what is saved ran in place, the higher when it made a copy.
    """
    graph, m = block(name), machine.measurement
    saved = unfused(graph).diff(fuse(graph, rules))
    ends = [
        sum(s.bytes_saved / m.bandwidth_at(_working_set(s.before), kind) for s in saved)
        for kind in ("in place", "copy")
    ]
    return min(ends), max(ends)


def _working_set(moved_bytes: float) -> float:
    """Of an operator that reads a tensor and writes one: as much as the tensor moved when it was written and read."""
    return max(moved_bytes, 1.0)


# -- recorded ---------------------------------------------------------------------------------------------------------


def recorded(engine: str, name: str, note: str = "") -> Result:
    """A result from the file, marked as recorded.

    Parameters
    ----------
    engine, name : str
    note : str
        Why it is not this machine's.
    """
    content = _content()
    (row,) = (row for row in content["results"] if (row["engine"], row["block"]) == (engine, name))
    place = Place(**content["place"])
    marked = {
        "recorded": f"recorded {place.day} on {place.processor}",
        "note": _note(note, row["note"]),
    }
    merges = tuple(Merge(tuple(before), tuple(after), rule) for before, after, rule in row["merges"])
    lists = {what: tuple(row[what]) for what in ("before", "after")}
    return Result(**(row | lists | marked | {"merges": merges}))


def _note(now: str, then: str) -> str:
    """Why it is not this machine's, and what was to be said when it was recorded."""
    return f"{now}; when this was recorded: {then}" if now and then else now or then


@cache
def _content() -> dict[str, Any]:
    return json.loads(RECORDED.read_text(encoding="utf-8"))


def _best(engine: str, name: str, bench: Bench | None, models: int) -> Result:
    """The fastest of several models that are made anew: where their memory happens to lie matters too."""
    made = [measure_block(engine, name, bench) for _ in range(models)]
    fastest = {v: min((r.seconds[v], r.noise[v]) for r in made) for v in made[0].seconds}
    seconds, noise = ({v: pair[i] for v, pair in fastest.items()} for i in (0, 1))
    return dataclasses.replace(made[0], seconds=seconds, noise=noise)


def record(processor: str, bench: Bench | None = None) -> str:
    """Run every engine on every block, and return the file's new content; the machine is called by its processor."""
    rows = []
    for name in BLOCKS:
        for engine in NAMES:
            row = dict(vars(_best(engine, name, bench, models=4)))
            del row["recorded"]
            row["seconds"] = {variant: float(f"{value:.4g}") for variant, value in row["seconds"].items()}
            row["noise"] = {variant: round(value, 3) for variant, value in row["noise"].items()}
            rows.append(row)
    return json.dumps({"place": vars(here()) | {"host": "", "processor": processor}, "results": rows}, indent=1) + "\n"
