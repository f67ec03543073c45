"""FSRCNN: a small picture to a large one. No pooling, no stride: large tensors between small convolutions."""

from __future__ import annotations

from ..builder import GraphBuilder
from ..errors import unknown_name, whole, yes_or_no
from ..graph import Graph

#: (channels, kernel) of every convolution before the last: find features, shrink, map four times, expand.
_LAYERS = [(56, 5), (12, 1), *[(12, 3)] * 4, (56, 1)]

_LAST = ("sub-pixel", "transposed")


def fsrcnn(
    batch: int = 1,
    height: int = 540,
    width: int = 960,
    scale: int = 4,
    last: str = "sub-pixel",
    padding: bool = False,
) -> Graph:
    """FSRCNN (56, 12, 4): super-resolution of one channel, the brightness.

    Parameters
    ----------
    batch : int
    height, width : int
        The small picture. Without padding every window eats a border, so the input is larger (by 14 pixels each way).
    scale : int
        The large picture has so many times more pixels along each axis.
    last : str
        "sub-pixel": a 3x3 convolution makes scale x scale pixels as channels. "transposed": the paper's transposed 9x9.
    padding : bool
        Zeros around every tensor instead of a larger input.

    Returns
    -------
    Graph
        At the defaults 8,362,594,208 MACs and 15,992 weights: what the DeFiNES study of depth-first fusion runs. It
        leaves out biases and slopes; with them there are 16,352 parameters.

    References
    ----------
    Dong et al., "Accelerating the super-resolution convolutional neural network", ECCV 2016.
    Mei et al., "DeFiNES", HPCA 2023, workload FSRCNN.
    """
    if last not in _LAST:
        raise unknown_name("last layer", last, _LAST)
    scale, padding = whole("scale", scale), yes_or_no("padding", padding)
    kernels = [kernel for _, kernel in _LAYERS] + [3] * (last == "sub-pixel")
    border = 0 if padding else sum(kernel - 1 for kernel in kernels)
    b = GraphBuilder("fsrcnn")
    size = (whole("height", height) + border, whole("width", width) + border)
    x = b.input("brightness", (whole("batch", batch), 1, *size))
    for channels, kernel in _LAYERS:
        x = b.prelu(b.conv2d(x, channels, kernel, padding=kernel // 2 if padding else 0))
    if last == "sub-pixel":
        return b.build(outputs=[b.conv2d(x, scale**2, 3, padding=1 if padding else 0)])
    y = b.conv_transpose2d(x, 1, 9, stride=scale, padding=4, output_padding=scale - 1)
    return b.build(outputs=[y])
