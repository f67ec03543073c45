"""Depth-first tiles against published and hand-worked figures (shared references: faults F13, F15, F16; section C)."""

from __future__ import annotations

import pytest

import roofline_lessons as rl
from roofline_lessons.fusion import Tiling
from roofline_lessons.fusion.tiling import tile_costs

#: DeFiNES' FSRCNN: (output channels, kernel) of its eight valid convolutions; the output is 960 x 540.
FSRCNN = [(56, 5), (12, 1), (12, 3), (12, 3), (12, 3), (12, 3), (56, 1), (16, 3)]


def chain(kinds: str, channels: int = 64, size: int = 56) -> rl.Graph:
    """3x3 convolutions of stride 1 with padding: W is depthwise, D is dense."""
    b = rl.GraphBuilder(kinds)
    x = b.input("x", (1, channels, size, size))
    for kind in kinds:
        x = b.conv2d(x, channels, 3, padding=1, groups=channels if kind == "W" else 1, bias=False)
    return b.build(outputs=[x])


def fsrcnn() -> rl.Graph:
    b = rl.GraphBuilder("fsrcnn")
    border = sum(kernel - 1 for _, kernel in FSRCNN)
    x = b.input("x", (1, 1, 540 + border, 960 + border))
    for channels, kernel in FSRCNN:
        x = b.conv2d(x, channels, kernel, bias=False)
    return b.build(outputs=[x])


def test_tiles_are_clipped_at_the_borders():
    """F13: 56 rows in tiles of 14 need 15 + 16 + 16 + 15 = 62 rows before one 3x3, 68 before two; unclipped 64."""
    graph = chain("DD")
    costs = tile_costs(graph.operators, Tiling((14, 14)))
    first = graph.operators[0]
    assert costs.macs == graph.operators[1].macs + first.macs * 62**2 // 56**2
    assert costs.read["x"] == 64 * 68**2


@pytest.mark.parametrize(
    "halo, macs, read",
    [
        ("cache all", 8_362_594_208, 539_596),
        ("cache rows", 8_687_604_544, 635_048),
        ("recompute", 9_120_123_904, 771_968),
    ],
)
def test_halo_modes_give_the_counts_of_defines(halo, macs, read):
    """DeFiNES executed on FSRCNN 960x540, tile 60x72 (width, height): MACs, and bytes copied in from DRAM (int8)."""
    graph = fsrcnn()
    costs = tile_costs(graph.operators, Tiling((72, 60), halo))
    assert costs.macs == macs
    assert costs.read["x"] == read  # the copy bytes that DeFiNES reports, to the byte


def test_defines_writes_its_output_once():
    """DRAM activation bytes 8,294,400 = 16 x 540 x 960: the output; everything between stays on the chip."""
    plan = rl.fuse(fsrcnn(), groups=[[f"conv_{i}" for i in range(8)]], tile=(72, 60))
    assert [w.elements for w in plan.kernels[0].writes] == [8_294_400]
    weights = sum(r.elements for r in plan.kernels[0].reads if r.tensor.is_constant)
    assert weights == 15_992  # as DeFiNES reports


TOY = rl.Device("toy", {"fp32": 1e12}, 1e11, launch_seconds=5e-6)


@pytest.mark.parametrize(
    "kinds, cuts, microseconds",
    [
        ("WDWD", [1, 1, 1, 1], 514.581), ("WDWD", [4], 587.866), ("WDWD", [2, 2], 481.279),
        ("DDDD", [1, 1, 1, 1], 944.844), ("DDDD", [4], 1264.274),
        ("WWWW", [4], 29.504), ("WWWW", [1, 1, 1, 1], 84.317),
    ],
)  # fmt: skip
def test_fusing_everything_can_lose(kinds, cuts, microseconds):
    """F15: P = 1e12 FLOP/s, BW = 1e11 B/s, launch 5 us, fp32, tile 14."""
    graph = chain(kinds)
    names = iter(op.name for op in graph)
    groups = [[next(names) for _ in range(n)] for n in cuts]
    est = rl.estimate(rl.fuse(graph, groups=groups, tile=14), TOY)
    assert est.seconds * 1e6 == pytest.approx(microseconds, abs=5e-4)


def test_what_does_not_fit_is_refused_with_the_bytes():
    """F16: WWWW in tiles of 14 holds a tile of 22^2 and one of 20^2, 64 channels, fp32: 226,304 B."""
    plan = rl.fuse(chain("WWWW"), groups=[[f"conv_{i}" for i in range(4)]], tile=14)
    assert plan.kernels[0].live_elements * 4 == (22**2 + 20**2) * 64 * 4 == 226_304
    rl.estimate(plan, TOY.with_(on_chip_bytes=228 * 1024))
    with pytest.raises(rl.FusionError, match="its tiles need 226,304 B of 196,608 B, 29,696 B too many"):
        rl.estimate(plan, TOY.with_(on_chip_bytes=192 * 1024))
    rl.estimate(plan, TOY)  # capacity unknown: not checked


def test_weights_of_a_stack_must_fit():
    """F17: two convolutions of 60 KB each do not fit 100 KB; tiles of one pixel would."""
    b = rl.GraphBuilder("heavy")
    y = b.conv2d(b.conv2d(b.input("x", (1, 120, 8, 8)), 125, bias=False), 120, bias=False)
    plan = rl.fuse(b.build(outputs=[y]), groups=[["conv_0", "conv_1"]], tile=1)
    with pytest.raises(rl.FusionError, match="its weights need 120,000 B of 100,000 B, 20,000 B too many"):
        rl.estimate(plan, TOY.with_(on_chip_bytes=1e5))


def test_batch_norm_and_relu_work_in_place():
    b = rl.GraphBuilder("block")
    x = b.input("x", (1, 8, 16, 16))
    y = b.relu(b.batch_norm(b.conv2d(x, 8, 3, padding=1, bias=False)))
    graph = b.build(outputs=[b.conv2d(y, 8, 3, padding=1, bias=False)])
    costs = tile_costs(graph.operators, Tiling((4, 4)))
    assert costs.live_elements == 8 * (8**2 + 6**2)


def test_a_strided_pooling_reaches_back_by_its_stride():
    b = rl.GraphBuilder("pool")
    x = b.input("x", (1, 4, 32, 32))
    graph = b.build(outputs=[b.max_pool(b.conv2d(x, 4, 3, padding=1, bias=False), 2)])
    costs = tile_costs(graph.operators, Tiling((4, 4)))
    # an output tile of 4 needs 8 rows of the convolution, those need 9 (borders) or 10 rows of x: 9 + 10 + 10 + 9
    assert costs.macs == graph.macs and costs.read["x"] == 4 * 38**2


def test_a_transposed_convolution_and_an_upsampling_reach_back_by_less():
    b = rl.GraphBuilder("up")
    x = b.input("x", (1, 4, 8, 8))
    graph = b.build(outputs=[b.conv_transpose2d(b.upsample(x, 2), 4, 2, stride=2, bias=False)])
    costs = tile_costs(graph.operators, Tiling((8, 8)))
    assert costs.read["x"] == 4 * 8**2 and costs.macs == graph.macs


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: Tiling((0, 4)), "tile must be a whole number of at least 1, not 0"),
        (lambda: Tiling((4, 4), "cache columns"), "unknown halo mode 'cache columns': did you mean 'cache rows'"),
    ],
)
def test_bad_tilings_say_what_is_right(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_what_cannot_be_tiled_says_why():
    b = rl.GraphBuilder("mixed")
    y = b.conv2d(b.conv2d(b.input("x", (1, 4, 8, 8)), 4), 4)
    graph = b.build(outputs=[b.softmax(y)])
    with pytest.raises(rl.FusionError, match=r"softmax_0 \(softmax\) needs more of its input than a tile"):
        rl.fuse(graph, groups=[["conv_0", "conv_1", "softmax_0"]])
    b = rl.GraphBuilder("flat")
    graph = b.build(outputs=[b.dense(b.relu(b.dense(b.input("x", (1, 8)), 8)), 8)])
    with pytest.raises(rl.FusionError, match="needs more of its input than a tile|only images"):
        rl.fuse(graph, groups=[["dense_0", "relu_0", "dense_1"]])


def test_a_view_inside_a_tiled_kernel_is_refused():
    """A reshape moves places: a tile before it is no tile behind it. The greedy pass leaves it alone."""
    b = rl.GraphBuilder("view")
    y = b.reshape(b.conv2d(b.input("x", (1, 4, 4, 9)), 4), (1, 4, 6, 6))
    graph = b.build(outputs=[b.conv2d(y, 4)])
    assert len(rl.fuse(graph, rules="depth-first")) == 2
    with pytest.raises(
        rl.FusionError, match="conv_1 reads reshape_0.out, a view, whose places are not those of a tile"
    ):
        rl.fuse(graph, groups=[["conv_0", "conv_1"]])
