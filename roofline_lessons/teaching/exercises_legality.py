"""The exercises of the lesson on what may be fused (07), as data.

A graph is a dict there: operator -> what it reads, in the order in which the operators run. A tensor has the name of
the operator that makes it; "x" comes from outside.
"""

from __future__ import annotations

import numpy as np

from .exercise import Exercise, Misconception

Reads = dict[str, list[str]]

_FORK: Reads = {"relu": ["x"], "double": ["relu"], "plus_one": ["relu"]}
_CHAIN: Reads = {"conv": ["x"], "norm": ["conv"], "relu": ["norm"], "pool": ["relu"]}
_RESIDUAL: Reads = {"relu": ["x"], "conv": ["relu"], "norm": ["conv"], "add": ["relu", "norm"], "last": ["add"]}
_BRANCHES: Reads = {"left": ["x"], "right": ["x"], "gate": ["right"], "mul": ["left", "gate"], "out": ["mul"]}


def _graph(rng: np.random.Generator, operators: int = 7) -> Reads:
    """A random graph: each operator reads one or two of the tensors made before it."""
    made = ["x"]
    reads: Reads = {}
    for name in "abcdefghij"[:operators]:
        near = made[-4:]
        reads[name] = [str(t) for t in rng.choice(near, min(len(near), int(rng.integers(1, 3))), replace=False)]
        made.append(name)
    return reads


def _some(rng: np.random.Generator, names: list[str], count: int) -> set[str]:
    return {str(name) for name in rng.choice(names, count, replace=False)}


def _kernel_and_graph(rng: np.random.Generator) -> tuple[set[str], Reads]:
    reads = _graph(rng)
    return _some(rng, list(reads), int(rng.integers(2, 5))), reads


def _kernel_graph_results_size(rng: np.random.Generator) -> tuple[set[str], Reads, set[str], int]:
    kernel, reads = _kernel_and_graph(rng)
    nobody_reads = set(reads) - {t for ts in reads.values() for t in ts}
    return kernel, reads, nobody_reads | _some(rng, list(reads), 1), int(rng.integers(1, 10**6))


LEGALITY = [
    Exercise(
        name="07-kernel-bytes",
        stub="""
def kernel_bytes(kernel, reads, results, size):
    read = ...
    written = ...
    return size * (len(read) + len(written))
""",
        solution="""
def kernel_bytes(kernel, reads, results, size):
    read = {t for op in kernel for t in reads[op]} - kernel
    written = kernel & (results | {t for op in reads if op not in kernel for t in reads[op]})
    return size * (len(read) + len(written))
""",
        inputs=(
            ({"relu", "double"}, _FORK, {"double", "plus_one"}, 100),
            ({"relu", "double", "plus_one"}, _FORK, {"double", "plus_one"}, 100),
            ({"double", "plus_one"}, _FORK, {"double", "plus_one"}, 100),
            ({"conv", "norm"}, _CHAIN, {"pool"}, 1000),
            ({"relu", "pool"}, _CHAIN, {"pool"}, 10),
            ({"norm", "add"}, _RESIDUAL, {"last", "norm"}, 10),
            ({"relu"}, _RESIDUAL, {"last"}, 10),
        ),
        random=_kernel_graph_results_size,
        misconceptions=(
            Misconception(
                "def f(kernel, reads, results, size):\n"
                "    read = {t for op in kernel for t in reads[op]} - kernel\n"
                "    written = kernel & results\n"
                "    return size * (len(read) + len(written))",
                "You write the results of the graph only. A tensor that an operator outside the kernel reads has to "
                "be written, too: how else could it get there?",
            ),
            Misconception(
                "def f(kernel, reads, results, size):\n"
                "    read = {t for op in kernel for t in reads[op]} - kernel\n"
                "    written = kernel - {t for op in kernel for t in reads[op]}\n"
                "    return size * (len(read) + len(written))",
                "You left out every tensor that is read inside the kernel. It may be needed outside as well, as "
                "relu_0.out was: then the write stays.",
            ),
            Misconception(
                "def f(kernel, reads, results, size):\n"
                "    read = {t for op in kernel for t in reads[op]} - kernel\n"
                "    written = kernel & {t for op in reads if op not in kernel for t in reads[op]}\n"
                "    return size * (len(read) + len(written))",
                "You forgot `results`: what the graph gives back is always written, even if no operator reads it.",
            ),
            Misconception(
                "def f(kernel, reads, results, size):\n"
                "    read = [t for op in kernel for t in reads[op] if t not in kernel]\n"
                "    written = kernel & (results | {t for op in reads if op not in kernel for t in reads[op]})\n"
                "    return size * (len(read) + len(written))",
                "You counted a tensor once for each of its readers. A kernel reads it from DRAM once, however many of "
                "its operators need it: take a set.",
            ),
            Misconception(
                "def f(kernel, reads, results, size):\n    return size * sum(len(reads[op]) + 1 for op in kernel)",
                "This is what the operators move one by one, without fusion.",
            ),
            Misconception(
                "def f(kernel, reads, results, size):\n"
                "    read = {t for op in kernel for t in reads[op]} - kernel\n"
                "    return size * (len(read) + len(kernel))",
                "You wrote every tensor that the kernel makes. What only the kernel itself reads stays on the chip.",
            ),
        ),
        hints=(
            "`read`: all that operators of the kernel read, without what the kernel makes itself. Sets can be "
            "subtracted: {…} - kernel.",
            "`written`: what the kernel makes and somebody needs outside. Who is outside? `op not in kernel`.",
            "Needed outside is what the others read, {t for op in reads if op not in kernel for t in reads[op]}, and "
            "what is in `results`. Join sets with |, and take what is in both with &.",
        ),
    ),
    Exercise(
        name="07-is-convex",
        stub="""
def is_convex(kernel, reads):
    waiting = set()  # operators outside that need something from the kernel
    for op in reads:  # in the order in which they run
        if op in kernel and ...:
            return False
        if op not in kernel and ...:
            waiting.add(op)
    return True
""",
        solution="""
def is_convex(kernel, reads):
    waiting = set()  # operators outside that need something from the kernel
    for op in reads:  # in the order in which they run
        if op in kernel and waiting & set(reads[op]):
            return False
        if op not in kernel and (kernel | waiting) & set(reads[op]):
            waiting.add(op)
    return True
""",
        inputs=(
            ({"relu", "add"}, _RESIDUAL),
            ({"norm", "add"}, _RESIDUAL),
            ({"relu", "conv"}, _RESIDUAL),
            ({"relu", "conv", "norm", "add"}, _RESIDUAL),
            ({"relu", "double"}, _FORK),
            ({"conv", "relu"}, _CHAIN),
            ({"conv", "norm", "relu"}, _CHAIN),
            ({"left", "mul"}, _BRANCHES),
            ({"right", "mul"}, _BRANCHES),
        ),
        random=_kernel_and_graph,
        misconceptions=(
            Misconception(
                "def f(kernel, reads):\n"
                "    beside = {op for op in reads if op not in kernel and kernel & set(reads[op])}\n"
                "    return not any(beside & set(reads[op]) for op in kernel)",
                "You looked one step outside the kernel. The way back may be longer: from relu over conv and norm to "
                "add. Whoever reads from a waiting operator waits as well.",
            ),
            Misconception(
                "def f(kernel, reads):\n"
                "    return not any(kernel & set(reads[op]) for op in reads if op not in kernel)",
                "You refuse every path that leaves the kernel. Leaving is fine, the tensor is written; it must not "
                "come back.",
            ),
            Misconception(
                "def f(kernel, reads):\n    return all(t in kernel or t == 'x' for op in kernel for t in reads[op])",
                "You refuse a kernel that reads what others make, as if everyone outside were waiting. Only those wait "
                "that need something from the kernel.",
            ),
            Misconception(
                "def f(kernel, reads):\n"
                "    waiting = set()\n"
                "    for op in reads:\n"
                "        if op in kernel and waiting & set(reads[op]):\n"
                "            return False\n"
                "        if (kernel | waiting) & set(reads[op]):\n"
                "            waiting.add(op)\n"
                "    return True",
                "You put operators of the kernel itself among the waiting ones. Only those outside count: "
                "`op not in kernel`.",
            ),
            Misconception(
                "def f(kernel, reads):\n    return not any(len(reads[op]) > 1 for op in kernel)",
                "Two inputs alone do no harm. Ask where the second one comes from.",
            ),
        ),
        hints=(
            "What an operator reads is `set(reads[op])`. Tensors have the names of their makers, so it can be compared "
            "with `waiting` and with `kernel`.",
            "The second condition: an operator outside waits when it reads what the kernel makes, or what a waiting "
            "operator makes: (kernel | waiting) & set(reads[op]).",
            "The first condition: an operator of the kernel that reads what a waiting one makes: there a path has left "
            "and come back.",
        ),
    ),
]
