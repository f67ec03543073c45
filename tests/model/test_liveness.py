"""Memory of the tensors between kernels: cases worked by hand, and what must hold for every plan."""

from __future__ import annotations

import pytest

import roofline_lessons as rl
from roofline_lessons.fusion.liveness import live_bytes, peak_live_bytes


def chain():
    """Input of 100 elements -> 600 -> 200 -> 500: matrix products between vectors."""
    b = rl.GraphBuilder("chain")
    y = b.input("x", (1, 100))
    for features in (600, 200, 500):
        y = b.dense(y, features, bias=False)
    return b.build(outputs=[y])


def residual():
    """x -> relu_0 -> relu_1 -> relu_2 -> add_0 with relu_0: the shortcut keeps relu_0's result alive."""
    b = rl.GraphBuilder("residual")
    y = b.relu(b.input("x", (1, 100)))
    return b.build(outputs=[b.add(y, b.relu(b.relu(y)))])


def test_a_chain_needs_its_input_and_its_output_at_each_step():
    # by hand: 100 + 600, 600 + 200, 200 + 500 numbers of one byte; the weights (60,000 and more) do not count
    assert live_bytes(rl.unfused(chain()), "int8").tolist() == [700, 800, 700]
    assert peak_live_bytes(rl.unfused(chain()), "int8") == 800


@pytest.mark.parametrize("precision, each", [("fp32", 4), ("fp16", 2), ("int8", 1), ("int4", 0.5)])
def test_bytes_follow_the_activations_precision(precision, each):
    assert peak_live_bytes(rl.unfused(chain()), precision) == 800 * each


def test_the_weights_precision_does_not_matter():
    w4a16 = rl.Precision(weights="int4", activations="fp16", arithmetic="fp16")
    assert peak_live_bytes(rl.unfused(chain()), w4a16) == peak_live_bytes(rl.unfused(chain()), "fp16")


def test_a_shortcut_keeps_its_tensor_alive():
    # relu_0: x and r0; relu_1: r0 and r1; relu_2: r0 (for the addition), r1, r2; add_0: r0, r2 and the sum
    assert live_bytes(rl.unfused(residual()), "int8").tolist() == [200, 200, 300, 300]


def test_what_stays_inside_a_kernel_needs_no_memory():
    one = rl.fuse(residual(), groups=[["relu_0", "relu_1", "relu_2", "add_0"]])
    assert live_bytes(one, "int8").tolist() == [200]
    two = rl.fuse(residual(), groups=[["relu_0"], ["relu_1", "relu_2", "add_0"]])
    assert live_bytes(two, "int8").tolist() == [200, 200]


def test_an_input_lives_until_its_last_reader_and_an_output_to_the_end():
    b = rl.GraphBuilder("two outputs")
    x = b.input("x", (1, 100))
    early = b.relu(x)
    late = b.add(b.relu(early), x)
    graph = b.build(outputs=[early, late])
    # relu_0: x, early; relu_1: x, early, r1; add_0: x, early (kept), r1, late
    assert live_bytes(rl.unfused(graph), "int8").tolist() == [200, 300, 400]


def test_a_second_input_is_there_from_the_start():
    b = rl.GraphBuilder("two inputs")
    x, y = b.input("x", (1, 100)), b.input("y", (1, 100))
    graph = b.build(outputs=[b.add(b.relu(x), y)])
    assert live_bytes(rl.unfused(graph), "int8").tolist() == [300, 300]


def test_a_view_is_the_same_memory():
    b = rl.GraphBuilder("view")
    y = b.relu(b.input("x", (1, 4, 5, 5)))
    graph = b.build(outputs=[b.flatten(b.relu(b.flatten(y)))])
    assert live_bytes(rl.unfused(graph), "int8").tolist() == [200, 200]


def test_a_result_that_nobody_reads_lives_during_its_kernel_only():
    b = rl.GraphBuilder("unused")
    x = b.input("x", (1, 100))
    b.relu(x)
    graph = b.build(outputs=[b.relu(b.relu(x))])
    # relu_0: x and its result; relu_1: x and r1; relu_2: r1 and r2
    assert live_bytes(rl.unfused(graph), "int8").tolist() == [200, 200, 200]


def test_a_tensor_of_fixed_bits_keeps_them():
    b = rl.GraphBuilder("lookup")
    rows = b.gather(b.weight("table", (50, 16)), b.input("words", (10,), bits=32))
    graph = b.build(outputs=[rows])
    assert peak_live_bytes(rl.unfused(graph), "int8") == 10 * 4 + 10 * 16


def test_the_keyword_spotter_by_hand():
    # the first convolution makes 25 x 5 x 64 numbers (49 x 10 at stride 2), and so does every layer after it
    graph = rl.networks.ds_cnn()
    assert peak_live_bytes(rl.unfused(graph), "int8") == 2 * 25 * 5 * 64


@pytest.mark.parametrize("build", [rl.networks.mobilenet_v2, rl.networks.resnet50, rl.networks.visual_wake_words])
def test_an_epilogue_never_needs_more(build):
    graph = build()
    assert peak_live_bytes(rl.fuse(graph, "epilogue"), "int8") <= peak_live_bytes(rl.unfused(graph), "int8")


def test_the_peak_is_at_least_the_largest_kernels_own_tensors():
    plan = rl.unfused(rl.networks.mobilenet_v2())
    own = [
        sum(t.tensor.elements for t in (*k.reads, *k.writes) if not t.tensor.is_constant) for k in plan.kernels
    ]  # fmt: skip
    assert (live_bytes(plan, "int8") >= own).all()
