"""What comes back when chains are timed: measured and predicted side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..text import number, si
from .cpu_model import TERMS, chain_band, chain_bytes, chain_seconds
from .measurement import Machine
from .points import Point
from .protocol import Timing

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Run:
    """A chain on one engine: what was measured, and what the model says.

    Attributes
    ----------
    engine : str
    depth, elements : int
    timing : Timing
    machine : Machine
        The device that the predictions are for.
    """

    engine: str
    depth: int
    elements: int
    timing: Timing
    machine: Machine

    @property
    def seconds(self) -> float:
        """Measured: the fastest round."""
        return self.timing.seconds

    @property
    def recorded(self) -> bool:
        """Not measured here but on the recorded machine."""
        return self.machine.measurement.recorded

    def predict(self, terms: Iterable[str] = tuple(TERMS)) -> float:
        """Predicted seconds with some terms of the model; see `TERMS`."""
        return chain_seconds(self.machine.measurement, self.depth, self.elements, self.engine, terms)

    @property
    def predicted_seconds(self) -> float:
        """With all terms of the model."""
        return self.predict()

    @property
    def predicted_band(self) -> tuple[float, float]:
        """Seconds if the caches were a bit smaller or larger: wide where the prediction is worth little."""
        return chain_band(self.machine.measurement, self.depth, self.elements, self.engine)

    @property
    def error(self) -> float:
        """Predicted over measured seconds, minus one."""
        return self.predicted_seconds / self.seconds - 1

    @property
    def dram_bytes(self) -> int:
        """Bytes that the kernels read and write; with a small array they reach no farther than a cache."""
        return chain_bytes(self.depth, self.elements, self.engine)

    @property
    def bytes_per_second(self) -> float:
        """Measured, of the bytes counted."""
        return self.dram_bytes / self.seconds

    @property
    def flops(self) -> int:
        """FLOP: each operator does one per element."""
        return self.depth * self.elements

    @property
    def point(self) -> Point:
        """Its place on a roofline."""
        return Point.of(f"{self.engine}, {si(4 * self.elements, 'B')}", self.flops, self.dram_bytes, self.timing)

    def __repr__(self) -> str:
        how = "recorded" if self.recorded else "measured"
        return (
            f"<{self.depth} operators on {self.elements:,} elements, {self.engine}: {how} {si(self.seconds, 's')}, "
            f"predicted {si(self.predicted_seconds, 's')}, {si(self.bytes_per_second, 'B/s')}>"
        )


@dataclass(frozen=True)
class Chain:
    """A chain on an engine, and the same chain with a kernel per operator: timed in turns, so they compare."""

    run: Run
    unfused: Run

    @property
    def speedup(self) -> float:
        """Measured: how many times as fast as one NumPy kernel per operator."""
        return self.unfused.seconds / self.run.seconds

    @property
    def usual_speedup(self) -> float:
        """The same from the median rounds: how far it is from `speedup` says how noisy it was."""
        return self.unfused.timing.median / self.run.timing.median

    @property
    def predicted_speedup(self) -> float:
        """The same from the model."""
        return self.unfused.predicted_seconds / self.run.predicted_seconds

    def __repr__(self) -> str:
        return (
            f"{self.run.engine} against {self.unfused.engine}, {self.run.depth} operators on "
            f"{self.run.elements:,} elements: {si(self.unfused.seconds, 's')} → {si(self.run.seconds, 's')}, "
            f"{number(self.speedup)} times as fast (predicted {number(self.predicted_speedup)})"
            f"{', recorded' if self.run.recorded else ''}"
        )


class Chains(Sequence[Chain]):
    """Chains that were timed together."""

    def __init__(self, chains: Iterable[Chain]) -> None:
        self._chains = tuple(chains)

    def __getitem__(self, index):
        return self._chains[index]

    def __len__(self) -> int:
        return len(self._chains)

    def __iter__(self) -> Iterator[Chain]:
        return iter(self._chains)

    def find(self, engine: str | None = None, depth: int | None = None, elements: int | None = None) -> Chains:
        """Those of an engine, of a depth, of a size; what is not given may be anything."""
        wanted = {"engine": engine, "depth": depth, "elements": elements}
        return Chains(
            c for c in self if all(value is None or getattr(c.run, name) == value for name, value in wanted.items())
        )

    def to_frame(self) -> pandas.DataFrame:
        """A pandas table, one row per chain, SI units in the column names."""
        import pandas

        return pandas.DataFrame(
            [
                {
                    "engine": c.run.engine,
                    "depth": c.run.depth,
                    "elements": c.run.elements,
                    "seconds": c.run.seconds,
                    "predicted_seconds": c.run.predicted_seconds,
                    "noise": c.run.timing.noise,
                    "bytes_per_second": c.run.bytes_per_second,
                    "speedup": c.speedup,
                    "predicted_speedup": c.predicted_speedup,
                    "recorded": c.run.recorded,
                }
                for c in self
            ]
        )

    def __repr__(self) -> str:
        return "\n".join(map(repr, self))
