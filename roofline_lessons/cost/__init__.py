"""Plan + device + precision -> seconds, bytes, joules, and the reason.

The time of a kernel is ``launch + max(arithmetic, bytes / bandwidth)``, the maximum over every memory level whose
bandwidth is known (`kernels.py`); the time of a plan is the sum over its kernels (`estimate.py`). Next to it stands the
time without any overlap of arithmetic and memory, so a learner sees an interval, not a false exactness. A whole plan is
a handful of array operations: no Python loop runs when a slider moves.
"""

from .estimate import Estimate, estimate
from .kernels import KernelEstimate
from .roofline import BALANCED_WITHIN, BOUNDS, attainable, classify

__all__ = ["BALANCED_WITHIN", "BOUNDS", "Estimate", "KernelEstimate", "attainable", "classify", "estimate"]
