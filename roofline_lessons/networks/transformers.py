"""ViT-B/16, BERT-base and GPT-2 small: twelve layers of attention and feed-forward, 768 wide, with twelve heads."""

from __future__ import annotations

from ..builder import GraphBuilder
from ..errors import whole, yes_or_no
from ..graph import Graph, Tensor
from .blocks import (
    check_positions,
    feed_forward,
    image_input,
    make_logits,
    pre_norm_block,
    self_attention,
    token_input,
)

_LAYERS, _HEADS, _WIDTH, _HIDDEN = 12, 12, 768, 3072

#: BERT: words, positions, kinds of sentence. GPT-2: words, positions.
_BERT_WORDS, _BERT_POSITIONS, _BERT_KINDS = 30_522, 512, 2
_GPT2_WORDS, _GPT2_POSITIONS = 50_257, 1024

_PATCH = 16


def vit_b16(batch: int = 1, resolution: int = 224, classes: int = 1000) -> Graph:
    """ViT-B/16: a picture as a sentence of patches.

    Parameters
    ----------
    batch, classes : int
    resolution : int
        A multiple of 16, the side of a patch.

    Returns
    -------
    Graph
        At the defaults 86,567,656 parameters and 17,563,828,224 MACs: the patch embedding, every fully connected layer,
        and the two products of attention. Other tools print for the same network 16,848,500,736 (PyTorch's
        FlopCounterMode / 2: the products of attention are missing), 11,271,124,992 (the same on PyTorch's fast path, or
        hooks on modules: the projections are missing, too), 16,867,412,736 (fvcore: no products, but layer norms) and
        173,232,616 (torchinfo: it sees only modules).

    Notes
    -----
    Queries, keys and values are three products here; torchvision makes them with one product of the joined weights:
    the same parameters and MACs.

    References
    ----------
    Dosovitskiy et al., "An image is worth 16x16 words", ICLR 2021.
    """
    b, image = image_input("vit_b16", batch, resolution)
    if resolution % _PATCH:
        raise ValueError(f"resolution must be a multiple of {_PATCH}, the side of a patch, e.g. 224, not {resolution}.")
    patches = b.conv2d(image, _WIDTH, _PATCH, stride=_PATCH, name="patches")
    patches = b.transpose(b.reshape(patches, (batch, _WIDTH, -1)), (0, 2, 1), in_place=True)
    token = b.expand(b.weight("class_token", (1, 1, _WIDTH)), (batch, 1, _WIDTH), name="class_tokens")
    x = b.concat([token, patches], axis=1, name="sentence")
    x = b.add(x, b.weight("positions", (1, x.shape[1], _WIDTH)), name="add_positions")
    for i in range(_LAYERS):
        x, _ = pre_norm_block(b, x, f"layer_{i}", _HEADS, _HIDDEN)
    x = _first_position(b, b.layer_norm(x, name="norm"))
    return b.build(outputs=[b.dense(x, whole("classes", classes), name="classifier")])


def bert_base(batch: int = 1, sequence: int = 128, pooler: bool = True) -> Graph:
    """BERT-base: every word of a text looks at every other.

    Parameters
    ----------
    batch : int
    sequence : int
        Tokens of each text, at most 512.
    pooler : bool
        One more layer on the first token: a second output, (batch, 768), for the whole text.

    Returns
    -------
    Graph
        At the defaults 109,482,240 parameters and 11,174,215,680 MACs: fully connected layers and the two products of
        attention; the embedding is a look-up, not a product.

    References
    ----------
    Devlin et al., "BERT", NAACL 2019.
    """
    b, ids = token_input("bert_base", batch, sequence)
    check_positions("bert_base", 0, sequence, _BERT_POSITIONS)
    x = b.embedding(ids, _BERT_WORDS, _WIDTH, name="words")
    kinds = b.input("kinds", ids.shape, bits=32)
    x = b.add(x, b.embedding(kinds, _BERT_KINDS, _WIDTH, name="kinds_of_sentence"), name="add_kinds")
    x = _add_positions(b, x, _BERT_POSITIONS)
    x = b.layer_norm(x, name="norm_words")
    for i in range(_LAYERS):
        x = _post_norm_block(b, x, f"layer_{i}")
    if not yes_or_no("pooler", pooler):
        return b.build(outputs=[x])
    pooled = b.tanh(b.dense(_first_position(b, x), _WIDTH, name="pooler"))
    return b.build(outputs=[x, pooled])


def gpt2_small(
    batch: int = 1, sequence: int = 1024, context: int = 0, causal: bool = False, logits: str = "all"
) -> Graph:
    """GPT-2 small: continue a text. The weight that embeds the tokens also makes the logits.

    Parameters
    ----------
    batch : int
    sequence : int
        New tokens: a whole prompt (prefill), or 1 (decode).
    context : int
        Tokens before them, whose keys and values are read from a cache. With `sequence` at most 1024.
    causal : bool
        Skip what the causal mask hides; otherwise all of it is computed, as most code and all counters do.
    logits : str
        At "all" new positions, at the "last", or "none".

    Returns
    -------
    Graph
        At the defaults 124,439,808 parameters and 145,824,153,600 MACs (106,300,440,576 without logits): fully
        connected layers and the two products of attention. Outputs: the logits, then keys and values of every layer.

    Notes
    -----
    Queries, keys and values are three products here; the original makes them with one product of the joined weights:
    the same parameters and MACs.

    References
    ----------
    Radford et al., "Language models are unsupervised multitask learners", 2019.
    """
    b, ids = token_input("gpt2_small", batch, sequence, context)
    check_positions("gpt2_small", context, sequence, _GPT2_POSITIONS)
    causal = yes_or_no("causal", causal)
    table = b.weight("tokens.table", (_GPT2_WORDS, _WIDTH))
    x = _add_positions(b, b.gather(table, ids, name="tokens"), _GPT2_POSITIONS)
    kept: list[Tensor] = []
    for i in range(_LAYERS):
        x, pair = pre_norm_block(b, x, f"layer_{i}", _HEADS, _HIDDEN, context=context, causal=causal)
        kept += pair
    y = make_logits(b, b.layer_norm(x, name="norm"), logits, _GPT2_WORDS, table)
    return b.build(outputs=[y, *kept])


def _post_norm_block(b: GraphBuilder, x: Tensor, layer: str) -> Tensor:
    """A layer of BERT: norm(x + attention(x)), then norm(x + feed-forward(x))."""
    y, _ = self_attention(b, x, layer, _HEADS)
    x = b.layer_norm(b.add(x, y, name=f"{layer}.add_attention"), name=f"{layer}.norm_attention")
    y = feed_forward(b, x, layer, _HIDDEN)
    return b.layer_norm(b.add(x, y, name=f"{layer}.add_feed_forward"), name=f"{layer}.norm_feed_forward")


def _add_positions(b: GraphBuilder, x: Tensor, most: int) -> Tensor:
    """Add what was learnt for each position: rows of a table, the same for every text of the batch."""
    numbers = b.input("position_ids", (x.shape[1],), bits=32)
    return b.add(x, b.embedding(numbers, most, _WIDTH, name="positions"), name="add_positions")


def _first_position(b: GraphBuilder, x: Tensor) -> Tensor:
    """The first token of x (batch, tokens, width), as (batch, width)."""
    return b.squeeze(b.slice(x, 0, 1, axis=1, name="first_token"), [1])
