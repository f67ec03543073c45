"""Run a graph, or a plan, on real numbers: the proof that fusing, folding and tiling change no result.

A plan runs kernel by kernel, with batch norms folded into weights, and a tiled kernel tile by tile with its halo
computed again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .arithmetic import RUN, Array, run_operator, scale_and_shift
from .errors import GraphError
from .fusion.plan import Kernel, Plan
from .fusion.tiling import input_interval, regions, unclipped_interval
from .graph import Graph, Operator, Tensor

Arrays = dict[str, Array]


def random_arrays(graph: Graph, rng: np.random.Generator) -> Arrays:
    """Numbers for every input, weight and buffer of a graph, by name.

    Variances are positive; a tensor with fixed bits (indices) holds whole numbers from 0 to what its table has.
    """
    arrays: Arrays = {}
    for t in _given(graph).values():
        arrays[t.name] = rng.normal(size=t.shape)
        if t.name.endswith(".variance"):
            arrays[t.name] = rng.uniform(0.5, 2, size=t.shape)
        if t.bits is not None:
            arrays[t.name] = rng.integers(0, _rows(graph, t), size=t.shape)
    return arrays


def _given(graph: Graph) -> dict[str, Tensor]:
    """What a graph needs from outside: inputs, weights and buffers, by name."""
    return {t.name: t for t in (*graph.inputs, *(t for op in graph for t in op.weights))}


def _rows(graph: Graph, index: Tensor) -> int:
    readers = [op for op in graph.consumers.get(index.name, ()) if op.kind == "gather"]
    return min((op.inputs[0].shape[0] for op in readers), default=2)


def execute(graph_or_plan: Graph | Plan, arrays: Mapping[str, Array]) -> Arrays:
    """Run a graph operator by operator, or a plan kernel by kernel.

    Parameters
    ----------
    graph_or_plan : Graph or Plan
    arrays : mapping of str to array
        Every input, weight and buffer, by name; e.g. from `random_arrays`.

    Returns
    -------
    dict of str to array
        The outputs of the graph, by name.

    Raises
    ------
    GraphError
        An array that is missing, or that has another shape than its tensor.
    """
    graph = graph_or_plan.graph if isinstance(graph_or_plan, Plan) else graph_or_plan
    known = dict(arrays)
    _check(graph, known)
    if isinstance(graph_or_plan, Graph):
        for op in graph:
            known[op.output.name] = run_operator(op, [known[t.name] for t in op.inputs])
    else:
        for kernel in graph_or_plan.kernels:
            _views(graph, known)
            _run_kernel(graph, kernel, known)
        _views(graph, known)
    return {t.name: known[t.name] for t in graph.outputs}


def _check(graph: Graph, known: Arrays) -> None:
    for name, t in _given(graph).items():
        if name not in known:
            raise GraphError(f"{graph.name} needs an array for {name!r} {t.shape}, and none is given.")
        if np.shape(known[name]) != t.shape:
            raise GraphError(f"{graph.name}: the array for {name!r} must be {t.shape}, not {np.shape(known[name])}.")


def _views(graph: Graph, known: Arrays) -> None:
    """Views are other words for arrays that are there."""
    for op in graph:
        if op.is_view and op.output.name not in known and all(t.name in known for t in op.inputs):
            known[op.output.name] = run_operator(op, [known[t.name] for t in op.inputs])


def _run_kernel(graph: Graph, kernel: Kernel, known: Arrays) -> None:
    """Run the operators of a kernel; what it does not write is forgotten, as a chip would."""
    constants = known | _folded(graph, kernel, known)
    # a folded batch norm is gone: its convolution makes what it made
    makes = {op.name: op.output.name for op in kernel.operators}
    makes |= {graph.producers[n.inputs[0].name].name: n.output.name for n in kernel.folded}
    operators = [op for op in kernel.operators if op not in kernel.folded]
    local = dict(known)
    if kernel.attention is not None:
        _views(graph, local)
        local[operators[-1].output.name] = _run_attention(operators, local)
    elif kernel.tiling is None:
        for op in operators:
            _views(graph, local)
            local[makes[op.name]] = run_operator(op, _operands(op, constants, lambda t: local[t.name]))
    else:
        local |= _run_tiles(kernel, operators, makes, constants, known)
    for transfer in kernel.writes:
        known[transfer.tensor.name] = local[transfer.tensor.name]


def _operands(op: Operator, constants: Arrays, activation: Callable[[Tensor], Array]) -> list[Array]:
    """The arrays an operator reads; a convolution with a batch norm in it has another bias, or one at last."""
    arrays = [constants[t.name] if t.is_constant else activation(t) for t in op.inputs]
    bias = constants.get(_folded_bias(op))
    return arrays if bias is None else [*arrays[:2], bias]


def _folded_bias(conv: Operator) -> str:
    return f"{conv.name} with its batch norm: bias"


def _folded(graph: Graph, kernel: Kernel, known: Arrays) -> Arrays:
    """Weights and biases with the batch norms of a kernel in them: w' = w s, b' = b s + t, per output channel."""
    changed: Arrays = {}
    for norm in kernel.folded:
        conv = graph.producers[norm.inputs[0].name]
        scale, shift = scale_and_shift([known[t.name] for t in norm.inputs[1:]])
        weight = conv.inputs[1].name
        changed[weight] = known[weight] * _by_output_channel(conv, scale)
        bias = known[conv.inputs[2].name] if len(conv.inputs) > 2 else 0.0
        changed[_folded_bias(conv)] = bias * scale + shift
    return changed


def _by_output_channel(conv: Operator, scale: Array) -> Array:
    """A vector over output channels in the shape of the weight.

    A transposed convolution's weight is (C_in, C_out / groups, ...): output channel j of group g belongs to the input
    channels of group g (a known fault of another tool permutes them, F5).
    """
    if conv.kind == "conv2d":
        return scale[:, None, None, None]
    groups, (inputs, per_group) = conv.attributes["groups"], conv.inputs[1].shape[:2]
    return np.repeat(scale.reshape(groups, per_group), inputs // groups, axis=0)[:, :, None, None]


def _run_attention(operators: Sequence[Operator], known: Arrays, blocks: int = 3) -> Array:
    """Attention by blocks of keys: running maximum and sum of each row, and no score survives its block.

    Dao et al., "FlashAttention", arXiv 2205.14135, 2022, algorithm 1.
    """
    scores_of, *between, weigh = operators
    at = next(i for i, op in enumerate(between) if op.kind == "softmax")
    keys = between[at].output.shape[-1]
    axis = -2 if scores_of.attributes["transpose_b"] else -1
    q, k, v = known[scores_of.inputs[0].name], known[scores_of.inputs[1].name], known[weigh.inputs[1].name]
    most, total, result = -np.inf, 0.0, 0.0
    for some in np.array_split(np.arange(keys), min(blocks, keys)):
        scores = run_operator(scores_of, [q, np.take(k, some, axis)])
        scores = _run_between(between[:at], scores, known, some, keys)
        highest = np.maximum(most, scores.max(-1, keepdims=True))
        before = np.exp(most - highest)  # what was summed so far had another maximum taken off
        parts = np.exp(scores - highest)
        total = total * before + parts.sum(-1, keepdims=True)
        parts = _run_between(between[at + 1 :], parts, known, some, keys)
        result = result * before + run_operator(weigh, [parts, np.take(v, some, -2)])
        most = highest
    return np.asarray(result / total)


def _run_between(operators: Sequence[Operator], block: Array, known: Arrays, some: Array, keys: int) -> Array:
    """Run elementwise operators on a block of scores; of a mask along the keys they take the same block."""
    for op in operators:
        given = [known.get(t.name, block) for t in op.inputs]  # what is not known is the block on its way
        cut = [a if a is block or a.ndim == 0 or a.shape[-1] != keys else np.take(a, some, -1) for a in given]
        block = run_operator(op, cut)
    return block


def _run_tiles(
    kernel: Kernel, operators: Sequence[Operator], makes: Mapping[str, str], constants: Arrays, known: Arrays
) -> Arrays:
    """Tile by tile: each operator on the region that the tile needs, clipped at the borders, halo and all.

    The halo modes differ in what they compute again, not in the numbers; here everything is computed again.
    """
    assert kernel.tiling is not None
    needed = [regions(kernel.operators, axis, kernel.tiling.tile[axis]) for axis in (0, 1)]
    whole = {t.name: np.zeros(t.shape) for op in kernel.operators for t in op.outputs}
    last = kernel.operators[-1].output.name
    for i, j in np.ndindex(len(needed[0][last]), len(needed[1][last])):
        place = {name: (needed[0][name][i], needed[1][name][j]) for name in needed[0]}
        tile: Arrays = {}
        for op in operators:
            name = makes[op.name]
            sources = {t.name: _source(op, t, place[name]) for t in op.activations}
            region = functools.partial(_region, tile, known, place, sources)
            given = _operands(op, constants, region)
            tile[name] = _run_on_region(op, given, sources[op.activations[0].name], place[name])
            whole[name][_slices(place[name])] = tile[name]
    return whole


Place = tuple[tuple[int, int], tuple[int, int]]


def _source(op: Operator, t: Tensor, target: Place) -> Place:
    """The region of an input that an operator reads for a region of its output."""
    return input_interval(op, t, 0, target[0]), input_interval(op, t, 1, target[1])


def _region(tile: Arrays, known: Arrays, place: Mapping[str, Place], sources: Mapping[str, Place], t: Tensor) -> Array:
    """A region of a tensor: of what this tile made, which may be more than this reader needs, or of the whole."""
    source = sources[t.name]
    if t.name not in tile:
        return known[t.name][_slices(source)]
    (top, _), (left, _) = place[t.name]
    (low, high), (start, stop) = source
    return tile[t.name][_slices(((low - top, high - top), (start - left, stop - left)))]


def _slices(place: Place) -> tuple[Any, ...]:
    return (..., slice(*place[0]), slice(*place[1]))


def _run_on_region(op: Operator, given: list[Array], source: Place, target: Place) -> Array:
    """Run an operator on the region `source` of its input, and cut the region `target` out of what comes."""
    a = dict(op.attributes)
    if op.kind in ("conv2d", "max_pool", "avg_pool"):
        # padding is what the window reaches for beyond the border, and nothing else
        a["padding"] = tuple(p for axis in (0, 1) for p in _beyond(op, axis, source[axis], target[axis]))
        return RUN[op.kind](given, a)
    if op.kind == "conv_transpose2d":
        a["padding"], a["output_padding"] = (0, 0, 0, 0), a["kernel"]  # more than enough zeros behind
        starts = [source[x][0] * a["stride"][x] - op.attributes["padding"][2 * x] for x in (0, 1)]
    elif op.kind.startswith("upsample"):
        starts = [source[x][0] * a["scale"] for x in (0, 1)]
    else:
        return RUN[op.kind](given, a)
    made = RUN[op.kind](given, a)
    return made[_slices(tuple((low - s, high - s) for (low, high), s in zip(target, starts)))]  # type: ignore[arg-type]


def _beyond(op: Operator, axis: int, source: tuple[int, int], target: tuple[int, int]) -> tuple[int, int]:
    """Positions before and behind the input region that the windows of the output region reach for."""
    first, last = unclipped_interval(op, axis, target)
    return source[0] - first, last - source[1]
