"""What `torch.compile` makes of a block: measured here where PyTorch is installed, recorded where it is not."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..fusion import Plan
from ..graph import Graph
from ..measure import Bench, Place
from ..measure.machine import here
from ..networks import elementwise_chain
from ..text import si
from .blocks import block
from .catalogue import load
from .errors import EngineError, MissingEngineError
from .kept import Kept
from .merges import Merge, plan_of
from .recorded_engines import rounded
from .torch_code import read
from .torch_kernels import Kernel

#: What was recorded on one machine, with where and when and the code (benchmarks/record_torch.py writes it).
RECORDED = Path(__file__).parents[1] / "data" / "recorded_torch.json"

#: Blocks that are recorded.
BLOCKS = ("chain", "add_layer_norm", "layer_norm_product", "conv_bn_relu", "inverted_residual")

#: What is recorded of the code: without and with the weights as constants.
VARIANTS = ("compiled", "frozen")


@dataclass(frozen=True)
class Compiled:
    """What `torch.compile` made of a block.

    block, version : names, and the version of PyTorch.
    kernels : variant -> what it runs, in its order.
    code : variant -> the module that was written.
    seconds : variant -> seconds of the fastest round; "eager" is operator by operator.
    noise : variant -> median over fastest.
    call_seconds : what a call of compiled code costs before it computes anything: it first checks that its inputs have
        the shapes and kinds for which it was compiled.
    recorded : "" for a result of this machine, else when and on what it was recorded.
    """

    block: str
    version: str
    kernels: Mapping[str, tuple[Kernel, ...]]
    code: Mapping[str, str]
    seconds: Mapping[str, float]
    noise: Mapping[str, float]
    call_seconds: float
    recorded: str = ""

    def merges(self, variant: str = "compiled") -> tuple[Merge, ...]:
        """What was merged, as `fusions` says it."""
        return tuple(Merge(k.operators, (k.name,), k.rule) for k in self.kernels[variant] if len(k.operators) > 1)

    def plan(self, variant: str = "compiled") -> Plan:
        """The kernels as a plan of the block."""
        return plan_of(block(self.block), self.merges(variant))

    def times_as_fast(self, variant: str = "compiled") -> float:
        """Operator by operator over compiled; below 1 the compiler lost."""
        return self.seconds["eager"] / self.seconds[variant]

    @property
    def where(self) -> str:
        """Where it comes from, for a person."""
        return self.recorded or "measured here"

    def __repr__(self) -> str:
        times = ", ".join(f"{variant} {si(value, 's')}" for variant, value in self.seconds.items())
        call = si(self.call_seconds, "s")
        return f"<{self.block}, PyTorch {self.version}, {self.where}: {times}; of these a call of compiled code {call}>"


def compiled(name: str, again: bool = False) -> Compiled:
    """What `torch.compile` makes of a block: here if PyTorch is installed, recorded if not.

    Parameters
    ----------
    name : str
        One of `engines.BLOCKS`; without PyTorch one of `torch_results.BLOCKS`.
    again : bool
        Measure anew.
    """
    block(name)  # a wrong name is told here
    try:
        return _measured(name, again=again)
    except MissingEngineError as error:
        return recorded_compiled(name, str(error))


def recorded_compiled(name: str, note: str = "") -> Compiled:
    """A result from the file, marked as recorded.

    Parameters
    ----------
    name : str
        One of `torch_results.BLOCKS`.
    note : str
        Why it is not this machine's.

    Raises
    ------
    EngineError
        This block was not recorded.
    """
    content = _content()
    if name not in content["results"]:
        raise EngineError(
            f"{note or 'Not measured here'}; and {name} was not recorded with PyTorch, only {', '.join(BLOCKS)}."
        )
    row = content["results"][name]
    kernels = {variant: _kernels(row, variant) for variant in VARIANTS}
    return Compiled(
        name, content["torch"], kernels, row["code"], row["seconds"], row["noise"], row["call_seconds"],
        Place(**content["place"]).recorded,
    )  # fmt: skip


def _kernels(row: Mapping[str, Any], variant: str) -> tuple[Kernel, ...]:
    sources = read(row["code"][variant]).functions
    return tuple(
        Kernel(name, is_library, tuple(operators), rule, sources.get(name, ""))
        for name, is_library, operators, rule in row["kernels"][variant]
    )


@cache
def _content() -> dict[str, Any]:
    return json.loads(RECORDED.read_text(encoding="utf-8"))


def measured(name: str, bench: Bench | None = None) -> Compiled:
    """Compile and time a block, here and now.

    Parameters
    ----------
    name : str
        One of `engines.BLOCKS`.
    bench : measure.Bench, optional

    Raises
    ------
    MissingEngineError
        PyTorch is not installed.
    """
    torch = load("torch")
    graph = block(name)
    kernels = {variant: torch.kernels(graph, variant) for variant in VARIANTS}
    code = {variant: torch.code(graph, variant) for variant in VARIANTS}
    times = torch.seconds(graph, bench=bench or Bench(rounds=7))
    nothing = torch.seconds(_next_to_nothing(), ["compiled"], bench=bench or Bench(rounds=7))["compiled"]
    return Compiled(
        name, importlib.metadata.version("torch"), kernels, code,
        {variant: t.seconds for variant, t in times.items()}, {variant: t.noise for variant, t in times.items()},
        nothing.seconds,
    )  # fmt: skip


_measured = Kept(measured)


@cache
def _next_to_nothing() -> Graph:
    """One operator on so few numbers that a call of it is all call."""
    return elementwise_chain(1, 16)


def record(processor: str, bench: Bench | None = None) -> str:
    """Compile and time the blocks, and return the file's new content; the machine is called by its processor."""
    results = {name: _of_result(measured(name, bench)) for name in BLOCKS}
    place = vars(here()) | {"host": "", "processor": processor}
    version = importlib.metadata.version("torch")
    return json.dumps({"torch": version, "place": place, "results": results}, indent=1, ensure_ascii=False) + "\n"


def _of_result(made: Compiled) -> dict[str, Any]:
    return {
        "seconds": {variant: rounded(value) for variant, value in made.seconds.items()},
        "noise": {variant: round(value, 3) for variant, value in made.noise.items()},
        "call_seconds": rounded(made.call_seconds),
        "kernels": {v: [[k.name, k.is_library, k.operators, k.rule] for k in made.kernels[v]] for v in VARIANTS},
        # behind this line there is only what runs the module as a program of its own
        "code": {variant: text.split("\ndef get_args")[0] for variant, text in made.code.items()},
    }
