"""The fusion scene: a small graph, its operators merged into kernels, and what that does to bytes and time.

`tables` need the model: every plan that the sliders can reach, each kernel once, and which plan belongs to which
depth and on-chip size (or by how many bytes it does not fit). `marks` need only the tables and the sliders; here they
come from the model itself (`estimate`), in the browser `fusion.js` works out the same from the tables.
"""

from __future__ import annotations

import functools
import html
import re
from typing import Any

import numpy as np

from ..cost import Estimate, estimate
from ..device import Device
from ..errors import GraphError, positive, unknown_name, whole
from ..fusion.plan import Plan
from ..fusion.rules import rule_set
from ..graph import Graph
from ..precision import precision
from .controls import BANDWIDTH_FACTORS, RoofControls
from .fusion_marks import label_ends, marks
from .fusion_plans import Choices
from .fusion_shown import Shown
from .roofline_marks import Marks
from .small_networks import chosen

#: Graphs of the menu.
FUSION_NETWORKS = chosen("MobileNetV2 block", "WDWD", "elementwise chain", "fork", "VGG-19 start", "attention")

#: Operators that the picture has room for.
MOST_OPERATORS = 16

#: Sizes of the on-chip slider in bytes: 16 KiB to 256 MiB, two to an octave.
ON_CHIP_BYTES = tuple(2**k * half // 2 for k in range(14, 28) for half in (2, 3)) + (2**28,)

#: The clock: steps from the start to the end of the longer run, and the seconds that a person watches.
CLOCK_STEPS, CLOCK_SECONDS = 300, 12.0


class FusionScene(RoofControls):
    """What the fusion explorer shows.

    Parameters
    ----------
    network : str or Graph
        A name of `FUSION_NETWORKS`, or a graph of at most 16 operators.
    device : str or Device
    precision : str
        By default fp32, or else the device's first one.
    rules : str
        A rule set.
    depth : int
        The most operators one kernel may hold.

    Attributes
    ----------
    bandwidth_factor : float
    on_chip_bytes : float or None
        The other sliders. Setting one snaps to the nearest step.
    tick : int
        The clock of the run, 0 (at rest) to `CLOCK_STEPS`.

    Raises
    ------
    ValueError
        A name that does not exist, a precision that the device has no peak for, a value outside its slider.
    GraphError
        More operators than the picture has room for.

    Examples
    --------
    >>> scene = FusionScene(depth=3)
    >>> len(scene.plan), scene.before.dram_bytes > 2 * scene.now.dram_bytes
    (4, True)
    """

    def __init__(
        self,
        network: str | Graph = "MobileNetV2 block",
        device: str | Device = "raspberry-pi-5",
        precision: str | None = None,
        rules: str = "epilogue",
        depth: int = 1,
    ) -> None:
        self._start = (network, device, precision, rules, depth)
        self.reset()

    def reset(self) -> None:
        """Back to how it was made."""
        network, dev, name, rules, depth = self._start
        self._graph_of(network)
        self._network, self._depth = network, 1
        self._start_on(dev, name)
        self._rules = rule_set(rules).name
        self._made: Choices | None = None
        self.depth = depth
        self.bandwidth_step = BANDWIDTH_FACTORS.index(1.0)
        self.on_chip_step = self._own_size()
        self.tick = 0

    # -- controls ----------------------------------------------------------------------------------------------------

    @property
    def network(self) -> str | Graph:
        return self._network

    @network.setter
    def network(self, value: str | Graph) -> None:
        self._graph_of(value)
        self._network, self._made = value, None
        self._depth = min(self._depth, self.most_depth)

    def _changed(self, what: str) -> None:
        """Another device brings its own on-chip memory."""
        self._made = None
        if what == "device":
            self.on_chip_step = self._own_size()

    @property
    def rules(self) -> str:
        return self._rules

    @rules.setter
    def rules(self, value: str) -> None:
        self._rules, self._made = rule_set(value).name, None

    @property
    def depth(self) -> int:
        return self._depth

    @depth.setter
    def depth(self, value: int) -> None:
        if whole("depth", value) > self.most_depth:
            raise ValueError(f"depth must be at most {self.most_depth}, the operators of the graph, not {value}.")
        self._depth = int(value)

    @property
    def on_chip_bytes(self) -> float | None:
        return self.on_chip_sizes[self.on_chip_step]

    @on_chip_bytes.setter
    def on_chip_bytes(self, value: float) -> None:
        sizes = [np.inf if size is None else size for size in self.on_chip_sizes]
        self.on_chip_step = int(np.argmin(np.abs(np.log(np.array(sizes) / positive("on_chip_bytes", value)))))

    @property
    def on_chip_sizes(self) -> list[float | None]:
        """The slider's sizes, the device's own in place of the nearest one: None at the end where it is not known."""
        return sizes_with(self._device.on_chip_bytes)

    def _own_size(self) -> int:
        return self.on_chip_sizes.index(self._device.on_chip_bytes)

    # -- model -------------------------------------------------------------------------------------------------------

    @staticmethod
    def _graph_of(network: str | Graph) -> Graph:
        if isinstance(network, Graph):
            count = sum(not op.is_view for op in network)
            if count > MOST_OPERATORS:
                raise GraphError(
                    f"{network.name} has {count} operators; the picture has room for {MOST_OPERATORS}. Show a part of "
                    "it, e.g. rl.networks.bottleneck(), or the whole without a picture: rl.RooflineExplorer."
                )
            return network
        return _graph_of_name(network)

    @property
    def graph(self) -> Graph:
        return self._graph_of(self._network)

    @property
    def title(self) -> str:
        return self._network.name if isinstance(self._network, Graph) else self._network

    @property
    def most_depth(self) -> int:
        """The end of the depth slider: all operators in one kernel."""
        return sum(not op.is_view for op in self.graph)

    @property
    def choices(self) -> Choices:
        """Every plan that the sliders can reach."""
        if self._made is None:
            self._made = Choices(self.graph, self._device, precision(self._precision), self._rules, self.on_chip_sizes)
        return self._made

    @property
    def plan(self) -> Plan:
        """The plan that is drawn; where it does not fit, `now` is None."""
        return self.choices.at(self._depth, self.on_chip_step)[0]

    @property
    def tuned_device(self) -> Device:
        """The device with what the sliders say."""
        return self._tuned(on_chip_bytes=self.on_chip_bytes)

    @property
    def before(self) -> Estimate:
        """What the unfused graph costs."""
        return estimate(self.choices.unfused, self.tuned_device, self._precision)

    @property
    def now(self) -> Estimate | None:
        """What the plan costs; None where it does not fit on the chip."""
        plan, over = self.choices.at(self._depth, self.on_chip_step)
        return None if over else estimate(plan, self.tuned_device, self._precision)

    def _seconds_at(self, depth: int) -> float | None:
        plan, over = self.choices.at(depth, self.on_chip_step)
        return None if over else estimate(plan, self.tuned_device, self._precision).seconds

    # -- tables and marks --------------------------------------------------------------------------------------------

    @property
    def tables(self) -> dict[str, Any]:
        """Everything that does not depend on the sliders, as plain numbers and strings (JSON)."""
        choices = self.choices
        x_limits, y_limits = choices.limits
        return self._roof_tables(choices.limits, clear=0.065) | {
            "network": html.escape(self.title),
            "device": html.escape(self._device.name.split(" (")[0]),
            "rules": html.escape(self._rules),
            "whose": html.escape(rule_set(self._rules).whose),
            **choices.tables,
            "on_chip_sizes": self.on_chip_sizes,
            "peak_factors": [1.0],
            "clock_steps": CLOCK_STEPS,
            "clock_seconds": CLOCK_SECONDS,
            "roof_labels": [(x_limits[1] / x_limits[0]) ** share * x_limits[0] for share in (0.25, 0.45)],
            "label_ends": label_ends(x_limits),
            "near": [(x_limits[1] / x_limits[0]) ** 0.07, (y_limits[1] / y_limits[0]) ** 0.04],  # labels in one place
        }

    @property
    def controls(self) -> dict[str, int]:
        """The sliders as the browser knows them."""
        return {
            "depth": self._depth,
            "bandwidth": self.bandwidth_step,
            "on_chip": self.on_chip_step,
            "clock": self.tick,
        }

    @property
    def shown(self) -> Shown:
        """All that the marks need."""
        t, choices = self.tables, self.choices
        _, over = choices.at(self._depth, self.on_chip_step)
        return Shown(
            tables=t,
            plan=choices.rows(self._depth, self.on_chip_step),
            before=self.before,
            now=self.now,
            over=over,
            others=[self._seconds_at(d) for d in range(1, self.most_depth + 1)],
            depth=self._depth,
            on_chip=self.on_chip_bytes,
            unfused=choices.unfused_rows(self.on_chip_step),
            tick=self.tick,
        )

    @property
    def marks(self) -> Marks:
        """Every mark and text of the explorer: name -> its traits. `fusion.js` gives the same from the tables."""
        return marks(self.shown)

    @property
    def sentence(self) -> str:
        """What is seen, in two or three sentences."""
        words = self.marks["sentence"]["value"].replace("<br>", " ")
        return html.unescape(re.sub("<[^>]*>", "", words))


def sizes_with(own: float | None) -> list[float | None]:
    """The on-chip sizes of the slider with a device's own in place of the nearest; unknown takes the last place.

    Examples
    --------
    >>> sizes_with(25e6).index(25e6) == list(ON_CHIP_BYTES).index(25165824), sizes_with(None)[-1]
    (True, None)
    """
    sizes: list[float | None] = [float(size) for size in ON_CHIP_BYTES]
    nearest = -1 if own is None else int(np.argmin(np.abs(np.log(np.array(ON_CHIP_BYTES) / own))))
    sizes[nearest] = own
    return sizes


@functools.cache
def _graph_of_name(name: str) -> Graph:
    if name not in FUSION_NETWORKS:
        raise unknown_name("network", name, FUSION_NETWORKS)
    return FUSION_NETWORKS[name]()
