"""Controls that several scenes have: a device, a precision, a bandwidth; and the device's numbers for the browser."""

from __future__ import annotations

import html
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..device import Device, device, devices
from ..errors import MemoryLevelWarning, positive
from ..precision import precision
from ..text import number
from .roofline_marks import beside_slope

#: Slider grids: factors of 2^(1/8) from 1/8 to 8 (bandwidth), of 2^(1/8) from 1/4 to 4 (peak). Sent to the browser as
#: numbers, because powers differ in the last bit between languages.
BANDWIDTH_FACTORS = tuple(2 ** (i / 8) for i in range(-24, 25))
PEAK_FACTORS = tuple(2 ** (i / 8) for i in range(-16, 17))


class DeviceControls:
    """A scene on a device at a precision that it can run.

    A subclass calls `_start_on` when it is made and reset, and may say what else changes in `_changed`.
    """

    #: A precision that a device cannot run is wanted again on the next device.
    keeps_wish = False

    _device: Device
    _precision: str
    _wanted: str

    def _start_on(self, value: str | Device, name: str | None) -> None:
        self._device = self._as_device(value)
        self._precision = self._wanted = first_precision(self._device, name)

    def _as_device(self, value: str | Device) -> Device:
        return as_device(value)

    def _changed(self, what: str) -> None:
        """Do what follows from another "device" or another "precision"."""

    @property
    def device(self) -> Device:
        return self._device

    @device.setter
    def device(self, value: str | Device) -> None:
        self._device = self._as_device(value)
        self._precision = closest_precision(self._device, self._wanted)
        if not self.keeps_wish:
            self._wanted = self._precision
        self._changed("device")

    @property
    def precision(self) -> str:
        return self._precision

    @precision.setter
    def precision(self, value: str) -> None:
        self._device.peak_for(value)
        self._precision = self._wanted = value
        self._changed("precision")

    def _device_tables(self) -> dict[str, Any]:
        """The device's numbers and words, as the browser needs them. Words go into HTML and nowhere else."""
        d, p = self._device, precision(self._precision)
        return {
            "device": html.escape(d.name),
            "dram": html.escape(d.memory_kind),  # what it is in one word: a microcontroller has no DRAM
            "precision": p.name,
            "peak": d.peak_for(p),
            "vector_peak": d.vector_peak,
            "bandwidth": d.bandwidth,
            "launch_seconds": d.launch_seconds,
        }


class RoofControls(DeviceControls):
    """A scene with a roofline: its bandwidth is a slider, and its axes hold every place of it."""

    bandwidth_step: int

    @property
    def bandwidth_factor(self) -> float:
        return BANDWIDTH_FACTORS[self.bandwidth_step]

    @bandwidth_factor.setter
    def bandwidth_factor(self, value: float) -> None:
        self.bandwidth_step = nearest_step("bandwidth_factor", value, BANDWIDTH_FACTORS)

    def _tuned(self, **changes: Any) -> Device:
        """The device with the bandwidth of the slider, and other changes."""
        with warnings.catch_warnings():
            # the slider may well make DRAM faster than a cache: then the cache is the limit, and that is shown
            warnings.simplefilter("ignore", MemoryLevelWarning)
            return self._device.with_(bandwidth=self._device.bandwidth * self.bandwidth_factor, **changes)

    def _roof_tables(self, limits: tuple[list[float], list[float]], clear: float) -> dict[str, Any]:
        """What the roofs, their labels and the energy need of the device.

        clear : the part of the height by which a label clears its line.
        """
        d, (x_limits, y_limits) = self._device, limits
        levels = [[html.escape(name), b] for name, b in d.roofs().items() if name != "DRAM"]
        lift = (y_limits[1] / y_limits[0]) ** clear
        return self._device_tables() | {
            "memory": html.escape(d.memory),
            "levels": levels,
            "joules_per_flop": d.joules_per_flop.get(precision(self._precision).arithmetic),
            "joules_per_dram_byte": d.joules_per_dram_byte,
            "joules_per_on_chip_byte": d.joules_per_on_chip_byte,
            "static_watts": d.static_watts,
            "bandwidth_factors": list(BANDWIDTH_FACTORS),
            "x_limits": x_limits,
            "y_limits": y_limits,
            "lift": lift,  # the factor in y by which a label clears its line
            "beside": beside_slope(levels, lift),
        }


def as_device(value: str | Device) -> Device:
    """A device, or the one with this catalogue id."""
    return value if isinstance(value, Device) else device(value)


def closest_precision(dev: Device, name: str | None) -> str:
    """The wanted precision where a device can run it, else fp32, else the first it can."""
    can = dev.precisions()
    return next(p for p in (name, "fp32", *can) if p in can)


def first_precision(dev: Device, name: str | None) -> str:
    """The precision that was asked for, which the device must be able to run; by default the closest to fp32."""
    if name is not None and name not in dev.precisions():
        dev.peak_for(name)  # says what the device has
    return closest_precision(dev, name)


def device_menu() -> list[tuple[str, str]]:
    """(name, id) of every catalogue device."""
    return [(device(i).name, i) for i in devices()]


def nearest_step(name: str, value: float, grid: Sequence[float]) -> int:
    """The step of a log grid nearest to a factor; a factor far outside is an error that names the ends."""
    value = positive(name, value)
    if not grid[0] / 1.05 <= value <= grid[-1] * 1.05:
        raise ValueError(f"{name} must be between {number(grid[0])} and {number(grid[-1])}, not {value!r}.")
    return int(np.argmin(np.abs(np.log(np.array(grid) / value))))
