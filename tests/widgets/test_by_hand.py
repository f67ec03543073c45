"""Fuse it yourself: what a click changes, what is refused and in which words, and that a refusal changes nothing."""

from __future__ import annotations

import random
import re

import pytest

import roofline_lessons as rl
from roofline_lessons.scenes.by_hand import ByHandScene
from roofline_lessons.scenes.by_hand_graph import NETWORKS


def kernels(scene: ByHandScene) -> list[str]:
    return [" ".join(op.name for op in k.operators) for k in scene.plan.kernels]


def shown(scene: ByHandScene) -> dict[str, str]:
    """All that is shown, but for the status line."""
    return {name: text for name, text in scene.texts.items() if name != "status"}


def test_a_merge_makes_bytes_fall_by_one_round_trip():
    """fork: y = relu(x) of 4 MiB, 2y and y + 1: 25,165,824 B, with one kernel of two outputs 12,582,912 (issue 4)."""
    scene = ByHandScene("fork")
    assert scene.estimate.dram_bytes == 25_165_824 + 8  # two constants of one element
    assert scene.merge("relu_0", "double") is None
    assert scene.estimate.dram_bytes == 25_165_824 + 8 - 4 * 2**20  # still written: plus_one reads it
    assert [(s.tensor, s.bytes_saved, s.after > 0) for s in scene.saved] == [("relu_0.out", 4 * 2**20, True)]
    assert "relu_0.out</b> 4.19 MB saved, 8.39 MB still travel" in scene.texts["saved"]
    assert scene.merge("relu_0", "plus_one") is None
    assert scene.estimate.dram_bytes == 12_582_912 + 8 and kernels(scene) == ["relu_0 double plus_one"]
    assert "still travel" not in scene.texts["saved"]


def test_the_status_says_what_changed():
    scene = ByHandScene("MobileNetV2 block")
    scene.merge("conv_0", "batch_norm_0")
    assert (
        scene.status == ("Merged conv_0 and batch_norm_0: DRAM bytes 23.8 MB → 20.2 MB, time 1.45 ms → 1.24 ms.")
        and not scene.refused
    )
    assert 'role="status"' in scene.texts["status"]
    scene.split("conv_0", "batch_norm_0")
    assert scene.status == ("Split conv_0 from batch_norm_0: DRAM bytes 20.2 MB → 23.8 MB, time 1.24 ms → 1.45 ms.")


def two_readers() -> rl.Graph:
    b = rl.GraphBuilder("two_readers")
    y = b.conv2d(b.input("x", (1, 8, 16, 16)), 8, 3, padding=1)
    return b.build(outputs=[b.conv2d(y, 8, 3, padding=1), b.conv2d(y, 8, 3, padding=1)])


@pytest.mark.parametrize(
    "network, first, edge, words",
    [
        ("residual block", [], ("relu_0", "add_0"),
         "not fused: relu_0 and add_0 cannot share a kernel without batch_norm_1, which needs relu_0 and feeds add_0."),
        (two_readers(), [("conv_0", "conv_1")], ("conv_0", "conv_2"),
         "not fused: conv_0 and conv_2. conv_0 stands in a kernel with conv_1; conv_1 and conv_2 both end the kernel; "
         "a tiled kernel has one end."),
        ("residual block", [("conv_1", "batch_norm_1"), ("batch_norm_1", "add_0")], ("relu_0", "add_0"),
         "not fused: relu_0 and add_0. add_0 stands in a kernel with conv_1 and batch_norm_1; relu_0 and conv_1 cannot "
         "share a kernel without relu_1, which needs relu_0 and feeds conv_1."),
    ],
    ids=["convexity", "two ends", "others along"],
)  # fmt: skip
def test_an_illegal_merge_says_why_and_changes_nothing(network, first, edge, words):
    scene = ByHandScene(network)
    for pair in first:
        assert scene.merge(*pair) is None
    before = shown(scene), scene.plan, scene.can_undo
    assert scene.merge(*edge) == scene.status == words
    assert scene.plan.why_not(*edge).removeprefix("not fused: ") in words
    assert scene.refused and 'role="alert"' in scene.texts["status"]
    assert (shown(scene), scene.plan, scene.can_undo) == before


def test_the_same_refusal_again_is_said_again():
    """An alert whose words do not change would not be read out a second time."""
    scene = ByHandScene("residual block")
    scene.merge("relu_0", "add_0")
    first = scene.texts["status"]
    scene.merge("relu_0", "add_0")
    assert scene.texts["status"] != first and scene.status in first


def test_what_does_not_fit_is_refused_with_the_bytes():
    small = rl.Device("small", {"fp32": 1e12}, 1e11, on_chip_bytes=100_000)
    scene = ByHandScene("WDWD", small)
    before = scene.plan
    reason = scene.merge("depthwise_0", "dense_1")
    assert "weights need 149,760 B of 100,000 B, 49,760 B too many" in reason
    assert scene.plan is before and scene.refused


def test_the_skip_is_legal_once_everything_between_is_inside():
    scene = ByHandScene("residual block")
    for a, b in [(e.maker, e.reader) for e in scene.edges if e.reader not in ("add_0", "relu_2")]:
        assert scene.merge(a, b) is None
    assert scene.merge("relu_0", "add_0") is None
    assert scene.merge("add_0", "relu_2") is None and len(scene.plan) == 1
    assert scene.merge("relu_0", "add_0") == "relu_0 and add_0 share a kernel already."


def test_batch_norms_fold_as_soon_as_they_can():
    scene = ByHandScene("residual block")
    scene.merge("conv_0", "batch_norm_0")
    assert [op.name for k in scene.plan.kernels for op in k.folded] == ["batch_norm_0"]
    assert "rl-folded" in scene.texts["picture"]


def test_depth_first_kernels_have_their_fastest_tile():
    device = rl.Device("toy", {"fp32": 1e12}, 1e11, launch_seconds=5e-6, on_chip_bytes=228 * 1024)
    scene = ByHandScene(rl.networks.convolution_chain("WWWW"), device)
    for i in range(3):
        assert scene.merge(f"depthwise_{i}", f"depthwise_{i + 1}") is None
    assert scene.plan.kernels[0].tiling.tile == (14, 14)


def test_a_split_in_the_middle_cuts_one_edge_where_it_can():
    scene = ByHandScene("elementwise chain")
    for e in scene.edges:
        scene.merge(e.maker, e.reader)
    assert len(scene.plan) == 1
    assert scene.split("relu_1", "mul_1") is None
    assert kernels(scene) == ["relu_0 mul_0 relu_1", "mul_1 relu_2 mul_2 relu_3 mul_3"]
    assert scene.split("relu_1", "mul_1") == "relu_1 and mul_1 are in two kernels already."


def test_a_split_of_a_fork_leaves_the_other_branch():
    scene = ByHandScene("fork")
    scene.merge("relu_0", "double")
    scene.merge("relu_0", "plus_one")
    scene.split("relu_0", "double")
    assert kernels(scene) == ["relu_0 plus_one", "double"]


def two_makers() -> rl.Graph:
    b = rl.GraphBuilder("two_makers")
    x = b.input("x", (1, 8))
    return b.build(outputs=[b.add(b.relu(x), b.sigmoid(x))])


def test_a_split_keeps_together_what_it_can():
    """relu and sigmoid both feed the addition: only the relu leaves."""
    scene = ByHandScene(two_makers())
    scene.merge("relu_0", "add_0")
    scene.merge("sigmoid_0", "add_0")
    scene.split("relu_0", "add_0")
    assert kernels(scene) == ["relu_0", "sigmoid_0 add_0"]


def test_undo_takes_back_one_change_after_the_other():
    scene = ByHandScene("fork")
    states = [shown(scene)]
    scene.merge("relu_0", "double")
    states.append(shown(scene))
    scene.merge("relu_0", "plus_one")
    scene.undo()
    assert shown(scene) == states[1]
    scene.undo()
    assert shown(scene) == states[0] and not scene.can_undo
    scene.undo()
    assert scene.status == "There is nothing to undo." and shown(scene) == states[0]


def test_undo_passes_over_what_does_not_fit_another_device():
    scene = ByHandScene("WDWD", rl.Device("large", {"fp32": 1e12}, 1e11))
    scene.merge("depthwise_0", "dense_1")
    scene.merge("depthwise_2", "dense_3")
    scene.split("depthwise_0", "dense_1")
    scene.split("depthwise_2", "dense_3")
    assert scene.move_to(rl.Device("small", {"fp32": 1e12}, 1e11, on_chip_bytes=100_000)) is None
    scene.undo()
    assert len(scene.plan) == 4 and not scene.can_undo and scene.estimate.seconds > 0


def test_another_device_that_is_too_small_is_refused():
    scene = ByHandScene("WDWD", rl.Device("large", {"fp32": 1e12}, 1e11))
    scene.merge("depthwise_0", "dense_1")
    before = shown(scene)
    reason = scene.move_to("stm32f746")
    assert "does not fit on STM32F746" in reason and "too many" in reason
    assert shown(scene) == before and scene.device.name == "large"
    assert scene.move_to("jetson-orin-nano", "fp16") is None and scene.precision == "fp16"


@pytest.mark.parametrize("rules", rl.fusion.RULE_SETS)
def test_a_rule_set_sets_the_state(rules):
    scene = ByHandScene("MobileNetV2 block")
    assert scene.follow(rules) is None and scene.rules == rules
    plan = rl.fuse(scene.graph, rules)
    assert [k.operators for k in scene.plan.kernels] == [k.operators for k in plan.kernels]
    assert f"“{rules}”" in scene.status
    assert scene.can_undo
    scene.undo()
    assert scene.rules is None and len(scene.plan) == 9


def test_a_wrong_rule_set_says_which_there_are():
    with pytest.raises(ValueError, match="unknown rule set 'epilog': did you mean 'epilogue'"):
        ByHandScene().follow("epilog")


@pytest.mark.parametrize("network", NETWORKS)
def test_no_rule_set_beats_the_best_known(network):
    scene = ByHandScene(network)
    assert "Can you find it?" in scene.challenge
    for rules in rl.fusion.RULE_SETS:
        if scene.follow(rules) is None:
            assert scene.best_seconds <= scene.estimate.seconds * (1 + 1e-9)
    best = rl.best_plan(scene.graph, scene.device, scene.precision)
    assert scene.best_seconds == rl.estimate(best, scene.device, scene.precision).seconds


def test_the_challenge_is_won_by_the_best_plan():
    scene = ByHandScene("fork")
    scene.merge("relu_0", "double")
    scene.merge("relu_0", "plus_one")
    assert (
        scene.challenge
        == f"★ You have found the fastest plan that the search knows: {rl.si(scene.estimate.seconds, 's')}."
    )


@pytest.mark.parametrize("network", NETWORKS)
def test_any_clicks_keep_the_plan_whole_and_a_refusal_changes_nothing(network):
    rng, scene = random.Random(5), ByHandScene(network)
    names = sorted(op.name for op in scene.graph if not op.is_view)
    refused = 0
    for _ in range(60):
        before, count = scene.plan, len(scene.plan)
        edge = rng.choice(scene.edges)
        joined = scene.joined(edge)
        reason = scene.toggle(edge)
        assert sorted(op.name for k in scene.plan.kernels for op in k.operators) == names
        if reason is None:
            assert (len(scene.plan) > count) if joined else (len(scene.plan) == count - 1)
            assert scene.joined(edge) is not joined
        else:
            refused += 1
            assert scene.plan is before
    scene.reset()
    assert shown(scene) == shown(ByHandScene(network))
    assert refused or network not in ("residual block",)


def test_the_picture_shows_letters_bytes_and_folds():
    scene = ByHandScene("MobileNetV2 block")
    picture = scene.texts["picture"]
    assert re.findall(r'rl-letter"[^>]*>(.*?)<', picture) == list("ABCDEFGHI")
    assert re.findall(r'rl-bytes"[^>]*>(.*?)<', picture).count("1.81 MB") == 6
    assert 'role="img"' in picture and "<title>9 operators in 9 kernels</title>" in picture
    scene.follow("depth-first")
    picture = scene.texts["picture"]
    assert re.findall(r'rl-letter"[^>]*>(.*?)<', picture) == ["kernel A"]
    assert "rl-trip" not in picture and "<title>9 operators in 1 kernel</title>" in picture


def outer(scene: ByHandScene, way: str) -> list[str]:
    return re.findall(rf"<title>{way} (.*?)</title>", scene.texts["picture"])


def test_every_trip_of_an_activation_can_be_counted():
    """fork in one kernel: x comes in, two results go out, 4 MiB each: 12.6 MB and 3 trips."""
    scene = ByHandScene("fork")
    assert (outer(scene, "read"), len(outer(scene, "write"))) == (["x: 4.19 MB"], 2)
    scene.merge("relu_0", "double")
    scene.merge("relu_0", "plus_one")
    assert (outer(scene, "read"), len(outer(scene, "write"))) == (["x: 4.19 MB"], 2)
    assert "rl-trip" not in scene.texts["picture"] and scene.estimate.dram_bytes == 3 * 4 * 2**20 + 8
    assert re.findall(r'rl-bytes"[^>]*>(.*?)<', scene.texts["picture"]) == ["4.19 MB"] * 3


@pytest.mark.parametrize("network", NETWORKS)
def test_inputs_and_results_have_an_arrow_each_time_they_travel(network):
    rng, scene = random.Random(2), ByHandScene(network)
    inside = scene.graph.producers
    for _ in range(12):
        for way, arrows in (("read", outer(scene, "read")), ("write", outer(scene, "write"))):
            moved = [t for _, direction, t in scene.plan.dram_transfers if direction == way]
            results = {t.name for t in scene.graph.outputs}
            outside = [t for t in moved if t.tensor.name not in inside and not t.tensor.is_constant]
            expected = [t for t in moved if t.tensor.name in results] if way == "write" else outside
            assert sorted(arrows) == sorted(f"{t.tensor.name}: {rl.si(4.0 * t.elements, 'B')}" for t in expected)
        scene.toggle(rng.choice(scene.edges))


def test_a_result_that_is_read_inside_is_written_once():
    b = rl.GraphBuilder("kept")
    y = b.relu(b.input("x", (1, 1024)))
    scene = ByHandScene(b.build(outputs=[y, b.sigmoid(y)]))
    picture = scene.texts["picture"]
    assert outer(scene, "write") == ["relu_0.out: 4.10 kB", "sigmoid_0.out: 4.10 kB"]
    trip = re.search(r'<path class="rl-trip"[^>]*>', picture)[0]
    assert "marker-start" in trip and "marker-end" not in trip  # read there; the write has its own arrow
    scene.merge("relu_0", "sigmoid_0")
    assert len(outer(scene, "write")) == 2 and "rl-trip" not in scene.texts["picture"]


def test_a_kernel_reads_a_tensor_once():
    scene = ByHandScene(two_makers_of_one())
    assert "read again" in scene.texts["picture"]
    scene.merge("sigmoid_0", "add_0")
    scene.merge("tanh_0", "add_0")
    assert "the same read" in scene.texts["picture"] and "read again" not in scene.texts["picture"]


def two_makers_of_one() -> rl.Graph:
    b = rl.GraphBuilder("two_makers_of_one")
    y = b.relu(b.input("x", (1, 8)))
    return b.build(outputs=[b.add(b.sigmoid(y), b.tanh(y))])


def test_slim_bars_have_their_letter():
    letters = re.findall(r'title="(\w)"[^>]*>(\w?)<', ByHandScene("residual block").texts["bars"])
    assert letters and all(name == shown for name, shown in letters)


@pytest.mark.parametrize("network", NETWORKS)
def test_amounts_in_the_dram_bar_do_not_cover_each_other(network):
    found = re.findall(r'rl-bytes" x="(.*?)" y="(.*?)">(.*?)<', ByHandScene(network).texts["picture"])
    places = sorted((float(y), float(x), 9 * len(words)) for x, y, words in found)
    for (y, x, width), (other_y, other_x, other_width) in zip(places, places[1:]):
        assert y != other_y or other_x - x >= (width + other_width) / 2


def test_an_arc_says_whether_its_tensor_is_read_again():
    scene = ByHandScene("fork")
    assert "4.19 MB read again" in scene.texts["picture"]
    scene.merge("relu_0", "double")
    assert "4.19 MB by DRAM" in scene.texts["picture"]
    scene.merge("relu_0", "plus_one")
    assert ">on chip<" in scene.texts["picture"]


@pytest.mark.parametrize("network", NETWORKS)
def test_nothing_overlaps_in_the_picture(network):
    at = ByHandScene(network).layout
    places = sorted(at.boxes.values())
    for (x, y), (other_x, other_y) in zip(places, places[1:]):
        assert abs(other_x - x) >= at.box + 34 or abs(other_y - y) > 100
    buttons = list(at.buttons.values())
    for i, (x, y) in enumerate(buttons):
        assert all(abs(x - a) >= 32 or abs(y - b) >= 32 for a, b in buttons[:i])
        assert not any(a < x < a + at.box and b < y < b + 56 for a, b in at.boxes.values())


def test_names_that_html_would_eat_are_escaped():
    b = rl.GraphBuilder("odd & <b>")
    y = b.relu(b.input("x", (1, 8)), name="a<i>")
    graph = b.build(outputs=[b.relu(y, name="b & c, a very long name that has no room")])
    scene = ByHandScene(graph, rl.Device('<d> & "q"', {"fp32": 1e12}, 1e11))
    scene.merge("a<i>", "b & c, a very long name that has no room")
    for text in scene.texts.values():
        assert "<i>" not in text and "& c" not in text and "<d>" not in text
    assert "a&lt;i&gt;" in scene.texts["picture"] and "…" in scene.texts["picture"]


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: rl.FuseByHand("MobileNet"), "unknown network 'MobileNet'"),
        (lambda: rl.FuseByHand(device="raspberry-pi-6"), "unknown device 'raspberry-pi-6'"),
        (lambda: rl.FuseByHand(precision="fp8"), 'no peak for "fp8" on Raspberry Pi 5'),
        (lambda: rl.FuseByHand(rl.networks.mobilenet_v2()), "operators; to fuse by hand there is room for 2 to 32"),
    ],
)  # fmt: skip
def test_a_wrong_choice_says_what_is_allowed(make, words):
    with pytest.raises(ValueError, match=words):
        make()


# -- the widget -------------------------------------------------------------------------------------------------------


def click(widget: rl.FuseByHand, a: str, b: str) -> None:
    next(button for edge, button in widget.buttons.items() if (edge.maker, edge.reader) == (a, b)).click()


def test_a_click_merges_and_the_next_one_splits():
    widget = rl.FuseByHand("fork")
    button = next(iter(widget.buttons.values()))
    assert (button.description, button.tooltip) == ("+", "merge relu_0 and double")
    click(widget, "relu_0", "double")
    assert (button.description, button.tooltip) == ("✂", "split relu_0 and double")
    assert widget.texts["bytes"].value.startswith("21.0 MB")
    click(widget, "relu_0", "double")
    assert button.description == "+" and widget.texts["bytes"].value.startswith("25.2 MB")


def test_menus_undo_and_reset():
    widget = rl.FuseByHand("MobileNetV2 block")
    fresh = {name: text.value for name, text in widget.texts.items() if name != "status"}
    assert widget.undo_button.disabled
    widget.controls["rules"].value = "epilogue"
    assert len(widget.scene.plan) == 4 and not widget.undo_button.disabled
    click(widget, "relu6_0", "conv_1")
    assert widget.controls["rules"].value == "by hand"
    widget.undo_button.click()
    assert widget.controls["rules"].value == "epilogue" and len(widget.scene.plan) == 4
    widget.controls["device"].value = "jetson-orin-nano"
    widget.controls["precision"].value = "int8"
    assert "int8" in widget.texts["sentence"].value
    widget.reset_button.click()
    assert {name: text.value for name, text in widget.texts.items() if name != "status"} == fresh
    assert (widget.controls["device"].value, widget.controls["precision"].value) == ("raspberry-pi-5", "fp32")


def test_a_refused_device_leaves_the_menu_where_it_was():
    large = rl.Device("large", {"fp32": 1e12}, 1e11)
    widget = rl.FuseByHand("WDWD", large)
    click(widget, "depthwise_0", "dense_1")
    widget.controls["device"].value = "stm32f746"
    assert widget.controls["device"].value is large
    assert "✕" in widget.texts["status"].value and "does not fit on STM32F746" in widget.texts["status"].value


def test_no_child_is_made_after_construction():
    widget = rl.FuseByHand("residual block")
    before = [id(child) for child in widget.children], [id(b) for b in widget.buttons.values()]
    for button in widget.buttons.values():
        button.click()
    widget.controls["rules"].value = "tvm"
    assert before == ([id(child) for child in widget.children], [id(b) for b in widget.buttons.values()])
