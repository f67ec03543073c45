"""What can go wrong with an engine."""

from __future__ import annotations

from ..errors import GraphError


class EngineError(GraphError):
    """A model that an engine, or what writes models for it, cannot take; the message says what and why."""


class MissingEngineError(ImportError, ValueError):
    """An engine that is not installed; the message says how it is."""
