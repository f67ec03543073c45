"""Number formats: the bits that travel and the arithmetic they run on are two things.

"E1" ... are rows of references/faults.md.
"""

import pytest

import roofline_lessons as rl
from tests.model.toys import H100, graph_of


def dense(batch, k=4096, n=4096):
    """One matrix product of `batch` rows."""
    return rl.unfused(graph_of(lambda b: b.dense(b.input("x", (batch, k)), n, bias=False)))


def crossover(precision):
    """The first batch at which the arithmetic takes longer than the memory."""

    def is_compute_bound(batch):
        est = rl.estimate(dense(batch), H100, precision)
        return est.kernels[0].arithmetic_seconds > est.kernels[0].memory_seconds

    return next(batch for batch in range(1, 1000) if is_compute_bound(batch))


# E1: by hand, 2 b k n / P > (bits/8 k n + 2 b (k + n)) / BW gives b > 345.1 for 16 bits and b > 88.97 for 4.125 bits.
def test_four_bit_weights_reach_the_ridge_earlier():
    assert crossover("fp16") == 346
    assert crossover("w4a16") == 89


# E2: weights of half a byte do not make the arithmetic four times faster.
def test_the_peak_follows_the_arithmetic_not_the_storage():
    assert H100.peak_for("w4a16") == H100.peak_for("w8a16") == H100.peak_for("fp16") == 989.4e12
    times = [rl.estimate(dense(4096), H100, p).kernels[0].arithmetic_seconds for p in ("fp16", "w8a16", "w4a16")]
    assert times == pytest.approx([2 * 4096**3 / 989.4e12] * 3)


# E6: the format of the arithmetic alone picks the peak: int4 is not int8, and a cache kept in 16 bits changes bytes
# only.
def test_bits_do_not_pick_the_peak():
    device = rl.Device("int8 unit", peak={"fp16": 1e12, "int8": 4e12}, bandwidth=1e11)
    assert device.peak_for("int8") == 4e12
    with pytest.raises(ValueError, match='no peak for "int4"'):
        device.peak_for("int4")
    assert device.peak_for(rl.Precision("int4", "int8")) == 4e12

    graph = graph_of(lambda b: b.matmul(b.input("q", (8, 1, 64)), b.input("kv", (8, 64, 100), bits=16)))
    est = rl.estimate(rl.unfused(graph), device, "int8")
    assert est.kernels[0].arithmetic_seconds == 2 * 8 * 64 * 100 / 4e12
    assert est.dram_bytes == 8 * 64 + 2 * 8 * 64 * 100 + 8 * 100  # q and scores in 1 byte, the cache in 2


# E7: what the device cannot do has no ceiling.
def test_a_device_runs_what_its_arithmetic_allows():
    assert H100.precisions() == ["fp16", "w8a16", "w4a16"]


# 4 bits and a share of one 16-bit scale per 128 weights: 4 + 16/128.
def test_weight_bits_include_the_scales():
    assert rl.precision("w4a16").weight_bits == 4.125
    assert rl.Precision("int4", "fp16", group_size=32).weight_bits == 4.5
    assert rl.precision("w8a16").weight_bits == 8


@pytest.mark.parametrize("name, bits", [
    ("fp64", 64), ("fp32", 32), ("tf32", 32), ("fp16", 16), ("bf16", 16), ("fp8", 8), ("fp4", 4),
    ("int16", 16), ("int8", 8), ("int4", 4),
])  # fmt: skip
def test_named_formats(name, bits):
    p = rl.precision(name)
    assert (p.weight_bits, p.activation_bits, p.arithmetic) == (bits, bits, name)
    assert str(p) == p.name == name


def test_the_arithmetic_is_that_of_the_activations_unless_said():
    assert rl.Precision("int4", "fp16").arithmetic == "fp16"
    assert rl.Precision("int4", "fp16", "fp32").arithmetic == "fp32"


def test_a_precision_is_a_precision():
    p = rl.Precision("int4", "int8")
    assert rl.precision(p) is p
    assert str(p) == "int4 weights, int8 activations, int8 arithmetic"
    assert str(rl.precision("w4a16")) == "w4a16"


def test_unknown_names():
    with pytest.raises(
        rl.UnknownNameError, match="unknown precision 'fp23': did you mean 'fp32'.* Allowed: fp64, fp32"
    ):
        rl.precision("fp23")
    with pytest.raises(rl.UnknownNameError, match="unknown precision None"):
        rl.precision(None)
    with pytest.raises(rl.UnknownNameError, match="unknown precision 32"):
        rl.precision(32)
    with pytest.raises(rl.UnknownNameError, match="unknown number format 'int7': did you mean 'int8'"):
        rl.Precision("int7", "fp16")


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "128"])
def test_group_sizes(size):
    with pytest.raises(ValueError, match="group_size must be a whole number of at least 1"):
        rl.Precision("int4", "fp16", group_size=size)
