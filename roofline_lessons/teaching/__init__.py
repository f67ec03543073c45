"""Teaching: predict before you see, check your own code, keep what you did, compare fairly, trace a few lines."""

from .checks import Check, check
from .comparison import Comparison, compare
from .exercise import Exercise, Misconception
from .feedback import Idea
from .lesson_map import ProgressMap, progress
from .predictions import Prediction, predict, quiz
from .record import Progress
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
