"""ONNX Runtime: its graph at each level of optimisation, each fusion taken away alone, and the time of each node."""

from __future__ import annotations

import functools
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import ArrayLike, NDArray

from ..errors import unknown_name, whole
from ..graph import Graph
from ..measure.protocol import Bench, Timing, repeated
from ..readers import write_onnx
from .errors import EngineError
from .merges import Merge, Node, Replacement, names, replacements, several
from .numbers import weights_of

Model = Graph | str | PathLike[str]

_LEVEL = ort.GraphOptimizationLevel

#: What a session may do with the graph, by name: (level, optimizers that are off). "all" arranges images in blocks of
#: channels as well (NCHWc): that is layout, not fusion, and "all but layout" leaves it out.
VARIANTS: Mapping[str, tuple[Any, tuple[str, ...]]] = {
    "off": (_LEVEL.ORT_DISABLE_ALL, ()),
    "basic": (_LEVEL.ORT_ENABLE_BASIC, ()),
    "extended": (_LEVEL.ORT_ENABLE_EXTENDED, ()),
    "all but layout": (_LEVEL.ORT_ENABLE_ALL, ("NchwcTransformer",)),
    "all": (_LEVEL.ORT_ENABLE_ALL, ()),
}

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
    with _file(model) as path:
        graph, before = model if isinstance(model, Graph) else None, _nodes(onnx.load(path))
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
    with _file(model) as path:
        graph, before = model if isinstance(model, Graph) else None, _nodes(onnx.load(path))
        found = several(graph, names(graph, before), _replaced(path, before, variant, (fusion,)))
        return [_merge(replacement, group, []) for replacement, group in found]


def kinds(model: Model, variant: str = "all") -> list[str]:
    """The kinds of the nodes that ONNX Runtime runs, in their order.

    Parameters
    ----------
    model : Graph, or path of an ONNX file
    variant : str
    """
    with _file(model) as path:
        return [node.kind for node in _optimised(path, variant)]


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
    """
    with _file(model, seed) as path:
        session = _session(path, variant)
        feeds = _feeds(session, seed) | {k: np.asarray(v, np.float32) for k, v in (inputs or {}).items()}
        return dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds), strict=True))


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
    with _file(model) as path:
        sessions = {variant: _session(path, variant, threads=threads) for variant in variants}
        feeds = {variant: _feeds(session, 0) for variant, session in sessions.items()}
        runs = {v: repeated(functools.partial(s.run, None, feeds[v])) for v, s in sessions.items()}
        return (bench or Bench()).time(runs)


@dataclass(frozen=True)
class NodeTime:
    """A node as the engine's profiler saw it: its kind, whose work it does, and the seconds of its fastest run."""

    name: str
    kind: str
    operators: tuple[str, ...]
    seconds: float


def node_seconds(model: Model, variant: str = "all but layout", runs: int = 20, threads: int = 1) -> list[NodeTime]:
    """The time of each node, from the engine's own profiler.

    Parameters
    ----------
    model : Graph, or path of an ONNX file
    variant : str
    runs : int
        So often the model is run; the fastest time of each node counts.
    threads : int
    """
    runs = whole("runs", runs)
    with _file(model) as path, tempfile.TemporaryDirectory(prefix="roofline-") as folder:
        graph, before = model if isinstance(model, Graph) else None, _nodes(onnx.load(path))
        called = names(graph, before)
        stands_for = {r.after[-1].name: r.before for r in _replaced(path, before, variant)}
        session = _session(path, variant, threads=threads, profile=f"{folder}/profile")
        feeds = _feeds(session, 0)
        for _ in range(runs):
            session.run(None, feeds)
        found: dict[tuple[str, str], list[float]] = {}
        for event in json.loads(Path(session.end_profiling()).read_text(encoding="utf-8")):
            if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
                key = (event["name"].removesuffix("_kernel_time"), event["args"]["op_name"])
                found.setdefault(key, []).append(event["dur"] * 1e-6)
    return [
        NodeTime(name, kind, tuple(dict.fromkeys(called[n.name] for n in stands_for.get(name, ()))), min(durations))
        for (name, kind), durations in found.items()
    ]


# -- sessions and files -----------------------------------------------------------------------------------------------


@contextmanager
def _file(model: Model, seed: int = 0) -> Iterator[str]:
    """The path of a model; a graph is written with random weights and forgotten afterwards."""
    if not isinstance(model, Graph):
        yield str(model)
        return
    with tempfile.TemporaryDirectory(prefix="roofline-") as folder:
        path = f"{folder}/model.onnx"
        write_onnx(model, path, weights=weights_of(model, seed))
        yield path


def _session(
    path: str, variant: str, off: Sequence[str] = (), *, threads: int = 1, dump: str = "", profile: str = ""
) -> Any:
    if variant not in VARIANTS:
        raise unknown_name("variant of ONNX Runtime", variant, VARIANTS)
    options = ort.SessionOptions()
    options.graph_optimization_level = VARIANTS[variant][0]
    options.intra_op_num_threads = whole("threads", threads)
    options.log_severity_level = 3  # it warns of saved models that are for this machine only: they are
    if dump:
        options.optimized_model_filepath = dump
    if profile:
        options.enable_profiling, options.profile_file_prefix = True, profile
    try:
        return ort.InferenceSession(
            path, options, providers=["CPUExecutionProvider"], disabled_optimizers=[*VARIANTS[variant][1], *off]
        )
    except Exception as error:  # its errors have no common class
        raise EngineError(f"ONNX Runtime cannot run {Path(path).name}: {error}") from error


_TYPES = {
    "tensor(float)": np.float32,
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
    "tensor(double)": np.float64,
}


def _feeds(session: Any, seed: int) -> dict[str, NDArray[Any]]:
    """Random numbers for every input; zeros for indices."""
    rng, feeds = np.random.default_rng(seed), {}
    for i in session.get_inputs():
        shape = [d if isinstance(d, int) else 1 for d in i.shape]
        kind = _TYPES.get(i.type)
        if kind is None:
            raise EngineError(f"input {i.name} is of type {i.type}; only numbers of 32 and 64 bits are made up here.")
        feeds[i.name] = (rng.standard_normal(shape) * (kind not in (np.int32, np.int64))).astype(kind)
    return feeds


def _optimised(path: str, variant: str, off: Sequence[str] = ()) -> list[Node]:
    """The nodes that the engine runs."""
    with tempfile.TemporaryDirectory(prefix="roofline-") as folder:
        _session(path, variant, off, dump=f"{folder}/optimised.onnx")
        return _nodes(onnx.load(f"{folder}/optimised.onnx"))


def _replaced(path: str, before: Sequence[Node], variant: str, off: Sequence[str] = ()) -> list[Replacement]:
    return replacements(before, _optimised(path, variant, off))


def _nodes(model: onnx.ModelProto) -> list[Node]:
    """The nodes of a file without those that only make constants."""
    constant, nodes = {i.name for i in model.graph.initializer}, []
    for i, n in enumerate(model.graph.node):
        reads = tuple(name for name in n.input if name and name not in constant)
        if not reads and n.op_type in ("Constant", "ConstantOfShape"):
            constant.update(n.output)
            continue
        nodes.append(Node(n.name or f"{n.op_type}_{i}", n.op_type, reads, tuple(name for name in n.output if name)))
    return nodes


def _merge(replacement: Replacement, group: tuple[str, ...], rules: Sequence[str]) -> Merge:
    return Merge(group, tuple(node.kind for node in replacement.after), " + ".join(rules))
