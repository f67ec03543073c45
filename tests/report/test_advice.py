"""Advice follows from numbers: each sentence is held against the estimates it speaks of."""

import re

import pytest

import roofline_lessons as rl

ALL = [
    ("ds_cnn", "stm32f746", "int8"), ("mobilenet_v1", "raspberry-pi-5", "fp32"), ("llama2_7b", "h100-sxm", "fp16"),
    ("resnet18", "jetson-orin-nano", "fp16"), ("bert_base", "a100-sxm-40gb", "fp16"),
]  # fmt: skip


@pytest.fixture(scope="module", params=ALL, ids=lambda c: c[0])
def each(request):
    name, device, p = request.param
    return rl.report(getattr(rl.networks, name)(), device, p)


def times(text):
    return [float(n) for n in re.findall(r"([\d.]+) times", text)]


@pytest.mark.filterwarnings("ignore::roofline_lessons.errors.MemoryLevelWarning")  # twice the DRAM of an H100
def test_every_change_is_an_estimate(each):
    seconds, stands = {c.what: c.seconds for c in each.changes}, each.as_it_stands
    d = each.device
    wide = d.with_(bandwidth=2 * d.bandwidth)
    assert seconds["twice the bandwidth"] == rl.estimate(stands.plan, wide, each.precision).seconds
    assert seconds["the best legal fusion"] == each.best.seconds
    assert seconds["fused by the rules of onnxruntime"] == each.estimates["onnxruntime"].seconds
    for c in each.changes:
        assert c.times_as_fast == stands.seconds / c.seconds >= 1 - 1e-12, c.what


def test_there_are_two_or_three_sentences_and_their_numbers_are_the_changes(each):
    assert 2 <= len(each.advice) <= 3
    said = times(" ".join(each.advice[1:]))
    shown = {float(rl.number(c.times_as_fast, 2)) for c in each.changes}
    assert set(said) <= shown
    assert rl.si(each.as_it_stands.seconds, "s") in each.advice[0]


def test_the_ways_are_told_from_the_largest_to_the_smallest(each):
    told = times(each.advice[1])
    assert told == sorted(told, reverse=True)
    assert not told or told[0] == float(rl.number(max(c.times_as_fast for c in each.changes if c.kind != "device"), 2))


@pytest.mark.parametrize("device, words", [
    (rl.Device("slow memory", {"fp32": 1e15}, 1e9), "wait for memory"),
    (rl.Device("slow arithmetic", {"fp32": 1e9}, 1e15), "busy with arithmetic"),
    (rl.Device("slow start", {"fp32": 1e15}, 1e15, launch_seconds=1.0), "take longer to start than to run"),
])  # fmt: skip
def test_what_limits_is_what_limits(device, words):
    made = rl.report(rl.networks.ds_cnn(), device, "fp32")
    assert "100 % of it goes to kernels that " in made.advice[0] and words in made.advice[0]


def test_nothing_helps_where_nothing_helps():
    b = rl.GraphBuilder("one product")
    graph = b.build(outputs=[b.matmul(b.input("x", (512, 512)), b.input("y", (512, 512)))])
    made = rl.report(graph, rl.Device("toy", {"fp32": 1e9}, 1e15), "fp32")
    assert made.advice[1] == "Neither fusion nor fewer bits per number would make it noticeably faster."
    assert made.advice[2] == "Twice the bandwidth would make it 1.0 times as fast, twice the peak 2.0 times."


def test_operators_that_are_not_known_come_before_other_hardware(odd, pi):
    advice = rl.report_on_file(odd, pi).advice
    assert len(advice) == 3 and advice[2].startswith(
        "50 % of the bytes are moved by operators whose FLOPs are not known"
    )


def test_fewer_bits_are_fewer_bits(pi):
    what = [c.what for c in rl.report(rl.networks.ds_cnn(), pi, "fp32").changes]
    assert "int8 instead of fp32" in what
    assert not [c for c in rl.report(rl.networks.ds_cnn(), pi, "int8").changes if c.kind == "precision"]
