"""The zoo against published counts, its structure, and what it moves.

Parameters and MACs are those of references.md, section D, computed there with torchvision, transformers, PyTorch's
FlopCounterMode and a parse of the MLPerf Tiny files. MobileNet has a file of its own: test_networks.py.
"""

from __future__ import annotations

import time
from collections import Counter

import numpy as np
import pytest

import roofline_lessons as rl
from roofline_lessons.arithmetic import run_operator
from roofline_lessons.execute import execute
from roofline_lessons.fusion import RULE_SETS
from roofline_lessons.networks import small
from tests.model.toys import operator_of

net = rl.networks

# -- known answers -----------------------------------------------------------------------------------------------------

PUBLISHED = [
    # torchvision 0.28, 224 x 224: Conv2d and Linear only; no bias, batch norm, activation, pooling
    ("alexnet", net.alexnet, {}, 61_100_840, 714_188_480),
    ("vgg16", net.vgg16, {}, 138_357_544, 15_470_264_320),
    ("resnet18", net.resnet18, {}, 11_689_512, 1_814_073_344),
    ("resnet50", net.resnet50, {}, 25_557_032, 4_089_184_256),
    ("resnet50 v1", net.resnet50, {"version": "v1"}, 25_557_032, 3_857_973_248),
    ("efficientnet_b0", net.efficientnet_b0, {}, 5_288_548, 385_814_752),
    # MLPerf Tiny, parsed from the files of mlcommons/tiny: batch norms folded, so weights and biases
    ("ds_cnn", net.ds_cnn, {}, 22_604, 2_656_768),
    ("visual_wake_words", net.visual_wake_words, {}, 210_850, 7_489_664),
    ("resnet8", net.resnet8, {}, 77_706, 12_501_632),
    ("fc_autoencoder", net.fc_autoencoder, {}, 265_864, 264_192),
    # the same with batch norms of their own: a PyTorch twin of MobileNetV1 0.25 with two classes
    ("visual_wake_words unfolded", net.visual_wake_words, {"folded": False}, 213_586, 7_489_664),
    # torchvision: all linears, the patch embedding and both products of attention
    ("vit_b16", net.vit_b16, {}, 86_567_656, 17_563_828_224),
    # transformers: FlopCounterMode / 2, full attention
    ("bert_base", net.bert_base, {}, 109_482_240, 11_174_215_680),
    ("bert_base 384", net.bert_base, {"sequence": 384}, 109_482_240, 35_333_406_720),
    ("bert_base encoder", net.bert_base, {"pooler": False}, 109_482_240 - 590_592, 11_173_625_856),
    ("gpt2_small", net.gpt2_small, {}, 124_439_808, 145_824_153_600),
    ("gpt2_small no head", net.gpt2_small, {"logits": "none"}, 124_439_808, 106_300_440_576),
    ("gpt2_small first token", net.gpt2_small, {"sequence": 1}, 124_439_808, 123_550_464),
    ("llama2_7b", net.llama2_7b, {}, 6_738_415_616, 14_630_806_093_824),
    ("llama2_7b first token", net.llama2_7b, {"sequence": 1}, 6_738_415_616, 6_607_339_520),
    ("llama2_7b 1 layer", net.llama2_7b, {"layers": 1}, 464_531_456, 717_259_538_432),
    ("llama2_7b 2 layers", net.llama2_7b, {"layers": 2}, 666_914_816, 1_166_083_620_864),
    ("llama2_7b 1 layer, 1 token", net.llama2_7b, {"layers": 1, "sequence": 1}, 464_531_456, 333_455_360),
]  # fmt: skip


@pytest.mark.parametrize("name, build, arguments, params, macs", PUBLISHED, ids=[row[0] for row in PUBLISHED])
def test_published_counts(name, build, arguments, params, macs):
    graph = build(**arguments)
    assert (graph.params, graph.macs) == (params, macs)


# references.md, section C: 2 * (P - embedding - norms) + 4 * L * d * ctx, one new token, 2048 positions in all.
def test_llama2_decode_flops():
    graph = net.llama2_7b(sequence=1, context=2047)
    assert 2 * graph.macs == 14_287_896_576


# By hand: two tables of 128,256 x 4096 (1,050,673,152 bytes each at fp16: faults B8); per layer Q and the output
# 4096 x 4096, K and V 4096 x 1024, three products of 4096 x 14,336 and two norms; a last norm.
def test_llama3_parameters_by_hand():
    layer = 2 * 4096**2 + 2 * 4096 * 1024 + 3 * 4096 * 14_336 + 2 * 4096
    assert net.llama3_8b().params == 2 * 128_256 * 4096 + 32 * layer + 4096 == 8_030_261_248
    assert net.llama3_8b(sequence=1).macs == 128_256 * 4096 + 32 * (layer - 2 * 4096 + 2 * 4096)  # 1 pair: 2 * 32 * 128


# DeFiNES, workload_fsrcnn: MACs and weight bytes at int8. The slopes and biases, which DeFiNES leaves out, by hand.
def test_fsrcnn_as_defines_counts_it():
    graph = net.fsrcnn()
    weights = [t.elements for op in graph if op.kind == "conv2d" for t in op.inputs if t.name.endswith(".weight")]
    channels = 56 + 12 + 4 * 12 + 56
    assert (sum(weights), graph.macs) == (15_992, 8_362_594_208)
    assert graph.params == 15_992 + (channels + 16) + channels  # weights, biases, slopes


# DeFiNES' DRAM bytes at int8, layer by layer at best and fused: 190,276,524, and 539,596 + 8,294,400.
@pytest.mark.parametrize("rules, activations", [("epilogue", 190_276_524), ("depth-first", 539_596 + 8_294_400)])
def test_fsrcnn_moves_what_defines_moves(rules, activations):
    plan = rl.fuse(net.fsrcnn(), rules=rules)
    moved = [t for _, _, t in plan.dram_transfers if not t.tensor.is_constant]
    assert sum(t.elements for t in moved) == activations


# Dong et al. 2016, table 1: FSRCNN (56, 12, 4) has 12,464 parameters, biases and slopes not counted.
def test_fsrcnn_as_published():
    graph = net.fsrcnn(height=100, width=120, scale=3, last="transposed", padding=True)
    assert sum(t.elements for op in graph for t in op.inputs if t.name.endswith(".weight")) == 12_464
    assert graph.inputs[0].shape == (1, 1, 100, 120)
    assert graph.outputs[0].shape == (1, 1, 300, 360)


# -- what is not a MAC -------------------------------------------------------------------------------------------------


def by_kind(graph):
    return Counter(op.kind for op in graph)


# fvcore: 2 FLOP per element of a batch norm, 1 per element that an average pooling takes in; PyTorch counts two vectors
# and a counter per batch norm as buffers (computed_cnn.json).
@pytest.mark.parametrize("build, batch_norm_flops, pooled, buffers, norms", [
    (net.resnet18, 4_967_424, 25_088, 9_620, 20),
    (net.resnet50, 22_227_968, 100_352, 53_173, 53),
    (net.efficientnet_b0, 13_475_392, 2_369_248, 42_065, 49),
])  # fmt: skip
def test_norms_and_poolings_agree_with_fvcore(build, batch_norm_flops, pooled, buffers, norms):
    graph = build()
    kinds = by_kind(graph)
    assert kinds["batch_norm"] == norms
    assert sum(op.flops for op in graph if op.kind == "batch_norm") == batch_norm_flops
    assert sum(op.inputs[0].elements for op in graph if op.kind == "avg_pool") == pooled
    assert sum(t.elements for op in graph for t in op.inputs if t.role == "buffer") == buffers - norms


# computed_cnn.json, fvcore_unsupported and hook_by_kind.
def test_the_operators_of_the_image_networks():
    assert by_kind(net.alexnet()) == {"conv2d": 5, "relu": 7, "max_pool": 3, "dense": 3, "flatten": 1, "dropout": 2}
    assert by_kind(net.vgg16()) == {"conv2d": 13, "relu": 15, "max_pool": 5, "dense": 3, "flatten": 1, "dropout": 2}
    for build, convolutions, additions in ((net.resnet18, 20, 8), (net.resnet50, 53, 16)):
        kinds = by_kind(build())
        assert (kinds["conv2d"], kinds["add"], kinds["max_pool"], kinds["dense"]) == (convolutions, additions, 1, 1)
    kinds = by_kind(net.efficientnet_b0())
    assert (kinds["silu"], kinds["sigmoid"], kinds["mul"], kinds["add"]) == (49, 16, 16, 9)
    assert sum(op.macs for op in net.efficientnet_b0() if op.attributes.get("groups", 1) > 1) == 34_532_064


# What fvcore, hooks and FlopCounterMode make of one ViT (references.md, section D).
def test_the_other_answers_for_vit_are_parts_of_ours():
    graph = net.vit_b16()
    products = sum(op.macs for op in graph if op.kind == "matmul")
    patches = graph["patches"].macs
    assert (products, patches) == (715_327_488, 115_605_504)
    assert graph.macs - products == 16_848_500_736  # FlopCounterMode without SDPA
    projections = sum(op.macs for op in graph if op.name.endswith((".query", ".key", ".value", ".output")))
    assert graph.macs - products - projections == 11_271_124_992  # on the fast path: its attention is one call
    normalised = sum(op.inputs[0].elements for op in graph if op.kind == "layer_norm")
    assert graph.macs - products + 5 * normalised == 16_867_412_736  # fvcore: and 5 per element of a layer norm


def test_the_operators_of_a_transformer():
    for build, layers, norms in ((net.vit_b16, 12, 25), (net.bert_base, 12, 25), (net.gpt2_small, 12, 25)):
        kinds = by_kind(build())
        assert (kinds["matmul"], kinds["softmax"], kinds["gelu"]) == (2 * layers, layers, layers)
        assert kinds["layer_norm"] == norms
    kinds = by_kind(net.llama3_8b())
    assert (kinds["rms_norm"], kinds["rotary"], kinds["silu"], kinds["mul"]) == (65, 64, 32, 32)
    assert (kinds["dense"], kinds["matmul"], kinds["softmax"], kinds["add"]) == (7 * 32 + 1, 64, 32, 64)


# -- MLPerf Tiny, operator by operator (computed_tflite.json) ----------------------------------------------------------

VWW = [
    497_664, 165_888, 294_912, 82_944, 294_912, 165_888, 589_824, 41_472, 294_912, 82_944, 589_824, 20_736, 294_912,
    *[41_472, 589_824] * 5, 10_368, 294_912, 20_736, 589_824, 512,
]  # fmt: skip
RESNET8 = [442_368, *[2_359_296] * 2, *[1_179_648, 2_359_296, 131_072] * 2, 640]


@pytest.mark.parametrize("build, kinds, macs, shapes", [
    (net.ds_cnn, {"conv2d": 9, "relu": 9, "avg_pool": 1, "dense": 1, "softmax": 1},
        [320_000, *[72_000, 512_000] * 4, 768], [(1, 1, 49, 10), (1, 64, 25, 5), (1, 12)]),
    (net.visual_wake_words, {"conv2d": 27, "relu": 27, "avg_pool": 1, "dense": 1, "softmax": 1},
        VWW, [(1, 3, 96, 96), (1, 256, 3, 3), (1, 2)]),
    (net.resnet8, {"conv2d": 9, "relu": 7, "add": 3, "avg_pool": 1, "dense": 1, "softmax": 1},
        RESNET8, [(1, 3, 32, 32), (1, 64, 8, 8), (1, 10)]),
    (net.fc_autoencoder, {"dense": 10, "relu": 9},
        [81_920, *[16_384] * 3, 1_024, 1_024, *[16_384] * 3, 81_920], [(1, 640), None, (1, 640)]),
])  # fmt: skip
def test_mlperf_tiny_operator_by_operator(build, kinds, macs, shapes):
    graph = build()
    assert {k: n for k, n in by_kind(graph).items() if k not in ("flatten", "dropout")} == kinds
    assert [op.macs for op in graph if op.macs] == macs
    first, middle, last = shapes
    assert (graph.inputs[0].shape, graph.outputs[0].shape) == (first, last)
    if middle:
        assert graph["global_avg_pool_0"].inputs[0].shape == middle


# sum_act_traffic_bytes of the int8 files, where activations are fused (in ResNet-8 into additions, too); less the input
# and output of their reshape, which we count as a view.
@pytest.mark.parametrize("build, file_bytes, reshaped, kernels", [
    (net.ds_cnn, 144_782, 2 * 64, 13 - 1),
    (net.visual_wake_words, 491_782, 2 * 256, 31 - 1),
    (net.resnet8, 273_694, 2 * 64, 16 - 1),
    (net.fc_autoencoder, 3_344, 0, 10),
])  # fmt: skip
def test_mlperf_tiny_moves_what_the_files_move(build, file_bytes, reshaped, kernels):
    plan = rl.fuse(build(), rules="tflite")
    assert len(plan) == kernels
    assert sum(t.elements for _, _, t in plan.dram_transfers if not t.tensor.is_constant) == file_bytes - reshaped


@pytest.mark.parametrize("build", [net.ds_cnn, net.visual_wake_words, net.resnet8])
def test_folding_by_fusion_gives_the_folded_network(build):
    """What the converter does before the file is written, and what our "epilogue" rules do, come to the same."""
    device = rl.device("raspberry-pi-5")
    folds, folded = (rl.estimate(rl.fuse(build(folded=f), rules="epilogue"), device, "fp32") for f in (False, True))
    assert by_kind(build(folded=False))["batch_norm"] > by_kind(build())["batch_norm"] == 0
    assert (folds.dram_bytes, folds.flops, len(folds.kernels)) == (
        folded.dram_bytes, folded.flops, len(folded.kernels),
    )  # fmt: skip


# -- structure ---------------------------------------------------------------------------------------------------------

#: name: builder, arguments that make it small
IMAGES = {
    "alexnet": (net.alexnet, {"classes": 10}),
    "vgg16": (net.vgg16, {"classes": 10}),
    "resnet18": (net.resnet18, {"resolution": 64}),
    "resnet50": (net.resnet50, {"resolution": 64}),
    "mobilenet_v1": (net.mobilenet_v1, {"resolution": 64}),
    "mobilenet_v2": (net.mobilenet_v2, {"resolution": 64}),
    "efficientnet_b0": (net.efficientnet_b0, {"resolution": 64}),
    "ds_cnn": (net.ds_cnn, {"classes": 3}),
    "visual_wake_words": (net.visual_wake_words, {"resolution": 64}),
    "resnet8": (net.resnet8, {}),
    "fsrcnn": (net.fsrcnn, {"height": 60, "width": 80}),
}
OTHERS = {
    "fc_autoencoder": (net.fc_autoencoder, {}),
    "vit_b16": (net.vit_b16, {"resolution": 64}),
    "bert_base": (net.bert_base, {"sequence": 16}),
    "gpt2_small": (net.gpt2_small, {"sequence": 16, "context": 5}),
    "llama2_7b": (net.llama2_7b, {"sequence": 3, "context": 7}),
    "llama3_8b": (net.llama3_8b, {"sequence": 3, "context": 7}),
}
ZOO = IMAGES | OTHERS


def test_the_zoo_is_all_here():
    assert set(ZOO) == {name for name in net.__all__ if not hasattr(small, name)}


@pytest.mark.parametrize("name", ZOO)
def test_batch_scales_the_work_and_not_the_parameters(name):
    build, arguments = ZOO[name]
    one, many = build(**arguments), build(**arguments, batch=3)
    assert many.name == one.name == name
    assert (many.macs, many.params) == (3 * one.macs, one.params)
    assert many.flops == 3 * one.flops
    assert [t.shape[0] for t in many.outputs] == [3 * t.shape[0] for t in one.outputs]


@pytest.mark.parametrize("name", ZOO)
def test_it_builds_in_no_time(name):
    """At its full size: a learner's menu waits for it."""
    build, _ = ZOO[name]
    start = time.perf_counter()
    build()
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize("name", ZOO)
def test_it_runs_unfused_on_a_device(name):
    build, arguments = ZOO[name]
    device, graph = rl.device("jetson-orin-nano"), build(**arguments)
    est = rl.estimate(rl.unfused(graph), device, "fp16")
    assert est.flops == graph.flops
    assert est.seconds >= max(2 * graph.macs / device.peak["fp16"], est.dram_bytes / device.bandwidth)
    # every weight of a convolution or product comes in once, at two bytes
    weights = {t.name: t.elements for op in graph if op.macs for t in op.inputs if t.is_constant}
    assert est.dram_bytes > 2 * sum(weights.values())


@pytest.mark.parametrize("rules", RULE_SETS)
@pytest.mark.parametrize("name", IMAGES)
def test_every_rule_set_fuses_it(name, rules):
    build, arguments = IMAGES[name]
    graph = build(**arguments)
    plan, alone = rl.fuse(graph, rules=rules), rl.unfused(graph)
    endless = rl.device("raspberry-pi-5").with_(on_chip_bytes=None)  # depth-first kernels as long as they will go
    before, after = (rl.estimate(p, endless, "fp32") for p in (alone, plan))
    assert len(plan) <= len(alone)
    assert after.dram_bytes <= before.dram_bytes
    assert 2 * graph.macs <= after.flops <= before.flops
    if rules in ("epilogue", "depth-first"):  # these shorten every convolutional network
        assert len(plan) < len(alone) and after.seconds < before.seconds


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("rules", RULE_SETS)
def test_every_rule_set_fuses_the_rest_too(name, rules):
    build, arguments = OTHERS[name]
    graph = build(**arguments, **({"layers": 2} if name.startswith("llama") else {}))
    plan = rl.fuse(graph, rules=rules)
    assert sum(len(k.operators) for k in plan.kernels) == len(graph) - len(plan.views)


def test_every_convolution_of_a_residual_network_has_its_batch_norm_behind_it():
    for graph in (net.resnet18(), net.resnet50(), net.efficientnet_b0(), net.ds_cnn(folded=False)):
        for conv in (op for op in graph if op.kind == "conv2d"):
            (reader,) = graph.consumers[conv.output.name]
            biased = len(conv.inputs) > 2
            assert (reader.kind == "batch_norm") != biased  # only squeeze-and-excite has a bias and no batch norm


# He et al., table 1, for 224 x 224: 112 behind the stem, 56 behind the pooling, then 28, 14, 7.
@pytest.mark.parametrize("build, widths", [(net.resnet18, (64, 128, 256, 512)), (net.resnet50, (256, 512, 1024, 2048))])
def test_the_stages_of_resnet(build, widths):
    graph = build()
    shapes = list(dict.fromkeys(op.output.shape[1:] for op in graph if op.kind == "add"))
    assert shapes == [(w, s, s) for w, s in zip(widths, (56, 28, 14, 7), strict=True)]
    assert graph["conv_0"].output.shape == (1, 64, 112, 112)


# v1.5 strides in the 3 x 3 of a bottleneck, v1 in the 1 x 1 before it.
def test_where_resnet50_strides():
    def strided(version):
        graph = net.resnet50(version=version)
        shortcut_or_stem = {"conv_0"} | {op.name for op in graph if op.kind == "conv2d" and op.name.startswith("short")}
        strides = [op for op in graph if op.kind == "conv2d" and op.attributes["stride"] == (2, 2)]
        return {op.attributes["kernel"] for op in strides if op.name not in shortcut_or_stem}

    assert strided("v1.5") == {(3, 3)}
    assert strided("v1") == {(1, 1)}


def test_alexnet_and_vgg_pool_to_one_size():
    assert net.alexnet()["dense_0"].inputs[0].shape == (1, 9216)
    assert net.vgg16()["dense_0"].inputs[0].shape == (1, 25_088)
    large = net.vgg16(resolution=448)
    assert large.params == net.vgg16().params
    assert large["avg_pool_0"].attributes["kernel"] == large["avg_pool_0"].attributes["stride"] == (2, 2)
    assert net.alexnet(resolution=288)["dense_0"].inputs[0].shape == (1, 9216)


# -- attention, caches, shared weights ---------------------------------------------------------------------------------


def read_by(plan, ends):
    """Elements of activations whose name ends so that the kernels of a plan read."""
    return sum(t.elements for _, way, t in plan.dram_transfers if way == "read" and t.tensor.name.endswith(ends))


# Per new token: layers x (K and V) x KV heads x head width x cached positions, once. fp16: 2 bytes.
@pytest.mark.parametrize("build, kv_heads, per_token", [(net.llama2_7b, 32, 524_288), (net.llama3_8b, 8, 131_072)])
def test_decoding_reads_the_cache_once(build, kv_heads, per_token):
    context = 2047
    graph = build(sequence=1, context=context)
    plan = rl.unfused(graph)
    assert read_by(plan, (".keys", ".values")) == 32 * 2 * kv_heads * 128 * context
    assert 2 * read_by(plan, (".keys", ".values")) == per_token * context
    appended = graph.outputs[1:]
    assert len(appended) == 64
    # faults B10: the append of one token writes 131,072 bytes (Llama-3-8B, fp16) and reads none
    assert 2 * sum(t.elements for t in appended) == per_token
    assert not [op for op in graph if op.kind == "concat" and not op.is_view]


def test_the_cache_costs_what_it_holds():
    device = rl.device("jetson-orin-nano")
    short, long = (
        rl.estimate(rl.unfused(net.llama3_8b(sequence=1, context=c)), device, "fp16").dram_bytes for c in (1000, 2000)
    )
    # one more position: its keys and values, and a score of each head written, read, written and read again
    assert long - short == 1000 * (131_072 + 32 * 32 * 4 * 2)


# FLOPs follow 32 query heads, bytes and parameters 8 key/value heads (faults A13).
def test_grouped_queries_share_keys_and_values():
    graph = net.llama3_8b(sequence=1, context=99)
    scores, values = graph["layer_0.scores"], graph["layer_0.weighted_sum"]
    assert scores.attributes["share"] == values.attributes["share"] == 4
    assert scores.macs == values.macs == 32 * 128 * 100
    assert scores.work.read == (32 * 128, 8 * 128 * 100)
    assert graph["layer_0.key"].inputs[1].shape == (8 * 128, 4096)
    assert net.llama2_7b(sequence=1)["layer_0.scores"].attributes["share"] == 1


# The tables of LLM-Viewer (references/llmviewer_llama2_7b.json, A6000, fp16): bytes of one layer.
@pytest.mark.parametrize("arguments, table", [
    ({"sequence": 1, "context": 2047}, {
        "query": 33_570_816, "key": 33_570_816, "output": 33_570_816, "gate": 90_207_744, "down": 90_207_744,
        "scores": 16_916_480, "weighted_sum": 16_916_480, "softmax": 262_144, "add_attention": 3 * 8_192,
        "norm_attention": 16_384 + 8_192,
    }),
    ({"sequence": 2048}, {
        "query": 67_108_864, "value": 67_108_864, "output": 67_108_864, "up": 152_043_520, "down": 152_043_520,
        "scores": 301_989_888, "weighted_sum": 301_989_888, "softmax": 536_870_912, "add_attention": 3 * 16_777_216,
        "norm_feed_forward": 33_554_432 + 8_192,
    }),
])  # fmt: skip
def test_llama2_moves_what_llm_viewer_says(arguments, table):
    """But: a norm also reads its gamma, and an addition reads both of its operands (faults B4, B5)."""
    graph = net.llama2_7b(**arguments, layers=1)
    est = rl.estimate(rl.unfused(graph), rl.device("jetson-orin-nano"), "fp16")
    moved = {k.operators[0].name: k.dram_bytes for k in est.kernels}
    assert {name: moved[f"layer_0.{name}"] for name in table} == table


def test_decoding_reads_every_weight_but_the_embedding():
    """LLM-Viewer: 13,214,154,752 bytes of products at fp16; with the norms 13,214,687,232 (faults B19, section C)."""
    plan = rl.unfused(net.llama2_7b(sequence=1))
    weights = [t for _, way, t in plan.dram_transfers if t.tensor.is_constant]
    assert sum(2 * t.elements for t in weights if len(t.tensor.shape) == 2) == 13_214_154_752 + 8_192  # one row
    assert sum(2 * t.elements for t in weights) == 13_214_687_232 + 8_192


# One table for the tokens and for the logits (transformers: lm_head tied): 124,439,808 parameters, not 163,037,184.
def test_gpt2_ties_its_head():
    graph = net.gpt2_small(sequence=1)
    (table,) = {t for op in (graph["tokens"], graph["logits"]) for t in op.inputs if t.is_constant}
    assert table.shape == (50_257, 768)
    assert graph.params == 163_037_184 - table.elements
    tokens, logits = graph["tokens"], graph["logits"]
    assert tokens.work.read == (768, 1)  # one row of it
    assert logits.work.read == (768, table.elements)


def test_llama_does_not_tie():
    graph = net.llama2_7b(sequence=1, layers=1)
    assert graph["tokens"].inputs[0] != graph["logits"].inputs[1]


# Only the last position needs logits when a text is continued.
@pytest.mark.parametrize("build, vocabulary, width", [(net.gpt2_small, 50_257, 768), (net.llama2_7b, 32_000, 4096)])
def test_logits_of_the_last_position(build, vocabulary, width):
    every, last, none = (build(sequence=8, logits=which) for which in ("all", "last", "none"))
    assert every.outputs[0].shape == (1, 8, vocabulary)
    assert last.outputs[0].shape == (1, 1, vocabulary)
    assert none.outputs[0].shape == (1, 8, width)
    assert every.macs - last.macs == 7 * vocabulary * width
    assert last.macs - none.macs == vocabulary * width


# Row i sees i + 1 positions: S (S + 1) / 2 pairs of S^2, in both products and in the softmax; nothing else changes.
@pytest.mark.parametrize("build, heads, width, layers", [(net.gpt2_small, 12, 64, 12), (net.llama3_8b, 32, 128, 32)])
def test_causal_attention_skips_what_is_hidden(build, heads, width, layers):
    full, causal = build(sequence=100), build(sequence=100, causal=True)
    hidden = layers * heads * (100**2 - 100 * 101 // 2)
    assert full.macs - causal.macs == 2 * width * hidden
    assert full.flops - causal.flops == (4 * width + 5) * hidden
    assert full.params == causal.params
    assert build(sequence=1, context=99, causal=True).flops == build(sequence=1, context=99).flops


# A prompt in two parts costs the same attention as at once when nothing hidden is computed.
def test_a_prompt_in_two_parts():
    whole, first = net.llama3_8b(sequence=64, causal=True), net.llama3_8b(sequence=40, causal=True)
    rest = net.llama3_8b(sequence=24, context=40, causal=True)
    assert first.macs + rest.macs == whole.macs


def test_vit_sees_a_class_token_and_the_patches():
    graph = net.vit_b16()
    assert graph["layer_0.query"].inputs[0].shape == (1, 14 * 14 + 1, 768)
    assert graph["classifier"].inputs[0].shape == (1, 768)  # the class token only
    assert (graph["class_tokens"].work.read, graph["class_tokens"].output.shape) == ((768,), (1, 1, 768))
    assert graph.outputs[0].shape == (1, 1000)


def test_bert_has_two_outputs():
    assert [t.shape for t in net.bert_base().outputs] == [(1, 128, 768), (1, 768)]
    assert [t.shape for t in net.bert_base(pooler=False).outputs] == [(1, 128, 768)]


# -- the arithmetic of the operators that only transformers have -------------------------------------------------------


def test_rotary_turns_by_the_difference_of_positions():
    """Su et al. 2021, section 3.4: the product of two turned vectors depends on how far apart they are, only."""
    op = operator_of(lambda b: b.rotary(b.input("x", (1, 1, 9, 8)), b.input("angles", (9, 8))))
    turns = np.arange(9)[:, None] * 10_000.0 ** -(np.arange(4) / 4)
    angles = np.concatenate([np.cos(turns), np.sin(turns)], axis=-1)
    rng = np.random.default_rng(0)
    q, k = (run_operator(op, [np.tile(rng.normal(size=8), (1, 1, 9, 1)), angles])[0, 0] for _ in range(2))
    products = q @ k.T
    for distance in range(9):
        assert np.ptp(np.diag(products, distance)) < 1e-12
    assert np.ptp(products) > 0.1
    np.testing.assert_allclose(np.linalg.norm(q, axis=-1), np.linalg.norm(q[0]))


def test_causal_attention_equals_a_mask():
    rng = np.random.default_rng(1)
    q, k, v = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 5, 4)), rng.normal(size=(2, 5, 4))

    def causal(b):
        scores = b.matmul(b.input("q", q.shape), b.input("k", k.shape), transpose_b=True, triangle="output")
        return b.matmul(b.softmax(scores, triangle=True), b.input("v", v.shape), triangle="input")

    b = rl.GraphBuilder("causal")
    graph = b.build(outputs=[causal(b)])
    found = execute(graph, {"q": q, "k": k, "v": v})["matmul_1.out"]
    for row in range(3):
        seen = row + 3  # 2 cached and the row's own
        weights = np.exp(q[:, row : row + 1] @ np.swapaxes(k[:, :seen], 1, 2))
        weights /= weights.sum(-1, keepdims=True)
        np.testing.assert_allclose(found[:, row : row + 1], weights @ v[:, :seen])


# -- bad arguments -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ZOO)
@pytest.mark.parametrize("bad", [0, 1.5, True, "2"])
def test_a_wrong_batch_is_said_in_words(name, bad):
    with pytest.raises(ValueError, match="batch must be a whole number of at least 1, not"):
        ZOO[name][0](batch=bad)


@pytest.mark.parametrize("build, arguments, words", [
    (net.resnet50, {"version": "v2"}, "unknown version 'v2': .*Allowed: v1.5, v1."),
    (net.resnet18, {"resolution": 31}, "resolution must be a whole number of at least 32, not 31"),
    (net.resnet18, {"classes": 0}, "classes must be a whole number of at least 1, not 0"),
    (net.efficientnet_b0, {"resolution": "big"}, "resolution must be a whole number of at least 32, not 'big'"),
    (net.alexnet, {"resolution": 128}, "resolution must be a whole number of at least 224, not 128"),
    (net.vgg16, {"resolution": 200}, "resolution must be a whole number of at least 224, not 200"),
    (net.ds_cnn, {"width": 0}, "width must be a whole number of at least 1, not 0"),
    (net.ds_cnn, {"frames": 0}, "frames must be a whole number of at least 1, not 0"),
    (net.visual_wake_words, {"width": -1}, "width must be a finite number above 0, not -1"),
    (net.resnet8, {"resolution": 7}, "resolution must be a whole number of at least 8, not 7"),
    (net.fc_autoencoder, {"features": 0}, "features must be a whole number of at least 1, not 0"),
    (net.fc_autoencoder, {"bottleneck": 0}, "bottleneck must be a whole number of at least 1, not 0"),
    (net.vit_b16, {"resolution": 230}, "resolution must be a multiple of 16, the side of a patch, e.g. 224, not 230"),
    (net.bert_base, {"sequence": 513}, "bert_base has 512 positions: sequence may be at most 512, not 513"),
    (net.bert_base, {"sequence": 0}, "sequence must be a whole number of at least 1, not 0"),
    (net.gpt2_small, {"sequence": 1000, "context": 25},
        "gpt2_small has 1024 positions: context and sequence together may be at most 1024, not 1025"),
    (net.gpt2_small, {"logits": "some"}, "unknown logits 'some': .*Allowed: all, last, none."),
    (net.llama2_7b, {"context": -1}, "context must be a whole number of at least 0, not -1"),
    (net.llama2_7b, {"layers": 0}, "layers must be a whole number of at least 1, not 0"),
    (net.llama3_8b, {"causal": "yes"}, "causal must be True or False, not 'yes'"),
    (net.fsrcnn, {"height": 0}, "height must be a whole number of at least 1, not 0"),
    (net.fsrcnn, {"scale": 0}, "scale must be a whole number of at least 1, not 0"),
    (net.fsrcnn, {"last": "bicubic"}, "unknown last layer 'bicubic': .*Allowed: sub-pixel, transposed."),
])  # fmt: skip
def test_what_is_no_network_is_said_in_words(build, arguments, words):
    with pytest.raises(ValueError, match=words):
        build(**arguments)
