"""This machine's own roofline, and chains of operators timed on it beside what the model predicts."""

from __future__ import annotations

from .chain_engines import ENGINES, available
from .chain_results import Chain, Chains, Run
from .cpu_model import TERMS, chain_band, chain_bytes, chain_seconds, term_by_term
from .errors import MeasureError, MeasureWarning
from .machine import this_machine
from .measurement import Machine, Measurement, Place
from .points import Point, explained
from .protocol import Bench, Timing
from .recording import recorded
from .timed_chains import chain, chains, recorded_chains

__all__ = [
    "ENGINES",
    "TERMS",
    "Bench",
    "Chain",
    "Chains",
    "Machine",
    "MeasureError",
    "MeasureWarning",
    "Measurement",
    "Place",
    "Point",
    "Run",
    "Timing",
    "available",
    "chain",
    "chain_band",
    "chain_bytes",
    "chain_seconds",
    "chains",
    "explained",
    "recorded",
    "recorded_chains",
    "term_by_term",
    "this_machine",
]
