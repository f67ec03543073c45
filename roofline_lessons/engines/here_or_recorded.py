"""Results, nodes and costs of the engines: measured here where an engine is installed, recorded where it is not.

What was measured is kept (`kept`).
"""

from __future__ import annotations

from ..measure import Bench
from .block_results import Result, best_of
from .blocks import block
from .catalogue import RULES, WAYS, load
from .errors import MissingEngineError
from .kept import Kept
from .node_times import Profile
from .operator_costs import Costs, measure_costs, timed_in_turns
from .recorded_engines import recorded, recorded_costs, recorded_profiles


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
    return {engine: _result(engine, name, again=again) for engine in RULES}


@Kept
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
    return dict(_profiles(name, again=again))


@Kept
def _profiles(name: str) -> dict[str, Profile]:
    try:
        return dict(load("onnxruntime").profiles(block(name)))
    except MissingEngineError as error:
        return recorded_profiles(name, str(error))


def costs(way: str, again: bool = False) -> Costs:
    """What single operators cost an engine.

    Parameters
    ----------
    way : str
        One of `WAYS`.
    again : bool
        Measure anew.
    """
    return _costs(way, again=again)


@Kept
def _costs(way: str) -> Costs:
    try:
        return costs_now(way)
    except MissingEngineError:
        return recorded_costs(way)


def costs_now(way: str) -> Costs:
    """The same, measured now whatever was measured before.

    Raises
    ------
    MissingEngineError
        The engine is not installed.
    """
    module, variant = load(WAYS[way].engine), WAYS[way].before
    return measure_costs(timed_in_turns(lambda graph: module.prepared(graph, variant)))
