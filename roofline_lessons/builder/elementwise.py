"""Operators that work element by element, with at most one learnt value per channel."""

from __future__ import annotations

from collections.abc import Callable

from ..graph import Tensor
from .base import Base, vector


def _unary(kind: str) -> Callable[..., Tensor]:
    def method(self: Elementwise, x: Tensor, *, name: str | None = None) -> Tensor:
        return self._add(self._name(kind, name), kind, [x])

    method.__name__, method.__doc__ = kind, f"`{kind}` of every element."
    return method


def _binary(kind: str) -> Callable[..., Tensor]:
    def method(self: Elementwise, x: Tensor, y: Tensor, *, name: str | None = None) -> Tensor:
        return self._add(self._name(kind, name), kind, [x, y])

    method.__name__, method.__doc__ = kind, f"`{kind}` of two tensors, element by element; shapes broadcast."
    return method


class Elementwise(Base):
    """Methods that add elementwise operators."""

    relu = _unary("relu")
    relu6 = _unary("relu6")
    leaky_relu = _unary("leaky_relu")
    elu = _unary("elu")
    sigmoid = _unary("sigmoid")
    tanh = _unary("tanh")
    silu = _unary("silu")
    gelu = _unary("gelu")
    hard_sigmoid = _unary("hard_sigmoid")
    hard_swish = _unary("hard_swish")
    exp = _unary("exp")
    sqrt = _unary("sqrt")
    rsqrt = _unary("rsqrt")
    square = _unary("square")
    erf = _unary("erf")
    neg = _unary("neg")
    clip = _unary("clip")
    add = _binary("add")
    sub = _binary("sub")
    mul = _binary("mul")
    div = _binary("div")
    pow = _binary("pow")
    maximum = _binary("maximum")
    minimum = _binary("minimum")

    def bias_add(self, x: Tensor, *, axis: int = 1, name: str | None = None) -> Tensor:
        """Add one learnt value per channel, as an operator of its own."""
        name = self._name("bias_add", name)
        return self._add(name, "bias_add", [x, vector(name, "bias", x, axis)], axis=axis)

    def batch_norm(self, x: Tensor, *, name: str | None = None) -> Tensor:
        """Batch normalisation at inference: trained scale and shift, and stored mean and variance, per channel."""
        name = self._name("batch_norm", name)
        trained = [vector(name, part, x, 1) for part in ("scale", "shift")]
        stored = [vector(name, part, x, 1, "buffer") for part in ("mean", "variance")]
        return self._add(name, "batch_norm", [x, *trained, *stored], axis=1)

    def prelu(self, x: Tensor, *, name: str | None = None) -> Tensor:
        """Leaky ReLU with one learnt slope per channel."""
        name = self._name("prelu", name)
        return self._add(name, "prelu", [x, vector(name, "slope", x, 1)], axis=1)
