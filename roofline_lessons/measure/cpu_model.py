"""How long a chain of elementwise operators takes on a processor: the roofline, and term by term what it leaves out.

The naive roofline divides bytes by the DRAM bandwidth. Each term repairs one thing that this gets wrong on a processor
with caches, run from Python; switched on one after the other they show what matters where.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from ..errors import unknown_name, whole
from .chain_engines import ENGINES, KINDS, Engine, engine_named, kinds_of
from .errors import MeasureError
from .measurement import Measurement

#: The terms in the order in which they are best switched on, and what each says.
TERMS: Mapping[str, str] = {
    "working set": "the bandwidth is that of the level in which the arrays fit, not always DRAM's",
    "in place": "writing into the array just read moves less: a new line need not be fetched before it is overwritten",
    "calls": "each kernel costs a call",
    "fresh pages": "each new array costs pages that the system must provide",
    "arithmetic": "the engine needs time for each operator and element, however near the numbers are",
    "operator kinds": "not the same time for each kind of operator",
}

T = TypeVar("T")

_ITEM = 4  # bytes of an fp32 number


def chain_seconds(m: Measurement, depth: int, elements: int, engine: str, terms: Iterable[str] = tuple(TERMS)) -> float:
    """Predicted seconds of a chain.

    Parameters
    ----------
    m : Measurement
        Of the machine.
    depth, elements : int
        Operators in the chain, and numbers in each array.
    engine : str
        A name of `roofline_lessons.measure.ENGINES`.
    terms : iterable of str
        Which of `TERMS` to count; none gives the naive roofline, bytes / DRAM bandwidth of a copy.

    Returns
    -------
    float

    Raises
    ------
    UnknownNameError
        An engine or a term that does not exist.
    MeasureError
        The machine was measured without this engine's library, and a term needs it.
    """
    chosen = _checked(terms)
    how, kinds = engine_named(engine), kinds_of(depth)
    elements = whole("elements", elements)
    kernels = [kinds] if how.fused else [(kind,) for kind in kinds]
    return sum(_kernel_seconds(m, how, k, elements, _arrays(how, i, depth), chosen) for i, k in enumerate(kernels))


def chain_band(m: Measurement, depth: int, elements: int, engine: str, factor: float = 1.5) -> tuple[float, float]:
    """The lowest and the highest prediction if the caches were so many times smaller or larger.

    Wide where a working set is near the size of a level: there a prediction is worth little.
    """
    around = [_scaled(m, f) for f in (1 / factor, 1.0, factor)]
    seconds = [chain_seconds(a, depth, elements, engine) for a in around]
    return min(seconds), max(seconds)


def chain_bytes(depth: int, elements: int, engine: str) -> int:
    """Bytes that the kernels of a chain read and write: each reads one array and writes one."""
    return 2 * _ITEM * elements * (1 if ENGINES[engine].fused else depth)


def term_by_term(m: Measurement, depth: int, elements: int, engine: str) -> dict[str, float]:
    """Predicted seconds with no term, with the first, with the first two, ... under the name of the last."""
    names = list(TERMS)
    found = {"bytes / DRAM bandwidth": chain_seconds(m, depth, elements, engine, ())}
    for i, name in enumerate(names):
        found[f"+ {name}"] = chain_seconds(m, depth, elements, engine, names[: i + 1])
    return found


def _kernel_seconds(
    m: Measurement, how: Engine, kinds: Sequence[str], elements: int, arrays: int, terms: frozenset[str]
) -> float:
    """Of one kernel: call + new pages + max(memory, arithmetic), as far as these are counted."""
    working_set = float(arrays * _ITEM * elements)
    seconds = _memory_seconds(m, how, elements, working_set, terms)
    if terms & {"arithmetic", "operator kinds"}:
        seconds = max(seconds, _arithmetic_seconds(m, how, kinds, elements, "operator kinds" in terms))
    if "calls" in terms:
        seconds += _of_library(m.call_seconds, how.library)
    if "fresh pages" in terms and how.fresh:
        seconds += _ITEM * elements * m.fresh_at(working_set)
    return seconds


def _memory_seconds(m: Measurement, how: Engine, elements: int, working_set: float, terms: frozenset[str]) -> float:
    moved = 2 * _ITEM * elements
    at = working_set if "working set" in terms else m.working_sets[-1]
    kind = "in place" if "in place" in terms and how.arrays == 1 else "copy"
    return moved / m.bandwidth_at(at, kind)


def _arithmetic_seconds(m: Measurement, how: Engine, kinds: Sequence[str], elements: int, by_kind: bool) -> float:
    each = _of_library(m.element_seconds, how.library)
    mean = sum(each[kind] for kind in KINDS) / len(KINDS)
    return elements * max(each["least"], each["offset"] + sum(each[kind] if by_kind else mean for kind in kinds))


def _arrays(how: Engine, place: int, depth: int) -> int:
    """How many arrays were used since the ones of this kernel were used last, when a chain runs again and again.

    With two arrays in turns the first kernel reads the input, which the round before has left behind by two arrays,
    and the second one writes the array that was last used before the input.
    """
    return how.chain_arrays if depth > 1 and place < 2 else how.arrays


def _of_library(found: Mapping[str, T], library: str) -> T:
    if library not in found:
        raise MeasureError(
            f"the machine was measured without {library}: python -m pip install {library}, then "
            "rl.measure.this_machine(again=True)."
        )
    return found[library]


def _scaled(m: Measurement, factor: float) -> Measurement:
    """The machine if every level were so many times as large."""
    return dataclasses.replace(m, working_sets=tuple(w * factor for w in m.working_sets))


def _checked(terms: Iterable[str]) -> frozenset[str]:
    chosen = [terms] if isinstance(terms, str) else list(terms)
    for name in chosen:
        if name not in TERMS:
            raise unknown_name("term", name, TERMS)
    return frozenset(chosen)
