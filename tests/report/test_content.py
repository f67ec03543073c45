"""What a report says is what the estimates say; the chip's memory by hand; best is never slower than another plan."""

import numpy as np
import pytest

import roofline_lessons as rl
from roofline_lessons.reports import content
from roofline_lessons.reports.memory import memory_of
from tests.readers.making import info, ints, model, node, write
from tests.readers.tflite_making import Maker

TOY = rl.Device("toy", {"fp32": 1e12, "int8": 4e12}, 1e11, on_chip_bytes=10_000)


def chain(*shapes):
    """Inputs of these shapes, one ReLU after the other."""
    b = rl.GraphBuilder("chain")
    y = b.input("x", shapes[0])
    for _ in shapes:
        y = b.relu(y)
    return b.build(outputs=[y])


# -- plans and totals --------------------------------------------------------------------------------------------------


def test_the_totals_are_those_of_the_estimates(made, pi):
    graph = made.graph
    by_hand = {
        "unfused": rl.unfused(graph),
        "onnxruntime": rl.fuse(graph, "onnxruntime"),
        "best legal fusion": rl.best_plan(graph, pi, "fp32"),
    }
    assert list(made.estimates) == list(by_hand)
    for name, plan in by_hand.items():
        est, expected = made.estimates[name], rl.estimate(plan, pi, "fp32")
        assert (est.seconds, est.dram_bytes, est.flops) == (expected.seconds, expected.dram_bytes, expected.flops)
    assert made.as_it_stands is made.estimates["unfused"]
    assert (made.device, made.precision.name, made.rules) == (pi, "fp32", "onnxruntime")


def test_the_slowest_are_the_slowest(made):
    slow = [k.seconds for k in made.slowest(5)]
    assert slow == sorted((k.seconds for k in made.as_it_stands.kernels), reverse=True)[:5]
    assert made.slowest(1, plan="onnxruntime")[0].seconds == made.estimates["onnxruntime"].kernel_seconds.max()
    with pytest.raises(ValueError, match="most must be a whole number of at least 1, not 0"):
        made.slowest(0)


@pytest.mark.parametrize("device", ["stm32f746", "raspberry-pi-5", "jetson-orin-nano", "h100-sxm"])
@pytest.mark.parametrize("name", ["ds_cnn", "resnet8", "attention", "bottleneck", "fork"])
def test_the_best_is_never_slower_than_any_other_plan(name, device):
    made = rl.report(getattr(rl.networks, name)(), device, rules="tvm")
    assert made.best.seconds == min(est.seconds for est in made.estimates.values())


def test_a_plan_of_a_file_that_fuses_stands_first(pi):
    graph = rl.networks.mobilenet_v1(resolution=64)
    made = rl.report(rl.fuse(graph, rules="tflite"), pi)
    assert list(made.estimates) == ["as in the file", "unfused", "onnxruntime", "best legal fusion"]
    assert made.as_it_stands.dram_bytes < made.estimates["unfused"].dram_bytes


def test_a_rule_set_whose_kernels_do_not_fit_is_told_and_left_out():
    graph = rl.networks.convolution_chain("DDDD", channels=64, size=56)
    made = rl.report(graph, TOY, "fp32", rules="depth-first")
    assert list(made.estimates) == ["unfused", "best legal fusion"]
    assert "does not fit on toy" in made.refused["depth-first"]
    assert "depth-first" not in [c.what for c in made.changes]


def test_a_very_large_graph_is_not_searched_for_minutes(pi, monkeypatch):
    monkeypatch.setattr(content, "MOST_SEARCHED", 50)
    monkeypatch.setattr(content, "best_plan", None)  # would fail
    made = rl.report(rl.networks.mobilenet_v1(resolution=64), pi, "fp32")
    assert "83 operators are too many to search" in made.notes[0]
    assert made.best.seconds < made.as_it_stands.seconds


# -- files and precision -----------------------------------------------------------------------------------------------


def test_the_report_on_a_file(file, made, pi):
    of_file = rl.report_on_file(file, pi, "fp32")
    assert (of_file.name, of_file.notes) == ("mobile.onnx", ())
    assert of_file.as_it_stands.seconds == made.as_it_stands.seconds
    assert of_file.best.seconds == made.best.seconds


def test_what_was_assumed_and_is_not_known_is_in_the_notes(odd, pi):
    made = rl.report_on_file(odd, pi)
    assert "batch=1 is assumed" in made.notes[0] and "own.Odd" in made.notes[1]
    assert made.as_it_stands.unknown_bytes_share == 1 / 2
    assert "batch" not in " ".join(rl.report_on_file(odd, pi, batch=1).notes)


def test_the_precision_is_that_of_the_file(tmp_path):
    m = Maker()
    w = m.tensor("w", (8, 64), "int8", True)
    y = m.op("FULLY_CONNECTED", [m.input("x", (1, 64), "int8"), w, -1], [m.tensor("y", (1, 8), "int8")],
             "FullyConnectedOptions")  # fmt: skip
    m.outputs = [y]
    path = write(tmp_path, m.bytes(), "q.tflite")
    assert rl.precision_of(rl.read_tflite(path)) == "int8"
    assert rl.report_on_file(path, "raspberry-pi-5").rules == "tflite"
    assert rl.precision_of(rl.networks.mobilenet_v1(resolution=64)) == "fp32"
    weights_alone = model([node("DequantizeLinear", ["w", "s"], ["f"]), node("MatMul", ["x", "f"], ["y"])],
                          [info("x", (4, 64))], [info("y", None)],
                          [ints("w", np.ones((64, 8)), np.int8), ints("s", 0.1, np.float32)])  # fmt: skip
    assert rl.precision_of(rl.read_onnx(write(tmp_path, weights_alone))) == "fp32"  # floats are multiplied


def test_a_device_without_that_precision_takes_another_and_says_so():
    made = rl.report(rl.networks.ds_cnn(), "coral-edge-tpu")
    assert made.precision.name == "int8"
    assert made.notes == ("Google Coral Edge TPU (USB accelerator) has no peak for fp32; int8 is assumed.",)
    with pytest.raises(ValueError, match='no peak for "fp32" on Google Coral Edge TPU'):
        rl.report(rl.networks.ds_cnn(), "coral-edge-tpu", "fp32")


@pytest.mark.parametrize("arguments, words", [
    ({"device": "raspbery-pi-5"}, "unknown device 'raspbery-pi-5': did you mean 'raspberry-pi-5'"),
    ({"precision": "int7"}, "unknown precision 'int7': did you mean"),
    ({"rules": "onnx-runtime"}, "unknown rule set 'onnx-runtime': did you mean 'onnxruntime'"),
])  # fmt: skip
def test_a_wrong_name_gets_what_is_allowed(arguments, words):
    with pytest.raises(rl.UnknownNameError, match=words):
        rl.report(rl.networks.ds_cnn(), **{"device": "raspberry-pi-5"} | arguments)


# -- does it fit? ------------------------------------------------------------------------------------------------------


def test_input_and_output_of_one_operator_are_alive_together():
    memory = memory_of(rl.unfused(chain((1, 1000), (1, 1000), (1, 1000))), rl.precision("fp32"), TOY)
    assert (memory.weight_bytes, memory.activation_bytes) == (0, 8000)
    assert memory.all_fits and memory.activations_fit
    assert "both fit together into the 10.0 kB on the chip" in memory.sentence


def test_a_skip_keeps_its_tensor_alive_and_a_view_keeps_what_it_shows():
    b = rl.GraphBuilder("skip")
    x = b.input("x", (1, 1000))
    y = b.relu(b.relu(x))
    graph = b.build(outputs=[b.add(x, y)])  # while the second ReLU runs: x, its input, its output
    assert memory_of(rl.unfused(graph), rl.precision("fp32"), TOY).activation_bytes == 12_000
    b = rl.GraphBuilder("view")
    x = b.relu(b.input("x", (10, 100)))
    flat = b.reshape(x, (1, 1000))
    y = b.relu(b.relu(b.input("z", (1, 1000))))
    graph = b.build(outputs=[b.add(flat, y)])  # x lives on in `flat`, the input z from the start
    assert memory_of(rl.unfused(graph), rl.precision("fp32"), TOY).activation_bytes == 12_000


def test_weights_count_once_at_their_precision():
    b = rl.GraphBuilder("two")
    graph = b.build(outputs=[b.dense(b.input("x", (1, 100)), 50)])
    wide, narrow = (memory_of(rl.unfused(graph), rl.precision(p), TOY) for p in ("fp32", "int8"))
    assert wide.weight_bytes == 4 * (100 * 50 + 50) and narrow.weight_bytes == 100 * 50 + 50
    assert wide.activation_bytes == 4 * 150
    assert wide.all_fits is False and narrow.all_fits is True
    assert "the activations fit into the 10.0 kB on the chip, the weights beside them do not" in wide.sentence


def test_activations_that_are_too_many_and_a_chip_that_is_not_known():
    large = memory_of(rl.unfused(chain((1, 5000))), rl.precision("fp32"), TOY)
    assert large.activations_fit is False and "the activations alone do not fit" in large.sentence
    unknown = memory_of(rl.unfused(chain((1, 5000))), rl.precision("fp32"), TOY.with_(on_chip_bytes=None))
    assert unknown.all_fits is None and "is not known" in unknown.sentence


@pytest.mark.parametrize("name", ["ds_cnn", "resnet8", "mobilenet_v2", "bert_base"])
def test_the_peak_of_activations_is_at_least_what_each_operator_needs(name):
    graph, p = getattr(rl.networks, name)(), rl.precision("fp32")
    needs = [4 * sum(t.elements for t in {*op.activations, *op.outputs}) for op in graph if not op.is_view]
    assert (
        max(needs)
        <= memory_of(rl.unfused(graph), p, TOY).activation_bytes
        <= 4 * sum(op.output.elements for op in graph) + 4e6
    )
