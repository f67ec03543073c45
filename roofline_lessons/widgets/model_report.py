"""`ModelReport`: choose a model file, and see its roofline, its slowest kernels, and what would help."""

from __future__ import annotations

import tempfile
from pathlib import Path, PurePath
from typing import Any

import ipywidgets as W

from .. import networks
from ..device import Device
from ..fusion import RULE_SETS, Plan
from ..graph import Graph
from ..reports.scene import ReportScene
from .look import heading, text_widget
from .roofline import RooflineExplorer
from .upload import Upload

_STYLE = """<style>
.rl-report { color: var(--jp-content-font-color1, #1c1f26); max-width: 1240px; }
.rl-report .widget-html-content { font-size: 15px; line-height: 1.4; white-space: normal;
  color: var(--jp-content-font-color1, #1c1f26); }
.rl-report .widget-label, .rl-report select, .rl-report input { font-size: 14px; }
.rl-report .rl-heading { font-weight: 600; font-size: 16px; margin: 10px 0 0; }
.rl-report .rl-upload { display: flex; flex-wrap: wrap; gap: 4px 12px; align-items: center; font-size: 14px;
  max-width: 420px; }
.rl-report .rl-done, .rl-report .rl-refused { border-radius: 8px; padding: 8px 16px; font-size: 16px;
  background: var(--jp-layout-color2, #f4f5f9); border-left: 6px solid #009e73; overflow-wrap: anywhere; }
.rl-report .rl-refused { border-left-color: #d55e00; font-weight: 600; }
.rl-report .report-advice { font-size: 17px; margin: 8px 0; }
.rl-report .report-memory { margin: 4px 0; }
.rl-report .report-notes { margin: 4px 0; padding-left: 20px; }
.rl-report table.rl-table { border-collapse: collapse; font-size: 14px; width: 100%; }
.rl-report table.rl-table caption { text-align: left; color: var(--jp-content-font-color2, #5b6270); }
.rl-report table.rl-table td, .rl-report table.rl-table th { padding: 3px 12px 3px 0; text-align: left;
  vertical-align: top; border-bottom: 1px solid var(--jp-border-color2, #d9dce3); }
.rl-report table.rl-table tbody th { overflow-wrap: anywhere; min-width: 8em; }
.rl-report table.rl-table td:not(:last-child):not([colspan]) { white-space: nowrap; }
</style>"""

_PROMISE = (
    "The file goes to the Python kernel behind this page and nowhere else, and its weights are not even looked at. "
    "On your own machine nothing leaves the machine."
)


class ModelReport(W.VBox):
    """The report on a model of your own: choose a file or write its path.

    Parameters
    ----------
    model : Graph, Plan, str or Path, optional
        What is shown until a file is chosen: a graph, a plan, or the path of a model file.
    device : str or Device
        A catalogue id or a device of your own.
    precision : str, optional
        By default what the model's own tensors say.
    folder : str or Path
        Where reports are saved; by default beside the notebook.

    Attributes
    ----------
    scene : ReportScene
        What is shown, without a widget.
    explorer : RooflineExplorer
        The roofline of the model as it stands; its menus choose device and precision, for the report too.
    controls : dict of str to Widget
        path, rules, plan, device, precision.
    upload : Upload

    Examples
    --------
    >>> widget = ModelReport(networks.ds_cnn(), device="stm32f746", precision="int8")
    >>> widget.scene.report.best.bound
    'compute'
    """

    explorer: Any = None  # also where making one failed: ipywidgets closes what it collects
    upload: Any = None

    def __init__(
        self,
        model: Graph | Plan | str | Path | None = None,
        device: str | Device = "raspberry-pi-5",
        precision: str | None = None,
        folder: str | Path = ".",
    ) -> None:
        self.scene = ReportScene(networks.ds_cnn() if model is None else model, device, precision)
        self.folder = Path(folder)
        self._following = False
        self.explorer = RooflineExplorer(self.scene.plan, device=self.scene.device, precision=self.scene.precision)
        self.texts = {name: text_widget(value) for name, value in self.scene.texts.items()}
        self.upload = Upload(self._uploaded, "your model file", ".onnx,.tflite")
        self.controls = self._make_controls()
        self.again_button = W.Button(description="↻ read again", tooltip="read the file at this path once more")
        self.html_button = W.Button(description="save as HTML", tooltip="one page to read, print and send")
        self.csv_button = W.Button(description="save as CSV", tooltip="every kernel of every plan as a table")
        self.saved = text_widget("")
        super().__init__(self._layout())
        self.add_class("rl-report")
        self._listen()

    def read(self, path: str | Path) -> bool:
        """Read another model file. Whether it worked; where not, the status line says why and nothing is lost."""
        done = self.scene.read(Path(path))
        if done:
            self.explorer.look_at(self.scene.plan, self.scene.precision)
        self.show()
        return done

    def save(self, ending: str) -> Path | None:
        """Save the report in `folder`, as ".html" or ".csv". Its path, or None where that is not possible."""
        try:
            path = self.scene.report.save(self.folder / self.scene.file_name(ending))
        except OSError as error:
            self.saved.value = f"⚠ It cannot be saved: {error.strerror or error}."
            return None
        self.saved.value = f"✓ saved: {path.name}"
        return path

    def close(self) -> None:
        """Take it off the page, with the explorer and its driver."""
        for part in (self.explorer, self.upload):
            if part is not None:
                part.close()
        super().close()

    # -- making ------------------------------------------------------------------------------------------------------

    def _make_controls(self) -> dict[str, Any]:
        path = W.Text(
            placeholder="or its path on the machine of the kernel, then Enter",
            continuous_update=False,
            layout=W.Layout(width="350px"),
        )
        rules = W.Dropdown(options=list(RULE_SETS), value=self.scene.rules, layout=W.Layout(width="140px"))
        plan = W.Dropdown(options=list(self.scene.report.estimates), value=self.scene.shown)
        plan.layout.width = "180px"
        self.explorer.controls["network"].layout.width = "230px"  # names of files are longer than the menu's
        own = {name: self.explorer.controls[name] for name in ("device", "precision")}
        return {"path": path, "rules": rules, "plan": plan} | own

    def _layout(self) -> list[W.Widget]:
        c, t = self.controls, self.texts
        for button in (self.again_button, self.html_button, self.csv_button):
            button.layout.width = "130px"
        wrap = W.Layout(flex_flow="row wrap", align_items="center")
        half = W.Layout(flex="1 1 420px", padding="0 28px 0 0")
        return [
            W.HTML(_STYLE),
            W.HBox([self.upload, c["path"], self.again_button], layout=wrap),
            W.HTML(f"<small>{_PROMISE}</small>"),
            t["said"],
            t["advice"],
            self.explorer,
            W.HTML("<small>The sliders move the roofline alone; all below is for the device as it is.</small>"),
            heading("Fusion"),
            W.HBox([W.Label("rule set to compare with"), c["rules"]], layout=wrap),
            t["plans"],
            heading("Where the time goes"),
            W.HBox([W.Label("kernels of the plan"), c["plan"]], layout=wrap),
            t["slowest"],
            W.HBox(
                [
                    W.VBox([heading("What would help"), t["changes"]], layout=half),
                    W.VBox(
                        [heading("Does it fit on the chip?"), t["memory"], t["notes"]],
                        layout=half,
                    ),
                ],
                layout=W.Layout(flex_flow="row wrap"),
            ),
            W.HBox([self.html_button, self.csv_button, self.saved], layout=wrap),
        ]

    def _listen(self) -> None:
        c = self.controls
        c["path"].observe(lambda change: self._read_path(), "value")
        self.again_button.on_click(lambda _: self._read_path())
        for name in ("device", "precision"):
            c[name].observe(self._move, "value")
        c["rules"].observe(self._choose, "value")
        c["plan"].observe(self._choose, "value")
        self.html_button.on_click(lambda _: self.save(".html"))
        self.csv_button.on_click(lambda _: self.save(".csv"))

    # -- following ---------------------------------------------------------------------------------------------------

    def _uploaded(self, name: str, data: bytes) -> None:
        """A file has come: it lies in a folder of its own only as long as it is read."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / (PurePath(name.replace("\\", "/")).name or "model")
            path.write_bytes(data)
            self.read(path)

    def _read_path(self) -> None:
        text = self.controls["path"].value.strip().strip("\"'")  # some systems copy paths with quotes
        if text:
            self.read(Path(text).expanduser())

    def _move(self, change: Any) -> None:
        """The explorer's menus chose, and its scene knows already: its own observers come first."""
        there = self.explorer.scene
        if self.scene.move_to(there.device, there.precision):
            self.show()

    def _choose(self, change: Any) -> None:
        if self._following:
            return
        if change["owner"] is self.controls["rules"]:
            self.scene.rules = change["new"]
        else:
            self.scene.shown = change["new"]
        self.show()

    def show(self) -> None:
        """Bring everything on the page to what the scene says."""
        scene, c = self.scene, self.controls
        self._following = True  # the menus' own observers must not answer
        try:
            c["rules"].value = scene.rules
            names = tuple(scene.report.estimates)
            if tuple(c["plan"].options) != names:
                c["plan"].options = names
            c["plan"].value = scene.shown
        finally:
            self._following = False
        self.saved.value = ""
        texts = scene.texts
        for name in texts:
            if name != "said":
                self.texts[name].value = texts[name]
        self.texts["said"].value = texts["said"]  # last: when it is there, everything is
