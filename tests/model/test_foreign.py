"""Kinds that only files bring, counted by hand: what each makes, computes and moves; and what is not known stays so."""

import pytest

import roofline_lessons as rl
from roofline_lessons.arithmetic import run_operator
from roofline_lessons.graph import Graph, Tensor
from roofline_lessons.operators import FAMILIES, OPERATORS, family, make_operator

X = Tensor("x", (2, 3, 4))  # 24 elements
ROW = Tensor("row", (4,))
SMALL = Tensor("image", (1, 4, 6, 6))  # 144 elements


def lstm(gates, steps=2, batch=3, width=4, hidden=5):
    """x, weights of x, weights of the state."""
    x = Tensor("x", (steps, batch, width))
    rows = gates * hidden
    return [x, Tensor("w", (1, rows, width), "weight"), Tensor("r", (1, rows, hidden), "weight")]


def same(flops):
    """A kind that keeps 24 elements and does so many FLOPs on each."""
    return [X], {}, [(2, 3, 4)], 0, 24 * flops, (24,), (24,)


def two(flops):
    return [X, ROW], {}, [(2, 3, 4)], 0, 24 * flops, (24, 4), (24,)


def reduced(flops):
    return [X], {"axes": (-1,), "keepdims": True}, [(2, 3, 1)], 0, 24 * flops, (24,), (6,)


# kind: inputs, attributes, output shapes, MACs, other FLOPs, elements read of each input, elements written
FOREIGN = {
    "abs": same(1),
    "log": same(1),
    "square": same(1),
    "reciprocal": same(1),
    "rsqrt": same(2),
    "round": same(1),
    "sin": same(1),
    "cos": same(1),
    "softplus": same(3),
    "softsign": same(3),
    "selu": same(4),
    "mish": same(9),
    "cast": same(1),
    "quantize": same(5),
    "dequantize": same(2),
    "pow": two(1),
    "mod": two(1),
    "compare": two(1),
    "logic": two(1),
    "where": ([Tensor("c", (2, 3, 1)), X, ROW], {}, [(2, 3, 4)], 0, 24, (6, 24, 4), (24,)),
    "sum": ([X, ROW, X, X], {}, [(2, 3, 4)], 0, 3 * 24, (24, 4, 24, 24), (24,)),
    "sum of one": ([X], {}, [(2, 3, 4)], 0, 0, (24,), (24,)),
    "reduce_min": reduced(1),
    "reduce_prod": reduced(1),
    "reduce_l2": reduced(2),
    "arg_max": reduced(1),
    "cumsum": ([X], {"axis": 1}, [(2, 3, 4)], 0, 24, (24,), (24,)),
    "l2_norm": ([X], {"axis": -1}, [(2, 3, 4)], 0, 72, (24,), (24,)),
    "instance_norm": ([SMALL, ROW, ROW], {"axis": 1}, [(1, 4, 6, 6)], 0, 7 * 144, (144, 4, 4), (144,)),
    # square, scale, offset, power, division, and four additions of five neighbours
    "lrn": ([SMALL], {"size": 5}, [(1, 4, 6, 6)], 0, 9 * 144, (144,), (144,)),
    # 2 steps x 3 sequences x 4 gates x (4 x 5 + 5 x 5); 34 per step and unit: 2 x 3 x 5 of them
    "lstm": (lstm(4), {"shapes": [(2, 1, 3, 5), (1, 3, 5)]}, [(2, 1, 3, 5), (1, 3, 5)], 6 * 4 * 45, 34 * 30,
        (24, 80, 100), (30, 15)),
    "gru": (lstm(3), {"shapes": [(2, 1, 3, 5)]}, [(2, 1, 3, 5)], 6 * 3 * 45, 24 * 30, (24, 60, 75), (30,)),
    "rnn": (lstm(1), {"shapes": [(2, 1, 3, 5)]}, [(2, 1, 3, 5)], 6 * 45, 7 * 30, (24, 20, 25), (30,)),
    "copy": ([X], {"shape": (4, 9)}, [(4, 9)], 0, 0, (24,), (36,)),
    "copy of a part": ([X], {"shape": (2, 2)}, [(2, 2)], 0, 0, (4,), (4,)),
    "split": ([X], {"axis": 1, "sizes": (1, 2)}, [(2, 1, 4), (2, 2, 4)], 0, 0, (24,), (8, 16)),
    "resize": ([SMALL], {"shape": (1, 4, 9, 9)}, [(1, 4, 9, 9)], 0, 7 * 324, (144,), (324,)),
    "layout": ([SMALL], {"axes": (0, 2, 3, 1)}, [(1, 6, 6, 4)], 0, 0, (0,), (0,)),
    "unknown": ([X, ROW], {"shapes": [(7,), (2, 2)]}, [(7,), (2, 2)], 0, 0, (24, 4), (7, 4)),
}  # fmt: skip


def made(case):
    inputs, attributes, shapes, *_ = FOREIGN[case]
    kind = case.split(" of ")[0]
    return make_operator("op", kind, inputs, attributes, [f"y_{i}" for i in range(len(shapes))])


@pytest.mark.parametrize("case", FOREIGN)
def test_counted_by_hand(case):
    _, _, shapes, macs, other, read, written = FOREIGN[case]
    op = made(case)
    assert [t.shape for t in op.outputs] == shapes
    assert (op.macs, op.work.other_flops, op.work.read, op.work.written) == (macs, other, read, written)
    assert family(op) in FAMILIES
    assert op.flops_known == (case != "unknown")


# A9: LSTM 3,276,800, GRU 2,457,600 for 100 steps, batch 1, 64 inputs, 64 units.
@pytest.mark.parametrize("kind, gates, macs", [("lstm", 4, 3_276_800), ("gru", 3, 2_457_600), ("rnn", 1, 819_200)])
def test_recurrent_layers_work_in_every_step(kind, gates, macs):
    op = make_operator("l", kind, lstm(gates, 100, 1, 64, 64), {"shapes": [(100, 1, 1, 64)]}, ["y"])
    assert op.macs == macs


@pytest.mark.parametrize("kind, inputs, attributes, words", [
    ("split", [X], {"axis": 1, "sizes": (1, 1)}, r"parts of \(1, 1\) are not the 3 places of x"),
    ("layout", [X], {"axes": (0, 0, 1)}, "must name each of the 3 axes of x once"),
    ("lstm", lstm(3), {"shapes": [(2, 1, 3, 5)]}, r"w \(1, 15, 4\) and r \(1, 15, 5\) are not those of lstm"),
    ("gru", [X, ROW, ROW], {"shapes": [(1,)]}, "must have three dimensions each"),
])  # fmt: skip
def test_what_does_not_fit_is_said_in_words(kind, inputs, attributes, words):
    with pytest.raises(rl.GraphError, match=words):
        make_operator("op", kind, inputs, attributes, ["y"] * 2)


def test_what_is_only_counted_cannot_be_run():
    with pytest.raises(rl.GraphError, match="op: what lstm computes is not in this package; it is only counted"):
        run_operator(made("lstm"), [])


def test_an_unknown_operator_shows_in_the_estimate():
    """x (24) -> relu -> unknown -> y (12): relu moves 48 elements, the unknown one 36 of the 84 there are."""
    relu = make_operator("relu", "relu", [X], {}, ["r"])
    odd = make_operator("odd", "unknown", [relu.output], {"shapes": [(3, 4)]}, ["y"])
    graph = Graph("mixed", [X], [relu, odd], [odd.output])
    assert graph.unknown == (odd,)
    toy = rl.Device("toy", peak={"fp32": 1e12}, bandwidth=1e11)
    estimate = rl.estimate(rl.unfused(graph), toy)
    assert estimate.unknown_bytes_share == 36 / 84
    assert "the FLOPs of odd are not known" in estimate.kernels[1].because
    assert "not known" not in estimate.kernels[0].because
    known = Graph("known", [X], [relu], [relu.output])
    assert rl.estimate(rl.unfused(known), toy).unknown_bytes_share == 0


def test_foreign_kinds_that_are_elementwise_may_be_fused():
    assert all(OPERATORS[kind].family == "elementwise" for kind in ("cast", "quantize", "where", "sum"))


def test_a_long_chain_of_views_needs_no_recursion():
    operators = []
    t = X
    for i in range(5000):
        operators.append(make_operator(f"v{i}", "identity", [t], {}, [f"t{i}"]))
        t = operators[-1].output
    end = make_operator("end", "relu", [t], {}, ["y"])
    graph = Graph("views", [X], [*operators, end], [end.output])
    assert graph.storage(t) == (X,)
    assert rl.estimate(rl.unfused(graph), rl.Device("toy", peak={"fp32": 1.0}, bandwidth=1.0)).dram_bytes == 2 * 24 * 4
