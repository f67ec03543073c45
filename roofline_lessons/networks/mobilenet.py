"""MobileNetV1 and V2: convolutions split into a depthwise and a 1x1 half, made for phones."""

from __future__ import annotations

from ..builder import GraphBuilder
from ..errors import positive
from ..graph import Graph, Tensor
from .blocks import classify, conv_bn_act, divisible, image_input, scaled, separable

#: MobileNetV1 after the stem: (output channels, stride) of each depthwise-separable block (Howard 2017, table 1).
V1_BLOCKS = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]

#: MobileNetV2: (expansion, output channels, repeats, first stride) of each stage (Sandler 2018, table 2).
_V2_STAGES = [
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
]


def mobilenet_v1(batch: int = 1, resolution: int = 224, width: float = 1.0, classes: int = 1000) -> Graph:
    """MobileNetV1, batch norms and activations as operators of their own.

    Parameters
    ----------
    batch, resolution, classes : int
    width : float
        Multiplies every channel count.

    Returns
    -------
    Graph
        At the defaults 4,231,976 parameters and 568,740,352 MACs.

    References
    ----------
    Howard et al., "MobileNets", arXiv 1704.04861, 2017.
    """
    b, x = image_input("mobilenet_v1", batch, resolution)
    width = positive("width", width)
    x = conv_bn_act(b, x, scaled(32, width), kernel=3, stride=2, act="relu")
    for channels, stride in V1_BLOCKS:
        x = separable(b, x, scaled(channels, width), stride)
    return classify(b, x, classes)


def mobilenet_v2(batch: int = 1, resolution: int = 224, width: float = 1.0, classes: int = 1000) -> Graph:
    """MobileNetV2, batch norms and activations as operators of their own.

    Parameters
    ----------
    batch, resolution, classes : int
    width : float
        Multiplies every channel count, rounded to a multiple of 8.

    Returns
    -------
    Graph
        At the defaults 3,504,872 parameters and 300,774,272 MACs.

    References
    ----------
    Sandler et al., "MobileNetV2", arXiv 1801.04381, 2018, tables 1 and 2.
    """
    b, x = image_input("mobilenet_v2", batch, resolution)
    width = positive("width", width)
    x = conv_bn_act(b, x, divisible(32 * width), kernel=3, stride=2)
    for expansion, channels, repeats, stride in _V2_STAGES:
        for i in range(repeats):
            x = _inverted_residual(b, x, divisible(channels * width), expansion, stride if i == 0 else 1)
    x = conv_bn_act(b, x, divisible(1280 * max(width, 1.0)))
    return classify(b, b.dropout(b.flatten(b.global_avg_pool(x))), classes)


def _inverted_residual(b: GraphBuilder, x: Tensor, channels: int, expansion: int, stride: int) -> Tensor:
    """Expand 1x1, filter depthwise 3x3, project 1x1 without an activation; add the input back where shapes allow."""
    y = x
    if expansion != 1:
        y = conv_bn_act(b, y, x.shape[1] * expansion)
    y = conv_bn_act(b, y, y.shape[1], kernel=3, stride=stride, groups=y.shape[1])
    y = conv_bn_act(b, y, channels, act=None)
    return b.add(x, y) if stride == 1 and x.shape[1] == channels else y
