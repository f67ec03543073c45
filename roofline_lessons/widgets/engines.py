"""`EngineExplorer`: one block, three real engines side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ipywidgets as W

from ..measure import Machine
from ..scenes.engines import TITLES, EngineScene
from .look import STYLE, text_widget

_ENGINES_STYLE = """<style>
.rl-engines .rl-stage { overflow-x: auto; }
.rl-engines svg.rl-engines-picture text { fill: var(--rl-ink); font-size: 14px; }
.rl-engines svg.rl-engines-picture .rl-head { text-anchor: middle; }
.rl-engines svg.rl-engines-picture .rl-row { text-anchor: end; font-weight: 600; }
.rl-engines .rl-table td { white-space: nowrap; }
.rl-engines .rl-table td:nth-child(4) { white-space: normal; min-width: 150px; }
.rl-engines .rl-table th { vertical-align: bottom; }
.rl-engines .rl-title .widget-html-content { white-space: normal; }
.rl-engines .rl-wrap .widget-html-content { font-size: 14px; color: var(--rl-faint); }
</style>"""


class EngineExplorer(W.VBox):
    """What TensorFlow Lite, Core ML and ONNX Runtime make of a block: kernels, rules, times, and what was predicted.

    The engines run when a block is chosen: a second or two. What is not installed is shown as it was recorded.

    Parameters
    ----------
    block : str
        One of `engines.BLOCKS`.
    machine : measure.Machine, optional
        For the predicted savings.
    blocks : sequence of str, optional
        Which blocks the menu offers; all of them when not given.

    Attributes
    ----------
    scene : EngineScene
        What is shown, without a widget.
    controls : dict of str to Widget
        block.
    """

    def __init__(
        self, block: str = "conv_bn_relu", machine: Machine | None = None, blocks: Sequence[str] = tuple(TITLES)
    ) -> None:
        self.scene = EngineScene(block, machine)
        self._start = block
        self.texts = {name: text_widget("", f"rl-{name}") for name in self.scene.texts}
        self.texts["picture"].add_class("rl-stage")
        self.texts["source"].add_class("rl-wrap")
        menu = [(TITLES[name], name) for name in dict.fromkeys((block, *blocks))]
        self.controls = {"block": W.Dropdown(options=menu, value=block, description="block", layout={"width": "380px"})}
        self.again_button = W.Button(description="measure again", tooltip="run the engines once more")
        self.reset_button = W.Button(description="↺ reset", tooltip="back to the first block")
        top = W.HBox([self.controls["block"], self.again_button, self.reset_button])
        shown = [self.texts[name] for name in ("title", "picture", "sentence", "table", "source")]
        super().__init__([W.HTML(STYLE + _ENGINES_STYLE), top, *shown])
        self.add_class("rl-explorer")
        self.add_class("rl-engines")
        self.controls["block"].observe(self._choose, "value")
        self.again_button.on_click(self._again)
        self.reset_button.on_click(self.reset)
        self.show()

    def reset(self, *_: Any) -> None:
        """The block that it began with."""
        self.controls["block"].value = self._start

    def show(self) -> None:
        """Copy the scene's texts into the widgets."""
        for name, value in self.scene.texts.items():
            self.texts[name].value = value

    def _choose(self, change: Any) -> None:
        self.texts["sentence"].value = "The engines are running …"
        self.scene.block = change["new"]
        self.show()

    def _again(self, *_: Any) -> None:
        self.texts["sentence"].value = "The engines are running …"
        self.scene.measure_again()
        self.show()
