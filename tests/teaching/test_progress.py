"""The learner's record: nothing is ever lost."""

from __future__ import annotations

import json
import multiprocessing
import warnings
from pathlib import Path

import pytest

from roofline_lessons.teaching.lesson_map import ProgressMap, lessons, map_html
from roofline_lessons.teaching.record import FILE, Progress, ProgressWarning


@pytest.fixture
def record(tmp_path):
    return Progress(tmp_path / FILE)


def test_what_is_recorded_can_be_read_by_the_next_kernel(record):
    record.record("01-a", "exercise", "not yet")
    record.record("01-a", "exercise", "correct")
    item = Progress(record.path).items["01-a"]
    assert (item["outcome"], item["tries"]) == ("correct", 2)


def many(path, who):
    for i in range(20):
        Progress(path).record(f"{who}-{i}", "exercise", "correct")


def test_two_notebooks_at_once_lose_nothing(record):
    context = multiprocessing.get_context("spawn")
    both = [context.Process(target=many, args=(str(record.path), who)) for who in "ab"]
    for p in both:
        p.start()
    for p in both:
        p.join()
    assert len(record.items) == 40


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b'{"items": 3}',
        b'{"version": 9, "items": {}}',
        b"[" * 99999,
        b'{"version": 1, "items": {"a": {"tries": "many"}}}',
    ],
)
def test_a_corrupt_file_is_kept_aside_and_work_goes_on(record, text):
    record.path.write_bytes(text)
    with pytest.warns(
        ProgressWarning, match=r"my.progress.json could not be read .* It is kept as my.progress.json.unread"
    ):
        assert record.items == {}
    aside = [p for p in record.path.parent.iterdir() if "unreadable" in p.name]
    assert [p.read_bytes() for p in aside] == [text]
    record.record("01-a", "exercise", "correct")
    assert "01-a" in record.items


def test_a_place_that_cannot_be_written_says_so_once_and_works(tmp_path):
    record = Progress(tmp_path / "a file" / FILE)
    (tmp_path / "a file").write_text("not a folder")
    with pytest.warns(ProgressWarning, match="Progress will not be kept"):
        record.record("01-a", "exercise", "correct")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        record.record("01-b", "exercise", "correct")
    assert set(record.items) == {"01-a", "01-b"}
    assert set(Progress(record.path).items) == {"01-a", "01-b"}  # every tool of this kernel makes its own `Progress`


def test_a_write_that_fails_leaves_the_old_file(record, monkeypatch):
    record.record("01-a", "exercise", "correct")
    monkeypatch.setattr("pathlib.Path.replace", lambda *args: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.warns(ProgressWarning, match="disk full"):
        record.record("01-b", "exercise", "correct")
    monkeypatch.undo()
    kept = record.path.read_bytes()
    assert b"01-a" in kept and b"01-b" not in kept
    record.record("01-c", "exercise", "correct")  # the disk has room again: what was not kept is written now
    assert list(json.loads(record.path.read_bytes())["items"]) == ["01-a", "01-b", "01-c"]
    assert not [p for p in record.path.parent.iterdir() if p.name.endswith(".tmp")]


def test_export_and_import_bring_everything_along(record, tmp_path):
    record.record("01-a", "exercise", "correct")
    kept = record.export(tmp_path / "kept.json")
    other = Progress(tmp_path / "other.json")
    other.record("01-a", "exercise", "not yet")
    other.record("01-b", "exercise", "correct")
    assert other.import_(kept) == 1
    assert {k: v["outcome"] for k, v in other.items.items()} == {"01-a": "correct", "01-b": "correct"}


def test_import_does_not_undo_what_is_done(record, tmp_path):
    record.record("01-a", "exercise", "not yet")
    kept = record.export(tmp_path / "kept.json")
    record.record("01-a", "exercise", "correct")
    record.import_(kept)
    assert record.items["01-a"]["outcome"] == "correct"


def test_import_does_not_undo_a_guess(record, tmp_path):
    record.record("01-a", "prediction", "predicted", guess=2.0)
    other = Progress(tmp_path / "other.json")
    other.record("01-a", "prediction", "not yet")
    record.import_(other.path)
    assert record.items["01-a"]["guess"] == 2.0


def test_import_of_something_else_is_refused_and_changes_nothing(record):
    record.record("01-a", "exercise", "correct")
    with pytest.raises(ValueError, match="not a progress file"):
        record.import_(b"hello")
    assert list(record.items) == ["01-a"]
    with pytest.raises(ValueError, match="the folder .*nowhere does not exist"):
        record.export(record.path.parent / "nowhere" / "x.json")


def test_the_map_shows_what_is_done(record):
    first = lessons()[1]
    record.record(first["items"][0], "prediction", "predicted")
    record.record(first["items"][-1], "exercise", "not yet")
    page = map_html(record.items)
    assert first["title"] in page and f"1 of {len(first['items'])}" in page
    assert page.count("●") == 2 and page.count("◐") == 2  # one each, and the caption


def test_the_map_says_what_its_signs_stand_for(record):
    name = lessons()[1]["items"][0]
    record.record(name, "prediction", "predicted")
    assert f'role="img" aria-label="{name}: done"' in map_html(record.items)


def test_the_widget_takes_an_upload_and_refuses_nonsense(record):
    shown = ProgressMap(record)
    good = json.dumps({"version": 1, "items": {"01-a": {"kind": "exercise", "outcome": "correct"}}}).encode()
    shown._bring_in({"new": ({"name": "a.json", "content": memoryview(good)},)})
    assert shown.said.value == "✓ 1 item came in from a.json."
    shown._bring_in({"new": ({"name": "b.json", "content": memoryview(b"<b>")},)})
    assert "⚠ Nothing came in from b.json: not a progress file" in shown.said.value


def test_the_environment_names_another_file(tmp_path, monkeypatch):
    monkeypatch.setenv("ROOFLINE_PROGRESS", str(tmp_path / "x.json"))
    assert Progress().path == tmp_path / "x.json"
    monkeypatch.delenv("ROOFLINE_PROGRESS")
    assert Progress().path == Path.cwd() / FILE
