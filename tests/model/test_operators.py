"""What each kind of operator costs, against counts worked by hand.

"A1" ... are rows of references/faults.md: faults of other tools, with the right values.
"""

import pytest

from roofline_lessons import operators
from tests.model.test_foreign import FOREIGN
from tests.model.toys import dram_bytes, graph_of, image, operator_of, rows

# -- known answers -----------------------------------------------------------------------------------------------------


# A1: 524,288 MAC = 1,048,576 FLOP, and 512 additions for the bias.
def test_macs_and_flops_are_two_numbers():
    plain = operator_of(lambda b: b.dense(b.input("x", (1, 1024)), 512, bias=False))
    assert (plain.macs, plain.flops) == (524_288, 1_048_576)
    biased = operator_of(lambda b: b.dense(b.input("x", (1, 1024)), 512))
    assert (biased.macs, biased.flops) == (524_288, 1_048_576 + 512)


# A3: groups divide the input channels once.
def test_depthwise_convolution_counts_its_groups():
    def conv(groups):
        return lambda b: b.conv2d(b.input("x", (1, 32, 112, 112)), 32, 3, padding=1, groups=groups, bias=False)

    depthwise, full = operator_of(conv(groups=32)), operator_of(conv(groups=1))
    assert depthwise.macs == 3_612_672
    assert full.macs == 115_605_504
    assert dram_bytes(conv(groups=32)) == 3_212_416
    assert depthwise.flops / dram_bytes(conv(groups=32)) == pytest.approx(2.24919, abs=5e-6)


# A5: every input position spreads over one window; the output's size does not matter.
def test_transposed_convolution_counts_input_positions():
    small = operator_of(lambda b: b.conv_transpose2d(b.input("x", (1, 3, 2, 2)), 1, 2, stride=2))
    assert (small.macs, small.flops) == (48, 2 * 48 + 16)  # 16 additions of the bias, one per output element
    assert small.output.shape == (1, 1, 4, 4)
    assert operator_of(lambda b: b.conv_transpose2d(b.input("x", (1, 32, 1, 1)), 1, 3)).macs == 288


# A7: taps on the padding are counted (in bounds only: 32 * (3 * 112 - 2)^2 = 3,569,792), cropped ones too (useful only:
# 43,200). The row leaves the input of the second one out: two images of 8 x 8 give both of its numbers.
def test_padding_taps_and_cropped_taps_count():
    depthwise = operator_of(
        lambda b: b.conv2d(b.input("x", (1, 32, 112, 112)), 32, 3, padding=1, groups=32, bias=False)
    )
    assert depthwise.macs == 32 * (3 * 112) ** 2 != 3_569_792
    cropped = operator_of(lambda b: b.conv_transpose2d(b.input("x", (2, 4, 8, 8)), 6, 4, stride=2, padding=1))
    assert cropped.macs == 49_152
    assert cropped.output.shape == (2, 6, 16, 16)


# A10: a look-up is not a matrix product. 10 rows of 300 fp32 read and written, and 10 int32 indices.
def test_embedding_is_a_look_up():
    def look_up(b):
        return b.embedding(b.input("ids", (10,), bits=32), 32_000, 300)

    op = operator_of(look_up)
    assert (op.macs, op.flops, op.output.shape) == (0, 0, (10, 300))
    assert dram_bytes(look_up) == 12_000 + 12_000 + 40
    assert graph_of(look_up).params == 32_000 * 300


def multi_head_attention(b, tokens, width, heads):
    """torch.nn.MultiheadAttention: four projections, and two products per head."""
    x = b.input("x", (1, tokens, width))

    def by_head():
        return b.transpose(b.reshape(b.dense(x, width), (1, tokens, heads, width // heads)), (0, 2, 1, 3))

    query, key, value = by_head(), by_head(), by_head()
    mixed = b.matmul(b.softmax(b.matmul(query, key, transpose_b=True)), value)
    return b.dense(b.reshape(b.transpose(mixed, (0, 2, 1, 3)), (1, tokens, width)), width)


# A11: projections 240,844,800 + attention 80,640,000, whatever the number of heads.
@pytest.mark.parametrize("heads", [1, 4, 8, 64])
def test_attention_macs_do_not_depend_on_the_heads(heads):
    graph = graph_of(lambda b: multi_head_attention(b, 300, 448, heads))
    assert sum(op.macs for op in graph if op.kind == "dense") == 240_844_800
    assert sum(op.macs for op in graph if op.kind == "matmul") == 80_640_000
    assert graph.macs == 321_484_800


def attention(b, query, key_value, share=1):
    """softmax(Q K^T) V for shapes (batch, heads, tokens, width)."""
    q, k, v = b.input("q", query), b.input("k", key_value), b.input("v", key_value)
    return b.matmul(b.softmax(b.matmul(q, k, transpose_b=True, share=share)), v, share=share)


def product_flops(graph):
    return sum(op.flops for op in graph if op.kind == "matmul")


# A12: q = k = v of (1, 12, 64, 64).
def test_attention_flops():
    graph = graph_of(lambda b: attention(b, (1, 12, 64, 64), (1, 12, 64, 64)))
    assert product_flops(graph) == 12_582_912


# A13: FLOPs follow the 8 query heads (2,097,152 would follow the 2 key/value heads), bytes the heads that exist.
def test_grouped_query_attention():
    graph = graph_of(lambda b: attention(b, (1, 8, 64, 64), (1, 2, 64, 64), share=4))
    assert product_flops(graph) == 8_388_608
    scores, mixed = (op for op in graph if op.kind == "matmul")
    assert scores.work.read == (8 * 64 * 64, 2 * 64 * 64)  # Q, K
    assert mixed.work.read == (8 * 64 * 64, 2 * 64 * 64)  # scores, V
    assert mixed.output.shape == (1, 8, 64, 64)


# A14, A16: the exact lower triangle, in closed form: 4 * heads * width * S (S + 1) / 2.
@pytest.mark.parametrize("sequence, flops", [(2048, 34_376_515_584), (32_768, 4 * 32 * 128 * 32_768 * 32_769 // 2)])
def test_causal_attention(sequence, flops):
    def causal(b):
        q, k, v = (b.input(name, (1, 32, sequence, 128)) for name in "qkv")
        weights = b.softmax(b.matmul(q, k, transpose_b=True, triangle="output"), triangle=True)
        return b.matmul(weights, v, triangle="input")

    graph = graph_of(causal)
    assert product_flops(graph) == flops
    pairs = 32 * sequence * (sequence + 1) // 2
    scores, softmax, mixed = graph.operators
    assert scores.work.written == softmax.work.read == softmax.work.written == (pairs,)
    assert mixed.work.read == (pairs, 32 * sequence * 128)
    assert softmax.flops == 5 * pairs


# Row i of 2 sees 3 cached keys and i + 1 new ones: 4 + 5 of 2 x 5 pairs, of 6 values each.
def test_causal_attention_behind_a_cache():
    scores = operator_of(
        lambda b: b.matmul(b.input("q", (1, 2, 6)), b.input("k", (1, 5, 6)), transpose_b=True, triangle="output")
    )
    assert (scores.macs, scores.work.written) == (9 * 6, (9,))


# Nothing moves: a product reads the other order as it lies.
def test_a_transpose_in_place_is_a_view():
    def heads(b):
        y = b.transpose(b.relu(rows(b)), (1, 0, 2), in_place=True)
        return b.matmul(y, b.input("w", (3, 4, 5)))

    graph = graph_of(heads)
    assert graph["transpose_0"].is_view and graph["transpose_0"].output.shape == (3, 2, 4)
    assert dram_bytes(heads) == 4 * (24 + 60 + 30)


@pytest.mark.parametrize("build, words", [
    (lambda b: b.slice(rows(b), 2, 4, axis=1), r"slice_0 \(slice\): 2 to 4 is no part of the 3 places of x"),
    (lambda b: b.slice(rows(b), 1, 1), "1 to 1 is no part of the 2 places of x"),
    (lambda b: b.slice(rows(b), -1, 1), "slice_0: start must be a whole number of at least 0, not -1"),
    (lambda b: b.expand(rows(b), (2, 3, 8)), r"the shapes \(2, 3, 4\) and \(2, 3, 8\) do not broadcast"),
    (lambda b: b.expand(rows(b), (3, 4)), r"x \(2, 3, 4\) does not repeat to \(3, 4\)"),
    (lambda b: b.rotary(rows(b), b.input("a", (3, 2))), r"x \(2, 3, 4\) needs an even width and angles of \(3, 4\)"),
    (lambda b: b.rotary(b.input("x", (2, 3)), b.input("a", (2, 3))), "needs an even width"),
    (lambda b: b.softmax(b.input("x", (3,)), triangle=True), r"causal scores are a matrix, .* x is \(3,\)"),
    (lambda b: b.softmax(b.input("x", (3, 4)), axis=0, triangle=True), "normalised along the last axis"),
    (lambda b: b.softmax(b.input("x", (3, 2)), triangle=True), "at least as many keys as queries, not 2 for 3"),
    (lambda b: b.matmul(rows(b), b.input("y", (4, 5)), triangle="x"), 'triangle must be "input", "output" or None'),
])  # fmt: skip
def test_what_does_not_fit_is_said_in_words(build, words):
    with pytest.raises(ValueError, match=words):
        operator_of(build)


# A18: one more token of context costs 4 * heads * width = 32,768 FLOP, not 65,536.
def test_attention_flops_per_token_of_context():
    def decode(context):
        return product_flops(graph_of(lambda b: attention(b, (1, 64, 1, 128), (1, 64, context, 128))))

    assert decode(1001) - decode(1000) == 32_768


# A17: a network is its operators, each once.
def test_a_sequence_is_the_sum_of_its_operators():
    def conv(x_shape, channels):
        return operator_of(lambda b: b.conv2d(b.input("x", x_shape), channels, 3, padding=1))

    def three(b):
        x = b.conv2d(b.input("x", (1, 3, 8, 8)), 4, 3, padding=1)
        return b.conv2d(b.conv2d(x, 5, 3, padding=1), 6, 3, padding=1)

    parts = [conv((1, 3, 8, 8), 4), conv((1, 4, 8, 8), 5), conv((1, 5, 8, 8), 6)]
    graph = graph_of(three)
    assert graph.macs == sum(op.macs for op in parts) == 64 * 9 * (3 * 4 + 4 * 5 + 5 * 6)
    assert graph.flops == sum(op.flops for op in parts)


# A19: 65,536 elements at 5 FLOP each (LLM-Viewer) or at 36 (onnx-tool): a choice, so it can be seen and changed.
def test_softmax_work_is_a_visible_parameter(monkeypatch):
    def softmax(b):
        return b.softmax(b.input("x", (2, 8, 64, 64)))

    assert operator_of(softmax).flops == 327_680
    monkeypatch.setitem(operators.FLOP_PER_ELEMENT, "softmax", (36, "as onnx-tool counts"))
    assert operator_of(softmax).flops == 2_359_296


def test_every_work_per_element_has_a_reason():
    for kind, (flops, reason) in operators.FLOP_PER_ELEMENT.items():
        assert kind in operators.OPERATORS
        assert flops >= 0 and reason


# -- shared weights ----------------------------------------------------------------------------------------------------


# G11: two products with one weight of 64 x 64 on 4 rows.
def test_a_shared_weight_counts_once_as_a_parameter():
    def twice(b):
        w = b.weight("w", (64, 64))
        x = b.input("x", (4, 64))
        return b.dense(b.dense(x, 64, weight=w, bias=False), 64, weight=w, bias=False)

    graph = graph_of(twice)
    assert (graph.params, graph.macs) == (4_096, 32_768)


# -- every kind, counted by hand ---------------------------------------------------------------------------------------


def unary(kind):
    return lambda b: getattr(b, kind)(rows(b))


def binary(kind):
    """(2, 3, 4) with a row of 4 that is repeated: the row is read at its own size."""
    return lambda b: getattr(b, kind)(rows(b), b.input("y", (4,)))


# kind, how it is built, output shape, MACs, FLOPs, elements read of each input, elements written
BY_HAND = [
    # 8 channels x 36 positions = 288 outputs of 4 x 9 taps; 288 additions of the bias
    ("conv2d", lambda b: b.conv2d(image(b), 8, 3, padding=1),
        (1, 8, 6, 6), 10_368, 2 * 10_368 + 288, (144, 288, 8), 288),
    # 144 inputs, each on 8 channels x 4 taps; 1152 additions of the bias
    ("conv_transpose2d", lambda b: b.conv_transpose2d(image(b), 8, 2, stride=2),
        (1, 8, 12, 12), 4_608, 2 * 4_608 + 1_152, (144, 128, 8), 1_152),
    # 3 x 4 rows of 10, each to 6 features
    ("dense", lambda b: b.dense(b.input("x", (3, 4, 10)), 6),
        (3, 4, 6), 720, 2 * 720 + 72, (120, 60, 6), 72),
    # 2 x 3 products of (4, 5) and (5, 6)
    ("matmul", lambda b: b.matmul(b.input("x", (2, 3, 4, 5)), b.input("y", (2, 3, 5, 6))),
        (2, 3, 4, 6), 720, 1_440, (120, 180), 144),
    # FLOP per element from the reasons in FLOP_PER_ELEMENT, times 24
    ("relu", unary("relu"), (2, 3, 4), 0, 24, (24,), 24),
    ("relu6", unary("relu6"), (2, 3, 4), 0, 48, (24,), 24),
    ("leaky_relu", unary("leaky_relu"), (2, 3, 4), 0, 48, (24,), 24),
    ("elu", unary("elu"), (2, 3, 4), 0, 72, (24,), 24),
    ("sigmoid", unary("sigmoid"), (2, 3, 4), 0, 96, (24,), 24),
    ("tanh", unary("tanh"), (2, 3, 4), 0, 120, (24,), 24),
    ("silu", unary("silu"), (2, 3, 4), 0, 120, (24,), 24),
    ("gelu", unary("gelu"), (2, 3, 4), 0, 120, (24,), 24),
    ("hard_sigmoid", unary("hard_sigmoid"), (2, 3, 4), 0, 96, (24,), 24),
    ("hard_swish", unary("hard_swish"), (2, 3, 4), 0, 120, (24,), 24),
    ("exp", unary("exp"), (2, 3, 4), 0, 24, (24,), 24),
    ("sqrt", unary("sqrt"), (2, 3, 4), 0, 24, (24,), 24),
    ("erf", unary("erf"), (2, 3, 4), 0, 24, (24,), 24),
    ("neg", unary("neg"), (2, 3, 4), 0, 24, (24,), 24),
    ("clip", unary("clip"), (2, 3, 4), 0, 48, (24,), 24),
    ("add", binary("add"), (2, 3, 4), 0, 24, (24, 4), 24),
    ("sub", binary("sub"), (2, 3, 4), 0, 24, (24, 4), 24),
    ("mul", binary("mul"), (2, 3, 4), 0, 24, (24, 4), 24),
    ("div", binary("div"), (2, 3, 4), 0, 24, (24, 4), 24),
    ("maximum", binary("maximum"), (2, 3, 4), 0, 24, (24, 4), 24),
    ("minimum", binary("minimum"), (2, 3, 4), 0, 24, (24, 4), 24),
    # one vector entry per channel: 4 channels
    ("prelu", lambda b: b.prelu(image(b)), (1, 4, 6, 6), 0, 288, (144, 4), 144),
    ("bias_add", lambda b: b.bias_add(image(b)), (1, 4, 6, 6), 0, 144, (144, 4), 144),
    ("batch_norm", lambda b: b.batch_norm(image(b)), (1, 4, 6, 6), 0, 288, (144, 4, 4, 4, 4), 144),
    # along the last axis
    ("layer_norm", lambda b: b.layer_norm(rows(b)), (2, 3, 4), 0, 168, (24, 4, 4), 24),
    ("rms_norm", lambda b: b.rms_norm(rows(b)), (2, 3, 4), 0, 96, (24, 4), 24),
    ("softmax", lambda b: b.softmax(rows(b)), (2, 3, 4), 0, 120, (24,), 24),
    # windows of 2 x 2, side by side: 9 outputs per channel, 4 taps each
    ("max_pool", lambda b: b.max_pool(image(b), 2), (1, 4, 3, 3), 0, 144, (144,), 36),
    # windows of 3 x 3 in steps of 1, padded: 36 outputs per channel, 9 taps each
    ("avg_pool", lambda b: b.avg_pool(image(b), 3, stride=1, padding=1), (1, 4, 6, 6), 0, 1_296, (144,), 144),
    ("reduce_sum", lambda b: b.reduce_sum(rows(b), [1]), (2, 4), 0, 24, (24,), 8),
    ("reduce_mean", lambda b: b.reduce_mean(rows(b), [0, -1], keepdims=True), (1, 3, 1), 0, 24, (24,), 3),
    ("reduce_max", lambda b: b.reduce_max(rows(b), [0, 1, 2]), (), 0, 24, (24,), 1),
    ("concat", lambda b: b.concat([rows(b), b.input("y", (2, 5, 4))]), (2, 8, 4), 0, 0, (24, 40), 64),
    ("transpose", lambda b: b.transpose(rows(b), (2, 0, 1)), (4, 2, 3), 0, 0, (24,), 24),
    # one place of three along the middle: 2 x 1 x 4
    ("slice", lambda b: b.slice(rows(b), 0, 1, axis=1), (2, 1, 4), 0, 0, (8,), 8),
    # one row of 4, repeated 2 x 3 times
    ("expand", lambda b: b.expand(b.input("x", (1, 4)), (2, 3, 4)), (2, 3, 4), 0, 0, (4,), 24),
    # per value two multiplications and an addition; 3 positions of 4 angles, the same for both images
    ("rotary", lambda b: b.rotary(rows(b), b.input("angles", (3, 4))), (2, 3, 4), 0, 72, (24, 12), 24),
    # 5 rows of 7 out of a table of 100
    ("gather", lambda b: b.gather(b.input("x", (100, 7)), b.input("ids", (5,), bits=32)),
        (5, 7), 0, 0, (35, 5), 35),
    ("upsample_nearest", lambda b: b.upsample(image(b), 2), (1, 4, 12, 12), 0, 0, (144,), 576),
    ("upsample_bilinear", lambda b: b.upsample(image(b), 2, mode="bilinear"),
        (1, 4, 12, 12), 0, 7 * 576, (144,), 576),
    ("reshape", lambda b: b.reshape(rows(b), (6, -1)), (6, 4), 0, 0, (0,), 0),
    ("flatten", lambda b: b.flatten(rows(b)), (2, 12), 0, 0, (0,), 0),
    ("squeeze", lambda b: b.squeeze(b.input("x", (1, 5, 1)), [0, -1]), (5,), 0, 0, (0,), 0),
    ("identity", lambda b: b.identity(rows(b)), (2, 3, 4), 0, 0, (0,), 0),
    ("dropout", lambda b: b.dropout(rows(b)), (2, 3, 4), 0, 0, (0,), 0),
]  # fmt: skip


@pytest.mark.parametrize("kind, build, shape, macs, flops, read, written", BY_HAND, ids=[row[0] for row in BY_HAND])
def test_counted_by_hand(kind, build, shape, macs, flops, read, written):
    op = operator_of(build)
    assert op.kind == kind
    assert op.output.shape == shape
    assert (op.macs, op.flops) == (macs, flops)
    assert (op.work.read, op.work.written) == (read, (written,))


def test_no_kind_is_missing_above():
    assert {row[0] for row in BY_HAND} | {case.split(" of ")[0] for case in FOREIGN} == set(operators.OPERATORS)


@pytest.mark.parametrize("build", [row[1] for row in BY_HAND], ids=[row[0] for row in BY_HAND])
def test_every_kind_has_a_family(build):
    assert operators.family(operator_of(build)) in operators.FAMILIES


def test_depthwise_is_a_family_of_its_own():
    def conv(channels, groups):
        return operators.family(operator_of(lambda b: b.conv2d(image(b, channels), channels, 3, groups=groups)))

    assert conv(channels=4, groups=4) == "depthwise convolution"
    assert conv(channels=4, groups=2) == conv(channels=1, groups=1) == "convolution"
