"""PyTorch: what Inductor merges, asked of it; equal outputs; times. Skipped where PyTorch is not installed."""

import numpy as np
import pytest

import roofline_lessons as rl
from roofline_lessons.engines import BLOCKS, SPELLINGS, EngineError, block, differences, plan_of
from roofline_lessons.engines.torch_write import KINDS, network
from roofline_lessons.engines.weights_and_inputs import inputs_of, weights_of
from roofline_lessons.execute import execute
from roofline_lessons.measure import Bench
from roofline_lessons.networks.blocks import self_attention
from tests.engines.conftest import engine, image, of

torch = engine("torch")


def expected(graph):
    return execute(graph, weights_of(graph) | inputs_of(graph))


def assert_same(graph, variant, tolerance=1e-4):
    found, right = torch.run(graph, variant=variant), expected(graph)
    assert list(found) == list(right)
    for name, y in right.items():
        np.testing.assert_allclose(found[name], y, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("variant", torch.VARIANTS)
@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_compute_what_they_should(name, variant):
    assert_same(block(name), variant)


# -- what is merged ----------------------------------------------------------------------------------------------------

_REDUCING = {"add_layer_norm", *SPELLINGS}


@pytest.mark.parametrize("name", [name for name in BLOCKS if name not in _REDUCING])
def test_compiled_is_loop_fusion_and_frozen_is_tvm(name):
    """Convolutions and products are a library's; only with constant weights does it take in what comes behind."""
    graph = block(name)
    assert differences(graph, torch.fusions(graph), "elementwise") == []
    assert differences(graph, torch.fusions(graph, "frozen"), "tvm") == []
    assert torch.fusions(graph, "eager") == []


@pytest.mark.parametrize(
    "name, variant, rules",
    [
        ("mobilenet_v2", "compiled", "elementwise"),
        ("mobilenet_v2", "frozen", "tvm"),
        ("resnet50", "frozen", "onnxruntime-all"),
    ],
)
def test_whole_networks_are_merged_as_our_rules_say(name, variant, rules):
    graph = getattr(rl.networks, name)(resolution=64)
    merges = torch.fusions(graph, variant)
    assert differences(graph, merges, rules) == []
    assert len(plan_of(graph, merges)) == len(rl.fuse(graph, rules))


@pytest.mark.parametrize("name", ["conv_bn_relu", "residual"])
def test_convolutions_are_calls_of_a_library(name):
    graph = block(name)
    compiled, frozen = (torch.kernels(graph, variant) for variant in ("compiled", "frozen"))
    assert [k.operators for k in compiled if k.is_library] == [("conv_0",), ("conv_1",)]
    assert [k.operators[0] for k in frozen if k.is_library] == ["conv_0", "conv_1"]
    assert {m.rule for m in torch.fusions(graph)} == {"one loop"}
    assert {m.rule for m in torch.fusions(graph, "frozen")} == {"library call"}


def test_a_library_does_the_sum_of_a_residual_block_and_what_follows_it():
    last = [k for k in torch.kernels(block("residual"), "frozen") if k.is_library][-1]
    assert last.operators == ("conv_1", "batch_norm_1", "add_0", "relu_1") and last.name.endswith(" + add + relu")


@pytest.mark.parametrize("name", sorted(_REDUCING))
def test_reductions_are_merged_with_what_is_around_them(name):
    """Documented difference: our rule sets let nothing follow a reduction. And no spelling has to be known."""
    graph = block(name)
    (merge,) = torch.fusions(graph)
    assert merge.before == tuple(op.name for op in graph) and len(plan_of(graph, [merge])) == 1
    assert differences(graph, [merge], "elementwise")


def test_operators_side_by_side_are_merged():
    """Documented difference: our rules leave alone what two operators read."""
    graph = rl.networks.fork(1 << 12)
    assert [m.before for m in torch.fusions(graph)] == [("relu_0", "double", "plus_one")]
    assert len(rl.fuse(graph, "elementwise")) == 3


def test_both_ways_into_a_sum_are_merged():
    """Documented difference: our greedy pass takes a sum into one of its makers. ResNet-50 has four such places."""
    graph = image(lambda b, x: b.relu(b.add(b.batch_norm(b.conv2d(x, 4)), b.batch_norm(b.conv2d(x, 4)))))
    assert torch.fusions(graph)[-1].before == ("batch_norm_0", "batch_norm_1", "add_0", "relu_0")
    assert len(differences(graph, torch.fusions(graph), "elementwise")) == 4


def test_a_batch_norm_is_folded_also_when_nothing_follows():
    graph = image(lambda b, x: b.conv2d(b.batch_norm(b.conv2d(x, 4)), 4))
    assert [m.before for m in torch.fusions(graph, "frozen")] == [("conv_0", "batch_norm_0")]
    assert torch.fusions(graph) == []
    assert_same(graph, "frozen")


def test_attention_of_three_operators_stays_three():
    graph = rl.networks.attention(64, 2, 32)
    assert torch.fusions(graph) == differences(graph, [], "elementwise") == []
    assert [k.is_library for k in torch.kernels(graph)] == [True, False, True]


def test_attention_with_heads_is_found_and_is_one_call():
    b = rl.GraphBuilder("layer")
    y, _ = self_attention(b, b.input("x", (1, 16, 64)), "l", 4)
    graph = b.build(outputs=[y])
    (merge,) = torch.fusions(graph)
    assert merge.before == ("l.scores", "l.softmax", "l.weighted_sum") and "attention" in merge.after[0]
    assert differences(graph, [merge], "attention") == []
    assert_same(graph, "compiled")


def test_names_do_not_get_mixed_up():
    """torch.compile makes up names (add, add_1), and bias_add is an add, too."""
    b = rl.GraphBuilder("names")
    x = b.input("1 input!", (4, 16))
    for i in range(3):
        x = b.add(b.bias_add(x, axis=-1, name=f"bias.{i}"), b.weight(f"w{i}", (16,)), name=f"add_{2 - i}")
    graph = b.build(outputs=[b.relu(b.sqrt(b.exp(x), name="for"), name="bias_0")])
    (merge,) = torch.fusions(graph)
    assert merge.before == tuple(op.name for op in graph)
    assert_same(graph, "compiled")


# -- the code ----------------------------------------------------------------------------------------------------------


def test_the_code_is_there_to_be_read():
    graph = of(lambda b, x: b.relu(b.exp(x)))
    (kernel,) = torch.kernels(graph)
    assert kernel.name in torch.code(graph) and kernel.source in torch.code(graph)
    assert len(kernel.loops) == 1 and kernel.passes == {"in_ptr0": 1, "out_ptr0": 1}
    assert torch.kinds(graph) == [kernel.name] and torch.kinds(graph, "eager") == ["exp", "relu"]
    with pytest.raises(EngineError, match="In eager mode PyTorch writes no code"):
        torch.code(graph, "eager")


def test_one_compiled_graph_does_not_make_another_forgotten():
    from torch._dynamo.utils import counters

    one, two = of(lambda b, x: b.relu(x)), of(lambda b, x: b.exp(x))
    torch.run(one), torch.run(two)
    before = counters["stats"]["unique_graphs"]
    torch.run(one), torch.run(two)
    torch.seconds(one, bench=Bench(rounds=2, batch_seconds=1e-4))
    assert counters["stats"]["unique_graphs"] == before + 1  # the frozen one is new


# -- times -------------------------------------------------------------------------------------------------------------


def test_times_are_taken_on_one_thread_which_is_not_kept():
    import torch as pytorch

    threads = pytorch.get_num_threads()
    found = torch.seconds(of(lambda b, x: b.relu(x)), bench=Bench(rounds=2, batch_seconds=1e-4))
    assert list(found) == list(torch.VARIANTS) and all(t.seconds > 0 for t in found.values())
    assert pytorch.get_num_threads() == threads and pytorch.is_grad_enabled()


def test_results_are_measured_here_and_kept():
    made = rl.engines.compiled("chain")
    assert made.where == "measured here" and made.version == rl.engines.available()["torch"]
    assert rl.engines.compiled("chain") is made and len(made.plan()) == 1
    assert rl.engines.compiled("chain", again=True) is not made


# -- every kind --------------------------------------------------------------------------------------------------------

_UNARY = "relu relu6 leaky_relu elu sigmoid tanh silu gelu hard_sigmoid hard_swish exp square erf neg clip".split()
KIND = {
    **{kind: (of, lambda b, x, kind=kind: getattr(b, kind)(x)) for kind in _UNARY},
    **{kind: (of, lambda b, x, kind=kind: getattr(b, kind)(x, b.weight("w", (16,)))) for kind in (
        "add sub mul div maximum minimum").split()},
    "sqrt": (of, lambda b, x: b.sqrt(b.exp(x))), "rsqrt": (of, lambda b, x: b.rsqrt(b.exp(x))),
    "pow": (of, lambda b, x: b.pow(x, b.weight("2.0", ()))), "prelu": (image, lambda b, x: b.prelu(x)),
    "conv2d": (image, lambda b, x: b.conv2d(x, 8, 3, stride=2, padding=(0, 1, 1, 0), groups=2)),
    "conv_transpose2d": (image, lambda b, x: b.conv_transpose2d(x, 4, 3, stride=2, padding=1, output_padding=1)),
    "max_pool": (image, lambda b, x: b.max_pool(x, 3, stride=2, padding="same")),
    "avg_pool": (image, lambda b, x: b.avg_pool(b.avg_pool(x, 3, padding=1), 2, padding=(1, 0, 0, 1))),
    "dense": (of, lambda b, x: b.dense(b.dense(x, 8), 3, bias=False)),
    "matmul": (of, lambda b, x: b.matmul(b.reshape(x, (4, 4, 4)), b.input("y", (2, 4, 4)), share=2, transpose_b=True)),
    "bias_add": (image, lambda b, x: b.bias_add(b.bias_add(x), axis=-1)),
    "batch_norm": (image, lambda b, x: b.batch_norm(x)), "layer_norm": (of, lambda b, x: b.layer_norm(x)),
    "rms_norm": (of, lambda b, x: b.rms_norm(x)), "softmax": (image, lambda b, x: b.softmax(x, axis=1)),
    "reduce_sum": (image, lambda b, x: b.reduce_sum(x, (2, 3))),
    "reduce_mean": (image, lambda b, x: b.reduce_mean(x, (1,), keepdims=True)),
    "reduce_max": (image, lambda b, x: b.reduce_max(x, (0, 3))),
    "concat": (image, lambda b, x: b.concat([x, b.relu(x)], axis=2)),
    "transpose": (image, lambda b, x: b.transpose(x, (0, 2, 3, 1))),
    "slice": (of, lambda b, x: b.slice(x, 3, 7, axis=1)),
    "expand": (of, lambda b, x: b.expand(b.reduce_sum(x, (1,), keepdims=True), (4, 5))),
    "gather": (of, lambda b, x: b.gather(x, b.input("i", (3,), bits=32))),
    "upsample_nearest": (image, lambda b, x: b.upsample(x, 2)),
    "upsample_bilinear": (image, lambda b, x: b.upsample(x, 2, mode="bilinear")),
    "reshape": (of, lambda b, x: b.relu(b.reshape(x, (8, -1)))), "flatten": (image, lambda b, x: b.relu(b.flatten(x))),
    "squeeze": (image, lambda b, x: b.relu(b.squeeze(x, (0,)))), "identity": (of, lambda b, x: b.relu(b.identity(x))),
    "dropout": (of, lambda b, x: b.dropout(x)),
}  # fmt: skip


def test_every_kind_is_tried():
    assert set(KIND) == set(KINDS)


@pytest.mark.parametrize("kind", KIND)
def test_every_kind_computes_what_it_should(kind):
    make, build = KIND[kind]
    graph = make(build)
    assert kind in {op.kind for op in graph}
    assert_same(graph, "eager", 1e-5)


def test_nodes_are_called_as_our_operators_are():
    made = network(of(lambda b, x: b.matmul(x, b.input("y", (8, 16)), transpose_b=True)))
    assert made.operators == {"matmul_0_step1_": "matmul_0", "matmul_0_": "matmul_0"}


# -- what cannot be ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "graph, words",
    [
        (of(lambda b, x: b.rotary(x, b.input("a", (4, 16)))), "rotary_0: rotary is not written for PyTorch"),
        (of(lambda b, x: b.softmax(x, triangle=True)), "softmax_0: the softmax of causal attention"),
        (
            of(lambda b, x: b.matmul(x, x, transpose_b=True, triangle="output")),
            "matmul_0: products of causal attention",
        ),
        (image(lambda b, x: b.conv_transpose2d(x, 4, 3, padding=(0, 1, 0, 1))), r"alike on both sides, not \(0, 1, 0"),
        ("m.onnx", "PyTorch is given a Graph here .* not 'm.onnx'"),
    ],
)
def test_what_is_not_written_is_told(graph, words):
    with pytest.raises(EngineError, match=words):
        torch.fusions(graph)


def test_wrong_inputs_are_told():
    graph = of(lambda b, x: b.relu(x))
    with pytest.raises(EngineError, match=r"toy: the input 'x' is \(4, 16\), not \(4, 8\)"):
        torch.run(graph, {"x": np.zeros((4, 8))})
    with pytest.raises(ValueError, match="unknown input of toy 'y': Allowed: x"):
        torch.run(graph, {"y": np.zeros((4, 16))})
    (y,) = torch.run(graph, {"x": -np.ones((4, 16))}).values()
    assert not y.any() and y.dtype == np.float32


def test_a_graph_of_views_has_no_kernel():
    graph = of(lambda b, x: b.reshape(x, (8, 8)))
    assert torch.kernels(graph) == torch.kernels(graph, "eager") == ()
    assert_same(graph, "compiled")


def test_a_wrong_variant_is_told():
    with pytest.raises(ValueError, match="unknown variant of PyTorch 'frozn': did you mean 'frozen'"):
        torch.kinds(block("chain"), "frozn")


def test_a_missing_compiler_is_told():
    import torch._inductor.config as config

    graph = of(lambda b, x: b.relu(b.tanh(b.exp(x))), (3, 17))
    with config.patch({"cpp.cxx": ("no-such-compiler",)}):
        with pytest.raises(
            EngineError, match=r"torch.compile cannot compile toy: .*no-such-compiler.*It needs a C\+\+ compiler: g\+\+"
        ):
            torch.fusions(graph)
