"""What every explorer does alike: it listens to menus and sliders, and brings them to what its scene says."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

import ipywidgets as W

from ..scenes.roofline_marks import ON_CHIP_ROOFS
from .look import FAINT, INK, decades, intensity_label, log_axis, log_scale
from .menus import device_option


class Explorer(W.VBox):
    """A scene with menus that ask Python for other tables, and sliders that the driver follows in the browser.

    A subclass makes `scene`, `controls`, `driver` and `reset_button`, and says how its sliders and menus follow.
    """

    scene: Any
    controls: dict[str, Any]
    driver: Any = None  # also where making one failed: ipywidgets closes what it collects
    reset_button: W.Button
    _following = False

    def reset(self, *_: Any) -> None:
        """Everything back to how the explorer was made."""
        self._following = True  # a clock that runs speaks from another thread: it would bring the old sliders back
        try:
            self.scene.reset()
            self._follow()
        finally:
            self._following = False

    def close(self) -> None:
        """Take the explorer off the page, its driver with it (which would listen on otherwise)."""
        if self.driver is not None:
            self.driver.close()
        super().close()

    def _listen(self, menus: Iterable[str], sliders: Iterable[str]) -> None:
        for name in menus:
            self.controls[name].observe(self._choose, "value")
        for name in sliders:
            self.controls[name].observe(self._slide, "value")
        self.reset_button.on_click(self.reset)

    def _slide(self, change: Any) -> None:
        """A slider moved: the browser has drawn it already, only the scene has to know."""
        raise NotImplementedError

    def _follow(self) -> None:
        """Bring menus, sliders and tables to what the scene says. The driver does the rest."""
        raise NotImplementedError

    def _choose(self, change: Any) -> None:
        """A menu chose: the model makes other tables."""
        if self._following:
            return
        name = next(n for n, control in self.controls.items() if control is change["owner"])
        setattr(self.scene, name, change["new"])
        self._follow()

    def _follow_device(self) -> None:
        menu = self.controls["device"]
        menu.value = device_option(menu.options, self.scene.device)
        self._follow_precision()

    def _follow_precision(self) -> None:
        menu, scene = self.controls["precision"], self.scene
        if tuple(menu.options) != tuple(scene.device.precisions()):
            menu.options = scene.device.precisions()
        menu.value = scene.precision


#: Looks of the lines of every roofline: style, width, colour.
ROOF_LINES = {
    "ridge": ("dotted", 2, FAINT),
    "vector_peak": ("dashed", 3, FAINT),
    **{f"roof_{i}": ("dash_dotted", 2, FAINT) for i in range(ON_CHIP_ROOFS)},
    "roof": ("solid", 4, INK),
}


def roof_axes(tables: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """Scales and axes of a roofline: intensity across, FLOP/s upwards."""
    scales = {"x": log_scale(tables["x_limits"]), "y": log_scale(tables["y_limits"])}
    across = log_axis(scales["x"], intensity_label(html.unescape(tables["dram"])))
    return scales, [across, log_axis(scales["y"], "FLOP/s (log scale)", vertical=True)]


def follow_limits(axes: Sequence[Any], scales: Iterable[Any], tables: dict[str, Any]) -> None:
    """Bring the axes of a roofline to the limits in the tables, and to the name of the device's memory."""
    axes[0].label = intensity_label(html.unescape(tables["dram"]))
    for axis, scale, limits in zip(axes, scales, (tables["x_limits"], tables["y_limits"]), strict=True):
        with scale.hold_sync():
            scale.min, scale.max = limits
        axis.tick_values = decades(*limits)
