"""What a learner has done: one small JSON file beside the notebooks.

Written atomically and under a lock, so two open notebooks lose nothing. A file that cannot be read is put aside, with
a message; where nothing can be written, everything works and says that progress will not be kept.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import filelock

#: The file beside the notebooks; the environment variable ROOFLINE_PROGRESS names another.
FILE = "my.progress.json"

_VERSION = 1

Items = dict[str, dict[str, Any]]

#: What could not be written, by file: kept for as long as this kernel lives, whichever `Progress` reads it.
_unkept: dict[Path, Items] = {}


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

    @property
    def items(self) -> Items:
        return self._read() | _unkept.get(self.path, {})

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

        def merge(items: Items) -> None:
            for name, item in came.items():
                if not is_done(items.get(name)) or item.get("outcome") == "correct":
                    items[name] = item

        self._change(merge)
        return len(came)

    # -- the file ----------------------------------------------------------------------------------------------------

    def _read(self) -> Items:
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
        _warn(f"{self.path.name} could not be read ({error}). It is kept as {aside.name}; progress starts anew.")

    def _change(self, change: Callable[[Items], None]) -> None:
        """Read, change, write, with the file locked: another notebook may do the same."""
        patience = 0.1 if self.path in _unkept else 5  # seconds: what failed before need not be waited for
        try:
            with filelock.FileLock(self.path.with_name(f".{self.path.name}.lock"), timeout=patience):
                items = self.items
                change(items)
                _write(self.path, items)
            _unkept.pop(self.path, None)
        except (OSError, NotImplementedError) as error:  # the latter: a file system without locks
            items = self.items
            change(items)
            if self.path not in _unkept:
                _warn(
                    f"Progress will not be kept: {self.path} cannot be written ({error}). Everything else works, and "
                    "what you do counts until this kernel stops."
                )
            _unkept[self.path] = items


def _warn(message: str) -> None:
    """A warning without a line of this package, which would tell a learner nothing."""
    warnings.warn_explicit(message, ProgressWarning, filename="roofline_lessons", lineno=0)


def _merged(old: dict[str, Any] | None, kind: str, outcome: str, when: str, more: dict[str, Any]) -> dict[str, Any]:
    tries = (old or {}).get("tries", 0) + (outcome != "not attempted")
    if old is not None and old.get("outcome") == "correct":
        outcome = "correct"
    return {"kind": kind, "outcome": outcome, "tries": tries, "when": when, **more}


def is_done(item: dict[str, Any] | None) -> bool:
    """A guess that was locked, or an exercise that is correct."""
    return item is not None and item.get("outcome") in ("correct", "predicted")


def _parse(text: bytes) -> Items:
    """The items of a record, or a ValueError that says what is wrong with it."""
    try:
        content = json.loads(text.decode("utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"not a progress file: {error}") from None
    items = content.get("items") if isinstance(content, dict) else None
    if not isinstance(items, dict) or not all(map(_is_item, items.values())):
        raise ValueError('not a progress file: it has no "items"')
    if content.get("version") != _VERSION:
        raise ValueError(f"a progress file of version {content.get('version')!r}; this one reads {_VERSION}")
    return items


def _is_item(item: Any) -> bool:
    """What later code relies on: a count of tries is a number."""
    return isinstance(item, dict) and isinstance(item.get("tries", 0), int)


def dump(items: Items) -> bytes:
    return json.dumps({"version": _VERSION, "items": items}, indent=1, sort_keys=True).encode()


def _write(path: Path, items: Items) -> None:
    """All or nothing: a kernel that dies in the middle leaves the old file."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(dump(items))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
