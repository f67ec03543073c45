"""A fair comparison of two estimates: one thing changed, everything else the same."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from ..cost import Estimate
from ..device import Device
from ..errors import unknown_name
from ..text import number, si

#: What may be compared, besides a single field of a device ("bandwidth", "peak", ...).
THINGS = ("network", "plan", "precision", "device")

_LABELS = ("id", "name", "kind", "memory", "notes", "facts")  # words about a device, not properties of it


class UnfairComparisonError(ValueError):
    """More than the named thing differs between two estimates."""


@dataclass(frozen=True)
class Comparison:
    """Two estimates that differ in one named thing.

    Attributes
    ----------
    speedup : float
        Seconds before / seconds after: above 1 is faster.
    bytes_saved : float
        DRAM bytes before - after.
    """

    before: Estimate
    after: Estimate
    changed: str

    @property
    def speedup(self) -> float:
        return self.before.seconds / self.after.seconds

    @property
    def bytes_saved(self) -> float:
        return self.before.dram_bytes - self.after.dram_bytes

    def __repr__(self) -> str:
        b, a = self.before, self.after
        return (
            f"{self.changed} changed, all else equal: {si(b.seconds, 's')} → {si(a.seconds, 's')} "
            f"({number(self.speedup)} times as fast), "
            f"{si(b.dram_bytes, 'B')} → {si(a.dram_bytes, 'B')} of {a.device.memory_kind} traffic, "
            f"intensity {number(b.intensity)} → {number(a.intensity)} FLOP/B"
        )


def compare(before: Estimate, after: Estimate, changed: str) -> Comparison:
    """Compare two estimates that differ in one thing only.

    Parameters
    ----------
    before, after : Estimate
    changed : str
        What is meant to differ: "network", "plan" (what is fused), "precision", "device", or one field of a device,
        e.g. "bandwidth".

    Returns
    -------
    Comparison

    Raises
    ------
    UnknownNameError
        `changed` names nothing that can differ.
    UnfairComparisonError
        Something else differs too (the message names it), or the named thing does not differ at all.

    Examples
    --------
    >>> import roofline_lessons as rl
    >>> plan, pi = rl.unfused(rl.networks.mobilenet_v2()), rl.device("raspberry-pi-5")
    >>> faster = pi.with_(bandwidth=2 * pi.bandwidth)
    >>> compare(rl.estimate(plan, pi), rl.estimate(plan, faster), changed="bandwidth").speedup > 1
    True
    """
    fields = [f.name for f in dataclasses.fields(Device) if f.name not in _LABELS]
    if changed not in THINGS and changed not in fields:
        raise unknown_name("thing to compare", changed, [*THINGS, *fields])
    found = differences(before, after)
    meant = {"network": {"network", "plan"}, "device": set(fields)}.get(changed, {changed})
    culprits = {name: values for name, values in found.items() if name not in meant}
    if culprits:
        listed = "; ".join(f"{name} ({old} → {new})" for name, (old, new) in culprits.items())
        raise UnfairComparisonError(f"not a fair comparison of {changed}: this differs too: {listed}.")
    if not found:
        raise UnfairComparisonError(f"nothing to compare: {changed} is the same before and after.")
    return Comparison(before, after, changed)


def differences(before: Estimate, after: Estimate) -> dict[str, tuple[Any, Any]]:
    """Everything that differs between two estimates: name -> (before, after)."""
    found: dict[str, tuple[Any, Any]] = {}
    if _signature(before) != _signature(after):
        found["network"] = (before.plan.graph.name, after.plan.graph.name)
    if _groups(before) != _groups(after):
        found["plan"] = (f"{len(before.plan)} kernels", f"{len(after.plan)} kernels")
    if before.precision != after.precision:
        found["precision"] = (before.precision.name, after.precision.name)
    for field in dataclasses.fields(Device):
        if field.name in _LABELS:
            continue
        old, new = getattr(before.device, field.name), getattr(after.device, field.name)
        if old != new:
            found[field.name] = (_short(old), _short(new))
    return found


def _signature(est: Estimate) -> list[tuple[Any, ...]]:
    return [(op.kind, tuple(t.shape for t in (*op.inputs, *op.outputs))) for op in est.plan.graph]


def _groups(est: Estimate) -> list[list[str]]:
    return [[op.name for op in kernel.operators] for kernel in est.plan.kernels]


def _short(value: Any) -> str:
    if isinstance(value, float):
        return number(value)
    return str(dict(value)) if hasattr(value, "items") else str(value)
