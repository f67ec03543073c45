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
from numpy.typing import NDArray

from ..errors import unknown_name, whole
from ..graph import Graph
from ..readers import write_onnx
from .errors import EngineError
from .merges import Node
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


def feeds_of(session: Any, seed: int) -> dict[str, NDArray[Any]]:
    """Random numbers for every input; zeros for indices."""
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
        return nodes_of(onnx.load(f"{folder}/optimised.onnx"))


def nodes_of(model: onnx.ModelProto) -> list[Node]:
    """The nodes of a file without those that only make constants."""
    constant, nodes = {i.name for i in model.graph.initializer}, []
    for i, n in enumerate(model.graph.node):
        reads = tuple(name for name in n.input if name and name not in constant)
        if not reads and n.op_type in ("Constant", "ConstantOfShape"):
            constant.update(n.output)
            continue
        nodes.append(Node(n.name or f"{n.op_type}_{i}", n.op_type, reads, tuple(name for name in n.output if name)))
    return nodes
