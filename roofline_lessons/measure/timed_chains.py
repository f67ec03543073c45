"""A chain of operators timed on this machine, engine by engine, beside what the model predicts."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ..errors import whole
from .chain_engines import ENGINES, available, engine, engine_named, kinds_of
from .chain_results import Chain, Chains, Run
from .errors import MeasureError, MeasureWarning
from .machine import in_a_browser, this_machine
from .measurement import Machine
from .memory import aligned, check_fits
from .protocol import Bench, Timing, one_thread, repeated
from .recording import recorded, recorded_timings

#: What a chain is compared with: one kernel per operator, without new arrays.
UNFUSED = "numpy ping-pong"

#: Rounds of a chain: a few more than of the probes, each of which stands beside others that say much the same.
_ROUNDS = 5

#: Engines whose kernels hold the whole chain, the faster one first.
_FUSED = tuple(name for name in ("numba", "numexpr") if ENGINES[name].fused)


def chain(
    depth: int,
    elements: int,
    engine: str | None = None,
    *,
    machine: Machine | None = None,
    bench: Bench | None = None,
) -> Chain:
    """Time a chain of elementwise operators here, unfused and on an engine, beside the prediction.

    Parameters
    ----------
    depth : int
        Operators: multiply, add, ReLU in turn.
    elements : int
        Numbers (fp32) in each array.
    engine : str, optional
        A name of `ENGINES`: "numpy fresh", "numpy in place", "numpy ping-pong", "numexpr", "numba". By default the
        fastest fused one that is installed.
    machine : Machine, optional
        What the predictions are for; by default `this_machine(quick=True)`.
    bench : Bench, optional
        How to time.

    Returns
    -------
    Chain
        `.run` (seconds, predicted_seconds, bytes_per_second, ...), `.unfused` (NumPy, a kernel per operator),
        `.speedup`, `.predicted_speedup`.

    Warns
    -----
    MeasureWarning
        The engine's library is not installed, or the kernel is in a browser: what comes back was recorded.

    Raises
    ------
    MeasureError
        Nothing was recorded either, or the arrays take too much memory; the message says what to do.
    """
    return _timed([depth], [elements], [engine or _fused_engine()], machine, bench)[0]


def chains(
    depths: Iterable[int],
    elements: Iterable[int],
    engines: Iterable[str] | None = None,
    *,
    machine: Machine | None = None,
    bench: Bench | None = None,
) -> Chains:
    """The same for every depth, number of elements and engine; what belongs to one depth and size is timed in turns.

    Parameters
    ----------
    depths, elements : iterable of int
    engines : iterable of str, optional
        All that are installed when not given.
    machine, bench
        As for `chain`.

    Returns
    -------
    Chains
    """
    names = engines if engines is not None else ENGINES if in_a_browser() else available()
    return _timed(depths, elements, list(names), machine, bench)


def recorded_chains() -> Chains:
    """All chains that were timed on the recorded machine, to study where measuring is not possible."""
    kept, machine = recorded_timings(), recorded()
    found = []
    for name, depth, elements in kept:
        run, unfused = (Run(e, depth, elements, kept[e, depth, elements], machine) for e in (name, UNFUSED))
        found.append(Chain(run, unfused))
    return Chains(found)


def _timed(
    depths: Iterable[int], elements: Iterable[int], names: Sequence[str], machine: Machine | None, bench: Bench | None
) -> Chains:
    """What can be timed here, timed; the rest as it was recorded."""
    missing = {name: why for name in names if (why := why_not(name))}
    usable = [name for name in names if name not in missing]
    sizes, depths = [whole("elements", n) for n in elements], [whole("depth", depth) for depth in depths]
    kept = {(n, depth): _recorded(depth, n, missing) for n in sizes for depth in depths} if missing else {}
    if missing:
        said = " ".join(f"{why}." for why in dict.fromkeys(missing.values()))
        warnings.warn(f"{said} What you get instead is {recorded().name}.", MeasureWarning, stacklevel=3)
    if usable:
        machine = machine or this_machine(quick=True)
    found: list[Chain] = []
    for n in sizes:
        for depth in depths:
            timed = _times(depth, n, [UNFUSED, *usable], bench or Bench(rounds=_ROUNDS)) if usable else {}
            for name in names:
                where, times = (recorded(), kept[n, depth]) if name in missing else (machine, timed)
                assert where is not None
                run, unfused = (Run(e, depth, n, times[e], where) for e in (name, UNFUSED))
                found.append(Chain(run, unfused))
    return Chains(found)


def _times(depth: int, elements: int, names: Sequence[str], bench: Bench) -> Mapping[str, Timing]:
    check_fits(f"A chain on {elements:,} elements", 4.0 * elements * (1 + 2 * len(set(names))))
    x = aligned(elements)
    np.copyto(x, np.random.default_rng(0).random(elements, dtype=np.float32))
    programs = {name: engine(name).prepare(kinds_of(depth), x) for name in dict.fromkeys(names)}
    with one_thread():
        return bench.time({name: repeated(program) for name, program in programs.items()})


def _recorded(depth: int, elements: int, missing: Mapping[str, str]) -> Mapping[str, Timing]:
    """What was timed on the recorded machine; for anything else an error that says why it was not timed here."""
    kept = recorded_timings()
    for name, why in missing.items():
        if (name, depth, elements) not in kept:
            depths, sizes = sorted({d for _, d, _ in kept}), sorted({n for _, _, n in kept})
            raise MeasureError(
                f"{why}. A chain of {depth} operators on {elements:,} elements was not recorded either. Recorded are "
                f"depths {', '.join(map(str, depths))} on {' or '.join(f'{n:,}' for n in sizes)} elements."
            )
    return {name: kept[name, depth, elements] for name in (UNFUSED, *missing)}


def why_not(name: str) -> str:
    """Why an engine cannot be timed here, with what would help; "" when it can.

    Raises
    ------
    UnknownNameError
        No such engine.
    """
    if in_a_browser():
        engine_named(name)
        return "This kernel runs inside a browser tab and cannot measure: run the lessons on your own machine"
    try:
        engine(name)
    except MeasureError as error:
        return str(error)
    return ""


def _fused_engine() -> str:
    """The first fused engine that is installed; else the error that says how to install one."""
    return next((name for name in _FUSED if not why_not(name)), _FUSED[0])
