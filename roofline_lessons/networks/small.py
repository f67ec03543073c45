"""Small graphs for the lessons on fusion: each has one thing to see."""

from __future__ import annotations

from ..builder import GraphBuilder
from ..errors import whole
from ..graph import Graph


def elementwise_chain(operators: int = 8, elements: int = 1 << 20) -> Graph:
    """A chain of elementwise operators, alternately ReLU and a scale: one FLOP per element each, so memory decides.

    Parameters
    ----------
    operators, elements : int
    """
    b = GraphBuilder("elementwise_chain")
    x = b.input("x", (whole("elements", elements),))
    scale = b.weight("scale", (1,))
    for i in range(whole("operators", operators)):
        x = b.mul(x, scale) if i % 2 else b.relu(x)
    return b.build(outputs=[x])


def convolution_chain(kinds: str = "WDWD", channels: int = 64, size: int = 56, batch: int = 1) -> Graph:
    """A chain of 3x3 convolutions, "W" depthwise and "D" dense, that keep channels and size, without bias.

    Parameters
    ----------
    kinds : str
        One letter per convolution.
    channels, size, batch : int

    Raises
    ------
    ValueError
        A letter that is neither W nor D, or none at all.
    """
    if not kinds or set(kinds) - {"W", "D"}:
        raise ValueError(f"kinds must be letters W (depthwise) and D (dense), e.g. 'WDWD', not {kinds!r}.")
    b = GraphBuilder(f"convolution_chain_{kinds}")
    x = b.input("x", (whole("batch", batch), whole("channels", channels), whole("size", size), size))
    for i, kind in enumerate(kinds):
        groups, name = (channels, "depthwise") if kind == "W" else (1, "dense")
        x = b.conv2d(x, channels, 3, padding=1, groups=groups, bias=False, name=f"{name}_{i}")
    return b.build(outputs=[x])


def fork(elements: int = 1 << 20) -> Graph:
    """A ReLU that two operators read: y = relu(x), then 2 * y and y + 1. Both are results."""
    b = GraphBuilder("fork")
    y = b.relu(b.input("x", (whole("elements", elements),)))
    double = b.mul(y, b.weight("two", (1,)), name="double")
    return b.build(outputs=[double, b.add(y, b.weight("one", (1,)), name="plus_one")])


def bottleneck(batch: int = 1, channels: int = 24, size: int = 56, expansion: int = 6) -> Graph:
    """One inverted residual block of MobileNetV2: expand 1x1, depthwise 3x3, project 1x1, add the input.

    References
    ----------
    Sandler et al., "MobileNetV2", arXiv 1801.04381, 2018, figure 4. At the defaults the second block of its third
    stage at 224x224.
    """
    b = GraphBuilder("mobilenet_v2_block")
    x = b.input("x", (whole("batch", batch), whole("channels", channels), whole("size", size), size))
    wide = channels * whole("expansion", expansion)
    y = b.relu6(b.batch_norm(b.conv2d(x, wide, bias=False)))
    y = b.relu6(b.batch_norm(b.conv2d(y, wide, 3, padding=1, groups=wide, bias=False)))
    y = b.batch_norm(b.conv2d(y, channels, bias=False))
    return b.build(outputs=[b.add(x, y)])


def vgg_start(size: int = 224) -> Graph:
    """The first five convolutions and two poolings of VGG-19, which Alwani et al. fuse into one kernel.

    References
    ----------
    Alwani et al., "Fused-layer CNN accelerators", MICRO 2016.
    """
    b = GraphBuilder("vgg_start")
    x = b.input("image", (1, 3, whole("size", size, at_least=8), size))
    for stage, (channels, convolutions) in enumerate([(64, 2), (128, 2), (256, 1)], 1):
        if stage > 1:
            x = b.max_pool(x, 2, stride=2, name=f"pool{stage - 1}")
        for i in range(1, convolutions + 1):
            x = b.relu(b.conv2d(x, channels, 3, padding=1, name=f"conv{stage}_{i}"))
    return b.build(outputs=[x])


def attention(
    sequence: int = 2048, heads: int = 32, head_width: int = 128, batch: int = 1, key_sequence: int | None = None
) -> Graph:
    """One attention layer without its projections: scores = Q Kᵀ, softmax, times V. The scale is in Q already.

    Parameters
    ----------
    sequence, heads, head_width, batch : int
    key_sequence : int, optional
        Positions that are attended to; as many as there are queries when not given.

    References
    ----------
    Vaswani et al., "Attention is all you need", arXiv 1706.03762, 2017, equation 1.
    """
    b = GraphBuilder("attention")
    keys = whole("sequence", sequence) if key_sequence is None else whole("key_sequence", key_sequence)
    many = (whole("batch", batch), whole("heads", heads))
    q = b.input("q", (*many, sequence, whole("head_width", head_width)))
    k, v = (b.input(name, (*many, keys, head_width)) for name in "kv")
    scores = b.matmul(q, k, transpose_b=True, name="scores")
    return b.build(outputs=[b.matmul(b.softmax(scores, name="softmax"), v, name="weighted_sum")])
