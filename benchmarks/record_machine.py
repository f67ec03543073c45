"""Measure this machine for those who cannot measure theirs: writes the two recorded files of the package.

    python benchmarks/record_machine.py "AMD EPYC (Zen 5), virtual machine with 2 cores"

The name stands for the machine in the lessons. Run it while nothing else runs; it says how noisy it was.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from roofline_lessons import measure  # noqa: E402
from roofline_lessons.measure.machine import measure as measure_now  # noqa: E402
from roofline_lessons.measure.measurement import to_json  # noqa: E402

DATA = ROOT / "roofline_lessons" / "data"

#: What the lessons time.
DEPTHS, ELEMENTS = (1, 2, 4, 8, 16), (1 << 16, 1 << 24)


def main(name: str) -> None:
    found = measure_now()
    found = dataclasses.replace(found, place=dataclasses.replace(found.place, host="", processor=name))
    (DATA / "recorded_machine.json").write_text(to_json(found) + "\n", encoding="utf-8")
    bench = measure.Bench(rounds=9)
    chains = measure.chains(DEPTHS, ELEMENTS, measure.ENGINES, machine=found.device(), bench=bench)
    rows = [
        {"engine": c.run.engine, "depth": c.run.depth, "elements": c.run.elements, **dataclasses.asdict(c.run.timing)}
        for c in chains
    ]
    lines = ",\n".join(json.dumps(row) for row in rows)
    (DATA / "recorded_chains.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    print(chains)
    print(found.device().notes, f"noise {found.worst_noise:.2f}, load {found.place.load}")


if __name__ == "__main__":
    main(sys.argv[1])
