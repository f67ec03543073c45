"""Operators that compute nothing or little and move data: joins, copies, look-ups; and views, which move none."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import whole
from ..graph import Tensor
from .base import Base


class Movement(Base):
    """Methods that add operators which move data, and views."""

    def concat(
        self, parts: Sequence[Tensor], *, axis: int = 1, in_place: bool = False, name: str | None = None
    ) -> Tensor:
        """Join along an axis. `in_place`: the producers write into the result, so nothing moves here."""
        return self._add(self._name("concat", name), "concat", list(parts), axis=axis, in_place=in_place)

    def reshape(self, x: Tensor, shape: Sequence[int], *, name: str | None = None) -> Tensor:
        """A view with another shape; one dimension may be -1."""
        return self._add(self._name("reshape", name), "reshape", [x], shape=tuple(shape))

    def flatten(self, x: Tensor, *, axis: int = 1, name: str | None = None) -> Tensor:
        """A view with all axes from `axis` on merged."""
        return self._add(self._name("flatten", name), "flatten", [x], axis=axis)

    def squeeze(self, x: Tensor, axes: Sequence[int], *, name: str | None = None) -> Tensor:
        """A view without the named axes of size 1."""
        return self._add(self._name("squeeze", name), "squeeze", [x], axes=tuple(axes))

    def identity(self, x: Tensor, *, name: str | None = None) -> Tensor:
        """The same tensor under another name (a view)."""
        return self._add(self._name("identity", name), "identity", [x])

    def dropout(self, x: Tensor, *, name: str | None = None) -> Tensor:
        """Nothing at all: dropout acts in training only (a view)."""
        return self._add(self._name("dropout", name), "dropout", [x])

    def transpose(self, x: Tensor, axes: Sequence[int], *, in_place: bool = False, name: str | None = None) -> Tensor:
        """A materialised transpose (a copy in another order). `in_place`: its readers follow the strides (a view)."""
        return self._add(self._name("transpose", name), "transpose", [x], axes=tuple(axes), in_place=in_place)

    def slice(self, x: Tensor, start: int, stop: int, *, axis: int = 0, name: str | None = None) -> Tensor:
        """A copy of the places from `start` to before `stop` along an axis; only they are read."""
        name = self._name("slice", name)
        start, stop = (whole(f"{name}: {what}", v, 0) for what, v in (("start", start), ("stop", stop)))
        return self._add(name, "slice", [x], start=start, stop=stop, axis=axis)

    def expand(self, x: Tensor, shape: Sequence[int], *, name: str | None = None) -> Tensor:
        """A copy that repeats x until it fills `shape`."""
        return self._add(self._name("expand", name), "expand", [x], shape=tuple(shape))

    def rotary(self, x: Tensor, angles: Tensor, *, name: str | None = None) -> Tensor:
        """Rotary position embedding of x (..., positions, width).

        Value j of the first half and value j of the second are a point in a plane, which turns by an angle that
        depends on the position. `angles` (positions, width) holds the cosines, then the sines.
        """
        return self._add(self._name("rotary", name), "rotary", [x, angles])

    def gather(self, table: Tensor, index: Tensor, *, name: str | None = None) -> Tensor:
        """Rows of `table` by `index`; only the rows it names are read."""
        return self._add(self._name("gather", name), "gather", [table, index])

    def embedding(self, index: Tensor, rows: int, width: int, *, name: str | None = None) -> Tensor:
        """Look-up in a trained table (rows, width): a gather, not a matrix product."""
        name = self._name("embedding", name)
        return self.gather(self.weight(f"{name}.table", (rows, width)), index, name=name)
