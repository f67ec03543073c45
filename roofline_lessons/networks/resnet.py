"""ResNet-18 and ResNet-50: blocks that add what they learn to what came in."""

from __future__ import annotations

from ..builder import GraphBuilder
from ..errors import unknown_name
from ..graph import Graph, Tensor
from .blocks import classify, conv_bn_act, image_input

#: Channels inside the blocks of each of the four stages (He 2016, table 1).
_WIDTHS = (64, 128, 256, 512)

#: Version of a bottleneck block -> stride of its 1x1 and of its 3x3 convolution in a block that halves the image.
_STRIDES = {"v1.5": (1, 2), "v1": (2, 1)}


def resnet18(batch: int = 1, resolution: int = 224, classes: int = 1000) -> Graph:
    """ResNet-18: two 3x3 convolutions a block.

    Parameters
    ----------
    batch, resolution, classes : int

    Returns
    -------
    Graph
        At the defaults 11,689,512 parameters and 1,814,073,344 MACs.

    References
    ----------
    He et al., "Deep residual learning for image recognition", CVPR 2016, table 1.
    """
    b, x = _stem("resnet18", batch, resolution)
    for stage, width in enumerate(_WIDTHS):
        for i in range(2):
            x = _basic(b, x, width, stride=2 if stage > 0 and i == 0 else 1)
    return classify(b, x, classes)


def resnet50(batch: int = 1, resolution: int = 224, classes: int = 1000, version: str = "v1.5") -> Graph:
    """ResNet-50: narrow 1x1, filter 3x3, widen 1x1.

    Parameters
    ----------
    batch, resolution, classes : int
    version : str
        Where a block that halves the image strides: "v1.5" in its 3x3 (torchvision, MLPerf, most published times),
        "v1" in the 1x1 before it (the paper; 6 % fewer MACs). Figures for the two are often mixed up.

    Returns
    -------
    Graph
        At the defaults 25,557,032 parameters and 4,089,184,256 MACs; v1 has 3,857,973,248 MACs.

    References
    ----------
    He et al., "Deep residual learning for image recognition", CVPR 2016, table 1.
    """
    if version not in _STRIDES:
        raise unknown_name("version", version, _STRIDES)
    b, x = _stem("resnet50", batch, resolution)
    for stage, (width, repeats) in enumerate(zip(_WIDTHS, (3, 4, 6, 3), strict=True)):
        for i in range(repeats):
            x = _bottleneck(b, x, width, _STRIDES[version] if stage > 0 and i == 0 else (1, 1))
    return classify(b, x, classes)


def _stem(name: str, batch: int, resolution: int) -> tuple[GraphBuilder, Tensor]:
    """A 7x7 convolution and a pooling, each halving the image."""
    b, x = image_input(name, batch, resolution)
    x = conv_bn_act(b, x, 64, kernel=7, stride=2, act="relu")
    return b, b.max_pool(x, 3, stride=2, padding=1)


def _basic(b: GraphBuilder, x: Tensor, width: int, stride: int) -> Tensor:
    y = conv_bn_act(b, x, width, kernel=3, stride=stride, act="relu")
    y = conv_bn_act(b, y, width, kernel=3, act=None)
    return b.relu(b.add(y, _shortcut(b, x, width, stride)))


def _bottleneck(b: GraphBuilder, x: Tensor, width: int, strides: tuple[int, int]) -> Tensor:
    y = conv_bn_act(b, x, width, stride=strides[0], act="relu")
    y = conv_bn_act(b, y, width, kernel=3, stride=strides[1], act="relu")
    y = conv_bn_act(b, y, 4 * width, act=None)
    return b.relu(b.add(y, _shortcut(b, x, 4 * width, max(strides))))


def _shortcut(b: GraphBuilder, x: Tensor, channels: int, stride: int) -> Tensor:
    """The input itself, or a 1x1 convolution of it where the block changes its shape."""
    if stride == 1 and x.shape[1] == channels:
        return x
    number = x.name.replace(".out", "")
    return conv_bn_act(b, x, channels, stride=stride, act=None, name=f"shortcut_of_{number}")
