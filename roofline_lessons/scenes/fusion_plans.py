"""Every plan that the fusion scene's sliders can reach, as tables: each kernel once, and where a plan does not fit."""

from __future__ import annotations

import functools
import html
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..device import Device
from ..errors import FusionError
from ..fusion import choose_tiles
from ..fusion.again import again_per_kernel
from ..fusion.fuse import fuse
from ..fusion.legality import working_producers
from ..fusion.plan import Plan, unfused
from ..fusion.tiling import Tiling
from ..graph import Graph, Operator
from ..precision import Precision
from ..text import digits, si
from .controls import BANDWIDTH_FACTORS
from .fusion_picture import bytes_of, trips


class Choices:
    """Every plan that depth and on-chip size can reach, each kernel once.

    Parameters
    ----------
    graph, device, precision, rules
    sizes : list of float or None
        On-chip sizes in bytes, smallest first.
    """

    def __init__(self, graph: Graph, device: Device, p: Precision, rules: str, sizes: list[float | None]) -> None:
        self.graph, self.precision, self.device = graph, p, device
        self._chips = [device.with_(on_chip_bytes=size) for size in sizes]
        self._operators = [op for op in graph if not op.is_view]
        self._number = {op.name: i for i, op in enumerate(self._operators)}
        self._tensors: dict[str, int] = {}
        self._kernels: dict[tuple[Any, ...], int] = {}
        self._kernel_rows: list[dict[str, Any]] = []
        self._plans: list[Plan] = []
        self._plan_rows: list[list[int]] = []
        self._misfits: list[dict[str, Any]] = []
        self._smallest: dict[Plan, Plan] = {}
        self.unfused = unfused(graph)
        self._unfused = [self._add(self.unfused, chip) for chip in self._chips]
        self._index = [self._fit(fuse(graph, rules, depth + 1)) for depth in range(len(self._operators))]

    def at(self, depth: int, step: int) -> tuple[Plan, dict[str, Any] | None]:
        """The plan of a depth and an on-chip size, and by how much it does not fit, if so."""
        i = self._index[depth - 1][step]
        over = None if i >= 0 else self._misfits[-1 - i]
        return self._plans[i if over is None else over["plan"]], over

    def rows(self, depth: int, step: int) -> list[int]:
        """The same as rows of the table of kernels."""
        i = self._index[depth - 1][step]
        return self._plan_rows[i if i >= 0 else self._misfits[-1 - i]["plan"]]

    def unfused_rows(self, step: int) -> list[int]:
        """The kernels of the unfused plan as rows of the table of kernels."""
        return self._plan_rows[self._unfused[step]]

    def _fit(self, plan: Plan) -> list[int]:
        """Per on-chip size the number of the plan with its fastest tiles, or -1 minus the number of the misfit.

        From the largest chip down: tiles that fit a smaller one too are the fastest there too.
        """
        found: list[int] = []
        tiled: Plan | None = None
        for chip in reversed(self._chips):
            if tiled is None or not self._fits(tiled, chip):
                try:
                    tiled = choose_tiles(plan, chip, self.precision)
                except FusionError:
                    found.append(self._misfit(plan, chip))
                    continue
            found.append(self._add(tiled, chip))
        return found[::-1]

    def _fits(self, plan: Plan, chip: Device) -> bool:
        return chip.on_chip_bytes is None or bool(
            np.all(plan.on_chip_bytes_needed(self.precision) <= chip.on_chip_bytes)
        )

    def _misfit(self, plan: Plan, chip: Device) -> int:
        """By how much a plan with the smallest tiles there are does not fit."""
        if plan not in self._smallest:
            groups = [k.operators for k in plan.kernels]
            self._smallest[plan] = Plan(self.graph, groups, fold=plan.fold, tiling=Tiling((1, 1)), rules=plan.rules)
        assert chip.on_chip_bytes is not None
        least = self._smallest[plan].on_chip_bytes_needed(self.precision)
        kernel = int(np.flatnonzero((least > chip.on_chip_bytes).any(axis=1))[0])
        which = 1 if least[kernel, 1] > chip.on_chip_bytes else 0  # as `choose_tiles` says it
        entry = {
            "plan": self._add(plan, chip),
            "kernel": kernel,
            "what": ("smallest tiles", "weights")[which],
            "bytes": float(least[kernel, which]),
        }
        if entry not in self._misfits:
            self._misfits.append(entry)
        return -1 - self._misfits.index(entry)

    def _add(self, plan: Plan, chip: Device) -> int:
        """The number of a plan on a chip, which is new where no plan has the same kernels doing the same."""
        again = again_per_kernel(plan, chip, self.precision)
        keys = [
            (tuple(self._number[op.name] for op in k.operators), k.tiling, *again[:, i])
            for i, k in enumerate(plan.kernels)
        ]
        if not all(key in self._kernels for key in keys):
            for key, row in zip(keys, self._make_rows(plan, again), strict=True):
                if key not in self._kernels:
                    self._kernels[key] = len(self._kernel_rows)
                    self._kernel_rows.append(row)
        rows = [self._kernels[key] for key in keys]
        if rows not in self._plan_rows:
            self._plans.append(plan)
            self._plan_rows.append(rows)
        return self._plan_rows.index(rows)

    def _make_rows(self, plan: Plan, again: NDArray[np.float64]) -> list[dict[str, Any]]:
        p = self.precision
        bits = (p.weight_bits, p.activation_bits)
        needed = plan.on_chip_bytes_needed(p)
        on_chip = plan.on_chip_moves.bytes_per_kernel(len(plan), *bits)
        rows: list[dict[str, Any]] = [
            {
                "ops": [self._number[op.name] for op in k.operators],
                "mac_flops": float(2 * (k.macs + again[1, i])),
                "other_flops": float(k.other_flops + again[2, i]),
                "on_chip_bytes": float(on_chip[i]),
                "tile": list(k.tiling.tile) if k.tiling else None,
                "needs": needed[i].tolist(),
                "again": float(again[0, i]) if i in plan.may_come_again else None,
                "reads": [],
                "writes": [],
            }
            for i, k in enumerate(plan.kernels)
        ]
        moved = plan.dram_moves.bytes_per_move(*bits)
        for (i, way, transfer), amount in zip(plan.dram_transfers, moved, strict=True):
            tensor = self._tensors.setdefault(transfer.tensor.name, len(self._tensors))
            operators = plan.kernels[i].operators
            if way == "read":
                op = -1 if transfer.tensor.is_constant else self._reader(operators, transfer.tensor.name)
            else:
                op = self._number[self.graph.producers[transfer.tensor.name].name]
            rows[i][f"{way}s"].append([tensor, float(amount), op])
        return rows

    def _reader(self, operators: tuple[Operator, ...], tensor: str) -> int:
        """The first of some operators that reads a tensor, views looked through."""
        readers = (
            op for op in operators if any(s.name == tensor for t in op.activations for s in self.graph.storage(t))
        )
        return self._number[next(readers).name]

    @functools.cached_property
    def tables(self) -> dict[str, Any]:
        alone = [self._kernel_rows[k] for k in self._plan_rows[self._unfused[0]]]
        alone.sort(key=lambda row: row["ops"])
        arrows = [[trip[1:3] for trip in trips(row)] for row in alone]
        most = max((trip[3] for row in alone for trip in trips(row)), default=1.0)
        thousand = min(max(digits(most)[1] // 3 * 3, 0), 18)
        return {
            "names": [html.escape(op.name) for op in self._operators],
            "labels": [[html.escape(word) for word in label(op)] for op in self._operators],
            "edges": [
                [self._number[maker.name], self._number[op.name]]
                for op in self._operators
                for maker in working_producers(self.graph, op)
            ],
            "tensors": [html.escape(name) for name in self._tensors],
            "arrows": [[list(arrow) for arrow in found] for found in arrows],
            "most": most,
            "unit": [si(10.0**thousand, "B").split()[1], 10.0**thousand],
            "kernels": self._kernel_rows,
            "plans": self._plan_rows,
            "unfused": self._unfused,
            "index": self._index,
            "misfits": self._misfits,
        }

    @functools.cached_property
    def limits(self) -> tuple[list[float], list[float]]:
        """Axes that hold every point of every plan, and the ridge, wherever the sliders stand."""
        d, p = self.device, self.precision
        mac, other = (np.array([row[f"{kind}_flops"] for row in self._kernel_rows]) for kind in ("mac", "other"))
        moved = np.array([bytes_of(row) for row in self._kernel_rows])
        peak = d.peak_for(p)
        arithmetic = mac / peak + other / min(d.vector_peak or peak, peak)
        slowest = [moved / (d.bandwidth * BANDWIDTH_FACTORS[0])]
        on_chip = np.array([row["on_chip_bytes"] for row in self._kernel_rows])
        slowest += [on_chip / b for name, b in d.roofs().items() if name != "DRAM"]
        seconds = (d.launch_seconds or 0.0) + np.maximum(arithmetic, np.max(slowest, axis=0))
        drawn = (mac + other > 0) & (moved > 0)
        if not drawn.any():
            return [d.ridge(p) / 100, d.ridge(p) * 100], [peak / 1e3, peak * 3]
        intensity, rate = ((mac + other) / moved)[drawn], ((mac + other) / seconds)[drawn]
        # right of the ridge, wherever it is, there is room for its label
        right = max(float(intensity.max()) * 5, d.ridge(p) / BANDWIDTH_FACTORS[0] * 7)
        above = 10 if len(d.roofs()) > 2 else 3  # room for the labels of two on-chip roofs, or of one
        return [float(intensity.min()) / 5, right], [float(rate.min()) / 2, peak * above]


#: Short words for a box of the picture.
_SHORT = {
    "conv2d": "conv", "conv_transpose2d": "convᵀ", "batch_norm": "bn", "layer_norm": "norm", "rms_norm": "norm",
    "bias_add": "bias", "max_pool": "pool", "avg_pool": "mean", "upsample_nearest": "up", "upsample_bilinear": "up",
}  # fmt: skip


def label(op: Operator) -> tuple[str, str]:
    """What an operator is, short enough for its box: a word, and the window where it has one.

    Examples
    --------
    >>> from roofline_lessons import networks
    >>> [label(op) for op in networks.bottleneck().operators[:3]]
    [('conv', '1×1'), ('bn', ''), ('relu6', '')]
    """
    word = _SHORT.get(op.kind, op.kind.replace("_", " "))
    groups = op.attributes.get("groups", 1)
    if op.kind == "conv2d" and groups > 1:
        word = "dw" if groups == op.inputs[0].shape[1] else "group"
    kernel = op.attributes.get("kernel")
    return word, f"{kernel[0]}×{kernel[1]}" if kernel else ""
