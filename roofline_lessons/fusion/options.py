"""Parameters that several functions of fusion take: each is described here, and `described` puts it into their docs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TypeVar

Function = TypeVar("Function", bound=Callable[..., object])

#: What a docstring says in place of "{depth}" and so on; a function adds what is its own, e.g. the default.
OPTIONS = {
    "depth": """depth : int, optional
    The most operators one kernel may hold. 1 is unfused.""",
    "tile": """tile : int or (height, width), optional
    Tile of the output of each kernel with several windowed operators (convolutions, poolings).""",
    "halo": """halo : str
    What becomes of overlaps of tiles: "recompute", "cache rows" or "cache all".""",
    "fold": """fold : bool, optional
    Fold batch norms into convolutions, where that is legal.""",
}


def described(function: Function) -> Function:
    """The function with the descriptions of `OPTIONS` in its docstring.

    Examples
    --------
    >>> @described
    ... def deepest(depth):
    ...     '''The deepest kernel.
    ...
    ...     {depth}
    ...         By default 4.
    ...     '''
    >>> print(deepest.__doc__)
    The deepest kernel.
    <BLANKLINE>
    depth : int, optional
        The most operators one kernel may hold. 1 is unfused.
        By default 4.
    """
    if function.__doc__:  # python -OO takes it out
        words = inspect.cleandoc(function.__doc__)
        for name, said in OPTIONS.items():
            words = words.replace(f"{{{name}}}", said)
        function.__doc__ = words
    return function
