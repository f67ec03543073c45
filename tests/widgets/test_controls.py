"""Every control matters, and a reset brings everything back; for every explorer there is."""

from __future__ import annotations

import json
import random
import re

import bqplot
import pytest

import roofline_lessons as rl
from roofline_lessons.scenes import by_hand_graph, fusion, tiling_plans
from roofline_lessons.scenes.small_networks import SMALL_NETWORKS

EXPLORERS = [rl.FusionExplorer, rl.RooflineExplorer, rl.TilingExplorer]


def shown(explorer) -> str:
    """All that is drawn and said, at the digits a reader sees."""
    text = json.dumps(json.loads(json.dumps(explorer.scene.marks), parse_float=lambda v: rl.number(float(v))))
    return re.sub("rl-hatch-[0-9a-f]+", "", text)  # ids differ from picture to picture, on purpose


def values(control) -> list:
    if hasattr(control, "options"):
        return [o[1] if isinstance(o, tuple) else o for o in control.options]
    return list(range(control.min, control.max + 1, control.step))


@pytest.mark.parametrize("make", EXPLORERS)
def test_every_control_changes_something_that_is_shown(make):
    explorer = make()
    for name, control in explorer.controls.items():
        explorer.reset()
        before = control.value
        pictures = {before: shown(explorer)}
        for value in values(control):
            control.value = value
            pictures[value] = shown(explorer)
        assert len(set(pictures.values())) == len(pictures) > 1, f"{make.__name__}: moving {name} changes nothing"


@pytest.mark.parametrize("make", EXPLORERS)
def test_after_any_moves_a_reset_is_as_good_as_new(make):
    rng, explorer, fresh = random.Random(3), make(), make()
    controls = list(explorer.controls.values())
    for _ in range(60):
        control = rng.choice(controls)
        control.value = rng.choice(values(control))
    explorer.reset()
    assert shown(explorer) == shown(fresh)
    ids = {"hatch": ""}  # the names of patterns differ on purpose: two pictures on a page
    assert explorer.driver.tables | ids == fresh.driver.tables | ids
    assert {n: c.value for n, c in explorer.controls.items()} == {n: c.value for n, c in fresh.controls.items()}


@pytest.mark.parametrize("make", [rl.TilingExplorer, rl.FuseByHand])
def test_two_pictures_on_a_page_share_no_id(make):
    """A browser takes the first of its name, and draws nothing of it when that one is scrolled out of sight."""
    one, other = (re.findall(r'id="(rl-[^"]+)"', picture(make())) for _ in range(2))
    assert one and other and not set(one) & set(other)


def picture(explorer) -> str:
    return explorer.texts["picture"].value


def test_a_network_has_one_name_in_all_menus():
    """And one graph per name."""
    menus = [by_hand_graph.NETWORKS, fusion.FUSION_NETWORKS, tiling_plans.NETWORKS]
    builders = {}
    for menu in menus:
        for name, make in menu.items():
            assert SMALL_NETWORKS[name] is make
            builders.setdefault(name, make().name)
    assert len({*SMALL_NETWORKS}) == len(builders)  # each is in a menu
    counts = {name: [(op.kind, op.output.shape, op.macs) for op in make()] for name, make in SMALL_NETWORKS.items()}
    assert len({str(count) for count in counts.values()}) == len(counts)  # no graph has two names


@pytest.mark.parametrize("make", EXPLORERS)
def test_no_mark_is_made_after_construction(make):
    explorer = make()
    before = [id(m) for m in explorer.figure.marks], [id(c) for c in explorer.children]
    for control in explorer.controls.values():
        control.value = values(control)[-1]
    assert before == ([id(m) for m in explorer.figure.marks], [id(c) for c in explorer.children])


@pytest.mark.parametrize("make", EXPLORERS)
def test_log_scales_have_positive_limits_everywhere(make):
    """bqplot draws nothing, or endless ticks, without (faults H5)."""
    explorer = make()
    for value in values(explorer.controls["device"]):
        explorer.controls["device"].value = value
        for scale in explorer.scales.values():
            assert (0 < scale.min if isinstance(scale, bqplot.LogScale) else True) and scale.min < scale.max
        for axis in explorer.axes:
            assert 2 <= len(axis.tick_values) <= 8


def test_an_own_graph_and_an_own_device_are_choices():
    b = rl.GraphBuilder("mine")
    graph = b.build(outputs=[b.relu(b.input("x", (1, 8)))])
    toy = rl.Device("toy", {"fp32": 1e12}, 1e11)
    explorer = rl.RooflineExplorer(graph, device=toy)
    assert explorer.scene.sentence.startswith("mine on toy at fp32 takes 640 ps")
    explorer.controls["device"].value = "stm32h743"
    explorer.reset()
    assert explorer.scene.device is toy


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"network": "MobileNetV9"}, "unknown network 'MobileNetV9': did you mean 'MobileNetV"),
        ({"device": "raspberry-pi-6"}, "unknown device 'raspberry-pi-6': did you mean 'raspberry-pi-"),
        ({"precision": "fp8"}, 'no peak for "fp8" on Raspberry Pi 5'),
        ({"batch": 0}, "batch must be a whole number of at least 1, not 0"),
    ],
)
def test_a_wrong_choice_says_what_is_allowed(arguments, words):
    with pytest.raises(ValueError, match=words):
        rl.RooflineExplorer(**arguments)


def test_self_check_names_what_is_installed():
    check = rl.SelfCheck()
    assert check.versions["bqplot"] in check.children[0].value and "widgets do not work here" in repr(check)


def test_a_device_without_the_precision_says_so_and_the_wish_is_kept():
    explorer = rl.RooflineExplorer("MobileNetV2", device="raspberry-pi-5", precision="fp32")
    no_fp32 = next(i for i in rl.devices() if "fp32" not in rl.device(i).precisions())
    explorer.controls["device"].value = no_fp32
    shown = explorer.scene.precision
    assert explorer.controls["precision"].value == shown != "fp32"
    assert f"There is no peak for fp32 on this device: {shown} is shown." in explorer.scene.sentence
    explorer.controls["device"].value = "raspberry-pi-5"
    assert explorer.scene.precision == "fp32" and "no peak" not in explorer.scene.sentence


def test_an_unknown_launch_cost_is_said_where_devices_are_compared():
    unknown = rl.device("raspberry-pi-5").with_(launch_seconds=None)
    said = "What starting a kernel costs here is not known and not in the time."
    assert said in rl.RooflineExplorer("MobileNetV2", device=unknown).scene.sentence
    assert said not in rl.RooflineExplorer("MobileNetV2").scene.sentence
