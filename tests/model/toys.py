"""Small graphs and round devices for the tests of the model: numbers a reader can check in the head."""

import roofline_lessons as rl
from roofline_lessons.graph import Work

#: Ridge point 10 FLOP per byte. Launch cost, energy and on-chip bandwidth are unknown.
TOY = rl.Device("toy", peak={"fp32": 1e12, "int8": 1e12}, bandwidth=1e11)

#: references.md, section A: H100 SXM, dense.
H100 = rl.Device("H100 SXM", peak={"fp16": 989.4e12}, bandwidth=3.35e12)


def graph_of(build):
    """The graph whose only output is what `build(builder)` returns."""
    b = rl.GraphBuilder("toy")
    return b.build(outputs=[build(b)])


def operator_of(build):
    """The last operator of that graph."""
    return graph_of(build).operators[-1]


def image(b, channels=4):
    """An input of one 6 x 6 image."""
    return b.input("x", (1, channels, 6, 6))


def rows(b, name="x"):
    """An input of (2, 3, 4): 24 elements."""
    return b.input(name, (2, 3, 4))


def made_up(*jobs):
    """A graph of independent operators that do exactly (FLOPs, bytes) each; estimate it at int8, one byte an
    element.
    """
    inputs, operators = [], []
    for i, (flops, moved) in enumerate(jobs):
        x, y = rl.Tensor(f"x_{i}", (max(int(moved), 1),)), rl.Tensor(f"y_{i}", (1,))
        inputs.append(x)
        operators.append(rl.Operator(f"job_{i}", "relu", (x,), (y,), Work(0, int(flops), (int(moved),), (0,))))
    return rl.Graph("made up", inputs, operators, [op.output for op in operators])


def estimate_jobs(*jobs, device=TOY):
    """The unfused estimate of `made_up` jobs."""
    return rl.estimate(rl.unfused(made_up(*jobs)), device, "int8")


def plan_of(graph, *groups):
    """A plan from operator names: plan_of(graph, "conv_0 relu_0", "conv_1")."""
    return rl.Plan(graph, [[graph[name] for name in names.split()] for names in groups])


def moves(kernel):
    """What a kernel reads and what it writes, as {tensor name: elements}."""
    return tuple({t.tensor.name: t.elements for t in transfers} for transfers in (kernel.reads, kernel.writes))


def dram_bytes(build, precision="fp32"):
    """DRAM bytes of the last operator of a toy graph as a kernel of its own."""
    graph = graph_of(build)
    device = rl.Device("any", peak={rl.precision(precision).arithmetic: 1.0}, bandwidth=1.0)
    return rl.estimate(rl.unfused(graph), device, precision).kernels[-1].dram_bytes
