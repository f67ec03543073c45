"""What the engines made of the blocks on one machine, for those who have not installed them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import unknown_name
from ..measure import Bench, Place, Timing
from ..measure.machine import here
from .block_results import Result, best_of
from .blocks import BLOCKS, block
from .catalogue import RULES, WAYS, load
from .errors import EngineError
from .merges import Merge
from .node_times import NodeTime, Profile
from .operator_costs import Costs

#: What was recorded on one machine, with where and when (benchmarks/record_engines.py writes it).
RECORDED = Path(__file__).parents[1] / "data" / "recorded_engines.json"

#: Blocks of which ONNX Runtime's nodes are recorded.
PROFILED = ("inverted_residual", "conv_bn_relu", "gelu", "add_layer_norm")

_DIGITS = 4


def recorded(engine: str, name: str, note: str = "") -> Result:
    """A result from the file, marked as recorded.

    Parameters
    ----------
    engine, name : str
    note : str
        Why it is not this machine's.

    Raises
    ------
    UnknownNameError
        No such engine or block.
    """
    for what, given, known in (("engine", engine, RULES), ("block", name, BLOCKS)):
        if given not in known:
            raise unknown_name(what, given, known)
    (row,) = (row for row in _content()["results"] if (row["engine"], row["block"]) == (engine, name))
    marked = {"recorded": _when_and_where(), "note": _note(note, row["note"])}
    merges = tuple(Merge(tuple(before), tuple(after), rule) for before, after, rule in row["merges"])
    lists = {what: tuple(row[what]) for what in ("before", "after")}
    return Result(**(row | lists | marked | {"merges": merges}))


def recorded_profiles(name: str, note: str = "") -> dict[str, Profile]:
    """ONNX Runtime's nodes of a block from the file, marked as recorded.

    Parameters
    ----------
    name : str
        One of `PROFILED`.
    note : str
        Why it is not this machine's.

    Raises
    ------
    EngineError
        The nodes of this block were not recorded.
    """
    rows = [row for row in _content()["profiles"] if row["block"] == name]
    if not rows:
        raise EngineError(
            f"{note or 'Not measured here'}; and the nodes of {name} were not recorded, only those of "
            f"{', '.join(PROFILED)}."
        )
    return {row["variant"]: _profile(row) for row in rows}


def recorded_costs(way: str) -> Costs:
    """What single operators cost an engine on the recorded machine.

    Parameters
    ----------
    way : str
        One of `WAYS`.
    """
    if way not in WAYS:
        raise unknown_name("way to run an engine", way, WAYS)
    return Costs(**_content()["costs"][way], recorded=_when_and_where())


def _profile(row: dict[str, Any]) -> Profile:
    nodes = tuple(
        NodeTime(name, kind, tuple(operators), Timing(*times), moved)
        for name, kind, operators, times, moved in row["nodes"]
    )
    run, profiled = Timing(*row["run"]), Timing(*row["profiled"])
    return Profile(block(row["block"]), "onnxruntime", row["variant"], nodes, run, profiled, _when_and_where())


def _when_and_where() -> str:
    return Place(**_content()["place"]).recorded


def _note(now: str, then: str) -> str:
    """Why it is not this machine's, and what was to be said when it was recorded."""
    return f"{now}; when this was recorded: {then}" if now and then else now or then


@cache
def _content() -> dict[str, Any]:
    return json.loads(RECORDED.read_text(encoding="utf-8"))


# -- recording --------------------------------------------------------------------------------------------------------


def record(processor: str, bench: Bench | None = None) -> str:
    """Run every engine on every block, and return the file's new content; the machine is called by its processor."""
    from .here_or_recorded import costs_now  # it needs this module

    content = {
        "place": vars(here()) | {"host": "", "processor": processor},
        "costs": {way: _of_costs(costs_now(way)) for way in WAYS},
        "results": [_of_result(best_of(engine, name, bench, models=4)) for name in BLOCKS for engine in RULES],
        "profiles": [
            _of_profile(name, profile)
            for name in PROFILED
            for profile in load("onnxruntime").profiles(block(name), runs=300).values()
        ],
    }
    return json.dumps(content, indent=1) + "\n"


def _of_result(result: Result) -> dict[str, Any]:
    row = dict(vars(result))
    del row["recorded"]
    for times in ("seconds", "spread"):
        row[times] = {variant: rounded(value) for variant, value in row[times].items()}
    row["noise"] = {variant: round(value, 3) for variant, value in row["noise"].items()}
    return row


def _of_costs(costs: Costs) -> dict[str, dict[str, float]]:
    parts = {"node_seconds": costs.node_seconds, "element_seconds": costs.element_seconds}
    return {part: {kind: rounded(value) for kind, value in found.items()} for part, found in parts.items()}


def _of_profile(name: str, profile: Profile) -> dict[str, Any]:
    nodes = [[n.name, n.kind, n.operators, _of_timing(n.timing), n.moved_bytes] for n in profile.nodes]
    times = {"run": _of_timing(profile.run), "profiled": _of_timing(profile.profiled)}
    return {"block": name, "variant": profile.variant, **times, "nodes": nodes}


def _of_timing(timing: Timing) -> list[float]:
    return [rounded(timing.seconds), rounded(timing.median), timing.rounds]


def rounded(value: float) -> float:
    """A time as it is recorded: with four digits."""
    return float(f"{value:.{_DIGITS}g}")
