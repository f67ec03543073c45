"""`SelfCheck`: does this place draw widgets, and does the kernel answer them?"""

from __future__ import annotations

import importlib.metadata
import platform
from typing import Any

import anywidget
import ipywidgets as W
import traitlets
from ipywidgets import widget_serialization

from .driver import javascript


class _Asker(anywidget.AnyWidget):
    _esm = javascript("self_check.js")

    text = traitlets.Instance(W.HTML).tag(sync=True, **widget_serialization)

    def __init__(self, text: W.HTML) -> None:
        super().__init__(text=text)
        self.on_msg(lambda widget, content, buffers: self.send({"answer": "yes"}))


class SelfCheck(W.VBox):
    """Two lines: what runs in the kernel, and whether the browser draws widgets and hears from the kernel.

    The second line is written by the browser. Where widgets do not work it never appears, which is the answer, too.

    Attributes
    ----------
    versions : dict of str to str
        What is installed.
    """

    _asker: _Asker | None = None

    def __init__(self) -> None:
        packages = ("roofline-lessons", "jupyterlab", "ipywidgets", "bqplot", "anywidget", "numpy")
        self.versions = {"python": platform.python_version()} | {p: _version(p) for p in packages}
        listed = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        self.text = W.HTML("✗ The browser has not answered: widgets do not work here.")
        super().__init__([W.HTML(f"✓ The kernel runs: {listed}."), self.text])
        self._asker = _Asker(self.text)

    def close(self) -> None:
        """Take it off the page, with the part that talks to the kernel."""
        if self._asker is not None:
            self._asker.close()
        super().close()

    def __repr__(self) -> str:
        return "SelfCheck: you read this line instead of a check mark, so widgets do not work here."


def _version(package: str) -> Any:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
