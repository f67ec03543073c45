"""Constants of an ONNX file: their shapes, and their numbers where they are few; arithmetic on shapes.

A dynamic graph computes the shapes it reshapes to, node by node (Shape, Gather, Concat, ...). Once the symbolic sizes
are bound, all that is arithmetic on a few known numbers, and it is done here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, numpy_helper

from .assembly import Value, check_texts, known_shape, model_file_error

#: Constants of more elements are weights: their numbers are not looked at.
MOST_KNOWN = 1024

#: Bits of one element by element type. Floats are missing on purpose: the precision decides them.
BITS: Mapping[int, int] = {
    TensorProto.BOOL: 8, TensorProto.UINT8: 8, TensorProto.INT8: 8, TensorProto.UINT16: 16, TensorProto.INT16: 16,
    TensorProto.INT32: 32, TensorProto.UINT32: 32, TensorProto.INT64: 64, TensorProto.UINT64: 64,
    TensorProto.UINT4: 4, TensorProto.INT4: 4, TensorProto.FLOAT4E2M1: 4, TensorProto.FLOAT8E4M3FN: 8,
    TensorProto.FLOAT8E4M3FNUZ: 8, TensorProto.FLOAT8E5M2: 8, TensorProto.FLOAT8E5M2FNUZ: 8,
    TensorProto.COMPLEX64: 64, TensorProto.COMPLEX128: 128, TensorProto.STRING: 64,
}  # fmt: skip


def constant(name: str, tensor: TensorProto, path: Path) -> Value:
    """A tensor of the file: its shape, and its numbers where they are few.

    Raises
    ------
    ModelFileError
        External data that lies outside the file's folder.
    """
    shape = known_shape(name, tensor.dims)
    outside = _external(tensor, path)
    data = None
    if math.prod(shape) <= MOST_KNOWN:
        data = _numbers(tensor, outside, shape)
    return Value(name, shape, BITS.get(tensor.data_type), tensor.data_type, data=data)


def from_array(name: str, data: NDArray[Any]) -> Value:
    """A constant made on the way."""
    dtype = onnx.helper.np_dtype_to_tensor_dtype(data.dtype)
    return Value(name, data.shape, BITS.get(dtype), dtype, data=data)


def _external(tensor: TensorProto, path: Path) -> tuple[Path, int, int] | None:
    """Where a tensor's numbers lie outside the file: file, offset, length. Only below the model's own folder."""
    if tensor.data_location != TensorProto.EXTERNAL:
        return None
    entries = {e.key: e.value for e in tensor.external_data}
    check_texts((*entries, *entries.values()))
    location, folder = entries.get("location", ""), path.parent.resolve()
    try:
        target = (folder / location).resolve()
        inside = bool(location) and target.is_relative_to(folder)
    except (OSError, ValueError, RuntimeError):  # a NUL in the name, a loop of links
        inside = False
    if not inside or "\\" in location:
        raise model_file_error(
            path, f"weight {tensor.name!r:.80} is said to lie in {location!r:.80}, outside the folder of the model"
        )
    try:
        return target, max(int(entries.get("offset", 0)), 0), max(int(entries.get("length", -1)), -1)
    except ValueError:
        return target, 0, -1


def _numbers(tensor: TensorProto, outside: tuple[Path, int, int] | None, shape: tuple[int, ...]) -> Any:
    """The numbers of a small tensor; None where they are not there, or are others than its shape says."""
    if tensor.data_type in (TensorProto.STRING, TensorProto.UNDEFINED):
        return None
    try:
        held = tensor if outside is None else _fetched(tensor, outside, shape)
        return numpy_helper.to_array(held).reshape(shape)
    except Exception:  # no such file, types that do not exist, lengths that do not fit: shapes and counts still work
        return None


def _fetched(tensor: TensorProto, outside: tuple[Path, int, int], shape: tuple[int, ...]) -> TensorProto:
    """A small tensor with its numbers from the file in which they lie."""
    target, offset, length = outside
    held = TensorProto(dims=tensor.dims, data_type=tensor.data_type)
    width = BITS.get(tensor.data_type) or 8 * onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
    needed = math.ceil(math.prod(shape) * width / 8)
    if target.is_file() and length in (-1, needed):  # a pipe would be waited for
        with target.open("rb") as file:
            file.seek(offset)
            held.raw_data = file.read(needed)
    return held


# -- arithmetic on shapes ---------------------------------------------------------------------------------------------

Fold = Callable[[Sequence[Any], Mapping[str, Any]], Any]


def _axes(inputs: Sequence[Any], a: Mapping[str, Any]) -> tuple[int, ...] | None:
    """Axes as an input (newer opsets) or as an attribute."""
    given = inputs[1] if len(inputs) > 1 and inputs[1] is not None else a.get("axes")
    return None if given is None else tuple(int(i) for i in np.ravel(given))


def _unsqueeze(inputs: Sequence[Any], a: Mapping[str, Any]) -> Any:
    return np.expand_dims(inputs[0], _axes(inputs, a) or ())


def _slice(inputs: Sequence[Any], a: Mapping[str, Any]) -> Any:
    x = inputs[0]
    rest = [*inputs[1:], None, None, None, None][:4]
    starts, ends, axes, steps = (None if r is None else [int(i) for i in r] for r in rest)
    starts, ends = starts or list(a.get("starts", ())), ends or list(a.get("ends", ()))
    axes = axes or list(a.get("axes", range(len(starts))))
    where = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps or [1] * len(starts), strict=True):
        where[axis] = slice(start, None if step < 0 and end < -x.shape[axis] else end, step)
    return x[tuple(where)]


def _reshape(inputs: Sequence[Any], a: Mapping[str, Any]) -> Any:
    x, wanted = inputs[0], [int(d) for d in np.ravel(inputs[1])]
    if not a.get("allowzero"):
        wanted = [x.shape[i] if d == 0 else d for i, d in enumerate(wanted)]
    return x.reshape(wanted)


def _range(inputs: Sequence[Any], a: Mapping[str, Any]) -> Any:
    start, limit, delta = (np.ravel(i)[0] for i in inputs)
    if (limit - start) / delta > MOST_KNOWN:
        raise ValueError("too long")
    return np.arange(start, limit, delta, dtype=np.asarray(inputs[0]).dtype)


def _filled(inputs: Sequence[Any], a: Mapping[str, Any]) -> Any:
    shape = tuple(int(d) for d in np.ravel(inputs[0]))
    if math.prod(shape) > MOST_KNOWN:
        raise ValueError("a weight")
    value = numpy_helper.to_array(a["value"]) if "value" in a else np.zeros(1, np.float32)
    return np.full(shape, value.ravel()[0], value.dtype)


def _expand(inputs: Sequence[Any], a: Mapping[str, Any]) -> Any:
    shape = np.broadcast_shapes(inputs[0].shape, tuple(int(d) for d in np.ravel(inputs[1])))
    if math.prod(shape) > MOST_KNOWN:
        raise ValueError("a weight")
    return np.broadcast_to(inputs[0], shape)


def _div(inputs: Sequence[Any], a: Mapping[str, Any]) -> Any:
    """Whole numbers are divided towards zero."""
    x, y = inputs
    return np.trunc(x / y).astype(x.dtype) if np.issubdtype(x.dtype, np.integer) else x / y


def _cast(inputs: Sequence[Any], a: Mapping[str, Any]) -> Any:
    return inputs[0].astype(onnx.helper.tensor_dtype_to_np_dtype(a["to"]))


def _reduce(function: Any) -> Fold:
    return lambda i, a: function(i[0], axis=_axes(i, a), keepdims=bool(a.get("keepdims", 1)))


def _two(function: Any) -> Fold:
    return lambda i, a: function(*i)


#: Op type -> the same on arrays: what exporters compute shapes with.
FOLDS: Mapping[str, Fold] = {
    "Identity": lambda i, a: i[0],
    "Cast": _cast,
    "Concat": lambda i, a: np.concatenate(i, axis=a["axis"]),
    "Gather": lambda i, a: i[0].take(i[1], axis=a.get("axis", 0)),
    "Slice": _slice,
    "Squeeze": lambda i, a: np.squeeze(i[0], _axes(i, a)),
    "Unsqueeze": _unsqueeze,
    "Reshape": _reshape,
    "Transpose": lambda i, a: np.transpose(i[0], a.get("perm")),
    "Range": _range,
    "ConstantOfShape": _filled,
    "Expand": _expand,
    "Size": lambda i, a: np.array(i[0].size),
    "Add": _two(np.add), "Sub": _two(np.subtract), "Mul": _two(np.multiply), "Div": _div, "Mod": _two(np.mod),
    "Min": lambda i, a: np.minimum.reduce(np.broadcast_arrays(*i)),
    "Max": lambda i, a: np.maximum.reduce(np.broadcast_arrays(*i)),
    "Neg": _two(np.negative), "Abs": _two(np.abs), "Sqrt": _two(np.sqrt), "Pow": _two(np.power),
    "Floor": _two(np.floor), "Ceil": _two(np.ceil), "Round": _two(np.round),
    "Equal": _two(np.equal), "Less": _two(np.less), "Greater": _two(np.greater), "Not": _two(np.logical_not),
    "LessOrEqual": _two(np.less_equal), "GreaterOrEqual": _two(np.greater_equal),
    "And": _two(np.logical_and), "Or": _two(np.logical_or), "Where": _two(np.where),
    "ReduceProd": _reduce(np.prod), "ReduceSum": _reduce(np.sum), "ReduceMax": _reduce(np.max),
    "ReduceMin": _reduce(np.min),
}  # fmt: skip


def fold(op_type: str, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> NDArray[Any] | None:
    """What a node makes of known numbers; None where it is not arithmetic on shapes, or does not work out."""
    if op_type not in FOLDS or any(i is not None and i.size > MOST_KNOWN for i in inputs):
        return None
    try:
        with np.errstate(all="ignore"):
            made = np.asarray(FOLDS[op_type](inputs, attributes))
    except Exception:  # a hostile file may ask for anything; what does not work out is only not known
        return None
    return made if made.size <= MOST_KNOWN * 4 else None
