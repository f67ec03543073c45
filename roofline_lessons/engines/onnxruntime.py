"""ONNX Runtime: its graph at each level of optimisation, each fusion taken away alone, and the time of each node."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike, NDArray

from ..errors import unknown_name
from ..graph import Graph
from ..measure.protocol import Bench, Run, Timing, repeated
from .errors import EngineError
from .merges import Merge, Node, Replacement, names, replacements, several
from .onnx_layout import unblocked
from .onnx_profile import node_seconds, profile, profiles
from .onnx_session import VARIANTS, Model, feeds_of, file_of, loaded, nodes_of, optimised, session_of

__all__ = [
    "FUSIONS", "VARIANTS", "fusions", "kinds", "node_seconds", "prepared", "profile", "profiles", "run", "seconds",
    "without",
]  # fmt: skip

#: Optimizers that merge operators, by the names that `disabled_optimizers` takes, and kinds of nodes that each needs.
#: (onnxruntime/core/optimizer/graph_transformer_utils.cc, version 1.32; those for CPU and 32-bit floats.)
FUSIONS: Mapping[str, frozenset[str]] = {
    name: frozenset(kinds.split())
    for name, kinds in {
        "ConvBNFusion": "BatchNormalization", "ConvMulFusion": "Conv Mul", "ConvAddFusion": "Conv Add",
        "MatmulBNFusion": "MatMul BatchNormalization", "MatMulAddFusion": "MatMul Add", "GemmSumFusion": "Gemm Sum",
        "FuseReluClip": "Relu Clip", "DivMulFusion": "Div Mul", "PadFusion": "Pad",
        "GeluFusionL1": "Erf", "GeluFusionL2": "Erf", "LayerNormFusionL1": "ReduceMean",
        "LayerNormFusionL2": "ReduceMean", "SimplifiedLayerNormFusion": "ReduceMean",
        "GemmActivationFusion": "Gemm", "ConvActivationFusion": "Conv",
        "AttentionFusion": "Softmax", "MatmulTransposeFusion": "MatMul Transpose", "BiasGeluFusion": "Add",
        "SkipLayerNormFusion": "Add", "FastGeluFusion": "Tanh", "QuickGeluFusion": "Sigmoid",
        "ConvAddActivationFusion": "Conv Add", "MatMulScaleFusion": "MatMul Mul", "MatMulActivationFusion": "MatMul",
    }.items()
}  # fmt: skip


def fusions(model: Model, variant: str = "all but layout") -> list[Merge]:
    """What ONNX Runtime merged.

    Each fusion of the engine is switched off alone (`disabled_optimizers`): the rule of a merge are those without
    which it is not made.

    Parameters
    ----------
    model : Graph, or path of an ONNX file
    variant : str
        One of `VARIANTS`.

    Returns
    -------
    list of Merge
        Of a graph with the names of its operators, of a file with those of its nodes.

    Raises
    ------
    UnknownNameError
        No such variant.
    EngineError
        ONNX Runtime refuses the model.
    """
    with file_of(model) as path:
        graph, before = model if isinstance(model, Graph) else None, nodes_of(loaded(path))
        called = names(graph, before)
        made = several(graph, called, _replaced(path, before, variant))
        kinds = {node.kind for node in before}
        rules: dict[tuple[str, ...], list[str]] = {group: [] for _, group in made}
        for fusion in (name for name, needed in FUSIONS.items() if needed <= kinds):
            left = {group for _, group in several(graph, called, _replaced(path, before, variant, (fusion,)))}
            for group in rules.keys() - left:
                rules[group].append(fusion)
        return [_merge(replacement, group, rules[group]) for replacement, group in made]


def without(model: Model, fusion: str, variant: str = "all but layout") -> list[Merge]:
    """What ONNX Runtime still merges with one of its fusions switched off; rules are not looked for.

    Parameters
    ----------
    model : Graph, or path of an ONNX file
    fusion : str
        One of `FUSIONS`.
    variant : str
    """
    if fusion not in FUSIONS:
        raise unknown_name("fusion of ONNX Runtime", fusion, FUSIONS)
    with file_of(model) as path:
        graph, before = model if isinstance(model, Graph) else None, nodes_of(loaded(path))
        found = several(graph, names(graph, before), _replaced(path, before, variant, (fusion,)))
        return [_merge(replacement, group, []) for replacement, group in found]


def kinds(model: Model, variant: str = "all") -> list[str]:
    """The kinds of the nodes that ONNX Runtime runs, in their order.

    Parameters
    ----------
    model : Graph, or path of an ONNX file
    variant : str
    """
    with file_of(model) as path:
        return [node.kind for node in optimised(path, variant)]


def run(
    model: Model, inputs: Mapping[str, ArrayLike] | None = None, variant: str = "all", seed: int = 0
) -> dict[str, NDArray[Any]]:
    """The outputs of a model, by name; of a graph with random weights.

    Parameters
    ----------
    model : Graph, or path of an ONNX file
    inputs : mapping of str to array, optional
        Random numbers when not given.
    variant : str
    seed : int

    Raises
    ------
    EngineError
        ONNX Runtime refuses the model, or an input.
    """
    with file_of(model, seed) as path:
        session = session_of(path, variant)
        feeds = feeds_of(session, model, seed, inputs)
        try:
            found = session.run(None, feeds)
        except Exception as error:  # its errors have no common class
            raise EngineError(f"ONNX Runtime cannot run {Path(path).name}: {error}") from error
        return dict(zip([o.name for o in session.get_outputs()], found, strict=True))


def seconds(
    model: Model, variants: Sequence[str] = tuple(VARIANTS), bench: Bench | None = None, threads: int = 1
) -> dict[str, Timing]:
    """How long a model takes at each level of optimisation: all in turns, the fastest round counts.

    Parameters
    ----------
    model : Graph, or path of an ONNX file
    variants : sequence of str
    bench : measure.Bench, optional
    threads : int

    Returns
    -------
    dict of str to measure.Timing
        For one run.
    """
    with file_of(model) as path:
        return (bench or Bench()).time({variant: _running(path, model, variant, threads) for variant in variants})


def prepared(model: Model, variant: str = "all", threads: int = 1) -> Run:
    """A model that can be timed.

    Parameters
    ----------
    model : Graph, or path of an ONNX file
    variant : str
    threads : int
    """
    with file_of(model) as path:
        return _running(path, model, variant, threads)


def _running(path: str, model: Model, variant: str, threads: int) -> Run:
    session = session_of(path, variant, threads=threads)
    return repeated(functools.partial(session.run, None, feeds_of(session, model)))


def _replaced(path: str, before: Sequence[Node], variant: str, off: Sequence[str] = ()) -> list[Replacement]:
    return replacements(before, unblocked(before, optimised(path, variant, off)))


def _merge(replacement: Replacement, group: tuple[str, ...], rules: Sequence[str]) -> Merge:
    return Merge(group, tuple(node.kind for node in replacement.after), " + ".join(rules))
