"""What the README says is so: its commands exist, its code runs, its lessons are those that there are."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

import roofline_lessons as rl

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
LESSONS = tomllib.loads((ROOT / "roofline_lessons/teaching/lessons.toml").read_text(encoding="utf-8"))["lesson"]


def test_the_python_in_it_runs(tmp_path, monkeypatch):
    (code,) = re.findall(r"```python\n(.*?)```", README, re.S)
    monkeypatch.chdir(tmp_path)
    rl.write_onnx(rl.networks.ds_cnn(), tmp_path / "model.onnx")
    names: dict = {}
    exec(compile(code, "README.md", "exec"), names)
    assert f"{names['graph'].macs:,} MACs, {names['graph'].params:,} parameters" in code
    assert (tmp_path / "report.html").exists()


def test_the_list_of_lessons_is_that_of_the_notebooks():
    rows = re.findall(r"^\| (\d\d) \| \[([^\]]+)\]\(notebooks/([^)]+)\) \|", README, re.M)
    assert [(f"{number} · {title}", file) for number, title, file in rows] == [(x["title"], x["file"]) for x in LESSONS]
    assert [file for *_, file in rows] == sorted(p.name for p in (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))


def test_the_minutes_are_those_of_the_lessons():
    words = {"five": "5", "ten": "10"}
    for minutes, file in ((m, f) for f, m in re.findall(r"\(notebooks/([^)]+)\) \|.*\| ([\d–]+) \|$", README, re.M)):
        text = (ROOT / "notebooks" / file).read_text(encoding="utf-8")
        for word, number in words.items():
            text = text.replace(f" {word} ", f" {number} ")
        assert f"{minutes.replace('–', ' to ')} minutes" in text, f"{file} does not say that it takes {minutes} minutes"


def test_links_lead_somewhere():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\bmake ([a-z]+)\b", README)) - {"it"}))
def test_every_make_command_exists_and_help_names_it(target):
    assert re.search(rf"^{target}:", MAKEFILE, re.M), f"make {target}"
    assert target == "help" or f"make {target} " in MAKEFILE.split("lab:")[0]


def test_every_way_installs_the_same_lock_and_opens_the_same_lesson():
    lines = [line.strip() for line in README.splitlines() if line.startswith("    ")]
    start = re.search(r"^START\s*:= (\S+)$", MAKEFILE, re.M)[1]
    opened = [line for line in lines if "LabApp.default_url" in line]
    assert len(opened) == 2 and all(f"--LabApp.default_url=/lab/tree/{start}" in line for line in opened)
    assert README.count(f"urlpath=lab/tree/{start}") == 1  # Binder
    (windows,) = [line for line in lines if line.startswith("py ")]
    made, locked, project = (part.strip() for part in windows.split("&&"))
    assert made == "py -m venv .venv"
    assert "pip install --require-hashes -r requirements.lock" in locked
    assert shlex.split(project)[1:] == "-m pip install --no-deps --no-build-isolation -e .".split()
    assert "--no-deps --no-build-isolation -e ." in MAKEFILE and "--require-hashes" in MAKEFILE


def test_the_repository_is_named_in_one_place():
    files = ("README.md", "CITATION.cff", "pyproject.toml", "CONTRIBUTING.md", "notebooks/00_start_here.ipynb")
    named = [name for name in files if "OWNER/REPOSITORY" in (ROOT / name).read_text(encoding="utf-8")]
    assert named == ["README.md"]
    assert re.findall(r"^\[binder\]: \S*OWNER/REPOSITORY\S*$", README, re.M)
