"""A device as the roofline sees it: peaks, bandwidths, on-chip memory, and the catalogue of real ones.

The catalogue is data (`data/devices.toml`): each number there carries its source, what it counts and how sure it is.
A number that is not known is absent, and asking for it is an error that says so; it is never zero and never guessed.
"""

from __future__ import annotations

import dataclasses
import functools
import tomllib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from .errors import MemoryLevelWarning, finite, positive, unknown_name
from .frozen import FrozenDict
from .precision import BITS, NAMED, Precision, precision

#: How a catalogue number is known.
EVIDENCE = ("source", "third party", "derived", "estimated", "unknown")


@dataclass(frozen=True)
class Fact:
    """One catalogue number with where it comes from. `value` is None when it is not known.

    `evidence` is one of `EVIDENCE`: read in the issuing document, read in a text that quotes it, derived from other
    numbers, estimated, or unknown. `counts` says what is counted where that matters ("theoretical", "dense", ...).
    """

    value: float | None
    unit: str
    evidence: str
    source: str
    counts: str = ""


@dataclass(frozen=True)
class MemoryLevel:
    """A memory on the chip: its capacity in bytes and its bandwidth in bytes per second, None where unknown."""

    name: str
    bytes: float | None = None
    bytes_per_second: float | None = None

    def __post_init__(self) -> None:
        for what in ("bytes", "bytes_per_second"):
            value = getattr(self, what)
            if value is not None:
                object.__setattr__(self, what, positive(f"{what} of level {self.name}", value))


@dataclass(frozen=True)
class Device:
    """Peaks, bandwidths and capacities of one device. Immutable: `with_` makes a changed copy.

    Parameters
    ----------
    name : str
    peak : mapping of str to float
        FLOP/s by number format (1 MAC = 2 FLOP, dense, whole chip), e.g. ``{"fp32": 1e12, "int8": 4e12}``.
    bandwidth : float
        DRAM bytes per second (decimal).
    vector_peak : float, optional
        FLOP/s of work that is not multiply-accumulate, where a separate matrix unit does the multiply-accumulates.
        None: such work runs at the same peak as the rest.
    launch_seconds : float, optional
        Cost of starting one kernel. None: unknown, and then not in any time.
    on_chip_bytes : float, optional
        Capacity in which a fused kernel can keep its intermediates.
    levels : sequence of MemoryLevel
        On-chip memories, from the farthest to the nearest. Those with a known bandwidth are further roofs.
    static_watts : float, optional
        Power drawn whatever is computed.
    joules_per_flop : mapping of str to float
        Energy of one FLOP by number format.
    joules_per_dram_byte, joules_per_on_chip_byte : float, optional
    id, kind, memory : str
        Catalogue id, kind ("microcontroller", ...), and what `bandwidth` is the bandwidth of ("LPDDR4X", ...).
    memory_kind : str
        The same in one word, for pictures: "DRAM", or what a device has in its place ("SRAM" on a microcontroller).
    notes : sequence of str
    facts : mapping of str to Fact
        Provenance of the catalogue's numbers, by dotted key, e.g. ``facts["peak.int8"]``.

    Raises
    ------
    ValueError
        No peak at all, an unknown number format, a number that is not positive, two memory levels of one name.

    Warns
    -----
    MemoryLevelWarning
        A level on the chip that is slower than DRAM, or than a level farther away.
    """

    name: str
    peak: Mapping[str, float]
    bandwidth: float
    vector_peak: float | None = None
    launch_seconds: float | None = None
    on_chip_bytes: float | None = None
    levels: tuple[MemoryLevel, ...] = ()
    static_watts: float | None = None
    joules_per_flop: Mapping[str, float] = field(default_factory=dict)
    joules_per_dram_byte: float | None = None
    joules_per_on_chip_byte: float | None = None
    id: str = ""
    kind: str = ""
    memory: str = "DRAM"
    memory_kind: str = "DRAM"
    notes: tuple[str, ...] = ()
    facts: Mapping[str, Fact] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not (isinstance(self.peak, Mapping) and self.peak):
            raise ValueError(f"{self.name} needs at least one peak, e.g. peak={{'fp32': 1e12}} (FLOP/s).")
        for what in ("peak", "joules_per_flop"):
            self._set(what, _by_format(what, self.name, getattr(self, what)))
        self._set("bandwidth", positive(f"bandwidth of {self.name}", self.bandwidth))
        for what in ("vector_peak", "on_chip_bytes", "static_watts", "joules_per_dram_byte", "joules_per_on_chip_byte"):
            if getattr(self, what) is not None:
                self._set(what, positive(f"{what} of {self.name}", getattr(self, what)))
        if self.launch_seconds is not None:
            self._set("launch_seconds", finite(f"launch_seconds of {self.name}", self.launch_seconds))
        self._set("levels", tuple(self.levels))
        self._set("notes", tuple(self.notes))
        self._set("facts", FrozenDict(dict(self.facts)))
        names = [level.name for level in self.levels]
        if len({"DRAM", *names}) < 1 + len(names):
            raise ValueError(f'{self.name}: memory levels need names of their own, other than "DRAM", not {names}.')
        farther, slowest = self.memory, self.bandwidth
        for level in self.levels:
            if level.bytes_per_second is None:
                continue
            if level.bytes_per_second < slowest:
                warnings.warn(
                    f"{self.name}: {level.name} ({level.bytes_per_second:g} B/s) is slower than {farther} "
                    f"({slowest:g} B/s); a memory nearer to the arithmetic should be faster. Mixed up units or names?",
                    MemoryLevelWarning,
                    stacklevel=3,
                )
            farther, slowest = level.name, level.bytes_per_second

    def _set(self, what: str, value: Any) -> None:
        object.__setattr__(self, what, value)

    def peak_for(self, p: str | Precision) -> float:
        """Peak in FLOP/s of the arithmetic of a precision.

        Raises
        ------
        ValueError
            The device has no peak for it; the message lists those it has.
        """
        arithmetic = precision(p).arithmetic
        if arithmetic not in self.peak:
            raise ValueError(f'no peak for "{arithmetic}" on {self.name}: it has {", ".join(self.peak)}.')
        return self.peak[arithmetic]

    def ridge(self, p: str | Precision = "fp32") -> float:
        """Ridge point in FLOP per DRAM byte: the intensity from which on the peak is the limit, peak / bandwidth.

        References
        ----------
        Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009, section 3.

        Examples
        --------
        >>> Device("toy", {"fp32": 1e12}, 1e11).ridge("fp32")
        10.0
        """
        return self.peak_for(p) / self.bandwidth

    def precisions(self) -> list[str]:
        """Names of the precisions this device can run: those whose arithmetic has a peak."""
        return [name for name, p in NAMED.items() if p.arithmetic in self.peak]

    def roofs(self) -> dict[str, float]:
        """Bandwidth in bytes per second of each memory level where it is known, DRAM first."""
        return {"DRAM": self.bandwidth} | {
            level.name: level.bytes_per_second for level in self.levels if level.bytes_per_second is not None
        }

    def with_(self, **changes: Any) -> Device:
        """A copy with some fields changed, e.g. ``dev.with_(bandwidth=2 * dev.bandwidth)``.

        `facts` about a changed field are dropped: the source vouches for the number it gave.

        Raises
        ------
        UnknownNameError
            A field that a device does not have.
        """
        allowed = [f.name for f in dataclasses.fields(self)]
        for what in changes:
            if what not in allowed:
                raise unknown_name("field of a device", what, allowed)
        facts = {key: fact for key, fact in self.facts.items() if key.split(".")[0] not in changes}
        return dataclasses.replace(self, **{"facts": facts, **changes})


def devices() -> list[str]:
    """Ids of the devices in the catalogue, from the smallest to the largest."""
    return list(_catalogue())


@functools.cache
def device(id: str) -> Device:
    """The catalogue device with this id.

    Raises
    ------
    UnknownNameError
        No such id; the message names the closest ones.

    Examples
    --------
    >>> device("raspberry-pi-5").ridge("fp32") > 8
    True
    """
    catalogue = _catalogue()
    if id not in catalogue:
        raise unknown_name("device", id, catalogue)
    return _device(id, catalogue[id])


@functools.cache
def _catalogue() -> dict[str, dict[str, Any]]:
    text = resources.files(__package__).joinpath("data", "devices.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _device(id: str, entry: Mapping[str, Any]) -> Device:
    facts = dict(_facts(entry))
    numbers = {key: fact.value for key, fact in facts.items() if fact.value is not None}

    def by_format(prefix: str) -> dict[str, float]:
        return {key.split(".")[1]: value for key, value in numbers.items() if key.startswith(prefix + ".")}

    return Device(
        name=entry["name"],
        id=id,
        kind=entry["kind"],
        memory=entry["memory"],
        memory_kind=entry.get("memory_kind", "DRAM"),
        peak=by_format("peak"),
        joules_per_flop=by_format("joules_per_flop"),
        levels=tuple(
            MemoryLevel(
                level["name"],
                numbers.get(f"levels.{level['name']}.bytes"),
                numbers.get(f"levels.{level['name']}.bytes_per_second"),
            )
            for level in entry.get("levels", [])
        ),
        notes=tuple(entry.get("notes", [])),
        facts=facts,
        **{what: numbers[what] for what in _SINGLE if what in numbers},
    )


#: Fields of a device that are one number in the catalogue.
_SINGLE = (
    "bandwidth vector_peak launch_seconds on_chip_bytes static_watts joules_per_dram_byte joules_per_on_chip_byte"
).split()


def _facts(entry: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Fact]]:
    """Every number of a catalogue entry with its dotted key. A table with a unit is a number."""
    found = []
    for key, value in entry.items():
        if key == "levels":
            for level in value:
                found += _facts(level, f"levels.{level['name']}.")
        elif isinstance(value, dict):
            if "unit" in value:
                found.append((prefix + key, Fact(**{"value": None, **value})))
            else:
                found += _facts(value, f"{prefix}{key}.")
    return found


def _by_format(what: str, device_name: str, values: Mapping[str, float]) -> Mapping[str, float]:
    for name in values:
        if name not in BITS:
            raise unknown_name(f"number format in {what} of {device_name}", name, BITS)
    return FrozenDict({name: positive(f"{what}[{name!r}] of {device_name}", v) for name, v in values.items()})
