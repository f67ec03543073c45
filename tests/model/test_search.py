"""`best_plan` and `choose_tiles`: against known answers, and against trying everything."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import roofline_lessons as rl
from roofline_lessons.fusion import HALO_MODES, RULE_SETS, Tiling
from roofline_lessons.fusion.legality import is_tiled
from roofline_lessons.fusion.search.exact import linked
from roofline_lessons.fusion.search.order import depth_first_order
from roofline_lessons.fusion.search.slices import Slices
from roofline_lessons.fusion.search.tiles import table_of, tile_sizes
from roofline_lessons.fusion.tiling import tile_costs
from roofline_lessons.graph import Work
from tests.model.strategies import graphs
from tests.model.test_tiling import TOY

SMALL = TOY.with_(on_chip_bytes=228 * 1024)  # H100: 228 KiB of shared memory in each multiprocessor

#: Chips on which little, some or everything fits, and rows of softmax may not.
CHIPS = st.sampled_from([None, 64, 300, 1000, 5000]).map(
    lambda capacity: rl.Device("chip", {"fp32": 2e9}, 1e9, launch_seconds=5e-8, vector_peak=1e9, on_chip_bytes=capacity)
)


# -- known answers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kinds, kernels, microseconds",
    [("WDWD", [2, 2], 481.279), ("DDDD", [1, 1, 1, 1], 944.844), ("WWWW", [4], 29.504)],
)
def test_the_best_plan_of_a_chain(kinds, kernels, microseconds):
    """F15: 1e12 FLOP/s, 1e11 B/s, 5 us launch, 56 x 56 x 64, fp32, tile 14."""
    plan = rl.best_plan(rl.networks.convolution_chain(kinds), TOY, tile=14)
    assert [len(k.operators) for k in plan.kernels] == kernels
    assert rl.estimate(plan, TOY).seconds * 1e6 == pytest.approx(microseconds, abs=5e-4)


def test_with_its_own_tiles_the_best_plan_is_faster_still():
    plan = rl.best_plan(rl.networks.convolution_chain("WDWD"), SMALL)
    assert [len(k.operators) for k in plan.kernels] == [2, 2]
    assert rl.estimate(plan, SMALL).seconds < 481.279e-6


def test_with_room_for_everything_one_kernel_in_one_tile_is_best():
    plan = rl.best_plan(rl.networks.convolution_chain("DDDD"), TOY)
    assert len(plan) == 1 and plan.kernels[0].tiling.tile == (56, 56)
    assert rl.estimate(plan, TOY).macs == plan.graph.macs  # nothing is computed again


def test_a_tile_of_a_chosen_kernel_fits_and_no_tried_tile_is_faster():
    """F16: tiles of 14 need 226,304 B and fit 228 KiB, tiles of 19 do not."""
    graph = rl.networks.convolution_chain("WWWW")
    plan = rl.choose_tiles(rl.fuse(graph, rules="depth-first"), SMALL)
    assert plan.kernels[0].tiling == Tiling((14, 14))
    best = rl.estimate(plan, SMALL).seconds
    for tile in itertools.product(tile_sizes(56), tile_sizes(56)):
        try:
            other = rl.estimate(rl.fuse(graph, rules="depth-first", tile=tile), SMALL).seconds
        except rl.FusionError:
            continue
        assert best <= other


def test_where_no_tile_fits_the_bytes_are_said():
    plan = rl.fuse(rl.networks.convolution_chain("WWWW"), rules="depth-first")
    tiny = TOY.with_(on_chip_bytes=10_000)
    # a pixel of the result needs 9 x 9 of the input for 7 x 7 of the first result, 64 channels of 4 bytes
    assert (9**2 + 7**2) * 64 * 4 == 33_280
    with pytest.raises(rl.FusionError, match=r"its smallest tiles need 33,280 B of 10,000 B, 23,280 B too many\."):
        rl.choose_tiles(plan, tiny)
    with pytest.raises(rl.FusionError, match="its weights need 9,216 B of 9,000 B, 216 B too many"):
        rl.choose_tiles(plan, TOY.with_(on_chip_bytes=9000))
    assert len(rl.best_plan(plan.graph, tiny)) > 1  # a search goes another way


def test_depth_limits_the_kernels():
    graph = rl.networks.elementwise_chain(8)
    assert [len(k.operators) for k in rl.best_plan(graph, TOY, depth=3).kernels] == [2, 3, 3]
    assert len(rl.best_plan(graph, TOY, depth=1)) == 8
    with pytest.raises(ValueError, match="depth must be a whole number of at least 1"):
        rl.best_plan(graph, TOY, depth=0)


def test_wrong_names_say_what_is_right():
    graph = rl.networks.elementwise_chain(2)
    with pytest.raises(rl.UnknownNameError, match="epilogue"):
        rl.best_plan(graph, TOY, rules="epilog")
    with pytest.raises(rl.UnknownNameError, match="cache rows"):
        rl.best_plan(rl.networks.convolution_chain(), SMALL, halo="cache row")


# -- everything tried --------------------------------------------------------------------------------------------------


def partitions(n: int):
    """Every partition of 0 … n-1, as a list of sets."""

    def grow(i, blocks):
        if i == n:
            yield [set(block) for block in blocks]
            return
        for block in blocks:
            block.append(i)
            yield from grow(i + 1, blocks)
            block.pop()
        yield from grow(i + 1, [*blocks, [i]])

    return grow(0, [])


def seconds_of_kernel(graph, working, block, device, fold):
    """Through a plan in which all others run alone; infinite where it may not be or does not fit."""
    names = [working[i].name for i in sorted(block)]
    try:
        plan = rl.choose_tiles(rl.fuse(graph, groups=[names], fold=fold), device)
        return next(k for k in rl.estimate(plan, device).kernels if k.operators[0].name == names[0]).seconds
    except rl.FusionError:
        return np.inf


def connected(block, links) -> bool:
    reached, queue = {min(block)}, [min(block)]
    for i in queue:
        more = [j for j in block if links[i] >> j & 1 and j not in reached]
        reached.update(more)
        queue += more
    return reached == block


def fastest_of_all(graph, device, fold=True) -> float:
    """The seconds of the fastest plan, every partition tried."""
    working = [op for op in graph if not op.is_view]
    links = linked(graph, working)
    known: dict[frozenset, float] = {}

    def price(block):
        key = frozenset(block)
        if key not in known:
            known[key] = seconds_of_kernel(graph, working, block, device, fold) if connected(block, links) else np.inf
        return known[key]

    priced = sorted(((sum(map(price, blocks)), blocks) for blocks in partitions(len(working))), key=lambda x: x[0])
    for seconds, blocks in priced:
        try:
            rl.fuse(graph, groups=[[working[i].name for i in sorted(block)] for block in blocks], fold=fold)
        except rl.FusionError:
            continue  # kernels that wait for each other
        return seconds
    raise AssertionError("not even the unfused plan")


@given(graphs(max_operators=6), CHIPS)
def test_no_plan_is_faster(graph, chip):
    found = rl.estimate(rl.best_plan(graph, chip), chip).seconds
    assert found == pytest.approx(fastest_of_all(graph, chip), rel=1e-12)


@given(graphs(max_operators=8), CHIPS)
@settings(max_examples=25)
def test_no_plan_of_a_larger_graph_is_faster(graph, chip):
    found = rl.estimate(rl.best_plan(graph, chip), chip).seconds
    assert found == pytest.approx(fastest_of_all(graph, chip), rel=1e-12)


def test_what_a_view_shows_is_read_whole_whatever_the_tile():
    """A kernel cut into tiles of one number reads only those that the stride asks for, but not through a view.

    By hand, in ns at 1 GB/s and 50 ns for a launch: conv and batch norm read 24 numbers, one weight and 4 · 2 of the
    batch norm and write 48: 50 + 4 · 81. The two convolutions at 1 of 4 places read 12 of 48 numbers and 3 weights, and
    write 6: 50 + 4 · 21. Behind the view the second kernel would read all 48 numbers again: 50 + 4 · 65, after 246.
    """
    b = rl.GraphBuilder("view")
    image = b.input("image", (1, 1, 4, 6))
    both = b.concat([b.conv2d(image, 1, kernel=1, bias=False), image], axis=1, in_place=True)
    y = b.conv2d(b.batch_norm(both), 1, kernel=1, bias=False)
    graph = b.build(outputs=[b.conv2d(y, 1, kernel=1, stride=2, bias=False)])
    chip = rl.Device("chip", {"fp32": 2e9}, 1e9, launch_seconds=5e-8, vector_peak=1e9)
    plan = rl.best_plan(graph, chip)
    assert [len(kernel.operators) for kernel in plan.kernels] == [2, 2]
    assert [k.seconds for k in rl.estimate(plan, chip).kernels] == pytest.approx([374e-9, 134e-9])
    late = rl.choose_tiles(rl.fuse(graph, groups=[["batch_norm_0", "conv_1", "conv_2"]]), chip)
    assert [k.seconds for k in rl.estimate(late, chip).kernels] == pytest.approx([246e-9, 310e-9])
    assert rl.estimate(plan, chip).seconds == pytest.approx(fastest_of_all(graph, chip))


@st.composite
def paths(draw):
    """Graphs in which each operator reads the one before, and perhaps what was made earlier."""
    b = rl.GraphBuilder("path")
    made = [b.input("x", (1, 4, 6, 7))]
    for i in range(draw(st.integers(2, 7))):
        x, kind = made[-1], draw(st.sampled_from(["W", "D", "stride", "pool", "norm", "relu", "add", "softmax"]))
        if kind in "WD":
            made.append(b.conv2d(x, 4, 3, padding=1, groups=4 if kind == "W" else 1, bias=False, name=f"{kind}_{i}"))
        elif kind == "stride":
            made.append(b.conv2d(x, 4, 1, stride=2))
        elif kind == "pool":
            made.append(b.max_pool(x, 3, stride=1, padding=1))
        elif kind == "norm":
            made.append(b.batch_norm(x))
        elif kind == "add":
            made.append(b.add(x, draw(st.sampled_from([t for t in made if t.shape == x.shape]))))
        else:
            made.append(getattr(b, kind)(x))
    return b.build(outputs=[made[-1]])


@given(paths(), CHIPS, st.sampled_from(HALO_MODES), st.booleans())
def test_slices_price_as_the_estimate_does_and_are_exact_on_a_path(graph, chip, halo, fold):
    """The quick way with arrays finds what the slow way over sets finds, and both say what the estimate says."""
    from roofline_lessons.fusion.search import exact
    from roofline_lessons.fusion.search.pricing import Pricer

    pricer = Pricer(graph, chip, rl.precision("fp32"), fold=fold, tile=None, halo=halo)
    quick = Slices(depth_first_order(graph), pricer, None).solve(len(graph))
    slow = exact.fastest(graph, pricer, lambda operators: True, len(graph))
    seconds = sum(map(pricer.seconds, quick))
    assert seconds == pytest.approx(sum(map(pricer.seconds, slow)), rel=1e-12)
    plan = rl.Plan(graph, [k.operators for k in quick], fold=fold, tiling=[k.tiling for k in quick])
    assert seconds == pytest.approx(rl.estimate(plan, chip).seconds, rel=1e-12)


@given(graphs(), CHIPS, st.sampled_from([name for name in RULE_SETS if name != "tvm"]), st.integers(1, 8))
def test_the_best_plan_of_a_rule_set_beats_its_greedy_plan(graph, chip, rules, depth):
    best = rl.estimate(rl.best_plan(graph, chip, rules=rules, depth=depth), chip).seconds
    try:
        greedy = rl.choose_tiles(rl.fuse(graph, rules=rules, depth=depth), chip)
        assert best <= rl.estimate(greedy, chip).seconds * (1 + 1e-12)
    except rl.FusionError:
        pass  # the greedy plan does not fit


@pytest.mark.parametrize("chip", [TOY, SMALL, rl.device("raspberry-pi-5")], ids=["everything fits", "228 KiB", "Pi"])
@pytest.mark.parametrize("network", [rl.networks.mobilenet_v1, rl.networks.mobilenet_v2, rl.networks.bottleneck])
def test_the_best_plan_of_a_network_beats_every_rule_set(network, chip):
    graph = network()
    best = rl.estimate(rl.best_plan(graph, chip), chip).seconds
    for rules in RULE_SETS:
        try:
            plan = rl.choose_tiles(rl.fuse(graph, rules=rules), chip)
        except rl.FusionError:
            continue
        assert best <= rl.estimate(plan, chip).seconds * (1 + 1e-12), rules


def with_unknown(kinds):
    """A chain of ReLUs and of operators of a kind that this package does not know."""
    x = rl.Tensor("x", (1, 8))
    inputs, operators = [x], []
    for i, kind in enumerate(kinds):
        y = rl.Tensor(f"y_{i}", (1, 8))
        work = Work(0, 8, (8,), (8,)) if kind == "relu" else Work(0, 0, (8,), (8,), flops_known=False)
        operators.append(
            rl.Operator(f"{kind}_{i}", kind, (x,), (y,), work, {} if kind == "relu" else {"shapes": [y.shape]})
        )
        x = y
    return rl.Graph("chain", inputs, operators, [x])


def test_an_operator_of_an_unknown_kind_runs_alone():
    graph = with_unknown(["relu", "relu", "unknown", "relu", "unknown"])
    assert [len(k.operators) for k in rl.best_plan(graph, TOY).kernels] == [2, 1, 1, 1]
    said = "not fused: unknown_2 is of an unknown kind: which of its input it needs when is not known."
    assert rl.unfused(graph).why_not("relu_1", "unknown_2") == said
    with pytest.raises(rl.FusionError, match=said):
        rl.fuse(graph, groups=[["unknown_2", "relu_3"]])


# -- tables of tiles ---------------------------------------------------------------------------------------------------


@given(paths(), st.sampled_from(HALO_MODES))
def test_a_table_of_tiles_holds_what_each_tile_costs(graph, halo):
    operators = graph.operators
    if not is_tiled(operators) or any(op.kind == "softmax" for op in operators):
        return
    table = table_of(operators, halo)
    for (i, height), (j, width) in itertools.product(*(enumerate(axis.sizes) for axis in table.axes)):
        costs = tile_costs(operators, Tiling((int(height), int(width)), halo))
        assert costs.macs == table.macs[i, j] and costs.other_flops == table.other_flops[i, j]
        assert costs.live_elements == table.live_elements[i, j]
        assert {t.name: costs.read[t.name] for t in table.outside} == {n: a[i, j] for n, a in table.read.items()}


def test_the_order_puts_a_join_behind_its_longer_branch():
    b = rl.GraphBuilder("residual")
    x = b.relu(b.input("x", (1, 4, 8, 8)))
    main = b.conv2d(b.conv2d(x, 4, 3, padding=1, name="main_0"), 4, 3, padding=1, name="main_1")
    side = b.conv2d(x, 4, name="side")
    graph = b.build(outputs=[b.add(main, side)])
    assert [op.name for op in depth_first_order(graph)] == ["relu_0", "side", "main_0", "main_1", "add_0"]
