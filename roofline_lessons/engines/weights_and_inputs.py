"""Weights and inputs that engines compute with: the same ones for every engine, so that outputs can be compared."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import unknown_name
from ..graph import Graph, Tensor
from .errors import EngineError

Arrays = dict[str, NDArray[Any]]


def weights_of(graph: Graph, seed: int = 0) -> Arrays:
    """Every weight and buffer of a graph by name, as 32-bit floats.

    Random numbers, scaled so that values keep their size from layer to layer; but a weight whose name is a number is
    that number: a pattern like GELU is only found with the right ½ and √2 in it.

    Parameters
    ----------
    graph : Graph
    seed : int

    Examples
    --------
    >>> from roofline_lessons import GraphBuilder
    >>> b = GraphBuilder("half")
    >>> weights_of(b.build(outputs=[b.mul(b.input("x", (4,)), b.weight("0.5", (1,)))]))
    {'0.5': array([0.5], dtype=float32)}
    """
    rng = np.random.default_rng(seed)
    return {t.name: _weight(t, rng) for t in {t.name: t for op in graph for t in op.weights}.values()}


def inputs_of(graph: Graph, seed: int = 0) -> Arrays:
    """Random numbers for every input of a graph by name; zeros for indices."""
    rng = np.random.default_rng(seed)
    return {
        t.name: np.zeros(t.shape, np.int32) if t.bits else rng.standard_normal(t.shape, np.float32)
        for t in graph.inputs
    }


def given_inputs(graph: Graph, inputs: Mapping[str, ArrayLike] | None, seed: int = 0) -> Arrays:
    """Every input of a graph by name: those that are given, and random numbers for the rest.

    Raises
    ------
    UnknownNameError
        The graph has no input of this name.
    EngineError
        An array of another shape.
    """
    return replaced(graph.name, inputs_of(graph, seed), inputs)


def replaced(model: str, arrays: Arrays, inputs: Mapping[str, ArrayLike] | None, any_shape: bool = False) -> Arrays:
    """Arrays with those in their place that are given, as the same kind of numbers.

    A wrong name is told here: an engine may not miss it, and compute with what is there instead.
    """
    found = dict(arrays)
    for name, array in (inputs or {}).items():
        if name not in found:
            raise unknown_name(f"input of {model}", name, found)
        if np.shape(array) != found[name].shape and not any_shape:
            raise EngineError(f"{model}: the input {name!r} is {found[name].shape}, not {np.shape(array)}.")
        found[name] = np.asarray(array, found[name].dtype)
    return found


def _weight(t: Tensor, rng: np.random.Generator) -> NDArray[Any]:
    try:
        return np.full(t.shape, float(t.name), np.float32)
    except ValueError:  # a name like any other
        pass
    if t.name.endswith(".variance"):
        return rng.uniform(0.5, 2, t.shape).astype(np.float32)
    return rng.standard_normal(t.shape, np.float32) / np.float32(math.sqrt(max(math.prod(t.shape[1:]), 1)))
