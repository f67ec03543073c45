"""`ModelReport` without a browser: a file comes, a wrong one changes nothing, menus and buttons do what they say."""

import json
import os

import pytest

import roofline_lessons as rl
from roofline_lessons.reports.scene import PARTS, ReportScene
from tests.readers.making import info, model, node
from tests.readers.tflite_making import Maker


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "mine.onnx"
    rl.write_onnx(rl.networks.resnet8(), path, weights="absent")
    return path


@pytest.fixture
def widget(tmp_path):
    made = rl.ModelReport(rl.networks.ds_cnn(), folder=tmp_path)
    yield made
    made.close()


def send(widget, name, data, part=1 << 16):
    """What the page sends for a file."""
    take = widget.upload._take
    take(None, {"kind": "start", "name": name, "bytes": len(data)}, [])
    for at in range(0, len(data), part):
        take(None, {"kind": "part", "at": at}, [memoryview(data[at : at + part])])
    take(None, {"kind": "end"}, [])


def shown(widget):
    """All that is said."""
    return {name: text.value for name, text in widget.texts.items()}


def expect(widget):
    """Widget and scene say the same, and the explorer shows the same model."""
    scene = widget.scene
    assert shown(widget) == scene.texts
    assert widget.explorer.scene.network is scene.plan
    assert (widget.explorer.scene.device, widget.explorer.scene.precision) == (scene.device, scene.precision)
    assert widget.explorer.scene.estimate.seconds == scene.estimate.seconds
    assert widget.controls["plan"].value == scene.shown and widget.controls["rules"].value == scene.rules


# -- files -------------------------------------------------------------------------------------------------------------


def test_an_example_is_shown_until_a_file_comes(widget):
    expect(widget)
    assert "✓ This is ds_cnn: 22 operators" in widget.texts["said"].value
    assert rl.ModelReport().scene.name == "ds_cnn"


def test_a_file_is_uploaded_in_parts(widget, file):
    send(widget, "C:\\Users\\me\\mine.onnx", file.read_bytes(), part=1000)
    expect(widget)
    assert "✓ mine.onnx is read: 23 operators" in widget.texts["said"].value
    assert widget.scene.estimate.macs == rl.networks.resnet8().macs
    assert widget.explorer.controls["network"].options[0][0] == "mine (unfused)"


def test_a_file_is_read_by_its_path(widget, file):
    widget.controls["path"].value = f' "{file}" '
    expect(widget)
    assert widget.scene.name == "mine.onnx"


def test_a_home_folder_is_a_path(widget, file, monkeypatch):
    monkeypatch.setenv("HOME", str(file.parent))
    monkeypatch.setenv("USERPROFILE", str(file.parent))
    widget.controls["path"].value = f"~{os.sep}mine.onnx"
    assert widget.scene.name == "mine.onnx"


def test_a_path_is_read_again(widget, tmp_path, file):
    path = tmp_path / "changing.onnx"
    path.write_bytes(file.read_bytes())
    widget.controls["path"].value = str(path)
    rl.write_onnx(rl.networks.fc_autoencoder(), path, weights="absent")
    widget.again_button.click()
    expect(widget)
    assert widget.scene.estimate.macs == rl.networks.fc_autoencoder().macs


@pytest.mark.parametrize("data, words", [
    (b"", "the file is empty"), (b"I am a text.\n" * 40, "it is not an ONNX file"),
    (b"\x1c\x00\x00\x00TFL3" + b"\xff" * 40, "notes.txt"),
])  # fmt: skip
def test_a_wrong_file_gets_a_sentence_and_nothing_is_lost(widget, file, data, words):
    send(widget, "mine.onnx", file.read_bytes())
    widget.controls["plan"].value = "best legal fusion"
    before = shown(widget)
    send(widget, "notes.txt", data)
    after = shown(widget)
    assert after.pop("said") != before.pop("said") and after == before
    assert words in widget.texts["said"].value and "⚠" in widget.texts["said"].value
    assert "Below is still mine.onnx." in widget.texts["said"].value
    expect(widget)


def test_a_path_that_leads_nowhere(widget):
    widget.controls["path"].value = "/nowhere/none.onnx"
    assert "none.onnx: there is no such file" in widget.texts["said"].value
    widget.controls["path"].value = "   "
    assert "none.onnx" in widget.texts["said"].value  # nothing was asked for
    expect(widget)


def test_a_name_is_no_markup(widget, tmp_path):
    made = model([node("Relu", ["x"], ["y"], name="<img src=x onerror=alert(1)>")], [info("x", (1, 64))],
                 [info("y", None)])  # fmt: skip
    send(widget, "<script>.onnx", made.SerializeToString())
    assert "&lt;script&gt;.onnx is read" in widget.texts["said"].value
    assert not [t for t in shown(widget).values() if "<script" in t or "<img" in t]


def test_parts_that_do_not_follow_on_make_no_file(widget, file):
    data, take = file.read_bytes(), widget.upload._take
    before = shown(widget)
    take(None, {"kind": "part", "at": 0}, [memoryview(data)])  # nothing has begun
    take(None, {"kind": "end"}, [])
    take(None, {"kind": "start", "name": "mine.onnx", "bytes": len(data)}, [])
    take(None, {"kind": "part", "at": 10}, [memoryview(data)])
    take(None, {"kind": "end"}, [])
    take(None, {"kind": "start", "name": "huge.onnx", "bytes": widget.upload.most_bytes + 1}, [])
    take(None, {"kind": "end"}, [])
    assert shown(widget) == before


def test_a_quantised_file_says_its_precision_and_its_engine(widget, tmp_path):
    m = Maker()
    w = m.tensor("w", (8, 64), "int8", True)
    y = m.op("FULLY_CONNECTED", [m.input("x", (1, 64), "int8"), w, -1], [m.tensor("y", (1, 8), "int8")],
             "FullyConnectedOptions")  # fmt: skip
    m.outputs = [y]
    send(widget, "q.tflite", m.bytes())
    expect(widget)
    assert widget.scene.precision == "int8" and widget.scene.rules == "tflite"
    assert widget.controls["rules"].value == "tflite"


# -- menus -------------------------------------------------------------------------------------------------------------


def test_device_and_precision_are_the_explorers_menus(widget):
    widget.controls["device"].value = "coral-edge-tpu"  # it has int8 alone
    expect(widget)
    assert widget.scene.precision == "int8" and "Coral" in widget.texts["plans"].value
    widget.controls["device"].value = "jetson-orin-nano"
    widget.controls["precision"].value = "fp16"
    expect(widget)
    assert widget.scene.precision == "fp16"


def test_every_menu_changes_something_that_is_said(widget):
    for name in ("device", "precision", "rules", "plan"):
        control = widget.controls[name]
        start, said = control.value, set()
        values = [o[1] if isinstance(o, tuple) else o for o in control.options]
        for value in values[:12]:
            control.value = value
            expect(widget)
            said.add(json.dumps(shown(widget)))
        assert len(said) == len(values[:12]) > 1, name
        control.value = start


def test_a_reset_brings_back_the_device_and_keeps_the_model(widget, file):
    send(widget, "mine.onnx", file.read_bytes())
    widget.controls["device"].value = "coral-edge-tpu"
    widget.explorer.controls["bandwidth"].value += 8
    widget.explorer.reset_button.click()
    expect(widget)
    assert widget.scene.name == "mine.onnx"
    assert (widget.scene.device.id, widget.scene.precision) == ("raspberry-pi-5", "fp32")


def test_a_reset_after_a_file_on_another_device(widget, file):
    widget.controls["device"].value = "coral-edge-tpu"
    send(widget, "mine.onnx", file.read_bytes())
    widget.controls["device"].value = "raspberry-pi-4"  # it has no int8
    widget.explorer.reset_button.click()
    expect(widget)
    assert (widget.scene.device.id, widget.scene.precision) == ("coral-edge-tpu", "int8")


def test_nothing_is_made_after_construction(widget, file):
    before = [id(c) for c in widget.children], [id(m) for m in widget.explorer.figure.marks]
    send(widget, "mine.onnx", file.read_bytes())
    for name in ("device", "rules", "plan"):
        options = widget.controls[name].options
        widget.controls[name].value = options[-1][1] if isinstance(options[-1], tuple) else options[-1]
    assert before == ([id(c) for c in widget.children], [id(m) for m in widget.explorer.figure.marks])


# -- saving ------------------------------------------------------------------------------------------------------------


def test_the_report_is_saved_beside_the_notebook(widget, tmp_path):
    widget.html_button.click()
    path = tmp_path / "ds_cnn on raspberry-pi-5, fp32.html"
    assert path.read_text(encoding="utf-8") == widget.scene.report.to_html()
    assert widget.saved.value == f"✓ saved: {path.name}"
    widget.csv_button.click()
    assert path.with_suffix(".csv").exists()
    widget.controls["device"].value = "stm32h743"
    assert widget.saved.value == ""  # that was another report


def test_a_folder_that_is_not_there_gets_a_sentence(widget, tmp_path):
    widget.folder = tmp_path / "none"
    widget.html_button.click()
    assert widget.saved.value == "⚠ It cannot be saved: No such file or directory."


def test_names_of_files_are_of_letters_that_every_system_allows(tmp_path):
    scene = ReportScene(rl.networks.ds_cnn(), precision="int8")
    scene.name = 'a/b\\c:d*e?"<f>|' + "x" * 300 + ".onnx"
    name = scene.file_name(".html")
    assert not set(name) & set('/\\:*?"<>|') and len(name) < 140 and name.endswith(".html")


def test_what_the_widget_says_is_what_the_page_says(widget):
    page = widget.scene.report.to_html()
    for name in PARTS:
        assert widget.texts[name].value in page


@pytest.mark.parametrize("arguments, words", [
    ({"model": "none.onnx"}, "none.onnx: there is no such file"),
    ({"device": "raspberry-pi-6"}, "unknown device 'raspberry-pi-6'"),
    ({"device": "coral-edge-tpu", "precision": "fp32"}, 'no peak for "fp32" on Google Coral Edge TPU'),
])  # fmt: skip
def test_a_wrong_start_says_what_is_wrong(arguments, words):
    with pytest.raises(ValueError, match=words):
        rl.ModelReport(**arguments)
