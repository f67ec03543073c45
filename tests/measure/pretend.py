"""A machine that only moves a clock: what is measured on it can be worked out by hand."""

from __future__ import annotations

from dataclasses import dataclass, field

from roofline_lessons.measure.measurement import Measurement, Place
from roofline_lessons.measure.probes import ARRAYS
from roofline_lessons.measure.products import flops

MIB = 1 << 20


class Clock:
    """Seconds that pass only when someone says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@dataclass
class PretendKit:
    """Two caches and DRAM, a call of 0.4 µs, new arrays of 64 MiB and more at 0.2 s/GB, and known operators."""

    clock: Clock
    library: str = "numba"
    largest: int = 256 * MIB
    disturbed: frozenset[int] = frozenset()  # turns (counted over all batches) that take three times as long
    turns: int = field(default=0)

    CALL = 4e-7
    PAGES = 2e-10
    LEAST, HIDDEN = 1.2e-11, 1e-11  # of a compiled loop: at least, and what loads and stores hide
    ELEMENT = {"mul": 2e-11, "add": 2e-11, "relu": 3e-10}
    RATES = {("fp32", "numpy"): 1e11, ("fp32", "onnxruntime"): 2e11, ("fp64", "numpy"): 5e10}

    def speed(self, working_set: float, kind: str = "copy") -> float:
        level = 160e9 if working_set <= MIB else 40e9 if working_set <= 32 * MIB else 10e9
        return level * (1.5 if kind == "in place" else 1.0)

    def takes(self, seconds: float):
        def run(repeats: int) -> None:
            self.turns += 1
            self.clock.now += repeats * seconds * (3 if self.turns in self.disturbed else 1)

        return run

    def bandwidth(self, kind, working_set):
        moved = working_set / ARRAYS[kind][0] * ARRAYS[kind][1]
        return self.takes(moved / self.speed(working_set, kind))

    def empty(self, kind):
        return self.takes(1e-9)

    def warm(self, working_set):
        return self.takes(self.CALL + working_set / self.speed(working_set))

    def fresh(self, working_set):
        pages = self.PAGES * working_set / 2 if working_set >= 128 * MIB else 0.0
        return self.takes(self.CALL + working_set / self.speed(working_set) + pages)

    def products(self, size):
        return {name: self.takes(flops(size) / rate) for name, rate in self.RATES.items()}

    def libraries(self):
        return ["numpy", "numba"]

    def chain(self, library, kinds, elements):
        work = elements * sum(self.ELEMENT[kind] for kind in kinds)
        if library == "numpy":
            return self.takes(len(kinds) * self.CALL + work)
        return self.takes(self.CALL / 2 + max(elements * self.LEAST, work / 10 - elements * self.HIDDEN))


def place(**changes) -> Place:
    values = {
        "host": "toy", "processor": "Toy 1", "system": "Linux toy", "versions": {"python": "3.11"},
        "date": "2026-01-02T03:04:05+00:00", "load": 0.5, "processors": 2,
    }  # fmt: skip
    return Place(**(values | changes))


def measurement(**changes) -> Measurement:
    """Two plateaus, 100 GB/s up to 1 MiB and 10 GB/s beyond; in place is twice as fast."""
    sets = tuple(float(2**k) for k in range(15, 29))
    copy = tuple(100e9 if s <= MIB else 10e9 for s in sets)
    values = {
        "place": place(), "quick": False, "seconds": 20.0, "probes": "numba", "one_thread": True,
        "working_sets": sets,
        "bandwidth": {"copy": copy, "in place": tuple(2 * b for b in copy), "read": copy, "fill": copy},
        "noise": {kind: (1.1,) * len(sets) for kind in ARRAYS},
        "fresh_seconds_per_byte": tuple(0.0 if s <= 32 * MIB else 1e-10 for s in sets),
        "products": {("fp32", "numpy"): 1e11, ("int8", "onnxruntime"): 4e11},
        "call_seconds": {"numpy": 4e-7, "numba": 2e-7},
        "element_seconds": {
            "numpy": {"least": 0.0, "offset": 0.0, "mul": 1e-11, "add": 1e-11, "relu": 4e-11},
            "numba": {"least": 2e-11, "offset": -1e-11, "mul": 1e-12, "add": 1e-12, "relu": 1e-12},
        },
    }  # fmt: skip
    return Measurement(**(values | changes))
