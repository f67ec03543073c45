"""A graph or a plan as a TensorFlow Lite file: one operator of the file for each kernel.

In a TensorFlow Lite file it is written which activation is fused: an operator has a field for it. The converter
decides; the interpreter does what the file says. So two plans of one graph are two files, twins that differ in what is
fused and in nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import tflite
from numpy.typing import NDArray

from ..arithmetic import scale_and_shift
from ..fusion import Plan, unfused
from ..graph import Graph, Operator, Tensor
from .errors import EngineError
from .tflite_file import TFLiteFile
from .tflite_kinds import FUSED_ACTIVATION, KINDS, Part
from .weights_and_inputs import Arrays, weights_of

#: Our axes of an image (batch, channels, height, width) as TensorFlow Lite's (batch, height, width, channels).
TO_FILE = (0, 2, 3, 1)

#: What constants may do to the result of a convolution or product, and how that is done to its weight and its bias.
_FOLDS: Mapping[str, tuple[Callable[[Any, Any], Any] | None, Callable[[Any, Any], Any]]] = {
    "add": (None, np.add), "bias_add": (None, np.add), "sub": (None, np.subtract),
    "mul": (np.multiply, np.multiply), "div": (np.divide, np.divide),
}  # fmt: skip


def write_tflite(model: Graph | Plan, path: str | PathLike[str], weights: Arrays | None = None) -> None:
    """Write a graph or a plan as a TensorFlow Lite file of 32-bit floats.

    A kernel becomes one operator of the file: batch norms and biases go into its weights, an activation behind it into
    its field for that. Of a graph every operator is on its own; a batch norm is then a multiplication and an addition.

    Parameters
    ----------
    model : Graph or Plan
    path : path of the file to write
    weights : dict of str to array, optional
        Of each weight and buffer by name; random numbers when not given.

    Raises
    ------
    EngineError
        A kind of operator, or a kernel, that TensorFlow Lite has no operator for.
    """
    Path(path).write_bytes(packed(model, weights))


def packed(model: Graph | Plan, weights: Arrays | None = None) -> bytes:
    """The file that `write_tflite` writes."""
    plan = model if isinstance(model, Plan) else unfused(model)
    writer = Writer(plan.graph, weights_of(plan.graph) if weights is None else weights)
    kernels = {kernel.operators[0].name: kernel.operators for kernel in plan.kernels}
    for op in _in_order(plan):
        writer.kernel(kernels.get(op.name, (op,)))
    writer.file.outputs += [writer.places[t.name] for t in plan.graph.outputs]
    return writer.file.packed()


def _in_order(plan: Plan) -> list[Operator]:
    """The first operators of the kernels, and the views, each behind what it reads."""
    waiting = [kernel.operators for kernel in plan.kernels] + [(op,) for op in plan.graph if op.is_view]
    made = {t.name for t in plan.graph.inputs}
    order: list[Operator] = []
    while waiting:
        for group in waiting:
            inside = {t.name for op in group for t in op.outputs}
            if all(t.name in made or t.name in inside for op in group for t in op.activations):
                break
        waiting.remove(group)
        made |= inside
        order.append(group[0])
    return order


def has_images(graph: Graph) -> bool:
    """Whether a network works on images: its tensors of four axes then have these in another order in the file."""
    return any("kernel" in op.attributes for op in graph)


class Writer:
    """The file while it is made, and where each tensor of the graph stands in it."""

    def __init__(self, graph: Graph, weights: Arrays) -> None:
        self.graph, self.weights, self.file = graph, weights, TFLiteFile()
        self.has_images = has_images(graph)
        self.places: dict[str, int] = {}
        for t in graph.inputs:
            self.places[t.name] = self.file.tensor(t.name, self.shape(t), np.int32 if t.bits else np.float32)
            self.file.inputs.append(self.places[t.name])

    def is_image(self, t: Tensor) -> bool:
        """Whether a tensor's axes are in another order in the file."""
        return self.has_images and len(t.shape) == 4

    def shape(self, t: Tensor) -> tuple[int, ...]:
        return tuple(t.shape[i] for i in TO_FILE) if self.is_image(t) else t.shape

    def axis(self, axis: int, t: Tensor) -> int:
        """An axis of ours in the file."""
        axis %= len(t.shape)
        return TO_FILE.index(axis) if self.is_image(t) else axis

    def constant(self, name: str, array: Any, kind: Any = np.float32) -> int:
        return self.file.constant(name, np.asarray(array, kind))

    def operand(self, t: Tensor, image: bool = False) -> int:
        """Where a tensor stands; a constant is written, in the order of axes of the images it meets."""
        if not t.is_constant:
            return self.places[t.name]
        array = self.weights[t.name]
        if image and array.ndim and array.size > 1:
            array = array.reshape((1,) * (4 - array.ndim) + array.shape).transpose(TO_FILE)
        return self.constant(t.name, array)

    def step(self, op_type: str, inputs: Sequence[int], like: Tensor, options: str = "", **settings: Any) -> int:
        """An operator in between, whose result has the shape of a tensor."""
        place = self.file.tensor(f"{like.name}/{op_type.lower()}", self.shape(like))
        self.file.operator(op_type, inputs, [place], options, **settings)
        return place

    def kernel(self, operators: Sequence[Operator]) -> None:
        """One operator of the file for a kernel."""
        anchor, *rest = operators
        if anchor.kind not in KINDS:
            raise EngineError(f"{anchor.name}: TensorFlow Lite has no operator for {anchor.kind}.")
        kind = KINDS[anchor.kind]
        last = operators[-1]
        if last.output.name not in self.places and anchor.kind not in ("identity", "dropout"):
            self.places[last.output.name] = self.file.tensor(last.output.name, self.shape(last.output))
        activation = tflite.ActivationFunctionType.NONE
        if rest and rest[-1].kind in FUSED_ACTIVATION and kind.takes_activation:
            activation = FUSED_ACTIVATION[rest.pop().kind]
        if any(not _can_be_folded(op) for op in rest) or (rest and not kind.takes_bias):
            said = ", ".join(f"{op.kind} ({op.name})" for op in operators)
            raise EngineError(f"TensorFlow Lite has no operator that does {said} at once.")
        weight, bias = self._folded(anchor, rest) if kind.takes_bias else (None, None)
        kind.write(self, Part(anchor, last.output, activation, weight, bias))

    def _folded(self, anchor: Operator, rest: Sequence[Operator]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Weight (outputs first) and bias of a convolution or product, with everything constant behind it in them."""
        weight = self.weights[anchor.inputs[1].name].astype(np.float64)
        weight = weight.T if anchor.attributes.get("transposed") else weight
        channels = anchor.output.shape[1 if len(anchor.output.shape) == 4 else -1]
        bias = np.zeros(channels)
        if len(anchor.inputs) > 2:
            bias = bias + self.weights[anchor.inputs[2].name]
        for op in rest:
            if op.kind == "batch_norm":
                factor, offset = scale_and_shift([self.weights[t.name].astype(np.float64) for t in op.weights])
                weight, bias = weight * _by_channel(factor, weight), bias * factor + offset
                continue
            of_weight, of_bias = _FOLDS[op.kind]
            vector = np.broadcast_to(self.weights[op.weights[0].name].astype(np.float64).reshape(-1), channels)
            weight = weight if of_weight is None else of_weight(weight, _by_channel(vector, weight))
            bias = of_bias(bias, vector)
        return weight.astype(np.float32), bias.astype(np.float32)


def _can_be_folded(op: Operator) -> bool:
    """Constants per channel, or one for all: behind a convolution or product they go into its weight and bias."""
    if op.kind == "batch_norm":
        return True
    channels = op.output.shape[1 if len(op.output.shape) == 4 else -1]
    constant = len(op.weights) == 1 and (op.kind in ("add", "mul") or not op.inputs[0].is_constant)
    return op.kind in _FOLDS and constant and op.weights[0].elements in (1, channels)


def _by_channel(vector: NDArray[Any], weight: NDArray[Any]) -> NDArray[Any]:
    """A number for each output channel, in the shape that broadcasts against a weight."""
    return vector.reshape(-1, *(1 for _ in weight.shape[1:]))
