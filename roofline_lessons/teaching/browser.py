"""The browser's half of a question or a check: names for a screen reader, arrow keys, and where the focus goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import resources

import anywidget
import ipywidgets as W
import traitlets

#: CSS selector -> attributes of the first element that it finds in the box.
Attributes = Mapping[str, Mapping[str, str]]

#: What is said after a press of a button: read out when it changes, and able to take the focus.
_SAID = {"role": "status", "aria-live": "polite", "tabindex": "-1", "style": "padding: 2px 6px"}


class Said(W.HTML):
    """Text that a screen reader reads out when it changes."""

    css = ".rl-said .widget-html-content"

    def __init__(self) -> None:
        super().__init__()
        self.add_class("rl-said")


class BrowserHalf(anywidget.AnyWidget):
    """Does in the page what ipywidgets does not, for the box (of the class ``rl-teaching``) in which it stands.

    It names the elements, keeps the arrow keys of a control from moving the notebook, moves the focus, and says so when
    a button was pressed and Python does not answer. A press of a button also brings along what the control holds: its
    own messages wait for one another, and on a slow line the press would overtake the last of them.

    Parameters
    ----------
    attributes : dict
        CSS selector -> attributes, e.g. ``{".noUi-handle": {"aria-label": "How long does it take?"}}``.
    control : Widget, optional
        The control whose state a press of a button brings along.
    trait : str
        The trait of the control that the browser writes.
    """

    _esm = resources.files(__package__).joinpath("browser.js").read_text(encoding="utf-8")

    attributes = traitlets.Dict().tag(sync=True)
    control = traitlets.Instance(W.Widget, allow_none=True).tag(sync=True, **W.widget_serialization)
    trait = traitlets.Unicode().tag(sync=True)

    def __init__(
        self, attributes: Attributes | None = None, control: W.Widget | None = None, trait: str = "value"
    ) -> None:
        self._always = {Said.css: _SAID}
        super().__init__(control=control, trait=trait)
        self.describe(attributes or {})
        self.on_msg(self._hear)

    def describe(self, attributes: Attributes) -> None:
        """Give elements these attributes."""
        self.attributes = self._always | {css: dict(values) for css, values in attributes.items()}

    def button(self, label: str, press: Callable[[], str | None], **more: object) -> W.Button:
        """A button; what `press` returns is the selector of the element that takes the focus afterwards, if any."""
        made = W.Button(description=label, **more)
        made.add_class("rl-press")
        made.on_click(lambda _: self.send({"focus": press()}))
        return made

    def _hear(self, widget: W.Widget, content: Mapping[str, object], buffers: object) -> None:
        """What the control held when a button was pressed; the press itself is the next message."""
        if self.control is not None and not self.control.disabled:
            setattr(self.control, self.trait, content["state"])
