"""What can go wrong when a machine is measured."""

from __future__ import annotations


class MeasureError(ValueError):
    """Something that cannot be measured here; the message says why, and what would help."""


class OutdatedError(MeasureError):
    """A measurement by an older version of this package, which measured something else."""


class MeasureWarning(UserWarning):
    """A measurement that was put aside, not kept, or replaced by a recorded one."""
