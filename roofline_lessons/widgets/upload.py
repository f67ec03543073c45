"""`Upload`: a file goes from the page to the kernel, in parts.

`ipywidgets.FileUpload` sends a file as one message. At more than 10 MB the server ends the connection, the page says
nothing, and what was chosen is gone: too little for most networks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anywidget
import traitlets

from .driver import javascript

#: A larger file is read by its path: in a page it would fill the memory twice.
MOST_BYTES = 256_000_000


class Upload(anywidget.AnyWidget):
    """A field to choose a file with.

    Parameters
    ----------
    received : callable
        Called with the name and the bytes of each file that has come completely.
    label : str
        What a screen reader says.
    accept : str
        Endings of names that the browser offers, e.g. ".onnx,.tflite".
    """

    _esm = javascript("upload.js")

    label = traitlets.Unicode().tag(sync=True)
    accept = traitlets.Unicode().tag(sync=True)
    most_bytes = traitlets.Int(MOST_BYTES).tag(sync=True)

    def __init__(self, received: Callable[[str, bytes], None], label: str, accept: str) -> None:
        super().__init__(label=label, accept=accept)
        self._received = received
        self._name, self._bytes, self._parts = "", 0, bytearray()
        self.on_msg(self._take)

    def _take(self, widget: Any, content: dict[str, Any], buffers: list[memoryview]) -> None:
        """A message of the page: a file begins, a part of it, its end. What does not follow on is left out."""
        kind = content.get("kind")
        if kind == "start" and 0 <= content["bytes"] <= self.most_bytes:
            self._name, self._bytes, self._parts = str(content["name"]), content["bytes"], bytearray()
        elif kind == "part" and content["at"] == len(self._parts) and buffers:
            self._parts += bytes(buffers[0])[: self._bytes - len(self._parts)]
        elif kind == "end" and self._name and len(self._parts) == self._bytes:
            name, data = self._name, bytes(self._parts)
            self._name, self._bytes, self._parts = "", 0, bytearray()
            self._received(name, data)
