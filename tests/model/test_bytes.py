"""What operators and fused kernels move to and from DRAM: every distinct tensor once, and nothing that need not travel.

"B2" ... are rows of references/faults.md.
"""

import pytest

import roofline_lessons as rl
from tests.model.toys import TOY, dram_bytes, graph_of, moves, plan_of

# -- one operator ------------------------------------------------------------------------------------------------------


# B5: inputs are traffic. (1024, 1024) + (1024) at fp32: 2 x 4 MiB and the row of 4 KiB, read once.
def test_an_addition_reads_both_operands():
    assert dram_bytes(lambda b: b.add(b.input("x", (1024, 1024)), b.input("y", (1024,)))) == 8_392_704


def test_adding_a_tensor_to_itself_reads_it_once():
    def double(b):
        x = b.input("x", (1024,))
        return b.add(x, x)

    def double_through_a_view(b):
        x = b.input("x", (1024,))
        return b.add(b.reshape(x, (4, 256)), b.reshape(x, (4, 256)))

    assert dram_bytes(double) == dram_bytes(double_through_a_view) == 2 * 4096


# B6: a view costs no byte and is no kernel.
@pytest.mark.parametrize("view", [
    lambda b, x: b.reshape(x, (1024, 1024)),
    lambda b, x: b.flatten(x),
    lambda b, x: b.squeeze(x, [0]),
    lambda b, x: b.identity(x),
    lambda b, x: b.dropout(x),
])  # fmt: skip
def test_a_view_costs_nothing(view):
    graph = graph_of(lambda b: view(b, b.input("x", (1, 1024, 1024))))
    est = rl.estimate(rl.unfused(graph), TOY)
    assert (len(est.kernels), est.dram_bytes, est.on_chip_bytes, est.flops, est.seconds) == (0, 0, 0, 0, 0)


# B7: a transpose that is carried out is a read and a write.
def test_a_transpose_is_a_read_and_a_write():
    assert dram_bytes(lambda b: b.transpose(b.input("x", (1024, 1024)), (1, 0))) == 8_388_608


# B8: one row of 4096 in fp16, 8,192 B read (not the table's 1,050,673,152) and 8,192 B written, and one int32 index.
def test_a_gather_reads_the_rows_it_touches():
    def look_up(b):
        return b.gather(b.weight("table", (128_256, 4096)), b.input("id", (1,), bits=32))

    kernel = rl.unfused(graph_of(look_up)).kernels[0]
    assert moves(kernel) == ({"table": 4096, "id": 1}, {"gather_0.out": 4096})
    assert dram_bytes(look_up, "fp16") == 8_192 + 8_192 + 4


# Each distinct tensor is read once (DESIGN, section 5): 384 look-ups in BERT's table of 2 segments touch 2 rows.
def test_a_gather_never_reads_more_than_the_table():
    graph = graph_of(lambda b: b.embedding(b.input("ids", (384,), bits=32), 2, 768))
    assert moves(rl.unfused(graph).kernels[0])[0] == {"embedding_0.table": 2 * 768, "ids": 384}
    assert graph["embedding_0"].work.read == (2 * 768, 384)


# B11: topk_ids of 4096 x 8 int32 are 131,072 B each time they travel, whatever the precision of the rest.
@pytest.mark.parametrize("precision", ["fp32", "fp16", "int8", "w4a16"])
def test_indices_keep_their_size(precision):
    graph = graph_of(lambda b: b.gather(b.input("x", (100, 1)), b.input("topk_ids", (4096, 8), bits=32)))
    device = rl.Device("any", peak={rl.precision(precision).arithmetic: 1.0}, bandwidth=1.0)
    ledger = rl.estimate(rl.unfused(graph), device, precision).ledger()
    assert ledger.set_index("tensor").dram_bytes["topk_ids"] == 131_072


def test_moved_indices_are_indices():
    for move in (lambda b, x: b.transpose(x, (1, 0)), lambda b, x: b.concat([x, x])):
        assert graph_of(lambda b, move=move: move(b, b.input("ids", (4, 8), bits=32))).outputs[0].bits == 32


def join(b, in_place):
    """Two rectified halves of 1000 joined, then rectified: (4, 2000)."""
    parts = [b.relu(b.input(name, (4, 1000))) for name in "ab"]
    return b.relu(b.concat(parts, in_place=in_place))


# B10, DESIGN section 5: a concat is a read and a write, unless its producers write in place: then nothing moves and
# nothing is launched. The halves are written and the whole is read either way.
def test_a_concat_in_place_is_free():
    copied = rl.estimate(rl.unfused(graph_of(lambda b: join(b, in_place=False))), TOY)
    in_place = rl.estimate(rl.unfused(graph_of(lambda b: join(b, in_place=True))), TOY)
    relus = 4 * (2 * 8_000 + 2 * 8_000)  # both halves read and written, the whole read and written
    assert in_place.dram_bytes == relus
    assert copied.dram_bytes == relus + 4 * 2 * 8_000
    assert [k.name for k in in_place.kernels] == ["relu_0", "relu_1", "relu_2"]
    assert [k.name for k in copied.kernels] == ["relu_0", "relu_1", "concat_0", "relu_2"]


def test_a_concat_in_place_inside_a_kernel():
    graph = graph_of(lambda b: join(b, in_place=True))
    whole = plan_of(graph, "relu_0 relu_1 concat_0 relu_2").kernels[0]
    assert moves(whole) == ({"a": 4000, "b": 4000}, {"relu_2.out": 8000})
    halves, joined = plan_of(graph, "relu_0 relu_1 concat_0", "relu_2").kernels
    assert moves(halves)[1] == moves(joined)[0] == {"relu_0.out": 4000, "relu_1.out": 4000}


# B10: one token's keys and values appended in place, Llama-3-8B in fp16: 32 layers x 2 x 8 heads x 128 x 2 B, written
# once by whatever makes them; the append itself neither reads nor writes.
def test_appending_in_place_only_writes():
    def append(b):
        token = b.relu(b.input("token", (32, 2, 8, 1, 128)))
        return b.concat([b.input("cache", (32, 2, 8, 500, 128)), token], axis=3, in_place=True)

    plan = rl.unfused(graph_of(append))
    est = rl.estimate(plan, rl.Device("any", peak={"fp16": 1.0}, bandwidth=1.0), "fp16")
    ledger = est.ledger()
    assert ledger[ledger.direction == "write"].dram_bytes.sum() == 131_072
    assert "cache" not in set(ledger.tensor)


# B2, B3: attention of Llama-3-8B, 1024 tokens, 32 query heads on 8 key/value heads of 128, fp16.
def test_attention_bytes_follow_the_heads_that_exist():
    def mixed(b):
        query = b.input("q", (1, 32, 1024, 128))
        key, value = b.input("k", (1, 8, 1024, 128)), b.input("v", (1, 8, 1024, 128))
        return b.matmul(b.matmul(query, key, transpose_b=True, share=4), value, share=4)

    scores, product = rl.unfused(graph_of(mixed)).kernels
    assert 2 * moves(scores)[0]["q"] == 8_388_608
    assert 2 * moves(scores)[0]["k"] == 8_388_608 / 4
    assert 2 * moves(product)[1]["matmul_1.out"] == 8_388_608


# B4: gamma of an RMSNorm of 4096 in fp16: 8,192 B, beside the row in and out.
@pytest.mark.parametrize("precision", ["fp16", "w8a16", "w4a16"])  # quantisers leave vectors alone
def test_a_norm_reads_its_gamma(precision):
    assert dram_bytes(lambda b: b.rms_norm(b.input("x", (1, 4096))), precision) == 3 * 8_192


def test_weights_and_activations_have_bits_of_their_own():
    def dense(b):
        return b.dense(b.input("x", (1, 4096)), 4096)

    vectors = 3 * 8_192  # x, bias, result
    assert dram_bytes(dense, "fp16") == 2 * 4096**2 + vectors
    assert dram_bytes(dense, "w8a16") == 4096**2 + vectors
    assert dram_bytes(dense, "w4a16") == 4096**2 * 4.125 / 8 + vectors


def test_a_tensor_fills_whole_bytes():
    assert dram_bytes(lambda b: b.relu(b.input("x", (3,))), "int4") == 2 + 2


# -- kernels of several operators: what is needed outside travels, once ------------------------------------------------


def relu_chain(b, length=3):
    x = b.input("x", (1000,))
    for _ in range(length):
        x = b.relu(x)
    return x


def test_a_chain_in_one_kernel_is_one_read_and_one_write():
    graph = graph_of(relu_chain)
    one = plan_of(graph, "relu_0 relu_1 relu_2").kernels[0]
    assert moves(one) == ({"x": 1000}, {"relu_2.out": 1000})
    assert one.flops == 3000
    assert [moves(k) for k in plan_of(graph, "relu_0 relu_1", "relu_2").kernels] == [
        ({"x": 1000}, {"relu_1.out": 1000}),
        ({"relu_1.out": 1000}, {"relu_2.out": 1000}),
    ]


def test_a_fused_estimate_by_hand():
    """Unfused 6 trips of 4,000 B, fused 2; what stays on the chip is still 6; FLOPs stay 3,000."""
    graph = graph_of(relu_chain)
    apart, together = rl.unfused(graph), plan_of(graph, "relu_0 relu_1 relu_2")
    device = TOY.with_(launch_seconds=1e-6)
    unfused, fused = rl.estimate(apart, device), rl.estimate(together, device)
    assert (unfused.dram_bytes, fused.dram_bytes) == (24_000, 8_000)
    assert unfused.on_chip_bytes == fused.on_chip_bytes == 24_000
    assert unfused.flops == fused.flops == 3_000
    assert unfused.seconds == pytest.approx(3 * (1e-6 + 80e-9))
    assert fused.seconds == pytest.approx(1e-6 + 80e-9)


def residual(b):
    """conv -> batch norm -> add the input -> relu."""
    x = b.input("x", (1, 8, 10, 10))
    y = b.batch_norm(b.conv2d(x, 8, 3, padding=1, bias=False))
    return b.relu(b.add(y, x))


def test_a_residual_block_reads_its_input_once():
    kernel = plan_of(graph_of(residual), "conv_0 batch_norm_0 add_0 relu_0").kernels[0]
    reads, writes = moves(kernel)
    vectors = {f"batch_norm_0.{part}": 8 for part in ("scale", "shift", "mean", "variance")}
    assert reads == {"x": 800, "conv_0.weight": 576, **vectors}
    assert writes == {"relu_0.out": 800}
    assert (kernel.macs, kernel.flops) == (57_600, 2 * 57_600 + 2 * 800 + 800 + 800)


def diamond(b):
    """One tensor read by two branches that meet again."""
    x = b.relu(b.input("x", (100,)))
    return b.add(b.exp(x), b.sqrt(x))


def test_a_diamond():
    graph = graph_of(diamond)
    assert moves(plan_of(graph, "relu_0 exp_0 sqrt_0 add_0").kernels[0]) == ({"x": 100}, {"add_0.out": 100})
    first, second = plan_of(graph, "relu_0 exp_0", "sqrt_0 add_0").kernels
    # relu_0.out never leaves for exp_0, but sqrt_0 needs it outside
    assert moves(first) == ({"x": 100}, {"relu_0.out": 100, "exp_0.out": 100})
    assert moves(second) == ({"relu_0.out": 100, "exp_0.out": 100}, {"add_0.out": 100})


def test_a_graph_output_is_always_written():
    b = rl.GraphBuilder("toy")
    inner = b.relu(b.input("x", (100,)))
    graph = b.build(outputs=[inner, b.exp(inner)])
    assert moves(plan_of(graph, "relu_0 exp_0").kernels[0]) == ({"x": 100}, {"relu_0.out": 100, "exp_0.out": 100})


def test_a_result_that_nobody_reads_is_still_written():
    b = rl.GraphBuilder("toy")
    x = b.input("x", (100,))
    b.exp(x)
    graph = b.build(outputs=[b.relu(x)])
    assert moves(plan_of(graph, "exp_0 relu_0").kernels[0])[1] == {"exp_0.out": 100, "relu_0.out": 100}


def through_views(b):
    """relu, two views in a row, exp."""
    x = b.relu(b.input("x", (2, 50)))
    return b.exp(b.flatten(b.reshape(x, (50, 2)), axis=0))


def test_fusion_sees_through_views():
    graph = graph_of(through_views)
    for groups in (["relu_0 exp_0"], ["relu_0 reshape_0 flatten_0 exp_0"]):  # named or not, views are no work
        plan = plan_of(graph, *groups)
        assert [op.name for op in plan.kernels[0].operators] == ["relu_0", "exp_0"]
        assert moves(plan.kernels[0]) == ({"x": 100}, {"exp_0.out": 100})
    apart = rl.unfused(graph)
    assert [moves(k) for k in apart.kernels] == [
        ({"x": 100}, {"relu_0.out": 100}),
        ({"relu_0.out": 100}, {"exp_0.out": 100}),
    ]


def test_a_view_that_is_a_graph_output_keeps_its_bytes():
    b = rl.GraphBuilder("toy")
    inner = b.relu(b.input("x", (2, 50)))
    graph = b.build(outputs=[b.flatten(inner), b.exp(inner)])
    assert moves(plan_of(graph, "relu_0 exp_0").kernels[0])[1] == {"relu_0.out": 100, "exp_0.out": 100}


def test_one_kernel_reads_a_shared_weight_once():
    b = rl.GraphBuilder("toy")
    x, w = b.input("x", (2, 8, 1, 1)), b.weight("w", (8, 8, 1, 1))
    graph = b.build(outputs=[b.conv2d(b.conv2d(x, 8, weight=w, bias=False), 8, weight=w, bias=False)])
    assert graph.params == 64
    assert moves(plan_of(graph, "conv_0 conv_1").kernels[0]) == ({"x": 16, "w": 64}, {"conv_1.out": 16})
    assert sum(moves(k)[0]["w"] for k in rl.unfused(graph).kernels) == 128


def test_two_gathers_from_one_table_read_their_rows():
    """Which rows is not known: 3 and 4 of them are at most 7, and at most the table."""
    b = rl.GraphBuilder("toy")
    large, small = b.weight("large", (100, 8)), b.weight("small", (5, 8))
    ids, more = b.input("ids", (3,), bits=32), b.input("more", (4,), bits=32)
    graph = b.build(outputs=[b.gather(table, index) for table in (large, small) for index in (ids, more)])
    reads, _ = moves(plan_of(graph, "gather_0 gather_1 gather_2 gather_3").kernels[0])
    assert reads == {"large": 7 * 8, "small": 5 * 8, "ids": 3, "more": 4}


# -- plans that cannot be ----------------------------------------------------------------------------------------------


def test_a_plan_covers_each_operator_once():
    graph = graph_of(relu_chain)
    with pytest.raises(rl.FusionError, match="relu_1 is in two kernels"):
        plan_of(graph, "relu_0 relu_1", "relu_1 relu_2")
    with pytest.raises(rl.FusionError, match="relu_1, relu_2 in no kernel"):
        plan_of(graph, "relu_0")
    with pytest.raises(rl.FusionError, match="relu_0 is not an operator of toy"):
        rl.Plan(graph, [graph_of(relu_chain).operators])  # its twin's operators


def test_a_kernel_is_not_empty():
    graph = graph_of(relu_chain)
    with pytest.raises(rl.FusionError, match="at least one operator"):
        rl.Plan(graph, [graph.operators, ()])


def test_views_need_no_kernel_but_may_be_named():
    graph = graph_of(through_views)
    assert len(plan_of(graph, "relu_0 exp_0", "reshape_0 flatten_0")) == 1


# -- the ledger --------------------------------------------------------------------------------------------------------


def test_the_ledger_lists_every_trip():
    est = rl.estimate(rl.unfused(graph_of(lambda b: b.relu(b.dense(b.input("x", (1, 10)), 20)))), TOY)
    ledger = est.ledger()
    assert list(ledger.columns) == ["kernel", "direction", "tensor", "dram_bytes"]
    assert ledger.values.tolist() == [
        ["dense_0", "read", "x", 40],
        ["dense_0", "read", "dense_0.weight", 800],
        ["dense_0", "read", "dense_0.bias", 80],
        ["dense_0", "write", "dense_0.out", 80],
        ["relu_0", "read", "dense_0.out", 80],
        ["relu_0", "write", "relu_0.out", 80],
    ]
    assert ledger.dram_bytes.sum() == est.dram_bytes
