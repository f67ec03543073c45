"""Does a model fit on the chip? Its weights, and the activations that are alive at the same time."""

from __future__ import annotations

from dataclasses import dataclass

from ..device import Device
from ..fusion import Plan
from ..fusion.liveness import peak_live_bytes
from ..fusion.traffic import tensor_bytes
from ..precision import Precision
from ..text import si


@dataclass(frozen=True)
class Memory:
    """What a model needs to stay on the chip from one run to the next, and what the chip has.

    weight_bytes : weights and other constants, each once.
    activation_bytes : the most that is alive at once between the kernels (`fusion.liveness`).
    on_chip_bytes : capacity of the chip; None where it is not known.
    """

    weight_bytes: float
    activation_bytes: float
    on_chip_bytes: float | None

    @property
    def all_fits(self) -> bool | None:
        """Weights and activations fit together. None: the capacity is not known."""
        return None if self.on_chip_bytes is None else self.weight_bytes + self.activation_bytes <= self.on_chip_bytes

    @property
    def activations_fit(self) -> bool | None:
        """The activations fit, without the weights. None: the capacity is not known."""
        return None if self.on_chip_bytes is None else self.activation_bytes <= self.on_chip_bytes

    @property
    def sentence(self) -> str:
        """What fits, in one sentence."""
        need = f"{si(self.weight_bytes, 'B')} of weights and at most {si(self.activation_bytes, 'B')} of activations"
        if self.on_chip_bytes is None:
            return f"{need} at once; how much fits on the chip is not known."
        room = f"the {si(self.on_chip_bytes, 'B')} on the chip"
        if self.all_fits:
            return f"{need} at once: both fit together into {room}."
        if self.activations_fit:
            return f"{need} at once: the activations fit into {room}, the weights beside them do not."
        return f"{need} at once: the activations alone do not fit into {room}."


def memory_of(plan: Plan, p: Precision, device: Device) -> Memory:
    """What a plan needs on the chip at a precision.

    Examples
    --------
    A chain of two: input and output of one operator are alive together, the first input is gone by then.

    >>> from roofline_lessons import Device, GraphBuilder, precision, unfused
    >>> b = GraphBuilder("two")
    >>> x = b.input("x", (1, 1000))
    >>> plan = unfused(b.build(outputs=[b.relu(b.relu(x))]))
    >>> memory_of(plan, precision("fp32"), Device("toy", {"fp32": 1e12}, 1e11)).activation_bytes
    8000.0
    """
    constants = {t.name: t for op in plan.graph for t in op.inputs if t.is_constant}
    weights = sum(float(tensor_bytes(t, t.elements, p)) for t in constants.values())
    return Memory(weights, peak_live_bytes(plan, p), device.on_chip_bytes)
