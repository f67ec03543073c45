"""Savings that were predicted beside savings that were measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..measure import Machine
from ..measure import recorded as recorded_machine
from ..text import si
from .block_results import Result
from .blocks import block
from .catalogue import WAYS, Way
from .here_or_recorded import costs, results
from .predicted_savings import TERMS, Saving, predict_saving, signed
from .recorded_engines import recorded, recorded_costs

#: A speed-up this near to its bracket is as good as in it: what `references/engines.md` found for every block.
WITHIN = 0.10


@dataclass(frozen=True)
class Saved:
    """What merging saves one engine on one block.

    block : str
    way : Way
    before_seconds, after_seconds : measured, nothing merged and merged.
    spread_seconds : by so much both together differ between models made anew: no smaller saving says anything.
    predicted : Saving
    by_term : prediction with no term, the first, the first two, ... under the name of the last.
    where : "measured here", or when and on what it was recorded.
    """

    block: str
    way: Way
    before_seconds: float
    after_seconds: float
    spread_seconds: float
    predicted: Saving
    by_term: Mapping[str, Saving]
    where: str

    @property
    def seconds(self) -> float:
        """Measured."""
        return self.before_seconds - self.after_seconds

    @property
    def in_bracket(self) -> bool:
        """Whether the measured saving, give or take its spread, lies in the bracket."""
        return self.predicted.holds(self.seconds, self.spread_seconds)

    @property
    def too_noisy(self) -> bool:
        """Whether models made anew differ by more than the whole saving should be: then nothing can be said."""
        return 0 < self.predicted.high < self.spread_seconds

    @property
    def times_as_fast(self) -> float:
        """Measured."""
        return self.before_seconds / self.after_seconds

    @property
    def predicted_times_as_fast(self) -> tuple[float, float]:
        """The bracket added to the measured merged time."""
        return self.predicted.times_as_fast(self.after_seconds)

    @property
    def speedup_error(self) -> float:
        """How far the measured speed-up lies outside its bracket: 0 in it, 0.1 for 10 % beside it."""
        low, high = self.predicted_times_as_fast
        return max(low / self.times_as_fast - 1, self.times_as_fast / high - 1, 0.0)

    def __repr__(self) -> str:
        spread, of = si(self.spread_seconds, "s", 2), si(self.before_seconds, "s")
        return (
            f"<{self.block}, {self.way.title}: merging saves {signed(self.seconds)} (± {spread}) of {of}, "
            f"predicted {self.predicted}, {self.where}>"
        )


def savings(name: str, machine: Machine, again: bool = False) -> list[Saved]:
    """Predicted and measured savings of a block, for each way of running it in which something was merged.

    Parameters
    ----------
    name : str
        One of `BLOCKS`.
    machine : measure.Machine
        For engines that run here; for recorded results it is the machine they were recorded on.
    again : bool
        Run the engines once more.
    """
    found = results(name, again)  # once: both ways of an engine speak of the same run
    return [saved for way, how in WAYS.items() if (saved := saved_by(found[how.engine], way, machine))]


def recorded_savings(name: str) -> list[Saved]:
    """The same as it was recorded: engines, costs of their operators, and machine.

    Parameters
    ----------
    name : str
        One of `BLOCKS`.
    """
    block(name)  # a wrong name is told here
    ways = [(recorded(how.engine, name), way) for way, how in WAYS.items()]
    return [saved for result, way in ways if (saved := saved_by(result, way, recorded_machine()))]


def saved_by(result: Result, way: str, machine: Machine) -> Saved | None:
    """The saving of one result; None where nothing was timed or nothing was merged."""
    how = WAYS[way]
    if not {how.before, how.after} <= result.seconds.keys() or not result.merges:
        return None
    predicted = {
        name: predict(result, way, machine, list(TERMS)[:count])
        for count, name in enumerate(["bytes saved / DRAM bandwidth", *TERMS])
    }
    return Saved(
        result.block,
        how,
        result.seconds[how.before],
        result.seconds[how.after],
        result.spread.get(how.before, 0.0) + result.spread.get(how.after, 0.0),
        list(predicted.values())[-1],
        predicted,
        result.where,
    )


def predict(result: Result, way: str, machine: Machine, terms: Iterable[str] = tuple(TERMS)) -> Saving:
    """The predicted saving of what an engine merged.

    Parameters
    ----------
    result : Result
        Only what was merged is looked at, no time.
    way : str
        One of `WAYS`.
    machine : measure.Machine
    terms : iterable of str
    """
    on, of_engine = (recorded_machine(), recorded_costs(way)) if result.recorded else (machine, costs(way))
    return predict_saving(result.plan, WAYS[way].title, on, of_engine, result.merges, terms)
