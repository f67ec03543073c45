"""What each kind of operator costs, against counts worked by hand and counts by brute force.

"A1" ... are rows of references/faults.md: faults of other tools, with the right values.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import roofline_lessons as rl
from roofline_lessons import operators
from tests.model.toys import dram_bytes, graph_of, operator_of

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


# -- every kind, counted by hand ---------------------------------------------------------------------------------------


def image(b, channels=4):
    return b.input("x", (1, channels, 6, 6))


def rows(b, name="x"):
    return b.input(name, (2, 3, 4))


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
    assert {row[0] for row in BY_HAND} == set(operators.OPERATORS)


@pytest.mark.parametrize("build", [row[1] for row in BY_HAND], ids=[row[0] for row in BY_HAND])
def test_every_kind_has_a_family(build):
    assert operators.family(operator_of(build)) in operators.FAMILIES


def test_depthwise_is_a_family_of_its_own():
    def conv(channels, groups):
        return operators.family(operator_of(lambda b: b.conv2d(image(b, channels), channels, 3, groups=groups)))

    assert conv(channels=4, groups=4) == "depthwise convolution"
    assert conv(channels=4, groups=2) == conv(channels=1, groups=1) == "convolution"


# -- convolutions by brute force ---------------------------------------------------------------------------------------


def slots(size, kernel, stride, before, after, dilation):
    """First taps of every window that fits, by trying all."""
    return [p for p in range(0, size + before + after, stride) if p + dilation * (kernel - 1) < size + before + after]


@st.composite
def convolutions(draw):
    def either():
        return draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))

    groups = draw(st.integers(1, 3))
    return {
        "batch": draw(st.integers(1, 2)),
        "inputs": groups * draw(st.integers(1, 2)),
        "outputs": groups * draw(st.integers(1, 2)),
        "size": draw(st.tuples(st.integers(5, 8), st.integers(5, 8))),
        "kernel": either(),
        "stride": either(),
        "dilation": draw(st.tuples(st.integers(1, 2), st.integers(1, 2))),
        "padding": draw(st.tuples(*[st.integers(0, 2)] * 4)),
        "groups": groups,
    }


@given(convolutions())
def test_convolution_of_ones(c):
    """Convolve an image of ones (its padding too) with a kernel of ones: the sum of the result is the MACs."""
    (h, w), (kh, kw), (sh, sw), (dh, dw), (top, bottom, left, right) = (
        c[part] for part in ("size", "kernel", "stride", "dilation", "padding")
    )
    ys, xs = slots(h, kh, sh, top, bottom, dh), slots(w, kw, sw, left, right, dw)
    padded = np.ones((c["batch"], c["inputs"], h + top + bottom, w + left + right))
    result = np.zeros((c["batch"], c["outputs"], len(ys), len(xs)))
    inputs, outputs = c["inputs"] // c["groups"], c["outputs"] // c["groups"]
    for g in range(c["groups"]):
        part = padded[:, g * inputs : (g + 1) * inputs]
        for i, y in enumerate(ys):
            for j, x in enumerate(xs):
                window = part[:, :, y : y + dh * (kh - 1) + 1 : dh, x : x + dw * (kw - 1) + 1 : dw]
                result[:, g * outputs : (g + 1) * outputs, i, j] = window.sum((1, 2, 3))[:, None]

    op = operator_of(
        lambda b: b.conv2d(
            b.input("x", (c["batch"], c["inputs"], h, w)), c["outputs"], c["kernel"], stride=c["stride"],
            padding=c["padding"], dilation=c["dilation"], groups=c["groups"], bias=False,
        )
    )  # fmt: skip
    assert op.output.shape == result.shape
    assert op.macs == result.sum()


@given(convolutions())
def test_transposed_convolution_of_ones(c):
    """Spread every one of an image of ones over a window of ones: the sum before cropping is the MACs."""
    (h, w), (kh, kw), (sh, sw), (dh, dw) = (c[part] for part in ("size", "kernel", "stride", "dilation"))
    inputs, outputs = c["inputs"] // c["groups"], c["outputs"]
    full = np.zeros((c["batch"], outputs, (h - 1) * sh + dh * (kh - 1) + 1, (w - 1) * sw + dw * (kw - 1) + 1))
    for y in range(h):
        for x in range(w):
            full[:, :, y * sh : y * sh + dh * (kh - 1) + 1 : dh, x * sw : x * sw + dw * (kw - 1) + 1 : dw] += inputs
    top, bottom, left, right = c["padding"]
    cropped = full[:, :, top : full.shape[2] - bottom, left : full.shape[3] - right]
    if cropped.size == 0:
        return

    op = operator_of(
        lambda b: b.conv_transpose2d(
            b.input("x", (c["batch"], c["inputs"], h, w)), outputs, c["kernel"], stride=c["stride"],
            padding=c["padding"], dilation=c["dilation"], groups=c["groups"], bias=False,
        )
    )  # fmt: skip
    assert op.output.shape == cropped.shape
    assert op.macs == full.sum()


def same_padding(size, kernel, stride, dilation):
    """TensorFlow's rule, as the notes on padding of tf.nn write it: (before, after) along one axis."""
    reach = (kernel - 1) * dilation + 1
    along = max(reach - stride, 0) if size % stride == 0 else max(reach - size % stride, 0)
    return along // 2, along - along // 2


@given(size=st.integers(1, 20), kernel=st.integers(1, 7), stride=st.integers(1, 4), dilation=st.integers(1, 3))
def test_same_padding_is_tensorflows(size, kernel, stride, dilation):
    op = operator_of(
        lambda b: b.conv2d(b.input("x", (1, 1, size, 9)), 1, kernel, stride=stride, dilation=dilation, padding="same")
    )
    assert op.attributes["padding"][:2] == same_padding(size, kernel, stride, dilation)
    assert op.output.shape[2:] == (-(-size // stride), -(-9 // stride))


# The case in every tutorial: 224 -> 112 with a 3 x 3 kernel pads 0 in front and 1 behind.
def test_same_padding_of_an_even_image():
    op = operator_of(lambda b: b.conv2d(b.input("x", (1, 3, 224, 224)), 8, 3, stride=2, padding="same"))
    assert op.attributes["padding"] == (0, 1, 0, 1)


# A convolution and the transposed one with the same settings undo each other's shape; output_padding picks one of the
# sizes that a stride maps to the same result (Dumoulin & Visin, arXiv 1603.07285, section 4.6).
@pytest.mark.parametrize("size, extra", [(7, 0), (8, 1)])
def test_output_padding(size, extra):
    small = operator_of(lambda b: b.conv2d(b.input("x", (1, 1, size, size)), 1, 3, stride=2, padding=1)).output.shape
    assert small == (1, 1, 4, 4)
    op = operator_of(lambda b: b.conv_transpose2d(b.input("x", small), 1, 3, stride=2, padding=1, output_padding=extra))
    assert op.output.shape == (1, 1, size, size)


# -- numpy agrees on shapes --------------------------------------------------------------------------------------------

SIDES = st.integers(1, 3)


@given(st.lists(st.tuples(SIDES, SIDES), min_size=1, max_size=4), st.integers(0, 3))
def test_broadcasting_is_numpys(sides, dropped):
    full = tuple(side for side, _ in sides)
    other = tuple(side if keep > 1 else 1 for side, keep in sides)[dropped:]
    op = operator_of(lambda b: b.add(b.input("x", other), b.input("y", full)))
    assert op.output.shape == (np.ones(other) + np.ones(full)).shape
    assert op.flops == (np.ones(other) + np.ones(full)).sum() / 2


@given(st.lists(SIDES, max_size=2), SIDES, SIDES, SIDES)
def test_matrix_product_is_numpys(lead, m, k, n):
    x, y = (*lead, m, k), (*lead[1:], k, n)
    op = operator_of(lambda b: b.matmul(b.input("x", x), b.input("y", y)))
    product = np.ones(x) @ np.ones(y)
    assert op.output.shape == product.shape
    assert op.macs == product.sum()


# -- shared weights ----------------------------------------------------------------------------------------------------


# G11: two products with one weight of 64 x 64 on 4 rows.
def test_a_shared_weight_counts_once_as_a_parameter():
    def twice(b):
        w = b.weight("w", (64, 64))
        x = b.input("x", (4, 64))
        return b.dense(b.dense(x, 64, weight=w, bias=False), 64, weight=w, bias=False)

    graph = graph_of(twice)
    assert (graph.params, graph.macs) == (4_096, 32_768)


# -- what does not fit is said in words --------------------------------------------------------------------------------

# how it is built, and what the message must hold: the operator, the tensor, what would be right
REFUSED = [
    (lambda b: b.conv2d(b.input("x", (3, 8, 8)), 4), ["conv_0", "x", "(batch, channels, height, width)", "(3, 8, 8)"]),
    (lambda b: b.conv2d(image(b), 4, 9), ["conv_0", "9", "6"]),
    (lambda b: b.conv2d(image(b, 6), 8, 3, groups=4), ["conv_0", "4 groups", "x", "6"]),
    (lambda b: b.conv2d(image(b), 6, 3, groups=4), ["conv_0", "4 groups", "6 output channels"]),
    (lambda b: b.conv2d(image(b), 4, 3, padding="valid"), ["conv_0", '"same"', "'valid'"]),
    (lambda b: b.conv2d(image(b), 4, 3, padding=(1, 1, 1)), ["conv_0", "padding", "(1, 1, 1)"]),
    (lambda b: b.conv2d(image(b), 4, 2.5), ["conv_0", "kernel", "2.5"]),
    (lambda b: b.conv2d(image(b), 4, 3, stride=0), ["conv_0", "stride", "at least 1", "0"]),
    (lambda b: b.conv2d(image(b), 0), ["conv_0", "channels", "at least 1", "0"]),
    (lambda b: b.conv2d(image(b), 4, 3, weight=b.weight("w", (4, 4, 5, 5))), ["conv_0", "w", "(4, 4, 3, 3)"]),
    (lambda b: b.conv2d(image(b), 4, 3, weight=b.weight("w", (8, 4, 3, 3))), ["conv_0", "w", "(4, 4, 3, 3)"]),
    (lambda b: b.conv_transpose2d(b.input("x", (8, 8)), 4), ["conv_transpose_0", "x", "(8, 8)"]),
    (lambda b: b.conv_transpose2d(image(b), 5, groups=2), ["conv_transpose_0", "2 groups", "5 output channels"]),
    (lambda b: b.conv_transpose2d(image(b), 4, groups=3), ["conv_transpose_0", "3 groups", "x", "4"]),
    (lambda b: b.conv_transpose2d(image(b), 4, padding=7), ["conv_transpose_0", "crops the whole output"]),
    (lambda b: b.conv_transpose2d(image(b), 4, padding="same"), ["conv_transpose_0", "padding", "'same'"]),
    (lambda b: b.dense(b.input("x", (4, 10)), 8, weight=b.weight("w", (8, 12))), ["dense_0", "w", "(8, 10)"]),
    (lambda b: b.dense(b.input("x", (10,)), 8), ["dense_0", "x", "(10,)"]),
    (lambda b: b.matmul(rows(b), rows(b, "y")), ["matmul_0", "x", "y", "4", "3"]),
    (lambda b: b.matmul(rows(b), b.input("y", (4,))), ["matmul_0", "two dimensions", "(4,)"]),
    (lambda b: b.matmul(b.input("q", (1, 8, 4, 4)), b.input("k", (1, 2, 4, 4)), share=3),
        ["matmul_0", "(1, 8)", "(1, 6)", "broadcast"]),
    (lambda b: b.matmul(b.input("q", (4, 4)), b.input("k", (4, 4)), share=2), ["matmul_0", "share=2", "k", "head"]),
    (lambda b: b.add(rows(b), b.input("y", (5,))), ["add_0", "(2, 3, 4)", "(5,)", "broadcast"]),
    (lambda b: b.batch_norm(b.input("x", (4,))), ["batch_norm_0", "x", "axis 1"]),
    (lambda b: b.max_pool(rows(b), 2), ["max_pool_0", "x", "(batch, channels, height, width)"]),
    (lambda b: b.max_pool(image(b), 2, stride=0), ["max_pool_0", "stride", "at least 1", "0"]),
    (lambda b: b.global_avg_pool(b.input("x", (4, 8))), ["global_avg_pool_0", "x", "(4, 8)"]),
    (lambda b: b.softmax(rows(b), axis=3), ["softmax_0", "x", "axis 3"]),
    (lambda b: b.reduce_sum(rows(b), [5]), ["reduce_sum_0", "x", "axis 5"]),
    (lambda b: b.concat([rows(b), b.input("y", (2, 3, 5))]), ["concat_0", "axis 1", "(2, 3, 5)"]),
    (lambda b: b.concat([]), ["concat_0", "at least one"]),
    (lambda b: b.reshape(rows(b), (5, 5)), ["reshape_0", "x", "24", "25"]),
    (lambda b: b.reshape(rows(b), (5, -1)), ["reshape_0", "x", "24"]),
    (lambda b: b.flatten(rows(b), axis=4), ["flatten_0", "x", "axis 4"]),
    (lambda b: b.squeeze(rows(b), [0]), ["squeeze_0", "x", "size 1"]),
    (lambda b: b.transpose(rows(b), (0, 1)), ["transpose_0", "x", "3 axes"]),
    (lambda b: b.upsample(image(b), 2, mode="bicubic"), ["upsample_0", "bicubic", "bilinear"]),
    (lambda b: b.upsample(image(b), 1.5), ["upsample_0", "scale", "1.5"]),
    (lambda b: b.input("x", (1, 0)), ["x", "at least 1", "(1, 0)"]),
    (lambda b: b.input("x", (1, 2.5)), ["x", "whole number", "2.5"]),
    (lambda b: b.input("ids", (1, 2), bits=0), ["ids", "bits", "at least 1"]),
]  # fmt: skip


@pytest.mark.parametrize("build, words", REFUSED)
def test_what_does_not_fit_is_said_in_words(build, words):
    with pytest.raises(ValueError) as refusal:
        operator_of(build)
    for word in words:
        assert word in str(refusal.value)


def test_numpy_integers_are_whole_numbers():
    size = np.array([1, 4, 6, 6]) // 1
    op = operator_of(lambda b: b.conv2d(b.input("x", size), np.int64(4), np.int64(3)))
    assert op.output.shape == (1, 4, 4, 4)
    assert isinstance(op.macs, int)


# -- the graph ---------------------------------------------------------------------------------------------------------


def graph_error(build):
    with pytest.raises(rl.GraphError) as refusal:
        build(rl.GraphBuilder("net"))
    return str(refusal.value)


def test_a_graph_needs_operators_and_outputs():
    assert "no operator" in graph_error(lambda b: b.build(outputs=[b.input("x", (1,))]))
    assert "no output" in graph_error(lambda b: (b.relu(b.input("x", (1,))), b.build(outputs=[])))


def test_names_differ():
    def two_operators(b):
        x = b.input("x", (1,))
        b.build(outputs=[b.relu(b.relu(x, name="act"), name="act")])

    def two_inputs(b):
        b.build(outputs=[b.add(b.input("x", (1,)), b.input("x", (1,)))])

    def two_weights(b):
        x = b.dense(b.input("x", (1, 8)), 8, weight=b.weight("w", (8, 8)))
        b.build(outputs=[b.dense(x, 4, weight=b.weight("w", (4, 8)))])

    assert "'act'" in graph_error(two_operators)
    assert "'x'" in graph_error(two_inputs)
    assert "'w'" in graph_error(two_weights)


def test_a_given_name_does_not_get_in_the_way():
    b = rl.GraphBuilder("net")
    x = b.relu(b.relu(b.input("x", (1,)), name="relu_0"))
    assert len(b.build(outputs=[x])) == 2


def test_tensors_come_from_the_same_builder():
    stranger = rl.GraphBuilder("other").input("stranger", (1,))
    assert "'stranger'" in graph_error(lambda b: b.build(outputs=[b.relu(stranger)]))
    assert "'stranger'" in graph_error(lambda b: (b.relu(b.input("x", (1,))), b.build(outputs=[stranger])))


def test_operators_by_name():
    graph = graph_of(lambda b: b.relu(b.conv2d(image(b), 4)))
    assert [op.name for op in graph] == ["conv_0", "relu_0"]
    assert graph["relu_0"] in graph
    with pytest.raises(rl.UnknownNameError, match="did you mean 'relu_0'"):
        graph["relu_1"]
