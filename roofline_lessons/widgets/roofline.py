"""`RooflineExplorer`: sliders for bandwidth and peak under which the kernels of a network move along the roofs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bqplot
import ipywidgets as W

from ..device import Device
from ..fusion.plan import Plan
from ..graph import Graph
from ..measure import Point
from ..scenes.controls import BANDWIDTH_FACTORS, PEAK_FACTORS
from ..scenes.roofline import BATCHES, NETWORKS, RooflineScene
from ..scenes.roofline_marks import BOUND_COLORS, FAMILY_MARKERS, line_names
from .driver import Driver
from .explorer import ROOF_LINES, Explorer, follow_limits, roof_axes
from .look import (
    INK,
    STYLE,
    bytes_heading,
    figure,
    heading,
    label_side,
    line_svg,
    lines,
    marker_svg,
    slider_head,
    step_slider,
    text_widget,
)
from .measured import circles_and_bars, what_was_measured
from .menus import device_option, device_options
from .names import Names

_READOUTS = {
    "time": "Time of one run",
    "bytes": "",  # says what memory it is
    "work": "Work",
    "intensity": "Arithmetic intensity",
    "energy": "Energy",
    "bar": "What the time is spent on",
}


class RooflineExplorer(Explorer):
    """The roofline of a network on a device, with sliders.

    Parameters
    ----------
    network : str, Graph or Plan
        A name of the network menu, or a graph of your own or a plan (which then is the only choice).
    device : str or Device
        A catalogue id, or a device of your own (added to the menu).
    precision : str
    batch : int
    measured : sequence of Point
        What was measured, e.g. ``rl.measure.chain(8, 1 << 20).run.point``: hollow circles with spread bars.

    Attributes
    ----------
    scene : RooflineScene
        What is shown, without a widget; always in step with the controls.
    controls : dict of str to Widget
        network, device, precision, batch, bandwidth, peak.

    Notes
    -----
    The sliders never wait for the kernel: `driver.js` moves the marks in the browser. Only a menu asks the kernel.

    Examples
    --------
    >>> RooflineExplorer("MobileNetV2", device="jetson-orin-nano").scene.precision
    'fp32'
    """

    def __init__(
        self,
        network: str | Graph | Plan = "MobileNetV2",
        device: str | Device = "raspberry-pi-5",
        precision: str | None = None,
        batch: int = 1,
        measured: Sequence[Point] = (),
    ) -> None:
        self.scene = RooflineScene(network, device, precision, batch, measured)
        self.controls = self._make_controls()
        tables, marks = self.scene.tables, self.scene.marks
        self.scales, self.axes = roof_axes(tables)
        self.marks = _figure_marks(marks, self.scales)
        self.texts = {name: text_widget(traits["value"]) for name, traits in marks.items() if "value" in traits}
        self.driver = Driver(
            "roofline",
            tables,
            controls={name: self.controls[name] for name in ("bandwidth", "peak")},
            marks=self.marks | self.texts,
            labels={"bandwidth": "memory bandwidth", "peak": "peak arithmetic rate"},
        )
        self.measured = circles_and_bars(self.scene, self.scales)
        super().__init__(self._layout())
        self.add_class("rl-explorer")
        self._listen(("network", "device", "precision", "batch"), ("bandwidth", "peak"))

    def look_at(self, network: Graph | Plan, precision: str) -> None:
        """Show another network or plan of your own, at a precision. Sliders and device stay as they are."""
        self.scene.look_at(network, precision)
        self._following = True  # the menu's own observer must not answer
        try:
            self.controls["network"].options = [(self.scene.title, network)]
        finally:
            self._following = False
        self.controls["network"].disabled = self.controls["batch"].disabled = True
        self._follow()

    # -- making ------------------------------------------------------------------------------------------------------

    def _make_controls(self) -> dict[str, Any]:
        scene = self.scene
        network, dev = scene.network, scene.device
        own = not isinstance(network, str)
        networks: list[Any] = [(scene.title, network)] if own else list(NETWORKS)
        menu = device_options(dev)
        controls = {
            "network": W.Dropdown(options=networks, value=network, disabled=own),
            "device": W.Dropdown(options=menu, value=device_option(menu, dev)),
            "precision": W.Dropdown(options=dev.precisions(), value=scene.precision),
            "batch": W.Dropdown(options=[1] if own else sorted({*BATCHES, scene.batch}), value=scene.batch),
            "bandwidth": step_slider(scene.bandwidth_step, 0, len(BANDWIDTH_FACTORS) - 1),
            "peak": step_slider(scene.peak_step, 0, len(PEAK_FACTORS) - 1),
        }
        controls["batch"].disabled = own
        for name, width in (("network", "150px"), ("device", "300px"), ("precision", "90px"), ("batch", "70px")):
            controls[name].layout.width = width
        for name in ("bandwidth", "peak"):
            controls[name].add_class(f"rl-control-{name}")
        return controls

    def _layout(self) -> list[W.Widget]:
        c, t = self.controls, self.texts
        self.reset_button = W.Button(description="↺ reset", tooltip="back to the start", layout=W.Layout(width="90px"))
        menus = [
            W.HBox([W.Label(name), c[name]], layout=W.Layout(margin="0 18px 0 0"))
            for name in ("network", "device", "precision", "batch")
        ]
        sliders = [
            W.VBox(
                [
                    slider_head(label, t[f"{name}_text"]),
                    c[name],
                ],
                layout=W.Layout(width="330px", margin="0 36px 0 0"),
            )
            for name, label in (("bandwidth", "bandwidth"), ("peak", "peak"))
        ]
        for name in ("bandwidth_text", "peak_text", *_READOUTS):
            t[name].add_class("rl-value" if name != "bar" else "rl-wrap")
        for name in ("formula", "off_plot"):
            t[name].add_class("rl-wrap")
        margin = {"top": 16, "bottom": 56, "left": 84, "right": 24}
        self.figure = figure(
            [*self.marks.values(), *self.measured], self.axes, margin, height="470px", min_width="480px"
        )
        t["sentence"].add_class("rl-sentence")
        headings = {name: heading(label) for name, label in _READOUTS.items()}
        self.moved = headings["bytes"]
        self.moved.value = bytes_heading(self.scene.device.memory_kind)
        readouts = [w for name in _READOUTS for w in (headings[name], t[name])]
        side = W.VBox(readouts, layout=W.Layout(flex="1 1 300px", max_width="380px", padding="0 0 0 12px"))
        self.lines = W.HTML()
        self._name_lines(self.scene.tables)
        more = W.Accordion([t["table"]], titles=["The slowest kernels as a table"])
        return [
            W.HTML(STYLE),
            W.HBox(menus, layout=W.Layout(flex_flow="row wrap")),
            W.HBox([*sliders, self.reset_button], layout=W.Layout(flex_flow="row wrap", align_items="flex-end")),
            W.HBox(
                # the readouts go below the picture where the page is narrow
                [W.Box([self.figure], layout=W.Layout(flex="3 1 480px", min_width="480px")), side],
                layout=W.Layout(flex_flow="row wrap"),
            ),
            _legend(),
            self.lines,
            *what_was_measured(self.scene),
            t["sentence"],
            t["formula"],
            t["off_plot"],
            more,
            self.driver,
            Names({name: c[name] for name in ("network", "device", "precision", "batch")}),
        ]

    # -- following ---------------------------------------------------------------------------------------------------

    def _slide(self, change: Any) -> None:
        """A slider moved: the browser has drawn it already, only the scene has to know."""
        self.scene.bandwidth_step = self.controls["bandwidth"].value
        self.scene.peak_step = self.controls["peak"].value

    def _follow(self) -> None:
        """Bring menus, sliders, axes and tables to what the scene says. The driver does the rest."""
        scene, c = self.scene, self.controls
        self._following = True  # the menus' own observers must not answer
        try:
            c["network"].value = scene.network
            c["batch"].value = scene.batch
            self._follow_device()
            c["bandwidth"].value, c["peak"].value = scene.bandwidth_step, scene.peak_step
        finally:
            self._following = False
        tables = scene.tables
        follow_limits(self.axes, self.scales.values(), tables)
        self.moved.value = bytes_heading(scene.device.memory_kind)
        self._name_lines(tables)

    def _name_lines(self, tables: dict[str, Any]) -> None:
        """What the lines without a label are, and on which side of the slanted roof its label stands."""
        self.lines.value = _lines(tables)
        self.marks["label_bandwidth"].align = label_side(tables)
        self.driver.tables = tables


def _legend() -> W.HTML:
    """What shape, colour and size of a point say."""
    shapes = "".join(f"<span>{marker_svg(m)} {name}</span>" for name, m in FAMILY_MARKERS.items())
    colors = "".join(f"<span>{marker_svg('square', c)} {name}</span>" for name, c in BOUND_COLORS.items())
    return W.HTML(
        f'<div class="rl-legend"><b>shape</b>{shapes}</div><div class="rl-legend"><b>limited by</b>{colors}'
        f"<span>{marker_svg('diamond', '#cc79a7')} whole network</span>"
        "<span><b>size</b> share of the time</span></div>"
    )


def _lines(tables: dict[str, Any]) -> str:
    """What the dashed and dash-dotted lines are, "" where there are none."""
    dashes = {"vector_peak": "8 6"}
    named = [f"<span>{line_svg(dashes.get(mark, '9 4 2 4'))} {name}</span>" for mark, name in line_names(tables)]
    return f'<div class="rl-legend"><b>lines</b>{"".join(named)}</div>' if named else ""


def _figure_marks(marks: dict[str, dict[str, Any]], scales: dict[str, Any]) -> dict[str, Any]:
    """bqplot marks under the scene's names, in the order in which they are painted."""
    made = lines(marks, scales, ROOF_LINES)
    sized = scales | {"size": bqplot.LinearScale(min=0, max=1)}
    for name, marker in FAMILY_MARKERS.items():
        made[f"points {name}"] = bqplot.Scatter(
            **marks[f"points {name}"],
            scales=sized,
            marker=marker,
            default_size=420,
            opacities=[0.55],
            stroke_width=0,
            display_names=False,
            names_unique=False,  # names hold times: taken for identities, every move would make all points anew
            tooltip=bqplot.Tooltip(fields=["name"], show_labels=False),
        )
    made["total"] = bqplot.Scatter(
        **marks["total"],
        scales=scales,
        marker="diamond",
        default_size=260,
        colors=["#cc79a7"],
        stroke=INK,
        stroke_width=2,
        display_names=False,
        names_unique=False,
        tooltip=bqplot.Tooltip(fields=["name"], show_labels=False),
    )
    for name, align, beside in (("label_peak", "end", 0), ("label_bandwidth", "end", 0), ("label_ridge", "start", 8)):
        made[name] = bqplot.Label(
            **marks[name],
            scales=scales,
            align=align,
            x_offset=beside,  # pixels between the ridge's line and its label
            default_size=15,
            font_weight="normal",
            colors=[INK],
        )
    return made
