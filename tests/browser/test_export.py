"""`export_html`: one file, no kernel, no network; the slider still moves the line."""

from __future__ import annotations

import gzip
import hashlib
import re
from pathlib import Path

import pytest

import roofline_lessons as rl
from roofline_lessons.scenes import RooflineScene
from tests.browser.lab import ARTEFACTS, ROOT, Explorer
from tests.browser.test_explorer import expect

VENDOR = ROOT / "roofline_lessons" / "widgets" / "vendor"


def test_the_exported_page_works_offline_from_a_file(browser, tmp_path):
    widget = rl.RooflineExplorer("MobileNetV2", device="jetson-orin-nano", precision="fp16")
    path = rl.export_html(widget, tmp_path / "explorer.html", title="MobileNetV2 & the roofline")
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 1100})
    page = context.new_page()
    asked, errors = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
    page.goto(path.as_uri())
    explorer = Explorer(page)
    page.wait_for_timeout(1600)  # the names of the sliders come last
    scene = RooflineScene("MobileNetV2", device="jetson-orin-nano", precision="fp16")
    expect(explorer, scene)
    for key, times, step in (("ArrowRight", 7, 31), ("Home", 1, 0)):
        explorer.press("bandwidth", key, times)
        scene.bandwidth_step = step
        expect(explorer, scene)
    ARTEFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTEFACTS / "export.png")
    assert page.title() == "MobileNetV2 & the roofline"
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert errors == []
    context.close()


def test_what_cannot_be_exported_is_said(tmp_path):
    with pytest.raises(ValueError, match="only a widget can be exported, not str; try rl.RooflineExplorer"):
        rl.export_html("explorer", tmp_path / "x.html")
    with pytest.raises(ValueError, match="cannot write x.html: the folder .*nowhere does not exist"):
        rl.export_html(rl.RooflineExplorer(), tmp_path / "nowhere" / "x.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["embed-amd.js", "require.js"])
def test_vendored_javascript_is_what_the_readme_says(name: str):
    row = re.search(rf"\| {re.escape(name)}\.gz \|.*\| ([0-9a-f]{{64}}) \|", (VENDOR / "README.md").read_text())
    code = gzip.decompress(Path(VENDOR, f"{name}.gz").read_bytes())
    assert hashlib.sha256(code).hexdigest() == row[1]
