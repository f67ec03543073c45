"""What the networks share: the start, the end, a convolution with what follows it, attention."""

from __future__ import annotations

from ..builder import GraphBuilder
from ..errors import unknown_name, whole
from ..graph import Graph, Tensor

# -- images ------------------------------------------------------------------------------------------------------------


def image_input(name: str, batch: int, resolution: int, at_least: int = 32) -> tuple[GraphBuilder, Tensor]:
    """A builder and its input: square colour images, (batch, 3, resolution, resolution)."""
    b = GraphBuilder(name)
    shape = (whole("batch", batch), 3, whole("resolution", resolution, at_least), resolution)
    return b, b.input("image", shape)


def conv_bn_act(
    b: GraphBuilder,
    x: Tensor,
    channels: int,
    kernel: int | tuple[int, int] = 1,
    stride: int = 1,
    groups: int = 1,
    act: str | None = "relu6",
    *,
    padding: int | str | None = None,
    folded: bool = False,
    name: str | None = None,
) -> Tensor:
    """Convolution, batch norm, activation: three operators, three kernels as long as nothing is fused.

    The convolution has no bias, because the batch norm shifts. `folded`: a converter has moved the batch norm into the
    convolution, which has a bias instead. Odd kernels keep the size of the image, unless `padding` says otherwise.
    """
    if padding is None:
        padding = kernel // 2 if isinstance(kernel, int) else "same"
    y = b.conv2d(x, channels, kernel, stride=stride, padding=padding, groups=groups, bias=folded, name=name)
    if not folded:
        y = b.batch_norm(y)
    return getattr(b, act)(y) if act else y


def separable(
    b: GraphBuilder,
    x: Tensor,
    channels: int,
    stride: int = 1,
    *,
    padding: int | str | None = None,
    folded: bool = False,
) -> Tensor:
    """A convolution in two halves: filter every channel on its own 3x3 (depthwise), then mix the channels 1x1."""
    x = conv_bn_act(b, x, x.shape[1], 3, stride, groups=x.shape[1], act="relu", padding=padding, folded=folded)
    return conv_bn_act(b, x, channels, act="relu", folded=folded)


def squeeze_and_excite(b: GraphBuilder, x: Tensor, squeezed: int) -> Tensor:
    """Scale every channel by a number in 0 to 1 that the means of all channels decide (Hu et al., arXiv 1709.01507)."""
    means = b.global_avg_pool(x)
    hidden = b.silu(b.conv2d(means, squeezed))
    return b.mul(x, b.sigmoid(b.conv2d(hidden, x.shape[1])))


def pool_to(b: GraphBuilder, x: Tensor, size: int) -> Tensor:
    """Average pooling to size x size with windows that are all alike; nothing at all where the image has that size.

    PyTorch's adaptive pooling does the same where `size` divides the image's; elsewhere its windows differ by a row.
    """
    if x.shape[2] == size:
        return x
    stride = x.shape[2] // size
    return b.avg_pool(x, x.shape[2] - (size - 1) * stride, stride=stride)


def classify(b: GraphBuilder, x: Tensor, classes: int, *, softmax: bool = False) -> Graph:
    """The mean of every channel, a fully connected layer to the classes, and the graph is done."""
    if len(x.shape) == 4:
        x = b.flatten(b.global_avg_pool(x))
    y = b.dense(x, whole("classes", classes), name="classifier")
    return b.build(outputs=[b.softmax(y) if softmax else y])


def scaled(channels: int, width: float) -> int:
    """A channel count times a width multiplier."""
    return max(int(channels * width), 1)


def divisible(channels: float) -> int:
    """Rounded to a multiple of 8, never below 90 % of what was asked for (torchvision's `_make_divisible`)."""
    rounded = max(8, int(channels + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels else rounded


# -- transformers ------------------------------------------------------------------------------------------------------

#: Where a language model computes logits.
LOGITS = ("all", "last", "none")


def token_input(name: str, batch: int, sequence: int, context: int = 0) -> tuple[GraphBuilder, Tensor]:
    """A builder and its input: `sequence` new tokens behind `context` older ones, as numbers of 32 bits."""
    b = GraphBuilder(name)
    whole("context", context, at_least=0)
    return b, b.input("ids", (whole("batch", batch), whole("sequence", sequence)), bits=32)


def self_attention(
    b: GraphBuilder,
    x: Tensor,
    layer: str,
    heads: int,
    *,
    kv_heads: int | None = None,
    bias: bool = True,
    angles: Tensor | None = None,
    context: int = 0,
    causal: bool = False,
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Attention of x (batch, sequence, width) to itself and to `context` cached positions before it.

    Returns what the layer adds, and the keys and values of x, which a cache keeps. Splitting into heads and joining
    them moves nothing: the products step over the tensor in strides. The scale 1 / sqrt(head width) is in the query's
    weight. What a causal mask hides is computed all the same, as most code does, unless `causal`.

    Parameters
    ----------
    kv_heads : int, optional
        Grouped-query attention: heads / kv_heads query heads share one head of keys and values.
    angles : Tensor, optional
        Rotary position embedding of queries and keys.
    """
    batch, sequence, width = x.shape
    kv_heads = heads if kv_heads is None else kv_heads
    share, each = heads // kv_heads, width // heads

    def project(what: str, many: int) -> Tensor:
        y = b.dense(x, many * each, bias=bias, name=f"{layer}.{what}")
        return b.transpose(b.reshape(y, (batch, sequence, many, each)), (0, 2, 1, 3), in_place=True)

    query, key, value = project("query", heads), project("key", kv_heads), project("value", kv_heads)
    if angles is not None:
        query = b.rotary(query, angles, name=f"{layer}.rotary_query")
        key = b.rotary(key, angles, name=f"{layer}.rotary_key")
    keys, values = (cached(b, new, f"{layer}.{what}", context) for new, what in ((key, "keys"), (value, "values")))
    made, read = ("output", "input") if causal else (None, None)
    scores = b.matmul(query, keys, transpose_b=True, share=share, triangle=made, name=f"{layer}.scores")
    weights = b.softmax(scores, triangle=causal, name=f"{layer}.softmax")
    mixed = b.matmul(weights, values, share=share, triangle=read, name=f"{layer}.weighted_sum")
    joined = b.reshape(b.transpose(mixed, (0, 2, 1, 3), in_place=True), (batch, sequence, width))
    return b.dense(joined, width, bias=bias, name=f"{layer}.output"), (key, value)


def cached(b: GraphBuilder, new: Tensor, name: str, context: int) -> Tensor:
    """Keys or values (batch, heads, positions, width) of all positions: a cache, behind which the new ones are written.

    The cache is never copied: what makes the new ones writes them to its end.
    """
    if context == 0:
        return new
    batch, heads, _, width = new.shape
    return b.concat([b.input(name, (batch, heads, context, width)), new], axis=2, in_place=True)


def feed_forward(b: GraphBuilder, x: Tensor, layer: str, hidden: int) -> Tensor:
    """Widen, GELU, back to the width."""
    y = b.gelu(b.dense(x, hidden, name=f"{layer}.widen"), name=f"{layer}.gelu")
    return b.dense(y, x.shape[-1], name=f"{layer}.narrow")


def pre_norm_block(
    b: GraphBuilder, x: Tensor, layer: str, heads: int, hidden: int, *, context: int = 0, causal: bool = False
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """A layer of GPT-2 and ViT: x + attention(norm(x)), then x + feed-forward(norm(x))."""
    y = b.layer_norm(x, name=f"{layer}.norm_attention")
    y, kept = self_attention(b, y, layer, heads, context=context, causal=causal)
    x = b.add(x, y, name=f"{layer}.add_attention")
    y = feed_forward(b, b.layer_norm(x, name=f"{layer}.norm_feed_forward"), layer, hidden)
    return b.add(x, y, name=f"{layer}.add_feed_forward"), kept


def make_logits(b: GraphBuilder, x: Tensor, which: str, vocabulary: int, table: Tensor | None = None) -> Tensor:
    """A score for every word of the vocabulary at all positions, at the last one, or x itself ("none").

    `table` is the embedding's weight where the two are one.
    """
    if which not in LOGITS:
        raise unknown_name("logits", which, LOGITS)
    if which == "none":
        return x
    if which == "last":
        x = b.slice(x, x.shape[1] - 1, x.shape[1], axis=1, name="last_position")
    return b.dense(x, vocabulary, bias=False, weight=table, name="logits")


def check_positions(name: str, context: int, sequence: int, most: int) -> None:
    """A table of learnt positions has an end; a `ValueError` says where."""
    if context + sequence > most:
        what = "context and sequence together" if context else "sequence"
        raise ValueError(f"{name} has {most} positions: {what} may be at most {most}, not {context + sequence}.")
