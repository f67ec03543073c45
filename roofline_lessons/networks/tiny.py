"""The four networks of MLPerf Tiny, made for microcontrollers.

By default as in the files that are deployed: a converter has moved the batch norms into the weights (`folded`).
``folded=False`` gives them back as operators of their own, as trained.

References
----------
Banbury et al., "MLPerf Tiny benchmark", NeurIPS 2021 (datasets and benchmarks); counts from the files of
github.com/mlcommons/tiny.
"""

from __future__ import annotations

from ..builder import GraphBuilder
from ..errors import positive, whole, yes_or_no
from ..graph import Graph, Tensor
from .blocks import classify, conv_bn_act, image_input, scaled, separable
from .mobilenet import V1_BLOCKS


def ds_cnn(
    batch: int = 1, frames: int = 49, features: int = 10, width: int = 64, classes: int = 12, folded: bool = True
) -> Graph:
    """DS-CNN, keyword spotting: one second of speech to one of twelve words.

    Parameters
    ----------
    batch, classes : int
    frames, features : int
        The input: so many moments, so many cepstral coefficients (MFCC) of each.
    width : int
        Channels of every layer.
    folded : bool
        Batch norms are in the weights.

    Returns
    -------
    Graph
        At the defaults 22,604 parameters and 2,656,768 MACs.

    References
    ----------
    Zhang et al., "Hello edge: keyword spotting on microcontrollers", arXiv 1711.07128, 2017.
    """
    b, folded = GraphBuilder("ds_cnn"), yes_or_no("folded", folded)
    shape = (whole("batch", batch), 1, whole("frames", frames), whole("features", features))
    x = b.input("speech", shape)
    x = conv_bn_act(b, x, whole("width", width), (10, 4), stride=2, act="relu", padding="same", folded=folded)
    for _ in range(4):
        x = separable(b, x, width, folded=folded)
    return classify(b, x, classes, softmax=True)


def visual_wake_words(
    batch: int = 1, resolution: int = 96, width: float = 0.25, classes: int = 2, folded: bool = True
) -> Graph:
    """Visual wake words: is there a person in the picture? MobileNetV1 with a quarter of the channels.

    Parameters
    ----------
    batch, resolution, classes : int
    width : float
        Multiplies every channel count of MobileNetV1.
    folded : bool
        Batch norms are in the weights.

    Returns
    -------
    Graph
        At the defaults 210,850 parameters and 7,489,664 MACs.

    References
    ----------
    Chowdhery et al., "Visual wake words dataset", arXiv 1906.05721, 2019.
    """
    b, x = image_input("visual_wake_words", batch, resolution)
    width, folded = positive("width", width), yes_or_no("folded", folded)
    x = conv_bn_act(b, x, scaled(32, width), 3, stride=2, act="relu", padding="same", folded=folded)
    for channels, stride in V1_BLOCKS:
        x = separable(b, x, scaled(channels, width), stride, padding="same", folded=folded)
    return classify(b, x, classes, softmax=True)


def resnet8(batch: int = 1, resolution: int = 32, classes: int = 10, folded: bool = True) -> Graph:
    """ResNet-8: a picture of 32 x 32 to one of ten classes (CIFAR-10).

    Parameters
    ----------
    batch, resolution, classes : int
    folded : bool
        Batch norms are in the weights. The 1x1 convolutions beside a block never had one.

    Returns
    -------
    Graph
        At the defaults 77,706 parameters and 12,501,632 MACs.

    References
    ----------
    He et al., "Deep residual learning for image recognition", CVPR 2016, section 4.2, with three blocks.
    """
    b, x = image_input("resnet8", batch, resolution, at_least=8)
    folded = yes_or_no("folded", folded)
    x = conv_bn_act(b, x, 16, 3, act="relu", padding="same", folded=folded)
    for channels, stride in ((16, 1), (32, 2), (64, 2)):
        x = _residual(b, x, channels, stride, folded)
    return classify(b, x, classes, softmax=True)


def _residual(b: GraphBuilder, x: Tensor, channels: int, stride: int, folded: bool) -> Tensor:
    y = conv_bn_act(b, x, channels, 3, stride, act="relu", padding="same", folded=folded)
    y = conv_bn_act(b, y, channels, 3, act=None, padding="same", folded=folded)
    if stride > 1:
        x = b.conv2d(x, channels, 1, stride=stride, padding="same")
    return b.relu(b.add(x, y))


def fc_autoencoder(
    batch: int = 1, features: int = 640, width: int = 128, bottleneck: int = 8, folded: bool = True
) -> Graph:
    """Fully connected auto-encoder, anomaly detection: a machine that sounds strange comes back unlike it went in.

    Every weight is used once for each input: at batch 1 it cannot be anything but memory-bound.

    Parameters
    ----------
    batch : int
    features : int
        The input and the output: 5 moments of 128 frequency bands.
    width, bottleneck : int
        Features of the hidden layers, and of the narrow one in the middle.
    folded : bool
        Batch norms are in the weights.

    Returns
    -------
    Graph
        At the defaults 265,864 parameters and 264,192 MACs.
    """
    b, folded = GraphBuilder("fc_autoencoder"), yes_or_no("folded", folded)
    x = b.input("sound", (whole("batch", batch), whole("features", features)))
    width, bottleneck = whole("width", width), whole("bottleneck", bottleneck)
    for units in (*[width] * 4, bottleneck, *[width] * 4):
        y = b.dense(x, units, bias=folded)
        x = b.relu(y if folded else b.batch_norm(y))
    return b.build(outputs=[b.dense(x, features, name="reconstruction")])
