"""One graph under several plans as a still picture."""

from __future__ import annotations

import pytest

import roofline_lessons as rl
from roofline_lessons import kernel_plots

PI = rl.device("raspberry-pi-5")


def estimates(graph: rl.Graph, *rules: str) -> dict[str, rl.Estimate]:
    return {name: rl.estimate(rl.fuse(graph, rules=name), PI, "fp32") for name in rules}


def words(figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def test_each_kernel_is_a_lettered_box_and_each_row_says_what_it_costs():
    shown = estimates(rl.networks.bottleneck(), "none", "epilogue")
    figure = kernel_plots.kernels(shown)
    kernels = {name: len(est.kernels) for name, est in shown.items()}
    assert kernels == {"none": 9, "epilogue": 4}
    assert len(figure.axes[0].patches) == sum(kernels.values())  # each of these kernels is a run of neighbours
    said = words(figure)
    assert [w for w in said if len(w) == 1] == [*"ABCDEFGHI", *"ABCD"]
    assert said.count("folded") == sum(len(k.folded) for k in shown["epilogue"].plan.kernels) == 3
    for est in shown.values():
        cost = f"{len(est.kernels)} kernels, {rl.si(est.dram_bytes, 'B')}, {rl.si(est.seconds, 's')}"
        assert cost in said and any(line.endswith(cost) for line in kernel_plots.text(shown))


def test_a_kernel_with_a_gap_has_a_box_on_each_side_with_one_letter():
    b = rl.GraphBuilder("two readers")
    x = b.input("x", (4, 8))
    left, right = b.relu(x, name="left"), b.tanh(b.input("y", (4, 8)), name="right")
    graph = b.build(outputs=[b.exp(left, name="last"), right])
    plan = rl.fuse(graph, groups=[["left", "last"]])
    figure = kernel_plots.kernels({"by hand": rl.estimate(plan, PI, "fp32")})
    assert len(figure.axes[0].patches) == 3
    assert [w for w in words(figure) if len(w) == 1] == ["A", "A", "B"]


def test_a_tensor_that_is_read_farther_on_has_an_arrow():
    figure = kernel_plots.kernels(estimates(rl.networks.fork(), "none"))
    assert "read again by plus_one" in words(figure)
    assert not any("read again" in w for w in words(kernel_plots.kernels(estimates(rl.networks.vgg_start(), "none"))))


def test_plans_of_different_graphs_are_refused():
    mixed = estimates(rl.networks.fork(), "none") | estimates(rl.networks.fork(), "tvm")
    with pytest.raises(ValueError, match="needs plans of one graph, not of 2"):
        kernel_plots.kernels(mixed)
    with pytest.raises(ValueError, match="not of 0"):
        kernel_plots.kernels({})
