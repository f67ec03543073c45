"""What each engine makes of a block: measured here where the engine is installed, recorded where it is not."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any

from ..measure import Bench
from .blocks import block
from .costs import Costs, measure_costs, timed_in_turns
from .errors import EngineError, MissingEngineError
from .node_times import Profile
from .recordings import recorded, recorded_costs, recorded_profiles
from .result import NAMES, PAIR, Result
from .ways import WAYS


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
        return best_of(engine, name, Bench(rounds=8, batch_seconds=1e-3), models=3)
    except MissingEngineError as error:
        return recorded(engine, name, str(error))


def profiles(name: str, again: bool = False) -> dict[str, Profile]:
    """A block on ONNX Runtime node by node: with nothing merged, with what it merges, and with its layout as well.

    Parameters
    ----------
    name : str
        One of `BLOCKS`; without ONNX Runtime one of those that were recorded.
    again : bool
        Measure anew.

    Returns
    -------
    dict of str to Profile
        Variant of ONNX Runtime -> profile.

    Raises
    ------
    UnknownNameError
        No such block.
    EngineError
        ONNX Runtime is not installed, and this block was not recorded.
    """
    block(name)
    if again:
        _profiles.cache_clear()
    return dict(_profiles(name))


@cache
def _profiles(name: str) -> dict[str, Profile]:
    try:
        return dict(_module("onnxruntime").profiles(block(name)))
    except MissingEngineError as error:
        return recorded_profiles(name, str(error))


def costs(way: str, again: bool = False) -> Costs:
    """What single operators cost an engine, measured here where it is installed.

    Parameters
    ----------
    way : str
        One of `WAYS`.
    again : bool
        Measure anew.
    """
    if again:
        _costs.cache_clear()
    return _costs(way)


@cache
def _costs(way: str) -> Costs:
    try:
        return costs_now(way)
    except MissingEngineError:
        return recorded_costs(way)


def costs_now(way: str) -> Costs:
    """The same, measured now whatever was measured before."""
    module, variant = _module(WAYS[way].engine), WAYS[way].before
    return measure_costs(timed_in_turns(lambda graph: module.prepared(graph, variant)))


# -- measuring --------------------------------------------------------------------------------------------------------


def measure_block(engine: str, name: str, bench: Bench | None = None) -> Result:
    """Run an engine on a block, here and now.

    Raises
    ------
    MissingEngineError
        The engine is not installed.
    """
    from . import available

    module, graph = _module(engine), block(name)
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


def best_of(engine: str, name: str, bench: Bench | None, models: int) -> Result:
    """The fastest of several models that are made anew: where their memory happens to lie matters too.

    The spread is how far the second fastest is from the fastest: no difference smaller than that says anything.
    """
    made = [measure_block(engine, name, bench) for _ in range(models)]
    ranked = {v: sorted((r.seconds[v], r.noise[v]) for r in made) for v in made[0].seconds}
    return dataclasses.replace(
        made[0],
        seconds={v: pairs[0][0] for v, pairs in ranked.items()},
        noise={v: pairs[0][1] for v, pairs in ranked.items()},
        spread={v: pairs[min(1, models - 1)][0] - pairs[0][0] for v, pairs in ranked.items()},
    )


def _module(engine: str) -> Any:
    from . import __getattr__ as load  # says what is missing

    return load(engine)


def _kinds(engine: str, module: Any, name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Kinds of the operators that run with nothing merged, and by default."""
    graph = block(name)
    if engine == "litert":
        twins = module.twins(graph)
        before, after = (module.kinds(twins[which], xnnpack=False) for which in ("unfused", "fused"))
    else:
        before, after = (module.kinds(graph, variant) for variant in PAIR[engine])
    return tuple(before), tuple(after)
