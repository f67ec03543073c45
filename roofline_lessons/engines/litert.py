"""TensorFlow Lite (LiteRT): a graph as twin files, with fused activations and without, both really run.

A TensorFlow Lite file says for each operator which activation is fused into it. The converter of TensorFlow writes
that, by the rules of the rule set "tflite"; the interpreter follows it. XNNPACK, a library of kernels to which it hands
most operators, is on by default; without it the interpreter's own kernels run ("plain").
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import tflite
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from numpy.typing import ArrayLike, NDArray

from ..errors import whole
from ..fusion import Plan, fuse, unfused
from ..graph import Graph
from ..measure.protocol import Bench, Run, Timing, repeated
from ..readers.tflite_file import FileOperator, contents
from .catalogue import known_variant
from .errors import EngineError
from .merges import Merge, Node, replacements, several
from .tflite_write import TO_FILE, has_images, packed, write_tflite
from .weights_and_inputs import given_inputs, replaced, weights_of

Model = Graph | Plan | str | PathLike[str]

__all__ = ["VARIANTS", "fusions", "kinds", "prepared", "run", "seconds", "twins", "write_tflite"]

#: Name -> (activations and constants fused, XNNPACK's kernels).
VARIANTS: Mapping[str, tuple[bool, bool]] = {
    "unfused": (False, True), "fused": (True, True), "unfused, plain": (False, False), "fused, plain": (True, False),
}  # fmt: skip

#: The order of axes of the file as ours.
TO_IMAGE = tuple(TO_FILE.index(i) for i in range(4))

_ACTIVATIONS = {v: k for k, v in vars(tflite.ActivationFunctionType).items() if isinstance(v, int)}


def twins(graph: Graph) -> dict[str, Plan]:
    """The two plans that are written as files: "unfused" and "fused", which is what the converter would do."""
    return {"unfused": unfused(graph), "fused": fuse(graph, rules="tflite")}


def fusions(model: Model) -> list[Merge]:
    """What is fused in a TensorFlow Lite file.

    Parameters
    ----------
    model : Graph, Plan, or path of a TensorFlow Lite file
        A graph is written as the converter would write it; then the file is read back.

    Returns
    -------
    list of Merge
        The rule is the field of the file, with its value, and "weights" where constants went into the weights. Of a
        file the names are those of what its operators make.
    """
    if not isinstance(model, (Graph, Plan)):
        return _in_file(Path(model))
    plan = twins(model)["fused"] if isinstance(model, Graph) else model
    graph = plan.graph
    with tempfile.TemporaryDirectory(prefix="roofline-") as folder:
        path = Path(folder, "model.tflite")
        write_tflite(plan, path)
        operators = {node.name: op for op, node in _file_nodes(path)}
        # a padding that is an operator of its own belongs to the convolution or pooling it is for
        working = [node for _, node in _file_nodes(path) if node.kind not in ("PAD", "PADV2")]
        found = replacements(_nodes(graph), working)
    called = {op.name: op.name for op in graph}
    return [_merge(graph, group, r.after, operators) for r, group in several(graph, called, found)]


def _merge(graph: Graph, group: tuple[str, ...], after: Sequence[Node], operators: Mapping[str, FileOperator]) -> Merge:
    rules = ["weights"] if any(graph[name].kind in ("batch_norm", "bias_add") for name in group) else []
    activation = _activation(operators[after[-1].name])
    rules += [f"FusedActivationFunction = {activation}"] if activation != "NONE" else []
    return Merge(group, tuple(node.kind for node in after), " + ".join(rules))


def _in_file(path: Path) -> list[Merge]:
    """Operators of a file that have an activation in them."""
    found = [(node, _activation(op)) for op, node in _file_nodes(path)]
    return [
        Merge(
            (node.outputs[0], f"{node.outputs[0]}/{activation.lower()}"),
            (node.kind,),
            f"FusedActivationFunction = {activation}",
        )
        for node, activation in found
        if activation != "NONE"
    ]


def kinds(model: Model, xnnpack: bool = True) -> list[str]:
    """The kinds of the operators that the interpreter runs: what it hands to XNNPACK is one "DELEGATE".

    Parameters
    ----------
    model : Graph, Plan, or path of a TensorFlow Lite file
    xnnpack : bool
    """
    details = _interpreter(_content(model), xnnpack)._get_ops_details()
    delegates = [d for d in details if d["op_name"] == "DELEGATE"]
    handed = {t for d in delegates for t in d["outputs"]}
    inside = _inside(details, delegates, handed)
    return [d["op_name"] for d in details if d["index"] not in inside]


def _inside(details: Sequence[Mapping[str, Any]], delegates: Sequence[Mapping[str, Any]], handed: set[int]) -> set[int]:
    """The operators between what delegates read and what they make: they are still listed, and do not run."""
    makers = {t: d for d in details if d["op_name"] != "DELEGATE" for t in d["outputs"]}
    ends = {t for d in delegates for t in d["inputs"]}
    inside: set[int] = set()
    queue = [t for t in handed if t in makers]
    while queue:
        d = makers[queue.pop()]
        if d["index"] not in inside:
            inside.add(d["index"])
            queue += [t for t in d["inputs"] if t in makers and t not in ends - handed]
    return inside


def run(
    model: Model, inputs: Mapping[str, ArrayLike] | None = None, variant: str = "fused", seed: int = 0
) -> dict[str, NDArray[Any]]:
    """The outputs of a model, by name, images of a graph in our order of axes.

    Parameters
    ----------
    model : Graph, or path of a TensorFlow Lite file
    inputs : mapping of str to array, optional
        Random numbers when not given; zeros for whole numbers.
    variant : str
        One of `VARIANTS`; of a file it only says whether XNNPACK is used.
    seed : int
        Of weights and inputs.
    """
    interpreter = _made(model, variant, seed, inputs=inputs)
    interpreter.invoke()
    graph = _graph_of(model)
    turned = graph is not None and has_images(graph)
    outputs = interpreter.get_output_details()
    names = [t.name for t in graph.outputs] if graph else [d["name"] for d in outputs]
    found = [interpreter.get_tensor(d["index"]) for d in outputs]
    return {name: a.transpose(TO_IMAGE) if turned and a.ndim == 4 else a for name, a in zip(names, found, strict=True)}


def seconds(
    model: Model, variants: Sequence[str] = tuple(VARIANTS), bench: Bench | None = None, threads: int = 1
) -> dict[str, Timing]:
    """How long the twins take, with XNNPACK and without: all in turns, the fastest round counts.

    Parameters
    ----------
    model : Graph, or path of a TensorFlow Lite file
        Of a file there are no twins: "fused" is the file as it is.
    variants : sequence of str
    bench : measure.Bench, optional
    threads : int

    Returns
    -------
    dict of str to measure.Timing
        For one run.
    """
    return (bench or Bench()).time({variant: prepared(model, variant, threads) for variant in variants})


def prepared(model: Model, variant: str = "fused", threads: int = 1) -> Run:
    """A model that can be timed.

    Parameters
    ----------
    model : Graph, or path of a TensorFlow Lite file
    variant : str
    threads : int
    """
    return repeated(_made(model, variant, 0, threads).invoke)


# -- interpreters and files -------------------------------------------------------------------------------------------


def _made(
    model: Model, variant: str, seed: int, threads: int = 1, inputs: Mapping[str, ArrayLike] | None = None
) -> Any:
    """An interpreter with its inputs set."""
    fused, xnnpack = VARIANTS[known_variant("litert", variant, VARIANTS)]
    if isinstance(model, Graph):
        model = twins(model)["fused" if fused else "unfused"]
    elif not fused:
        raise EngineError("a file or a plan is one of the twins already; ask for “fused” or “fused, plain”.")
    made = _interpreter(_content(model, seed), xnnpack, threads)
    _set_inputs(made, model, inputs, seed)
    return made


def _graph_of(model: Model) -> Graph | None:
    return model.graph if isinstance(model, Plan) else model if isinstance(model, Graph) else None


def _set_inputs(interpreter: Any, model: Model, inputs: Mapping[str, ArrayLike] | None, seed: int) -> None:
    """Those that are given, and random numbers for the rest, images in the file's order of axes."""
    details = {d["name"]: d for d in interpreter.get_input_details()}
    graph = _graph_of(model)
    if graph is not None:
        feeds = given_inputs(graph, inputs, seed)
        if has_images(graph):
            feeds = {name: a.transpose(TO_FILE) if a.ndim == 4 else a for name, a in feeds.items()}
    else:
        feeds = {name: _made_up(d, seed) for name, d in details.items()}
        feeds = replaced(Path(str(model)).name, feeds, inputs)
    for name, d in details.items():
        interpreter.set_tensor(d["index"], feeds[name].astype(d["dtype"]))


def _made_up(detail: Mapping[str, Any], seed: int) -> NDArray[Any]:
    if np.issubdtype(detail["dtype"], np.floating):
        return np.random.default_rng(seed).standard_normal(detail["shape"]).astype(detail["dtype"])
    return np.zeros(detail["shape"], detail["dtype"])


def _content(model: Model, seed: int = 0) -> bytes:
    if isinstance(model, (Graph, Plan)):
        return packed(model, weights_of(model.graph if isinstance(model, Plan) else model, seed))
    return Path(model).read_bytes()


def _interpreter(content: bytes, xnnpack: bool, threads: int = 1) -> Any:
    resolver = OpResolverType.AUTO if xnnpack else OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    threads = whole("threads", threads)
    try:
        with _quiet():
            made = Interpreter(model_content=content, num_threads=threads, experimental_op_resolver_type=resolver)
            made.allocate_tensors()
    except (RuntimeError, ValueError) as error:
        raise EngineError(f"TensorFlow Lite cannot run the model: {error}") from error
    return made


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the line that says on the error stream that XNNPACK is used; a notebook would show it as an error."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _activation(op: FileOperator) -> str:
    return _ACTIVATIONS.get(op.options.get("FusedActivationFunction", 0), "NONE")


def _nodes(graph: Graph) -> list[Node]:
    return [
        Node(op.name, op.kind, tuple(t.name for t in op.activations), tuple(t.name for t in op.outputs)) for op in graph
    ]


def _file_nodes(path: Path) -> list[tuple[FileOperator, Node]]:
    """The operators of a file with the names of what they read and make."""
    found = contents(path)

    def named(places: Sequence[int]) -> tuple[str, ...]:
        return tuple(found.tensors[i].name for i in places if i >= 0 and not found.tensors[i].is_constant)

    return [
        (op, Node(f"{op.op_type}_{i}", op.op_type, named(op.inputs), named(op.outputs)))
        for i, op in enumerate(found.operators)
    ]
