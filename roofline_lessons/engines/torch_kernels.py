"""Which of our operators a kernel of Inductor stands for.

Each of Inductor's kernels says from which operators its buffers come. The tensors that it makes are thereby known, and
the kernel stands for everything between what it makes and what other kernels make, as with the other engines
(`merges`). Where Inductor put a pattern in the place of operators, only the last of them is known, or none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..graph import Graph, Operator, Tensor
from .errors import EngineError
from .merges import Node, replacements
from .torch_code import Generated, loops, passes

#: What a batch norm and arithmetic with constants may disappear into: the weights of these.
_WITH_WEIGHTS = frozenset({"conv2d", "conv_transpose2d", "dense"})
_FOLDED = frozenset({"batch_norm", "bias_add", "add", "sub", "mul", "div"})

#: What Inductor's scheduler calls a kernel, in words.
_RULES: Mapping[str, str] = {
    "SchedulerNode": "one loop",
    "FusedSchedulerNode": "loops joined",
    "OuterLoopFusedSchedulerNode": "outer loops joined",
    "ExternKernelSchedulerNode": "library call",
}


@dataclass(frozen=True)
class Kernel:
    """What Inductor runs at once: a loop that it wrote, or a call of a library.

    name : of the generated function, or of the library's with what it does to the result before it is stored.
    is_library : whether it is the library's.
    operators : ours that it does, in their order; none for a loop that only puts numbers into another order, or that
        makes a first part of an operator's result.
    rule : how its operators came together.
    source : the C++ of the generated function; "" for a library call. Loops that run after each other may share one.
    """

    name: str
    is_library: bool
    operators: tuple[str, ...]
    rule: str
    source: str = ""

    @property
    def loops(self) -> list[str]:
        """The outermost loops of the function, to read."""
        return loops(self.source)

    @property
    def passes(self) -> dict[str, int]:
        """How many of the function's outermost loops touch each of its arrays: every one is a trip to memory."""
        return passes(self.source)

    def __repr__(self) -> str:
        done = " + ".join(self.operators) or "no operator: numbers in another order"
        most = max((n for name, n in self.passes.items() if name.startswith("in_ptr")), default=0)
        trips = f"; an input is read in {most} loops" if most > 1 else ""
        return f"<{self.name}, {self.rule}: {done}{trips}>"


@dataclass(frozen=True)
class Scheduled:
    """A kernel of Inductor's scheduler.

    kind : the scheduler's name for its kind.
    holds : for each of its buffers, the operators of ours that were put into it.
    """

    kind: str
    holds: tuple[frozenset[str], ...]

    @property
    def is_library(self) -> bool:
        """Whether it is a call of a library and no loop of Inductor's own."""
        return self.kind == "ExternKernelSchedulerNode"


def kernels_of(graph: Graph, scheduled: Sequence[Scheduled], generated: Generated) -> tuple[Kernel, ...]:
    """Inductor's kernels with the operators that they stand for and their functions.

    Parameters
    ----------
    graph : Graph
    scheduled : sequence of Scheduled
        In the order they run.
    generated : Generated

    Raises
    ------
    EngineError
        The code is not as PyTorch 2.13 writes it: another order, or a function without its source.
    """
    found = []
    names = functions(scheduled, generated)
    for s, group, name in zip(scheduled, operators(graph, scheduled), names, strict=True):
        source = generated.functions.get(name, "")
        if not s.is_library and not source:
            raise EngineError(f"The code that torch.compile wrote has no source of {name} that can be read.")
        found.append(Kernel(name, s.is_library, group, _RULES.get(s.kind, s.kind), source))
    return tuple(found)


def operators(graph: Graph, scheduled: Sequence[Scheduled]) -> list[tuple[str, ...]]:
    """The operators of each kernel, in their order and without views.

    None for a kernel that only arranges numbers in another order, or makes a first part of an operator's result.

    Parameters
    ----------
    graph : Graph
    scheduled : sequence of Scheduled
        In the order they run.

    Examples
    --------
    >>> from roofline_lessons.networks import elementwise_chain
    >>> operators(elementwise_chain(3), [Scheduled("SchedulerNode", (frozenset({"relu_0", "mul_0", "relu_1"}),))])
    [('relu_0', 'mul_0', 'relu_1')]
    """
    before = [Node(op.name, op.kind, _names(op.activations), _names(op.outputs)) for op in graph]
    makers = _makers(graph, scheduled)
    after = [
        Node(
            str(i), s.kind, (), tuple(t for name, maker in makers.items() if maker == i for t in _outputs(graph, name))
        )
        for i, s in enumerate(scheduled)
    ]
    found: list[tuple[str, ...]] = [() for _ in scheduled]
    for replacement in replacements(before, after):
        group = tuple(node.name for node in replacement.before if not graph[node.name].is_view)
        found[int(replacement.after[-1].name)] = group
    return found


def _names(tensors: Sequence[Tensor]) -> tuple[str, ...]:
    return tuple(t.name for t in tensors)


def _outputs(graph: Graph, name: str) -> tuple[str, ...]:
    return _names(graph[name].outputs)


def _makers(graph: Graph, scheduled: Sequence[Scheduled]) -> dict[str, int]:
    """Operator -> the kernel that makes its output, for those whose output is stored."""
    makers: dict[str, int] = {}
    for i, s in enumerate(scheduled):
        for name in {max(names, key=lambda n: graph.position(graph[n])) for names in s.holds if names}:
            # A buffer may be a step on the way: the last one is the output. But before and behind a library call there
            # are loops that arrange its numbers.
            if s.is_library or name not in makers or not scheduled[makers[name]].is_library:
                makers[name] = i
    gone = {op.name for op in graph if not op.is_view}.difference(*(names for s in scheduled for names in s.holds))
    _add_folded(graph, scheduled, makers, gone)
    _add_nameless(graph, scheduled, makers, gone)
    return makers


def _add_folded(graph: Graph, scheduled: Sequence[Scheduled], makers: dict[str, int], gone: set[str]) -> None:
    """A library call whose weights took in what came behind makes the output of that instead."""
    for op in graph:
        if op.name not in gone or op.kind not in _FOLDED or len(op.activations) != 1:
            continue
        before = graph.producers.get(op.activations[0].name)
        if before is not None and before.name in makers and scheduled[makers[before.name]].is_library:
            if before.kind in _WITH_WEIGHTS or before.kind in _FOLDED:
                makers[op.name] = makers.pop(before.name)


def _add_nameless(graph: Graph, scheduled: Sequence[Scheduled], makers: dict[str, int], gone: set[str]) -> None:
    """A library call that stands for a pattern and has no name of ours makes what the next kernel needs of it."""
    for i, s in enumerate(scheduled):
        if not s.is_library or any(s.holds):
            continue
        for later in scheduled[i + 1 :]:
            needed = {
                op.name for names in later.holds for name in names for op in _read(graph, graph[name])
            } & gone - makers.keys()
            if needed:
                makers[max(needed, key=lambda n: graph.position(graph[n]))] = i
                break


def _read(graph: Graph, op: Operator) -> list[Operator]:
    """The operators whose results an operator reads, behind views."""
    stored = [s for t in op.activations for s in graph.storage(t)]
    return [graph.producers[t.name] for t in stored if t.name in graph.producers]


def functions(scheduled: Sequence[Scheduled], generated: Generated) -> list[str]:
    """The function of each kernel: loops that follow each other share one, a library call is one.

    Raises
    ------
    EngineError
        The code does not run library calls and loops in the order of the kernels.
    """
    names: list[str] = []
    calls = list(generated.calls)
    for i, s in enumerate(scheduled):
        shares = i > 0 and not s.is_library and not scheduled[i - 1].is_library
        if not shares:
            if not calls or calls[0].is_library != s.is_library:
                raise EngineError("The code that torch.compile wrote is not in the order of its kernels.")
            call = calls.pop(0)
        names.append(f"{call.name} + {call.epilogue}" if call.epilogue else call.name)
    if calls:
        raise EngineError(f"The code that torch.compile wrote calls {calls[0].name}, which is none of its kernels.")
    return names
