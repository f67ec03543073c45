"""Record what `torch.compile` makes of some blocks, for those who have no PyTorch: writes a file of the package.

    python benchmarks/record_torch.py "AMD EPYC (Zen 5), virtual machine with 2 cores"

PyTorch is in no lock of this project: install it yourself (rl.engines.why_missing("torch") says how). The name stands
for the machine in lesson 12. Run it while nothing else runs.
"""

import sys

from roofline_lessons.engines.torch_results import RECORDED, record
from roofline_lessons.measure import Bench

if __name__ == "__main__":
    RECORDED.write_text(record(sys.argv[1], Bench(rounds=30, batch_seconds=5e-3)), encoding="utf-8")
    print(f"wrote {RECORDED}")
