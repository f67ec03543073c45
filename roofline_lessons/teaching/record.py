"""What a learner has done: one small JSON file beside the notebooks, and a map of the lessons drawn from it.

Written atomically and under a lock, so two open notebooks lose nothing. A file that cannot be read is put aside, with
a message; where nothing can be written, everything works and says that progress will not be kept.
"""

from __future__ import annotations

import base64
import functools
import html
import json
import os
import tomllib
import warnings
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

import filelock
import ipywidgets as W

#: The file beside the notebooks; the environment variable ROOFLINE_PROGRESS names another.
FILE = "my.progress.json"

_VERSION = 1


class ProgressWarning(UserWarning):
    """Progress that is not kept, or a progress file that was put aside."""


class Progress:
    """The record of one learner.

    Parameters
    ----------
    path : Path, optional
        The file; by default ``my.progress.json`` in the working directory (a notebook's own folder).

    Attributes
    ----------
    items : dict of str to dict
        What was done: name of the prediction or exercise -> ``{"kind", "outcome", "tries", "when", ...}``.
    """

    def __init__(self, path: Path | str | None = None) -> None:
        self.path = Path(path or os.environ.get("ROOFLINE_PROGRESS") or FILE).absolute()
        self._said = False
        self._unkept: dict[str, dict[str, Any]] = {}

    @property
    def items(self) -> dict[str, dict[str, Any]]:
        return self._read() | self._unkept

    def record(self, name: str, kind: str, outcome: str, **more: Any) -> None:
        """Note one outcome. What was once right stays right; tries are counted.

        Warns
        -----
        ProgressWarning
            Once, when the folder cannot be written.
        """
        when = datetime.now(UTC).isoformat(timespec="seconds")
        self._change(lambda items: items.update({name: _merged(items.get(name), kind, outcome, when, more)}))

    def export(self, path: Path | str) -> Path:
        """Copy the record to a file (to keep it where the computer forgets, as Binder does)."""
        target = Path(path).absolute()
        if not target.parent.is_dir():
            raise ValueError(f"cannot export progress to {target}: the folder {target.parent} does not exist.")
        _write(target, self.items)
        return target

    def import_(self, source: Path | str | bytes) -> int:
        """Add a record that was exported; returns how many items came in. Nothing that is done becomes undone.

        Raises
        ------
        ValueError
            The file is not a progress file.
        """
        text = source if isinstance(source, bytes) else Path(source).read_bytes()
        came = _parse(text)

        def merge(items: dict[str, dict[str, Any]]) -> None:
            for name, item in came.items():
                if name not in items or items[name].get("outcome") != "correct":
                    items[name] = item

        self._change(merge)
        return len(came)

    # -- the file ----------------------------------------------------------------------------------------------------

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            return _parse(self.path.read_bytes())
        except OSError:
            return {}  # nothing done yet, or nothing that may be read
        except ValueError as error:
            self._put_aside(error)
            return {}

    def _put_aside(self, error: ValueError) -> None:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        aside = self.path.with_name(f"{self.path.name}.unreadable-{stamp}")
        try:
            self.path.replace(aside)
        except OSError:
            return
        warnings.warn(
            f"{self.path.name} could not be read ({error}). It is kept as {aside.name}; progress starts anew.",
            ProgressWarning,
            stacklevel=4,
        )

    def _change(self, change: Any) -> None:
        """Read, change, write, with the file locked: another notebook may do the same."""
        try:
            with filelock.FileLock(self.path.with_name(f".{self.path.name}.lock"), timeout=5):
                items = self._read() | self._unkept
                change(items)
                _write(self.path, items)
            self._unkept = {}
        except (OSError, filelock.Timeout) as error:
            items = self.items
            change(items)
            self._unkept = items  # for as long as this kernel lives
            if not self._said:
                self._said = True
                warnings.warn(f"Progress will not be kept: {error}.", ProgressWarning, stacklevel=3)


class ProgressMap(W.VBox):
    """The lessons, and in each what is done; with a download and an upload of the record."""

    def __init__(self, record: Progress) -> None:
        self.record = record
        self.picture = W.HTML()
        self.download = W.HTML()
        self.upload = W.FileUpload(accept=".json", multiple=False, description="bring in a record")
        self.upload.layout.width = "180px"
        self.message = W.HTML()
        self.upload.observe(self._bring_in, "value")
        self.draw()
        super().__init__([self.picture, W.HBox([self.download, self.upload]), self.message])

    def draw(self) -> None:
        """Draw what the record says now."""
        items = self.record.items
        self.picture.value = map_html(items)
        data = base64.b64encode(_dump(items)).decode()
        self.download.value = (
            f'<a class="jupyter-button" download="{FILE}" href="data:application/json;base64,{data}">'
            "keep the record as a file</a>"
        )

    def _bring_in(self, change: Any) -> None:
        for file in change["new"]:
            try:
                count = self.record.import_(bytes(file["content"]))
                self.message.value = f"{count} items came in."
            except ValueError as error:
                self.message.value = html.escape(f"{file['name']}: {error}")
        self.draw()

    def __repr__(self) -> str:
        done = sum(_is_done(item) for item in self.record.items.values())
        return f"<ProgressMap: {done} of {sum(len(x['items']) for x in lessons())} items done>"


def map_html(items: dict[str, dict[str, Any]]) -> str:
    """The map of the lessons as HTML: a row per lesson, a mark per item (● done, ◐ tried, ○ not yet)."""
    cell = 'style="padding:4px 18px 4px 0;text-align:left;font-size:15px"'
    rows = ""
    for lesson in lessons():
        marks = "".join(
            f'<span title="{html.escape(name)}: {_state(items.get(name))}" style="font-size:18px;color:#0072b2">'
            f"{_mark(items.get(name))}</span> "
            for name in lesson["items"]
        )
        done = sum(_is_done(items.get(name)) for name in lesson["items"])
        link = f'<a href="{lesson["file"]}" style="text-decoration:underline">{html.escape(lesson["title"])}</a>'
        rows += (
            f"<tr><td {cell}>{link}</td><td {cell}>{marks}</td><td {cell}>{done} of {len(lesson['items'])}</td></tr>"
        )
    return (
        f'<div style="padding:4px 0;font-size:14px"><b>What you have done</b> &nbsp; ● done &nbsp; ◐ tried &nbsp; '
        f"○ not yet</div><table>{rows}</table>"
    )


@functools.cache
def lessons() -> list[dict[str, Any]]:
    """The lessons in order: title, file, and the names of their predictions and exercises."""
    text = resources.files(__package__).joinpath("lessons.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["lesson"]


def progress() -> ProgressMap:
    """The map of the lessons with what you have done."""
    return ProgressMap(Progress())


def _merged(old: dict[str, Any] | None, kind: str, outcome: str, when: str, more: dict[str, Any]) -> dict[str, Any]:
    tries = (old or {}).get("tries", 0) + (outcome != "not attempted")
    if old is not None and old.get("outcome") == "correct":
        outcome = "correct"
    return {"kind": kind, "outcome": outcome, "tries": tries, "when": when, **more}


def _is_done(item: dict[str, Any] | None) -> bool:
    return item is not None and item.get("outcome") in ("correct", "predicted")


def _state(item: dict[str, Any] | None) -> str:
    return "not yet" if item is None else str(item.get("outcome"))


def _mark(item: dict[str, Any] | None) -> str:
    return "●" if _is_done(item) else "◐" if item and item.get("tries") else "○"


def _parse(text: bytes) -> dict[str, dict[str, Any]]:
    """The items of a record, or a ValueError that says what is wrong with it."""
    try:
        content = json.loads(text.decode("utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"not a progress file: {error}") from None
    items = content.get("items") if isinstance(content, dict) else None
    if not isinstance(items, dict) or not all(isinstance(item, dict) for item in items.values()):
        raise ValueError('not a progress file: it has no "items"')
    if content.get("version") != _VERSION:
        raise ValueError(f"a progress file of version {content.get('version')!r}; this one reads {_VERSION}")
    return items


def _dump(items: dict[str, dict[str, Any]]) -> bytes:
    return json.dumps({"version": _VERSION, "items": items}, indent=1, sort_keys=True).encode()


def _write(path: Path, items: dict[str, dict[str, Any]]) -> None:
    """All or nothing: a kernel that dies in the middle leaves the old file."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(_dump(items))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
