"""What is shown of the engines: results here and recorded, the scene, the widget."""

import json
import xml.etree.ElementTree as ET

import pytest

import roofline_lessons as rl
from roofline_lessons import engines
from roofline_lessons.engines import (
    BLOCKS,
    RULES,
    SPELLINGS,
    block,
    block_results,
    catalogue,
    differences,
    here_or_recorded,
    recorded,
)
from roofline_lessons.engines.block_results import Result
from roofline_lessons.engines.catalogue import PAIR, WAYS
from roofline_lessons.engines.recorded_engines import RECORDED, recorded_costs
from roofline_lessons.fusion import RULE_SETS
from roofline_lessons.measure import Timing
from roofline_lessons.measure import recorded as recorded_machine
from roofline_lessons.scenes.engines import ORDER, TITLES, EngineScene, my_machine, picture

ALL = [(engine, name) for name in BLOCKS for engine in RULES]


@pytest.fixture
def without_engines(monkeypatch):
    """No engine is installed; what was measured before is forgotten."""

    monkeypatch.setattr(catalogue, "_missing", lambda engine: list(engines.ENGINES[engine][1]))
    here_or_recorded._result.forget()
    yield
    here_or_recorded._result.forget()


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
    assert list(found) == list(RULES)
    for engine, r in found.items():
        if engines.available()[engine]:
            assert r.where == "measured here" and r.version == engines.available()[engine]
            assert (r.before, r.after) == (recorded(engine, "residual").before, recorded(engine, "residual").after)
        else:
            assert r.recorded and "pip install" in r.note
    assert engines.results("residual")["onnxruntime"] is found["onnxruntime"]
    other = engines.results("pointwise")
    assert engines.results("residual", again=True)["onnxruntime"] is not found["onnxruntime"]
    assert engines.results("pointwise") == other and engines.results("pointwise")["litert"] is other["litert"]


def test_without_engines_the_recorded_ones_are_shown(without_engines):
    found = engines.results("gelu")
    assert all(r.recorded and "cannot run here" in r.note for r in found.values())
    assert "recorded 20" in EngineScene("gelu").texts["source"]


class Pretended:
    """An engine whose models, made anew, take 3, 1 and 2 seconds."""

    def __init__(self, error=None):
        self.made, self.searched, self.error = [3.0, 1.0, 2.0], 0, error

    def kinds(self, model, variant):
        return [variant]

    def fusions(self, model):
        self.searched += 1
        return []

    def seconds(self, model, bench):
        if self.error:
            raise self.error
        seconds = self.made.pop(0)
        return {variant: Timing(seconds, 1.5 * seconds, 9) for variant in PAIR["onnxruntime"]}


def test_the_fastest_of_models_made_anew_counts_and_the_next_says_how_far_they_differ(monkeypatch):
    engine = Pretended()
    monkeypatch.setattr(block_results, "load", lambda name: engine)
    r = block_results.best_of("onnxruntime", "gelu", models=3)
    assert (r.seconds["off"], r.noise["off"], r.spread["off"]) == (1, 1.5, 1)
    assert (r.before, r.after, r.note) == (("off",), ("all but layout",), "") and engine.searched == 1
    assert set(r.seconds) == set(r.noise) == set(r.spread) == set(PAIR["onnxruntime"])


def test_one_model_has_no_spread_and_what_cannot_be_timed_says_why(monkeypatch):
    monkeypatch.setattr(block_results, "load", lambda name: Pretended())
    assert block_results.best_of("onnxruntime", "gelu").spread["off"] == 0
    monkeypatch.setattr(block_results, "load", lambda name: Pretended(engines.EngineError("no time")))
    r = block_results.best_of("onnxruntime", "gelu", models=2)
    assert (r.note, r.seconds, r.spread, r.after) == ("no time", {}, {}, ("all but layout",))
    assert r.times_as_fast is r.fused_seconds is None


def test_what_is_compared_is_there():
    assert set(RULES) == set(PAIR) <= set(engines.ENGINES) and set(RULES.values()) <= set(RULE_SETS)
    for pair in [(e, *PAIR[e]) for e in PAIR] + [(w.engine, w.before, w.after) for w in WAYS.values()]:
        if not engines.why_missing(pair[0]):
            assert set(pair[1:]) <= set(getattr(engines, pair[0]).VARIANTS)


def test_a_wrong_block_is_told():
    with pytest.raises(ValueError, match="unknown block 'gelou': did you mean 'gelu'"):
        engines.results("gelou")
    with pytest.raises(ValueError, match="unknown block 'gelou': did you mean 'gelu'"):
        recorded("litert", "gelou")


def test_a_wrong_engine_is_told():
    with pytest.raises(ValueError, match="unknown engine 'onnx-runtime': did you mean 'onnxruntime'"):
        recorded("onnx-runtime", "gelu")
    with pytest.raises(ValueError, match="unknown engine 'tensorrt'"):
        engines.why_missing("tensorrt")
    with pytest.raises(ValueError, match="unknown way to run an engine 'litert plain': did you mean 'litert, plain'"):
        recorded_costs("litert plain")


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


def recorded_scene(name):
    """The scene of a block where no engine is installed."""
    scene = EngineScene(name, recorded_machine())
    scene.results = {engine: engines.recorded(engine, name) for engine in ORDER}
    return scene


def test_where_nothing_was_merged_chance_is_not_shown_as_a_saving():
    table = recorded_scene("chain").texts["table"]
    core_ml, litert, onnxruntime = table.split("<tr>")[2:]
    assert onnxruntime.count("<td>–</td>") == 3 and "nothing merged" in onnxruntime
    assert "<td>–</td>" not in litert and core_ml.count("<td>–</td>") == 3


def test_what_was_recorded_is_said_once_with_its_own_machine():
    source = recorded_scene("chain").texts["source"]
    assert source.count("recorded 2") == 1 and f"Predicted savings: {recorded_machine().name}." in source


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
