"""One operator of a TensorFlow Lite file, as the table sees it; and the two orders of an image's axes.

TensorFlow Lite keeps images as (batch, height, width, channels), this package writes (batch, channels, height, width).
Bytes do not move for that: a tensor that image operators make has its axes in our order from then on, and where an
operator needs the file's own order, a view ("layout") gives it back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import GraphError
from ..graph import Tensor
from .assembly import Assembly, NodeOfFile, NotKnown, Value, known_shape
from .tflite_file import TYPES, Contents, FileOperator, FileTensor

#: Our axes of an image, as axes of the file, and the other way round.
TO_IMAGE, TO_FILE = (0, 3, 1, 2), (0, 2, 3, 1)


class Flow:
    """The tensors of the file while they are turned into ours: each in the file's order of axes, in ours, or both."""

    def __init__(self, found: Contents, assembly: Assembly) -> None:
        self.found, self.assembly = found, assembly
        self.plain: dict[int, Tensor] = {}
        self.image: dict[int, Tensor] = {}
        self.constants: dict[int, Value] = {}
        self.outputs: list[Tensor] = []
        names: dict[str, int] = {}
        for i, t in enumerate(found.tensors):
            if t.is_constant:
                twice = t.name in names  # names of tensors are only comments
                self.constants[i] = _value(t, f"{t.name}#{i}" if twice else t.name)
                names[t.name] = i
        for i in found.inputs:
            if i not in self.constants:
                self.add_input(i)

    def add_input(self, i: int) -> None:
        """A tensor from outside; an image has its axes in our order."""
        t = self.found.tensors[i]
        if len(t.shape) == 4:
            self.image[i] = self.assembly.add_input(t.name, permuted(t.shape, TO_IMAGE), TYPES[t.dtype][0])
        else:
            self.plain[i] = self.assembly.add_input(t.name, t.shape, TYPES[t.dtype][0])

    def known(self, i: int) -> bool:
        return i in self.plain or i in self.image

    def get(self, i: int, image: bool) -> Tensor:
        """A tensor with its axes in one order or the other."""
        have, other = (self.image, self.plain) if image else (self.plain, self.image)
        if i not in have:
            if i not in other:
                raise GraphError(f"it reads {self.found.tensors[i].name!r:.80}, which nothing before it makes")
            t = other[i]
            if image and len(t.shape) != 4:
                raise GraphError(f"{t.name} {t.shape} is no image")
            have[i] = self._other_order(t, TO_IMAGE if image else TO_FILE)
        return have[i]

    def _other_order(self, t: Tensor, axes: tuple[int, ...]) -> Tensor:
        """A view with the axes in another order; with one place or one channel any order is the same."""
        out = permuted(t.shape, axes)
        kind, a = ("reshape", {"shape": out}) if _same_order(t.shape, axes) else ("layout", {"axes": axes})
        name = f"{t.name}/{'nchw' if axes == TO_IMAGE else 'nhwc'}"
        (made,) = self.assembly.emit(name, kind, [t], [(name, t.bits)], **a)
        return made

    def kept(self) -> list[Tensor]:
        """The outputs of the file, in whichever order they are."""
        found = [self.image.get(i) or self.plain.get(i) for i in self.found.outputs]
        return [t for t in (*found, *self.outputs) if t is not None]


def permuted(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(shape[i] for i in axes)


def _same_order(shape: Sequence[int], axes: Sequence[int]) -> bool:
    """Whether the elements stay in the same order: axes of size 1 may go anywhere."""
    moved = [i for i in axes if shape[i] > 1]
    return moved == sorted(moved)


def _value(t: FileTensor, name: str) -> Value:
    return Value(name, known_shape(name, t.shape), TYPES[t.dtype][0], t.dtype, data=t.data)


class Node(NodeOfFile):
    """One operator while it is turned into ours.

    Parameters
    ----------
    op : FileOperator
    name : str
        Made of its type and place: operators have no names in the file.
    flow : Flow
    """

    def __init__(self, op: FileOperator, name: str, flow: Flow) -> None:
        self.op, self.name, self.flow, self.assembly = op, name, flow, flow.assembly
        self.op_type, self.outputs = op.op_type, op.outputs

    # -- settings ----------------------------------------------------------------------------------------------------

    def option(self, name: str, default: Any = 0) -> Any:
        return self.op.options.get(name, default)

    # -- inputs ------------------------------------------------------------------------------------------------------

    def has(self, i: int) -> bool:
        return i < len(self.op.inputs) and self.op.inputs[i] >= 0

    def place(self, i: int) -> int:
        if not self.has(i):
            raise GraphError(f"input {i} of {self.op_type} is missing")
        return self.op.inputs[i]

    def file_tensor(self, i: int) -> FileTensor:
        return self.flow.found.tensors[self.place(i)]

    def shape(self, i: int) -> tuple[int, ...]:
        """The shape of an input, in the file's order."""
        shape = known_shape(self.file_tensor(i).name, self.file_tensor(i).shape)
        if 0 in shape:
            raise NotKnown(f"{self.file_tensor(i).name} is empty")
        return shape

    def out_shape(self, i: int = 0) -> tuple[int, ...]:
        """The shape of an output, in the file's order."""
        if i >= len(self.outputs):
            raise GraphError(f"output {i} of {self.op_type} is missing")
        t = self.flow.found.tensors[self.outputs[i]]
        return known_shape(t.name, t.shape)

    def is_constant(self, i: int) -> bool:
        return self.place(i) in self.flow.constants

    def data(self, i: int) -> list[Any] | None:
        """The numbers of a constant input as a flat list; None where there are none or they are not known."""
        if not self.has(i) or not self.is_constant(i):
            return None
        data = self.flow.constants[self.place(i)].data
        return None if data is None else data.ravel().tolist()

    def is_image(self, *places: int) -> bool:
        """Whether any of these inputs (all, by default) has its axes in our order only."""
        chosen = places or range(len(self.op.inputs))
        where = [self.op.inputs[i] for i in chosen if self.has(i)]
        return any(w in self.flow.image and w not in self.flow.plain for w in where)

    def tensor(self, i: int, image: bool = False) -> Tensor:
        """An input in one order of axes; one with fewer than four is given leading ones as an image."""
        shape = self.shape(i)
        if self.is_constant(i):
            value = self.flow.constants[self.place(i)]
            return self.assembly.constant(value, shape=_as_image(shape) if image else shape)
        if image and len(shape) < 4:
            return self.reshaped(self.flow.get(self.place(i), False), _as_image(shape))
        return self.flow.get(self.place(i), image)

    def weight(self, i: int, shape: tuple[int, ...]) -> Tensor:
        """A trained constant in the shape our operators want; a weight that is computed is a view."""
        if self.is_constant(i):
            return self.assembly.constant(self.flow.constants[self.place(i)], "weight", shape)
        return self.reshaped(self.flow.get(self.place(i), False), shape)

    # -- outputs -----------------------------------------------------------------------------------------------------

    def bits(self, output: int) -> int | None:
        return TYPES[self.flow.found.tensors[self.outputs[output]].dtype][0]

    def emit(self, kind: str, tensors: Sequence[Tensor], *, image: bool = False, **a: Any) -> Tensor:
        """The operator that makes output 0, then its fused activation, if any, as an operator of its own."""
        activation = ACTIVATIONS.get(self.option("FusedActivationFunction"))
        name = self.flow.found.tensors[self.outputs[0]].name
        if activation is None:
            (made,) = self.assembly.emit(self.name, kind, tensors, [(name, self.bits(0))], **a)
        else:
            (before,) = self.assembly.emit(self.name, kind, tensors, [(f"{name}/before", self.bits(0))], **a)
            (made,) = self.assembly.emit(
                f"{self.name}/{activation}", activation, [before], [(name, self.bits(0))], fused_with=self.name
            )
        self.define(0, made, image)
        return made

    def emit_all(self, kind: str, tensors: Sequence[Tensor], image: bool, **a: Any) -> None:
        """An operator that makes all outputs."""
        names = [(self.flow.found.tensors[o].name, self.bits(i)) for i, o in enumerate(self.outputs)]
        for i, made in enumerate(self.assembly.emit(self.name, kind, tensors, names, **a)):
            self.define(i, made, image)

    def define(self, output: int, made: Tensor, image: bool) -> None:
        """Say which tensor an output is. Its shape must be the one that the file states."""
        stated = self.out_shape(output)
        if len(stated) != len(made.shape) and image:
            raise GraphError(f"it makes {made.shape}, but the file says {stated}")
        if made.shape != (permuted(stated, TO_IMAGE) if image else stated):
            ours = permuted(made.shape, TO_FILE) if image else made.shape
            raise GraphError(f"it makes {ours}, but the file says {stated}")
        if self.flow.known(self.outputs[output]):
            raise GraphError(f"it makes {made.name!r:.80}, which exists already")
        (self.flow.image if image else self.flow.plain)[self.outputs[output]] = made


def _as_image(shape: tuple[int, ...]) -> tuple[int, ...]:
    """As it broadcasts against an image: leading ones, then our order of axes."""
    if len(shape) > 4:
        raise NotKnown(f"{len(shape)} axes")
    return permuted((1,) * (4 - len(shape)) + shape, TO_IMAGE)


#: What a fused activation is here.
ACTIVATIONS = {1: "relu", 2: "clip", 3: "relu6", 4: "tanh"}
