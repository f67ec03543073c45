"""What `ModelReport` shows, without a widget: a model that was read, a device, a precision, and the report on them."""

from __future__ import annotations

import html
import re
from pathlib import Path

from ..cost import Estimate
from ..device import Device
from ..fusion import Plan, unfused
from ..fusion.rules import rule_set
from ..graph import Graph
from ..precision import precision as precision_named
from ..scenes.controls import as_device
from .content import Report, engine_of, plan_and_notes, precision_of, report
from .page import part

#: The parts of the page that are shown one by one.
PARTS = ("advice", "plans", "slowest", "changes", "memory", "notes")


class ReportScene:
    """A model, and the report on it.

    Parameters
    ----------
    model : Graph, Plan, str or Path
        A graph, a plan of one, or the path of a model file.
    device : str or Device
    precision : str, optional
        By default what the model's tensors say, or else what the device can run.
    rules : str, optional
        The rule set of an engine; by default that of the file's engine, and "onnxruntime" where there is no file.

    Attributes
    ----------
    said : str
        What came of the last thing that was asked for, in a sentence. `failed` says whether it went wrong.
    shown : str
        The plan whose slowest kernels are listed.

    Raises
    ------
    ModelFileError
        A model file that cannot be read. Later ones are told in `said`, and the model before stays.
    """

    def __init__(
        self,
        model: Graph | Plan | str | Path,
        device: str | Device = "raspberry-pi-5",
        precision: str | None = None,
        rules: str | None = None,
    ) -> None:
        self._device = as_device(device)
        self._made: Report | None = None
        self.notes: tuple[str, ...] = ()
        self._rules = "onnxruntime"
        if isinstance(model, (str, Path)):
            self._take(Path(model))
        else:
            self.plan = model if isinstance(model, Plan) else unfused(model)
            self.name = self.plan.graph.name
        self._precision = self._closest(precision or precision_of(self.plan.graph))
        if precision is not None:
            self._device.peak_for(precision)  # says what the device has
        self._rules = self._rules if rules is None else rule_set(rules).name
        self.failed = False
        self.said = f"This is {self.name}: {self._counts()}."
        self.shown = ""
        self._changed()

    # -- the model ---------------------------------------------------------------------------------------------------

    def read(self, path: Path) -> bool:
        """Read another model file. Whether it worked; where not, everything stays and `said` says why."""
        try:
            self._take(path)
            self._precision = self._closest(precision_of(self.plan.graph))
        except (ValueError, OSError, ImportError) as error:
            self.refuse(str(error))
            return False
        self._changed()
        self.failed, self.said = False, f"{self.name} is read: {self._counts()}."
        return True

    def refuse(self, reason: str) -> None:
        """Nothing changes, and that is said."""
        self.failed, self.said = True, f"{reason} Below is still {self.name}."

    def _take(self, path: Path) -> None:
        plan, notes = plan_and_notes(path)
        self._rules = engine_of(path)
        self.plan, self.notes, self.name = plan, notes, path.name

    def _counts(self) -> str:
        graph = self.plan.graph
        return f"{len(graph)} operators, {graph.params:,} parameters, {graph.macs:,} MACs"

    # -- controls ----------------------------------------------------------------------------------------------------

    @property
    def device(self) -> Device:
        return self._device

    @property
    def precision(self) -> str:
        return self._precision

    def move_to(self, device: str | Device, precision: str) -> bool:
        """Another device, another precision. Whether anything changed."""
        dev = as_device(device)
        dev.peak_for(precision)
        if (dev, precision) == (self._device, self._precision):
            return False
        self._device, self._precision = dev, precision
        self._changed()
        return True

    @property
    def rules(self) -> str:
        return self._rules

    @rules.setter
    def rules(self, value: str) -> None:
        self._rules = rule_set(value).name
        self._changed()

    def _closest(self, name: str) -> str:
        can = self._device.precisions()
        return name if name in can else can[0]

    def _changed(self) -> None:
        """Make the report anew when it is asked for. The plan that is shown stays, where there still is one."""
        self._made = None
        if self.shown not in self.report.estimates:
            self.shown = next(iter(self.report.estimates))

    # -- what is shown -----------------------------------------------------------------------------------------------

    @property
    def report(self) -> Report:
        """The report on what is chosen; made when it is first asked for."""
        if self._made is None:
            made = report(self.plan, self._device, precision_named(self._precision), rules=self._rules)
            self._made = Report(self.name, made.estimates, made.rules, made.refused, (*self.notes, *made.notes))
        return self._made

    @property
    def estimate(self) -> Estimate:
        """The estimate of the model as it stands."""
        return self.report.as_it_stands

    @property
    def texts(self) -> dict[str, str]:
        """What is said, as HTML: the parts of the page, and `said`."""
        sign, name = ("⚠", "rl-refused") if self.failed else ("✓", "rl-done")
        said = f'<div role="status" class="{name}">{sign} {html.escape(self.said)}</div>'
        return {name: part(self.report, name, self.shown) for name in PARTS} | {"said": said}

    def file_name(self, ending: str) -> str:
        """A name for the report as a file, of letters that every system allows.

        Examples
        --------
        >>> from roofline_lessons import networks
        >>> ReportScene(networks.ds_cnn(), precision="int8").file_name(".html")
        'ds_cnn on raspberry-pi-5, int8.html'
        """
        name = f"{self.name} on {self._device.id or self._device.name}, {self._precision}"
        return re.sub(r"[^\w .,()-]+", "_", name)[:120].strip(" .") + ending
