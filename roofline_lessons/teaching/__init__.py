"""Teaching: predict before you see, check your own code, keep what you did, compare fairly, trace a few lines."""

from .checks import Check, Exercise, Misconception, check
from .comparison import Comparison, compare
from .predictions import Idea, Prediction, predict, quiz
from .record import Progress, ProgressMap, progress
from .tracing import Trace, trace

__all__ = [
    "Check",
    "Comparison",
    "Exercise",
    "Idea",
    "Misconception",
    "Prediction",
    "Progress",
    "ProgressMap",
    "Trace",
    "check",
    "compare",
    "predict",
    "progress",
    "quiz",
    "trace",
]
