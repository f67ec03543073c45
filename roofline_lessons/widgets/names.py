"""Names for a screen reader: a widget without a picture that labels the menus and buttons of an explorer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anywidget
import traitlets

from .driver import javascript


class Names(anywidget.AnyWidget):
    """Sets attributes, e.g. ``aria-label``, on elements of the explorer in which it stands.

    Parameters
    ----------
    menus : dict of str to Widget
        Menus by what they are called.
    others : dict of str to dict
        CSS selector -> attributes of the first element that it finds in the explorer.
    """

    _esm = javascript("names.js")

    names = traitlets.Dict().tag(sync=True)

    def __init__(self, menus: Mapping[str, Any], others: Mapping[str, Mapping[str, str]] | None = None) -> None:
        named = {}
        for i, (label, menu) in enumerate(menus.items()):
            menu.add_class(f"rl-menu-{i}")
            named[f".rl-menu-{i} select"] = {"aria-label": label}
        super().__init__(names=named | dict(others or {}))
