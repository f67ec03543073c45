"""Core ML: a graph as a MIL program, and which pass of coremltools merges what.

The conversion and its passes run on Linux too; prediction is done by the system of a Mac, so `run` and `seconds` work
there only. What that system merges further (an activation into its convolution) happens out of sight.
"""

from __future__ import annotations

import contextlib
import functools
import io
import logging
import platform
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from numpy.typing import ArrayLike, NDArray

from ..errors import unknown_name
from ..graph import Graph
from ..measure.protocol import Bench, Timing, repeated
from .catalogue import known_variant, only_a_graph
from .errors import EngineError
from .merges import Merge, Node, names, replacements, several
from .weights_and_inputs import given_inputs, inputs_of, weights_of

# it says on every machine that is no Mac that it cannot predict there, eight times
_said = logging.getLogger("coremltools")
_level = _said.level
_said.setLevel(logging.ERROR)
try:
    with contextlib.redirect_stderr(io.StringIO()):
        import coremltools as ct
finally:
    _said.setLevel(_level)

from coremltools.converters.mil.mil.passes.pass_registry import PASS_REGISTRY  # noqa: E402

from .coreml_write import mil_names, program  # noqa: E402

#: The passes of the default pipeline, in their order, without those that choose 16-bit floats: in 32 bits the two
#: programs can be compared.
PASSES: tuple[str, ...] = tuple(
    name for name in ct.PassPipeline.DEFAULT.passes if name not in ("common::add_fp16_cast", "common::add_int16_cast")
)

#: What `run` and `seconds` know: the program as written, or after the default passes.
VARIANTS = ("no passes", "default passes")


def fusions(model: Graph) -> list[Merge]:
    """What coremltools merges, pass by pass.

    Parameters
    ----------
    model : Graph

    Returns
    -------
    list of Merge
        The rule is the pass that made the kernel, or the passes, in their order.

    Raises
    ------
    EngineError
        Something else than a graph; a kind of operator that is not written.
    """
    made = program(_graph(model), weights_of(model))
    ours = {name: t for t, name in mil_names(model).items()}
    before = _nodes(made, ours)
    called = names(model, before)
    rules: dict[str, list[str]] = {}
    groups: dict[str, tuple[str, ...]] = {}
    after: dict[tuple[str, ...], tuple[str, ...]] = {}
    for name in PASSES:
        _pass(made, name)
        found = several(model, called, replacements(before, _nodes(made, ours)))
        for _, group in found:
            if groups.get(group[-1]) != group:
                known = [rule for member in group for rule in rules.get(member, [])]
                rules[group[-1]] = list(dict.fromkeys([*known, name.removeprefix("common::")]))
                groups[group[-1]] = group
        after = {group: tuple(node.kind for node in r.after) for r, group in found}
    return [Merge(group, kinds, " + ".join(rules[group[-1]])) for group, kinds in after.items()]


def by_pass(model: Graph) -> dict[str, tuple[list[str], list[str]]]:
    """Pass -> kinds of the operators before it and after it, for the passes that change which there are.

    Parameters
    ----------
    model : Graph
    """
    made, found = program(_graph(model), weights_of(model)), {}
    kinds_now = [node.kind for node in _nodes(made)]
    for name in PASSES:
        _pass(made, name)
        kinds_before, kinds_now = kinds_now, [node.kind for node in _nodes(made)]
        if kinds_before != kinds_now:
            found[name.removeprefix("common::")] = (kinds_before, kinds_now)
    return found


def only(model: Graph, *passes: str) -> list[str]:
    """The kinds of the operators after some passes alone.

    Parameters
    ----------
    model : Graph
    *passes : str
        Of `PASSES`, with or without "common::".
    """
    made = program(_graph(model), weights_of(model))
    for name in passes:
        full = name if "::" in name else f"common::{name}"
        if full not in PASSES:
            raise unknown_name("pass of coremltools", name, dict.fromkeys(p.removeprefix("common::") for p in PASSES))
        _pass(made, full)
    return [node.kind for node in _nodes(made)]


def kinds(model: Graph, variant: str = "default passes") -> list[str]:
    """The kinds of the operators of the program, in their order.

    Parameters
    ----------
    model : Graph
    variant : str
        One of `VARIANTS`.
    """
    return only(model, *(PASSES if _known(variant) == "default passes" else ()))


def run(
    model: Graph, inputs: Mapping[str, ArrayLike] | None = None, variant: str = "default passes", seed: int = 0
) -> dict[str, NDArray[Any]]:
    """The outputs of a model, by name. On a Mac only.

    Parameters
    ----------
    model : Graph
    inputs : mapping of str to array, optional
        Random numbers when not given.
    variant : str
        One of `VARIANTS`.
    seed : int
        Of weights and inputs.

    Raises
    ------
    EngineError
        Not on a Mac.
    """
    converted = _converted(model, variant, seed)
    found = converted.predict(given_inputs(model, inputs, seed))
    return {t.name: found[o.name] for t, o in zip(model.outputs, converted.get_spec().description.output, strict=True)}


def seconds(model: Graph, variants: Sequence[str] = VARIANTS, bench: Bench | None = None) -> dict[str, Timing]:
    """How long the program takes on the processor, as written and after the passes. On a Mac only.

    On as many threads as the system takes: Core ML cannot be held to one, so its times stand beside each other alone.

    Parameters
    ----------
    model : Graph
    variants : sequence of str
    bench : measure.Bench, optional

    Returns
    -------
    dict of str to measure.Timing
        For one prediction.

    Raises
    ------
    EngineError
        Not on a Mac.
    """
    given = inputs_of(model) if isinstance(model, Graph) else {}
    ready = {variant: _converted(model, variant, 0) for variant in variants}
    return (bench or Bench()).time(
        {variant: repeated(functools.partial(made.predict, given)) for variant, made in ready.items()}
    )


# -- programs and passes ----------------------------------------------------------------------------------------------


_graph = functools.partial(only_a_graph, "coreml")


def _known(variant: str) -> str:
    return known_variant("coreml", variant, VARIANTS)


def _pass(made: Any, name: str) -> None:
    """Run one pass by itself: the pipeline would show a progress bar."""
    PASS_REGISTRY[name](made)


def _nodes(made: Any, ours: Mapping[str, str] = MappingProxyType({})) -> list[Node]:
    """The operators of a program without constants; tensors with the names that they have in the graph."""

    def named(found: Sequence[str]) -> tuple[str, ...]:
        return tuple(ours.get(name, name) for name in found)

    return [
        Node(op.name, op.op_type, named(_reads(op)), named([out.name for out in op.outputs]))
        for op in made.functions["main"].operations
        if op.op_type != "const"
    ]


def _reads(op: Any) -> list[str]:
    flat = [v for value in op.inputs.values() for v in (value if isinstance(value, (list, tuple)) else [value])]
    return [v.name for v in flat if v is not None and v.val is None]


def _converted(model: Graph, variant: str, seed: int) -> Any:
    """A model that a Mac can run."""
    _known(variant)
    if sys.platform != "darwin":
        raise EngineError(
            f"Core ML predicts on macOS only, and this is {platform.system()}: its passes can be run and looked at "
            "here (fusions, by_pass), what it computes and how long it takes cannot."
        )
    pipeline = ct.PassPipeline.DEFAULT if variant == "default passes" else ct.PassPipeline.EMPTY
    if variant == "default passes":
        pipeline.remove_passes({"common::add_fp16_cast", "common::add_int16_cast"})
    return ct.convert(
        program(_graph(model), weights_of(model, seed)),
        convert_to="mlprogram",
        compute_precision=ct.precision.FLOAT32,
        compute_units=ct.ComputeUnit.CPU_ONLY,
        pass_pipeline=pipeline,
        minimum_deployment_target=ct.target.macOS13,
    )
