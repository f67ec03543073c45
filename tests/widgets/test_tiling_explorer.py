"""The tiling scene: known answers, what fits, why, and what the sliders may be set to."""

from __future__ import annotations

import html
import json
import math
import re

import pytest

import roofline_lessons as rl
from roofline_lessons.scenes.tiling import TilingScene
from roofline_lessons.scenes.tiling_plans import CAPACITIES, NETWORKS, TEACHING_ACCELERATOR

KIB = 1024


def microseconds(scene: TilingScene) -> dict[str, float]:
    return {c.name: c.estimate.seconds * 1e6 for c in scene.candidates}


@pytest.mark.parametrize(
    "network, name, right",
    [
        ("WDWD", "[W][D][W][D]", 514.581), ("WDWD", "[WD][WD]", 481.279), ("WDWD", "[WDWD]", 587.866),
        ("DDDD", "[D][D][D][D]", 944.844), ("DDDD", "[DDDD]", 1264.274),
        ("WWWW", "[W][W][W][W]", 84.317), ("WWWW", "[WWWW]", 29.504),
    ],
)  # fmt: skip
def test_known_times_at_tile_14(network, name, right):
    """Faults F15: the same figures as in tests/model/test_tiling.py."""
    assert microseconds(TilingScene(network))[name] == pytest.approx(right, abs=5e-4)


@pytest.mark.parametrize("network, best", [("WDWD", "[WD][WD]"), ("DDDD", "[D][D][D][D]"), ("WWWW", "[WWWW]")])
def test_the_best_depth_is_not_always_the_deepest(network, best):
    assert TilingScene(network).best.name == best


def test_the_times_are_those_of_the_plan_by_hand():
    """The scene's "layers per kernel" and `rl.fuse` by groups are the same plan."""
    graph = rl.networks.convolution_chain("WDWD")
    names = [op.name for op in graph]
    scene = TilingScene(graph)
    scene.depth, scene.tile = 3, 8
    plan = rl.fuse(graph, groups=[names[:3], names[3:]], tile=8)
    est = rl.estimate(plan, scene.tuned_device)
    assert scene.current.estimate.seconds == est.seconds
    assert scene.current.flops_again == est.flops - rl.estimate(rl.unfused(graph), scene.device).flops


def test_does_not_fit_and_back():
    """226,304 B fit in 228 KiB and not in 192 KiB (faults F16)."""
    scene = TilingScene("WWWW")
    scene.on_chip_bytes = 228 * KIB
    before = scene.marks
    assert scene.current.fits and "✓ each fits in 233,472 B" in before["fit"]["value"]
    scene.on_chip_bytes = 192 * KIB
    assert not scene.current.fits
    assert scene.sentence == (
        "[WWWW] does not fit: its tiles need 226,304 B of 196,608 B, 29,696 B too many. "
        "[WWW][W] is the fastest that fits: 48.2 µs."
    )
    assert "does not fit: 226,304 B of 196,608 B" in scene.marks["fit"]["value"]
    with pytest.raises(rl.FusionError, match="226,304 B of 196,608 B, 29,696 B too many"):  # the model says the same
        rl.estimate(scene.plan(4, 14), scene.tuned_device)
    scene.on_chip_bytes = 228 * KIB
    assert json.dumps(scene.marks) == json.dumps(before)  # NaN is not equal to itself


def test_what_does_not_fit_is_crossed_and_not_connected():
    scene = TilingScene("WWWW")
    scene.on_chip_bytes = 160 * KIB
    marks = scene.marks
    assert marks["too_big"]["x"] == [3, 4] == marks["crosses"]["x"] and marks["crosses"]["text"] == ["✕", "✕"]
    assert marks["fits"]["x"] == [1, 2]
    assert marks["times"]["x"] == [1, 2] and not any(map(math.isnan, marks["times"]["y"]))
    assert marks["star"]["x"] == [2] and marks["now"]["x"] == [4] and marks["label_now"]["text"] == ["does not fit"]
    assert marks["time"]["value"] == "29.5 µs <small>if it did fit</small>"
    assert "does not fit: 185,344 B of 163,840 B" in marks["too_big"]["names"][0]


def test_a_depth_between_that_does_not_fit_is_a_gap():
    """[WW][WD] needs its two layers' tiles and the dense weights, [WWW][D] streams the dense layer."""
    scene = TilingScene(rl.networks.convolution_chain("WWWD"))
    scene.tile, scene.on_chip_bytes = 2, 64 * KIB
    assert [c.fits for c in scene.candidates] == [True, False, True, False]
    times = scene.marks["times"]
    assert times["x"] == [1, 2, 3] and [math.isnan(y) for y in times["y"]] == [False, True, False]


def test_weights_that_do_not_fit_are_named():
    scene = TilingScene("WDWD")
    scene.on_chip_bytes = 256 * KIB
    assert "its weights need 299,520 B of 262,144 B, 37,376 B too many" in scene.sentence


def test_the_sentence_says_why():
    scene = TilingScene("WDWD")
    assert scene.sentence == (
        "[WDWD] takes 588 µs. [WD][WD] is the fastest that fits: 481 µs. "
        "[WDWD] is slower because its tiles overlap: 113 MFLOP are computed again."
    )
    scene.depth = 2
    assert scene.sentence.startswith("[WD][WD] takes 481 µs, the fastest that fits at this tile. [WDWD] takes 588")
    scene.depth = 1
    assert scene.sentence.endswith("[W][D][W][D] is slower because it moves 2.45 MB more to and from DRAM.")
    launches = TilingScene("WWWW", TEACHING_ACCELERATOR.with_(launch_seconds=1e-3))
    launches.depth = 1
    assert launches.sentence.endswith("[W][W][W][W] is slower because it starts 3 more kernels.")


def test_with_halos_kept_nothing_is_computed_again_and_the_deepest_wins():
    scene = TilingScene("WDWD", halo="cache all")
    assert scene.current.flops_again == 0 and not scene.current.fits  # what is kept needs room
    scene.on_chip_bytes = 1024 * KIB
    assert scene.best.name == "[WDWD]"
    assert scene.marks["again"]["value"].startswith("nothing")
    rows = TilingScene("WDWD", halo="cache rows").current
    assert 0 < rows.flops_again < TilingScene("WDWD").current.flops_again
    assert rows.tile_bytes > TilingScene("WDWD").current.tile_bytes


def test_one_tile_is_the_whole_and_overlaps_nothing():
    scene = TilingScene("WDWD")
    scene.tile_step = len(scene.tiles) - 1
    assert scene.tile == 56 and scene.current.flops_again == 0 == scene.current.halo_bytes
    assert not scene.current.fits
    scene.on_chip_bytes = None
    assert scene.current.fits and scene.best.name == "[WDWD]" and scene.marks["memory_text"]["value"] == "no limit"


def test_tiles_and_weights_have_a_memory_each():
    """226,304 B and 299,520 B are more than 524,288 B together, and fit all the same."""
    scene = TilingScene("WDWD")
    assert scene.current.tile_bytes + scene.current.weight_bytes > scene.on_chip_bytes
    assert "✓ each fits in 524,288 B" in scene.marks["fit"]["value"]


def test_an_unknown_capacity_is_not_called_fitting():
    scene = TilingScene("WDWD", TEACHING_ACCELERATOR.with_(on_chip_bytes=None))
    fit = scene.marks["fit"]["value"]
    assert "unknown on this device, not checked" in fit and "✓" not in fit
    assert scene.marks["memory_text"]["value"] == "unknown"
    scene.on_chip_bytes = 512 * KIB
    assert "✓ each fits in 524,288 B" in scene.marks["fit"]["value"]
    scene = TilingScene("WDWD")
    scene.on_chip_bytes = None
    assert "✓ no limit is set" in scene.marks["fit"]["value"]


def test_halo_bytes_are_what_is_read_beyond_each_input_once():
    """Tiles of 14 read 62 of 56 rows before one 3x3, 64-channel fp32 (faults F13)."""
    scene = TilingScene(rl.networks.convolution_chain("DD"))
    assert scene.current.halo_bytes == 64 * (68**2 - 56**2) * 4
    scene.depth = 1
    assert scene.current.halo_bytes == 0


def test_the_picture_walks_back_and_is_clipped_at_the_borders():
    scene = TilingScene("WWWW")
    assert "14 → 16 → 18 → 20 → 22" in scene.marks["picture"]["value"]
    scene.tile = 28  # two tiles per side: each touches one border
    assert "28 → 29 → 30 → 31 → 32" in scene.marks["picture"]["value"]
    scene.depth = 1
    assert "There is no tile and no halo" in scene.marks["picture"]["value"]


def test_an_enlarged_picture_says_so():
    """14 of 56 rows are a quarter of the side; the squares show 22 * 1.15 of 56 rows."""
    scene = TilingScene("WWWW")
    assert "Enlarged: each square is 45 % of its tensor's side." in scene.marks["picture"]["value"]
    scene.tile = 56
    assert "Enlarged" not in scene.marks["picture"]["value"]


def test_a_strided_pooling_doubles_the_region():
    scene = TilingScene("VGG-19 start")
    scene.depth, scene.tile_step = 3, 0
    sizes = [row[3] - row[2] for row in scene.pyramid]
    assert sizes == [20, 18, 16, 8]  # 3x3, 3x3, pooling 2x2 of stride 2


@pytest.mark.parametrize("network", NETWORKS)
def test_the_minimum_is_the_minimum(network):
    scene = TilingScene(network)
    for step in range(len(scene.tiles)):
        scene.tile_step = step
        fitting = [c.estimate.seconds for c in scene.candidates if c.fits]
        assert scene.best.estimate.seconds == min(fitting)
        assert 0 < min(fitting) and scene.candidates[0].fits


@pytest.mark.parametrize("device", rl.devices())
def test_every_device_has_its_own_memory_on_the_slider(device):
    scene = TilingScene(device=device)
    assert scene.on_chip_bytes == rl.device(device).on_chip_bytes
    assert len(scene.capacities) == len(CAPACITIES) + 1
    known = [c for c in scene.capacities if c is not None]
    assert known == sorted(set(known))


def test_elementwise_operators_ride_along():
    scene = TilingScene("MobileNetV2 block")
    assert (scene.layers, scene.letters) == (3, ["D", "W", "D"])
    scene.depth = 1
    assert [len(k.operators) for k in scene.plan(1, 14).kernels] == [3, 3, 3]


def test_the_table_has_every_depth():
    rows = re.findall("<tr>(.*?)</tr>", TilingScene("WDWD").marks["table"]["value"])
    assert len(rows) == 5
    assert "★ 2" in rows[2] and "▸ 4" in rows[4] and "226,304 B" in rows[4]
    assert "yes" in rows[4]


def test_the_formula_has_the_numbers_of_each_kernel():
    scene = TilingScene("WDWD")
    scene.depth = 2
    words = html.unescape(scene.marks["formula"]["value"]).replace("\xa0", " ")
    assert "481 µs = [WD] 5.00 µs + max(236 µs, 21.4 µs)" in words and words.count("[WD]") == 2


def one_convolution() -> rl.Graph:
    b = rl.GraphBuilder("one")
    return b.build(outputs=[b.relu(b.conv2d(b.input("x", (1, 4, 8, 8)), 4))])


def flat() -> rl.Graph:
    b = rl.GraphBuilder("flat")
    return b.build(outputs=[b.dense(b.dense(b.input("x", (1, 8)), 8), 8)])


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: TilingScene("WDW"), "unknown network 'WDW': did you mean 'WDWD"),
        (lambda: TilingScene(device="raspberry-pi-6"), "unknown device 'raspberry-pi-6'"),
        (lambda: TilingScene(precision="fp8"), 'no peak for "fp8" on teaching accelerator'),
        (lambda: TilingScene(halo="cache columns"), "unknown halo mode 'cache columns': did you mean 'cache rows'"),
        (lambda: TilingScene(one_convolution()), "one is one layer; to fuse layers it needs two convolutions"),
        (lambda: TilingScene(flat()), "flat cannot be cut into tiles: dense_0"),
    ],
)
def test_a_wrong_choice_says_what_is_allowed(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize(
    "name, value, words",
    [
        ("depth", 5, "depth must be between 1 and 4, the layers of WDWD, not 5"),
        ("depth", 0, "depth must be a whole number of at least 1, not 0"),
        ("tile", 13, "tile must be one of the slider's steps .*14.*, not 13"),
        ("on_chip_bytes", 1, "on_chip_bytes must be one of the slider's steps .*196,608.*None.*, not 1"),
        ("network", "WDW", "unknown network 'WDW'"),
        ("halo", "none", "unknown halo mode 'none'"),
    ],
)
def test_an_impossible_value_changes_nothing(name, value, words):
    scene = TilingScene()
    before = scene.sentence
    with pytest.raises(ValueError, match=words):
        setattr(scene, name, value)
    assert scene.sentence == before


def test_a_shorter_network_takes_the_depth_along():
    explorer = rl.TilingExplorer("VGG-19 start")
    assert explorer.controls["depth"].value == 7
    explorer.controls["network"].value = "MobileNetV2 block"
    assert explorer.scene.depth == 3 == explorer.controls["depth"].value == explorer.controls["depth"].max
    explorer.controls["network"].value = "VGG-19 start"
    assert explorer.controls["depth"].max == 7 and explorer.scene.depth == 3


def test_an_own_graph_and_an_own_device_are_choices():
    toy = rl.Device("toy", {"fp32": 1e12}, 1e11)
    explorer = rl.TilingExplorer(rl.networks.convolution_chain("DWD"), device=toy)
    assert explorer.scene.on_chip_bytes is None and explorer.scene.sentence.startswith("[DWD] takes")
    explorer.controls["device"].value = "jetson-orin-nano"
    assert explorer.scene.on_chip_bytes == rl.device("jetson-orin-nano").on_chip_bytes
    explorer.reset()
    assert explorer.scene.device is toy


def test_labels_do_not_cover_each_other_and_stay_inside():
    scene = TilingScene("VGG-19 start", on_a_large_chip())
    for step in range(len(scene.tiles)):
        scene.tile_step = step
        for depth in range(1, scene.layers + 1):
            scene.depth = depth
            marks = scene.marks
            best, now = marks["label_best"], marks["label_now"]
            for label in (best, now):
                assert 0.5 + 0.12 * scene.layers < label["x"][0] < 0.5 + 0.88 * scene.layers
            if now["text"] and abs(best["x"][0] - now["x"][0]) < 0.2 * scene.layers:
                assert abs(best["y"][0] - now["y"][0]) > 0.05 * marks["y_scale"]["max"]


def on_a_large_chip() -> rl.Device:
    return TEACHING_ACCELERATOR.with_(on_chip_bytes=2**24)


@pytest.mark.parametrize("network, tick", [("WDWD", "[WD][WD]"), ("VGG-19 start", "2")])
def test_the_still_picture_shows_the_same(network, tick):
    scene = TilingScene(network)
    chart, tile = rl.plots.tiling(scene).axes
    assert [label.get_text() for label in chart.get_xticklabels()][1] == tick
    words = [text.get_text() for text in (*chart.texts, *tile.texts)]
    assert f"fastest {rl.si(scene.best.estimate.seconds, 's')}" in words
    assert words[-1] == str(scene.tile)
