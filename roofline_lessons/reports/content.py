"""The report on a model: its plans on a device, its slowest kernels, what fits the chip, what would help."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from ..cost import Estimate, KernelEstimate, estimate
from ..device import Device
from ..device import device as device_of
from ..errors import FusionError, ModelFileWarning, whole
from ..fusion import Plan, best_plan, choose_tiles, fuse, unfused
from ..fusion.rules import rule_set
from ..graph import Graph
from ..precision import Precision
from ..precision import precision as precision_named
from ..readers import plan_from_file
from .advice import Change, advice, changes
from .memory import Memory, memory_of

#: Names of plans in a report.
UNFUSED, IN_THE_FILE, BEST = "unfused", "as in the file", "best legal fusion"

#: The search for the best plan takes seconds up to so many operators, and minutes for several times as many.
MOST_SEARCHED = 1500

#: What is compared instead where there are more.
_GREEDY = ("epilogue", "tflite", "onnxruntime", "depth-first")


@dataclass(frozen=True)
class Report:
    """What a model costs on a device at a precision. Made by `report` and `report_on_file`.

    name : of the model.
    estimates : name of a plan -> its estimate. The first is the model as it stands: unfused, or as its file fuses it.
        The last is the best that is legal.
    rules : name of the rule set of an engine that is compared.
    refused : name of a plan -> why it is not among the estimates.
    notes : what was assumed, and what is not known.
    """

    name: str
    estimates: Mapping[str, Estimate]
    rules: str
    refused: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def as_it_stands(self) -> Estimate:
        return next(iter(self.estimates.values()))

    @property
    def best(self) -> Estimate:
        return self.estimates[BEST]

    @property
    def graph(self) -> Graph:
        return self.as_it_stands.plan.graph

    @property
    def device(self) -> Device:
        return self.as_it_stands.device

    @property
    def precision(self) -> Precision:
        return self.as_it_stands.precision

    def slowest(self, most: int = 10, plan: str | None = None) -> list[KernelEstimate]:
        """The slowest kernels of a plan (the first, if none is named), slowest first."""
        est = self.as_it_stands if plan is None else self.estimates[plan]
        return sorted(est.kernels, key=lambda k: -k.seconds)[: whole("most", most)]

    @cached_property
    def memory(self) -> Memory:
        """What of the model fits on the chip."""
        return memory_of(self.as_it_stands.plan, self.precision, self.device)

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """What would happen if one thing were different: the fusion, the precision, the memory, the arithmetic."""
        return changes(self)

    @cached_property
    def advice(self) -> tuple[str, ...]:
        """Two or three sentences that follow from the numbers."""
        return advice(self)

    def to_dict(self, most: int = 10) -> dict[str, Any]:
        """The report as plain numbers and texts. What is infinite or not known is None."""
        from .tables import as_dict

        return as_dict(self, most)

    def to_json(self, most: int = 10) -> str:
        """The report for machines: JSON, the unit of a number in its key."""
        from .tables import as_json

        return as_json(self, most)

    def to_csv(self) -> str:
        """Every kernel of every plan as comma-separated values, the unit of a number in its column's name."""
        from .tables import as_csv

        return as_csv(self)

    def to_html(self, most: int = 10) -> str:
        """One page to read, print and send: it needs nothing from elsewhere and runs nothing."""
        from .page import page

        return page(self, most)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the report to a file; the end of its name says how: .html, .csv or .json.

        Raises
        ------
        ValueError
            Another ending.
        OSError
            The file cannot be written.
        """
        path = Path(path)
        ways = {".html": self.to_html, ".csv": self.to_csv, ".json": self.to_json}
        if path.suffix.lower() not in ways:
            raise ValueError(f"a report is saved as {', '.join(ways)}: {path.name} ends in none of them.")
        path.write_text(ways[path.suffix.lower()](), encoding="utf-8", newline="")
        return path

    def _repr_html_(self) -> str:
        from .page import fragment

        return fragment(self)

    def __repr__(self) -> str:
        return f"<Report on {self.name}: {' '.join(self.advice)}>"


def report(
    model: Graph | Plan,
    device: Device | str,
    precision: str | Precision | None = None,
    *,
    rules: str | None = None,
) -> Report:
    """The report on a graph, or on a plan of one.

    Parameters
    ----------
    model : Graph or Plan
        A graph stands as one kernel per operator.
    device : Device or str
        A device or a catalogue id.
    precision : str or Precision, optional
        By default what the model's own tensors say (`precision_of`), or else the first that the device can run.
    rules : str, optional
        The rule set of an engine to compare with; by default "onnxruntime".

    Raises
    ------
    ValueError
        A precision that the device has no peak for.
    UnknownNameError
        A device, precision or rule set that does not exist; the message lists those that do.

    Examples
    --------
    >>> from roofline_lessons import networks
    >>> made = report(networks.ds_cnn(), "raspberry-pi-5", "fp32")
    >>> list(made.estimates)
    ['unfused', 'onnxruntime', 'best legal fusion']
    >>> made.best.seconds < made.as_it_stands.seconds
    True
    """
    plan = model if isinstance(model, Plan) else unfused(model)
    graph, dev = plan.graph, device_of(device) if isinstance(device, str) else device
    p, notes = (precision_named(precision), ()) if precision is not None else _precision_on(dev, graph)
    dev.peak_for(p)  # refused before anything is searched
    engine = rule_set("onnxruntime" if rules is None else rules).name
    fused = _is_fused(plan)
    found = {IN_THE_FILE: estimate(plan, dev, p)} if fused else {}
    found[UNFUSED] = estimate(unfused(graph) if fused else plan, dev, p)
    refused = {}
    try:
        found[engine] = estimate(choose_tiles(fuse(graph, engine), dev, p), dev, p)
    except FusionError as error:
        refused[engine] = str(error)
    best, searched = _best(graph, dev, p)
    # the search may miss what another rule set finds, and a report that calls a slower plan the best would be wrong
    found[BEST] = min((best, *found.values()), key=lambda est: est.seconds)
    return Report(graph.name, found, engine, refused, (*notes, *searched))


def report_on_file(
    path: str | PathLike[str],
    device: Device | str,
    precision: str | Precision | None = None,
    *,
    rules: str | None = None,
    **sizes: int,
) -> Report:
    """The report on a model file; what the reader had to assume is in its notes.

    Parameters
    ----------
    path, **sizes
        As for `read_model`.
    device, precision
        As for `report`.
    rules : str, optional
        As for `report`; by default "tflite" for a TensorFlow Lite file and "onnxruntime" for an ONNX file.

    Raises
    ------
    ModelFileError
        As `read_model`.
    ValueError, UnknownNameError
        As `report`.
    """
    path = Path(path)
    plan, notes = plan_and_notes(path, **sizes)
    made = report(plan, device, precision, rules=rules or engine_of(path))
    return Report(path.name, made.estimates, made.rules, made.refused, (*notes, *made.notes))


def plan_and_notes(path: Path, **sizes: int) -> tuple[Plan, tuple[str, ...]]:
    """The kernels that a model file implies, and the reader's warnings as sentences.

    Raises
    ------
    ModelFileError
        As `read_model`.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelFileWarning)
        plan = plan_from_file(path, **sizes)
    if not _is_fused(plan):
        plan = unfused(plan.graph)
    return plan, tuple(str(w.message) for w in caught if issubclass(w.category, ModelFileWarning))


def _is_fused(plan: Plan) -> bool:
    return len(plan) < sum(not op.is_view for op in plan.graph)


def engine_of(path: Path) -> str:
    """The rule set of the engine that a model file is made for."""
    with path.open("rb") as file:
        return "tflite" if file.read(8)[4:] == b"TFL3" else "onnxruntime"


def precision_of(graph: Graph) -> str:
    """The precision that a graph's own tensors say: "int8" where most of its MACs work on integers of 8 bits or fewer.

    Floats leave it open: "fp32".
    """
    narrow = sum(op.macs for op in graph if all(t.bits is not None and t.bits <= 8 for t in op.inputs[:2]))
    return "int8" if 2 * narrow > graph.macs else "fp32"


def _precision_on(dev: Device, graph: Graph) -> tuple[Precision, tuple[str, ...]]:
    """What a graph's tensors say, or, where the device cannot run that, what it can; then a note says so."""
    wanted, can = precision_of(graph), dev.precisions()
    if wanted in can:
        return precision_named(wanted), ()
    return precision_named(can[0]), (f"{dev.name} has no peak for {wanted}; {can[0]} is assumed.",)


def _best(graph: Graph, dev: Device, p: Precision) -> tuple[Estimate, tuple[str, ...]]:
    """The fastest legal plan; of a very large graph the fastest of some rule sets, and a note that says so."""
    count = sum(not op.is_view for op in graph)
    if count <= MOST_SEARCHED:
        return estimate(best_plan(graph, dev, p), dev, p), ()
    tried = [estimate(unfused(graph), dev, p)]
    for name in _GREEDY:
        try:
            tried.append(estimate(choose_tiles(fuse(graph, name), dev, p), dev, p))
        except FusionError:
            continue  # it does not fit the chip
    note = (
        f"{count:,} operators are too many to search for the best fusion; the best of the rule sets "
        f"{', '.join(_GREEDY)} stands in for it."
    )
    return min(tried, key=lambda est: est.seconds), (note,)
