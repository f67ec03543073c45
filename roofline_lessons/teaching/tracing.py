"""A tracing array: a few lines of NumPy that count their own bytes and FLOPs, operation by operation.

Each NumPy operation on a traced array is what a kernel is on a chip: it reads its inputs from memory and writes its
result back. So `np.maximum(2 * x + 1, 0)` makes three results, and two of them are temporaries that nobody asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

#: Operations that move numbers and compute none. All others do one operation per element; a product with @ is apart.
_MOVES = {
    "astype", "concatenate", "copy", "copyto", "hstack", "pad", "positive", "ravel", "repeat", "reshape", "roll",
    "stack", "take", "tile", "transpose", "vstack",
}  # fmt: skip


@dataclass(frozen=True)
class Step:
    """One operation: what it read and wrote. `result` names what it made (t0, t1, ... in order)."""

    operation: str
    inputs: tuple[str, ...]
    result: str
    bytes_read: int
    bytes_written: int
    flops: int


class Trace:
    """Counts what happens to the arrays it hands out.

    Attributes
    ----------
    steps : list of Step
    bytes_read, bytes_written, flops : int
        Totals of the steps.

    Examples
    --------
    >>> t = Trace()
    >>> x = t.array(np.ones(1000, np.float32), "x")
    >>> y = np.maximum(2 * x + 1, 0)
    >>> t.bytes_read, t.bytes_written, t.flops, t.temporaries(y)
    (12000, 12000, 3000, ['t0', 't1'])
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def array(self, values: Any, name: str) -> TracedArray:
        """Start tracing these values under a name."""
        return TracedArray(np.asarray(values), name, self)

    @property
    def bytes_read(self) -> int:
        return sum(s.bytes_read for s in self.steps)

    @property
    def bytes_written(self) -> int:
        return sum(s.bytes_written for s in self.steps)

    @property
    def flops(self) -> int:
        return sum(s.flops for s in self.steps)

    def temporaries(self, *results: TracedArray) -> list[str]:
        """Names of everything that was written to memory without being one of the results.

        A fused kernel would keep them on the chip.
        """
        kept = {r.name for r in results}
        return [s.result for s in self.steps if s.result not in kept]

    def to_frame(self) -> Any:
        """The steps as a pandas table."""
        import pandas

        rows = [
            {
                "operation": s.operation,
                "reads": ", ".join(s.inputs),
                "writes": s.result,
                "bytes_read": s.bytes_read,
                "bytes_written": s.bytes_written,
                "flops": s.flops,
            }
            for s in self.steps
        ]
        return pandas.DataFrame(rows)

    def __repr__(self) -> str:
        return (
            f"<Trace: {len(self.steps)} operations, {self.bytes_read:,} bytes read, "
            f"{self.bytes_written:,} bytes written, {self.flops:,} FLOP>"
        )


def trace() -> Trace:
    """A new `Trace`. Hand your arrays to its `array`, compute with NumPy, then look at it."""
    return Trace()


class TracedArray(NDArrayOperatorsMixin):
    """An array whose operations are counted by its `Trace`. Use it like a NumPy array.

    A view of it (a slice, a reshape, a transpose) moves nothing and counts nothing; it goes by the same name.
    """

    def __init__(self, values: np.ndarray, name: str, owner: Trace) -> None:
        self.values, self.name, self.owner = values, name, owner

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    @property
    def size(self) -> int:
        return self.values.size

    @property
    def ndim(self) -> int:
        return self.values.ndim

    @property
    def T(self) -> TracedArray:
        return self._view(self.values.T)

    def __len__(self) -> int:
        return len(self.values)

    def __float__(self) -> float:
        return float(self.values)

    def __getitem__(self, index: Any) -> TracedArray:
        parts = index if isinstance(index, tuple) else (index,)
        if all(part is None or part is ... or isinstance(part, (int, np.integer, slice)) for part in parts):
            return self._view(np.asarray(self.values[index]))
        return self._made("take", [self], self.values[_plain(index)], 0, None)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype, copy=copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        if method not in ("__call__", "reduce"):
            raise TypeError(f"rl.trace counts calls and reductions, not {ufunc.__name__}.{method}.")
        plain = tuple(_plain(i) for i in inputs)
        target = out[0] if out else None
        if target is not None:
            kwargs["out"] = (_plain(target),)
        values = getattr(ufunc, method)(*plain, **kwargs)
        if isinstance(values, tuple):
            raise TypeError(f"rl.trace counts operations with one result, and {ufunc.__name__} has {len(values)}.")
        return self._made(ufunc.__name__, inputs, np.asarray(values), _flops(ufunc, plain, values, method), target)

    def __array_function__(self, function: Any, types: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """np.sum, np.where ...: one step, one operation per element of the largest array involved; a view is none."""
        name = function.__name__
        if name in ("dot", "einsum", "tensordot", "convolve"):
            raise TypeError(f"rl.trace does not know the FLOPs of np.{name}; write the product with @.")
        operands = list(_arrays([*args, *kwargs.values()]))
        values = np.asarray(function(*_deep(args), **{k: _plain(v) for k, v in kwargs.items()}))
        if operands and np.shares_memory(values, operands[0].values):
            return operands[0]._view(values)
        flops = 0 if name in _MOVES else max([values.size, *(o.size for o in operands)])
        return self._made(name, operands, values, flops, None)

    def reshape(self, *shape: Any) -> TracedArray:
        return self._view(self.values.reshape(*shape))

    def astype(self, dtype: Any) -> TracedArray:
        return self._made("astype", [self], self.values.astype(dtype), 0, None)

    def sum(self, axis: Any = None) -> Any:
        return np.add.reduce(self, axis=axis)

    def max(self, axis: Any = None) -> Any:
        return np.maximum.reduce(self, axis=axis)

    def min(self, axis: Any = None) -> Any:
        return np.minimum.reduce(self, axis=axis)

    def mean(self, axis: Any = None) -> Any:
        return np.mean(self, axis=axis)

    def _view(self, values: np.ndarray) -> TracedArray:
        return TracedArray(values, self.name, self.owner)

    def _made(self, operation: str, inputs: Iterable[Any], values: np.ndarray, flops: int, target: Any) -> TracedArray:
        read = {i.name: i for i in inputs if isinstance(i, TracedArray)}
        result = target if target is not None else TracedArray(values, f"t{len(self.owner.steps)}", self.owner)
        moved = sum(i.values.nbytes for i in read.values())
        self.owner.steps.append(Step(operation, tuple(read), result.name, moved, values.nbytes, flops))
        return result

    def __repr__(self) -> str:
        return f"<traced {self.name}: {list(self.shape)} {self.dtype}>"


def _plain(value: Any) -> Any:
    return value.values if isinstance(value, TracedArray) else value


def _deep(values: Any) -> Any:
    return type(values)(_deep(v) for v in values) if isinstance(values, (tuple, list)) else _plain(values)


def _arrays(values: Any) -> Iterable[TracedArray]:
    for v in values:
        if isinstance(v, TracedArray):
            yield v
        elif isinstance(v, (tuple, list)):
            yield from _arrays(v)


def _flops(ufunc: np.ufunc, inputs: tuple[Any, ...], values: Any, method: str) -> int:
    if ufunc is np.matmul:
        return 2 * int(np.size(values)) * int(np.shape(inputs[0])[-1])
    if method == "reduce":
        return int(np.size(inputs[0]))
    return 0 if ufunc.__name__ in _MOVES else int(np.size(values))
