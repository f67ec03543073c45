"""Plans and rule sets: what may share a kernel, what it saves, and the sentence where it may not."""

from __future__ import annotations

import pytest
from hypothesis import given

import roofline_lessons as rl
from roofline_lessons.fusion import RULE_SETS, why_not
from tests.model.strategies import graphs

PI = rl.device("raspberry-pi-5")
MIB4 = (1, 1024, 1024)  # 4 MiB in fp32


def bytes_of(plan: rl.Plan) -> float:
    return rl.estimate(plan, PI, "fp32").dram_bytes


def two_readers() -> rl.Graph:
    """relu -> {x 2, + 1}, both kept."""
    b = rl.GraphBuilder("fork")
    two, one = b.weight("two", (1, 1, 1)), b.weight("one", (1, 1, 1))
    y = b.relu(b.input("x", MIB4))
    return b.build(outputs=[b.mul(y, two), b.add(y, one)])


def test_a_fork_as_one_kernel_with_two_outputs():
    """Issue 4: 25,165,824 B unfused, 12,582,912 as one kernel; the two scalars are 4 bytes each."""
    graph = two_readers()
    assert bytes_of(rl.unfused(graph)) - 8 == 25_165_824
    assert bytes_of(rl.fuse(graph, groups=[["relu_0", "mul_0", "add_0"]])) - 8 == 12_582_912


def test_a_fork_with_the_producer_duplicated():
    b = rl.GraphBuilder("duplicated")
    x = b.input("x", MIB4)
    two, one = b.weight("two", (1, 1, 1)), b.weight("one", (1, 1, 1))
    graph = b.build(outputs=[b.mul(b.relu(x), two), b.add(b.relu(x), one)])
    assert bytes_of(rl.fuse(graph, groups=[["relu_0", "mul_0"], ["relu_1", "add_0"]])) - 8 == 16_777_216


def test_a_tensor_read_outside_is_still_written():
    plan = rl.fuse(two_readers(), groups=[["relu_0", "mul_0"]])
    assert [w.tensor.name for w in plan.kernels[0].writes] == ["relu_0.out", "mul_0.out"]


def vgg_e() -> rl.Graph:
    """VGG-E (VGG-19) conv1_1 to conv3_1, poolings and activations between (Alwani et al., MICRO 2016)."""
    b = rl.GraphBuilder("vgg_e")
    y = b.input("x", (1, 3, 224, 224))
    for channels in (64, 64, 0, 128, 128, 0, 256):
        y = b.relu(b.conv2d(y, channels, 3, padding=1)) if channels else b.max_pool(y, 2)
    return b.build(outputs=[y])


def feature_bytes(plan: rl.Plan) -> int:
    """fp32 bytes of feature maps; the paper leaves weights out."""
    return sum(4 * t.elements for _, _, t in plan.dram_transfers if not t.tensor.is_constant)


def test_fused_layer_cnn():
    """Alwani 2016: 3.6 MB fused, 77 MB with each pooling computed where it is read (MB there are MiB, fp32)."""
    graph = vgg_e()
    everything = rl.fuse(graph, groups=[[op.name for op in graph]])
    assert feature_bytes(everything) == 3_813_376
    pairs = [["conv_0", "relu_0"], ["conv_1", "relu_1"], ["max_pool_0", "conv_2", "relu_2"], ["conv_3", "relu_3"]]
    by_layer = rl.fuse(graph, groups=[*pairs, ["max_pool_1", "conv_4", "relu_4"]])
    assert feature_bytes(by_layer) == 80_883_712


# -- rule sets ---------------------------------------------------------------------------------------------------------


def kinds(plan: rl.Plan) -> list[str]:
    return ["+".join(op.kind for op in k.operators) for k in plan.kernels]


def test_epilogue_on_mobilenet_v2_removes_every_batch_norm_and_activation():
    plan = rl.fuse(rl.networks.mobilenet_v2(), rules="epilogue")
    alone = [k.operators[0].kind for k in plan.kernels if len(k.operators) == 1]
    assert sorted(set(alone)) == ["add", "avg_pool", "dense"] and alone.count("add") == 10
    assert sum(len(k.folded) for k in plan.kernels) == 52
    assert len(plan) == 52 + 10 + 2


def block() -> rl.Graph:
    b = rl.GraphBuilder("block")
    x = b.input("x", (1, 8, 16, 16))
    y = b.leaky_relu(b.relu(b.batch_norm(b.conv2d(x, 8, 3, padding=1, bias=False))))
    return b.build(outputs=[b.add(y, x)])


@pytest.mark.parametrize(
    "rules, expected",
    [
        ("none", ["conv2d", "batch_norm", "relu", "leaky_relu", "add"]),
        ("elementwise", ["conv2d", "batch_norm+relu+leaky_relu+add"]),
        ("epilogue", ["conv2d+batch_norm+relu+leaky_relu", "add"]),
        ("tflite", ["conv2d+batch_norm+relu", "leaky_relu", "add"]),  # one activation
        ("coreml", ["conv2d+batch_norm", "relu", "leaky_relu", "add"]),  # engines.md: conv+relu stays two in MIL
        ("onnxruntime", ["conv2d+batch_norm+relu", "leaky_relu", "add"]),  # a residual add is not conv+add
        ("depth-first", ["conv2d+batch_norm+relu+leaky_relu+add"]),
    ],
)
def test_what_each_rule_set_does_to_one_block(rules, expected):
    assert kinds(rl.fuse(block(), rules=rules)) == expected


def test_tflite_puts_an_activation_into_the_addition_before_it():
    """optimize_patterns.td, FusedBinaryActivationFuncOpPat: add, sub, mul, div; one use."""
    b = rl.GraphBuilder("sum")
    x = b.input("x", (1, 4, 8, 8))
    y = b.add(x, b.conv2d(x, 4, bias=False))
    graph = b.build(outputs=[b.relu(y)])
    assert kinds(rl.fuse(graph, rules="tflite")) == ["conv2d", "add+relu"]
    assert kinds(rl.fuse(graph, rules="onnxruntime")) == ["conv2d", "add", "relu"]
    both = b.build(outputs=[b.relu(y, name="one"), b.tanh(y)])
    assert kinds(rl.fuse(both, rules="tflite"))[1] == "add"


# -- TVM ---------------------------------------------------------------------------------------------------------------


def test_tvm_takes_the_residual_add_behind_one_anchor():
    """OSDI 2018, section 3: complex-out-fusable operators take elementwise ones behind them; one anchor in a group."""
    b = rl.GraphBuilder("residual")
    x = b.input("x", (1, 4, 8, 8))
    left, right = b.conv2d(x, 4, name="left", bias=False), b.conv2d(x, 4, name="right", bias=False)
    graph = b.build(outputs=[b.relu(b.add(left, right))])
    assert kinds(rl.fuse(graph, rules="tvm")) == ["conv2d", "conv2d+add+relu"]
    assert why_not(graph, "right", "add_0", "tvm") == (
        "not fused: the group of add_0 is OutEWiseFusable already, too much behind right (OutEWiseFusable)."
    )


def test_tvm_fuses_a_diamond_when_every_path_passes():
    b = rl.GraphBuilder("diamond")
    y = b.relu(b.input("x", (1, 4, 8, 8)))
    graph = b.build(outputs=[b.add(b.sigmoid(y), b.tanh(y))])
    assert kinds(rl.fuse(graph, rules="tvm")) == ["relu+sigmoid+tanh+add"]
    b = rl.GraphBuilder("blocked")
    y = b.relu(b.input("x", (1, 4, 8, 8)))
    graph = b.build(outputs=[b.add(b.softmax(y), b.tanh(y))])  # softmax is opaque and stands on one of the paths
    assert kinds(rl.fuse(graph, rules="tvm")) == ["relu", "softmax", "tanh+add"]
    assert why_not(graph, "relu_0", "tanh_0", "tvm") == (
        "not fused: TVM does not put softmax_0 (Opaque) behind relu_0 (ElemWise)."
    )
    assert why_not(graph, "softmax_0", "add_0", "tvm") == "not fused: softmax_0 (softmax) is opaque to TVM."


def test_tvm_fuses_elementwise_into_a_reduction_and_nothing_behind_it():
    b = rl.GraphBuilder("reduction")
    y = b.reduce_sum(b.exp(b.input("x", (4, 8))), [1])
    graph = b.build(outputs=[b.relu(y)])
    assert kinds(rl.fuse(graph, rules="tvm")) == ["exp+reduce_sum", "relu"]
    assert why_not(graph, "reduce_sum_0", "relu_0", "tvm") == (
        "not fused: TVM puts nothing behind a reduction, and reduce_sum_0 is one."
    )
    assert why_not(graph, "exp_0", "relu_0", "tvm") == "not fused: relu_0 does not read what exp_0 makes."


def test_tvm_fuses_injective_chains_in_its_second_phase():
    b = rl.GraphBuilder("injective")
    y = b.transpose(b.concat([b.input("x", (4, 8)), b.input("y", (4, 8))]), (1, 0))
    graph = b.build(outputs=[b.relu(y)])
    assert kinds(rl.fuse(graph, rules="tvm")) == ["concat+transpose+relu"]


def test_a_result_of_the_graph_has_no_post_dominator():
    b = rl.GraphBuilder("kept")
    y = b.relu(b.input("x", (4, 8)))
    graph = b.build(outputs=[y, b.tanh(y)])
    assert len(rl.fuse(graph, rules="tvm")) == 2
    assert why_not(graph, "relu_0", "tanh_0", "tvm") == (
        "not fused: what relu_0 makes is a result, or leads to several."
    )


def test_the_limit_that_stopped_a_group_is_named():
    """F8: five multiplications and four additions, depth 4; TVM's own limit is 256 operators."""
    b = rl.GraphBuilder("many")
    y = b.input("x", (4, 8))
    for i in range(5):
        y = b.mul(y, b.weight(f"m_{i}", (1,)))
    for i in range(4):
        y = b.add(y, b.weight(f"a_{i}", (1,)))
    graph = b.build(outputs=[y])
    assert [len(k.operators) for k in rl.fuse(graph, rules="tvm").kernels] == [9]
    assert max(len(k.operators) for k in rl.fuse(graph, rules="tvm", depth=4).kernels) == 4
    from roofline_lessons.fusion.dominators import Partition

    reasons = Partition(graph, RULE_SETS["tvm"].patterns, 4).reasons.values()
    assert any(said.endswith("would be 5 operators, over the depth limit of 4.") for said in reasons)
    long = rl.fuse(rl.networks.elementwise_chain(300), rules="tvm")
    assert max(len(k.operators) for k in long.kernels) == 256


def test_tvm_leaves_nothing_to_search():
    with pytest.raises(rl.FusionError, match="“tvm” decides by post-dominators and leaves nothing to search: use fuse"):
        rl.best_plan(rl.networks.fork(), PI, rules="tvm")


# -- subgraphs ---------------------------------------------------------------------------------------------------------


def gelu_erf(b, x, half_first=False):
    y = b.add(b.erf(b.div(x, b.weight("root", (1,)))), b.weight("one", (1,)))
    half = b.weight("half", (1,))
    return b.mul(b.mul(x, half), y) if half_first else b.mul(b.mul(x, y), half)


def layer_norm(b, x, eps_inside=True, by_itself=False):
    y = b.sub(x, b.reduce_mean(x, [1], keepdims=True))
    variance = b.reduce_mean(b.mul(y, y) if by_itself else b.pow(y, b.weight("2", (1,))), [1], keepdims=True)
    root = (
        b.sqrt(b.add(variance, b.weight("eps", (1,)))) if eps_inside else b.add(b.sqrt(variance), b.weight("eps", (1,)))
    )
    return b.add(b.mul(b.div(y, root), b.weight("gamma", (8,))), b.weight("beta", (8,)))


def layer_norm_scaled(b, x):
    mean = b.reduce_mean(x, [1], keepdims=True)
    variance = b.reduce_mean(b.square(b.sub(x, mean)), [1], keepdims=True)
    scale = b.mul(b.rsqrt(b.add(variance, b.weight("eps", (1,)))), b.weight("gamma", (8,)))
    return b.add(b.mul(x, scale), b.sub(b.weight("beta", (8,)), b.mul(mean, scale)))


@pytest.mark.parametrize(
    "rules, spelling",
    [
        ("coreml", gelu_erf),
        ("coreml", layer_norm_scaled),
        ("onnxruntime", gelu_erf),
        ("onnxruntime", lambda b, x: gelu_erf(b, x, half_first=True)),
        ("onnxruntime", layer_norm),
    ],
)
def test_spelt_out_operators_become_one_kernel(rules, spelling):
    b = rl.GraphBuilder("spelt")
    graph = b.build(outputs=[b.dense(spelling(b, b.dense(b.input("x", (4, 8)), 8)), 8)])
    plan = rl.fuse(graph, rules=rules)
    assert len(plan) == 3 and len(plan.kernels[1].operators) == len(graph) - 2
    inner = [op.name for op in plan.kernels[1].operators]
    assert why_not(graph, inner[0], inner[1], rules) is None


def test_another_spelling_of_the_same_is_not_found():
    """engines.md: fusion by pattern is syntactic; tests/engines asks the engines themselves."""

    def kernels(spelling, rules, **how):
        b = rl.GraphBuilder("spelt otherwise")
        graph = b.build(outputs=[spelling(b, b.input("x", (4, 8)), **how)])
        return len(graph) - len(rl.fuse(graph, rules=rules))

    assert kernels(layer_norm, "onnxruntime") == 8 and kernels(layer_norm_scaled, "coreml") == 10
    assert kernels(layer_norm, "onnxruntime", eps_inside=False) == 0
    assert kernels(layer_norm, "onnxruntime", by_itself=True) == 0  # y · y is not y²
    times_inverse = lambda b, x: b.mul(x, b.div(b.weight("1", (1,)), b.sqrt(b.reduce_mean(b.pow(  # noqa: E731
        x, b.weight("2", (1,))), [1], keepdims=True))))  # fmt: skip
    assert kernels(times_inverse, "onnxruntime") == 0  # x · (1 / root) is no x / root · gamma
    assert kernels(layer_norm, "coreml") == kernels(layer_norm_scaled, "onnxruntime") == 0


def test_a_subgraph_with_a_result_needed_elsewhere_is_not_one():
    b = rl.GraphBuilder("leaks")
    x = b.input("x", (4, 8))
    y = gelu_erf(b, x)
    graph = b.build(outputs=[y])
    leaking = rl.Graph("leaks", graph.inputs, graph.operators, [*graph.outputs, graph["erf_0"].output])
    assert len(rl.fuse(graph, rules="onnxruntime")) == 1 and len(rl.fuse(leaking, rules="onnxruntime")) == len(graph)
    assert len(rl.fuse(graph, rules="onnxruntime", depth=4)) == len(graph)  # five operators do not fit in four


def test_skip_layer_norm_is_an_addition_and_a_norm():
    b = rl.GraphBuilder("skip")
    x = b.input("x", (4, 8))
    graph = b.build(outputs=[b.layer_norm(b.add(x, b.dense(x, 8)))])
    assert kinds(rl.fuse(graph, rules="onnxruntime")) == ["dense", "add+layer_norm"]


def test_the_best_plan_of_a_rule_set_knows_its_subgraphs():
    b = rl.GraphBuilder("spelt")
    graph = b.build(outputs=[gelu_erf(b, b.input("x", (4, 8)))])
    assert len(rl.best_plan(graph, PI, rules="onnxruntime")) == 1


@pytest.mark.parametrize("name", RULE_SETS)
def test_every_rule_set_says_whose_it_is(name):
    assert len(RULE_SETS[name].whose) > 20 and RULE_SETS[name].name == name


@pytest.mark.parametrize("depth, kernels", [(1, 5), (2, 3), (3, 2), (4, 2)])
def test_depth_is_the_most_operators_of_one_kernel(depth, kernels):
    plan = rl.fuse(block(), rules="epilogue" if depth > 2 else "depth-first", depth=depth)
    assert max(len(k.operators) for k in plan.kernels) <= depth and len(plan) == kernels + (depth == 3)


@given(graphs())
def test_fusing_without_tiles_never_adds_bytes_or_work(graph):
    before = rl.unfused(graph)
    for rules in RULE_SETS:
        after = rl.fuse(graph, rules=rules)
        assert sorted(op.name for k in after.kernels for op in k.operators) == sorted(
            op.name for k in before.kernels for op in k.operators
        )
        toy = rl.Device("toy", {"fp32": 1e12}, 1e11)
        a, b = rl.estimate(after, toy), rl.estimate(before, toy)
        assert a.dram_bytes <= b.dram_bytes and a.flops <= b.flops and a.seconds <= b.seconds * (1 + 1e-12)


# -- folding -----------------------------------------------------------------------------------------------------------


def folded_graph(
    *, bias: bool = False, second_reader: bool = False, act: bool = False, keep: bool = False
) -> tuple[rl.Graph, list[list[str]]]:
    """A convolution and its batch norm, and what is to be one kernel."""
    b = rl.GraphBuilder("fold")
    y = b.conv2d(b.input("x", (1, 4, 8, 8)), 4, bias=bias)
    z = b.batch_norm(b.relu(y) if act else y)
    outputs = [z] + ([b.relu(y, name="other")] if second_reader else []) + ([y] if keep else [])
    return b.build(outputs=outputs), [["conv_0", "batch_norm_0"] + (["relu_0"] if act else [])]


def folded(**case: bool) -> rl.Kernel:
    graph, groups = folded_graph(**case)
    return rl.fuse(graph, groups=groups, fold=True).kernel_of("conv_0")


def test_folding_trades_four_vectors_and_two_operations_for_a_bias():
    kernel = folded()
    assert [op.name for op in kernel.folded] == ["batch_norm_0"]
    assert kernel.other_flops == 4 * 64  # the bias: one addition per output element
    assert [(r.tensor.name, r.elements) for r in kernel.reads][-1] == ("batch_norm_0.folded", 4)


def test_folding_into_a_bias_costs_nothing():
    kernel = folded(bias=True)
    assert kernel.other_flops == 4 * 64 and len(kernel.reads) == 3


@pytest.mark.parametrize("case", ["second_reader", "act", "keep"])
def test_no_folding_where_someone_would_see_it(case):
    """F1 (another reader), F2 (never through an activation), and an output of the graph."""
    assert folded(**{case: True}).folded == ()


def test_no_folding_of_a_shared_weight():
    b = rl.GraphBuilder("shared")
    x, w = b.input("x", (1, 4, 8, 8)), b.weight("w", (4, 4, 1, 1))
    y = b.batch_norm(b.conv2d(x, 4, weight=w, bias=False))
    graph = b.build(outputs=[b.conv2d(y, 4, weight=w, bias=False)])
    assert rl.fuse(graph, rules="epilogue").kernel_of("conv_0").folded == ()


# -- sentences ---------------------------------------------------------------------------------------------------------


def diamond() -> rl.Graph:
    b = rl.GraphBuilder("diamond")
    y = b.relu(b.input("x", (1, 8)))
    return b.build(outputs=[b.add(y, b.softmax(y))])


def test_a_kernel_is_convex_and_says_who_is_in_the_way():
    graph = diamond()
    words = "not fused: relu_0 and add_0 cannot share a kernel without softmax_0, which needs relu_0 and feeds add_0."
    assert rl.unfused(graph).why_not("relu_0", "add_0") == words
    with pytest.raises(rl.FusionError, match="without softmax_0"):
        rl.fuse(graph, groups=[["relu_0", "add_0"]])
    assert rl.unfused(graph).why_not("relu_0", "softmax_0") is None


def test_kernels_must_not_wait_for_each_other():
    b = rl.GraphBuilder("cross")
    x, y = b.input("x", (1, 8)), b.input("y", (1, 8))
    p, q = b.relu(x, name="p"), b.relu(y, name="q")
    graph = b.build(outputs=[b.add(p, q, name="a"), b.exp(q, name="e"), b.mul(b.exp(p, name="f"), q, name="m")])
    plan = rl.fuse(graph, groups=[["p", "a"], ["q", "e"]])
    assert len(plan) == 4


def test_strangers_do_not_share_a_kernel():
    b = rl.GraphBuilder("strangers")
    graph = b.build(outputs=[b.relu(b.input("x", (1, 8))), b.relu(b.input("y", (1, 8)))])
    assert rl.unfused(graph).why_not("relu_0", "relu_1") == "not fused: relu_0 and relu_1 share no tensor."


@pytest.mark.parametrize(
    "a, b, rules, words",
    [
        ("relu_0", "leaky_relu_0", "tflite", "“tflite” does not put leaky_relu (leaky_relu_0) behind relu"),
        ("leaky_relu_0", "add_0", "epilogue", "add_0 also reads x, which is not a constant"),
        ("conv_0", "relu_0", "epilogue", "relu_0 does not read conv_0.out"),
        ("conv_0", "batch_norm_0", "epilogue", None),
    ],
)
def test_a_rule_set_says_what_it_would_not_do(a, b, rules, words):
    said = why_not(block(), a, b, rules)
    assert said is None if words is None else words in said


def test_a_second_reader_is_named():
    assert "relu_0.out is also read by softmax_0" in why_not(
        diamond(), "relu_0", "add_0", rl.fusion.RuleSet("any", "", {"relu": frozenset({"add"})})
    )


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"rules": "epilog"}, "unknown rule set 'epilog': did you mean 'epilogue'"),
        ({"rules": "none", "groups": []}, "either groups by hand, or rules"),
        ({"rules": "none", "depth": 0}, "depth must be a whole number of at least 1, not 0"),
        ({"groups": [["conv_9"]]}, "unknown operator of block 'conv_9': did you mean 'conv_0'"),
        ({"groups": [["conv_0"], ["conv_0"]]}, "conv_0 is in two kernels"),
    ],
)
def test_wrong_arguments_say_what_is_right(arguments, words):
    with pytest.raises(ValueError, match=words):
        rl.fuse(block(), **arguments)


def test_diff_says_which_tensors_stopped_travelling():
    graph = block()
    saved = rl.unfused(graph).diff(rl.fuse(graph, rules="epilogue"))
    assert [s.tensor for s in saved[:3]] == ["conv_0.out", "batch_norm_0.out", "relu_0.out"]
    assert all(s.bytes_saved == 2 * 4 * 8 * 16 * 16 for s in saved[:3])
    with pytest.raises(rl.FusionError, match="plans of different graphs: block and diamond"):
        rl.unfused(graph).diff(rl.unfused(diamond()))
