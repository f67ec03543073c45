"""The contents of a TensorFlow Lite file: tensors, operators, subgraph 0, as plain records.

A flatbuffer is read by following offsets that the file itself gives, and a damaged one may lead anywhere: every length
is checked against the size of the file, and the sum of all that is read has a limit. The schema's classes come from
the package `tflite` (generated from TensorFlow's own schema).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tflite
from numpy.typing import NDArray

from .assembly import MOST_OPERATORS, model_file_error
from .files import opened

#: Numbers of constants with at most so many bytes are kept: axes, paddings, sizes.
KEPT_BYTES = 8192

#: What following a wrong offset leads to.
_ASTRAY = (struct.error, IndexError, ValueError, TypeError, OverflowError, AttributeError, MemoryError)

#: Element type -> bits, where the file fixes them, and the NumPy type of its numbers.
TYPES: dict[int, tuple[int | None, str | None]] = {
    tflite.TensorType.FLOAT32: (None, "<f4"), tflite.TensorType.FLOAT16: (None, "<f2"),
    tflite.TensorType.BFLOAT16: (None, None), tflite.TensorType.FLOAT64: (None, "<f8"),
    tflite.TensorType.INT4: (4, None), tflite.TensorType.INT8: (8, "<i1"), tflite.TensorType.UINT8: (8, "<u1"),
    tflite.TensorType.BOOL: (8, "?"), tflite.TensorType.INT16: (16, "<i2"), tflite.TensorType.UINT16: (16, "<u2"),
    tflite.TensorType.INT32: (32, "<i4"), tflite.TensorType.UINT32: (32, "<u4"),
    tflite.TensorType.INT64: (64, "<i8"), tflite.TensorType.UINT64: (64, "<u8"),
    tflite.TensorType.COMPLEX64: (64, None), tflite.TensorType.COMPLEX128: (128, None),
    tflite.TensorType.STRING: (64, None), tflite.TensorType.RESOURCE: (32, None),
    tflite.TensorType.VARIANT: (64, None),
}  # fmt: skip

_OPERATORS = {v: k for k, v in vars(tflite.BuiltinOperator).items() if isinstance(v, int)}
_OPTIONS = {v: k for k, v in vars(tflite.BuiltinOptions).items() if isinstance(v, int)}


@dataclass(frozen=True)
class FileTensor:
    """A tensor of the file: shape as it stands there (images are NHWC), element type, and small numbers."""

    name: str
    shape: tuple[int, ...]
    dtype: int
    is_constant: bool
    data: NDArray[Any] | None


@dataclass(frozen=True)
class FileOperator:
    """An operator of the file: -1 stands for an input that is not there."""

    op_type: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Any


@dataclass(frozen=True)
class Contents:
    tensors: list[FileTensor]
    operators: list[FileOperator]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def contents(path: Path) -> Contents:
    """What a TensorFlow Lite file holds.

    Raises
    ------
    ModelFileError
        Not such a file, or damaged.
    """
    with opened(path) as data:
        if bytes(data[4:8]) != b"TFL3":
            raise model_file_error(path, 'it is not a TensorFlow Lite file: bytes 4 to 8 are not "TFL3"')
        try:
            return _Reading(path, data).contents()
        except _ASTRAY as error:
            raise model_file_error(path, f"the file is damaged: an offset leads astray ({error})") from error


class _Reading:
    def __init__(self, path: Path, data: memoryview) -> None:
        self.path, self.data = path, data
        # an honest file holds each item in at least four bytes of its own
        self.left = max(4 * len(data), 4096)

    def contents(self) -> Contents:
        model = tflite.Model.GetRootAs(self.data, 0)
        if model.SubgraphsLength() < 1:
            raise model_file_error(self.path, "there is no graph in it")
        graph = model.Subgraphs(0)
        kinds = self.each(model.OperatorCodesLength, model.OperatorCodes, self.kind)
        if graph.OperatorsLength() > MOST_OPERATORS:
            raise model_file_error(self.path, f"it claims {graph.OperatorsLength():,} operators")
        tensors = self.each(graph.TensorsLength, graph.Tensors, lambda t: self.tensor(model, t))
        operators = self.each(graph.OperatorsLength, graph.Operators, lambda op: self.operator(kinds, op))
        inputs, outputs = self.numbers(graph.InputsAsNumpy), self.numbers(graph.OutputsAsNumpy)
        found = Contents(tensors, operators, inputs, outputs)
        _check_places(found)
        return found

    def spend(self, items: int) -> None:
        """Every item that is read costs; a file that claims more than it can hold runs out."""
        if items < 0:
            raise ValueError("a negative length")
        self.left -= 4 * items
        if self.left < 0:
            raise ValueError("it claims more items than it has bytes")

    def each(self, length: Callable[[], int], item: Callable[[int], Any], make: Callable[[Any], Any]) -> list[Any]:
        count = length()
        self.spend(count)
        return [make(item(i)) for i in range(count)]

    def numbers(self, vector: Callable[[], Any]) -> tuple[int, ...]:
        """A vector of whole numbers; the flatbuffer gives 0 where there is none."""
        values = vector()
        if isinstance(values, int):
            return ()
        self.spend(len(values))
        return tuple(values.tolist())

    def text(self, value: bytes | None) -> str:
        self.spend(len(value or b"") // 4)
        return (value or b"").decode(errors="replace")

    def kind(self, code: Any) -> str:
        """The operator's type. Old files have it in a field of one byte; what is custom has a name of its own."""
        number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
        if number == tflite.BuiltinOperator.CUSTOM:
            return f"CUSTOM {self.text(code.CustomCode())[:60]}".strip()
        return _OPERATORS.get(number, f"BUILTIN_{number}")

    def tensor(self, model: Any, t: Any) -> FileTensor:
        shape, dtype = self.numbers(t.ShapeAsNumpy), t.Type()
        if dtype not in TYPES:
            raise ValueError(f"element type {dtype} is not known")
        if not 0 <= t.Buffer() < max(model.BuffersLength(), 1):
            raise ValueError(f"buffer {t.Buffer()} is not there")
        buffer: Any = model.Buffers(t.Buffer()) if model.BuffersLength() else None
        length = buffer.DataLength() if buffer is not None else 0
        outside = buffer is not None and buffer.Offset() > 1  # a file over 2 GB: the numbers lie behind the flatbuffer
        is_constant = (length > 0 or outside) and not t.IsVariable()
        data = None
        numpy_type = TYPES[dtype][1]
        if is_constant and 0 < length <= KEPT_BYTES and numpy_type and length % np.dtype(numpy_type).itemsize == 0:
            self.spend(length // 4)
            data = np.frombuffer(bytes(buffer.DataAsNumpy()), numpy_type)
        return FileTensor(self.text(t.Name()), shape, dtype, is_constant, data)

    def operator(self, kinds: list[str], op: Any) -> FileOperator:
        index = op.OpcodeIndex()
        if not 0 <= index < len(kinds):
            raise ValueError(f"operator code {index} is not there")
        inputs, outputs = self.numbers(op.InputsAsNumpy), self.numbers(op.OutputsAsNumpy)
        return FileOperator(kinds[index], inputs, outputs, self.options(op))

    def options(self, op: Any) -> dict[str, Any]:
        """The settings of an operator: every field of its table of options, by name."""
        name, table = _OPTIONS.get(op.BuiltinOptionsType()), op.BuiltinOptions()
        if not name or name == "NONE" or table is None:
            return {}
        options = getattr(tflite, name)()
        options.Init(table.Bytes, table.Pos)
        fields = [f for f in dir(options) if f[0].isupper() and f != "Init" and not f.startswith("GetRoot")]
        fields = [f for f in fields if not f.endswith(("AsNumpy", "Length", "IsNone", "HasIdentifier"))]
        found = {}
        for f in fields:
            if f"{f}Length" not in dir(options):  # vectors repeat what tensors say
                found[f] = getattr(options, f)()
        return found


def _check_places(found: Contents) -> None:
    """Every number of a tensor is one that is there."""
    count = len(found.tensors)
    for i in (*found.inputs, *found.outputs):
        if not 0 <= i < count:
            raise ValueError(f"tensor {i} is not there")
    for op in found.operators:
        if any(not -1 <= i < count for i in op.inputs) or any(not 0 <= i < count for i in op.outputs):
            raise ValueError(f"an operator of the type {op.op_type} names a tensor that is not there")
