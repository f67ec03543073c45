"""What is shown of the engines: results here and recorded, the scene, the widget."""

import json
import xml.etree.ElementTree as ET

import pytest

import roofline_lessons as rl
from roofline_lessons import engines
from roofline_lessons.engines import BLOCKS, RULES, SPELLINGS, block, differences, recorded
from roofline_lessons.engines.recordings import RECORDED
from roofline_lessons.engines.result import NAMES, PAIR, Result
from roofline_lessons.measure import recorded as recorded_machine
from roofline_lessons.scenes.engines import ORDER, TITLES, EngineScene, my_machine, picture

ALL = [(engine, name) for name in BLOCKS for engine in NAMES]


@pytest.fixture
def without_engines(monkeypatch):
    """No engine is installed; what was measured before is forgotten."""

    def gone(name):
        raise engines.MissingEngineError(engines.why_missing(name) or f"{NAMES[name]} cannot run here.")

    monkeypatch.setattr(engines, "__getattr__", gone)
    engines.results.__globals__["_result"].cache_clear()
    yield
    engines.results.__globals__["_result"].cache_clear()


# -- recorded ----------------------------------------------------------------------------------------------------------


def test_the_file_says_where_and_when_and_no_host():
    place = json.loads(RECORDED.read_text(encoding="utf-8"))["place"]
    assert place["host"] == "" and place["processor"] and place["date"] > "2026" and place["versions"]["onnxruntime"]


@pytest.mark.parametrize("engine, name", ALL)
def test_every_block_is_recorded_and_marked(engine, name):
    r = recorded(engine, name)
    assert r.recorded.startswith("recorded 20") and r.where == r.recorded and r.version
    assert (r.seconds and set(PAIR[engine]) <= set(r.seconds)) or r.note
    assert all(0 < s < 1 for s in r.seconds.values())
    assert r.spread.keys() == r.seconds.keys() and all(s >= 0 for s in r.spread.values())


@pytest.mark.parametrize("engine, name", [(e, n) for e, n in ALL if recorded(e, n).after])
def test_what_was_recorded_agrees_with_our_rules(engine, name):
    assert differences(block(name), recorded(engine, name).merges, RULES[engine]) == []


def test_what_the_lesson_says_of_the_recording():
    assert recorded("onnxruntime", "add_layer_norm").times_as_fast < 0.5  # a fusion that loses
    levels = recorded("onnxruntime", "inverted_residual").seconds
    assert levels["all"] < 0.7 * levels["all but layout"]  # layout is not fusion
    assert [len(recorded("onnxruntime", n).plan) for n in SPELLINGS].count(1) == 1


# -- here --------------------------------------------------------------------------------------------------------------


def test_results_are_measured_here_where_an_engine_is_and_kept():
    found = engines.results("residual")
    assert list(found) == list(NAMES)
    for engine, r in found.items():
        if engines.available()[engine]:
            assert r.where == "measured here" and r.version == engines.available()[engine]
            assert (r.before, r.after) == (recorded(engine, "residual").before, recorded(engine, "residual").after)
        else:
            assert r.recorded and "pip install" in r.note
    assert engines.results("residual")["onnxruntime"] is found["onnxruntime"]
    assert engines.results("residual", again=True)["onnxruntime"] is not found["onnxruntime"]


def test_without_engines_the_recorded_ones_are_shown(without_engines):
    found = engines.results("gelu")
    assert all(r.recorded and "cannot run here" in r.note for r in found.values())
    assert "recorded 20" in EngineScene("gelu").texts["source"]


def test_a_wrong_block_is_told():
    with pytest.raises(ValueError, match="unknown block 'gelou': did you mean 'gelu'"):
        engines.results("gelou")


# -- shown -------------------------------------------------------------------------------------------------------------


def test_every_block_has_a_title():
    assert set(TITLES) == set(BLOCKS) and len(set(TITLES.values())) == len(BLOCKS)


@pytest.mark.parametrize("name", BLOCKS)
def test_the_picture_has_a_row_for_each_engine_and_words(name, without_engines):
    scene = EngineScene(name)
    svg = ET.fromstring(scene.texts["picture"])
    rows = [t.text for t in svg if t.get("class") == "rl-row"]
    assert rows[0] == "as written" and set(rows[1:]) == {r.name for r in scene.results.values() if r.after}
    title = svg[0].text
    assert svg.get("role") == "img" and all(row in title for row in rows)
    boxes = sum(len(plan) for plan in scene.plans.values())
    assert len([t for t in svg if t.tag == "rect"]) >= boxes
    for rect in (t for t in svg if t.tag == "rect"):
        assert float(rect.get("x")) + float(rect.get("width")) <= float(svg.get("width"))


def test_a_kernel_whose_operators_do_not_stand_together_has_one_letter():
    b = rl.GraphBuilder("branches")
    x = b.input("x", (4,))
    left, right = b.relu(x), b.exp(x)
    graph = b.build(outputs=[b.add(b.sqrt(left), right)])
    svg = ET.fromstring(picture({"one": rl.fuse(graph, groups=[["relu_0", "sqrt_0"]])}))
    assert [t.text for t in svg if t.get("class") == "rl-head"].count("A") == 2


@pytest.mark.parametrize(
    "seconds, words",
    [
        (
            {"off": 1.0, "all but layout": 2.0},
            "makes 1 kernel of 2 operators, and that takes 2.0 times as long: a fusion that",
        ),
        (
            {"off": 1.0, "all but layout": 1.0},
            "makes 1 kernel of 2 operators, which changes its time by less than a fifth",
        ),
        ({"off": 3.0, "all but layout": 1.0}, "makes 1 kernel of 2 operators, 3.0 times as fast"),
        ({}, "makes 1 kernel of 2 operators."),
    ],
)
def test_what_is_said_of_a_time(seconds, words, without_engines):
    scene = EngineScene("add_layer_norm")
    known = vars(scene.results["onnxruntime"])
    scene.results["onnxruntime"] = Result(**(known | {"seconds": seconds}))
    assert f"ONNX Runtime {words}" in scene.sentence
    assert "Core ML merges nothing: 2 kernels." in scene.sentence


def test_what_an_engine_cannot_take_is_said(without_engines):
    scene = EngineScene("gelu")
    assert "TensorFlow Lite has no operator for erf" in scene.sentence
    assert "TensorFlow Lite" not in scene.plans


def test_the_table_says_times_rules_and_predictions(without_engines):
    table = EngineScene("conv_bn_relu").texts["table"].replace("<wbr>", "")
    for words in (
        "ConvBNFusion + ConvActivationFusion",
        "fuse_conv_batchnorm",
        "the same",
        "on a Mac only",
        " … ",
        "ms",
    ):
        assert words in table
    assert table.count("<tr>") == 1 + len(ORDER)


def test_my_machine_is_the_one_that_was_measured(tmp_path, monkeypatch):
    from roofline_lessons.measure.measurement import to_json

    monkeypatch.setenv("ROOFLINE_MACHINE", str(tmp_path / "my.machine.json"))
    assert my_machine() is recorded_machine()
    (tmp_path / "my.machine.json").write_text("broken")
    assert my_machine() is recorded_machine()
    (tmp_path / "my.machine.json").write_text(to_json(recorded_machine().measurement), encoding="utf-8")
    assert not my_machine().name.startswith("recorded")


def test_the_widget_shows_what_the_scene_says(without_engines):
    explorer = rl.EngineExplorer()
    fresh = {name: w.value for name, w in explorer.texts.items()}
    seen = {(fresh["title"], fresh["picture"])}
    for name in list(BLOCKS)[1:]:
        explorer.controls["block"].value = name
        assert {n: w.value for n, w in explorer.texts.items()} == explorer.scene.texts
        assert explorer.scene.block == name
        seen.add((explorer.texts["title"].value, explorer.texts["picture"].value))
    assert len(seen) == len(BLOCKS)  # something to see changes with every block
    explorer.again_button.click()
    assert explorer.texts["sentence"].value == explorer.scene.texts["sentence"]
    explorer.reset_button.click()
    assert {name: w.value for name, w in explorer.texts.items()} == fresh
