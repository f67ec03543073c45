"""Matrix products that do not fit the chip: how often the operands are read.

A tile of the result stays on the chip while a column of the one and a row of the other operand stream by, so each
operand is read once for each row, or column, of tiles.

References
----------
Hong, Kung, "I/O complexity: the red-blue pebble game", STOC 1981; Smith et al., "A tight I/O lower bound for matrix
multiplication", arXiv 1702.02017, 2019: of large matrices no schedule moves much less than 2 M N K / √S elements with S
on the chip, and square tiles come close.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..errors import FusionError, positive
from ..graph import Operator
from ..precision import Precision, precision
from .traffic import tensor_bytes


@dataclass(frozen=True)
class ProductTraffic:
    """DRAM bytes of a matrix product.

    compulsory_bytes : each operand read once, the result written once: what `estimate` counts.
    tiled_bytes : with the operands read again as often as the chip's size demands.
    tile : rows and columns of the result that stay on the chip.
    """

    compulsory_bytes: float
    tiled_bytes: float
    tile: tuple[int, int]

    @property
    def times(self) -> float:
        """The tiled over the compulsory traffic."""
        return self.tiled_bytes / self.compulsory_bytes


def product_traffic(op: Operator, on_chip_bytes: float, precision: str | Precision = "fp32") -> ProductTraffic:
    """Compulsory and tiled traffic of a dense layer or a matrix product.

    Parameters
    ----------
    op : Operator
        A "dense" or "matmul".
    on_chip_bytes : float
    precision : str or Precision

    Returns
    -------
    ProductTraffic

    Raises
    ------
    FusionError
        Another kind of operator, or a chip that holds no tile of one result.

    Examples
    --------
    >>> from roofline_lessons import GraphBuilder
    >>> b = GraphBuilder("product")
    >>> graph = b.build(outputs=[b.dense(b.input("x", (1024, 1024)), 1024, bias=False)])
    >>> traffic = product_traffic(graph["dense_0"], (32 * 32 + 2 * 32) * 4)
    >>> traffic.tile, traffic.tiled_bytes == 4 * (2 * 1024**3 // 32 + 1024**2)
    ((32, 32), True)
    """
    if op.kind not in ("dense", "matmul"):
        raise FusionError(f"{op.name} is a {op.kind}; only dense layers and matrix products are tiled this way.")
    p = _precision(precision)
    elements = positive("on_chip_bytes", on_chip_bytes) * 8 / p.activation_bits
    x, y = op.inputs[:2]
    columns = op.output.shape[-1]
    rows = op.output.shape[-2] if op.kind == "matmul" else math.prod(op.output.shape[:-1])
    left, right = (float(tensor_bytes(t, n, p)) for t, n in zip((x, y), op.work.read))
    rest = sum(float(tensor_bytes(t, n, p)) for t, n in zip(op.inputs[2:], op.work.read[2:]))
    rest += float(tensor_bytes(op.output, op.work.written[0], p))
    inner, small = x.shape[-1], min(rows, columns)
    high = np.arange(1, rows + 1)
    wide = np.minimum((elements - high) // (high + 1), columns).astype(int)
    if wide[0] < 1:
        raise FusionError(f"{op.name} needs 3 elements on the chip at least, {elements:g} are there.")
    high, wide = high[wide >= 1], wide[wide >= 1]
    moved = left * np.ceil(columns / wide) + right * np.ceil(rows / high)
    best = int(np.argmin(moved))
    tile, reads = (int(high[best]), int(wide[best])), float(moved[best])
    if inner * small + inner + small <= elements:  # one operand stays on the chip altogether
        tile, reads = (rows, columns), left + right
    compulsory = left + right + rest
    return ProductTraffic(compulsory, reads + rest, tile)


_precision = precision  # the function's parameter of the same name hides the import
