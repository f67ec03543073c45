"""EfficientNet-B0: MobileNetV2's blocks with larger windows and with squeeze-and-excite."""

from __future__ import annotations

from ..builder import GraphBuilder
from ..graph import Graph, Tensor
from .blocks import classify, conv_bn_act, image_input, squeeze_and_excite

#: (expansion, kernel, first stride, output channels, repeats) of each stage (Tan & Le 2019, table 1).
_B0_STAGES = [
    (1, 3, 1, 16, 1),
    (6, 3, 2, 24, 2),
    (6, 5, 2, 40, 2),
    (6, 3, 2, 80, 3),
    (6, 5, 1, 112, 3),
    (6, 5, 2, 192, 4),
    (6, 3, 1, 320, 1),
]


def efficientnet_b0(batch: int = 1, resolution: int = 224, classes: int = 1000) -> Graph:
    """EfficientNet-B0: few MACs, but many operators that move much for the little they compute.

    Parameters
    ----------
    batch, resolution, classes : int

    Returns
    -------
    Graph
        At the defaults 5,288,548 parameters and 385,814,752 MACs.

    References
    ----------
    Tan & Le, "EfficientNet", ICML 2019, table 1.
    """
    b, x = image_input("efficientnet_b0", batch, resolution)
    x = conv_bn_act(b, x, 32, kernel=3, stride=2, act="silu")
    for expansion, kernel, stride, channels, repeats in _B0_STAGES:
        for i in range(repeats):
            x = _block(b, x, channels, expansion, kernel, stride if i == 0 else 1)
    x = conv_bn_act(b, x, 1280, act="silu")
    return classify(b, b.dropout(b.flatten(b.global_avg_pool(x))), classes)


def _block(b: GraphBuilder, x: Tensor, channels: int, expansion: int, kernel: int, stride: int) -> Tensor:
    """Expand 1x1, filter depthwise, scale the channels, project 1x1; add the input back where shapes allow."""
    y = x
    if expansion != 1:
        y = conv_bn_act(b, y, x.shape[1] * expansion, act="silu")
    y = conv_bn_act(b, y, y.shape[1], kernel=kernel, stride=stride, groups=y.shape[1], act="silu")
    y = squeeze_and_excite(b, y, x.shape[1] // 4)
    y = conv_bn_act(b, y, channels, act=None)
    return b.add(x, y) if stride == 1 and x.shape[1] == channels else y
