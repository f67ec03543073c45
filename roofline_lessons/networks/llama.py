"""Llama-2-7B and Llama-3-8B: reading a prompt (prefill) and writing on, token by token (decode)."""

from __future__ import annotations

from dataclasses import dataclass

from ..builder import GraphBuilder
from ..errors import whole, yes_or_no
from ..graph import Graph, Tensor
from .blocks import make_logits, self_attention, token_input


@dataclass(frozen=True)
class _Sizes:
    """What differs between the models of the family."""

    name: str
    vocabulary: int
    kv_heads: int
    hidden: int
    width: int = 4096
    heads: int = 32


def llama2_7b(
    batch: int = 1,
    sequence: int = 2048,
    context: int = 0,
    causal: bool = False,
    logits: str = "all",
    layers: int = 32,
) -> Graph:
    """Llama-2-7B.

    Prefill: ``sequence`` tokens of a prompt at once. Decode: ``sequence=1, context=2047`` reads all weights, and 2047
    cached keys and values per layer, for a single token.

    Parameters
    ----------
    batch : int
    sequence : int
        New tokens.
    context : int
        Tokens before them, whose keys and values are read from a cache. (The model is trained for 4096 in all.)
    causal : bool
        Skip what the causal mask hides; otherwise all of it is computed, as most code and all counters do.
    logits : str
        At "all" new positions, at the "last", or "none".
    layers : int
        Fewer than the 32 show one layer at a readable size.

    Returns
    -------
    Graph
        6,738,415,616 parameters; at the defaults 14,630,806,093,824 MACs: fully connected layers and the two products
        of attention. Outputs: the logits, then keys and values of every layer.

    References
    ----------
    Touvron et al., "Llama 2", arXiv 2307.09288, 2023.
    """
    return _llama(_Sizes("llama2_7b", 32_000, 32, 11_008), batch, sequence, context, causal, logits, layers)


def llama3_8b(
    batch: int = 1,
    sequence: int = 2048,
    context: int = 0,
    causal: bool = False,
    logits: str = "all",
    layers: int = 32,
) -> Graph:
    """Llama-3-8B: as Llama-2-7B, with more words and with grouped-query attention.

    Four query heads share one head of keys and values: a quarter of the cache, at the same MACs.

    Parameters
    ----------
    batch, sequence, context, causal, logits, layers
        As for `llama2_7b`. (The model is trained for 8192 positions.)

    Returns
    -------
    Graph
        8,030,261,248 parameters.

    References
    ----------
    Grattafiori et al., "The Llama 3 herd of models", arXiv 2407.21783, 2024, table 3.
    Ainslie et al., "GQA", arXiv 2305.13245, 2023.
    """
    return _llama(_Sizes("llama3_8b", 128_256, 8, 14_336), batch, sequence, context, causal, logits, layers)


def _llama(s: _Sizes, batch: int, sequence: int, context: int, causal: bool, logits: str, layers: int) -> Graph:
    b, ids = token_input(s.name, batch, sequence, context)
    causal = yes_or_no("causal", causal)
    # the cosines and sines of the new positions, made once for all layers
    angles = b.input("angles", (sequence, s.width // s.heads))
    x = b.embedding(ids, s.vocabulary, s.width, name="tokens")
    kept: list[Tensor] = []
    for i in range(whole("layers", layers)):
        layer = f"layer_{i}"
        y = b.rms_norm(x, name=f"{layer}.norm_attention")
        y, pair = self_attention(
            b, y, layer, s.heads, kv_heads=s.kv_heads, bias=False, angles=angles, context=context, causal=causal
        )
        kept += pair
        x = b.add(x, y, name=f"{layer}.add_attention")
        y = _gated_feed_forward(b, b.rms_norm(x, name=f"{layer}.norm_feed_forward"), layer, s.hidden)
        x = b.add(x, y, name=f"{layer}.add_feed_forward")
    return b.build(outputs=[make_logits(b, b.rms_norm(x, name="norm"), logits, s.vocabulary), *kept])


def _gated_feed_forward(b: GraphBuilder, x: Tensor, layer: str, hidden: int) -> Tensor:
    """Widen twice, let one half open and shut the other (SwiGLU; Shazeer, arXiv 2002.05202), back to the width."""
    gate = b.silu(b.dense(x, hidden, bias=False, name=f"{layer}.gate"), name=f"{layer}.silu")
    up = b.dense(x, hidden, bias=False, name=f"{layer}.up")
    return b.dense(b.mul(gate, up, name=f"{layer}.gated"), x.shape[-1], bias=False, name=f"{layer}.down")
