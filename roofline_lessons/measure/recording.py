"""What was measured when these lessons were written: to study where measuring is not possible."""

from __future__ import annotations

import dataclasses
import functools
import json
from importlib import resources

from .measurement import Machine, from_json
from .protocol import Timing

_DATA = resources.files("roofline_lessons").joinpath("data")


@functools.cache
def recorded() -> Machine:
    """A machine measured when these lessons were written; its name says so, which it was and when."""
    text = _DATA.joinpath("recorded_machine.json").read_text(encoding="utf-8")
    return dataclasses.replace(from_json(text), recorded=True).device()


@functools.cache
def recorded_timings() -> dict[tuple[str, int, int], Timing]:
    """Chains timed on the recorded machine, by engine, depth and elements."""
    rows = json.loads(_DATA.joinpath("recorded_chains.json").read_text(encoding="utf-8"))
    return {(r["engine"], r["depth"], r["elements"]): Timing(r["seconds"], r["median"], r["rounds"]) for r in rows}
