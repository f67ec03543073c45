"""Every lesson as a file: form, links, pictures. That they run, and print what they should, is nbval's part."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

from tests.notebooks.pictures import IMAGES, PICTURES, fingerprint, kept_fingerprint

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
LESSONS = sorted(p for p in NOTEBOOKS.glob("*.ipynb") if not p.name.startswith("_"))


def markdown(path: Path) -> str:
    return "\n\n".join(c.source for c in nbformat.read(path, 4).cells if c.cell_type == "markdown")


def test_the_lessons_of_this_stage_are_there():
    assert [p.name[:2] for p in LESSONS][:3] == ["00", "01", "02"]


@pytest.mark.parametrize("name", PICTURES)
def test_picture_is_up_to_date(name):
    make, plot = PICTURES[name]
    assert kept_fingerprint(IMAGES / name) == fingerprint(make(), plot), (
        f"notebooks/images/{name} is old: run `make pictures`"
    )


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_links_lead_somewhere(path):
    text = markdown(path)
    targets = re.findall(r"\]\(([^)]+)\)", text) + re.findall(r"(?:src|href)=\"([^\"]+)\"", text)
    for target in targets:
        assert target.startswith("http") or (NOTEBOOKS / target).exists(), f"{path.name}: {target} does not exist"


@pytest.mark.parametrize("path, following", list(zip(LESSONS, LESSONS[1:])), ids=lambda p: p.stem)
def test_each_lesson_leads_to_the_next(path, following):
    leads = [line for line in markdown(path).splitlines() if line.startswith("**Next:** [")]
    assert len(leads) == 1 and f"]({following.name})" in leads[0], f"{path.name} should end with a link to the next"


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_pictures_have_words(path):
    """Every picture stands as <img alt="…">: the text says what it shows to those who cannot see it."""
    text = markdown(path)
    assert "![" not in text, f"{path.name}: write <img src=… alt=…>, which takes a width, too"
    for picture in re.findall(r"<img[^>]*>", text):
        alt = re.search(r"alt=\"([^\"]*)\"", picture)
        assert alt and len(alt[1]) > 20, f"{path.name}: {picture} needs an alt text that says what it shows"


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_each_cell_fits_on_a_slide(path):
    for cell in nbformat.read(path, 4).cells:
        lines = [line for line in cell.source.splitlines() if not line.startswith("<!--")]  # claims are not seen
        assert len(lines) <= (12 if cell.cell_type == "code" else 25), (
            f"{path.name}, cell {cell.id}: {len(lines)} lines"
        )


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_only_cells_with_a_kept_output_look_as_if_they_had_run(path):
    for cell in nbformat.read(path, 4).cells:
        if cell.cell_type == "code" and "keep_output" not in cell.metadata.get("tags", []):
            assert cell.execution_count is None and not cell.outputs, f"{path.name}, cell {cell.id}: make format"


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_what_was_seen_waits_in_a_closed_box(path):
    """Beside an open question no answer is to be read: what a trial shows and still pictures stand in <details>."""
    for cell in nbformat.read(path, 4).cells:
        seen = cell.source.startswith(("What you saw", "<img"))
        assert cell.cell_type == "code" or not seen, f"{path.name}, cell {cell.id}: put it into <details>"


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_cells_that_print_numbers_are_compared(path):
    """nbval compares only tagged cells whose output is kept: a tag without output would compare nothing."""
    cells = [c for c in nbformat.read(path, 4).cells if c.cell_type == "code"]
    compared = [c for c in cells if "nbval-check-output" in c.metadata.get("tags", [])]
    assert compared, f"{path.name} compares no printed number"
    for cell in compared:
        assert "keep_output" in cell.metadata.tags and cell.outputs, f"{path.name}, cell {cell.id}: output not kept"


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_no_interact_and_no_output_widget(path):
    """Both are slow and hang some notebook runners (shared references, widgets.md)."""
    source = "\n".join(c.source for c in nbformat.read(path, 4).cells if c.cell_type == "code")
    assert not re.search(r"\binteract\b|\bOutput\(", source)
