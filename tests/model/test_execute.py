"""Numbers survive fusion: a graph and any legal plan of it give the same result. So the rules are legal."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import roofline_lessons as rl
from roofline_lessons.arithmetic import run_operator
from roofline_lessons.execute import execute, random_arrays
from roofline_lessons.fusion import RULE_SETS
from tests.model.strategies import graphs
from tests.model.test_fusion import block, folded_graph
from tests.model.test_operators import BY_HAND
from tests.model.test_tiling import chain


def same(graph: rl.Graph, plan: rl.Plan, seed: int = 0) -> None:
    arrays = random_arrays(graph, np.random.default_rng(seed))
    with np.errstate(all="ignore"):  # products of random numbers may be too large for exp: then both say infinity
        expected, found = execute(graph, arrays), execute(plan, arrays)
    assert list(expected) == list(found)
    for name in expected:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-9, err_msg=name)


@given(graphs(), st.sampled_from(list(RULE_SETS)))
def test_every_rule_set_keeps_the_numbers(graph, rules):
    same(graph, rl.fuse(graph, rules=rules))


@given(
    st.integers(1, 3), st.integers(1, 7), st.integers(1, 4), st.lists(st.sampled_from(["scale", "mask"]), max_size=3),
    st.booleans(), st.sampled_from([1, 2]),
)  # fmt: skip
def test_attention_block_by_block_keeps_the_numbers(queries, keys, width, before, scaled_after, share):
    """FlashAttention, algorithm 1: scores, scale, mask, softmax, values; two query heads may share one key head."""
    b = rl.GraphBuilder("attention")
    q = b.input("q", (1, 2, queries, width))
    k, v = (b.input(name, (1, 2 // share, keys, width)) for name in "kv")
    y = b.matmul(q, k, transpose_b=True, share=share)
    for i, kind in enumerate(before):
        y = (
            b.mul(y, b.weight(f"w_{i}", (1,)))
            if kind == "scale"
            else b.add(y, b.input(f"m_{i}", (1, 1, queries, keys)))
        )
    y = b.softmax(y)
    y = b.mul(y, b.input("dropout", (1, 1, 1, keys))) if scaled_after else y
    graph = b.build(outputs=[b.matmul(y, v, share=share)])
    plan = rl.fuse(graph, rules="attention")
    assert len(plan) == 1 and plan.kernels[0].attention is not None
    same(graph, plan)


@given(
    st.lists(st.sampled_from(["W", "D"]), min_size=2, max_size=4),
    st.integers(1, 7),
    st.sampled_from(["recompute", "cache all"]),
)
def test_tiles_keep_the_numbers(kinds, tile, halo):
    graph = chain("".join(kinds), channels=3, size=7)
    same(graph, rl.fuse(graph, groups=[[op.name for op in graph]], tile=tile, halo=halo))


def pyramid() -> rl.Graph:
    """Strides, dilation, poolings, groups, a residual, batch norms, an upsampling and a transposed convolution."""
    b = rl.GraphBuilder("pyramid")
    x = b.input("x", (2, 4, 24, 20))
    y = b.relu6(b.batch_norm(b.conv2d(x, 8, 3, stride=2, padding=(1, 0, 2, 1), bias=False)))
    z = b.batch_norm(b.conv2d(y, 8, 3, padding=2, dilation=2, groups=4))
    y = b.max_pool(b.add(y, z), 3, stride=2, padding=1)
    y = b.upsample(b.avg_pool(y, 2, stride=1, padding=1), 2, mode="bilinear")
    y = b.batch_norm(b.conv_transpose2d(y, 6, 3, stride=2, padding=1, output_padding=1, groups=2, bias=False))
    return b.build(outputs=[b.silu(b.upsample(y, 2)), y])


@pytest.mark.parametrize("tile", [3, 5, 16, 100, (2, 100)])
@pytest.mark.parametrize("fold", [False, True])
def test_a_whole_pyramid_in_one_kernel(tile, fold):
    graph = pyramid()
    plan = rl.fuse(graph, groups=[[op.name for op in graph]], tile=tile, fold=fold)
    assert len(plan) == 1 and len(plan.kernels[0].folded) == (3 if fold else 0)
    same(graph, plan)


@pytest.mark.parametrize("case", [{}, {"bias": True}, {"second_reader": True}, {"act": True}, {"keep": True}])
def test_folding_keeps_the_numbers(case):
    graph, groups = folded_graph(**case)
    same(graph, rl.fuse(graph, groups=groups, fold=True))


def test_folding_through_a_relu_would_be_wrong():
    """F2: x = -1, w = 1, b = 0, relu, then scale 2 and shift 1 give 1; folded through the relu they would give 0."""
    x, relu = -1.0, lambda v: max(v, 0.0)
    assert 2 * relu(x) + 1 == 1
    assert relu(2 * x + 1) == 0
    graph, groups = folded_graph(act=True)
    assert rl.fuse(graph, groups=groups, fold=True).kernel_of("conv_0").folded == ()


@pytest.mark.parametrize("groups", [1, 2])
def test_folding_into_a_grouped_transposed_convolution(groups):
    """F5: another tool permutes the channels of the scale here."""
    b = rl.GraphBuilder("deconv")
    y = b.batch_norm(b.conv_transpose2d(b.input("x", (1, 4, 3, 3)), 4, 2, stride=2, groups=groups, bias=False))
    graph = b.build(outputs=[y])
    plan = rl.fuse(graph, rules="epilogue")
    assert len(plan.kernels[0].folded) == 1
    same(graph, plan)


def test_mobilenet_v2_keeps_its_answer():
    graph = rl.networks.mobilenet_v2(resolution=32, width=0.25, classes=10)
    same(graph, rl.fuse(graph, rules="epilogue"))
    same(graph, rl.fuse(graph, rules="depth-first", depth=9, tile=2))


@pytest.mark.parametrize("build", [row[1] for row in BY_HAND], ids=[row[0] for row in BY_HAND])
def test_every_kind_runs_and_makes_the_shape_it_says(build):
    b = rl.GraphBuilder("one")
    graph = b.build(outputs=[build(b)])
    known = random_arrays(graph, np.random.default_rng(1))
    for op in graph:
        known[op.output.name] = run_operator(op, [known[t.name] for t in op.inputs])
        assert known[op.output.name].shape == op.output.shape


def test_convolutions_against_sums_by_hand():
    """A 3x3 kernel of ones on an image of ones counts its taps: 9 inside, 6 at an edge, 4 in a corner."""
    b = rl.GraphBuilder("ones")
    graph = b.build(outputs=[b.conv2d(b.input("x", (1, 1, 4, 4)), 1, 3, padding=1, bias=False)])
    y = execute(graph, {"x": np.ones((1, 1, 4, 4)), "conv_0.weight": np.ones((1, 1, 3, 3))})["conv_0.out"][0, 0]
    assert y[0].tolist() == [4, 6, 6, 4] and y[1].tolist() == [6, 9, 9, 6]


def test_a_transposed_convolution_is_the_transpose_of_the_convolution():
    """<conv(x), y> = <x, conv_transpose(y)> for any x and y."""
    rng = np.random.default_rng(0)
    b = rl.GraphBuilder("down")
    down = b.build(outputs=[b.conv2d(b.input("x", (1, 3, 9, 8)), 4, 3, stride=2, padding=1, bias=False)])
    b = rl.GraphBuilder("up")
    y = b.input("y", down.outputs[0].shape)
    up = b.build(outputs=[b.conv_transpose2d(y, 3, 3, stride=2, padding=1, output_padding=(0, 1), bias=False)])
    x, w, y = rng.normal(size=(1, 3, 9, 8)), rng.normal(size=(4, 3, 3, 3)), rng.normal(size=y.shape)
    left = (execute(down, {"x": x, "conv_0.weight": w})["conv_0.out"] * y).sum()
    right = (execute(up, {"y": y, "conv_transpose_0.weight": w})["conv_transpose_0.out"] * x).sum()
    assert left == pytest.approx(right)


def test_missing_and_misshapen_arrays_are_named():
    graph = block()
    arrays = random_arrays(graph, np.random.default_rng(0))
    with pytest.raises(rl.GraphError, match=r"block needs an array for 'x' \(1, 8, 16, 16\), and none is given"):
        execute(graph, {})
    with pytest.raises(rl.GraphError, match=r"the array for 'x' must be \(1, 8, 16, 16\), not \(1, 8\)"):
        execute(graph, arrays | {"x": np.ones((1, 8))})
