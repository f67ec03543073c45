"""ONNX Runtime's sessions: a model loaded at a level of optimisation, what it is fed, and the graph that it runs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import ArrayLike, NDArray

from ..errors import whole
from ..graph import Graph
from ..readers import write_onnx
from .catalogue import known_variant
from .errors import EngineError
from .merges import Node
from .weights_and_inputs import given_inputs, replaced, weights_of

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

#: Kinds of nodes that make constants where they read nothing else.
MAKE_CONSTANTS = ("Constant", "ConstantOfShape")

_TYPES = {
    "tensor(float)": np.float32,
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
    "tensor(double)": np.float64,
}


@contextmanager
def file_of(model: Model, seed: int = 0) -> Iterator[str]:
    """The path of a model; a graph is written with random weights and forgotten afterwards."""
    if not isinstance(model, Graph):
        yield str(model)
        return
    with tempfile.TemporaryDirectory(prefix="roofline-") as folder:
        path = f"{folder}/model.onnx"
        write_onnx(model, path, weights=weights_of(model, seed))
        yield path


def session_of(
    path: str, variant: str, off: Sequence[str] = (), *, threads: int = 1, dump: str = "", profile: str = ""
) -> Any:
    """A model loaded at a level, on request with its graph or its profile written to files."""
    level, left_out = VARIANTS[known_variant("onnxruntime", variant, VARIANTS)]
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.intra_op_num_threads = whole("threads", threads)
    options.log_severity_level = 3  # it warns of saved models that are for this machine only: they are
    if dump:
        options.optimized_model_filepath = dump
    if profile:
        options.enable_profiling, options.profile_file_prefix = True, profile
    try:
        return ort.InferenceSession(
            path, options, providers=["CPUExecutionProvider"], disabled_optimizers=[*left_out, *off]
        )
    except Exception as error:  # its errors have no common class
        raise EngineError(f"ONNX Runtime cannot run {Path(path).name}: {error}") from error


def feeds_of(
    session: Any, model: Model, seed: int = 0, inputs: Mapping[str, ArrayLike] | None = None
) -> dict[str, NDArray[Any]]:
    """What a session is fed: the inputs that are given, and random numbers for the rest; zeros for indices."""
    if isinstance(model, Graph):
        return given_inputs(model, inputs, seed)
    # an axis of a file may have any length
    return replaced(Path(model).name, _made_up(session, seed), inputs, any_shape=True)


def _made_up(session: Any, seed: int) -> dict[str, NDArray[Any]]:
    rng, feeds = np.random.default_rng(seed), {}
    for i in session.get_inputs():
        shape = [d if isinstance(d, int) else 1 for d in i.shape]
        kind = _TYPES.get(i.type)
        if kind is None:
            raise EngineError(f"input {i.name} is of type {i.type}; only numbers of 32 and 64 bits are made up here.")
        feeds[i.name] = (rng.standard_normal(shape) * (kind not in (np.int32, np.int64))).astype(kind)
    return feeds


def optimised(path: str, variant: str, off: Sequence[str] = ()) -> list[Node]:
    """The nodes that the engine runs."""
    with tempfile.TemporaryDirectory(prefix="roofline-") as folder:
        session_of(path, variant, off, dump=f"{folder}/optimised.onnx")
        return nodes_of(loaded(f"{folder}/optimised.onnx"))


def loaded(path: str) -> onnx.ModelProto:
    """A file without the numbers that it keeps in other files.

    Raises
    ------
    EngineError
        It is no ONNX file.
    """
    try:
        return onnx.load(path, load_external_data=False)
    except OSError:
        raise
    except Exception as error:  # of protobuf's, which has two implementations
        raise EngineError(f"{Path(path).name} is no ONNX file: {error}") from error


def nodes_of(model: onnx.ModelProto) -> list[Node]:
    """The nodes of a file without those that only make constants."""
    constant, nodes = {i.name for i in model.graph.initializer}, []
    for n, name in zip(model.graph.node, node_names(model), strict=True):
        reads = tuple(name for name in n.input if name and name not in constant)
        if not reads and n.op_type in MAKE_CONSTANTS:
            constant.update(n.output)
            continue
        nodes.append(Node(name, n.op_type, reads, tuple(name for name in n.output if name)))
    return nodes


def node_names(model: onnx.ModelProto) -> list[str]:
    """The name of each node; of one that has none its kind and place.

    Examples
    --------
    >>> nodes = [onnx.helper.make_node("Relu", ["x"], ["y"]), onnx.helper.make_node("Exp", ["y"], ["z"], name="e")]
    >>> node_names(onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", [], [])))
    ['Relu_0', 'e']
    """
    return [n.name or f"{n.op_type}_{i}" for i, n in enumerate(model.graph.node)]
