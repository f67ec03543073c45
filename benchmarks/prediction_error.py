"""How well does the model predict chains of operators on this machine? On sizes that no probe has measured.

    python benchmarks/prediction_error.py           (measures the machine anew; about two minutes)
    python benchmarks/prediction_error.py --quick   (half a minute)

Per engine: the median error of the predicted time with the model's terms switched on one after the other, then, with
all terms, the 90th percentile, the share of points within 20 %, and the same for the speed-up over one NumPy kernel per
operator. The aim, on a quiet machine: median at most 10 % and 85 % of the points within 20 %, for in-place, ping-pong
and Numba chains. The load of the machine is printed beside it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from machine_load import load  # noqa: E402

from roofline_lessons import measure  # noqa: E402
from roofline_lessons.measure.machine import measure as measure_now  # noqa: E402

#: Engines that have an aim, and the aims.
AIMED, MEDIAN, WITHIN, SHARE = ("numpy in place", "numpy ping-pong", "numba"), 0.10, 0.20, 0.85

#: Arrays from 40 kB to 80 MB, at places that are no working set of the probes.
SMALLEST, LARGEST = 1e4, 2e7


def main(quick: bool) -> None:
    machine = measure_now(quick).device()
    m = machine.measurement
    print(f"{m.place.processor}, {m.place.system}, {m.place.versions}")
    print(f"load {load()}, noise of the probes {m.worst_noise:.2f}; {' '.join(m.flags) or 'nothing flagged'}")
    rng = np.random.default_rng(6)
    sizes = np.exp(rng.uniform(np.log(SMALLEST), np.log(LARGEST), 5 if quick else 16)).astype(int)
    depths = (1, 4, 16) if quick else (1, 2, 4, 8, 16)
    chains = measure.chains(depths, sizes.tolist(), machine=machine, bench=measure.Bench(rounds=3 if quick else 7))
    print(f"{len(sizes)} sizes × {len(depths)} depths, load {load()} at the end\n")
    table(chains)
    worst(chains)


def table(chains: Sequence[measure.Chain]) -> None:
    """Errors by engine, and the aim."""
    names = list(measure.TERMS)
    head = ["naive", *(f"+{name}" for name in names), "p90", "≤ 20 %", "speed-up", "p90"]
    print(f"{'median error of the time':24}" + "".join(f"{h:>16}" for h in head))
    for engine in dict.fromkeys(c.run.engine for c in chains):
        own = [c for c in chains if c.run.engine == engine]
        by_term = [np.median(errors([c.run for c in own], names[:n])) for n in range(len(names) + 1)]
        final = errors([c.run for c in own], names)
        speedup = np.array([abs(c.predicted_speedup / c.speedup - 1) for c in own])
        within = float((final <= WITHIN).mean())
        shown = [*by_term, np.percentile(final, 90), within, np.median(speedup), np.percentile(speedup, 90)]
        reached = np.median(final) <= MEDIAN and within >= SHARE
        verdict = "" if engine not in AIMED else "   ✓" if reached else "   ✗ missed"
        print(f"{engine:24}" + "".join(f"{v:>15.0%} " for v in shown) + verdict)


def errors(runs: Sequence[measure.Run], terms: Sequence[str]) -> np.ndarray:
    """|predicted / measured - 1|."""
    return np.array([abs(run.predict(terms) / run.seconds - 1) for run in runs])


def worst(chains: measure.Chains, count: int = 8) -> None:
    """The points that are farthest off, with what may explain them."""
    print("\nfarthest off (band: the prediction if caches were a half smaller or larger; noise: median / fastest)")
    for run in sorted((c.run for c in chains), key=lambda run: -abs(np.log1p(run.error)))[:count]:
        low, high = (seconds / run.seconds - 1 for seconds in run.predicted_band)
        print(f"  {run.error:+5.0%}  band {low:+.0%} to {high:+.0%}, noise {run.timing.noise:.2f}  {run}")


if __name__ == "__main__":
    main("--quick" in sys.argv[1:])
