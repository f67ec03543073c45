"""TensorFlow Lite, really run: twin files, what they fuse, and that our rule set says the same as the converter."""

import collections
import importlib.util
import os

import numpy as np
import pytest
import tflite

import roofline_lessons as rl
from roofline_lessons.engines import BLOCKS, EngineError, block, differences, plan_of
from roofline_lessons.engines.weights_and_inputs import inputs_of, weights_of
from roofline_lessons.execute import execute
from roofline_lessons.fusion import RULE_SETS
from roofline_lessons.measure import Bench
from tests.engines.conftest import engine, image, merged, of
from tests.readers.conftest import shared  # noqa: F401  (the folder with the MLPerf Tiny files)

litert = engine("litert")

WRITTEN = [name for name in BLOCKS if name != "gelu"]  # TensorFlow Lite has no erf


@pytest.mark.parametrize("name", WRITTEN)
def test_twins_compute_the_same(name):
    graph = block(name)
    (expected,) = execute(graph, weights_of(graph) | inputs_of(graph)).values()
    for variant in litert.VARIANTS:
        (y,) = litert.run(graph, variant=variant).values()
        np.testing.assert_allclose(y, expected, rtol=1e-3, atol=1e-3, err_msg=variant)


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_read_back_is_what_was_written(name):
    graph = block(name)
    merges = litert.fusions(graph)
    assert differences(graph, merges, "tflite") == []
    assert litert.fusions(litert.twins(graph)["unfused"]) == []
    assert len(plan_of(graph, merges)) == len(litert.twins(graph)["fused"])


def test_the_file_says_which_activation_is_fused():
    first, second, third = litert.fusions(block("inverted_residual"))
    assert first == (("conv_0", "batch_norm_0", "relu6_0"), ("CONV_2D",), "weights + FusedActivationFunction = RELU6")
    assert second.after == ("DEPTHWISE_CONV_2D",)
    assert third == (("conv_2", "batch_norm_2"), ("CONV_2D",), "weights")


@pytest.mark.parametrize("name", ["mobilenet_v2", "resnet50"])
def test_whole_networks_as_twins(name, tmp_path):
    graph = getattr(rl.networks, name)(resolution=64)
    assert differences(graph, litert.fusions(graph), "tflite") == []
    fused = litert.twins(graph)["fused"]
    litert.write_tflite(fused, tmp_path / "m.tflite")
    back = rl.plan_from_file(tmp_path / "m.tflite")
    paddings = [op for op in back.graph if op.kind == "copy"]  # "same" has no padding of one at an even size
    assert len(back) == len(fused) + len(paddings)
    assert (back.graph.macs, len(paddings)) == (graph.macs, 5)
    (a,), (b,) = (litert.run(graph, variant=v).values() for v in ("fused", "unfused, plain"))
    np.testing.assert_allclose(a, b, rtol=1e-2, atol=1e-3)


MLPERF = ["ad01_fp32", "ad01_int8", "kws_ref_model", "kws_ref_model_float32", "pretrainedResnet",
          "pretrainedResnet_quant", "str_ww_ref_model", "vww_96_float", "vww_96_int8"]  # fmt: skip


@pytest.mark.parametrize("name", MLPERF)
def test_the_converter_fused_what_our_rules_fuse(shared, name):  # noqa: F811
    """Files that TensorFlow's own converter wrote: every activation that is fused there, and no other."""
    plan = rl.plan_from_file(shared / f"models/{name}.tflite")
    ours = rl.fuse(plan.graph, rules="tflite")

    def groups(p):
        return {tuple(op.name for op in k.operators) for k in p.kernels}

    assert groups(plan) == groups(ours)
    assert sum(len(group) > 1 for group in groups(plan)) >= 4


def test_only_operators_with_a_field_for_it_have_an_activation_in_them():
    """The schema against the rule set: kinds behind which an activation may follow in the same operator."""
    options = {"conv2d": "Conv2D", "conv_transpose2d": "TransposeConv", "dense": "FullyConnected", "max_pool": "Pool2D",
               "avg_pool": "Pool2D", "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div"}  # fmt: skip
    takers = {kind for kind, after in RULE_SETS["tflite"].follows.items() if after & {"relu", "relu6"}}
    assert takers == set(options)
    assert all(hasattr(getattr(tflite, f"{name}Options"), "FusedActivationFunction") for name in options.values())
    without = ("Reducer", "Softmax", "BatchMatMul", "MaximumMinimum", "LeakyRelu", "Gelu")
    assert not any(hasattr(getattr(tflite, f"{name}Options"), "FusedActivationFunction") for name in without)


PAIRS = {
    "conv+relu -> CONV_2D": (image, lambda b, x: b.relu(b.conv2d(x, 8, 3))),
    "conv+add+mul+relu6 -> CONV_2D": (image, lambda b, x: b.relu6(b.mul(
        b.add(b.conv2d(x, 8, 3, stride=2, padding=1), b.weight("t", (8, 1, 1))), b.weight("s", (1,))))),
    "conv+div+sub -> DEPTHWISE_CONV_2D": (image, lambda b, x: b.sub(
        b.div(b.conv2d(x, 8, 3, padding="same", groups=4), b.weight("3.0", ())), b.weight("t", (8, 1, 1)))),
    "dense+bias_add+relu -> FULLY_CONNECTED": (of, lambda b, x: b.relu(b.bias_add(b.dense(x, 8, bias=False), axis=-1))),
    "max_pool+relu -> MAX_POOL_2D": (image, lambda b, x: b.relu(b.max_pool(x, 3, stride=2, padding=1))),
    "avg_pool+relu6 -> AVERAGE_POOL_2D": (image, lambda b, x: b.relu6(b.avg_pool(x, 2, padding=1))),
    "sub+relu -> SUB": (of, lambda b, x: b.relu(b.sub(x, b.exp(x)))),
}  # fmt: skip


@pytest.mark.parametrize("expected, case", PAIRS.items(), ids=list(PAIRS))
def test_what_goes_together(expected, case):
    graph = case[0](case[1])
    assert merged(litert.fusions(graph)) == [expected]
    (y,), (plain,) = (litert.run(graph, variant=v).values() for v in ("fused", "unfused, plain"))
    (ours,) = execute(graph, weights_of(graph) | inputs_of(graph)).values()
    np.testing.assert_allclose(y, ours, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(plain, ours, rtol=1e-4, atol=1e-4)


KINDS = {
    **{kind: (of, lambda b, x, kind=kind: getattr(b, kind)(x)) for kind in (
        "relu relu6 elu tanh neg exp hard_swish clip sigmoid gelu leaky_relu square").split()},
    **{kind: (of, lambda b, x, kind=kind: getattr(b, kind)(b.exp(x))) for kind in ("sqrt", "rsqrt")},
    **{kind: (of, lambda b, x, kind=kind: getattr(b, kind)(b.exp(x), b.input("y", (4, 16)))) for kind in (
        "add sub mul div maximum minimum pow").split()},
    "constant first": (of, lambda b, x: b.sub(b.weight("1.0", ()), x)),
    "constant on an image": (image, lambda b, x: b.relu(b.mul(b.max_pool(x, 2), b.weight("s", (4, 1, 1))))),
    "matmul": (of, lambda b, x: b.matmul(x, b.input("y", (3, 16)), transpose_b=True)),
    "dense of three axes": (of, lambda b, x: b.dense(b.reshape(x, (1, 4, 16)), 5)),
    "softmax": (of, lambda b, x: b.softmax(x)),
    "layer_norm": (of, lambda b, x: b.layer_norm(x)),
    "means of an image": (image, lambda b, x: b.reduce_mean(b.conv2d(x, 3), [2, 3])),
    "sums with axes kept": (of, lambda b, x: b.reduce_sum(x, [0], keepdims=True)),
    "largest": (of, lambda b, x: b.reduce_max(x, [1])),
    "concat of images": (image, lambda b, x: b.concat([b.conv2d(x, 3), x])),
    "transpose": (of, lambda b, x: b.transpose(x, (1, 0))),
    "views": (image, lambda b, x: b.dropout(b.identity(b.squeeze(b.global_avg_pool(x), [2, 3])))),
    "flatten": (image, lambda b, x: b.dense(b.flatten(b.global_avg_pool(x)), 3)),
    "dilated": (image, lambda b, x: b.conv2d(x, 3, 2, dilation=2)),
    "padded on one side": (image, lambda b, x: b.conv2d(x, 3, 3, padding=(1, 0, 2, 1), stride=2)),
    "batch norm alone": (image, lambda b, x: b.batch_norm(b.max_pool(x, 2))),
    "bias alone": (image, lambda b, x: b.relu(b.bias_add(b.max_pool(x, 2)))),
}  # fmt: skip


@pytest.mark.parametrize("case", KINDS.values(), ids=list(KINDS))
@pytest.mark.parametrize("variant", ["fused", "fused, plain", "unfused"])
def test_every_kind_means_the_same(case, variant):
    graph = case[0](case[1])
    (y,) = litert.run(graph, variant=variant).values()
    (ours,) = execute(graph, weights_of(graph) | inputs_of(graph)).values()
    assert y.shape == ours.shape
    np.testing.assert_allclose(y, ours, rtol=1e-3, atol=1e-4)


def test_which_operators_run():
    assert litert.kinds(block("conv_bn_relu")) == ["DELEGATE"]  # all of them are XNNPACK's
    counted = collections.Counter(litert.kinds(block("conv_bn_relu"), xnnpack=False))
    assert counted == {"CONV_2D": 2, "MUL": 2, "ADD": 2, "RELU": 2}
    assert litert.kinds(litert.twins(block("conv_bn_relu"))["fused"], xnnpack=False) == ["CONV_2D"] * 2


def test_inputs_of_a_graph_a_plan_and_a_file(tmp_path):
    graph = image(lambda b, x: b.relu(b.sub(x, b.input("y", (1, 4, 6, 6)))))
    x, y = inputs_of(graph, 2).values()
    for model in (graph, litert.twins(graph)["fused"]):
        (found,) = litert.run(model, seed=2).values()  # what is not given is the same for every engine
        np.testing.assert_allclose(found, np.maximum(x - y, 0), rtol=1e-6)
        with pytest.raises(ValueError, match="unknown input of toy 'yy': did you mean 'y'"):
            litert.run(model, {"yy": y})
        with pytest.raises(EngineError, match=r"toy: the input 'y' is \(1, 4, 6, 6\), not \(6, 6\)"):
            litert.run(model, {"y": y[0, 0]})
    litert.write_tflite(graph, tmp_path / "m.tflite")
    (found,) = litert.run(tmp_path / "m.tflite", {"y": np.full((1, 4, 6, 6), -9)}).values()
    assert found.shape == (1, 4, 6, 6) and found.std() > 0.5 and abs(found.mean() - 9) < 1  # x: random numbers
    with pytest.raises(ValueError, match="unknown input of m.tflite 'yy': did you mean 'y'"):
        litert.run(tmp_path / "m.tflite", {"yy": y})
    with pytest.raises(EngineError, match=r"m.tflite: the input 'y' is \(1, 4, 6, 6\), not \(6, 6\)"):
        litert.run(tmp_path / "m.tflite", {"y": y[0, 0]})


def test_every_variant_is_timed():
    found = litert.seconds(block("chain"), bench=Bench(rounds=2, batch_seconds=1e-4))
    assert list(found) == list(litert.VARIANTS) and all(0 < t.seconds < 10 for t in found.values())


@pytest.mark.parametrize(
    "build, words",
    [
        (lambda b, x: b.erf(x), "erf_0: TensorFlow Lite has no operator for erf"),
        (lambda b, x: b.softmax(x, axis=0), "softmax_0: TensorFlow Lite's softmax is along the last axis"),
    ],
)
def test_what_cannot_be_written_is_said(build, words):
    with pytest.raises(EngineError, match=words):
        litert.run(of(build))


def test_kernels_that_have_no_operator_are_told(tmp_path):
    graph = of(lambda b, x: b.relu(b.tanh(b.dense(x, 4))))
    with pytest.raises(EngineError, match=r"no operator that does dense \(dense_0\), tanh \(tanh_0\) at once"):
        litert.write_tflite(rl.fuse(graph, groups=[["dense_0", "tanh_0"]]), tmp_path / "m.tflite")
    with pytest.raises(EngineError, match=r"does tanh \(tanh_0\), relu \(relu_0\) at once"):
        litert.write_tflite(rl.fuse(graph, groups=[["tanh_0", "relu_0"]]), tmp_path / "m.tflite")
    wide = image(lambda b, x: b.flatten(b.conv2d(x, 3)))
    with pytest.raises(EngineError, match=r"flatten_0: conv_0.out \(1, 3, 6, 6\) has its axes in another order"):
        litert.run(wide)
    (tmp_path / "broken.tflite").write_bytes(b"no model at all")
    with pytest.raises(EngineError, match="TensorFlow Lite cannot run the model"):
        litert.run(tmp_path / "broken.tflite")
    with pytest.raises(ValueError, match="unknown variant of TensorFlow Lite 'fussed': did you mean 'fused'"):
        litert.run(graph, variant="fussed")
    with pytest.raises(EngineError, match="a plan is one of the twins already"):
        litert.run(rl.unfused(graph), variant="unfused")


@pytest.mark.skipif(importlib.util.find_spec("pymicro_wakeword") is None, reason="pymicro-wakeword is not installed")
def test_a_real_keyword_model_says_what_it_fuses():
    folder = os.path.dirname(importlib.util.find_spec("pymicro_wakeword").origin)
    path = next(os.path.join(d, f) for d, _, files in os.walk(folder) for f in files if f.endswith(".tflite"))
    assert any("RELU" in m.rule for m in litert.fusions(path))


def test_the_merges_of_a_file(tmp_path):
    litert.write_tflite(litert.twins(block("residual"))["fused"], tmp_path / "m.tflite")
    found = litert.fusions(tmp_path / "m.tflite")
    assert [(m.after, m.rule) for m in found] == [
        (("CONV_2D",), "FusedActivationFunction = RELU"), (("ADD",), "FusedActivationFunction = RELU"),
    ]  # fmt: skip
