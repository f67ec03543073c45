"""Nodes of ONNX Runtime's profiler, matched with our operators, and what is shown of them."""

import json

import matplotlib
import pytest

import roofline_lessons as rl
from roofline_lessons import engines
from roofline_lessons.engines import BLOCKS, EngineError, block, catalogue, here_or_recorded, moved, recorded_profiles
from roofline_lessons.engines.merges import Node
from roofline_lessons.engines.node_times import NodeTime, Profile
from roofline_lessons.engines.recorded_engines import PROFILED
from roofline_lessons.measure import Timing
from roofline_lessons.measure import recorded as recorded_machine
from roofline_lessons.scenes.engine_nodes import LEVELS, PARTS, NodesScene
from tests.engines.conftest import engine, of

COMPARED = ("off", "all but layout", "all")


def node(name, operators, microseconds, kind="Kind", moved_bytes=0):
    return NodeTime(name, kind, operators, Timing(microseconds * 1e-6, 1.5 * microseconds * 1e-6, 9), moved_bytes)


def toy(nodes, run=100e-6, profiled=130e-6):
    """A convolution and a ReLU, run by some nodes."""
    b = rl.GraphBuilder("toy")
    graph = b.build(outputs=[b.relu(b.conv2d(b.input("x", (1, 4, 6, 6)), 4, 1, bias=False))])
    return Profile(graph, "onnxruntime", "off", tuple(nodes), Timing(run, run, 9), Timing(profiled, profiled, 9))


APART = [node("Conv", ("conv_0",), 60), node("Relu", ("relu_0",), 20)]
MERGED = [node("In", (), 4), node("FusedConv", ("conv_0", "relu_0"), 65)]


# -- worked by hand ----------------------------------------------------------------------------------------------------


def test_points_are_our_flops_and_bytes_over_the_engines_seconds():
    conv, relu = toy(APART).kernels
    weights, tensor = 4 * 4 * 4, 4 * 36 * 4
    assert (conv.flops, conv.dram_bytes) == (2 * 4 * 4 * 36, weights + 2 * tensor)
    assert (relu.flops, relu.dram_bytes, relu.macs) == (4 * 36, 2 * tensor, 0)
    assert conv.point.name == "conv_0" and conv.point.intensity == conv.flops / conv.dram_bytes
    assert conv.point.flops_per_second == pytest.approx(conv.flops / 60e-6)
    assert conv.point.usual_flops_per_second == pytest.approx(conv.flops / 90e-6)
    assert conv.timing.noise == pytest.approx(1.5)


def test_a_merged_kernel_is_one_point_and_what_rearranges_is_none():
    profile = toy(MERGED)
    (kernel,) = profile.kernels
    assert kernel.operators == ("conv_0", "relu_0") and len(profile.points) == 1
    assert kernel.dram_bytes == 4 * (16 + 2 * 144)
    assert [n.name for n in profile.rearranging] == ["In"]


def test_time_outside_the_nodes_and_the_profilers_own():
    profile = toy(APART)
    assert profile.nodes_seconds == pytest.approx(80e-6)
    assert profile.outside_seconds == pytest.approx(20e-6)
    assert profile.overhead == pytest.approx(0.3) and profile.overhead_seconds == pytest.approx(15e-6)
    assert toy(APART, run=70e-6).outside_seconds == 0  # the profiler's own time is in the nodes'


def test_several_nodes_of_one_operator_are_added():
    (conv, _) = toy([node("A", ("conv_0",), 10), node("B", ("conv_0",), 30), node("R", ("relu_0",), 5)]).kernels
    assert conv.seconds == pytest.approx(40e-6) and conv.kinds == "Kind + Kind" and conv.timing.rounds == 9


def test_what_has_no_place_on_a_roofline_says_why():
    conv, relu = toy([node("Conv", ("conv_0",), 60), node("Relu", ("relu_0",), 0)]).kernels
    assert relu.off_the_plot == "relu_0 takes less than the profiler's clock shows" and not conv.off_the_plot
    assert len(toy([node("Conv", ("conv_0",), 60), node("Relu", ("relu_0",), 0)]).points) == 1
    graph = of(lambda b, x: b.relu(b.transpose(x, (1, 0))))
    profile = Profile(graph, "onnxruntime", "off", (node("T", ("transpose_0",), 5),), Timing(1, 1, 1), Timing(1, 1, 1))
    assert profile.kernels[0].off_the_plot == "transpose_0 does no FLOP"


def test_what_became_of_the_time_of_a_node():
    (only,) = moved(toy(APART), Profile(toy(APART).graph, "onnxruntime", "all", tuple(MERGED), *[Timing(1, 1, 1)] * 2))
    assert (only.alone_seconds, only.taken_in_seconds) == pytest.approx((60e-6, 20e-6))
    assert only.grew_seconds == pytest.approx(5e-6) and only.saved_seconds == pytest.approx(15e-6)


def test_a_node_too_short_for_the_clock_and_a_graph_without_nodes_can_be_looked_at():
    profile = toy([node("Conv", ("conv_0",), 60), node("Relu", ("relu_0",), 0)])
    assert "relu_0 (Kind): 0 s, noise 1.00" in repr(profile) and "FLOP/s" not in repr(profile).splitlines()[-1]
    assert toy([]).overhead_seconds == pytest.approx(30e-6) and toy([]).kernels == ()


def test_it_says_itself_in_words():
    said = repr(toy(MERGED))
    assert said.startswith("<Profile of toy, onnxruntime, off: 100 µs, measured here>")
    assert "conv_0 + relu_0 (Kind): 65.0 µs, noise 1.50" in said and "Kind, of no operator: 4.00 µs" in said


# -- the blocked layout taken out again -------------------------------------------------------------------------------

CONV_1 = Node("Conv_1", "Conv", ("x",), ("c1",))
CONV_2 = Node("Conv_2", "Conv", ("c1",), ("c2",))


def test_a_convolution_does_not_take_in_the_next_one():
    from roofline_lessons.engines.onnx_layout import unblocked

    after = [
        Node("in", "ReorderInput", ("x",), ("t0",)), Node("c1_nchwc", "Conv", ("t0",), ("t1",)),
        Node("c2_nchwc", "Conv", ("t1",), ("t2",)), Node("out", "ReorderOutput", ("t2",), ("c2",)),
    ]  # fmt: skip
    assert [(n.inputs, n.outputs) for n in unblocked([CONV_1, CONV_2], after)] == [
        (("x",), ("c1",)),
        (("c1",), ("c2",)),
    ]


@pytest.mark.parametrize("sums, outputs", [(("t1", "t0"), ["c1", "r"]), (("t1",), ["c1", "c2", "s", "r"])])
def test_a_convolution_with_a_sum_takes_the_addition_and_what_follows(sums, outputs):
    from roofline_lessons.engines.onnx_layout import unblocked

    before = [CONV_1, CONV_2, Node("Add", "Add", ("c2", "x"), ("s",)), Node("Relu", "Relu", ("s",), ("r",))]
    after = [
        Node("in", "ReorderInput", ("x",), ("t0",)), Node("c1_nchwc", "Conv", ("t0",), ("t1",)),
        Node("c2_nchwc", "Conv", sums, ("t2",)),
    ]  # fmt: skip
    rest = [Node("Add", "Add", ("t2", "t0"), ("t3",)), Node("Relu", "Relu", ("t3",), ("r",))]
    found = unblocked(before, after if len(sums) > 1 else [*after, *rest])
    assert [n.outputs[0] for n in found] == outputs


# -- the engine, really run -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ort():
    return engine("onnxruntime")


@pytest.fixture
def onnx_profile(ort):
    from roofline_lessons.engines import onnx_profile

    return onnx_profile


@pytest.mark.parametrize("variant", COMPARED)
@pytest.mark.parametrize("name", ["inverted_residual", "residual", "separable", "gelu", "layer_norm_scaled"])
def test_every_operator_is_in_one_kernel_and_only_the_layout_is_in_none(ort, name, variant):
    graph = block(name)
    profile = ort.profile(graph, variant, runs=2)
    done = [op for kernel in profile.kernels for op in kernel.operators]
    assert sorted(done) == sorted(op.name for op in graph if not op.is_view)
    assert {n.kind for n in profile.rearranging} <= {"ReorderInput", "ReorderOutput"}
    assert bool(profile.rearranging) == (variant == "all" and any(op.macs for op in graph))
    merged = {m.before for m in ort.fusions(graph, variant)}
    assert {k.operators for k in profile.kernels if len(k.operators) > 1} == merged
    # a small node may take less than the microsecond that the clock shows
    assert all(0 <= n.seconds < 10 and n.timing.noise >= 1 for n in profile.nodes) and profile.nodes_seconds > 0


#: The engine counts an operand as often as it is named; our kernels read each tensor once.
NAMED_TWICE = {"layer_norm_product": "mul_0", "layer_norm_scaled": "square_0", "layer_norm_moments": "mul_"}


@pytest.mark.parametrize("variant", ["off", "all but layout"])
@pytest.mark.parametrize("name", BLOCKS)
def test_the_engine_counts_the_bytes_that_we_count(ort, name, variant):
    """Two independent counts: sizes of what each node reads and makes, told by the engine, and our DRAM bytes."""
    for kernel in ort.profile(block(name), variant, runs=1).kernels:
        if len(kernel.nodes) == 1 and not kernel.name.startswith(NAMED_TWICE.get(name, "–")):
            assert sum(n.moved_bytes for n in kernel.nodes) == pytest.approx(kernel.dram_bytes, rel=0.01), kernel.name


def test_a_known_copy_is_counted_as_read_and_written(ort):
    """B15 of references/faults.md: 1 MiB in, 1 MiB out, whatever the caches add."""
    (kernel,) = ort.profile(of(lambda b, x: b.relu(x), (1 << 18,)), "off", runs=1).kernels
    assert kernel.nodes[0].moved_bytes == kernel.dram_bytes == 2 << 20


@pytest.mark.parametrize("build", [rl.networks.mobilenet_v2, rl.networks.resnet18, rl.networks.ds_cnn])
def test_with_the_layout_a_network_has_the_same_kernels(ort, build):
    graph = build() if build is rl.networks.ds_cnn else build(resolution=64)
    with_layout, without = (ort.profile(graph, variant, runs=1) for variant in ("all", "all but layout"))
    assert [k.operators for k in with_layout.kernels] == [k.operators for k in without.kernels]
    assert {n.kind for n in with_layout.rearranging} == {"ReorderOutput", "Reshape"}  # a view belongs to no kernel


def test_the_block_of_mobilenet_keeps_its_addition_when_the_layout_is_on(ort):
    """Its input is no image in blocks, so that the convolution cannot take in the sum."""
    kernels = ort.profile(block("inverted_residual"), "all", runs=1).kernels
    assert [len(k.operators) for k in kernels] == [3, 3, 2, 1]
    assert [len(k.operators) for k in ort.profile(block("inverted_residual"), runs=1).kernels] == [3, 3, 3]


def test_the_profilers_files_are_closed_also_after_an_error(onnx_profile, monkeypatch):
    """A file that is open cannot be deleted on Windows."""
    closed, make = [], onnx_profile.session_of

    class Session:
        def __init__(self, made):
            self.made = made

        def end_profiling(self):
            closed.append(self.made)
            return self.made.end_profiling()

        def run(self, *args):
            raise RuntimeError("stop")

        def __getattr__(self, name):
            return getattr(self.made, name)

    monkeypatch.setattr(onnx_profile, "session_of", lambda *args, **more: Session(make(*args, **more)))
    with pytest.raises(RuntimeError, match="stop"):
        onnx_profile.profiles(block("gelu"), ["off", "all"], runs=1)
    assert len(closed) == 2


EVENT = {"cat": "Node", "name": "Relu_kernel_time", "dur": 5, "args": {"op_name": "Relu", "node_index": "0"}}


def test_what_the_profiler_wrote_is_read_run_by_run(onnx_profile):
    """Fastest and median of the runs, in seconds; events before and behind a node's computing do not count."""
    other = EVENT | {"name": "Relu_fence_before", "dur": 1}
    runs = [EVENT | {"dur": d, "args": EVENT["args"] | {"output_size": "8", "activation_size": "4"}} for d in (9, 5, 7)]
    (found,) = onnx_profile.node_times(json.dumps([{"cat": "Session"}, other, *runs]), {"Relu": ("relu_0",)})
    assert (found.kind, found.operators, found.moved_bytes) == ("Relu", ("relu_0",), 12)
    assert found.timing == Timing(5 * 1e-6, 7 * 1e-6, 3)


@pytest.mark.parametrize(
    "written, words",
    [
        ("[", "What the profiler of ONNX Runtime wrote cannot be read: JSONDecodeError"),
        ("[3]", "cannot be read: AttributeError"),
        (json.dumps([{k: v for k, v in EVENT.items() if k != "dur"}]), r"cannot be read: KeyError\('dur'\)"),
        (json.dumps([EVENT | {"args": {}}]), r"cannot be read: KeyError\('node_index'\)"),
        (json.dumps([EVENT | {"name": "Exp_kernel_time"}]), "timed Exp, which is no node of the graph it ran"),
    ],
)
def test_what_the_profiler_wrote_in_another_way_is_told(onnx_profile, written, words):
    with pytest.raises(EngineError, match=words):
        onnx_profile.node_times(written, {"Relu": ()})


def test_bad_names_are_told(ort):
    with pytest.raises(ValueError, match="unknown variant of ONNX Runtime 'alll': did you mean 'all'"):
        ort.profile(block("residual"), "alll")
    with pytest.raises(ValueError, match="unknown block 'gelou'"):
        engines.profiles("gelou")


# -- recorded ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def without_engine(monkeypatch):
    """ONNX Runtime is not installed."""
    monkeypatch.setattr(catalogue, "_missing", lambda engine: ["onnxruntime"])
    here_or_recorded._profiles.forget()
    yield
    here_or_recorded._profiles.forget()


@pytest.mark.parametrize("name", PROFILED)
def test_nodes_are_recorded_and_marked(name):
    for variant, profile in recorded_profiles(name).items():
        assert profile.where.startswith("recorded 20") and profile.variant == variant
        done = [op for kernel in profile.kernels for op in kernel.operators]
        assert sorted(done) == sorted(op.name for op in profile.graph if not op.is_view)
        assert 0.8 < profile.nodes_seconds / profile.run.seconds < 1.5
    assert list(recorded_profiles(name)) == list(COMPARED)


def test_without_the_engine_the_recorded_nodes_are_shown(without_engine):
    scene = NodesScene()
    assert scene.profiles["off"].recorded and scene.machine is recorded_machine()
    title = rl.engine_plots.nodes(scene).get_suptitle()
    assert title.startswith("recorded on") and title.endswith("; nodes, too")
    with pytest.raises(
        ValueError, match="onnxruntime is not installed: .*; and the nodes of residual were not recorded, o"
    ):
        engines.profiles("residual")


# -- shown -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def scene(without_engine):
    return NodesScene("inverted_residual")


@pytest.mark.parametrize("level", COMPARED)
def test_every_kernel_has_its_number_at_its_point(scene, level):
    rows = scene.rows(level)
    written = [int(n) for _, words in scene.labels(level) for n in words.split()]
    assert sorted(written) == [row.number for row in rows] == list(range(1, len(rows) + 1))
    assert all(row.predicted_seconds > 0 for row in rows)


def test_a_network_of_ones_own_is_run_now(ort):
    scene = NodesScene(rl.networks.ds_cnn(), recorded_machine())
    assert scene.name == "ds_cnn" and scene.profiles["off"].where == "measured here"
    written = {int(n) for _, words in scene.labels("off") for n in words.split()}
    longest = sorted(scene.rows("off"), key=lambda row: -row.kernel.seconds)[:5]
    assert written == {row.number for row in longest}  # there is no room for all of its kernels
    assert len(scene.rows("all")) == len(rl.fuse(rl.networks.ds_cnn(), "onnxruntime-all"))
    assert rl.engine_plots.nodes(rl.networks.ds_cnn(), ["all"], recorded_machine())._repr_png_()


def test_too_many_points_on_one_another_are_counted():
    b = rl.GraphBuilder("chain")
    x = b.input("x", (1000,))
    for _ in range(8):
        x = b.relu(x)
    graph, ran = b.build(outputs=[x]), Timing(1e-4, 1e-4, 9)
    nodes = tuple(node(f"Relu_{i}", (f"relu_{i}",), 5) for i in range(8))
    scene = NodesScene("chain", recorded_machine(), {"off": Profile(graph, "onnxruntime", "off", nodes, ran, ran)})
    assert [words for _, words in scene.labels("off")] == ["8 kernels"]


@pytest.mark.parametrize("level", COMPARED)
def test_the_pieces_of_a_run_are_its_nodes_and_what_is_between(scene, level):
    profile, pieces = scene.profiles[level], scene.segments(level)
    assert sum(p.seconds for p in pieces) == pytest.approx(max(profile.run.seconds, profile.nodes_seconds))
    assert len(pieces) == len(profile.nodes) + 1 and {p.part for p in pieces} <= set(PARTS)
    assert [p.part == PARTS[2] for p in pieces].count(True) == len(profile.rearranging)
    parts = {op.kind: p.part for op, p in zip(profile.graph, scene.segments("off"), strict=False)}
    assert parts["conv2d"] == PARTS[0] and parts["relu6"] == PARTS[1]


def test_the_sentences_say_levels_and_nodes_of_no_operator(scene):
    said = scene.sentences()
    assert [s.split(":")[0] for s in said] == ["Nothing merged", "Merged", "Merged, and blocks of channels"]
    assert "2 nodes only rearrange numbers" in said[2] and "rearrange" not in said[1]
    assert scene.sentences(["all"]) == said[2:]


def test_the_source_says_where_it_comes_from_and_what_the_profiler_costs(scene):
    assert scene.source.startswith("Nodes: ONNX Runtime, recorded 20")
    assert "The profiler itself costs up to" in scene.source and "per node" in scene.source


def test_the_page_has_a_row_for_each_kernel_and_each_node_of_none(scene):
    table = scene.table(["all"])
    assert table.count("<tr>") == 1 + len(scene.rows("all")) + len(scene.profiles["all"].rearranging)
    assert table.count("(of no operator)") == 2 and "ReorderInput" in table
    assert scene.table().count("<tr>") > table.count("<tr>")


def test_the_widget_shows_what_the_scene_says(without_engine):
    explorer = rl.NodeExplorer()
    assert explorer.texts["table"].value == explorer.scene.table(["off", "all but layout"])
    before = explorer.texts["picture"].value
    explorer.controls["levels"].value = ("all but layout", "all")
    assert explorer.texts["picture"].value != before and "ReorderInput" in explorer.texts["table"].value
    explorer.controls["block"].value = "gelu"
    assert explorer.scene.name == "gelu" and "Gelu" in explorer.texts["table"].value
    assert [b for _, b in explorer.controls["block"].options] == list(PROFILED)
    explorer.again_button.click()
    explorer.reset_button.click()
    assert explorer.texts["picture"].value == before and f'alt="{explorer.texts["sentence"].value}"' in before


def test_the_table_has_a_row_for_each_kernel_and_each_node_of_none(scene):
    frame = scene.to_frame()
    assert len(frame) == sum(len(p.kernels) + len(p.rearranging) for p in scene.profiles.values())
    assert list(frame.columns[:4]) == ["level", "number", "kernel", "engine's node"]
    assert set(scene.to_frame(["off"])["level"]) == {"off"}


def test_the_picture_holds_every_point_hollow_and_the_models_beside_it(scene):
    figure = rl.engine_plots.nodes(scene, COMPARED)
    figure.draw_without_rendering()
    for axes, level in zip(figure.axes[: len(COMPARED)], COMPARED):
        points = scene.points(level)
        assert axes.get_title(loc="left") == f"{LEVELS[level]} (level “{level}”)"
        (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
        for p in points:
            assert left < p.intensity < right and bottom < p.usual_flops_per_second <= p.flops_per_second < top
        circles = [c for c in axes.collections if isinstance(c, matplotlib.collections.PathCollection)]
        hollow = [c for c in circles if c.get_facecolor().size and (c.get_facecolor()[0][:3] == 1).all()]
        assert len([c for c in hollow if len(c.get_offsets())]) == len(points)
    assert scene.machine.name in figure.get_suptitle()
