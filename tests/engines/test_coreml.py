"""Core ML: the passes of coremltools, really run; predictions on a Mac only."""

import sys

import numpy as np
import pytest

import roofline_lessons as rl
from roofline_lessons.engines import BLOCKS, SPELLINGS, EngineError, block, differences, plan_of
from roofline_lessons.engines.blocks import gelu
from roofline_lessons.engines.weights_and_inputs import inputs_of, weights_of
from roofline_lessons.execute import execute
from roofline_lessons.measure import Bench
from tests.engines.conftest import engine, image, merged, of

coreml = engine("coreml")
ON_A_MAC = sys.platform == "darwin"


def number(b, value):
    return b.weight(value, ())


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_are_merged_as_our_rules_say(name):
    assert differences(block(name), coreml.fusions(block(name)), "coreml") == []


@pytest.mark.parametrize("name", ["mobilenet_v2", "resnet50"])
def test_whole_networks_are_merged_as_our_rules_say(name):
    graph = getattr(rl.networks, name)(resolution=64)
    merges = coreml.fusions(graph)
    assert differences(graph, merges, "coreml") == []
    assert {m.rule for m in merges} == {"fuse_conv_batchnorm"}
    assert len(plan_of(graph, merges)) == len(rl.fuse(graph, "coreml"))


def test_one_spelling_of_four_is_found_and_it_is_another_one():
    found = {name: [m.rule for m in coreml.fusions(block(name))] for name in SPELLINGS}
    assert found == {name: ["fuse_layernorm_or_instancenorm"] if name.endswith("scaled") else [] for name in SPELLINGS}


def test_which_pass_does_what():
    graph = block("conv_bn_relu")
    assert coreml.by_pass(graph) == {
        "fuse_conv_batchnorm": (["conv", "batch_norm", "relu"] * 2, ["conv", "relu"] * 2)
    }  # an activation stays alone: engines.md
    assert coreml.only(graph) == coreml.kinds(graph, "no passes") == ["conv", "batch_norm", "relu"] * 2
    assert coreml.only(graph, "fuse_conv_batchnorm") == coreml.kinds(graph) == ["conv", "relu"] * 2
    assert coreml.only(graph, "fuse_conv_bias", "common::fuse_conv_scale") == ["conv", "batch_norm", "relu"] * 2
    with pytest.raises(
        ValueError, match="unknown pass of coremltools 'fuse_conv_batch_norm': did you mean 'fuse_conv_b"
    ):
        coreml.only(graph, "fuse_conv_batch_norm")


PAIRS = {
    "conv+mul+add -> conv": (image, "fuse_conv_scale + fuse_conv_bias", lambda b, x: b.relu(b.add(
        b.mul(b.conv2d(x, 4), b.weight("s", (4, 1, 1))), b.weight("t", (4, 1, 1))))),
    "conv+bias_add -> conv": (image, "fuse_conv_bias", lambda b, x: b.bias_add(b.conv2d(x, 4, bias=False))),
    "conv+sub -> conv": (image, "fuse_conv_bias", lambda b, x: b.sub(b.conv2d(x, 4), b.weight("t", (4, 1, 1)))),
    "conv+div -> conv": (image, "fuse_conv_scale", lambda b, x: b.div(b.conv2d(x, 4), b.weight("s", (4, 1, 1)))),
    "conv_transpose+batch_norm -> conv_transpose": (image, "fuse_conv_batchnorm", lambda b, x: b.relu(b.batch_norm(
        b.conv_transpose2d(x, 4, 2, stride=2)))),
    "dense+add -> linear": (of, "fuse_matmul_weight_bias", lambda b, x: b.add(
        b.dense(x, 8, bias=False), b.weight("t", (8,)))),
    "dense+bias_add -> linear": (of, "fuse_matmul_weight_bias", lambda b, x: b.bias_add(
        b.dense(x, 8, bias=False), axis=-1)),
    "relu+relu -> relu": (of, "merge_consecutive_relus", lambda b, x: b.relu(b.relu(x))),
    "div+erf+add+mul+mul -> gelu": (of, "fuse_gelu_exact", gelu),
    "pow+mul+add+mul+tanh+add+mul+mul -> gelu": (of, "fuse_gelu_tanh_approximation", lambda b, x: b.mul(x, b.mul(
        b.add(b.tanh(b.mul(b.add(b.mul(b.pow(x, number(b, "3.0")), number(b, "0.044715")), x),
                           number(b, "0.7978845608"))), number(b, "1.0")), number(b, "0.5")))),
}  # fmt: skip


@pytest.mark.parametrize("expected, case", PAIRS.items(), ids=list(PAIRS))
def test_what_goes_together(expected, case):
    graph = case[0](case[2])
    merges = coreml.fusions(graph)
    assert merged(merges) == [expected] and merges[0].rule.endswith(case[1])
    assert differences(graph, merges, "coreml") == []


ALONE = {
    **{f"conv, {act}": (image, lambda b, x, act=act: getattr(b, act)(b.conv2d(x, 4))) for act in (
        "relu relu6 leaky_relu sigmoid tanh hard_sigmoid elu silu gelu clip").split()},
    "pool, relu": (image, lambda b, x: b.relu(b.max_pool(x, 2))),
    "dense, relu": (of, lambda b, x: b.relu(b.dense(x, 8))),
    "matmul, mul": (of, lambda b, x: b.mul(b.matmul(x, b.input("y", (16, 8))), number(b, "0.125"))),
    "sigmoid, mul": (of, lambda b, x: b.mul(x, b.sigmoid(x))),
    "relu, relu6": (of, lambda b, x: b.relu6(b.relu(x))),
}  # fmt: skip


@pytest.mark.parametrize("case", ALONE.values(), ids=list(ALONE))
def test_what_stays_alone(case):
    graph = case[0](case[1])
    assert coreml.fusions(graph) == differences(graph, [], "coreml") == []


def test_a_second_batch_norm_is_folded_too():
    """Documented difference: our rules fold the one directly behind the convolution."""
    graph = image(lambda b, x: b.batch_norm(b.batch_norm(b.conv2d(x, 4, bias=False))))
    assert merged(coreml.fusions(graph)) == ["conv+batch_norm+batch_norm -> conv"]
    assert differences(graph, coreml.fusions(graph), "coreml")


def test_names_that_mil_does_not_allow():
    b = rl.GraphBuilder("names")
    x = b.input("1 input!", (4, 16))
    graph = b.build(outputs=[b.relu(b.relu(x, name="a.b"), name="a_b")])
    assert [m.before for m in coreml.fusions(graph)] == [("a.b", "a_b")]


@pytest.mark.skipif(ON_A_MAC, reason="a Mac can")
def test_predicting_needs_a_mac():
    with pytest.raises(EngineError, match="Core ML predicts on macOS only, and this is .*: its passes can be run"):
        coreml.run(block("residual"))
    with pytest.raises(EngineError, match="how long it takes cannot"):
        coreml.seconds(block("residual"))


@pytest.mark.skipif(not ON_A_MAC, reason="Core ML predicts on macOS only")
@pytest.mark.parametrize("name", ["conv_bn_relu", "gelu"])
def test_on_a_mac_it_runs(name):
    graph = block(name)
    (expected,) = execute(graph, weights_of(graph) | inputs_of(graph)).values()
    for variant in coreml.VARIANTS:
        (y,) = coreml.run(graph, variant=variant).values()
        np.testing.assert_allclose(y, expected, rtol=1e-2, atol=1e-2)
    found = coreml.seconds(graph, bench=Bench(rounds=2, batch_seconds=1e-3))
    assert list(found) == list(coreml.VARIANTS)


def test_what_is_not_written_is_told():
    with pytest.raises(EngineError, match="hard_swish_0: hard_swish is not written for Core ML"):
        coreml.fusions(of(lambda b, x: b.hard_swish(x)))
    with pytest.raises(EngineError, match="Core ML is given a Graph here .* not 'm.onnx'"):
        coreml.fusions("m.onnx")
    with pytest.raises(ValueError, match="unknown variant of Core ML 'default': did you mean 'default passes'"):
        coreml.kinds(block("gelu"), "default")
