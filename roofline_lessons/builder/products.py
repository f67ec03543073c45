"""Matrix products, of an activation with a weight or with another activation."""

from __future__ import annotations

from ..errors import GraphError, whole
from ..graph import Tensor
from .base import Base, weight_and_bias


class Products(Base):
    """Methods that add matrix products."""

    def dense(
        self, x: Tensor, features: int, *, bias: bool = True, weight: Tensor | None = None, name: str | None = None
    ) -> Tensor:
        """Product of x (..., K) with a weight (features, K): a fully connected layer."""
        name = self._name("dense", name)
        features = whole(f"{name}: features", features)
        weights = weight_and_bias(name, weight, (features, x.shape[-1]), features if bias else None)
        return self._add(name, "dense", [x, *weights])

    def matmul(
        self,
        x: Tensor,
        y: Tensor,
        *,
        transpose_b: bool = False,
        share: int = 1,
        triangle: str | None = None,
        name: str | None = None,
    ) -> Tensor:
        """Batched product of two activations (..., M, K) and (..., K, N), or (..., N, K) with `transpose_b`.

        Parameters
        ----------
        share : int
            So many query heads of x use one head of y (grouped-query attention).
        triangle : str, optional
            Causal attention: "output" makes only what is not above the diagonal (the scores), "input" reads only that
            of x (the scores behind their softmax). The diagonals end in the last row and column.
        """
        name = self._name("matmul", name)
        if triangle not in (None, "input", "output"):
            raise GraphError(f'{name}: triangle must be "input", "output" or None, not {triangle!r}')
        share = whole(f"{name}: share", share)
        return self._add(name, "matmul", [x, y], transpose_b=transpose_b, share=share, triangle=triangle)
