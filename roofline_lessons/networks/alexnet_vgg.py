"""AlexNet and VGG-16: convolutions, poolings and three large fully connected layers, one after the other."""

from __future__ import annotations

from ..builder import GraphBuilder
from ..errors import whole
from ..graph import Graph, Tensor
from .blocks import image_input, pool_to

#: VGG-16: channels and number of the 3x3 convolutions of each stage (Simonyan 2015, table 1, column D).
_VGG16_STAGES = [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]


def alexnet(batch: int = 1, resolution: int = 224, classes: int = 1000) -> Graph:
    """AlexNet as most libraries hold it: the version for one GPU, without local response normalisation.

    Parameters
    ----------
    batch, resolution, classes : int
        Other resolutions than 224 are averaged to the 6 x 6 that the fully connected layers take.

    Returns
    -------
    Graph
        At the defaults 61,100,840 parameters (96 % in the fully connected layers) and 714,188,480 MACs.

    References
    ----------
    Krizhevsky, "One weird trick for parallelizing convolutional neural networks", arXiv 1404.5997, 2014.
    """
    b, x = image_input("alexnet", batch, resolution, at_least=224)
    x = b.relu(b.conv2d(x, 64, 11, stride=4, padding=2))
    x = b.max_pool(x, 3, stride=2)
    x = b.relu(b.conv2d(x, 192, 5, padding=2))
    x = b.max_pool(x, 3, stride=2)
    for channels in (384, 256, 256):
        x = b.relu(b.conv2d(x, channels, 3, padding=1))
    x = b.max_pool(x, 3, stride=2)
    return _three_dense(b, pool_to(b, x, 6), classes)


def vgg16(batch: int = 1, resolution: int = 224, classes: int = 1000) -> Graph:
    """VGG-16 without batch norms.

    Parameters
    ----------
    batch, resolution, classes : int
        Other resolutions than 224 are averaged to the 7 x 7 that the fully connected layers take.

    Returns
    -------
    Graph
        At the defaults 138,357,544 parameters (89 % in the fully connected layers) and 15,470,264,320 MACs.

    References
    ----------
    Simonyan & Zisserman, "Very deep convolutional networks", ICLR 2015, table 1, column D.
    """
    b, x = image_input("vgg16", batch, resolution, at_least=224)
    for channels, repeats in _VGG16_STAGES:
        for _ in range(repeats):
            x = b.relu(b.conv2d(x, channels, 3, padding=1))
        x = b.max_pool(x, 2)
    return _three_dense(b, pool_to(b, x, 7), classes)


def _three_dense(b: GraphBuilder, x: Tensor, classes: int) -> Graph:
    x = b.flatten(x)
    for _ in range(2):
        x = b.relu(b.dense(b.dropout(x), 4096))
    return b.build(outputs=[b.dense(x, whole("classes", classes), name="classifier")])
