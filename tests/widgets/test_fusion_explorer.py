"""The fusion scene: its tables are the model's numbers, its words are true, its run ends where the estimate does."""

from __future__ import annotations

import itertools
import json
import math
import re
import time

import pytest

import roofline_lessons as rl
from roofline_lessons import plots
from roofline_lessons.fusion import RULE_SETS
from roofline_lessons.scenes.fusion import CLOCK_STEPS, FUSION_NETWORKS, ON_CHIP_BYTES, FusionScene
from roofline_lessons.scenes.fusion_marks import marks
from roofline_lessons.scenes.fusion_plans import label
from roofline_lessons.scenes.fusion_shown import is_over, so_far
from tests.model.toys import TOY

CHAIN = rl.networks.convolution_chain("WDWD")
EVERY = list(itertools.product(FUSION_NETWORKS, RULE_SETS))


def chain_scene(**changes) -> FusionScene:
    """WDWD on a device whose on-chip size is on the slider."""
    return FusionScene(CHAIN, TOY.with_(**{"on_chip_bytes": 2**20, **changes}), rules="depth-first", depth=4)


# -- tables ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("network, rules", EVERY)
def test_the_tables_are_what_the_model_says(network, rules):
    """Bytes, FLOPs and needs of every kernel of every plan, against estimates of the plans themselves."""
    scene = FusionScene(network, rules=rules)
    t = scene.tables
    for depth, step in itertools.product(range(1, scene.most_depth + 1), (0, 9, 28)):
        scene.depth, scene.on_chip_step = depth, step
        rows = [t["kernels"][k] for k in scene.shown.plan]
        assert [len(row["ops"]) for row in rows] == [len(k.operators) for k in scene.plan.kernels]
        if scene.now is None:
            continue
        for row, kernel in zip(rows, scene.now.kernels, strict=True):
            moved = sum(m[1] for m in (*row["reads"], *row["writes"])) + (row["again"] or 0)
            assert moved == kernel.dram_bytes
            assert row["mac_flops"] + row["other_flops"] == kernel.flops
            assert row["on_chip_bytes"] == kernel.on_chip_bytes
            assert [t["names"][op] for op in row["ops"]] == [op.name for op in kernel.operators]


@pytest.mark.parametrize("network, rules", EVERY)
def test_a_plan_has_the_fastest_tiles_and_does_not_fit_where_the_model_says_so(network, rules):
    scene = FusionScene(network, rules=rules)
    for depth, step in itertools.product(range(1, scene.most_depth + 1), range(0, 29, 4)):
        scene.depth, scene.on_chip_step = depth, step
        chip = scene.device.with_(on_chip_bytes=scene.on_chip_bytes)
        plan = rl.fuse(scene.graph, rules=rules, depth=scene.depth)
        try:
            best = rl.choose_tiles(plan, chip, scene.precision)
        except rl.FusionError as error:
            assert scene.now is None
            amounts = re.search(r"its ([a-z ]+) need ([\d,]+) B of ([\d,]+) B, ([\d,]+) B too many", str(error))
            for amount in amounts.groups():
                assert amount in scene.sentence
            assert f"does not fit: {amounts[2]} B of {amounts[3]} B" in scene.marks["bars"]["value"]
        else:
            assert scene.now.seconds == pytest.approx(rl.estimate(best, chip, scene.precision).seconds, rel=1e-12)
            assert [k.tiling for k in scene.plan.kernels] == [k.tiling for k in best.kernels]


@pytest.mark.parametrize("network, rules", EVERY)
def test_tables_are_small_and_made_at_once(network, rules):
    assert FusionScene().tables  # the first one loads NetworkX
    start = time.perf_counter()
    tables = FusionScene(network, rules=rules).tables
    assert time.perf_counter() - start < 1  # 0.2 s on an idle machine
    assert len(json.dumps(tables)) < 100_000


def test_each_kernel_is_in_the_tables_once():
    t = chain_scene().tables
    keys = [json.dumps(row) for row in t["kernels"]]
    assert len(set(keys)) == len(keys)
    assert len({json.dumps(plan) for plan in t["plans"]}) == len(t["plans"])


def test_attention_reads_again_what_does_not_fit():
    scene = FusionScene("attention", rules="attention", depth=3)
    few = scene.now.dram_bytes
    assert "reads" in scene.marks["on_chip_note"]["value"] and "again" in scene.marks["ledger"]["value"]
    scene.on_chip_step = len(ON_CHIP_BYTES) - 1
    assert scene.now.dram_bytes < few
    assert "nothing is read again" in scene.marks["on_chip_note"]["value"]


# -- what is shown -----------------------------------------------------------------------------------------------------


def test_the_block_of_the_mockup():
    """Known: 9 kernels, 23.8 MB; three fused with depth 3, and the addition."""
    scene = FusionScene()
    assert len(scene.plan) == 9 and rl.si(scene.before.dram_bytes, "B") == "23.8 MB"
    assert scene.sentence.startswith("Unfused: 9 kernels, 23.8 MB to and from DRAM, 1.45 ms. Kernel")
    assert scene.sentence.endswith("A larger depth is faster.")
    scene.depth = 3
    saved = scene.before.dram_bytes - scene.now.dram_bytes
    assert f"Fusing up to 3 operators keeps {rl.si(saved, 'B')} out of DRAM: 1.45 ms → 564 µs (2.6×)." in scene.sentence
    assert f"{rl.si(saved, 'B')} of 23.8 MB" in scene.marks["removed"]["value"]


def test_the_ledger_is_the_plans_difference():
    scene = FusionScene(depth=3)
    table = scene.marks["ledger"]["value"]
    rows = [re.sub("<[^>]*>", "|", row).strip("|").split("||") for row in table.split("<tr>")[2:]]
    difference = scene.choices.unfused.diff(scene.plan)
    assert [row[0] for row in rows[: len(difference)]] == [saved.tensor for saved in difference]
    assert [row[3] for row in rows[: len(difference)]] == [rl.si(saved.bytes_saved, "B") for saved in difference]
    assert [cell.strip("|") for cell in rows[-1]][1:3] == ["23.8 MB", rl.si(scene.now.dram_bytes, "B")]


def test_the_picture_has_an_arrow_for_each_trip_of_an_activation():
    scene = FusionScene()
    for depth in range(1, 10):
        scene.depth = depth
        svg = scene.marks["picture"]["value"]
        trips = [(i, way) for i, way, moved in scene.plan.dram_transfers if not moved.tensor.is_constant]
        assert svg.count('class="rl-read"') == sum(way == "read" for _, way in trips)
        assert svg.count('class="rl-write"') == sum(way == "write" for _, way in trips)
        assert svg.count("rl-read") + svg.count("rl-write") + svg.count("rl-gone") == 19
        assert svg.count('class="rl-kernel"') == len(scene.plan)
        assert svg.startswith("<svg") and 'role="img"' in svg


def test_a_plan_that_does_not_fit_has_no_bar_and_no_point_and_comes_back():
    scene = chain_scene()
    before = scene.marks
    scene.on_chip_bytes = 16 * 1024
    over = scene.marks
    assert scene.now is None and over["now"]["x"] == over["kernels"]["x"] == over["trail"]["x"] == []
    assert over["label_before"]["text"] == ["unfused"]
    assert "rl-over" in over["picture"]["value"] and ">now<" in over["bars"]["value"]
    assert over["bars"]["value"].count('stroke-width="1.5"') < before["bars"]["value"].count('stroke-width="1.5"')
    assert scene.sentence.endswith("Make the on-chip memory larger, or the depth smaller.")
    scene.on_chip_bytes = 2**20
    assert scene.marks == before


def test_the_advice_is_true():
    """A larger depth is called faster exactly where one is, at every place of the sliders tried."""
    said = set()
    for network, rules in EVERY:
        scene = FusionScene(network, rules=rules)
        for depth, step in itertools.product(range(1, scene.most_depth + 1, 2), (0, 24, 48)):
            scene.depth, scene.bandwidth_step = depth, step
            if scene.now is None:
                continue
            seconds = scene.shown.others
            deeper = [s for s in seconds[scene.depth :] if s is not None and s < 0.98 * scene.now.seconds]
            lower = [s for s in seconds[: scene.depth - 1] if s is not None and s < 0.98 * scene.now.seconds]
            word = "A larger" if deeper else "A smaller" if lower else "No other"
            assert scene.sentence.split(". ")[-1].startswith(word)
            said.add(word)
    assert said == {"A larger", "A smaller", "No other"}


def test_a_gain_too_small_to_matter_is_no_advice():
    """Depth 9 of the block takes 361 µs, depth 5 363 µs; depth 7 is slower than both."""
    scene = FusionScene(rules="depth-first", depth=5)
    seconds = scene.shown.others
    assert seconds[8] < scene.now.seconds < seconds[6] and seconds[8] > 0.98 * scene.now.seconds
    assert scene.sentence.endswith("No other depth is faster by more than 2 %.")


def test_an_unknown_launch_is_left_out_of_the_formula():
    scene = FusionScene(device="stm32h743")
    assert scene.device.launch_seconds is None
    formula = scene.marks["formula"]["value"]
    assert formula.count(" = max(") == 2 and "launch" not in formula
    assert formula.endswith("; what starting a kernel costs is unknown here and left out")
    assert " = launch + max(" in FusionScene().marks["formula"]["value"]


def test_every_roof_says_what_it_is():
    one = FusionScene(device="stm32h743").marks
    assert one["roof_0"]["visible"] and one["label_on_chip"]["text"] == ["on chip 3.84 GB/s"]
    assert one["label_bandwidth"]["text"] == ["AXI SRAM 1.92 GB/s"]
    a100 = FusionScene(device="a100-sxm-40gb")
    two = a100.marks["label_on_chip"]
    assert two["text"] == ["L2 7.20 TB/s", "shared memory 19.5 TB/s"]
    assert two["y"][0] < two["y"][1] < a100.tables["y_limits"][1]
    assert FusionScene().marks["label_on_chip"]["text"] == []


def test_on_the_roofline_letters_and_totals_are_kept_apart():
    assert FusionScene("elementwise chain", rules="elementwise", depth=8).marks["names"]["text"] == ["A · now"]
    assert FusionScene("fork").marks["names"]["text"] == ["A B C · unfused"]


def test_labels_of_operators_are_short():
    for make in FUSION_NETWORKS.values():
        assert all(len(word) <= 8 for op in make() for word in label(op))


# -- the run -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["raspberry-pi-5", "coral-edge-tpu", "a100-sxm-40gb", "tpu-v1"])
def test_the_run_only_grows_and_ends_with_the_totals(device):
    scene = FusionScene(device=device, depth=3)
    est = scene.now
    steps = [so_far(est, est.seconds * i / 500) for i in range(501)]
    assert [s[0] for s in steps] == sorted(s[0] for s in steps)
    assert {s[0] for s in steps} == set(range(len(est.plan)))
    for column in (1, 2):
        values = [s[column] for s in steps]
        if values[0] is None:
            assert est.joules is None
            continue
        assert values == sorted(values) and values[0] == 0
        assert values[-1] == (est.dram_bytes if column == 1 else est.joules)
        assert values[-2] == pytest.approx(values[-1], rel=0.02)


def test_the_clock_starts_and_stops_both_runs():
    scene = FusionScene(depth=3)
    at_rest = scene.marks
    assert "rl-cursor" not in at_rest["bars"]["value"] and "rl-pulse" not in at_rest["picture"]["value"]
    scene.tick = 10
    running = scene.marks
    assert running["bars"]["value"].count("rl-cursor") == 2
    assert "rl-pulse" in running["picture"]["value"] and len(running["glow"]["x"]) == 1
    scene.tick = math.ceil(CLOCK_STEPS * scene.now.seconds / scene.before.seconds)
    assert scene.marks["bars"]["value"].count("· done") == 2 * 1  # the bar and its description: now alone
    assert "rl-pulse" not in scene.marks["picture"]["value"] and scene.marks["glow"]["x"] == []
    scene.tick = CLOCK_STEPS
    end = scene.marks["bars"]["value"]
    for est in (scene.before, scene.now):
        assert f"{rl.si(est.seconds, 's')} · done" in end
        assert f"{rl.si(est.dram_bytes, 'B')} · {rl.si(est.joules, 'J')}" in end
    assert "of 1.45 ms <small>slowed 8300 times" in scene.marks["clock_text"]["value"]


def test_an_end_is_passed_a_hair_early():
    assert is_over(0.1 + 0.2, 0.3) and is_over(0.3, 0.1 + 0.2) and not is_over(0.2999, 0.3)


# -- controls ----------------------------------------------------------------------------------------------------------


def test_an_unknown_on_chip_size_is_not_checked_until_it_is_set():
    scene = FusionScene("VGG-19 start", device="apple-m1", rules="depth-first", depth=12)
    scene = FusionScene("VGG-19 start", scene.device.with_(on_chip_bytes=None), rules="depth-first", depth=12)
    assert scene.on_chip_bytes is None and scene.now is not None
    assert scene.marks["on_chip_text"]["value"] == "unknown"
    scene.on_chip_bytes = 32_000
    assert scene.on_chip_bytes == 32768 and scene.now is None


def test_a_devices_own_on_chip_size_is_on_the_slider():
    for id in rl.devices():
        scene = FusionScene(device=id, precision=rl.device(id).precisions()[0])
        assert scene.on_chip_bytes == rl.device(id).on_chip_bytes
        assert len(scene.on_chip_sizes) == len(ON_CHIP_BYTES)
        known = [size for size in scene.on_chip_sizes if size is not None]
        assert known == sorted(known)


def test_a_smaller_graph_takes_the_depth_back_to_its_end():
    scene = FusionScene(depth=9)
    scene.network = "fork"
    assert scene.depth == scene.most_depth == 3
    scene.reset()
    assert scene.marks == FusionScene(depth=9).marks


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"network": "MobileNetV2 blok"}, "unknown network 'MobileNetV2 blok': did you mean 'MobileNetV2 block'"),
        ({"network": rl.networks.mobilenet_v2()}, r"mobilenet_v2 has 15\d operators; the picture has room for 16"),
        ({"rules": "epilog"}, "unknown rule set 'epilog': did you mean 'epilogue'"),
        ({"device": "raspberry-pi-6"}, "unknown device 'raspberry-pi-6': did you mean 'raspberry-pi-"),
        ({"precision": "fp8"}, 'no peak for "fp8" on Raspberry Pi 5'),
        ({"depth": 10}, "depth must be at most 9, the operators of the graph, not 10"),
        ({"depth": 0}, "depth must be a whole number of at least 1, not 0"),
    ],
)
def test_a_wrong_choice_says_what_is_allowed(arguments, words):
    with pytest.raises(ValueError, match=words):
        rl.FusionExplorer(**arguments)


def test_a_graph_of_ones_own_and_a_device_of_ones_own():
    b = rl.GraphBuilder("mine <i>")
    graph = b.build(outputs=[b.relu(b.relu(b.input("x", (1, 8))))])
    explorer = rl.FusionExplorer(graph, device=TOY, rules="elementwise", depth=2)
    assert explorer.scene.sentence.startswith("Fusing up to 2 operators keeps 64.0 B out of DRAM")
    assert "mine &lt;i&gt;" in explorer.texts["title"].value
    explorer.controls["device"].value = "stm32h743"
    explorer.reset()
    assert explorer.scene.device is TOY


def test_menus_and_sliders_reach_the_scene_and_a_reset_stops_the_run():
    explorer = rl.FusionExplorer()
    c = explorer.controls
    c["depth"].value = 9
    c["network"].value = "fork"
    assert (c["depth"].value, c["depth"].max, explorer.scene.depth) == (3, 3, 3)
    c["network"].value = "VGG-19 start"
    assert (c["depth"].value, c["depth"].max) == (3, 12)
    c["clock"].value, explorer.play.playing = 77, True
    assert explorer.scene.tick == 77
    explorer.reset()
    assert (c["clock"].value, explorer.play.value, explorer.play.playing) == (0, 0, False)
    assert (c["depth"].max, c["depth"].value) == (9, 1)
    explorer.close()


def test_a_tick_of_the_running_clock_in_the_middle_of_a_reset_does_not_bring_the_old_sliders_back(monkeypatch):
    """In JupyterLab the clock's messages run on a thread of their own: one came between scene and sliders."""
    explorer = rl.FusionExplorer(depth=2)
    c, scene = explorer.controls, explorer.scene
    c["depth"].value, c["bandwidth"].value, explorer.play.playing = 5, 20, True
    back = scene.reset

    def reset_while_the_clock_runs():
        back()
        c["clock"].value += 1

    monkeypatch.setattr(scene, "reset", reset_while_the_clock_runs)
    explorer.reset_button.click()
    assert (scene.depth, scene.bandwidth_factor, scene.tick) == (2, 1, 0)
    assert (c["depth"].value, c["bandwidth"].value, c["clock"].value) == (2, 24, 0)
    explorer.close()


def test_the_figure_never_has_less_room_than_its_margins():
    """A share of a page that is out of sight is nothing; bqplot then draws rectangles of negative width."""
    figure = rl.FusionExplorer().figure
    assert int(figure.layout.min_width.removesuffix("px")) > figure.fig_margin["left"] + figure.fig_margin["right"]


def test_marks_need_no_widget_and_the_still_picture_shows_the_same():
    scene = FusionScene(depth=3)
    assert marks(scene.shown) == scene.marks
    figure = plots.fusion(scene)
    said = " ".join(text.get_text() for axes in figure.axes for text in axes.texts)
    assert rl.si(scene.before.seconds, "s") in said and rl.si(scene.now.seconds, "s") in said
    assert rl.si(scene.before.dram_bytes, "B") in said and rl.si(scene.now.dram_bytes, "B") in said
