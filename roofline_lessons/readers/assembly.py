"""What the readers share: the graph that grows while a file is read, and what is said about what is not known.

A reader walks over the nodes of a file and looks each up in a table (op type -> a function that makes our operators).
The names of the file stand for `Value`s; operators and tensors are made here, so that every limit and every error
sentence is in one place.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ..errors import GraphError, ModelFileError, ModelFileWarning
from ..graph import Graph, Operator, Tensor
from ..operators import make_operator

#: No memory holds more elements: a dimension is wrong.
MOST_ELEMENTS = 10**15

#: A file with more is damaged or made to stop its reader. The largest networks have some ten thousand.
MOST_OPERATORS = 100_000

#: Most dimensions of a tensor.
MOST_DIMENSIONS = 32


class NotKnown(Exception):
    """An operator, or this use of it, that the readers have no cost for."""


class TooLong(NotKnown):
    """Loops that make too many operators together: the outermost one is not followed."""


@dataclass(frozen=True, eq=False)
class Value:
    """What a name in a file stands for.

    name : as in the file.
    shape : None where it is not known.
    bits : of one element where the file fixes them (integers); None where the precision decides (floats).
    dtype : the file's own code of the element type.
    tensor : of an activation; None for a constant.
    data : the numbers of a constant, where they are few and known.
    quantised : what this value was dequantised from.
    source : the constant of which this is the transpose (the two axes swapped).
    """

    name: str
    shape: tuple[int, ...] | None
    bits: int | None = None
    dtype: int = 0
    tensor: Tensor | None = None
    data: NDArray[Any] | None = None
    quantised: Value | None = None
    source: Value | None = None

    @property
    def is_constant(self) -> bool:
        return self.tensor is None and self.quantised is None


def shown(name: object) -> str:
    """A name from a file as it may stand in a message: short, and without line breaks."""
    text = "".join(c if c.isprintable() else "?" for c in str(name))
    return f'"{text if len(text) <= 80 else text[:77] + "..."}"'


def known_shape(what: str, shape: Sequence[int]) -> tuple[int, ...]:
    """A shape of whole numbers, none negative and together no more than any memory holds.

    Raises
    ------
    GraphError
        Otherwise; the sentence names the tensor.
    """
    dims = tuple(int(d) for d in shape[: MOST_DIMENSIONS + 1])
    if len(dims) > MOST_DIMENSIONS:
        raise GraphError(f"{shown(what)} has more than {MOST_DIMENSIONS} dimensions")
    if any(d < 0 for d in dims):
        raise GraphError(f"{shown(what)} has the shape {dims}: a dimension cannot be negative")
    if math.prod(dims) > MOST_ELEMENTS:
        raise GraphError(f"{shown(what)} has the shape {dims}: more elements than any memory holds")
    return dims


def check_texts(names: Iterable[object]) -> None:
    """Names must be texts: protobuf hands over as bytes what is not UTF-8.

    Raises
    ------
    GraphError
        One that is not.
    """
    for name in names:
        if not isinstance(name, str):
            raise GraphError(f"a name in it is no text: {name!r:.80}")


class Assembly:
    """The graph of a file while it is read.

    Parameters
    ----------
    path : Path
        For messages, and for the graph's name.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.inputs: list[Tensor] = []
        self.operators: list[Operator] = []
        self.unknown_kinds: Counter[str] = Counter()
        self.notes: list[str] = []
        self.unrolled = 0  # nodes read again and again in loops
        self._constants: dict[str, Tensor] = {}
        self._names: set[str] = set()
        self._tensor_names: set[str] = set()
        self._last_number: Counter[str] = Counter()
        self._maker: dict[str, int] = {}

    # -- words -------------------------------------------------------------------------------------------------------

    def error(self, reason: str, node: str | None = None) -> ModelFileError:
        """The error that names file, node and reason."""
        return model_file_error(self.path, reason, node)

    def note(self, sentence: str) -> None:
        """Something assumed: it is said once, in a warning, when the file is read."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    # -- tensors -----------------------------------------------------------------------------------------------------

    def add_input(self, name: str, shape: Sequence[int], bits: int | None) -> Tensor:
        tensor = Tensor(self._unique(name, self._tensor_names), known_shape(name, shape), bits=bits)
        self.inputs.append(tensor)
        return tensor

    def constant(self, value: Value, role: str | None = None, shape: tuple[int, ...] | None = None) -> Tensor:
        """The tensor of a constant, the same one each time: a weight that several operators share counts once.

        A number without axes and a table of whole numbers are not trained: buffers, unless `role` says more.
        """
        shape = value.shape if shape is None else shape
        if shape is None:
            raise NotKnown(f"the shape of {value.name} is not known")
        key = value.name
        known = self._constants.get(key)
        if known is not None and known.shape == shape:
            return known
        if known is not None:  # the same numbers in another shape
            key = f"{value.name} {'x'.join(map(str, shape))}"
            if key in self._constants:
                return self._constants[key]
        trained = len(shape) > 0 and (value.bits is None or value.bits <= 16)
        name = self._unique(key, self._tensor_names)
        role = "buffer" if known is not None else role or ("weight" if trained else "buffer")  # counted once
        self._constants[key] = Tensor(name, known_shape(value.name, shape), role, value.bits)
        return self._constants[key]

    # -- operators ---------------------------------------------------------------------------------------------------

    def emit(
        self,
        name: str,
        kind: str,
        inputs: Sequence[Tensor],
        outputs: Sequence[tuple[str, int | None]],
        **attributes: Any,
    ) -> tuple[Tensor, ...]:
        """Add an operator; `outputs` are (name, bits). Returns its output tensors."""
        if not inputs and kind != "unknown":
            raise GraphError(f"{kind} needs an input")
        if len(self.operators) >= MOST_OPERATORS:
            raise self.error(f"more than {MOST_OPERATORS:,} operators")
        names = [self._unique(out, self._tensor_names) for out, _ in outputs]
        op = make_operator(self._unique(name, self._names), kind, inputs, attributes, names)
        for t in op.outputs:
            known_shape(t.name, t.shape)
        made = tuple(replace(t, bits=bits) for t, (_, bits) in zip(op.outputs, outputs, strict=True))
        self._maker |= {t.name: len(self.operators) for t in made}
        self.operators.append(replace(op, outputs=made))
        return made

    def emit_unknown(
        self, name: str, op_type: str, inputs: Sequence[Tensor], outputs: Sequence[tuple[str, int | None]],
        shapes: Sequence[tuple[int, ...]],
    ) -> tuple[Tensor, ...]:  # fmt: skip
        """Add an operator of which only the bytes are known."""
        self.unknown_kinds[op_type] += 1
        return self.emit(name, "unknown", inputs, outputs, op_type=op_type, shapes=tuple(shapes))

    def maker(self, tensor: Tensor) -> Operator | None:
        """The operator that makes a tensor."""
        at = self._maker.get(tensor.name)
        return None if at is None else self.operators[at]

    def narrow(self, tensor: Tensor, bits: int) -> Tensor:
        """Let the operator that makes a tensor write elements of so many bits."""
        at = self._maker[tensor.name]
        narrow = replace(tensor, bits=bits)
        op = self.operators[at]
        outputs = tuple(narrow if t.name == tensor.name else t for t in op.outputs)
        self.operators[at] = replace(op, outputs=outputs)
        return narrow

    def _unique(self, name: str, taken: set[str]) -> str:
        """The name itself, or with the first free number: one counter per name, so that a million stay quick."""
        made = name
        while made in taken:
            self._last_number[name] += 1
            made = f"{name}_{self._last_number[name]}"
        taken.add(made)
        return made

    # -- the end -----------------------------------------------------------------------------------------------------

    def graph(self, outputs: Sequence[Tensor]) -> Graph:
        """The finished graph. What was assumed and what is not known is said in one warning each."""
        if not self.operators:
            raise self.error("it has no operator that does anything")
        if not outputs:
            raise self.error("none of its outputs is made by an operator")
        try:
            graph = Graph(self.path.stem, self.inputs, self.operators, list(dict.fromkeys(outputs)))
        except GraphError as error:
            raise self.error(str(error)) from error
        if self.notes:
            _warn(f"{self.path.name}: {'; '.join(self.notes)}.")
        if self.unknown_kinds:
            kinds = ", ".join(f"{kind} ({n})" if n > 1 else kind for kind, n in sorted(self.unknown_kinds.items()))
            _warn(
                f"{self.path.name}: operators whose FLOPs are not known, only their bytes: {kinds}. "
                "The estimate's unknown_bytes_share says how much of the traffic is theirs."
            )
        return graph


def model_file_error(path: Path, reason: str, node: str | None = None) -> ModelFileError:
    """The error that names file, node and reason."""
    where = f", node {shown(node)}" if node else ""
    return ModelFileError(f"{path.name}{where}: {reason.rstrip('.')}.")


def _warn(message: str) -> None:
    warnings.warn(message, ModelFileWarning, stacklevel=4)


class NodeOfFile:
    """What a node of any file can do while it is turned into operators of an assembly."""

    name: str
    assembly: Assembly

    def before(self, kind: str, tensors: Sequence[Tensor], suffix: str, **a: Any) -> Tensor:
        """An operator whose result only this node sees."""
        name = f"{self.name}/{suffix}"
        (made,) = self.assembly.emit(name, kind, tensors, [(name, tensors[0].bits)], **a)
        return made

    def reshaped(self, tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
        """A view with another shape; the tensor itself where the shape is the same."""
        return tensor if tensor.shape == shape else self.before("reshape", [tensor], "view", shape=shape)
