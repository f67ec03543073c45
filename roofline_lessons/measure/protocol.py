"""How to time on a machine that also does other things: batches, interleaved rounds, the minimum.

A single time says little: the operating system, other programs and the processor's clock all add to it, and nothing
ever subtracts. So each variant runs in batches long enough for the clock, all variants take turns (a disturbance then
hits them all alike), and of the rounds the *fastest* counts. Median over fastest says how noisy it was.

Whoever had the turn before has filled the caches with other arrays. So each batch begins with a run that is not timed;
without it a batch of ten passes over 15 MB came out up to 40 % slower than passes usually are.
"""

from __future__ import annotations

import gc
import importlib.util
import math
import statistics
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from .errors import MeasureError

#: Runs the thing to be timed so many times.
Run = Callable[[int], Any]

Clock = Callable[[], float]

Name = TypeVar("Name", bound=Hashable)

#: A batch lasts at least so long: short against a disturbance, long against the clock's own steps.
BATCH_SECONDS = 2.5e-3

#: A run so long needs no run before it that warms the caches: filling them anew is a small part of it.
LONG_SECONDS = 25e-3

#: Rounds in which every variant has its turn, at least and at most.
ROUNDS, MOST_ROUNDS = 3, 40

#: Less than any run takes: ten steps of a processor's clock take longer than a nanosecond.
LEAST_SECONDS = 1e-10


@dataclass(frozen=True)
class Timing:
    """Seconds of one run: the fastest round, the median one, and how many rounds there were."""

    seconds: float
    median: float
    rounds: int

    @property
    def noise(self) -> float:
        """Median over fastest: 1 on a quiet machine. Of a time too short for the clock it is 1, or without bounds."""
        if not self.seconds:
            return math.inf if self.median else 1.0
        return self.median / self.seconds


@dataclass(frozen=True)
class Bench:
    """A way of timing.

    Parameters
    ----------
    clock : callable
        Seconds, from anywhere.
    rounds : int
        Turns that every variant has at least.
    batch_seconds : float
        How long a batch of repeats lasts at least.
    tick : callable, optional
        Told the seconds that passed, after each batch: for a progress bar.
    """

    clock: Clock = time.perf_counter
    rounds: int = ROUNDS
    batch_seconds: float = BATCH_SECONDS
    tick: Callable[[float], Any] | None = None

    def time(self, runs: Mapping[Name, Run], seconds: float = 0.0) -> dict[Name, Timing]:
        """Time all runs in turns, for so many seconds but at least `rounds` rounds.

        Parameters
        ----------
        runs : mapping of name to callable
            Each is called with the number of repeats it should do.
        seconds : float
            Further rounds follow until so much time has passed.

        Returns
        -------
        dict of name to Timing
            Per repeat.
        """
        start = self.clock()
        samples: dict[Name, list[float]] = {name: [] for name in runs}
        with _no_garbage_collection():
            repeats = {name: self._repeats(run) for name, run in runs.items()}
            for done in range(MOST_ROUNDS):
                if done >= self.rounds and self.clock() - start >= seconds:
                    break
                for name, run in runs.items():
                    samples[name].append(self._sample(run, repeats[name]))
        return {name: _timing(values) for name, values in samples.items()}

    def _repeats(self, run: Run) -> int:
        """How often a run fits into a batch. Finding that out also warms caches and compilers up."""
        self._batch(run, 1)
        repeats = 1
        while self._batch(run, repeats) < self.batch_seconds:
            repeats *= 2
            if repeats * LEAST_SECONDS > self.batch_seconds:
                raise MeasureError(
                    f"{repeats:,} repeats take hardly any time: the clock stands still, or what is timed does nothing."
                )
        return repeats

    def _sample(self, run: Run, repeats: int) -> float:
        """Seconds of one repeat, in a batch with warm caches."""
        once = self._batch(run, 1)
        if repeats == 1 and once >= LONG_SECONDS:
            return once
        return self._batch(run, repeats) / repeats

    def _batch(self, run: Run, repeats: int) -> float:
        before = self.clock()
        run(repeats)
        passed = self.clock() - before
        if self.tick is not None:
            self.tick(passed)
        return passed


def repeated(call: Callable[[], Any]) -> Run:
    """A function of no arguments as something that can be timed."""

    def run(repeats: int) -> None:
        for _ in range(repeats):
            call()

    return run


@contextmanager
def one_thread() -> Iterator[bool]:
    """NumPy's matrix products and numexpr on one thread; says whether the products are (it needs threadpoolctl)."""
    with ExitStack() as stack:
        if installed("numexpr"):
            import numexpr

            stack.callback(numexpr.set_num_threads, numexpr.set_num_threads(1))
        if installed("threadpoolctl"):
            import threadpoolctl

            stack.enter_context(threadpoolctl.threadpool_limits(limits=1, user_api="blas"))
        yield installed("threadpoolctl")


def installed(library: str) -> bool:
    """Whether a library is here; nothing is imported. (A folder of that name beside the notebook is none.)"""
    found = importlib.util.find_spec(library)
    return found is not None and found.origin is not None


def _timing(samples: list[float]) -> Timing:
    return Timing(min(samples), statistics.median(samples), len(samples))


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Python tidies up afterwards, not within a batch."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
