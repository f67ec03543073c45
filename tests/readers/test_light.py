"""Real topologies that the onnx wheel brings, with weights that are filled when the file is loaded.

MACs and parameters where a published count exists (references.md: torchvision's, fvcore's convention, 1 MAC = 1), and
for all of them an independent count: ONNX's own shape inference, and the textbook formula per node.
"""

import math

import onnx
import pytest

import roofline_lessons as rl
from tests.readers.conftest import light_models

FILES = light_models()

#: Parameters, MACs: references.md for VGG-19 and SqueezeNet 1.1. ResNet-50 has its stride in the 3x3 (v1.5):
#: 4,089,184,256 MACs as torchvision's, and 25,557,032 parameters.
PUBLISHED = {
    "light_vgg19": (143_667_240, 19_632_062_464),
    "light_squeezenet": (1_235_496, 349_151_936),
    "light_resnet50": (25_557_032, 4_089_184_256),
}


def test_the_wheel_brings_them():
    assert len(FILES) >= 9


def macs_by_formula(path):
    """Convolutions and Gemms on the shapes that ONNX infers: output elements times window times channels per group."""
    model = onnx.shape_inference.infer_shapes(onnx.load(path), data_prop=True)
    graph = model.graph
    typed = (*graph.value_info, *graph.input, *graph.output)
    shape = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in typed}
    total = 0
    for node in graph.node:
        if node.op_type == "Conv":
            total += math.prod(shape[node.output[0]]) * math.prod(shape[node.input[1]][1:])
        if node.op_type == "Gemm":
            total += math.prod(shape[node.output[0]]) * shape[node.input[1]][1]
    return total


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_each_reads_and_its_macs_are_those_of_the_formula(path):
    graph = rl.read_onnx(path)
    assert graph.unknown == ()
    assert graph.macs == macs_by_formula(path)
    assert graph.macs > 1e8


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_every_shape_is_the_one_that_onnx_infers(path):
    inferred = onnx.shape_inference.infer_shapes(onnx.load(path), data_prop=True).graph.value_info
    shapes = {v.name: tuple(d.dim_value for d in v.type.tensor_type.shape.dim) for v in inferred}
    ours = {t.name: t.shape for op in rl.read_onnx(path) for t in op.outputs}
    both = ours.keys() & shapes.keys()
    assert len(both) > 0.9 * len(ours)
    assert {n: ours[n] for n in both} == {n: shapes[n] for n in both}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_counts(name):
    graph = rl.read_onnx(next(p for p in FILES if p.stem == name))
    assert (graph.params, graph.macs) == PUBLISHED[name]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_fusing_as_onnx_runtime_does_takes_activations_and_norms_into_convolutions(path):
    graph = rl.read_onnx(path)
    plan = rl.fuse(graph, rules="onnxruntime")
    anchors = [op for op in graph if op.kind in ("conv2d", "dense")]
    assert len(anchors) <= len(plan) < len(rl.unfused(graph))
    with_more = [k for k in plan.kernels if len(k.operators) > 1]
    assert all(k.operators[0].kind in ("conv2d", "dense") for k in with_more)
    assert all(sum(op.kind in ("conv2d", "dense") for op in k.operators) == 1 for k in with_more)
    est = rl.estimate(plan, rl.device("jetson-orin-nano"), "fp16")
    assert est.unknown_bytes_share == 0 and 0 < est.seconds < 1


def test_resnet50_by_onnx_runtimes_rules():
    """53 convolutions with their norms, 16 additions and the 16 activations behind them, two poolings, a dense layer, a
    softmax. (ONNX Runtime itself comes to 59 nodes: it takes the additions into the convolutions too. engines.md.)
    """
    graph = rl.read_onnx(next(p for p in FILES if p.stem == "light_resnet50"))
    plan = rl.fuse(graph, rules="onnxruntime")
    assert len(rl.unfused(graph)) == 53 + 53 + 49 + 16 + 4
    assert len(plan) == 53 + 16 + 16 + 4
    assert sum(1 for k in plan.kernels if k.folded) == 53  # every batch norm
