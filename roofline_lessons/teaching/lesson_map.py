"""The map of the lessons with what a learner has done, and the record as a file to keep and to bring back."""

from __future__ import annotations

import base64
import functools
import html
import tomllib
from importlib import resources
from typing import Any

import ipywidgets as W

from .browser import BrowserHalf, Said
from .record import FILE, Items, Progress, dump, is_done

#: Sign -> what it stands for. The shapes differ, not only the colours.
_SIGNS = {"●": "done", "◐": "tried", "○": "not yet"}

_CELL = 'style="padding:4px 18px 4px 0;text-align:left;font-size:15px"'


class ProgressMap(W.VBox):
    """The lessons, and in each what is done; with a download and an upload of the record."""

    def __init__(self, record: Progress) -> None:
        self.record = record
        self.picture = W.HTML()
        self.download = W.HTML()
        self.upload = W.FileUpload(accept=".json", multiple=False, description="bring in a record")
        self.upload.layout.width = "180px"
        self.said = Said()
        self.upload.observe(self._bring_in, "value")
        self.draw()
        super().__init__([self.picture, W.HBox([self.download, self.upload]), self.said, BrowserHalf()])
        self.add_class("rl-teaching")

    def draw(self) -> None:
        """Draw what the record says now."""
        items = self.record.items
        self.picture.value = map_html(items)
        data = base64.b64encode(dump(items)).decode()
        self.download.value = (
            f'<a class="jupyter-button" download="{FILE}" href="data:application/json;base64,{data}">'
            "keep the record as a file</a>"
        )

    def _bring_in(self, change: Any) -> None:
        for file in change["new"]:
            name = html.escape(file["name"])
            try:
                count = self.record.import_(bytes(file["content"]))
                self.said.value = f"✓ {count} {'item' if count == 1 else 'items'} came in from {name}."
            except ValueError as error:
                self.said.value = f"⚠ Nothing came in from {name}: {html.escape(str(error))}."
        self.draw()

    def __repr__(self) -> str:
        return f"<ProgressMap: {_done(self.record.items)} of {sum(len(x['items']) for x in lessons())} items done>"


def map_html(items: Items) -> str:
    """The map of the lessons as HTML: a row per lesson, a sign per item."""
    signs = " &nbsp; ".join(f"{sign} {words}" for sign, words in _SIGNS.items())
    heads = "".join(f'<th scope="col" {_CELL}>{words}</th>' for words in ("lesson", "guesses and exercises", "done"))
    rows = "".join(_row(lesson, items) for lesson in lessons())
    return (
        f'<div style="padding:4px 0;font-size:14px"><b>What you have done</b> &nbsp; {signs}</div>'
        f"<table><tr>{heads}</tr>{rows}</table>"
    )


def _row(lesson: dict[str, Any], items: Items) -> str:
    signs = "".join(_sign_html(name, items.get(name)) for name in lesson["items"])
    done = _done({name: items[name] for name in lesson["items"] if name in items})
    link = f'<a href="{lesson["file"]}" style="text-decoration:underline">{html.escape(lesson["title"])}</a>'
    return f"<tr><td {_CELL}>{link}</td><td {_CELL}>{signs}</td><td {_CELL}>{done} of {len(lesson['items'])}</td></tr>"


def _sign_html(name: str, item: dict[str, Any] | None) -> str:
    sign = "●" if is_done(item) else "◐" if item and item.get("tries") else "○"
    words = html.escape(f"{name}: {_SIGNS[sign]}")
    return f'<span role="img" aria-label="{words}" title="{words}" style="font-size:18px;color:#0072b2">{sign}</span> '


def _done(items: Items) -> int:
    return sum(map(is_done, items.values()))


@functools.cache
def lessons() -> list[dict[str, Any]]:
    """The lessons in order: title, file, and the names of their predictions and exercises."""
    text = resources.files(__package__).joinpath("lessons.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["lesson"]


def progress() -> ProgressMap:
    """The map of the lessons with what you have done."""
    return ProgressMap(Progress())
