"""PyTorch: what `torch.compile` makes of a graph, and the code that it writes for it.

The other engines look for operators that they know together. Inductor, the compiler behind `torch.compile`, writes a
new loop for whatever elementwise operators and reductions come, and leaves convolutions and matrix products to a
library. It needs a C++ compiler. PyTorch is optional here: it is imported when a function below first needs it.

Inductor sees the operators under the names that they have here (`torch_write`), and after its fusion each of its
kernels says which of them its results are.
"""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..graph import Graph
from ..measure.protocol import Bench, Timing, repeated
from .catalogue import known_variant, only_a_graph
from .errors import EngineError
from .merges import Merge
from .torch_code import Generated, read
from .torch_kernels import Kernel, Scheduled, kernels_of
from .torch_write import Network, network, torch_here
from .weights_and_inputs import given_inputs, inputs_of, weights_of

__all__ = ["VARIANTS", "Kernel", "code", "fusions", "kernels", "kinds", "run", "seconds"]

#: Operator by operator; compiled; compiled with the weights as constants, which Inductor calls freezing: only then may
#: it change them, so only then does a batch norm move into a convolution.
VARIANTS = ("eager", "compiled", "frozen")


def fusions(model: Graph, variant: str = "compiled") -> list[Merge]:
    """What Inductor merged.

    Parameters
    ----------
    model : Graph
    variant : str
        One of `VARIANTS`.

    Returns
    -------
    list of Merge
        What became one loop or one library call; the rule says which.

    Raises
    ------
    EngineError
        Something else than a graph; a kind of operator that is not written; no C++ compiler.
    UnknownNameError
        No such variant.
    MissingEngineError
        PyTorch is not installed.
    """
    return [Merge(k.operators, (k.name,), k.rule) for k in kernels(model, variant) if len(k.operators) > 1]


def kernels(model: Graph, variant: str = "compiled") -> tuple[Kernel, ...]:
    """What is run, in its order; in eager mode each operator on its own.

    Parameters
    ----------
    model : Graph
    variant : str
    """
    return _compiled(_graph(model), _known(variant), 0).kernels


def kinds(model: Graph, variant: str = "compiled") -> list[str]:
    """The names of the functions that are run, in their order.

    Parameters
    ----------
    model : Graph
    variant : str
    """
    return [kernel.name for kernel in kernels(model, variant)]


def code(model: Graph, variant: str = "compiled") -> str:
    """The module that Inductor wrote, to read.

    Parameters
    ----------
    model : Graph
    variant : str
        "compiled" or "frozen".
    """
    if _known(variant) == "eager":
        raise EngineError("In eager mode PyTorch writes no code: each operator is a function of its library.")
    return _compiled(_graph(model), variant, 0).generated.source


def run(
    model: Graph, inputs: Mapping[str, ArrayLike] | None = None, variant: str = "compiled", seed: int = 0
) -> dict[str, NDArray[Any]]:
    """The outputs of a model, by name.

    Parameters
    ----------
    model : Graph
    inputs : mapping of str to array, optional
        Random numbers when not given.
    variant : str
    seed : int
        Of weights and inputs.
    """
    ready = _compiled(_graph(model), _known(variant), seed)
    given = given_inputs(model, inputs, seed)
    with _one_thread(torch_here()):
        found = ready.call(*_tensors(model, given))
    return {t.name: y.numpy() for t, y in zip(model.outputs, found, strict=True)}


def seconds(model: Graph, variants: Sequence[str] = VARIANTS, bench: Bench | None = None) -> dict[str, Timing]:
    """How long a model takes on one thread, operator by operator and compiled; compiling is not in it.

    Parameters
    ----------
    model : Graph
    variants : sequence of str
    bench : measure.Bench, optional

    Returns
    -------
    dict of str to measure.Timing
        For one run.
    """
    given = _tensors(_graph(model), inputs_of(model))
    ready = {variant: _compiled(model, _known(variant), 0) for variant in variants}
    with _one_thread(torch_here()):
        return (bench or Bench()).time(
            {variant: repeated(functools.partial(made.call, *given)) for variant, made in ready.items()}
        )


# -- compiling --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Compiled:
    """A graph ready to run: tensors to tensors, what it runs, and the code."""

    call: Callable[..., tuple[Any, ...]]
    kernels: tuple[Kernel, ...]
    generated: Generated = Generated("", {}, ())


_graph = functools.partial(only_a_graph, "torch")


def _known(variant: str) -> str:
    return known_variant("torch", variant, VARIANTS)


def _tensors(graph: Graph, arrays: Mapping[str, NDArray[Any]]) -> list[Any]:
    return [torch_here().from_numpy(np.ascontiguousarray(arrays[t.name])) for t in graph.inputs]


@contextmanager
def _one_thread(torch: Any) -> Iterator[None]:
    """One thread, and nothing is kept for gradients: compiled code is made for this and checked at each call."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.no_grad():
            yield
    finally:
        torch.set_num_threads(before)


@functools.lru_cache(maxsize=64)
def _compiled(graph: Graph, variant: str, seed: int) -> _Compiled:
    """Compiling takes seconds, so each graph is compiled once."""
    torch = torch_here()
    made = network(graph, weights_of(graph, seed))
    if variant == "eager":
        alone = tuple(Kernel(op.kind, True, (op.name,), "library call") for op in graph if not op.is_view)
        return _Compiled(made.module, alone)
    sources: list[str] = []
    schedulers: list[Any] = []
    call = torch.compile(made.module, fullgraph=True, dynamic=False)
    try:
        with _one_thread(torch), _watched(sources, schedulers, variant == "frozen"):
            call(*_tensors(graph, inputs_of(graph, seed)))
    except Exception as error:  # compilers fail in many ways, and the reason is at the bottom of a pile
        lines = [line for line in str(error).splitlines() if line.strip() and not line.endswith("raised:")]
        reason = lines[0].strip() if lines else type(error).__name__
        raise EngineError(
            f"torch.compile cannot compile {graph.name}: {reason} (It needs a C++ compiler: g++, clang++ or MSVC.)"
        ) from error
    generated = read("\n".join(sources))
    # only now: after the fusion the scheduler still puts its kernels into another order
    scheduled = [_scheduled(node, made) for s in schedulers for node in s.nodes if not _makes_nothing(node)]
    return _Compiled(call, kernels_of(graph, scheduled, generated), generated)


@contextmanager
def _watched(sources: list[str], schedulers: list[Any], frozen: bool) -> Iterator[None]:
    """While something is compiled: the code that is written, and the schedulers that fused its kernels.

    `torch._inductor.utils.run_and_get_code` gets at the code in the same way, but it also forgets what was compiled
    before, which then cannot be timed against it.
    """
    inductor = importlib.import_module("torch._inductor")
    lowering = importlib.import_module("torch._inductor.graph").GraphLowering

    def look(nodes: list[Any]) -> list[Any]:
        schedulers.extend(node.scheduler for node in nodes[:1])  # they all have the same one
        return nodes

    settings = {
        "freezing": frozen,
        "cpp.threads": 1,
        "compile_threads": 1,  # no other processes that stay behind
        "_post_fusion_custom_pass": look,  # with it no code is taken from the cache, which would not tell its kernels
    }
    with (
        warnings.catch_warnings(),
        inductor.config.patch(settings),
        mock.patch.object(lowering, "save_output_code", sources.append),
    ):
        warnings.simplefilter("ignore", DeprecationWarning)  # PyTorch 2.13 uses what it calls deprecated itself
        yield


# -- from Inductor's kernels to our operators -------------------------------------------------------------------------


def _makes_nothing(node: Any) -> bool:
    """Nodes without a call: places in memory, and the results of a library call by their numbers."""
    buffers = [type(part.node).__name__ for part in node.get_nodes()]
    return type(node).__name__ == "NopKernelSchedulerNode" or buffers == ["MultiOutput"]


def _scheduled(node: Any, made: Network) -> Scheduled:
    """What a kernel holds, by the nodes of `torch.fx` that it comes from."""
    holds = []
    for part in node.get_nodes():
        origins = list(part.node.origins)
        # a library call is one node, the first; the others are what its operands come from, which was stored before
        origins = origins[:1] if node.is_extern() else origins
        written = [origin.meta["from_node"][0].name for origin in origins if "from_node" in origin.meta]
        holds.append(frozenset(made.operators[name] for name in written if name in made.operators))
    return Scheduled(type(node).__name__, tuple(holds))
