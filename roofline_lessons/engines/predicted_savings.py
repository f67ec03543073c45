"""How much time a fusion saves, predicted as a bracket, term by term.

What an engine merges no longer runs alone: those passes over memory are saved. The lower end of the bracket says that
they ran in place, computed while they moved numbers, and that the kernel which took them in still has their work to
do. The higher end says that each made a copy, computed after it had moved the numbers, and that the kernel hides the
work behind what it does anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ..errors import unknown_name
from ..fusion import Plan
from ..graph import Operator
from ..measure import Machine
from ..text import si
from .merges import Merge
from .operator_costs import Costs

#: The terms in the order in which they are best switched on, and what each says.
TERMS: Mapping[str, str] = MappingProxyType(
    {
        "working set": "the bandwidth is that of the memory in which the tensors of a pass fit, not always DRAM's",
        "in place": "lower end: a pass that writes into the tensor it reads moves less than a copy",
        "engine's nodes": "an operator of ours may be several nodes of the engine, or none",
        "arithmetic": "each node costs a call and arithmetic: lower end while numbers move, higher end afterwards",
        "what stays": "lower end: the kernel that took the operators in still does their arithmetic",
    }
)

#: Nodes that an engine has for an operator of ours that runs alone, where it is not one.
_NODES: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        "TensorFlow Lite, plain": {"batch_norm": 2},  # a multiplication and an addition
        # XNNPACK merges an activation into what comes before it, whether the file says so or not (xnn_subgraph_fusion)
        "TensorFlow Lite, XNNPACK": {"batch_norm": 2, "relu": 0, "relu6": 0},
    }
)

#: Engines whose convolutions go over their output once more for a bias and what else they took in; the others do that
#: while the numbers are in registers. (onnxruntime/core/mlas/lib/convolve.cpp: MlasActivation after each product.)
_ANOTHER_PASS = ("ONNX Runtime",)

#: Nodes of ONNX Runtime that are an operator of ours: what such a kernel costs is known from that.
_ALSO_ALONE: Mapping[str, str] = MappingProxyType({"LayerNormalization": "layer_norm", "Gelu": "gelu"})

_FLOAT = 4  # bytes


@dataclass(frozen=True)
class Saving:
    """Seconds, from the lower end of a bracket to the higher."""

    low: float
    high: float

    def __post_init__(self) -> None:
        ends = sorted((self.low, self.high))
        object.__setattr__(self, "low", ends[0])
        object.__setattr__(self, "high", ends[1])

    def __add__(self, other: Saving) -> Saving:
        return Saving(self.low + other.low, self.high + other.high)

    def holds(self, seconds: float, spread: float = 0.0) -> bool:
        """Whether measured seconds, give or take their spread, lie in the bracket."""
        return self.low - spread <= seconds <= self.high + spread

    def times_as_fast(self, merged_seconds: float) -> tuple[float, float]:
        """How many times as fast merging makes a graph that takes so long when it is merged."""
        return 1 + self.low / merged_seconds, 1 + self.high / merged_seconds

    def __str__(self) -> str:
        low, high = signed(self.low), signed(self.high)
        return low if low == high else f"{low} … {high}"


def signed(seconds: float) -> str:
    """Seconds for a person, with a minus sign where something was lost.

    Examples
    --------
    >>> signed(-3.4e-4), str(Saving(2e-5, 1e-4)), str(Saving(0, 0))
    ('−340 µs', '20 µs … 100 µs', '0 s')
    """
    return ("−" if seconds < 0 else "") + si(abs(seconds), "s", 2)


def predict_saving(
    plan: Plan,
    engine: str,
    machine: Machine,
    costs: Costs | None = None,
    merges: Sequence[Merge] = (),
    terms: Iterable[str] = tuple(TERMS),
) -> Saving:
    """Seconds that it saves to run a plan's kernels instead of one for each operator.

    Parameters
    ----------
    plan : Plan
        The kernels.
    engine : str
        The title of one of `WAYS`; of any other name nothing is
        known, and each operator is one node.
    machine : Machine
        Measured or recorded.
    costs : Costs, optional
        Of the engine; none when not given.
    merges : sequence of Merge
        What the engine said, where it did: which kind of node does the work of a kernel.
    terms : iterable of str
        Which of `TERMS` to count; none gives the bytes saved over the DRAM bandwidth of a copy.

    Returns
    -------
    Saving

    Raises
    ------
    UnknownNameError
        A term that does not exist.
    """
    chosen = frozenset(terms)
    for name in sorted(chosen - TERMS.keys()):
        raise unknown_name("term", name, TERMS)
    kinds = {merge.before: merge.after[-1] for merge in merges}
    model = _Model(engine, machine, costs or Costs(), chosen)
    total = Saving(0.0, 0.0)
    for kernel in plan.kernels:
        if len(kernel.operators) > 1:
            total += model.kernel(kernel.operators, kinds.get(tuple(op.name for op in kernel.operators), ""))
    return total


@dataclass(frozen=True)
class _Model:
    """The terms that are counted, for one engine on one machine."""

    engine: str
    machine: Machine
    costs: Costs
    terms: frozenset[str]

    def kernel(self, operators: Sequence[Operator], made: str) -> Saving:
        """What one kernel saves: the operators that it took in, each alone, less what it still does for them."""
        if made in _ALSO_ALONE:
            alone, left = [self.alone(op) for op in operators], self.as_one(operators, _ALSO_ALONE[made])
        else:
            anchor = next((op for op in operators if op.macs), operators[0])
            taken_in = [op for op in operators if op is not anchor]
            alone, left = [self.alone(op) for op in taken_in], self.stays(anchor, taken_in)
        total = sum(alone, Saving(0.0, 0.0))
        return Saving(total.low - left.high, total.high - left.low)

    def alone(self, op: Operator) -> Saving:
        """Seconds of an operator that runs on its own."""
        nodes = _NODES.get(self.engine, {}).get(op.kind, 1) if "engine's nodes" in self.terms else 1
        moved = _FLOAT * (sum(t.elements for t in op.activations) + op.output.elements)
        made = _FLOAT * op.output.elements
        return self._pass(nodes, moved, made, self._arithmetic(op.kind, _elements(op)) if nodes else 0.0)

    def as_one(self, operators: Sequence[Operator], kind: str) -> Saving:
        """Seconds of a kernel that is an operator of ours: it reads a tensor and makes one."""
        output = operators[-1].output
        made = _FLOAT * output.elements
        return self._pass(1, 2 * made, made, self._arithmetic(kind, output.elements))

    def _pass(self, nodes: int, moved: float, made: float, computing: float) -> Saving:
        """Seconds to move numbers and to compute: in place and both at once, or as a copy and one after the other."""
        copy = nodes * moved / self._bandwidth(moved, "copy")
        if "in place" not in self.terms:
            return Saving(copy, copy)
        in_place = nodes * moved / self._bandwidth(moved - made, "in place")
        return Saving(max(in_place, computing), copy + computing)

    def stays(self, anchor: Operator, taken_in: Sequence[Operator]) -> Saving:
        """What a kernel still does for the operators that it took in.

        Of a batch norm that was folded into the weights the addition of its shift stays. A convolution that had a bias
        before goes over its output anyway.
        """
        has_bias = len(anchor.inputs) > 2
        if "what stays" not in self.terms or self.engine not in _ANOTHER_PASS or has_bias or not anchor.macs:
            return Saving(0.0, 0.0)
        kinds = {"batch_norm": "add"}
        each = [self.costs.arithmetic(kinds.get(op.kind, op.kind), _elements(op)) for op in taken_in]
        return Saving(0.0, sum(each))

    def _arithmetic(self, kind: str, elements: int) -> float:
        if "arithmetic" not in self.terms:
            return 0.0
        return self.costs.calls(kind) + self.costs.arithmetic(kind, elements)

    def _bandwidth(self, held_bytes: float, kind: str) -> float:
        m = self.machine.measurement
        return m.bandwidth_at(held_bytes if "working set" in self.terms else m.working_sets[-1], kind)


def _elements(op: Operator) -> int:
    return max(t.elements for t in (*op.activations, op.output))
