"""The driver: a widget without a picture that moves the marks of an explorer in the browser."""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any

import anywidget
import traitlets
from ipywidgets import Widget, widget_serialization

_Widgets = dict[str, Widget]


@functools.cache
def javascript(name: str) -> str:
    """A JavaScript file of this folder."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


#: The arithmetic of the scenes, one file after the other. They are one module: no name at the top of two files.
SCENE_FILES = ("driver.js", "fusion_picture.js", "fusion.js", "tiling.js")


def arithmetic() -> str:
    """The pure JavaScript of all scenes, as the browser loads it."""
    return "\n".join(map(javascript, SCENE_FILES))


class Driver(anywidget.AnyWidget):
    """Runs one scene's arithmetic (`driver.js` ...) in the browser: controls and tables -> marks and texts.

    Parameters
    ----------
    scene : str
        The function of `SCENES` in `glue.js`, e.g. "roofline".
    tables : dict
        The scene's tables. Assign new ones when a discrete choice changes; the picture follows.
    controls : dict of str to Widget
        Sliders whose `value` is a step of a grid in the tables.
    marks : dict of str to Widget
        What moves, under the names of the scene's `marks`. From now on only the driver writes them.
    labels : dict of str to str
        What a screen reader says for each control.
    """

    _esm = arithmetic() + javascript("marks.js") + javascript("glue.js")

    scene = traitlets.Unicode().tag(sync=True)
    tables = traitlets.Dict().tag(sync=True)
    controls = traitlets.Dict().tag(sync=True, **widget_serialization)
    marks = traitlets.Dict().tag(sync=True, **widget_serialization)
    labels = traitlets.Dict().tag(sync=True)

    def __init__(
        self, scene: str, tables: dict[str, Any], controls: _Widgets, marks: _Widgets, labels: dict[str, str]
    ) -> None:
        super().__init__(scene=scene, tables=tables, controls=controls, marks=marks, labels=labels)
