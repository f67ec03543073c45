"""A chain of elementwise operators, run for real: with NumPy in three ways, with numexpr, and as one Numba loop.

The chain is multiply, add, ReLU, multiply, ... in fp32. Its numbers stay between 0 and 1 however often it runs over
its own results, so in-place runs neither overflow nor slow down on tiny numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import unknown_name, whole
from .errors import MeasureError
from .memory import aligned
from .protocol import installed

#: Operators of the chain in turn, and the number each takes.
KINDS = ("mul", "add", "relu")
_NUMBER = {"mul": np.float32(0.5), "add": np.float32(0.25), "relu": np.float32(0)}

#: One execution of a prepared chain: gives its output.
Program = Callable[[], np.ndarray]


@dataclass(frozen=True)
class Engine:
    """A way to run a chain.

    Parameters
    ----------
    name, library : str
    fused : bool
        One kernel for the whole chain, not one per operator.
    arrays : int
        How many arrays a kernel works on: its input and its output, or one array in place.
    chain_arrays : int
        How many arrays a chain of two or more operators works on.
    fresh : bool
        Every result gets a new array.
    """

    name: str
    library: str
    fused: bool
    arrays: int
    chain_arrays: int
    fresh: bool
    prepare: Callable[[Sequence[str], np.ndarray], Program]


def kinds_of(depth: int) -> tuple[str, ...]:
    """The operators of a chain of this depth.

    Examples
    --------
    >>> kinds_of(4)
    ('mul', 'add', 'relu', 'mul')
    """
    return tuple(KINDS[i % len(KINDS)] for i in range(whole("depth", depth)))


def available() -> list[str]:
    """Names of the engines whose library is installed."""
    return [engine.name for engine in ENGINES.values() if installed(engine.library)]


def engine(name: str) -> Engine:
    """The engine of this name.

    Raises
    ------
    UnknownNameError
        No such engine.
    MeasureError
        Its library is not installed; the message says how to install it.
    """
    found = engine_named(name)
    if not installed(found.library):
        raise MeasureError(f'The engine "{name}" needs {found.library}: python -m pip install {found.library}')
    return found


def engine_named(name: str) -> Engine:
    """The engine of this name, whether its library is installed or not.

    Raises
    ------
    UnknownNameError
        No such engine.
    """
    if name not in ENGINES:
        raise unknown_name("engine", name, ENGINES)
    return ENGINES[name]


def reference(kinds: Sequence[str], x: np.ndarray) -> np.ndarray:
    """What a chain computes, written as plainly as can be."""
    for kind in kinds:
        x = {"mul": np.multiply, "add": np.add, "relu": np.maximum}[kind](x, _NUMBER[kind])
    return x


# -- NumPy: one kernel per operator ------------------------------------------------------------------------------------

_UFUNC = {"mul": np.multiply, "add": np.add, "relu": np.maximum}


def _steps(kinds: Sequence[str]) -> list[tuple[Any, np.float32]]:
    return [(_UFUNC[kind], _NUMBER[kind]) for kind in kinds]


def _fresh(kinds: Sequence[str], x: np.ndarray) -> Program:
    """A new array for each result. The last one is held, as by who wanted it (see `Probes.fresh`)."""
    steps, held = _steps(kinds), [x]

    def program() -> np.ndarray:
        y = x
        for function, value in steps:
            y = function(y, value)
        held[0] = y
        return y

    return program


def _in_place(kinds: Sequence[str], x: np.ndarray) -> Program:
    steps, y = _steps(kinds), aligned(x.size)
    np.copyto(y, x)

    def program() -> np.ndarray:
        for function, value in steps:
            function(y, value, out=y)
        return y

    return program


def _ping_pong(kinds: Sequence[str], x: np.ndarray) -> Program:
    """Two arrays in turns, there from the start: what a careful program without fusion does."""
    both = aligned(x.size), aligned(x.size)
    steps = [(function, value, both[i % 2]) for i, (function, value) in enumerate(_steps(kinds))]

    def program() -> np.ndarray:
        y = x
        for function, value, out in steps:
            y = function(y, value, out=out)
        return y

    return program


# -- one kernel for the chain ------------------------------------------------------------------------------------------


def _numexpr(kinds: Sequence[str], x: np.ndarray) -> Program:
    """numexpr interprets the chain on blocks of a few thousand numbers: only input and output leave the cache."""
    import numexpr

    expression, out = _expression(kinds), aligned(x.size)
    names = {"x": x, **_NUMBER}  # numbers as fp32 variables: a literal would turn the chain into fp64

    return lambda: numexpr.evaluate(expression, local_dict=names, global_dict={}, out=out)


def _expression(kinds: Sequence[str]) -> str:
    """The chain as one expression. ReLU by `where`: numexpr's maximum of two fp32 numbers is fp64."""
    text = "x"
    for kind in kinds:
        text = {"mul": f"({text}*mul)", "add": f"({text}+add)", "relu": f"where({text}>relu,{text},relu)"}[kind]
    return text


def _numba(kinds: Sequence[str], x: np.ndarray) -> Program:
    """A loop written for this chain and compiled: what a fusing compiler makes."""
    function, out = _compiled(tuple(kinds)), aligned(x.size)

    def program() -> np.ndarray:
        function(x, out)
        return out

    return program


_COMPILED: dict[tuple[str, ...], Any] = {}


def _compiled(kinds: tuple[str, ...]) -> Any:
    if kinds not in _COMPILED:
        import numba

        names: dict[str, Any] = dict(_NUMBER)
        exec(loop_source(kinds), names)
        _COMPILED[kinds] = numba.njit(names["fused"])
    return _COMPILED[kinds]


def loop_source(kinds: Sequence[str]) -> str:
    """The fused loop as Python source.

    Examples
    --------
    >>> print(loop_source(("mul", "relu")))
    def fused(x, out):
        for i in range(x.size):
            v = x[i]
            v = v * mul
            v = v if v > relu else relu
            out[i] = v
    """
    line = {"mul": "v = v * mul", "add": "v = v + add", "relu": "v = v if v > relu else relu"}
    body = ["v = x[i]", *(line[kind] for kind in kinds), "out[i] = v"]
    return "def fused(x, out):\n    for i in range(x.size):\n" + "\n".join(f"        {text}" for text in body)


#: Every engine by its name.
ENGINES: Mapping[str, Engine] = {
    e.name: e
    for e in (
        Engine("numpy fresh", "numpy", False, 2, 2, True, _fresh),
        Engine("numpy in place", "numpy", False, 1, 1, False, _in_place),
        Engine("numpy ping-pong", "numpy", False, 2, 3, False, _ping_pong),
        Engine("numexpr", "numexpr", True, 2, 2, False, _numexpr),
        Engine("numba", "numba", True, 2, 2, False, _numba),
    )
}

LIBRARIES = tuple(dict.fromkeys(e.library for e in ENGINES.values()))
