"""What kernels move, as arrays: so that an estimate is a handful of array operations, whatever the precision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..graph import Tensor
from ..precision import Precision

#: Storage classes of tensors; the precision gives the bits of each.
WEIGHT, ACTIVATION, FIXED = range(3)


@dataclass(frozen=True)
class Transfer:
    """Elements of one tensor that one kernel moves."""

    tensor: Tensor
    elements: int


@dataclass(frozen=True)
class Moves:
    """Tensor transfers as arrays: row i moves `elements[i]` elements of storage class `storage[i]` for `kernel[i]`.

    `fixed_bits[i]` is the size of an element whose tensor fixes it (storage class FIXED).
    """

    kernel: NDArray[np.intp]
    elements: NDArray[np.float64]
    storage: NDArray[np.intp]
    fixed_bits: NDArray[np.float64]

    def bytes_per_move(self, weight_bits: float, activation_bits: float) -> NDArray[np.float64]:
        """Bytes of each transfer when weights and activations have this many bits. A tensor fills whole bytes."""
        bits = np.array([weight_bits, activation_bits, 0.0])[self.storage] + self.fixed_bits
        return np.ceil(self.elements * bits / 8)

    def bytes_per_kernel(self, kernels: int, weight_bits: float, activation_bits: float) -> NDArray[np.float64]:
        """Bytes of each of so many kernels."""
        moved = self.bytes_per_move(weight_bits, activation_bits)
        total: NDArray[np.float64] = np.bincount(self.kernel, weights=moved, minlength=kernels).astype(float)
        return total


def storage(t: Tensor) -> int:
    """Storage class of a tensor: what decides the bits of its elements."""
    if t.bits is not None:
        return FIXED
    return WEIGHT if t.is_constant and len(t.shape) > 1 else ACTIVATION


def tensor_bytes(t: Tensor, elements: Any, p: Precision) -> Any:
    """Bytes of so many elements (a number or an array) of a tensor. They fill whole bytes."""
    bits = (p.weight_bits, p.activation_bits, t.bits)[storage(t)]
    return np.ceil(elements * bits / 8)


def moves(rows: Sequence[tuple[int, Transfer]]) -> Moves:
    """The transfers of kernels, each with the number of its kernel, as arrays."""
    return Moves(
        kernel=np.array([i for i, _ in rows], dtype=np.intp),
        elements=np.array([m.elements for _, m in rows], dtype=float),
        storage=np.array([storage(m.tensor) for _, m in rows], dtype=np.intp),
        fixed_bits=np.array([m.tensor.bits or 0 for _, m in rows], dtype=float),
    )
