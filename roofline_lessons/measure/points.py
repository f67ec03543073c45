"""Measured points for a roofline: where they lie, how much they spread, and why one may lie above the roof."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..cost import attainable
from ..device import Device
from ..errors import positive
from ..precision import Precision
from ..text import number, si
from .protocol import Timing

#: A point so little above the roof is on it: no two measurements agree better.
_ON_THE_ROOF = 1.05

#: A level's bandwidth is the middle of a plateau; single working sets get so much more.
_PLATEAU = 1.3


@dataclass(frozen=True)
class Point:
    """A measured kernel on a roofline.

    Parameters
    ----------
    name : str
    intensity : float
        FLOP per byte counted.
    flops_per_second : float
        In the fastest round.
    usual_flops_per_second : float
        In the median round: the other end of the spread bar.
    """

    name: str
    intensity: float
    flops_per_second: float
    usual_flops_per_second: float

    def __post_init__(self) -> None:
        for what in ("intensity", "flops_per_second", "usual_flops_per_second"):
            object.__setattr__(self, what, positive(f"{what} of {self.name}", getattr(self, what)))

    @classmethod
    def of(cls, name: str, flops: float, dram_bytes: float, timing: Timing) -> Point:
        """The point of a kernel that does so many FLOP and moves so many bytes."""
        return cls(name, flops / dram_bytes, flops / timing.seconds, flops / timing.median)

    def above(self, device: Device, precision: str | Precision = "fp32") -> str:
        """Why it lies above the roof, in a sentence; "" where it does not.

        Parameters
        ----------
        device : Device
        precision : str or Precision
        """
        roof = float(attainable(self.intensity, device, precision))
        if self.flops_per_second <= _ON_THE_ROOF * roof:
            return ""
        which = "peak" if roof >= device.peak_for(precision) else f"{device.memory} roof"
        times = f"{self.name} is {number(self.flops_per_second / roof, 2)} times as fast as the {which} allows"
        if which == "peak":
            return f"{times}: the peak was put too low."
        for level in device.levels:  # the farthest first
            if level.bytes_per_second and self.intensity * level.bytes_per_second * _PLATEAU > self.flops_per_second:
                memory = f"{level.name}, {si(level.bytes_per_second, 'B/s')}"
                return f"{times}: its arrays fit into a nearer memory ({memory}), or it moves less than a copy does."
        return f"{times}: it moves fewer bytes than were counted."


def explained(points: Iterable[Point], device: Device, precision: str = "fp32") -> list[str]:
    """The sentences of all points above the roof."""
    return [said for point in points if (said := point.above(device, precision))]
