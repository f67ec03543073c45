"""Number formats: how many bits a value takes, and which arithmetic it runs on.

Two things that are easily mixed up are kept apart here. *Storage* (the bits of a weight, the bits of an activation)
decides how many bytes travel. *Arithmetic* decides which peak of the device applies. Weights stored in 4 bits with
16-bit arithmetic ("w4a16") move a quarter of the weight bytes at the 16-bit peak, not at four times the peak.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from .errors import unknown_name, whole

#: Bits of one stored value. "tf32" is an arithmetic of matrix units on values that are stored as fp32.
BITS: Mapping[str, int] = MappingProxyType(
    {"fp64": 64, "fp32": 32, "tf32": 32, "fp16": 16, "bf16": 16, "fp8": 8, "fp4": 4, "int16": 16, "int8": 8, "int4": 4}
)

#: Bits of one scale of a quantisation group (an fp16 number).
SCALE_BITS = 16


@dataclass(frozen=True)
class Precision:
    """Formats of weights, of activations, and of the arithmetic.

    Parameters
    ----------
    weights, activations : str
        Storage formats, keys of `BITS`. One-dimensional parameters (bias, the scale and shift of a norm) are stored
        like activations: quantisers leave them alone because they are few.
    arithmetic : str, optional
        The format whose peak applies; by default that of the activations.
    group_size : int, optional
        Weights that share one 16-bit scale; None when scales are too few to count (one per tensor or channel).
    name : str, optional
        Made from the formats when not given.

    Raises
    ------
    UnknownNameError
        A format that is not in `BITS`.
    ValueError
        A group size below 1.

    Examples
    --------
    >>> Precision(weights="int4", activations="fp16", group_size=128).weight_bits
    4.125
    """

    weights: str
    activations: str
    arithmetic: str = ""
    group_size: int | None = None
    name: str = field(default="")

    def __post_init__(self) -> None:
        if not self.arithmetic:
            object.__setattr__(self, "arithmetic", self.activations)
        for part in (self.weights, self.activations, self.arithmetic):
            if part not in BITS:
                raise unknown_name("number format", part, BITS)
        if self.group_size is not None:
            whole("group_size", self.group_size)
        if not self.name:
            object.__setattr__(self, "name", _name(self))

    @property
    def weight_bits(self) -> float:
        """Bits moved per weight, its share of the group's scale included."""
        shared = SCALE_BITS / self.group_size if self.group_size else 0.0
        return BITS[self.weights] + shared

    @property
    def activation_bits(self) -> int:
        """Bits moved per activation."""
        return BITS[self.activations]

    def __str__(self) -> str:
        return self.name


def _name(p: Precision) -> str:
    if p.weights == p.activations == p.arithmetic:
        return p.weights
    return f"{p.weights} weights, {p.activations} activations, {p.arithmetic} arithmetic"


#: The precisions that have a name. Weight-only formats ("w8a16", "w4a16") keep the 16-bit arithmetic.
NAMED: Mapping[str, Precision] = MappingProxyType(
    {name: Precision(name, name, name=name) for name in BITS}
    | {
        "w8a16": Precision("int8", "fp16", name="w8a16"),
        "w4a16": Precision("int4", "fp16", group_size=128, name="w4a16"),
    }
)


def precision(name: str | Precision) -> Precision:
    """The `Precision` with this name; a `Precision` is returned as it is.

    Raises
    ------
    UnknownNameError
        A name that is not in `NAMED`; the message lists what is.
    """
    if isinstance(name, Precision):
        return name
    if not isinstance(name, str) or name not in NAMED:
        raise unknown_name("precision", name, NAMED)
    return NAMED[name]
