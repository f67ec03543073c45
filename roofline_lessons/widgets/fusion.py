"""`FusionExplorer`: merge operators into kernels with a slider, and see bytes, intensity and time change together."""

from __future__ import annotations

from typing import Any

import bqplot
import ipywidgets as W

from ..device import Device
from ..fusion.rules import RULE_SETS
from ..graph import Graph
from ..scenes.controls import BANDWIDTH_FACTORS
from ..scenes.fusion import CLOCK_SECONDS, CLOCK_STEPS, FUSION_NETWORKS, ON_CHIP_BYTES, FusionScene
from ..scenes.fusion_picture import KERNEL_COLORS
from .driver import Driver
from .explorer import ROOF_LINES, Explorer, follow_limits, roof_axes
from .look import (
    FAINT,
    INK,
    STYLE,
    figure,
    heading,
    label_side,
    lines,
    slider_head,
    step_slider,
    text_widget,
)
from .menus import device_option, device_options
from .names import Names

#: Of a slider: room for half a handle.
_WIDE = "calc(100% - 16px)"

_MENUS = {"network": "175px", "device": "230px", "precision": "75px", "rules": "120px"}
_SLIDERS = {"depth": "fusion depth", "bandwidth": "bandwidth", "on_chip": "on-chip memory"}
_BUTTONS = {
    ".widget-play button:nth-of-type(1)": {"aria-label": "run, or pause the run"},
    ".widget-play button:nth-of-type(2)": {"aria-label": "stop the run"},
}
_SPOKEN = {
    "depth": "fusion depth, the most operators in one kernel",
    "bandwidth": "memory bandwidth",
    "on_chip": "on-chip memory",
    "clock": "clock of the run",
}

_STYLE = """<style>
.rl-fusion .rl-title { font-size: 17px; font-weight: 600; }
.rl-fusion svg.rl-where, .rl-fusion svg.rl-bars { display: block; width: 100%; height: auto;
  font-family: inherit; color: var(--rl-ink); }
.rl-fusion .widget-label { flex: none; }
.rl-fusion .rl-value .widget-html-content { font-size: 16px; }
.rl-fusion .rl-value, .rl-fusion .rl-value .widget-html-content { white-space: nowrap; flex: none; }
.rl-fusion .rl-key-read { color: #d55e00; }
.rl-fusion .rl-key-write { color: #0072b2; }
.rl-fusion .rl-title-box .widget-html-content { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.rl-fusion .rl-lanes { display: inline-block; width: 30px; height: 14px; vertical-align: -2px; margin-right: 5px; }
.rl-fusion .rl-small .widget-html-content { font-size: 14px; white-space: normal; line-height: 1.35; }
.rl-fusion .rl-sentence small { font-size: 15px; }
.rl-fusion .widget-play button { width: 44px; }
@media (prefers-reduced-motion: reduce) { .rl-fusion .rl-pulse { visibility: hidden; } }
</style>"""


class FusionExplorer(Explorer):
    """The operators of a small graph under a fusion-depth slider: kernels, DRAM traffic, roofline, time.

    Parameters
    ----------
    network : str or Graph
        A name of the network menu, or a graph of your own with at most 16 operators (then the only choice).
    device : str or Device
        A catalogue id, or a device of your own (added to the menu).
    precision : str
    rules : str
        A rule set, e.g. "epilogue" or "depth-first".
    depth : int
        The most operators in one kernel. 1 is unfused.

    Attributes
    ----------
    scene : FusionScene
        What is shown, without a widget; always in step with the controls.
    controls : dict of str to Widget
        network, device, precision, rules, depth, bandwidth, on_chip, clock.
    play : Play
        Runs the clock in the browser.

    Notes
    -----
    Sliders and the run never wait for the kernel: `fusion.js` draws in the browser. Only a menu asks the kernel.

    Examples
    --------
    >>> FusionExplorer("fork", rules="elementwise").scene.most_depth
    3
    """

    def __init__(
        self,
        network: str | Graph = "MobileNetV2 block",
        device: str | Device = "raspberry-pi-5",
        precision: str | None = None,
        rules: str = "epilogue",
        depth: int = 1,
    ) -> None:
        self.scene = FusionScene(network, device, precision, rules, depth)
        self.controls = self._make_controls()
        tables, marks = self.scene.tables, self.scene.marks
        self.scales, self.axes = roof_axes(tables)
        self.marks = _figure_marks(marks, self.scales)
        self.marks["label_bandwidth"].align = label_side(tables)
        self.texts = {name: text_widget(traits["value"]) for name, traits in marks.items() if "value" in traits}
        self.driver = Driver(
            "fusion",
            tables,
            controls={name: self.controls[name] for name in _SPOKEN},
            marks=self.marks | self.texts,
            labels=_SPOKEN,
        )
        super().__init__(self._layout())
        self.add_class("rl-explorer")
        self.add_class("rl-fusion")
        self._listen(_MENUS, _SPOKEN)

    def reset(self, *_: Any) -> None:
        """Everything back to how the explorer was made, and the run stopped."""
        self.play.playing = False
        super().reset()

    def close(self) -> None:
        """Take the explorer off the page, the clock's link and the driver with it."""
        if self.driver is not None:
            self._link.close()
        super().close()

    # -- making ------------------------------------------------------------------------------------------------------

    def _make_controls(self) -> dict[str, Any]:
        scene = self.scene
        network, dev = scene.network, scene.device
        own = isinstance(network, Graph)
        networks: list[Any] = [(network.name, network)] if isinstance(network, Graph) else list(FUSION_NETWORKS)
        menu = device_options(dev)
        controls = {
            "network": W.Dropdown(options=networks, value=network, disabled=own),
            "device": W.Dropdown(options=menu, value=device_option(menu, dev)),
            "precision": W.Dropdown(options=dev.precisions(), value=scene.precision),
            "rules": W.Dropdown(options=list(RULE_SETS), value=scene.rules),
            "depth": step_slider(scene.depth, 1, scene.most_depth, _WIDE),
            "bandwidth": step_slider(scene.bandwidth_step, 0, len(BANDWIDTH_FACTORS) - 1, _WIDE),
            "on_chip": step_slider(scene.on_chip_step, 0, len(ON_CHIP_BYTES) - 1, _WIDE),
            "clock": step_slider(0, 0, CLOCK_STEPS, _WIDE),
        }
        for name, width in _MENUS.items():
            controls[name].layout.width = width
        for name in _SPOKEN:
            controls[name].add_class(f"rl-control-{name}")
        return controls

    def _layout(self) -> list[W.Widget]:
        t = self.texts
        for name in ("removed", "on_chip_note", "energy", "formula", "off_plot", "rules_text"):
            t[name].add_class("rl-small")
        t["sentence"].add_class("rl-sentence")
        self.ledger = W.Accordion([t["ledger"]], titles=[_ledger_title(self.scene.device)])
        left = W.VBox(
            [heading("Where the data goes"), t["picture"], t["removed"], heading("Time"), t["bars"], _lanes()],
            layout=W.Layout(flex="6 1 460px", min_width="min(440px, 100%)", margin="0 12px 0 0"),
        )
        right = W.VBox(
            [heading("Roofline"), self._make_figure(), t["off_plot"]],
            layout=W.Layout(flex="5 1 400px", min_width="min(400px, 100%)"),
        )
        return [
            W.HTML(STYLE + _STYLE),
            self._menus(),
            self._sliders(),
            W.HBox([left, right], layout=W.Layout(flex_flow="row wrap")),
            t["sentence"],
            self._run(),
            t["rules_text"],
            t["on_chip_note"],
            t["energy"],
            t["formula"],
            self.ledger,
            self.driver,
            Names({name if name != "rules" else "rule set": self.controls[name] for name in _MENUS}, _BUTTONS),
        ]

    def _menus(self) -> W.HBox:
        names = {"network": "network", "device": "device", "precision": "precision", "rules": "rule set"}
        menus = [
            W.HBox([W.Label(label), self.controls[name]], layout=W.Layout(margin="0 12px 0 0"))
            for name, label in names.items()
        ]
        return W.HBox(menus, layout=W.Layout(flex_flow="row wrap"))

    def _sliders(self) -> W.HBox:
        self.reset_button = W.Button(description="↺ reset", tooltip="back to the start", layout=W.Layout(width="80px"))
        self.texts["title"].add_class("rl-title-box")
        title = W.Box([self.texts["title"]], layout=W.Layout(flex="1 1 180px", margin="0 10px 0 0"))
        sliders = []
        for name, label in _SLIDERS.items():
            value = self.texts[f"{name}_text"]
            value.add_class("rl-value")
            head = slider_head(label, value)
            sliders.append(W.VBox([head, self.controls[name]], layout=W.Layout(flex="1 1 202px", margin="0 14px 0 0")))
        row = W.Layout(flex_flow="row wrap", align_items="flex-end")
        return W.HBox([title, *sliders, self.reset_button], layout=row)

    def _make_figure(self) -> W.Box:
        margin = {"top": 16, "bottom": 52, "left": 78, "right": 24}
        self.figure = figure(self.marks.values(), self.axes, margin, height="430px", min_width="320px")
        return W.Box([self.figure])

    def _run(self) -> W.HBox:
        """The run: Play moves the clock in the browser, and a hand may move it too."""
        self.play = W.Play(
            min=0,
            max=CLOCK_STEPS,
            interval=round(1000 * CLOCK_SECONDS / CLOCK_STEPS),
            show_repeat=False,
            layout=W.Layout(margin="0 12px 0 8px"),
        )
        self._link = W.jslink((self.play, "value"), (self.controls["clock"], "value"))
        slider = W.Box([self.controls["clock"]], layout=W.Layout(flex="1 1 200px", max_width="420px"))
        return W.HBox(
            [W.HTML("<b>Run it</b>"), self.play, slider, self.texts["clock_text"]],
            layout=W.Layout(flex_flow="row wrap", align_items="center", margin="6px 0"),
        )

    # -- following ---------------------------------------------------------------------------------------------------

    def _slide(self, change: Any) -> None:
        """A slider moved: the browser has drawn it already, only the scene has to know."""
        if self._following:
            return
        scene, c = self.scene, self.controls
        scene.depth, scene.bandwidth_step = c["depth"].value, c["bandwidth"].value
        scene.on_chip_step, scene.tick = c["on_chip"].value, c["clock"].value

    def _follow(self) -> None:
        """Bring menus, sliders, axes and tables to what the scene says. The driver does the rest."""
        scene, c = self.scene, self.controls
        tables = scene.tables
        self._following = True  # the controls' own observers must not answer
        try:
            c["network"].value, c["rules"].value = scene.network, scene.rules
            self._follow_device()
            # the driver looks a depth up in the tables: there must be a row for it before and after each step here
            c["depth"].value = min(c["depth"].value, scene.most_depth, len(self.driver.tables["index"]))
            self.driver.tables = tables
            c["depth"].max = scene.most_depth
            c["depth"].value, c["bandwidth"].value = scene.depth, scene.bandwidth_step
            c["on_chip"].value, c["clock"].value = scene.on_chip_step, scene.tick
            self.play.value = scene.tick
        finally:
            self._following = False
        follow_limits(self.axes, self.scales.values(), tables)
        self.ledger.titles = [_ledger_title(scene.device)]
        self.marks["label_bandwidth"].align = label_side(tables)


def _ledger_title(dev: Device) -> str:
    return f"{dev.memory_kind} bytes of each tensor"


def _lanes() -> W.HTML:
    """What the parts of a time bar are."""

    def lanes(parts: str) -> str:
        return f'<svg class="rl-lanes" viewBox="0 0 30 14" aria-hidden="true">{parts}</svg>'

    color = KERNEL_COLORS[0]
    frame = f'<rect x=".5" y=".5" width="29" height="13" fill="none" stroke="{color}"/>'
    launch = '<rect width="8" height="14" fill="currentColor" fill-opacity="0.6"/>'
    above = f'<rect width="30" height="7" fill="{color}" fill-opacity="0.6"/>'
    below = f'<rect y="7" width="30" height="7" fill="{color}" fill-opacity="0.25"/>'
    return W.HTML(
        f'<div class="rl-legend"><span>{lanes(launch + frame)}launch</span>'
        f"<span>{lanes(above + frame)}above: memory</span><span>{lanes(below + frame)}below: arithmetic</span>"
        "<span>the longer counts</span></div>"
    )


def _figure_marks(marks: dict[str, dict[str, Any]], scales: dict[str, Any]) -> dict[str, Any]:
    """bqplot marks under the scene's names, in the order in which they are painted."""
    made = lines(marks, scales, ROOF_LINES | {"trail": ("dashed", 2, INK)})
    dots: dict[str, dict[str, Any]] = {
        "glow": {"marker": "circle", "default_size": 900, "fill": False, "stroke": INK, "stroke_width": 3},
        "kernels": {"marker": "circle", "default_size": 260, "stroke": "var(--jp-layout-color0, #fff)"},
        "before": {"marker": "diamond", "default_size": 150, "fill": False, "colors": [FAINT], "stroke_width": 2.5},
        "now": {"marker": "diamond", "default_size": 150, "colors": [INK]},
    }
    for name, look in dots.items():
        made[name] = bqplot.Scatter(**marks[name], scales=scales, display_names=False, **look)
    labels = {
        "label_peak": ("end", 0, 0, 15), "label_bandwidth": ("end", 0, 0, 15), "label_ridge": ("start", 8, 0, 15),
        "label_on_chip": ("middle", 0, 0, 15),
        "names": ("start", 11, 19, 16), "label_before": ("end", -14, 4, 15),
    }  # fmt: skip
    for name, (align, right, down, size) in labels.items():
        made[name] = bqplot.Label(
            **marks[name],
            scales=scales,
            align=align,
            x_offset=right,  # pixels
            y_offset=down,
            default_size=size,
            font_weight="bold" if name == "names" else "normal",
            colors=[INK],
        )
    return made
