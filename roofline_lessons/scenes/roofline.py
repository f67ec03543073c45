"""The roofline scene: the kernels of a network under the roofs of a device.

A scene has two halves. `tables` need the model: the work and bytes of every kernel, the device's numbers, the limits
of the axes. They change with the network, the batch, the device and the precision. `marks` need only the tables and
the two sliders: roofs, points, readouts, sentences. Here they come from the model itself (`estimate`); in the browser
`driver.js` works out the same from the tables, and golden vectors hold the two equal, numbers and text.
"""

from __future__ import annotations

import functools
import html
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import networks
from ..cost import Estimate, estimate
from ..device import Device
from ..errors import unknown_name, whole
from ..fusion.plan import Plan, unfused
from ..graph import Graph
from ..measure import Point
from ..operators import family
from ..precision import precision
from .controls import BANDWIDTH_FACTORS, PEAK_FACTORS, RoofControls, as_device, nearest_step
from .measured import limits_that_hold, measured_marks
from .roofline_marks import Marks, Points, point_marks, roof_marks, text_marks

#: Networks of the menu: what a person reads, and the builder (of a batch size).
NETWORKS: Mapping[str, Callable[[int], Graph]] = {
    "MobileNetV2": networks.mobilenet_v2,
    "MobileNetV1": networks.mobilenet_v1,
    "EfficientNet-B0": networks.efficientnet_b0,
    "ResNet-18": networks.resnet18,
    "ResNet-50": networks.resnet50,
    "VGG-16": networks.vgg16,
    "DS-CNN keywords": networks.ds_cnn,
    "Visual wake words": networks.visual_wake_words,
}

BATCHES = (1, 2, 4, 8, 16, 32, 64)


class RooflineScene(RoofControls):
    """What the roofline explorer shows.

    Parameters
    ----------
    network : str, Graph or Plan
        A name of `NETWORKS`, or a graph (whose batch is then fixed), both unfused; or a plan.
    device : str or Device
        A catalogue id or a device.
    precision : str
        Name of a precision that the device can run; by default fp32 or else its first one.
    measured : sequence of Point
        What was measured (see `roofline_lessons.measure`): drawn hollow, the same wherever the sliders stand.
    batch : int
        Images or sequences in one run.

    Attributes
    ----------
    bandwidth_factor, peak_factor : float
        The sliders. Setting one snaps to the nearest step of its grid.
    bandwidth_step, peak_step : int
        The same as steps of `BANDWIDTH_FACTORS` and `PEAK_FACTORS`.

    Raises
    ------
    ValueError
        A name that does not exist, a precision that the device has no peak for, a factor outside its grid.

    Examples
    --------
    >>> scene = RooflineScene("MobileNetV2", device="raspberry-pi-5")
    >>> slow = scene.estimate.seconds
    >>> scene.bandwidth_factor = 2
    >>> scene.estimate.seconds < slow
    True
    """

    keeps_wish = True

    def __init__(
        self,
        network: str | Graph | Plan = "MobileNetV2",
        device: str | Device = "raspberry-pi-5",
        precision: str | None = None,
        batch: int = 1,
        measured: Sequence[Point] = (),
    ) -> None:
        self._start = (network, device, precision, batch)
        self.measured = tuple(measured)
        self.reset()

    def reset(self) -> None:
        """Back to how it was made."""
        network, dev, name, batch = self._start
        self._network, self._batch = network, whole("batch", batch)
        self._start_on(dev, name)
        self.bandwidth_step = BANDWIDTH_FACTORS.index(1.0)
        self.peak_step = PEAK_FACTORS.index(1.0)
        self._plan()  # a wrong network name shows here

    # -- controls ----------------------------------------------------------------------------------------------------

    @property
    def network(self) -> str | Graph | Plan:
        return self._network

    @network.setter
    def network(self, value: str | Graph | Plan) -> None:
        before, self._network = self._network, value
        try:
            self._plan()
        except ValueError:
            self._network = before
            raise

    def look_at(self, network: Graph | Plan, precision: str) -> None:
        """Another network or plan from now on, after a reset too. Device and sliders stay as they are."""
        self.network = network
        self.precision = precision
        self._start = (network, self._device, precision, self._batch)

    @property
    def batch(self) -> int:
        return self._batch

    @batch.setter
    def batch(self, value: int) -> None:
        self._batch = whole("batch", value)

    @property
    def peak_factor(self) -> float:
        return PEAK_FACTORS[self.peak_step]

    @peak_factor.setter
    def peak_factor(self, value: float) -> None:
        self.peak_step = nearest_step("peak_factor", value, PEAK_FACTORS)

    # -- model -------------------------------------------------------------------------------------------------------

    def _plan(self) -> Plan:
        if isinstance(self._network, Plan):
            return self._network
        if isinstance(self._network, Graph):
            return _plan_of_graph(self._network)
        return _plan_of_name(self._network, self._batch)

    @property
    def title(self) -> str:
        """Network and batch, or plan, as a person reads them."""
        if isinstance(self._network, Plan):
            return f"{self._network.graph.name} ({self._network.rules})"
        return self._network.name if isinstance(self._network, Graph) else f"{self._network}, batch {self._batch}"

    @property
    def tuned_device(self) -> Device:
        """The device with the sliders' factors in its bandwidth and in its peaks."""
        d = self._device
        p = precision(self._precision).arithmetic
        vector_peak = None if d.vector_peak is None else d.vector_peak * self.peak_factor
        return self._tuned(peak={p: d.peak[p] * self.peak_factor}, vector_peak=vector_peak)

    @property
    def estimate(self) -> Estimate:
        """The estimate of what is shown now."""
        return estimate(self._plan(), self.tuned_device, self._precision)

    # -- tables: what the browser needs of the model -----------------------------------------------------------------

    @property
    def tables(self) -> dict[str, Any]:
        """Everything that does not depend on the two sliders, as plain numbers and strings (JSON)."""
        plan = self._plan()
        nominal = estimate(plan, self._device, self._precision)
        return self._roof_tables(self._limits(nominal), clear=0.04) | {
            "network": html.escape(self.title),
            "note": html.escape(self._note()),
            "names": [html.escape(k.name) for k in plan.kernels],
            "families": kernel_families(plan),
            "mac_flops": (2 * nominal.kernel_macs).tolist(),
            "other_flops": nominal.kernel_other_flops.tolist(),
            "dram_bytes": nominal.kernel_dram_bytes.tolist(),
            "on_chip_bytes": nominal.kernel_on_chip_bytes.tolist(),
            "peak_factors": list(PEAK_FACTORS),
        }

    def _note(self) -> str:
        """What a change of device changed, and what is not known of it: it would mislead a comparison."""
        said = ""
        if self._precision != self._wanted:
            said += f" There is no peak for {self._wanted} on this device: {self._precision} is shown."
        if self._device.launch_seconds is None:
            said += " What starting a kernel costs here is not known and not in the time."
        return said

    def _limits(self, nominal: Estimate) -> tuple[list[float], list[float]]:
        """Axes that hold every point and the ridge wherever the sliders stand, so that only lines and points move."""
        flops, moved = nominal.kernel_flops, nominal.kernel_dram_bytes
        drawn = (flops > 0) & (moved > 0)
        intensity = flops[drawn] / moved[drawn] if drawn.any() else np.array([1.0])
        d, p = self._device, self._precision
        x = [float(intensity.min()) / 2, max(float(intensity.max()), d.ridge(p) * BANDWIDTH_FACTORS[-1]) * 2]
        slowest = (d.launch_seconds or 0.0) + np.maximum(
            nominal.kernel_arithmetic_seconds / PEAK_FACTORS[0], nominal.kernel_memory_seconds * 8
        )[drawn]
        lowest = (flops[drawn] / slowest).min() if drawn.any() else d.peak_for(p) / 1e3
        y = [float(lowest) / 2, d.peak_for(p) * PEAK_FACTORS[-1] * 2]
        return limits_that_hold(self.measured, x, y)

    @property
    def controls(self) -> dict[str, float]:
        """The sliders as the browser knows them: steps of their grids."""
        return {"bandwidth": self.bandwidth_step, "peak": self.peak_step}

    # -- marks: what is drawn and said -------------------------------------------------------------------------------

    @property
    def marks(self) -> Marks:
        """Every mark and text of the explorer: name -> its traits. `driver.js` gives the same from the tables."""
        t, est = self.tables, self.estimate
        return roof_marks(t, est) | point_marks(t, est) | text_marks(t, est)

    @property
    def measured_marks(self) -> Marks:
        """What was measured; see `measured_marks` of `scenes.measured`."""
        return measured_marks(self.measured, as_device(self._start[1]), self._precision)

    @property
    def points(self) -> Points:
        """The kernels that can be drawn: intensity, FLOP/s, and their indices in the plan."""
        return Points(self.estimate)

    @property
    def sentence(self) -> str:
        """What is seen, in one or two sentences."""
        return html.unescape(text_marks(self.tables, self.estimate)["sentence"]["value"])


def kernel_families(plan: Plan) -> list[str]:
    """The family of each kernel: that of its operator with the most multiply-accumulates."""
    return [family(max(k.operators, key=lambda op: op.macs)) for k in plan.kernels]


@functools.lru_cache(maxsize=64)
def _plan_of_name(name: str, batch: int) -> Plan:
    if name not in NETWORKS:
        raise unknown_name("network", name, NETWORKS)
    return unfused(NETWORKS[name](batch))


@functools.lru_cache(maxsize=16)
def _plan_of_graph(graph: Graph) -> Plan:
    return unfused(graph)
