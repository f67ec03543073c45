"""The menu of devices, which every explorer has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..device import Device, device, devices
from ..scenes.controls import device_menu


def device_options(dev: Device, *more: Device) -> list[tuple[str, Any]]:
    """(name, value) of what there is to choose: a device of one's own first, `more` by their names, the catalogue."""
    known: list[tuple[str, Any]] = [*((d.name, d.name) for d in more), *device_menu()]
    own = dev not in more and (dev.id not in devices() or dev != device(dev.id))
    return [(f"{dev.name} (yours)", dev), *known] if own else known


def device_option(options: Iterable[tuple[str, Any]], dev: Device) -> Any:
    """The value of the option that stands for a device: the device itself, its catalogue id or its name."""
    return next(value for _, value in options if value in (dev, dev.id, dev.name))
