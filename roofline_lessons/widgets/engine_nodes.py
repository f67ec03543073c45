"""`NodeExplorer`: a block in ONNX Runtime node by node, on the roofline of a machine."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from typing import Any

import ipywidgets as W

from ..engines.recorded_engines import PROFILED
from ..measure import Machine
from ..plots.engines import nodes
from ..scenes.engine_nodes import LEVELS, NodesScene
from ..scenes.engines import TITLES
from .look import STYLE, text_widget

#: Blocks with something to see.
BLOCKS = ("inverted_residual", "conv_bn_relu", "residual", "separable", "gelu", "add_layer_norm")

#: Levels that are compared, in the order of the menu.
COMPARED = (("off", "all but layout"), ("all but layout", "all"), ("off", "all but layout", "all"))

_NODES_STYLE = """<style>
.rl-nodes .rl-stage img { max-width: 100%; }
.rl-nodes .rl-table td { white-space: nowrap; }
.rl-nodes .rl-table th { vertical-align: bottom; }
.rl-nodes .rl-wrap .widget-html-content { font-size: 14px; color: var(--rl-faint); }
</style>"""


class NodeExplorer(W.VBox):
    """ONNX Runtime's kernels as measured points on a roofline, the model's beside them, and where the time goes.

    The engine runs when a block is chosen: a second or two. Where it is not installed, recorded nodes are shown.

    Parameters
    ----------
    block : str
        One of `engines.BLOCKS`.
    machine : measure.Machine, optional
        Whose roofs; this machine's when not given.
    levels : sequence of str
        Which levels of ONNX Runtime are compared, one of `COMPARED`.

    Attributes
    ----------
    scene : NodesScene
        What is shown, without a widget.
    controls : dict of str to Widget
        block, levels.
    """

    def __init__(
        self,
        block: str = "inverted_residual",
        machine: Machine | None = None,
        levels: Sequence[str] = COMPARED[0],
    ) -> None:
        self.scene = NodesScene(block, machine)
        self._start = {"block": block, "levels": tuple(levels)}
        is_recorded = any(profile.recorded for profile in self.scene.profiles.values())
        blocks = dict.fromkeys((block, *(PROFILED if is_recorded else BLOCKS)))
        compared = [(" | ".join(LEVELS[level] for level in choice), choice) for choice in COMPARED]
        self.controls = {
            "block": W.Dropdown(options=[(TITLES[b], b) for b in blocks], value=block, description="block"),
            "levels": W.Dropdown(options=compared, value=tuple(levels), description="compare"),
        }
        for control in self.controls.values():
            control.layout.width = "310px"
        self.texts = {name: text_widget("", f"rl-{name}") for name in ("picture", "sentence", "table", "source")}
        self.texts["picture"].add_class("rl-stage")
        self.texts["source"].add_class("rl-wrap")
        self.again_button = W.Button(description="measure again", tooltip="run the engine once more")
        self.reset_button = W.Button(description="↺ reset", tooltip="back to what was shown first")
        top = W.HBox(
            [*self.controls.values(), self.again_button, self.reset_button], layout=W.Layout(flex_flow="row wrap")
        )
        super().__init__([W.HTML(STYLE + _NODES_STYLE), top, *self.texts.values()])
        self.add_class("rl-explorer")
        self.add_class("rl-nodes")
        self.controls["block"].observe(self._choose, "value")
        self.controls["levels"].observe(self.show, "value")
        self.again_button.on_click(self._again)
        self.reset_button.on_click(self.reset)
        self.show()

    def reset(self, *_: Any) -> None:
        """The block and the levels that it began with."""
        for name, value in self._start.items():
            self.controls[name].value = value

    def show(self, *_: Any) -> None:
        """Draw the scene, and say it."""
        levels = self.controls["levels"].value
        said = " ".join(self.scene.sentences(levels))
        data = base64.b64encode(nodes(self.scene, levels)._repr_png_()).decode()
        self.texts["picture"].value = f'<img src="data:image/png;base64,{data}" alt="{html.escape(said)}">'
        self.texts["sentence"].value = html.escape(said)
        self.texts["table"].value = self.scene.table(levels)
        self.texts["source"].value = html.escape(self.scene.source)

    def _choose(self, change: Any) -> None:
        self._run(change["new"])

    def _again(self, *_: Any) -> None:
        self._run(self.scene.name, again=True)

    def _run(self, block: str, again: bool = False) -> None:
        self.texts["sentence"].value = "The engine is running …"
        self.scene.choose(block, again)
        self.show()
