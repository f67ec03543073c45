"""Operators in which one value depends on many along an axis: softmax, norms, sums, means, maxima."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..graph import Tensor
from .base import Base, vector


def _reduce(kind: str, what: str) -> Callable[..., Tensor]:
    def method(
        self: Reductions, x: Tensor, axes: Sequence[int], *, keepdims: bool = False, name: str | None = None
    ) -> Tensor:
        return self._add(self._name(kind, name), kind, [x], axes=tuple(axes), keepdims=keepdims)

    method.__name__, method.__doc__ = kind, f"{what} over some axes, which `keepdims` leaves at length 1."
    return method


class Reductions(Base):
    """Methods that add norms and reductions."""

    def softmax(self, x: Tensor, *, axis: int = -1, triangle: bool = False, name: str | None = None) -> Tensor:
        """Softmax along an axis. `triangle`: of causal scores, whose part above the diagonal is hidden."""
        return self._add(self._name("softmax", name), "softmax", [x], axis=axis, triangle=triangle)

    def layer_norm(self, x: Tensor, *, name: str | None = None) -> Tensor:
        """Normalise over the last axis, then trained scale (gamma) and shift (beta)."""
        name = self._name("layer_norm", name)
        trained = [vector(name, part, x, -1) for part in ("gamma", "beta")]
        return self._add(name, "layer_norm", [x, *trained], axis=-1)

    def rms_norm(self, x: Tensor, *, name: str | None = None) -> Tensor:
        """Divide by the root mean square of the last axis, then a trained scale (gamma)."""
        name = self._name("rms_norm", name)
        return self._add(name, "rms_norm", [x, vector(name, "gamma", x, -1)], axis=-1)

    reduce_sum = _reduce("reduce_sum", "Sum")
    reduce_mean = _reduce("reduce_mean", "Mean")
    reduce_max = _reduce("reduce_max", "Largest value")
