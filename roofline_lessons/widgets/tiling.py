"""`TilingExplorer`: how many layers one kernel should hold, in which tiles, on a chip of which size."""

from __future__ import annotations

from typing import Any

import bqplot
import ipywidgets as W

from ..device import Device
from ..fusion import HALO_MODES
from ..graph import Graph
from ..scenes.roofline_marks import BOUND_COLORS
from ..scenes.tiling import TilingScene
from ..scenes.tiling_plans import NETWORKS, TEACHING_ACCELERATOR
from .driver import Driver
from .explorer import Explorer
from .look import (
    FAINT,
    INK,
    STYLE,
    bytes_heading,
    figure,
    heading,
    lines,
    slider_head,
    step_slider,
    text_widget,
    unique,
)
from .menus import device_option, device_options
from .names import Names

_MENUS = {"network": "160px", "device": "240px", "precision": "80px", "halo": "120px"}
_SLIDERS = {"depth": "layers per kernel", "tile": "tile", "memory": "on-chip memory"}
_READOUTS = {
    "time": "Time of one run",
    "bytes": "",  # says what memory it is
    "again": "Computed again",
    "halo": "Halo read again",
}

TILING_STYLE = """<style>
.rl-tiling .rl-pyramid { display: block; width: 100%; height: auto; max-height: 180px; }
.rl-tiling .rl-pyramid text { fill: var(--rl-ink); font-size: 17px; font-weight: 600; text-anchor: middle; }
.rl-tiling .rl-pyramid text.rl-of { fill: var(--rl-faint); font-size: 14px; font-weight: 400; }
.rl-tiling .rl-tensor { fill: var(--rl-soft); }
.rl-tiling .rl-outline { fill: none; stroke: var(--rl-faint); stroke-width: 1.5; }
.rl-tiling .rl-own { fill: #0072b2; }
.rl-tiling svg.rl-pyramid .rl-halo { stroke: #d55e00; stroke-width: 1.5; }
.rl-tiling .rl-hatch-ground { fill: #fff3ea; }
.rl-tiling .rl-hatch-line { fill: #d55e00; }
.rl-tiling .rl-arrow { fill: none; stroke: var(--rl-ink); stroke-width: 2; }
.rl-tiling .rl-fit { display: flex; align-items: center; gap: 10px; font-size: 15px; margin: 3px 0; }
.rl-tiling .rl-fit > span:first-child { width: 58px; }
.rl-tiling .rl-fit > span:last-child { width: 104px; text-align: right; font-variant-numeric: tabular-nums; }
.rl-tiling .rl-fit-track { position: relative; flex: 1; height: 18px; background: var(--rl-soft);
  border: 1px solid var(--rl-line); border-radius: 3px; }
.rl-tiling .rl-fit-track b { display: block; height: 100%; background: #0072b2; border-radius: 2px; }
.rl-tiling .rl-fit-track b.rl-over { background: repeating-linear-gradient(45deg, #d55e00 0 6px, #ffb37a 6px 9px); }
.rl-tiling .rl-fit-track i { position: absolute; top: -5px; bottom: -5px; border-left: 3px solid var(--rl-ink);
  margin-left: -1px; }
.rl-tiling .rl-fit-words { font-size: 17px; font-weight: 600; margin-top: 2px; }
</style>"""


class TilingExplorer(Explorer):
    """Fusion depth, tile and on-chip memory as sliders: the best depth is a minimum, what is too large does not fit.

    Parameters
    ----------
    network : str or Graph
        "WDWD", "WWWW", "DDDD" (chains of depthwise W and dense D convolutions), "MobileNetV2 block", "VGG-19 start", or
        a chain of your own with at least two convolutions or poolings.
    device : str or Device
        A catalogue id, "teaching accelerator" (round numbers, to be checked in the head), or a device of your own.
    precision : str
    halo : str
        "recompute", "cache rows" or "cache all".

    Attributes
    ----------
    scene : TilingScene
        What is shown, without a widget; always in step with the controls.
    controls : dict of str to Widget
        network, device, precision, halo, depth, tile, memory.

    Notes
    -----
    The sliders never wait for the kernel: `tiling.js` moves the marks in the browser. Only a menu asks the kernel.

    Examples
    --------
    >>> TilingExplorer("WWWW").scene.current.tile_bytes
    226304.0
    """

    def __init__(
        self,
        network: str | Graph = "WDWD",
        device: str | Device = TEACHING_ACCELERATOR.name,
        precision: str | None = None,
        halo: str = "recompute",
    ) -> None:
        self.scene = TilingScene(network, device, precision, halo)
        self.scene.hatch = unique("rl-hatch")
        self.controls = self._make_controls()
        marks = self.scene.marks
        self.scales = {
            "x": bqplot.LinearScale(**marks["x_scale"], allow_padding=False),
            "y": bqplot.LinearScale(**marks["y_scale"], allow_padding=False),
        }
        self.axes = [
            bqplot.Axis(
                scale=self.scales["x"],
                label="layers per kernel (convolutions and poolings)",
                label_offset="2.6em",
                tick_format="d",
                grid_lines="none",
                **marks["x_axis"],
            ),
            bqplot.Axis(
                scale=self.scales["y"],
                side="left",
                label_offset="3.6em",
                tick_format="~g",
                grid_lines="solid",
                grid_color="var(--rl-line, #d9dce3)",
                **marks["y_axis"],
            ),
        ]
        self.marks = _chart_marks(marks, self.scales)
        self.texts = {name: text_widget(traits["value"]) for name, traits in marks.items() if "value" in traits}
        moved = {"x_scale": self.scales["x"], "y_scale": self.scales["y"], "x_axis": self.axes[0]}
        self.driver = Driver(
            "tiling",
            self.scene.tables,
            controls={name: self.controls[name] for name in _SLIDERS},
            marks=self.marks | self.texts | moved | {"y_axis": self.axes[1]},
            labels=_SLIDERS,
        )
        super().__init__(self._layout())
        self.add_class("rl-explorer")
        self.add_class("rl-tiling")
        self._listen(_MENUS, _SLIDERS)

    # -- making ------------------------------------------------------------------------------------------------------

    def _make_controls(self) -> dict[str, Any]:
        scene = self.scene
        network, dev = scene.network, scene.device
        own = isinstance(network, Graph)
        networks: list[Any] = [(network.name, network)] if isinstance(network, Graph) else list(NETWORKS)
        menu = device_options(dev, TEACHING_ACCELERATOR)
        controls: dict[str, Any] = {
            "network": W.Dropdown(options=networks, value=network, disabled=own),
            "device": W.Dropdown(options=menu, value=device_option(menu, dev)),
            "precision": W.Dropdown(options=dev.precisions(), value=scene.precision),
            "halo": W.Dropdown(options=HALO_MODES, value=scene.halo),
            "depth": step_slider(scene.depth, 1, scene.layers, "97%"),
            "tile": step_slider(scene.tile_step, 0, len(scene.tiles) - 1, "97%"),
            "memory": step_slider(scene.memory_step, 0, len(scene.capacities) - 1, "97%"),
        }
        for name, width in _MENUS.items():
            controls[name].layout.width = width
        for name in _SLIDERS:
            controls[name].add_class(f"rl-control-{name}")
        return controls

    def _layout(self) -> list[W.Widget]:
        c, t = self.controls, self.texts
        self.reset_button = W.Button(description="↺ reset", tooltip="back to the start", layout=W.Layout(width="90px"))
        menus = [W.HBox([W.Label(name), c[name]], layout=W.Layout(margin="0 14px 0 0")) for name in _MENUS]
        sliders = [
            W.VBox(
                [
                    slider_head(label, t[f"{name}_text"]),
                    c[name],
                ],
                layout=W.Layout(flex="1 1 280px", max_width="370px", margin="0 28px 0 0"),
            )
            for name, label in _SLIDERS.items()
        ]
        for name in (*(f"{slider}_text" for slider in _SLIDERS), *_READOUTS):
            t[name].add_class("rl-value")
        for name in ("formula", "fit", "picture"):
            t[name].add_class("rl-wrap")
        t["sentence"].add_class("rl-sentence")
        margin = {"top": 14, "bottom": 52, "left": 76, "right": 16}
        self.figure = figure(self.marks.values(), self.axes, margin, height="330px", min_width="440px")
        headings = {name: heading(label) for name, label in _READOUTS.items()}
        self.moved = headings["bytes"]
        self.moved.value = bytes_heading(self.scene.device.memory_kind)
        facts = W.HBox(
            [W.VBox([headings[name], t[name]], layout=W.Layout(flex="1 1 200px")) for name in _READOUTS],
            layout=W.Layout(flex_flow="row wrap"),
        )
        side = W.VBox(
            [
                heading("What one tile needs"),
                t["picture"],
                heading("On the chip at once, the most demanding kernel"),
                t["fit"],
            ],
            layout=W.Layout(flex="1 1 440px", padding="0 0 0 18px"),
        )
        chart = W.VBox([self.figure, _legend()], layout=W.Layout(flex="1 1 460px", min_width="460px"))
        return [
            W.HTML(STYLE + TILING_STYLE),
            W.HBox([*menus, self.reset_button], layout=W.Layout(flex_flow="row wrap")),
            W.HBox(sliders, layout=W.Layout(flex_flow="row wrap", align_items="flex-end")),
            W.HBox([chart, side], layout=W.Layout(flex_flow="row wrap")),
            facts,
            t["sentence"],
            t["formula"],
            W.Accordion([t["table"]], titles=["All depths as a table"]),
            self.driver,
            Names({name: self.controls[name] for name in _MENUS}),
        ]

    # -- following ---------------------------------------------------------------------------------------------------

    def _slide(self, change: Any) -> None:
        """A slider moved: the browser has drawn it already, only the scene has to know."""
        if self._following:
            return
        scene, c = self.scene, self.controls
        scene.depth, scene.tile_step, scene.memory_step = c["depth"].value, c["tile"].value, c["memory"].value

    def _follow(self) -> None:
        """Bring menus, sliders and tables to what the scene says. The driver does the rest."""
        scene, c = self.scene, self.controls
        self._following = True  # the controls' own observers must not answer
        try:
            c["network"].value, c["halo"].value = scene.network, scene.halo
            self._follow_device()
            c["depth"].max, c["tile"].max = scene.layers, len(scene.tiles) - 1
            for name, step in scene.controls.items():
                c[name].value = step
        finally:
            self._following = False
        self.driver.tables = scene.tables
        self.moved.value = bytes_heading(scene.device.memory_kind)


def _chart_marks(marks: dict[str, dict[str, Any]], scales: dict[str, Any]) -> dict[str, Any]:
    """bqplot marks under the scene's names, in the order in which they are painted."""
    looks = {
        "memory": ("dashed", 3, BOUND_COLORS["memory"]),
        "arithmetic": ("solid", 2, BOUND_COLORS["compute"]),
        "times": ("solid", 4, INK),
    }
    made = lines(marks, scales, looks)
    tip = {"display_names": False, "names_unique": False}
    made["now"] = bqplot.Scatter(
        **marks["now"], scales=scales, marker="circle", fill=False, default_size=900, colors=[INK], stroke_width=3
    )
    for name, filled, size in (("fits", True, 150), ("too_big", False, 260)):
        made[name] = bqplot.Scatter(
            **marks[name],
            **tip,
            scales=scales,
            marker="circle",
            fill=filled,
            default_size=size,
            colors=[INK if filled else FAINT],
            stroke_width=2,
            tooltip=bqplot.Tooltip(fields=["name"], show_labels=False),
        )
    for name, size, color, down in (
        ("crosses", 17, INK, 0),
        ("star", 32, "#cc79a7", 0),
        ("label_best", 16, INK, 0),
        ("label_now", 16, INK, 0),
    ):
        made[name] = bqplot.Label(
            **marks[name],
            scales=scales,
            align="middle",
            y_offset=down,
            default_size=size,
            font_weight="bold",
            colors=[color],
        )
    return made


def _legend() -> W.HTML:
    """What the lines and marks of the chart are."""

    def line(color: str, dash: str, width: int) -> str:
        return (
            f'<svg width="26" height="12" aria-hidden="true"><line x1="0" x2="26" y1="6" y2="6" stroke="{color}" '
            f'stroke-width="{width}" stroke-dasharray="{dash}"/></svg>'
        )

    return W.HTML(
        '<div class="rl-legend">'
        f"<span>{line(INK, '', 4)} time</span>"
        f"<span>{line(BOUND_COLORS['compute'], '', 2)} arithmetic</span>"
        f"<span>{line(BOUND_COLORS['memory'], '7 4', 3)} memory</span>"
        '<span><b style="color:#cc79a7">★</b> fastest</span><span>◯ now</span><span>✕ too big</span>'
        "</div>"
    )
