"""Record what the engines make of the blocks, for those who have not installed them: writes a file of the package.

    python benchmarks/record_engines.py "AMD EPYC (Zen 5), virtual machine with 2 cores"

The name stands for the machine in lesson 12. Run it while nothing else runs.
"""

import sys

from roofline_lessons.engines.recorded_engines import RECORDED, record
from roofline_lessons.measure import Bench

if __name__ == "__main__":
    RECORDED.write_text(record(sys.argv[1], Bench(rounds=30, batch_seconds=1e-3)), encoding="utf-8")
    print(f"wrote {RECORDED}")
