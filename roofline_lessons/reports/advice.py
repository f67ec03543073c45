"""What would help, and by how much: one thing changed at a time, and sentences that follow from the numbers."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..cost import Estimate, estimate
from ..errors import MemoryLevelWarning
from ..precision import NAMED, Precision
from ..text import number, percent, si

if TYPE_CHECKING:
    from .content import Report

#: Less than so many times as fast is not worth a sentence.
_WORTH = 1.05

_WAITS = {
    "memory": "wait for memory",
    "compute": "are busy with arithmetic",
    "launch": "take longer to start than to run",
    "balanced": "are as busy with arithmetic as with memory",
}


@dataclass(frozen=True)
class Change:
    """One thing that is different, all else equal.

    what : in words.
    how : the same after "it would be faster".
    kind : "fusion", "precision" or "device".
    seconds : of one run then.
    times_as_fast : as the model as it stands.
    """

    what: str
    how: str
    kind: str
    seconds: float
    times_as_fast: float


def changes(r: Report) -> tuple[Change, ...]:
    """Each change of a report: the fusion of an engine, the best fusion, fewer bits, twice the bandwidth, the peak."""
    stands = r.as_it_stands
    found: list[tuple[str, str, str, Estimate]] = []
    if r.rules in r.estimates:
        words = f"fused by the rules of {r.rules}"
        found.append((words, words, "fusion", r.estimates[r.rules]))
    found.append(("the best legal fusion", "with the best legal fusion", "fusion", r.best))
    if narrow := _narrower(stands):
        words = f"{narrow.precision} instead of {stands.precision}"
        found.append((words, f"with {words}", "precision", narrow))
    found += [(what, f"with {what}", "device", e) for what, e in _devices(stands).items()]
    return tuple(Change(what, how, kind, e.seconds, _times(stands.seconds, e.seconds)) for what, how, kind, e in found)


def advice(r: Report) -> tuple[str, ...]:
    """Two or three sentences: what limits, what would help most, and what to keep in mind."""
    return tuple(s for s in (_limit(r), _software(r), _unknown(r) or _hardware(r)) if s)


def _limit(r: Report) -> str:
    est = r.as_it_stands
    share = est.seconds_by_bound[est.bound] / est.seconds if est.seconds else 1.0
    whose = f"{percent(share)} of it goes to kernels that {_WAITS[est.bound]}"
    return f"One run takes at least {si(est.seconds, 's')}; {whose}."


def _software(r: Report) -> str:
    """What helps without another device: the fusions, and fewer bits per number."""
    worth = [c for c in r.changes if c.kind != "device" and c.times_as_fast >= _WORTH]
    if not worth:
        return "Neither fusion nor fewer bits per number would make it noticeably faster."
    ranked = sorted(worth, key=lambda c: -c.times_as_fast)
    ways = [f"{number(c.times_as_fast, 2)} times as fast {c.how}" for c in ranked[:1]]
    ways += [f"{number(c.times_as_fast, 2)} times {c.how}" for c in ranked[1:]]
    return f"It would be {', '.join(ways)}."


def _hardware(r: Report) -> str:
    bandwidth, peak = [c for c in r.changes if c.kind == "device"]
    return (
        f"Twice the bandwidth would make it {number(bandwidth.times_as_fast, 2)} times as fast, "
        f"twice the peak {number(peak.times_as_fast, 2)} times."
    )


def _unknown(r: Report) -> str:
    share = r.as_it_stands.unknown_bytes_share
    if not share:
        return ""
    return (
        f"{percent(share)} of the bytes are moved by operators whose FLOPs are not known, "
        "so times and FLOPs are at least what is said."
    )


def _narrower(est: Estimate) -> Estimate | None:
    """The same plan with fewer bits per number: the fastest that the device can run."""
    now = est.precision
    fewer = [p for p in map(NAMED.__getitem__, est.device.precisions()) if _fewer_bits(p, now)]
    tried = [estimate(est.plan, est.device, p) for p in fewer]
    return min(tried, key=lambda e: e.seconds, default=None)


def _fewer_bits(p: Precision, now: Precision) -> bool:
    bits, before = (p.weight_bits, p.activation_bits), (now.weight_bits, now.activation_bits)
    return bits != before and all(a <= b for a, b in zip(bits, before, strict=True))


def _devices(est: Estimate) -> dict[str, Estimate]:
    """Twice the bandwidth of the main memory, and twice the rate of all arithmetic."""
    d = est.device
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MemoryLevelWarning)  # it may become faster than a cache; that limits then
        faster = {
            "twice the bandwidth": d.with_(bandwidth=2 * d.bandwidth),
            "twice the peak": d.with_(
                peak={name: 2 * peak for name, peak in d.peak.items()},
                vector_peak=None if d.vector_peak is None else 2 * d.vector_peak,
            ),
        }
    return {what: estimate(est.plan, dev, est.precision) for what, dev in faster.items()}


def _times(before: float, after: float) -> float:
    return before / after if after else 1.0
