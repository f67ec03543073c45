"""What the pictures call a device's memory, and where they name its roofs: the words come from the catalogue."""

from __future__ import annotations

import html
import json

import pytest

import roofline_lessons as rl
from roofline_lessons.scenes import RooflineScene
from roofline_lessons.scenes.by_hand import ByHandScene
from roofline_lessons.scenes.fusion import FusionScene
from roofline_lessons.scenes.roofline_marks import beside_slope, line_names
from roofline_lessons.scenes.tiling import TilingScene

WITH_LEVELS = [i for i in rl.devices() if len(rl.device(i).roofs()) > 1]


def said_by(scene) -> str:
    """All that a scene shows and says."""
    return json.dumps(scene.texts if isinstance(scene, ByHandScene) else scene.marks, ensure_ascii=False)


def scenes(device: str):
    p = rl.device(device).precisions()[0]
    yield RooflineScene("MobileNetV2", device, p)
    yield FusionScene("MobileNetV2 block", device, p, depth=3)
    yield FusionScene("MobileNetV2 block", device, p)
    yield TilingScene("WDWD", device)
    yield ByHandScene("residual block", device, p)


@pytest.mark.parametrize(
    "device, word", [("stm32h743", "SRAM"), ("arduino-nano-33-ble", "SRAM"), ("esp32-s3", "PSRAM"),
                     ("coral-edge-tpu", "USB")]
)  # fmt: skip
def test_where_there_is_no_dram_none_is_named(device, word):
    assert rl.device(device).memory_kind == word
    for scene in scenes(device):
        said = said_by(scene)
        assert "DRAM" not in said, type(scene).__name__
        assert f"{word} bytes" in said or f"and from {word}" in said or f"out of {word}" in said, type(scene).__name__


def test_where_there_is_it_is():
    for scene in scenes("raspberry-pi-5"):
        assert "DRAM" in said_by(scene), type(scene).__name__


def test_a_name_of_an_own_memory_is_text_and_no_html():
    odd = rl.Device("odd", {"fp32": 1e12}, 1e11, memory="A&B", memory_kind="<b>A&B")
    for scene in (RooflineScene("MobileNetV2", odd), FusionScene(device=odd), TilingScene("WDWD", odd)):
        assert html.escape("<b>A&B") in said_by(scene) and "<b>A&B" not in said_by(scene)


@pytest.mark.parametrize("make", [rl.RooflineExplorer, rl.FusionExplorer])
def test_axes_and_headings_follow_the_device(make):
    explorer = make()
    for id, word in (("stm32f746", "SRAM"), ("raspberry-pi-5", "DRAM")):
        explorer.controls["device"].value = id
        assert explorer.axes[0].label == f"arithmetic intensity, FLOP per {word} byte (log scale)"
        title = explorer.moved.value if make is rl.RooflineExplorer else explorer.ledger.titles[0]
        assert f"{word} bytes" in title


@pytest.mark.parametrize("make", [rl.TilingExplorer, rl.FuseByHand])
def test_readouts_follow_the_device(make):
    explorer = make()
    assert "DRAM bytes" in explorer.moved.value
    explorer.controls["device"].value = "stm32f746"
    assert ">SRAM bytes<" in explorer.moved.value


# -- names of roofs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [RooflineScene, FusionScene])
@pytest.mark.parametrize("device", WITH_LEVELS)
def test_the_name_of_the_slope_is_clear_of_the_roofs_above_it(make, device):
    """It begins right of the slanted roof and below it: on-chip roofs lie above."""
    scene = make(device=device)
    label, (name, *_) = scene.marks["label_bandwidth"], scene.device.roofs()
    assert label["y"][0] < scene.tuned_device.roofs()[name] * label["x"][0] / scene.tables["lift"]
    assert label["x"][0] > scene.tables["x_limits"][0]


@pytest.mark.parametrize("make", [rl.RooflineExplorer, rl.FusionExplorer])
def test_the_side_of_a_label_follows_the_device(make):
    explorer = make()
    assert explorer.marks["label_bandwidth"].align == "end"
    explorer.controls["device"].value = "stm32f746"
    assert explorer.marks["label_bandwidth"].align == "start"
    explorer.reset()
    assert explorer.marks["label_bandwidth"].align == "end"
    assert beside_slope([], 2.0) == [1 / 1.1, 2.0]


def test_each_line_without_a_label_is_named_below_the_picture():
    explorer = rl.RooflineExplorer("MobileNetV2", device="a100-sxm-40gb", precision="fp16")
    drawn = [name for name in ("roof_0", "roof_1", "vector_peak") if explorer.scene.marks[name]["visible"]]
    assert [mark for mark, _ in line_names(explorer.scene.tables)] == drawn == ["roof_0", "roof_1", "vector_peak"]
    for words in ("on chip: L2 7.20 TB/s", "on chip: shared memory 19.5 TB/s", "peak of all that is not multiply"):
        assert words in explorer.lines.value
    explorer.controls["device"].value = "raspberry-pi-5"
    assert explorer.lines.value == ""


# Faults D8 and D9: one entry of the legend for each series, and axes that say that they are logarithmic.
def test_the_still_picture_names_each_series_once_and_says_that_its_axes_are_logarithmic():
    scene = RooflineScene("MobileNetV2", "a100-sxm-40gb", "fp16")
    figure = rl.plots.roofline(scene)
    names = [text.get_text() for text in figure.legends[0].texts]
    assert len(set(names)) == len(names)
    assert {"convolution", "whole network", "limited by launch", "on chip: L2 7.20 TB/s"} <= set(names)
    assert "log scale" in figure.axes[0].get_xlabel() and "log scale" in figure.axes[0].get_ylabel()
    explorer = rl.RooflineExplorer("MobileNetV2", device="a100-sxm-40gb")
    assert all("log scale" in axis.label for axis in explorer.axes)
