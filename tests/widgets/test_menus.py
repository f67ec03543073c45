"""Every menu matters, and a reset brings everything back: the widgets whose menus ask Python for each picture.

Those with sliders are in `test_controls.py`; a test here sees that no widget with controls is forgotten.
"""

from __future__ import annotations

import random
import re

import ipywidgets as W
import pytest

import roofline_lessons as rl
from roofline_lessons import widgets
from tests.widgets.test_controls import EXPLORERS

MENUS = {
    rl.FuseByHand: rl.FuseByHand,
    rl.NodeExplorer: rl.NodeExplorer,
    rl.ModelReport: lambda: rl.ModelReport(rl.networks.ds_cnn()),
}


def shown(widget) -> str:
    """All the text that is on the page; names of patterns and counts of changes differ on purpose."""
    texts = [part.value for part in parts(widget) if isinstance(part, W.HTML)]
    return re.sub(r'[0-9a-f]{8,}|data-change="\d+"', "", "\n".join(texts))


def parts(widget):
    yield widget
    for child in getattr(widget, "children", ()):
        yield from parts(child)


def menus(widget) -> dict:
    return {name: control for name, control in widget.controls.items() if hasattr(control, "options")}


def values(menu) -> list:
    return [o[1] if isinstance(o, tuple) else o for o in menu.options]


@pytest.mark.parametrize("kind", MENUS)
def test_every_choice_in_every_menu_shows_something_else(kind):
    widget = MENUS[kind]()
    for name, menu in menus(widget).items():
        before, pictures = menu.value, {}
        for value in values(menu):
            menu.value = value
            pictures.setdefault(shown(widget), []).append(value)
        menu.value = before
        alike = [choices for choices in pictures.values() if len(choices) > 1]
        assert len(pictures) > 1 and not alike, f"{kind.__name__}: in the menu {name} these show the same: {alike}"


@pytest.mark.parametrize("kind", [kind for kind in MENUS if hasattr(kind, "reset")])
def test_after_any_choices_a_reset_is_as_good_as_new(kind):
    rng, widget, fresh = random.Random(3), MENUS[kind](), MENUS[kind]()
    for _ in range(12):
        menu = rng.choice(list(menus(widget).values()))
        menu.value = rng.choice(values(menu))
    widget.reset()
    assert shown(widget) == shown(fresh), f"{kind.__name__}: a reset leaves something behind"


def test_no_widget_with_controls_is_forgotten():
    classes = {getattr(widgets, name) for name in widgets.__all__}
    with_controls = {kind for kind in classes if isinstance(kind, type) and hasattr(kind, "reset")} | set(MENUS)
    elsewhere = {rl.EngineExplorer}  # runs real engines; tests/browser moves it through lesson 12
    assert with_controls == {*EXPLORERS, *MENUS, *elsewhere}
