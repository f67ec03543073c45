"""A report for machines: a dictionary, JSON, comma-separated values. The unit of a number is in its key."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import TYPE_CHECKING, Any

from ..cost import Estimate, KernelEstimate

if TYPE_CHECKING:
    from .content import Report

#: Raised when a key changes its name or meaning.
FORMAT = 1

#: Columns of the CSV, in their order.
COLUMNS = (
    "plan", "kernel", "operators", "macs", "flops", "flops_known", "dram_bytes", "on_chip_bytes",
    "intensity_flop_per_byte", "seconds", "seconds_no_overlap", "share_of_seconds", "bound", "because",
)  # fmt: skip

#: What a spreadsheet would take for a formula. Names of kernels come from files that anyone may have made.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_dict(r: Report, most: int) -> dict[str, Any]:
    """The report as plain numbers and texts. What is infinite or not known is None."""
    stands, memory = r.as_it_stands, r.memory
    return {
        "format": FORMAT,
        "model": r.name,
        "device": r.device.name,
        "device_id": r.device.id or None,
        "precision": r.precision.name,
        "rules": r.rules,
        "operators": len(r.graph),
        "parameters": r.graph.params,
        "macs": r.graph.macs,
        "unknown_bytes_share": stands.unknown_bytes_share,
        "memory": {
            "weight_bytes": memory.weight_bytes,
            "activation_bytes": memory.activation_bytes,
            "on_chip_bytes": memory.on_chip_bytes,
            "all_fits": memory.all_fits,
            "activations_fit": memory.activations_fit,
        },
        "plans": [{"name": name, **_totals(est)} for name, est in r.estimates.items()],
        "refused": dict(r.refused),
        "changes": [
            {"what": c.what, "kind": c.kind, "seconds": c.seconds, "times_as_fast": c.times_as_fast} for c in r.changes
        ],
        "slowest": [_kernel(k, stands) for k in r.slowest(most)],
        "advice": list(r.advice),
        "notes": list(r.notes),
    }


def as_json(r: Report, most: int) -> str:
    """The dictionary as JSON."""
    return json.dumps(as_dict(r, most), indent=2, allow_nan=False, ensure_ascii=False)


def as_csv(r: Report) -> str:
    """Every kernel of every plan, one row each."""
    text = io.StringIO()
    rows = csv.DictWriter(text, COLUMNS, lineterminator="\r\n")
    rows.writeheader()
    for plan, est in r.estimates.items():
        for k in est.kernels:
            row = {"plan": plan, **_kernel(k, est)}
            row["kernel"], row["operators"] = row.pop("name"), " ".join(row["operators"])
            rows.writerow({column: _harmless(row[column]) for column in COLUMNS})
    return text.getvalue()


def _harmless(value: Any) -> Any:
    """A text that no spreadsheet takes for a formula; unknown and infinite are empty."""
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return "" if value is None else value


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _totals(est: Estimate) -> dict[str, Any]:
    return {
        "kernels": len(est.plan),
        "seconds": est.seconds,
        "seconds_no_overlap": est.seconds_no_overlap,
        "macs": est.macs,
        "flops": est.flops,
        "dram_bytes": est.dram_bytes,
        "intensity_flop_per_byte": _finite(est.intensity),
        "joules": est.joules,
        "joules_missing": list(est.joules_missing),
        "bound": est.bound,
        "because": est.because,
    }


def _kernel(k: KernelEstimate, est: Estimate) -> dict[str, Any]:
    return {
        "name": k.name,
        "operators": [op.name for op in k.operators],
        "macs": k.macs,
        "flops": k.flops,
        "flops_known": all(op.flops_known for op in k.operators),
        "dram_bytes": k.dram_bytes,
        "on_chip_bytes": k.on_chip_bytes,
        "intensity_flop_per_byte": _finite(k.intensity),
        "seconds": k.seconds,
        "seconds_no_overlap": k.seconds_no_overlap,
        "share_of_seconds": k.seconds / est.seconds if est.seconds else 0.0,
        "bound": k.bound,
        "because": k.because,
    }
