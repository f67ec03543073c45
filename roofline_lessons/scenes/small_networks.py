"""Small graphs by the names that the menus of the fusion widgets show: one name for one graph, wherever it is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .. import networks
from ..builder import GraphBuilder
from ..graph import Graph


def residual_block(channels: int = 64, size: int = 56) -> Graph:
    """The second half of a ResNet block: what the ReLU makes is read at once, and again by the addition at the end.

    References
    ----------
    He et al., "Deep residual learning", arXiv 1512.03385, 2015, figure 2.
    """
    b = GraphBuilder("residual_block")
    x = b.relu(b.input("x", (1, channels, size, size)))
    y = b.relu(b.batch_norm(b.conv2d(x, channels, 3, padding=1, bias=False)))
    y = b.batch_norm(b.conv2d(y, channels, 3, padding=1, bias=False))
    return b.build(outputs=[b.relu(b.add(x, y))])


#: Every small graph: the name that a person reads, and its builder. W is a depthwise convolution, D a dense one.
SMALL_NETWORKS: Mapping[str, Callable[[], Graph]] = {
    "MobileNetV2 block": networks.bottleneck,
    "residual block": residual_block,
    "fork": networks.fork,
    "elementwise chain": networks.elementwise_chain,
    "WDWD": lambda: networks.convolution_chain("WDWD"),
    "WWWW": lambda: networks.convolution_chain("WWWW"),
    "DDDD": lambda: networks.convolution_chain("DDDD"),
    "VGG-19 start": networks.vgg_start,
    "attention": networks.attention,
}


def chosen(*names: str) -> Mapping[str, Callable[[], Graph]]:
    """Some of them, in this order: the menu of one widget."""
    return {name: SMALL_NETWORKS[name] for name in names}
