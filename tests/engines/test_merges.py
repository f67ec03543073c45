"""Two graphs compared: what stands for what."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

import roofline_lessons as rl
from roofline_lessons.engines import BLOCKS, Merge, block, catalogue, differences, plan_of
from roofline_lessons.engines.merges import Node, replacements
from roofline_lessons.engines.weights_and_inputs import inputs_of, weights_of
from roofline_lessons.execute import execute


def kinds(found):
    return [([n.kind for n in r.before], [n.kind for n in r.after]) for r in found]


CONV, NORM, RELU = (
    Node("1", "conv", ("x",), ("a",)),
    Node("2", "norm", ("a",), ("b",)),
    Node("3", "relu", ("b",), ("y",)),
)


def test_an_operator_stands_for_what_is_between_its_tensors():
    after = [Node("c", "FusedConv", ("x",), ("b",)), Node("r", "Relu", ("b",), ("y",))]
    assert kinds(replacements([CONV, NORM, RELU], after)) == [(["conv", "norm"], ["FusedConv"]), (["relu"], ["Relu"])]
    assert kinds(replacements([CONV, NORM, RELU], [Node("c", "All", ("x",), ("y",))])) == [
        (["conv", "norm", "relu"], ["All"])
    ]


def test_both_branches_of_a_sum_and_helpers_of_the_engine():
    left, right = Node("l", "left", ("x",), ("a",)), Node("r", "right", ("x",), ("b",))
    both = Node("s", "sum", ("a", "b"), ("y",))
    assert kinds(replacements([left, right, both], [Node("n", "Both", ("x",), ("y",))])) == [
        (["left", "right", "sum"], ["Both"])
    ]
    only_right = [left, Node("n", "Half", ("x", "a"), ("y",))]
    assert kinds(replacements([left, right, both], only_right))[1] == (["right", "sum"], ["Half"])
    helped = [
        Node("t", "Reshape", ("x",), ("new",)),
        Node("g", "Gemm", ("new",), ("b",)),
        Node("q", "Relu", ("b",), ("y",)),
    ]
    assert kinds(replacements([CONV, NORM, RELU], helped)) == [
        (["conv", "norm"], ["Reshape", "Gemm"]),
        (["relu"], ["Relu"]),
    ]


def test_merges_are_a_plan_and_differences_name_operators():
    graph = block("conv_bn_relu")
    merges = [Merge(("conv_0", "batch_norm_0", "relu_0"), ("FusedConv",), "any")]
    plan = plan_of(graph, merges)
    assert len(plan) == 4 and plan.kernels[0].folded == (graph["batch_norm_0"],)
    found = differences(graph, merges, "onnxruntime")
    assert [d.operator for d in found] == ["conv_1", "batch_norm_1", "relu_1"]
    assert found[0].engine == ("conv_1",) and found[0].rules == ("conv_1", "batch_norm_1", "relu_1")


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_are_named_and_their_numbers_are_finite(name):
    graph = block(name)
    assert graph.name == name and BLOCKS[name].__doc__
    (y,) = execute(graph, weights_of(graph) | inputs_of(graph)).values()
    assert np.isfinite(y).all() and np.std(y) > 0.01


def test_the_four_spellings_are_one_function():
    results = [
        next(iter(execute(block(name), weights_of(block(name)) | inputs_of(block(name))).values()))
        for name in rl.engines.SPELLINGS
    ]
    for other in results[1:]:
        np.testing.assert_allclose(other, results[0], rtol=1e-4, atol=1e-4)


def test_a_wrong_block_is_named():
    with pytest.raises(ValueError, match="unknown block 'residul': did you mean 'residual'"):
        block("residul")


def test_importing_the_engines_loads_none_of_them():
    code = "import sys, roofline_lessons as rl; rl.engines.available(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert not loaded & {"onnx", "onnxruntime", "ai_edge_litert", "tflite", "coremltools", "numba", "pandas"}


@pytest.mark.parametrize(
    "engine, install",
    [
        (
            "onnxruntime",
            "ONNX Runtime cannot run here: the package onnxruntime is not installed: pip install onnxruntime",
        ),
        ("litert", "TensorFlow Lite cannot run here: the package ai_edge_litert is not installed: pip install ai-edge"),
        (
            "coreml",
            r"Core ML .* coremltools is not installed: pip install \"coremltools>=9\" \(there are wheels for macOS",
        ),
    ],
)
def test_a_missing_engine_says_how_it_is_installed(engine, install, monkeypatch):
    gone = {"onnxruntime": "onnxruntime", "litert": "ai_edge_litert", "coreml": "coremltools"}[engine]
    found = importlib.util.find_spec
    monkeypatch.setattr(catalogue.importlib.util, "find_spec", lambda name: None if name == gone else found(name))
    monkeypatch.delitem(vars(rl.engines), engine, raising=False)  # where it was loaded already
    with pytest.raises(ImportError, match=install):
        getattr(rl.engines, engine)
    with pytest.raises(ValueError):  # as every error of this package
        getattr(rl.engines, engine)
    assert rl.engines.available()[engine] is None
    monkeypatch.setattr(sys, "platform", "emscripten")
    with pytest.raises(rl.engines.MissingEngineError, match="none for a browser tab. On a computer of your own: pip"):
        getattr(rl.engines, engine)


def test_a_wrong_name_is_no_engine():
    with pytest.raises(AttributeError, match="no attribute 'tensorrt'"):
        rl.engines.tensorrt  # noqa: B018
