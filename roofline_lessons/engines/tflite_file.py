"""A TensorFlow Lite file, tensor by tensor and operator by operator, packed with the schema's own functions.

The schema (https://github.com/tensorflow/tensorflow, tensorflow/compiler/mlir/lite/schema/schema.fbs) comes from the
package `tflite`; TensorFlow itself is not needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flatbuffers
import numpy as np
import tflite
from numpy.typing import NDArray

_TYPES = {np.dtype(np.float32): tflite.TensorType.FLOAT32, np.dtype(np.int32): tflite.TensorType.INT32}

#: What there is no room for in one byte is in a second field; programs of before 2020 read the first one only.
_MOST_IN_OLD_FIELD = 127

_VERSION = 3


class TFLiteFile:
    """What goes into the file. Tensors are numbers from 0 on, in the order in which they are added."""

    def __init__(self) -> None:
        self.inputs: list[int] = []
        self.outputs: list[int] = []
        self._tensors: list[tuple[str, tuple[int, ...], int, bytes]] = []
        self._codes: list[int] = []
        self._operators: list[tuple[int, Sequence[int], Sequence[int], str, dict[str, Any]]] = []

    def tensor(self, name: str, shape: Sequence[int], kind: Any = np.float32) -> int:
        """Add an activation."""
        self._tensors.append((name, tuple(shape), _TYPES[np.dtype(kind)], b""))
        return len(self._tensors) - 1

    def constant(self, name: str, array: NDArray[Any]) -> int:
        """Add a constant with its numbers."""
        self._tensors.append((name, array.shape, _TYPES[array.dtype], np.ascontiguousarray(array).tobytes()))
        return len(self._tensors) - 1

    def operator(
        self, op_type: str, inputs: Sequence[int], outputs: Sequence[int], options: str = "", **settings: Any
    ) -> None:
        """Add an operator: its type, the tensors it reads (-1: none) and makes, its options and their values."""
        code = getattr(tflite.BuiltinOperator, op_type)
        if code not in self._codes:
            self._codes.append(code)
        self._operators.append((self._codes.index(code), inputs, outputs, options, settings))

    def packed(self) -> bytes:
        """The file."""
        b = flatbuffers.Builder(1024 + sum(len(raw) for *_, raw in self._tensors))
        buffers = [_buffer(b, raw) for raw in (b"", *(raw for *_, raw in self._tensors))]  # buffer 0 is the empty one
        tensors = [_tensor(b, i, *t[:3], has_numbers=bool(t[3])) for i, t in enumerate(self._tensors, 1)]
        operators = [_operator(b, *op) for op in self._operators]
        graph = _table(
            b, "SubGraph",
            Tensors=_offsets(b, tflite.SubGraphStartTensorsVector, tensors),
            Inputs=_numbers(b, tflite.SubGraphStartInputsVector, self.inputs),
            Outputs=_numbers(b, tflite.SubGraphStartOutputsVector, self.outputs),
            Operators=_offsets(b, tflite.SubGraphStartOperatorsVector, operators),
        )  # fmt: skip
        codes = [_code(b, code) for code in self._codes]
        model = _table(
            b, "Model",
            Version=_VERSION,
            OperatorCodes=_offsets(b, tflite.ModelStartOperatorCodesVector, codes),
            Subgraphs=_offsets(b, tflite.ModelStartSubgraphsVector, [graph]),
            Buffers=_offsets(b, tflite.ModelStartBuffersVector, buffers),
        )  # fmt: skip
        b.Finish(model, b"TFL3")
        return bytes(b.Output())


def _table(b: Any, name: str, **fields: Any) -> int:
    """One table of the schema; everything it points to must stand in the file already."""
    getattr(tflite, f"{name}Start")(b)
    for field, value in fields.items():
        if value is not None:
            getattr(tflite, f"{name}Add{field}")(b, value)
    return int(getattr(tflite, f"{name}End")(b))


def _buffer(b: Any, raw: bytes) -> int:
    if not raw:
        return _table(b, "Buffer")
    tflite.BufferStartDataVector(b, len(raw))
    b.head -= len(raw)
    b.Bytes[b.head : b.head + len(raw)] = raw
    return _table(b, "Buffer", Data=b.EndVector())


def _tensor(b: Any, place: int, name: str, shape: tuple[int, ...], kind: int, *, has_numbers: bool) -> int:
    text, dims = b.CreateString(name), _numbers(b, tflite.TensorStartShapeVector, shape)
    return _table(b, "Tensor", Shape=dims, Type=kind, Buffer=place if has_numbers else 0, Name=text)


def _operator(
    b: Any, code: int, inputs: Sequence[int], outputs: Sequence[int], options: str, settings: dict[str, Any]
) -> int:
    table = _table(b, options, **settings) if options else None
    return _table(
        b, "Operator",
        OpcodeIndex=code,
        Inputs=_numbers(b, tflite.OperatorStartInputsVector, inputs),
        Outputs=_numbers(b, tflite.OperatorStartOutputsVector, outputs),
        BuiltinOptionsType=getattr(tflite.BuiltinOptions, options) if options else None,
        BuiltinOptions=table,
    )  # fmt: skip


def _code(b: Any, code: int) -> int:
    old = min(code, _MOST_IN_OLD_FIELD)
    return _table(b, "OperatorCode", DeprecatedBuiltinCode=old, BuiltinCode=code, Version=1)


def _numbers(b: Any, start: Callable[[Any, int], Any], values: Sequence[int]) -> int:
    start(b, len(values))
    for value in reversed(values):
        b.PrependInt32(value)
    return int(b.EndVector())


def _offsets(b: Any, start: Callable[[Any, int], Any], values: Sequence[int]) -> int:
    start(b, len(values))
    for value in reversed(values):
        b.PrependUOffsetTRelative(value)
    return int(b.EndVector())
