"""ONNX Runtime, really run: which nodes merged, and that our rule sets say the same."""

import collections
import tempfile

import numpy as np
import pytest

import roofline_lessons as rl
from roofline_lessons.engines import BLOCKS, SPELLINGS, block, differences, plan_of
from roofline_lessons.engines.blocks import gelu
from roofline_lessons.engines.weights_and_inputs import inputs_of, weights_of
from roofline_lessons.execute import execute
from roofline_lessons.measure import Bench
from tests.engines.conftest import engine, image, merged, of

ort = engine("onnxruntime")

#: Level of the engine -> rule set of ours.
LEVELS = {"extended": "onnxruntime", "all but layout": "onnxruntime-all"}


def number(b, value):
    return b.weight(value, ())


@pytest.mark.parametrize("variant, rules", LEVELS.items())
@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_are_merged_as_our_rules_say(name, variant, rules):
    assert differences(block(name), ort.fusions(block(name), variant), rules) == []


def test_one_spelling_of_four_is_found():
    found = {name: merged(ort.fusions(block(name))) for name in SPELLINGS}
    one = "reduce_mean+sub+pow+reduce_mean+add+sqrt+div+mul+add -> LayerNormalization"
    assert found == {name: [one] if name == "layer_norm_power" else [] for name in SPELLINGS}


@pytest.mark.parametrize("variant, rules", LEVELS.items())
def test_mobilenet_v2_is_merged_as_our_rules_say(variant, rules):
    graph = rl.networks.mobilenet_v2(resolution=64)
    merges = ort.fusions(graph, variant)
    assert differences(graph, merges, rules) == []
    assert len(plan_of(graph, merges)) == len(rl.fuse(graph, rules))
    counts = collections.Counter(m.rule for m in merges)
    into_additions = 10 if variant == "all but layout" else 0  # blocks with a shortcut
    assert counts["ConvBNFusion + ConvActivationFusion"] == 35
    assert counts["ConvBNFusion + ConvAddActivationFusion"] == into_additions
    assert counts["ConvBNFusion"] == 17 - into_additions


def test_resnet50_is_merged_as_our_rules_say():
    graph = rl.networks.resnet50(resolution=64)
    assert differences(graph, ort.fusions(graph, "extended"), "onnxruntime") == []


def test_resnet50_differs_in_which_of_two_convolutions_takes_the_sum():
    """Documented difference: where both operands of an addition are convolutions (the four blocks whose shortcut has
    one), ONNX Runtime takes the first operand's (SelectProducerConv), our greedy pass the later one. As many kernels.
    """
    graph = rl.networks.resnet50(resolution=64)
    merges = ort.fusions(graph, "all but layout")
    found = differences(graph, merges, "onnxruntime-all")
    sums = [graph[d.operator] for d in found if graph[d.operator].kind == "add"]
    assert len(sums) == 4 and len(found) == 4 * 6
    for add in sums:
        makers = [graph.producers[t.name].kind for t in add.activations]
        assert makers == ["batch_norm", "batch_norm"]
    ours = rl.fuse(graph, "onnxruntime-all")
    assert len(plan_of(graph, merges)) == len(ours)
    assert rl.estimate(plan_of(graph, merges), rl.device("raspberry-pi-5"), "fp32").dram_bytes == pytest.approx(
        rl.estimate(ours, rl.device("raspberry-pi-5"), "fp32").dram_bytes
    )


def test_layout_is_not_fusion():
    """The level "all" runs the same convolutions as without its layout; what it adds only moves numbers."""
    graph = rl.networks.mobilenet_v2(resolution=64)
    with_layout, without = (collections.Counter(ort.kinds(graph, v)) for v in ("all", "all but layout"))
    moves = {kind for kind in with_layout if kind.startswith("Reorder")}
    assert moves
    assert with_layout.total() - sum(with_layout[kind] for kind in moves) == without.total()


# -- one pair at a time: the table of the rule set ---------------------------------------------------------------------

PAIRS = {
    **{
        f"conv+{act} -> FusedConv": (image, lambda b, x, act=act: getattr(b, act)(b.conv2d(x, 4)))
        for act in ("relu", "relu6", "clip", "leaky_relu", "sigmoid", "tanh", "hard_sigmoid")
    },
    **{
        f"dense+{act} -> FusedGemm": (of, lambda b, x, act=act: getattr(b, act)(b.dense(x, 8)))
        for act in ("relu", "leaky_relu", "sigmoid", "tanh", "hard_sigmoid", "elu")
    },
    "conv+bias_add -> Conv": (image, lambda b, x: b.bias_add(b.conv2d(x, 4, bias=False))),
    "conv+mul -> Conv": (image, lambda b, x: b.mul(b.conv2d(x, 4), b.weight("s", (4, 1, 1)))),
    "conv+add -> Conv": (image, lambda b, x: b.add(b.conv2d(x, 4), b.weight("s", (4, 1, 1)))),
    "conv+mul+add+relu -> FusedConv": (image, lambda b, x: b.relu(b.add(
        b.mul(b.conv2d(x, 4), b.weight("s", (4, 1, 1))), b.weight("t", (4, 1, 1))))),
    "conv_transpose+batch_norm -> ConvTranspose": (image, lambda b, x: b.batch_norm(b.conv_transpose2d(x, 4))),
    "matmul+mul -> FusedMatMul": (of, lambda b, x: b.mul(b.matmul(x, b.input("y", (16, 8))), number(b, "0.125"))),
    "matmul+div -> FusedMatMul": (of, lambda b, x: b.div(b.matmul(x, b.input("y", (16, 8))), number(b, "8.0"))),
    "relu+relu6 -> Clip": (of, lambda b, x: b.relu6(b.relu(x))),
    "bias_add+gelu -> BiasGelu": (of, lambda b, x: b.gelu(b.bias_add(x, axis=-1))),
    "sigmoid+mul -> QuickGelu": (of, lambda b, x: b.mul(x, b.sigmoid(x))),
    "dense+bias_add -> Reshape Gemm Reshape": (of, lambda b, x: b.bias_add(
        b.dense(b.reshape(x, (1, 4, 16)), 8, bias=False), axis=-1)),
    "div+erf+add+mul+mul -> Gelu": (of, lambda b, x: gelu(b, x)),
    "pow+reduce_mean+add+sqrt+div+mul -> SimplifiedLayerNormalization": (of, lambda b, x: b.mul(b.div(x, b.sqrt(b.add(
        b.reduce_mean(b.pow(x, number(b, "2.0")), [-1], keepdims=True), number(b, "1e-5")))), b.weight("g", (16,)))),
}  # fmt: skip
ALONE = {
    "GELU with ½ on the sum": (of, lambda b, x: b.mul(x, b.mul(b.add(b.erf(b.div(
        x, number(b, "1.4142135381698608"))), number(b, "1.0")), number(b, "0.5")))),
    "a root that is no norm": (of, lambda b, x: b.mul(x, b.div(b.exp(x), b.sqrt(b.add(b.reduce_mean(
        b.pow(x, number(b, "2.0")), [-1], keepdims=True), number(b, "1e-5")))))),
    **{
        f"conv, {act}": (image, lambda b, x, act=act: getattr(b, act)(b.conv2d(x, 4)))
        for act in ("elu", "gelu", "silu")
    },
    "conv_transpose, relu": (image, lambda b, x: b.relu(b.conv_transpose2d(x, 4))),
    "pool, relu": (image, lambda b, x: b.relu(b.max_pool(x, 2))),
    "matmul, relu": (of, lambda b, x: b.relu(b.matmul(x, b.input("y", (16, 8))))),
    "dense, gelu": (of, lambda b, x: b.gelu(b.dense(x, 8))),
    "relu, relu": (of, lambda b, x: b.relu(b.relu(x))),
    "conv, sub": (image, lambda b, x: b.sub(b.conv2d(x, 4), b.weight("s", (4, 1, 1)))),
    "conv, relu, add": (image, lambda b, x: b.add(b.relu(b.conv2d(x, 4)), b.relu(x))),
}  # fmt: skip


@pytest.mark.parametrize("expected, case", PAIRS.items(), ids=list(PAIRS))
def test_what_goes_together(expected, case):
    graph = case[0](case[1])
    merges = ort.fusions(graph, "extended")
    assert merged(merges) == [expected]
    assert merges[0].rule or "div ->" in expected or "matmul+div" in expected
    assert differences(graph, merges, "onnxruntime") == []


@pytest.mark.parametrize("case", ALONE.values(), ids=list(ALONE))
def test_what_stays_alone(case):
    graph = case[0](case[1])
    last = graph.operators[-1].name
    assert not [m for m in ort.fusions(graph, "extended") if last in m.before]
    assert differences(graph, ort.fusions(graph, "extended"), "onnxruntime") == []


#: Documented differences: our rules look at kinds of operators, ONNX Runtime also at ranks, operands and what is there.
DIFFERENT = {
    "a product of matrices of two axes takes no addition": (of, lambda b, x: b.add(
        b.dense(x, 8, bias=False), b.weight("t", (8,)))),
    "one of more axes takes no activation": (of, lambda b, x: b.relu(b.dense(b.reshape(x, (1, 4, 16)), 8))),
    "an addition before a norm must have three axes": (of, lambda b, x: b.layer_norm(b.add(x, b.relu(x)))),
    "x · (1 / y) becomes x / y: arithmetic, which our rules do not rewrite": (of, lambda b, x: b.mul(x, b.div(
        number(b, "1.0"), b.exp(x)))),
    "a second batch norm is folded too": (image, lambda b, x: b.batch_norm(b.batch_norm(b.conv2d(x, 4, bias=False)))),
    "a constant must be one for each channel": (image, lambda b, x: b.add(b.conv2d(x, 4), number(b, "0.5"))),
}  # fmt: skip


@pytest.mark.parametrize("case", DIFFERENT.values(), ids=list(DIFFERENT))
def test_documented_differences_are_there(case):
    """When one of these passes away with a new version, the rule sets can say more."""
    graph = case[0](case[1])
    assert differences(graph, ort.fusions(graph, "extended"), "onnxruntime")


def test_the_default_level_takes_one_addition_and_needs_a_bias():
    twice = image(lambda b, x: b.add(b.add(b.conv2d(x, 4), x), x))
    assert merged(ort.fusions(twice)) == ["conv+add -> FusedConv"]
    assert len(rl.fuse(twice, "onnxruntime-all")) == 1  # documented difference
    bare = image(lambda b, x: b.add(b.conv2d(x, 4, bias=False), x))
    assert ort.fusions(bare) == [] and len(rl.fuse(bare, "onnxruntime-all")) == 1  # and another


# -- the rest ----------------------------------------------------------------------------------------------------------


def test_one_fusion_taken_away():
    graph = block("conv_bn_relu")
    assert merged(ort.without(graph, "ConvActivationFusion")) == ["conv+batch_norm -> Conv"] * 2
    assert ort.without(graph, "ConvBNFusion") == []
    with pytest.raises(ValueError, match="unknown fusion of ONNX Runtime 'ConvBnFusion': did you mean 'ConvBNFusion'"):
        ort.without(graph, "ConvBnFusion")


@pytest.mark.parametrize("name", ["conv_bn_relu", "inverted_residual", "residual", "gelu", "layer_norm_power"])
def test_merging_changes_no_number(name):
    graph, outputs = block(name), {}
    for variant in ort.VARIANTS:
        (outputs[variant],) = ort.run(graph, inputs_of(graph), variant).values()
    for variant, y in outputs.items():
        np.testing.assert_allclose(y, outputs["off"], rtol=1e-3, atol=1e-4, err_msg=variant)
    (ours,) = execute(graph, weights_of(graph) | inputs_of(graph)).values()
    np.testing.assert_allclose(outputs["off"], ours, rtol=1e-3, atol=1e-4)


def test_a_file_is_told_by_its_nodes(tmp_path):
    graph = block("conv_bn_relu")
    rl.write_onnx(graph, tmp_path / "m.onnx")
    found = ort.fusions(tmp_path / "m.onnx")
    assert [m.after for m in found] == [("FusedConv",)] * 2
    assert [name.split("_")[0] for name in found[0].before] == ["Conv", "BatchNormalization", "Relu"]
    assert ort.kinds(tmp_path / "m.onnx", "off") == ["Conv", "BatchNormalization", "Relu"] * 2


def test_the_profiler_says_which_node_took_how_long():
    graph = block("conv_bn_relu")
    found = ort.node_seconds(graph, "extended", runs=3)
    assert [(n.kind, n.operators) for n in found] == [
        ("FusedConv", ("conv_0", "batch_norm_0", "relu_0")),
        ("FusedConv", ("conv_1", "batch_norm_1", "relu_1")),
    ]
    assert all(0 < n.seconds < 10 for n in found)
    assert [n.kind for n in ort.node_seconds(graph, "off", runs=1)] == ["Conv", "BatchNormalization", "Relu"] * 2


def test_nodes_without_names_are_told_by_kind_and_place(tmp_path):
    """ONNX Runtime's own names for them have other places as soon as something is merged."""
    from onnx import TensorProto, helper, numpy_helper, save

    weight, half = (numpy_helper.from_array(np.full(shape, 0.5, np.float32), "k") for shape in ((4, 4, 1, 1), (1,)))
    nodes = [
        helper.make_node("Conv", ["x", "k"], ["a"]), helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Constant", [], ["c"], value=half), helper.make_node("Add", ["b", "c"], ["d"]),
        helper.make_node("Sqrt", ["d"], ["y"]),
    ]  # fmt: skip
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4, 8, 8]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], [weight])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), tmp_path / "m.onnx")
    found = {v: [n.operators for n in ort.node_seconds(tmp_path / "m.onnx", v, runs=1)] for v in LEVELS | {"off": ""}}
    assert found["off"] == [("Conv_0",), ("Relu_1",), ("Add_3",), ("Sqrt_4",)]
    assert found["extended"] == found["all but layout"] == [("Conv_0", "Relu_1"), ("Add_3",), ("Sqrt_4",)]
    assert [m.before for m in ort.fusions(tmp_path / "m.onnx")] == [("Conv_0", "Relu_1")]


@pytest.mark.parametrize("runs", [1, 0])
def test_no_file_is_left_behind_also_after_an_error(tmp_path, monkeypatch, runs):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    graph = of(lambda b, x: b.relu(x))
    if runs:
        ort.profile(graph, runs=runs)
    with pytest.raises(ValueError, match="unknown variant of ONNX Runtime 'alll'"):
        ort.profiles(graph, ["off", "alll"], runs=1)  # the first session has begun its file by then
    ort.fusions(graph)
    ort.run(graph)
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_given_is_the_same_for_every_engine():
    """So that outputs can be compared."""
    graph = of(lambda b, x: b.add(x, b.input("y", (4, 16))))
    (y,) = ort.run(graph, seed=3).values()
    given = inputs_of(graph, 3)
    np.testing.assert_array_equal(y, given["x"] + given["y"])
    (y,) = ort.run(graph, {"y": np.zeros((4, 16))}, seed=3).values()
    np.testing.assert_array_equal(y, given["x"])


def test_whole_numbers_may_be_given(tmp_path):
    graph = of(lambda b, x: b.gather(x, b.input("i", (3,), bits=32)))
    rl.write_onnx(graph, tmp_path / "m.onnx")
    x = np.arange(64, dtype=np.float32).reshape(4, 16)
    for model in (graph, tmp_path / "m.onnx"):
        (y,) = ort.run(model, {"x": x, "i": [3, 1, 0]}).values()
        np.testing.assert_array_equal(y, x[[3, 1, 0]])


def test_every_level_is_timed():
    found = ort.seconds(block("residual"), bench=Bench(rounds=2, batch_seconds=1e-4))
    assert list(found) == list(ort.VARIANTS) and all(0 < t.seconds < 10 and t.rounds >= 2 for t in found.values())


def test_a_fusion_that_loses_is_one_all_the_same():
    """Addition and layer norm in one node: ONNX Runtime 1.32 takes longer for it here (engines.md: 0.39 to 1.84 ms)."""
    (only,) = ort.fusions(block("add_layer_norm"))
    assert only.after == ("SkipLayerNormalization",)


def test_bad_models_and_names_are_told(tmp_path):
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    with pytest.raises(rl.engines.EngineError, match="ONNX Runtime cannot run broken.onnx"):
        ort.run(tmp_path / "broken.onnx")
    for look in (ort.fusions, ort.node_seconds):
        with pytest.raises(rl.engines.EngineError, match="broken.onnx is no ONNX file"):
            look(tmp_path / "broken.onnx")
    rl.write_onnx(block("chain"), tmp_path / "m.onnx")
    for model, name in ((block("chain"), "chain"), (tmp_path / "m.onnx", "m.onnx")):
        with pytest.raises(ValueError, match=f"unknown input of {name} 'xx': did you mean 'x'"):
            ort.run(model, {"xx": np.zeros(3)})
    with pytest.raises(rl.engines.EngineError, match=r"chain: the input 'x' is .*, not \(3,\)"):
        ort.run(block("chain"), {"x": np.zeros(3)})
    with pytest.raises(rl.engines.EngineError, match="ONNX Runtime cannot run m.onnx: .*Got invalid dimensions"):
        ort.run(tmp_path / "m.onnx", {"x": np.zeros(3)})
    with pytest.raises(ValueError, match="unknown variant of ONNX Runtime 'alll': did you mean 'all'"):
        ort.seconds(block("chain"), ["alll"])
