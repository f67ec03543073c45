"""The networks against published counts (references.md, section D, and references/computed_cnn.json)."""

from collections import Counter

import pytest

import roofline_lessons as rl

V1, V2 = rl.networks.mobilenet_v1, rl.networks.mobilenet_v2

# Conv2d and Linear only; no bias, batch norm, activation, pooling (torchvision for V2, a PyTorch twin for V1).
PUBLISHED = [
    ("mobilenet_v2", V2, {}, 3_504_872, 300_774_272),
    ("mobilenet_v1_1.0_224", V1, {}, 4_231_976, 568_740_352),
    ("mobilenet_v1_0.25_128", V1, {"width": 0.25, "resolution": 128}, 470_072, 13_570_048),
    ("mobilenet_v1_0.25_96_vww_2cls", V1, {"width": 0.25, "resolution": 96, "classes": 2}, 213_586, 7_489_664),
]


@pytest.mark.parametrize("name, build, arguments, params, macs", PUBLISHED, ids=[row[0] for row in PUBLISHED])
def test_published_counts(name, build, arguments, params, macs):
    graph = build(**arguments)
    assert (graph.params, graph.macs) == (params, macs)


def by_kind(graph):
    return Counter(op.kind for op in graph)


def inputs_of(graph, kind):
    """Elements that all operators of a kind take in."""
    return sum(op.inputs[0].elements for op in graph if op.kind == kind)


# V2: the stem, one block of 2 convolutions, 16 blocks of 3, the last 1x1. Each has a batch norm: 1 + 2 + 48 + 1 = 52.
# All but the 17 projections have a relu6: 35. Blocks that keep shape have an addition: 1 + 2 + 3 + 2 + 2 = 10.
def test_the_operators_of_v2():
    kinds = by_kind(V2())
    assert (kinds["conv2d"], kinds["batch_norm"], kinds["relu6"], kinds["add"]) == (52, 52, 35, 10)
    assert (kinds["avg_pool"], kinds["dense"]) == (1, 1)
    assert len(rl.unfused(V2())) == 52 + 52 + 35 + 10 + 1 + 1


# V1: the stem and 13 blocks of a depthwise and a 1x1 convolution, each with its batch norm and relu: 27.
def test_the_operators_of_v1():
    kinds = by_kind(V1())
    assert (kinds["conv2d"], kinds["batch_norm"], kinds["relu"]) == (27, 27, 27)


# fvcore counts 2 FLOP per element of a batch norm and 1 per element that a pooling takes in; PyTorch counts, as
# buffers, two vectors and one counter for each batch norm (52 in V2, 27 in V1).
@pytest.mark.parametrize("graph, batch_norm_flops, pooled, buffers", [
    (V2(), 13_356_224, 62_720, 34_164 - 52),
    (V1(), 10_085_376, 50_176, 21_915 - 27),
    (V1(width=0.25, resolution=128), 823_296, 4_096, 5_499 - 27),
    (V1(width=0.25, resolution=96, classes=2), 463_104, 2_304, 5_499 - 27),
])  # fmt: skip
def test_what_is_not_a_mac_agrees_with_fvcore(graph, batch_norm_flops, pooled, buffers):
    assert sum(op.flops for op in graph if op.kind == "batch_norm") == batch_norm_flops
    assert inputs_of(graph, "avg_pool") == pooled
    assert sum(t.elements for op in graph for t in op.inputs if t.role == "buffer") == buffers


# computed_cnn.json, hook_by_kind
@pytest.mark.parametrize("graph, depthwise", [(V2(), 20_716_416), (V1(), 17_385_984)])
def test_macs_of_the_depthwise_half(graph, depthwise):
    depthwise_half = [op for op in graph if op.kind == "conv2d" and op.attributes["groups"] > 1]
    assert sum(op.macs for op in depthwise_half) == depthwise


def test_every_convolution_has_its_batch_norm_and_activation_behind_it():
    """Operators of their own: that is what fusion will remove."""
    graph = V2()
    for conv in (op for op in graph if op.kind == "conv2d"):
        (norm,) = graph.consumers[conv.output.name]
        assert norm.kind == "batch_norm"
        assert [t.role for t in conv.inputs[1:]] == ["weight"]  # no bias: the batch norm shifts
    assert all(graph.producers[op.inputs[0].name].kind == "batch_norm" for op in graph if op.kind == "relu6")


@pytest.mark.parametrize("build", [V1, V2])
@pytest.mark.parametrize("batch", [2, 7])
def test_batch_scales_the_work_and_not_the_parameters(build, batch):
    one, many = build(), build(batch=batch)
    assert many.macs == batch * one.macs
    assert many.flops == batch * one.flops
    assert many.params == one.params
    assert many.outputs[0].shape == (batch, 1000)


# torchvision, mobilenet_v2(width_mult=...): channels are multiples of 8 and never below 90 % of what was asked for. At
# 0.35, 24 channels ask for 8.4 and get 8, 32 ask for 11.2 and get 16 (8 would be too few); the last stays 1280.
def test_the_width_of_v2_keeps_multiples_of_8():
    graph = V2(width=0.35)
    channels = [op.output.shape[1] for op in graph if op.kind == "conv2d"]
    assert channels[0] == 16
    assert all(c % 8 == 0 for c in channels)
    assert {op.output.shape[1] for op in graph if op.kind == "add"} == {8, 16, 24, 32, 56}
    assert channels[-1] == 1280
    assert V2(width=1.4)["classifier"].inputs[0].shape == (1, 1792)


def test_shapes_on_the_way():
    graph = V2()
    assert graph.inputs[0].shape == (1, 3, 224, 224)
    assert graph["global_avg_pool_0"].inputs[0].shape == (1, 1280, 7, 7)
    assert graph.outputs[0].shape == (1, 1000)
    assert V2(resolution=96, classes=10).outputs[0].shape == (1, 10)


@pytest.mark.parametrize("build", [V1, V2])
@pytest.mark.parametrize("arguments, words", [
    ({"batch": 0}, "batch must be a whole number of at least 1, not 0"),
    ({"batch": 1.5}, "batch must be a whole number of at least 1, not 1.5"),
    ({"batch": True}, "batch must be a whole number of at least 1, not True"),
    ({"resolution": 16}, "resolution must be a whole number of at least 32, not 16"),
    ({"resolution": "224"}, "resolution must be a whole number of at least 32, not '224'"),
    ({"classes": 0}, "classes must be a whole number of at least 1, not 0"),
    ({"width": 0}, "width must be a finite number above 0, not 0"),
    ({"width": -0.5}, "width must be a finite number above 0, not -0.5"),
    ({"width": float("nan")}, "width must be a finite number above 0, not nan"),
    ({"width": "0.5"}, "width must be a number, not '0.5'"),
])  # fmt: skip
def test_what_is_no_network_is_said_in_words(build, arguments, words):
    with pytest.raises(ValueError, match=words):
        build(**arguments)


# -- on devices of the catalogue ---------------------------------------------------------------------------------------


# Batch 1, fp32, 3.5e6 parameters x 4 B: reading the weights alone takes 14 MB / 17.07 GB/s = 0.82 ms; all the FLOPs
# at the peak of 153.6 GFLOP/s take 3.9 ms. Unfused, every one of the activations travels, too.
def test_mobilenet_on_a_raspberry_pi():
    pi = rl.device("raspberry-pi-5")
    est = rl.estimate(rl.unfused(V2()), pi, "fp32")
    assert est.seconds > 2 * 300_774_272 / pi.peak["fp32"]
    assert est.dram_bytes > 4 * 3_504_872
    assert est.bound == "memory"
    slower = rl.estimate(rl.unfused(V2()), pi.with_(bandwidth=pi.bandwidth / 2), "fp32")
    assert est.seconds < slower.seconds < 2 * est.seconds


@pytest.mark.parametrize("id", rl.devices())
def test_every_device_runs_it_at_every_precision_it_has(id):
    device = rl.device(id)
    for precision in device.precisions():
        est = rl.estimate(rl.unfused(V2()), device, precision)
        assert 0 < est.seconds <= est.seconds_no_overlap
