"""`FuseByHand`: an operator graph in which a person merges and splits kernels, and is told why not."""

from __future__ import annotations

from typing import Any

import ipywidgets as W

from ..device import Device
from ..fusion import RULE_SETS
from ..graph import Graph
from ..scenes.by_hand import ByHandScene
from ..scenes.by_hand_graph import Edge
from ..scenes.by_hand_picture import WIDTH
from .look import STYLE, bytes_heading, heading, text_widget, unique
from .menus import device_option, device_options
from .names import Names

_BY_HAND = "by hand"
_WORDS = {"rules": "show rule set", "device": "device", "precision": "precision"}
_READOUTS = {"time": "Time of one run", "bytes": "", "speed_up": "Times as fast", "limit": "Limited by"}

_BY_HAND_STYLE = """<style>
.rl-by-hand .rl-stage { position: relative; display: block; overflow-x: auto; overflow-y: hidden; }
.rl-by-hand .rl-stage > .widget-html { margin: 0; contain: none; }
.rl-by-hand .rl-stage svg { display: block; }
.rl-by-hand .rl-stage text { fill: var(--rl-ink); text-anchor: middle; }
.rl-by-hand .rl-kind { font-size: 15px; font-weight: 600; }
.rl-by-hand .rl-name { font-size: 13px; }
.rl-by-hand .rl-letter { font-size: 16px; font-weight: 700; }
.rl-by-hand .rl-op { fill: var(--jp-layout-color0, #fff); stroke: var(--rl-ink); stroke-width: 1.5; }
.rl-by-hand .rl-folded { stroke-dasharray: 5 4; }
.rl-by-hand .rl-dram { fill: #d55e00; fill-opacity: 0.14; stroke: #d55e00; stroke-width: 1.5; }
.rl-by-hand .rl-stage .rl-dram-word { font-size: 14px; font-weight: 700; text-anchor: start; }
.rl-by-hand .rl-bytes { font-size: 14px; font-weight: 600; }
.rl-by-hand .rl-stage .rl-far { font-size: 14px; font-weight: 600; text-anchor: start; }
.rl-by-hand .rl-travels, .rl-by-hand .rl-trip, .rl-by-hand .rl-outer { fill: none; stroke: #d55e00; stroke-width: 3.5; }
.rl-by-hand .rl-stays { fill: none; stroke: #009e73; stroke-width: 3.5; stroke-dasharray: 7 4; }
.rl-by-hand .rl-stage button.rl-edge { position: absolute; width: 32px; height: 32px; margin: 0; padding: 0;
  border-radius: 50%; line-height: 28px; font-size: 19px; font-weight: 700; border: 2.5px solid #d55e00;
  background: var(--jp-layout-color0, #fff); color: var(--rl-ink); overflow: visible; }
.rl-by-hand .rl-stage button.rl-joined { border-color: #009e73; border-style: dashed; font-size: 16px; }
.rl-by-hand .rl-stage button.rl-edge:hover { box-shadow: 0 0 0 4px rgba(0, 114, 178, 0.35); }
.rl-by-hand .rl-stage button.rl-edge:focus-visible, .rl-by-hand .rl-stage button.rl-edge:focus
  { outline: 3px solid #0072b2; outline-offset: 2px; }
.rl-by-hand .rl-done, .rl-by-hand .rl-refused { border-radius: 8px; padding: 10px 16px; font-size: 18px;
  line-height: 1.4; background: var(--rl-soft); border-left: 6px solid #009e73; }
.rl-by-hand .rl-refused { border-left-color: #d55e00; font-weight: 600; }
.rl-by-hand .rl-time { display: flex; align-items: center; gap: 10px; font-size: 15px; }
.rl-by-hand .rl-time > span:first-child { width: 66px; }
.rl-by-hand .rl-time > span:last-child { width: 80px; font-weight: 600; text-align: right; }
.rl-by-hand .rl-time .rl-bar { flex: 1; margin: 2px 0; height: 24px; }
.rl-by-hand .rl-time .rl-bar span { line-height: 24px; box-sizing: border-box; border-right: 1.5px solid #fff;
  font-size: 14px; color: #fff; text-shadow: 0 0 3px #000; }
.rl-by-hand .rl-challenge .widget-html-content { font-size: 17px; font-weight: 600; }
</style>"""


class FuseByHand(W.VBox):
    """Fuse it yourself: merge and split the kernels of a graph with the buttons on its edges, and see what it brings.

    Parameters
    ----------
    network : str or Graph
        "MobileNetV2 block", "residual block", "fork", "WDWD", "elementwise chain", "attention", "VGG-19 start", or a
        graph of your own with at most 32 operators.
    device : str or Device
        A catalogue id or a device of your own.
    precision : str

    Attributes
    ----------
    scene : ByHandScene
        What is shown, without a widget: `scene.merge(a, b)` and so on; call `show()` afterwards.
    controls : dict of str to Widget
        rules, device, precision.
    buttons : dict of Edge to Button
        One on each edge.

    Notes
    -----
    Each click asks the kernel: whether a merge is legal is a matter of the whole graph.

    Examples
    --------
    >>> widget = FuseByHand("fork")
    >>> [button.tooltip for button in widget.buttons.values()]
    ['merge relu_0 and double', 'merge relu_0 and plus_one']
    """

    def __init__(
        self,
        network: str | Graph = "MobileNetV2 block",
        device: str | Device = "raspberry-pi-5",
        precision: str | None = None,
    ) -> None:
        self.scene = ByHandScene(network, device, precision)
        self.scene.tip = unique("rl-tip")
        self._following = False
        self.texts = {name: text_widget(value) for name, value in self.scene.texts.items()}
        self.buttons = {edge: self._button(edge, i) for i, edge in enumerate(self.scene.edges)}
        self.controls = self._make_controls()
        self._names = Names({_WORDS[name]: control for name, control in self.controls.items()})
        self.undo_button = W.Button(description="↶ undo", tooltip="take the last change back")
        self.reset_button = W.Button(description="↺ reset", tooltip="back to the start")
        super().__init__(self._layout())
        self.add_class("rl-explorer")
        self.add_class("rl-by-hand")
        self._listen()
        self.show()

    def reset(self, *_: Any) -> None:
        """Unfused again, as it was made."""
        self.scene.reset()
        self.show()

    def undo(self, *_: Any) -> None:
        """Take the last change back."""
        self.scene.undo()
        self.show()

    # -- making ------------------------------------------------------------------------------------------------------

    def _button(self, edge: Edge, index: int) -> W.Button:
        button = W.Button()
        button.add_class("rl-edge")
        button.add_class(f"rl-edge-{index}")
        button.on_click(lambda _: self._toggle(edge))
        return button

    def _make_controls(self) -> dict[str, Any]:
        dev = self.scene.device
        menu = device_options(dev)
        return {
            "rules": W.Dropdown(options=[_BY_HAND, *RULE_SETS], value=_BY_HAND, layout=W.Layout(width="140px")),
            "device": W.Dropdown(options=menu, value=device_option(menu, dev), layout=W.Layout(width="280px")),
            "precision": W.Dropdown(
                options=dev.precisions(), value=self.scene.precision, layout=W.Layout(width="90px")
            ),
        }

    def _layout(self) -> list[W.Widget]:
        t, at = self.texts, self.scene.layout
        css = "".join(
            f".rl-by-hand .rl-stage button.rl-edge-{i}.rl-on-{self._id} {{ left: {x - 16:g}px; top: {y - 16:g}px; }}\n"
            for i, (x, y) in enumerate(at.buttons[edge] for edge in self.buttons)
        )
        for button in self.buttons.values():
            button.add_class(f"rl-on-{self._id}")
        stage = W.Box(
            [t["picture"], *self.buttons.values()],
            layout=W.Layout(height=f"{at.height:g}px", width="100%", max_width=f"{WIDTH}px", flex="0 0 auto"),
        )
        stage.add_class("rl-stage")
        for button in (self.undo_button, self.reset_button):
            button.layout.width = "90px"
        menus = [
            W.HBox([W.Label(_WORDS[name]), control], layout=W.Layout(margin="0 14px 0 0"))
            for name, control in self.controls.items()
        ]
        headings = {name: heading(label) for name, label in _READOUTS.items()}
        self.moved = headings["bytes"]
        self.moved.value = bytes_heading(self.scene.device.memory_kind)
        readouts = [W.VBox([headings[name], t[name]], layout=W.Layout(flex="1 1 200px")) for name in _READOUTS]
        for name in _READOUTS:
            t[name].add_class("rl-value")
        for name in ("bars", "saved", "status", "challenge", "sentence", "formula"):
            t[name].add_class("rl-wrap")
        t["challenge"].add_class("rl-challenge")
        return [
            W.HTML(STYLE + _BY_HAND_STYLE + f"<style>{css}</style>"),
            W.HBox([*menus, self.undo_button, self.reset_button], layout=W.Layout(flex_flow="row wrap")),
            stage,
            t["status"],
            W.HBox(readouts, layout=W.Layout(flex_flow="row wrap")),
            t["bars"],
            t["challenge"],
            heading("Tensors that travel less than unfused"),
            t["saved"],
            t["sentence"],
            t["formula"],
            W.Accordion([t["table"]], titles=["The kernels as a table"]),
            self._names,
        ]

    @property
    def _id(self) -> str:
        """Tells this widget's buttons from those of another one on the page."""
        return str(self.texts["picture"].model_id)

    def _listen(self) -> None:
        for control in self.controls.values():
            control.observe(self._choose, "value")
        self.undo_button.on_click(self.undo)
        self.reset_button.on_click(self.reset)

    # -- following ---------------------------------------------------------------------------------------------------

    def _toggle(self, edge: Edge) -> None:
        self.scene.toggle(edge)
        self.show()

    def _choose(self, change: Any) -> None:
        if self._following:
            return
        value = change["new"]
        if change["owner"] is self.controls["device"]:
            self.scene.move_to(value)
        elif change["owner"] is self.controls["precision"]:
            self.scene.move_to(self.scene.device, value)
        elif value != _BY_HAND:
            self.scene.follow(value)
        self.show()

    def show(self) -> None:
        """Bring everything on the page to what the scene says."""
        scene, c = self.scene, self.controls
        self._following = True  # the menus' own observers must not answer
        try:
            c["device"].value = device_option(c["device"].options, scene.device)
            if tuple(c["precision"].options) != tuple(scene.device.precisions()):
                c["precision"].options = scene.device.precisions()
            c["precision"].value = scene.precision
            c["rules"].value = scene.rules or _BY_HAND
        finally:
            self._following = False
        self.undo_button.disabled = not scene.can_undo
        self.moved.value = bytes_heading(scene.device.memory_kind)
        texts = scene.texts
        for name in texts:
            if name != "status":
                self.texts[name].value = texts[name]
        names = {}
        for i, (edge, button) in enumerate(self.buttons.items()):
            joined = scene.joined(edge)
            button.description = "✂" if joined else "+"
            button.tooltip = f"{'split' if joined else 'merge'} {edge.name}"
            (button.add_class if joined else button.remove_class)("rl-joined")
            names[f".rl-edge-{i}"] = {"aria-label": button.tooltip, "aria-pressed": "true" if joined else "false"}
        self._names.names = self._names.names | names
        self.texts["status"].value = texts["status"]  # last: when it is there, everything is
