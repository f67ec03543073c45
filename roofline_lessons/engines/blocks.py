"""The blocks that the engines are compared on: small graphs, each with one question in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType

from ..builder import GraphBuilder
from ..errors import unknown_name
from ..graph import Graph, Tensor
from ..networks import bottleneck, elementwise_chain


@cache
def block(name: str) -> Graph:
    """One of `BLOCKS`, always the same graph.

    Raises
    ------
    UnknownNameError

    Examples
    --------
    >>> block("conv_bn_relu")
    <Graph conv_bn_relu: 6 operators, 73,984 parameters, 231,211,008 MACs>
    """
    if name not in BLOCKS:
        raise unknown_name("block", name, BLOCKS)
    made = BLOCKS[name]()
    return Graph(name, made.inputs, made.operators, made.outputs)


def _conv_bn_relu() -> Graph:
    """Convolution, batch norm, ReLU, twice: the most common part of an image network."""
    b = GraphBuilder("conv_bn_relu")
    y = b.input("x", (1, 64, 56, 56))
    for _ in range(2):
        y = b.relu(b.batch_norm(b.conv2d(y, 64, 3, padding=1, bias=False)))
    return b.build(outputs=[y])


def _residual() -> Graph:
    """The block of ResNet-18: two convolutions, the input added, then a ReLU."""
    b = GraphBuilder("residual")
    x = b.input("x", (1, 64, 56, 56))
    y = b.relu(b.batch_norm(b.conv2d(x, 64, 3, padding=1, bias=False)))
    y = b.batch_norm(b.conv2d(y, 64, 3, padding=1, bias=False))
    return b.build(outputs=[b.relu(b.add(y, x))])


def _pointwise() -> Graph:
    """Convolutions of one pixel with a ReLU, twice: big tensors, little arithmetic."""
    b = GraphBuilder("pointwise")
    y = b.input("x", (1, 16, 224, 224))
    for _ in range(2):
        y = b.relu(b.conv2d(y, 16, 1))
    return b.build(outputs=[y])


def _convolutions() -> Graph:
    """Convolutions of 3 × 3 pixels with a ReLU, twice: much arithmetic."""
    b = GraphBuilder("convolutions")
    y = b.input("x", (1, 32, 112, 112))
    for _ in range(2):
        y = b.relu(b.conv2d(y, 32, 3, padding=1))
    return b.build(outputs=[y])


def _separable() -> Graph:
    """Depthwise, then pointwise convolution, three times: MobileNet's first version."""
    b = GraphBuilder("separable")
    y = b.input("x", (1, 64, 56, 56))
    for _ in range(3):
        y = b.relu6(b.batch_norm(b.conv2d(y, 64, 3, padding=1, groups=64, bias=False)))
        y = b.relu6(b.batch_norm(b.conv2d(y, 64, 1, bias=False)))
    return b.build(outputs=[y])


def _big_chain() -> Graph:
    """Eight elementwise operators on tensors four times as big as before."""
    return elementwise_chain(elements=1 << 22)


def _add_layer_norm() -> Graph:
    """An addition, then a layer norm: between any two halves of a transformer's layer."""
    b = GraphBuilder("add_layer_norm")
    x, y = b.input("x", (1, 128, 768)), b.input("y", (1, 128, 768))
    return b.build(outputs=[b.layer_norm(b.add(x, y))])


def gelu(b: GraphBuilder, x: Tensor) -> Tensor:
    """GELU from five operators: x / √2, erf, + 1, times x, times ½."""
    root, one, half = (b.weight(value, ()) for value in (repr(math.sqrt(2)), "1.0", "0.5"))
    return b.mul(b.mul(x, b.add(b.erf(b.div(x, root)), one)), half)


def _gelu() -> Graph:
    """GELU from five operators."""
    b = GraphBuilder("gelu")
    return b.build(outputs=[gelu(b, b.input("x", (1, 128, 3072)))])


# -- four spellings of layer norm -------------------------------------------------------------------------------------


def _spelling(write: Callable[[GraphBuilder, Tensor], Tensor]) -> Callable[[], Graph]:
    """A layer norm of 128 rows of 768 numbers."""

    def build() -> Graph:
        b = GraphBuilder("layer_norm")
        return b.build(outputs=[write(b, b.input("x", (1, 128, 768)))])

    build.__doc__ = write.__doc__
    return build


def _mean(b: GraphBuilder, x: Tensor) -> Tensor:
    return b.reduce_mean(x, [-1], keepdims=True)


def _above_zero(b: GraphBuilder, variance: Tensor) -> Tensor:
    return b.add(variance, b.weight("1e-5", ()))


def _gamma_and_beta(b: GraphBuilder) -> tuple[Tensor, Tensor]:
    return b.weight("gamma", (768,)), b.weight("beta", (768,))


def _divided(b: GraphBuilder, centred: Tensor, squares: Tensor) -> Tensor:
    (gamma, beta), root = _gamma_and_beta(b), b.sqrt(_above_zero(b, _mean(b, squares)))
    return b.add(b.mul(b.div(centred, root), gamma), beta)


def _power(b: GraphBuilder, x: Tensor) -> Tensor:
    """(x - mean) / √(mean of (x - mean)² + ε) · γ + β: as PyTorch exports it."""
    centred = b.sub(x, _mean(b, x))
    return _divided(b, centred, b.pow(centred, b.weight("2.0", ())))


def _product(b: GraphBuilder, x: Tensor) -> Tensor:
    """The same, but the square is a product: (x - mean) · (x - mean)."""
    centred = b.sub(x, _mean(b, x))
    return _divided(b, centred, b.mul(centred, centred))


def _scaled(b: GraphBuilder, x: Tensor) -> Tensor:
    """x · s + (β - mean · s), where s = γ / √(variance + ε): as TensorFlow spells it."""
    (gamma, beta), mean = _gamma_and_beta(b), _mean(b, x)
    variance = _mean(b, b.square(b.sub(x, mean)))
    scale = b.mul(b.rsqrt(_above_zero(b, variance)), gamma)
    return b.add(b.mul(x, scale), b.sub(beta, b.mul(mean, scale)))


def _moments(b: GraphBuilder, x: Tensor) -> Tensor:
    """The variance as the mean of x² minus the square of the mean: one pass over x instead of two."""
    (gamma, beta), mean = _gamma_and_beta(b), _mean(b, x)
    variance = b.sub(_mean(b, b.mul(x, x)), b.mul(mean, mean))
    return b.add(b.mul(b.div(b.sub(x, mean), b.sqrt(_above_zero(b, variance))), gamma), beta)


#: The blocks that are one and the same function of x.
SPELLINGS = ("layer_norm_power", "layer_norm_product", "layer_norm_scaled", "layer_norm_moments")

#: Name -> what builds the block.
BLOCKS: Mapping[str, Callable[[], Graph]] = MappingProxyType(
    {
        "conv_bn_relu": _conv_bn_relu,
        "inverted_residual": bottleneck,
        "residual": _residual,
        "pointwise": _pointwise,
        "convolutions": _convolutions,
        "separable": _separable,
        "chain": elementwise_chain,
        "big_chain": _big_chain,
        "gelu": _gelu,
        "add_layer_norm": _add_layer_norm,
        "layer_norm_power": _spelling(_power),
        "layer_norm_product": _spelling(_product),
        "layer_norm_scaled": _spelling(_scaled),
        "layer_norm_moments": _spelling(_moments),
    }
)
