"""A dict that is not to be changed, for the fields of frozen dataclasses."""

from __future__ import annotations

from typing import Any, NoReturn


class FrozenDict(dict[Any, Any]):
    """A dict that refuses changes. Unlike a mappingproxy it can be copied, compared and pickled.

    Examples
    --------
    >>> FrozenDict(a=1)["a"]
    1
    """

    def __hash__(self) -> int:  # type: ignore[override]  # a dict says it has none
        return hash(frozenset(self.items()))

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("this mapping cannot be changed; make a changed copy of what holds it.")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[Any, Any]]]:
        return FrozenDict, (dict(self),)
