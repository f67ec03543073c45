"""`GraphBuilder`: write a network as a few calls; shapes, weights, names and costs follow."""

from __future__ import annotations

from .elementwise import Elementwise
from .movement import Movement
from .products import Products
from .reductions import Reductions
from .windows import Windows

__all__ = ["GraphBuilder"]


class GraphBuilder(Windows, Products, Elementwise, Reductions, Movement):
    """Builds a `Graph`, operator by operator. Images are (batch, channels, height, width).

    Every method that adds an operator returns its output tensor and takes ``name=`` to override the name made from
    the kind and a counter ("conv_0", "relu_3"). Weights are made on the way; pass ``weight=`` a tensor from
    `weight` to share one.

    Examples
    --------
    >>> b = GraphBuilder("block")
    >>> x = b.input("x", (1, 64, 56, 56))
    >>> y = b.relu(b.batch_norm(b.conv2d(x, 64, kernel=3, padding=1, bias=False)))
    >>> b.build(outputs=[y])
    <Graph block: 3 operators, 36,992 parameters, 115,605,504 MACs>
    """
