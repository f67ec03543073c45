"""How well is it predicted what merging saves the real engines? For every block, in a bracket, term by term.

    python benchmarks/engine_savings.py              (measures the machine and runs the engines; about two minutes)
    python benchmarks/engine_savings.py --recorded   (what was recorded with benchmarks/record_engines.py)

Per block and way of running it: measured seconds with nothing merged and merged, what was saved and by how much models
made anew differ, the bracket, and the speed-up measured and predicted. Below, without those that are too noisy to tell
("?"): how many savings lie in their bracket, how many in it give or take that difference, how many speed-ups are within
10 % of their bracket; all with the terms switched on one after the other. The aim (references/engines.md): 16 of 20
savings, and every speed-up.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from machine_load import load  # noqa: E402

from roofline_lessons import measure  # noqa: E402
from roofline_lessons.engines import BLOCKS, Saved  # noqa: E402
from roofline_lessons.engines.block_results import best_of  # noqa: E402
from roofline_lessons.engines.catalogue import WAYS  # noqa: E402
from roofline_lessons.engines.compared_savings import WITHIN, saved_by  # noqa: E402
from roofline_lessons.engines.predicted_savings import signed  # noqa: E402
from roofline_lessons.engines.recorded_engines import recorded  # noqa: E402
from roofline_lessons.measure.machine import measure as measure_now  # noqa: E402


def main(of_the_recording: bool) -> None:
    machine = measure.recorded() if of_the_recording else measure_now().device()
    print(f"{machine.name}, load {load()}; {' '.join(machine.notes) or 'nothing flagged'}\n")
    rows = []
    for name in BLOCKS:
        for engine in dict.fromkeys(way.engine for way in WAYS.values()):
            if of_the_recording:
                result = recorded(engine, name)
            else:
                result = best_of(engine, name, measure.Bench(rounds=30, batch_seconds=1e-3), models=4)
            ways = [way for way in WAYS if WAYS[way].engine == engine]
            rows += [saved for way in ways if (saved := saved_by(result, way, machine))]
    table(rows)
    verdicts(rows)


def table(rows: Sequence[Saved]) -> None:
    """A line for each saving."""
    head = f"{'block':18}{'engine':25}{'apart':>9}{'merged':>9}{'saved':>9}{'±':>8}  {'predicted':24}"
    print(f"{head}{'times':>6}  predicted")
    for r in rows:
        inside = "in" if r.predicted.holds(r.seconds) else "in ±" if r.in_bracket else "—"
        verdict = "?" if r.too_noisy else inside
        bracket = str(r.predicted)
        low, high = r.predicted_times_as_fast
        print(
            f"{r.block:18}{r.way.title:25}{signed(r.before_seconds):>9}{signed(r.after_seconds):>9}{signed(r.seconds):>9}"
            f"{signed(r.spread_seconds):>8}  {bracket:18}{verdict:6}{r.times_as_fast:>6.2f}  {low:.2f} … {high:.2f}"
            f"{'' if r.speedup_error <= WITHIN else '   ✗'}"
        )


def verdicts(rows: Sequence[Saved]) -> None:
    """How many savings are in their brackets, with each term."""
    rows = [r for r in rows if not r.too_noisy]
    print(
        f"\n{len(rows)} savings{'in the bracket':>34}{'or ± spread':>14}{'speed-up ≤ 10 %':>18}{'median high/low':>18}"
    )
    for term in rows[0].by_term:
        brackets = [r.by_term[term] for r in rows]
        strictly = sum(b.holds(r.seconds) for b, r in zip(brackets, rows))
        nearly = sum(b.holds(r.seconds, r.spread_seconds) for b, r in zip(brackets, rows))
        errors = [_speedup_error(r, b.times_as_fast(r.after_seconds)) for b, r in zip(brackets, rows)]
        widths = sorted(b.high / b.low for b in brackets if b.low > 0)
        width = f"{widths[len(widths) // 2]:.1f}" if widths else "–"
        near = sum(e <= WITHIN for e in errors)
        print(f"  {term:30}{strictly:>12}{nearly:>14}{near:>18}{width:>18}")


def _speedup_error(row: Saved, bracket: tuple[float, float]) -> float:
    low, high = bracket
    return max(low / row.times_as_fast - 1, row.times_as_fast / high - 1, 0.0)


if __name__ == "__main__":
    main("--recorded" in sys.argv[1:])
