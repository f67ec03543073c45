"""The report as JSON, CSV and a page: complete, readable again, and harmless whatever the names in a file are."""

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

import roofline_lessons as rl
from roofline_lessons.reports.page import part, roofline_svg

KEYS = {
    "": "format model device device_id precision rules operators parameters macs unknown_bytes_share memory plans "
    "refused changes slowest advice notes",
    "memory": "weight_bytes activation_bytes on_chip_bytes all_fits activations_fit",
    "plans": "name kernels seconds seconds_no_overlap macs flops dram_bytes intensity_flop_per_byte joules "
    "joules_missing bound because",
    "changes": "what kind seconds times_as_fast",
    "slowest": "name operators macs flops flops_known dram_bytes on_chip_bytes intensity_flop_per_byte seconds "
    "seconds_no_overlap share_of_seconds bound because",
}


class Page(HTMLParser):
    """The tags, attributes and text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.words = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


# -- JSON --------------------------------------------------------------------------------------------------------------


def test_json_has_these_keys(made):
    found = json.loads(made.to_json())
    assert list(found) == KEYS[""].split() and found["format"] == 1
    assert list(found["memory"]) == KEYS["memory"].split()
    for name in ("plans", "changes", "slowest"):
        assert all(list(row) == KEYS[name].split() for row in found[name]), name


def test_json_has_these_numbers(made):
    found = json.loads(made.to_json(most=3))
    assert found["macs"] == made.graph.macs and found["device_id"] == "raspberry-pi-5"
    assert [p["seconds"] for p in found["plans"]] == [e.seconds for e in made.estimates.values()]
    assert [k["name"] for k in found["slowest"]] == [k.name for k in made.slowest(3)]
    assert found["slowest"][0]["because"] == made.slowest(1)[0].because
    assert found == made.to_dict(3)


def test_what_is_infinite_or_unknown_is_null():
    b = rl.GraphBuilder("moves")
    graph = b.build(outputs=[b.transpose(b.input("x", (8, 8)), (1, 0))])
    found = json.loads(rl.report(graph, rl.Device("toy", {"fp32": 1e12}, 1e11)).to_json())
    assert found["device_id"] is None and found["plans"][0]["joules"] is None
    assert found["plans"][0]["intensity_flop_per_byte"] == 0
    assert found["memory"]["on_chip_bytes"] is None and found["memory"]["all_fits"] is None


# -- CSV ---------------------------------------------------------------------------------------------------------------


def test_csv_reads_back_with_every_kernel_of_every_plan(made):
    rows = list(csv.DictReader(io.StringIO(made.to_csv())))
    for name, est in made.estimates.items():
        own = [r for r in rows if r["plan"] == name]
        assert [r["kernel"] for r in own] == [k.name for k in est.kernels]
        assert sum(float(r["seconds"]) for r in own) == pytest.approx(est.seconds)
        assert sum(float(r["dram_bytes"]) for r in own) == pytest.approx(est.dram_bytes)
        assert sum(float(r["share_of_seconds"]) for r in own) == pytest.approx(1)
    assert sum(len(r["operators"].split()) for r in rows if r["plan"] == "best legal fusion") == 83


def test_no_name_is_a_formula_in_a_spreadsheet(hostile, pi):
    rows = list(csv.DictReader(io.StringIO(rl.report_on_file(hostile, pi).to_csv())))
    assert "'=1+1" in [r["kernel"] for r in rows]
    assert not [c for r in rows for c in r.values() if c.startswith(("=", "+", "@"))]


# -- HTML --------------------------------------------------------------------------------------------------------------


def test_the_page_needs_nothing_from_elsewhere_and_runs_nothing(made):
    text = made.to_html()
    page = Page(text)
    assert not {"script", "link", "iframe", "img", "object", "embed", "form", "base"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    links = [value for name, value in page.attributes if name in ("href", "src", "xlink:href") and value]
    assert all(link.startswith("#") for link in links)
    spaces = {value for name, value in page.attributes if name.startswith("xmlns")}
    assert spaces == {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert not set(re.findall(r"https?://[^\"' )]+", text)) - spaces
    assert "@import" not in text and not [u for u in re.findall(r"url\(([^)]*)\)", text) if not u.startswith("#")]


def test_the_page_says_what_the_report_says(made):
    text = Page(made.to_html()).text
    for sentence in (*made.advice, made.memory.sentence):
        assert sentence in text
    for est in made.estimates.values():
        assert rl.si(est.seconds, "s") in text and rl.si(est.dram_bytes, "B") in text
    for k in made.slowest(10):
        assert k.because in text
    for c in made.changes:
        assert c.what in text


@pytest.mark.parametrize(
    "device, word",
    [("stm32h743", "SRAM"), ("esp32-s3", "PSRAM"), ("coral-edge-tpu", "USB"), ("raspberry-pi-5", "DRAM")],
)
def test_the_memory_has_the_name_it_has_on_the_device(device, word):
    made = rl.report(rl.networks.ds_cnn(), device, "int8")
    for text in (Page(made.to_html()).text, Page(made._repr_html_()).text):
        assert f"{word} bytes" in text and (word == "DRAM") == (re.search(r"\bDRAM\b", text) is not None)
    no_figure = made.device.with_(joules_per_dram_byte=None)
    text = Page(rl.report(made.graph, no_figure, "int8").to_html()).text
    assert re.search(rf"there is no figure for [^.]*\b{word} bytes", text)


def test_the_picture_is_svg_with_words(made):
    svg = roofline_svg(made)
    root = ElementTree.fromstring(svg)
    assert root.attrib["role"] == "img" and "Roofline of mobilenet_v1" in root.attrib["aria-label"]
    words = " ".join(e.text or "" for e in root.iter() if e.tag.endswith("text"))
    assert "best legal fusion" in words and "ridge 9.00 FLOP/B" in words
    assert svg == roofline_svg(made)  # the same each time


def test_a_model_without_arithmetic_has_a_page_too():
    b = rl.GraphBuilder("moves")
    graph = b.build(outputs=[b.transpose(b.input("x", (8, 8)), (1, 0))])
    assert "moves" in Page(rl.report(graph, "raspberry-pi-5").to_html()).text


def test_no_name_in_a_file_is_markup(hostile, pi):
    made = rl.report_on_file(hostile, pi)
    for text in (made.to_html(), made._repr_html_()):
        page = Page(text)
        assert not {"script", "b", "a"} & set(page.tags)
        assert "<script>alert(1)</script>" in page.text and "{{ 7*7 }}" in page.text
    assert "<b>&'.onnx on Raspberry Pi 5" in Page(made.to_html()).text


def test_the_parts_are_those_of_the_page(made):
    page = made.to_html()
    for name in ("advice", "plans", "changes", "memory", "slowest"):
        assert part(made, name) in page
    assert part(made, "notes") == ""
    other = part(made, "slowest", plan="onnxruntime")
    assert made.slowest(1, "onnxruntime")[0].name in other and "kernels, onnxruntime" in other


# -- files -------------------------------------------------------------------------------------------------------------


def test_the_ending_of_the_name_says_how_it_is_saved(made, tmp_path):
    assert made.save(tmp_path / "r.html").read_text(encoding="utf-8") == made.to_html()
    assert json.loads(made.save(tmp_path / "r.JSON").read_text(encoding="utf-8")) == made.to_dict()
    with made.save(str(tmp_path / "r.csv")).open(encoding="utf-8", newline="") as kept:
        assert kept.read() == made.to_csv()
    with pytest.raises(ValueError, match=r"saved as \.html, \.csv, \.json: r\.pdf ends in none of them"):
        made.save(tmp_path / "r.pdf")
    with pytest.raises(OSError):
        made.save(Path(tmp_path) / "no folder" / "r.html")


def test_the_repr_is_the_advice(made):
    assert repr(made) == f"<Report on mobilenet_v1: {' '.join(made.advice)}>"
