"""What was measured on one machine, with where and when: plain data, and the same as JSON."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from ..device import Device, MemoryLevel
from ..text import si
from .errors import MeasureError, OutdatedError
from .levels import Level, find_levels, interpolate, not_rising_inwards, rising_inwards
from .products import best

#: Version of the JSON; another one is measured anew.
VERSION = 2

#: Median over fastest time from which on a measurement is called noisy.
NOISY = 1.5


@dataclass(frozen=True)
class Place:
    """Where and when something was measured, and with what.

    Parameters
    ----------
    host, processor, system : str
    versions : mapping of str to str
        Of Python and the libraries.
    date : str
        ISO 8601 with its time zone.
    load : float or None
        How many programs wanted to run on average in the minute before, this one included; None where unknown.
    processors : int
    """

    host: str
    processor: str
    system: str
    versions: Mapping[str, str]
    date: str
    load: float | None = None
    processors: int = 1

    @property
    def day(self) -> str:
        """The date without its time."""
        return datetime.fromisoformat(self.date).date().isoformat()

    @property
    def recorded(self) -> str:
        """Of what was recorded there: when and on what, for a person."""
        return f"recorded {self.day} on {self.processor}"

    def same_machine(self, other: Place) -> bool:
        """Whether what was measured there holds here: the same machine, system and versions."""
        return all(getattr(self, what) == getattr(other, what) for what in ("host", "processor", "system", "versions"))


@dataclass(frozen=True)
class Measurement:
    """Everything `this_machine` found, on one thread.

    Attributes
    ----------
    place : Place
    quick : bool
    seconds : float
        How long measuring took.
    probes : str
        What moved the bytes: "numba" or "numpy".
    one_thread : bool
        Whether matrix products were held to one thread.
    working_sets : tuple of float
        Bytes.
    bandwidth : mapping of str to tuple of float
        Bytes per second by kind of probe (copy, in place, read, fill), for each working set. Counted are the bytes that
        the loop reads and writes, not what the caches add.
    noise : mapping of str to tuple of float
        Median over fastest time of the same.
    fresh_seconds_per_byte : tuple of float
        What each byte of a new array costs beyond the copy itself, for each working set (half of it is the array).
    products : mapping of (str, str) to float
        FLOP/s of matrix products by number format and library.
    call_seconds : mapping of str to float
        What one call of a library costs before it computes anything.
    element_seconds : mapping of str to mapping of str to float
        By library: seconds per element of each kind of operator in the nearest cache. A loop takes "offset" and its
        operators, but no less than "least".
    """

    place: Place
    quick: bool
    seconds: float
    probes: str
    one_thread: bool
    working_sets: tuple[float, ...]
    bandwidth: Mapping[str, tuple[float, ...]]
    noise: Mapping[str, tuple[float, ...]]
    fresh_seconds_per_byte: tuple[float, ...]
    products: Mapping[tuple[str, str], float]
    call_seconds: Mapping[str, float]
    element_seconds: Mapping[str, Mapping[str, float]]
    recorded: bool = field(default=False, compare=False)

    # -- what follows from it ----------------------------------------------------------------------------------------

    def bandwidth_at(self, working_set: float, kind: str = "copy") -> float:
        """Bytes per second of a working set, between the measured ones on a log-log line."""
        return interpolate(working_set, self.working_sets, self.bandwidth[kind])

    def fresh_at(self, working_set: float) -> float:
        """Seconds per byte of a new array, between the measured sizes on a straight line."""
        import numpy as np

        return float(np.interp(math.log(working_set), np.log(self.working_sets), self.fresh_seconds_per_byte))

    @property
    def levels(self) -> list[Level]:
        """The plateaus of the copy's bandwidth, the nearest memory first; the last is DRAM."""
        return find_levels(self.working_sets, self.bandwidth["copy"])

    @property
    def peaks(self) -> dict[str, float]:
        """FLOP/s by number format, the best library's."""
        return best(self.products)

    @property
    def worst_noise(self) -> float:
        """Median over fastest time, of the middle probe: 1 on a quiet machine."""
        everything = sorted(value for values in self.noise.values() for value in values)
        return everything[len(everything) // 2]

    @property
    def flags(self) -> list[str]:
        """What is doubtful about it, a sentence each."""
        said = not_rising_inwards(self.levels)
        if len(self.levels) == 1:
            said.append("No cache was seen: every working set came out alike.")
        if self.worst_noise > NOISY:
            said.append(
                f"Half of the probes usually took {self.worst_noise:.1f} times as long as at best, or more: other "
                "programs were running. Close them and measure again."
            )
        if not self.one_thread:
            said.append("Matrix products ran on all threads (threadpoolctl is not installed), everything else on one.")
        if "int8" not in self.peaks:
            said.append("The int8 peak is unknown: it needs onnx and onnxruntime.")
        return said

    def device(self) -> Machine:
        """The roofs as a device."""
        where = f"recorded on {self.place.processor}" if self.recorded else self.place.processor
        levels = rising_inwards(self.levels)
        return Machine(
            name=f"{where}, one thread, measured {self.place.day}",
            kind="measured",
            peak=self.peaks,
            bandwidth=self.levels[-1].bytes_per_second,
            launch_seconds=self.call_seconds["numpy"],
            on_chip_bytes=levels[0].bytes if levels else None,
            levels=tuple(MemoryLevel(level.name, level.bytes, level.bytes_per_second) for level in levels),
            notes=tuple(self.flags),
            measured=self,
        )

    def __repr__(self) -> str:
        how = "recorded" if self.recorded else "measured"
        return f"<Measurement of {self.place.processor}, {how} {self.place.date}, in {si(self.seconds, 's')}>"


@dataclass(frozen=True)
class Machine(Device):
    """A device whose numbers were measured; `measured` holds all that was found, `notes` what is doubtful."""

    measured: Measurement | None = field(default=None, repr=False, compare=False)

    @property
    def measurement(self) -> Measurement:
        """All that was found; a `MeasureError` where a device was made without."""
        if self.measured is None:
            raise MeasureError(f"{self.name} has no measurement with it.")
        return self.measured


# -- JSON --------------------------------------------------------------------------------------------------------------


def to_json(m: Measurement) -> str:
    """A measurement as text that a person can read, too."""
    content = dataclasses.asdict(m) | {"version": VERSION}
    del content["recorded"]
    content["products"] = [[name, library, rate] for (name, library), rate in m.products.items()]
    return json.dumps(content, indent=1)


def from_json(text: str | bytes) -> Measurement:
    """A measurement from its text.

    Raises
    ------
    OutdatedError
        It was measured by an older version of this package.
    MeasureError
        It is none, or one of a newer version; the message says what is wrong.
    """
    try:
        content = json.loads(text)
        version = content.pop("version")
        if type(version) is int and 0 < version < VERSION:
            raise OutdatedError(f"it has version {version}, and this one reads {VERSION}")
        if version != VERSION:
            raise MeasureError(f"it has version {version!r}, and this one reads {VERSION}")
        content["place"] = Place(**content["place"])
        content["products"] = {(name, library): rate for name, library, rate in content["products"]}
        for name in ("working_sets", "fresh_seconds_per_byte"):
            content[name] = tuple(content[name])
        for name in ("bandwidth", "noise"):
            content[name] = {kind: tuple(values) for kind, values in content[name].items()}
        made = Measurement(**content)
        made.place.day  # noqa: B018 - a date that is none is told here
    except MeasureError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise MeasureError(f"it is no measurement: {error}") from None
    _validate(made)
    return made


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def _validate(m: Measurement) -> None:
    """Numbers that could have been measured: finite, above zero, and as many as there are working sets."""
    if "numpy" not in m.call_seconds or "numpy" not in m.element_seconds:
        raise MeasureError("it is no measurement: NumPy was not measured")
    positive = [
        ("working_sets", m.working_sets),
        *((f"noise of {kind}", values) for kind, values in m.noise.items()),
        *((f"bandwidth of {kind}", values) for kind, values in m.bandwidth.items()),
        ("products", tuple(m.products.values())),
        ("call_seconds", tuple(m.call_seconds.values())),
    ]
    for name, values in positive:
        if not values or not all(_is_number(v) and v > 0 for v in values):
            raise MeasureError(f"it is no measurement: {name} should be numbers above 0")
    others = [*m.fresh_seconds_per_byte, *(v for costs in m.element_seconds.values() for v in costs.values())]
    if not all(_is_number(v) for v in others):
        raise MeasureError("it is no measurement: fresh_seconds_per_byte and element_seconds should be numbers")
    if list(m.working_sets) != sorted(m.working_sets):
        raise MeasureError("it is no measurement: working_sets do not ascend")
    lengths = {len(values) for values in (*m.bandwidth.values(), *m.noise.values(), m.fresh_seconds_per_byte)}
    if lengths != {len(m.working_sets)} or "copy" not in m.bandwidth or "in place" not in m.bandwidth:
        raise MeasureError("it is no measurement: not every working set was measured")
