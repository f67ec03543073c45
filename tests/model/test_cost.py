"""Seconds, joules and reasons, worked by hand. "D2" ... are rows of references/faults.md."""

import math

import numpy as np
import pytest

import roofline_lessons as rl
from roofline_lessons.cost import BOUNDS
from tests.model.toys import TOY, estimate_jobs, graph_of, made_up

# P = 1e12 FLOP/s, BW = 1e11 B/s, ridge 10 FLOP/byte (TOY); a job is (FLOPs, bytes).


# -- the roof ----------------------------------------------------------------------------------------------------------


# D4: P = 1e12, BW = 1e11, AI = 5 -> 0.5e12, ridge 10.
def test_attainable_by_hand():
    assert rl.attainable(5, TOY) == 0.5e12
    assert rl.attainable(10, TOY) == rl.attainable(50, TOY) == rl.attainable(math.inf, TOY) == 1e12
    assert rl.attainable(0, TOY) == 0


def test_attainable_takes_arrays():
    result = rl.attainable(np.array([[0, 5], [10, 50]]), TOY, precision="int8")
    assert result.tolist() == [[0, 0.5e12], [1e12, 1e12]]
    assert rl.attainable([1, 2], TOY).tolist() == [1e11, 2e11]


@pytest.mark.parametrize("intensity", [-1, math.nan, [1, -1], [1, math.nan], "5", None, True])
def test_attainable_of_what_is_no_intensity(intensity):
    with pytest.raises(ValueError, match="intensity must be"):
        rl.attainable(intensity, TOY)


# -- one kernel --------------------------------------------------------------------------------------------------------


# D2: a copy that moves 1e9 B at 100 GB/s takes 10 ms at intensity 0, bound by memory. 125e6 fp32 read and written.
def test_a_copy_takes_its_bytes_time():
    graph = graph_of(lambda b: b.transpose(b.input("x", (1, 125_000_000)), (1, 0)))
    copy = rl.estimate(rl.unfused(graph), TOY).kernels[0]
    assert (copy.flops, copy.dram_bytes, copy.intensity) == (0, 1e9, 0)
    assert copy.seconds == pytest.approx(10e-3)
    assert copy.bound == "memory"
    assert copy.flops_per_second == 0


@pytest.mark.parametrize("flops, moved, seconds, bound", [
    (1e10, 1e6, 10e-3, "compute"),  # 10 ms of arithmetic, 10 us of memory
    (1e6, 1e9, 10e-3, "memory"),  # 1 us, 10 ms
    (1e9, 0, 1e-3, "compute"),  # no byte
    (0, 1e8, 1e-3, "memory"),  # no FLOP
    (0, 0, 0, "memory"),  # nothing: no time
    (1e9, 1e8, 1e-3, "balanced"),  # D13: intensity 10 is the ridge
    (1.04e9, 1e8, 1.04e-3, "balanced"),  # within 5 %
    (1e9, 1.04e8, 1.04e-3, "balanced"),
    (1.06e9, 1e8, 1.06e-3, "compute"),  # beyond
    (1e9, 1.06e8, 1.06e-3, "memory"),
])  # fmt: skip
def test_the_larger_of_two_times(flops, moved, seconds, bound):
    kernel = estimate_jobs((flops, moved)).kernels[0]
    assert kernel.seconds == pytest.approx(seconds)
    assert kernel.bound == bound


def test_intensity_without_bytes_or_without_work():
    kernels = estimate_jobs((1e9, 0), (0, 1e8), (0, 0)).kernels
    assert [k.intensity for k in kernels] == [math.inf, 0, 0]
    assert [estimate_jobs(job).intensity for job in [(1e9, 0), (0, 1e8), (0, 0)]] == [math.inf, 0, 0]


def test_without_overlap_the_times_add_up():
    kernel = estimate_jobs((1e9, 3e8), device=TOY.with_(launch_seconds=1e-3)).kernels[0]
    assert (kernel.arithmetic_seconds, kernel.memory_seconds, kernel.launch_seconds) == pytest.approx(
        (1e-3, 3e-3, 1e-3)
    )
    assert kernel.seconds == pytest.approx(4e-3)
    assert kernel.seconds_no_overlap == pytest.approx(5e-3)


# -- launching ---------------------------------------------------------------------------------------------------------


def test_a_small_kernel_waits_for_its_launch():
    slow_start = TOY.with_(launch_seconds=1e-3)
    tiny, large = estimate_jobs((1e6, 1e6), (1e10, 1e6), device=slow_start).kernels
    assert (tiny.bound, large.bound) == ("launch", "compute")
    assert tiny.seconds == pytest.approx(1e-3 + 1e-5)
    assert large.seconds == pytest.approx(1e-3 + 1e-2)


def test_a_kernel_with_nothing_to_do_still_starts():
    kernel = estimate_jobs((0, 0), device=TOY.with_(launch_seconds=1e-3)).kernels[0]
    assert (kernel.bound, kernel.seconds) == ("launch", 1e-3)


def test_an_unknown_launch_is_not_in_the_time():
    unknown, free = TOY, TOY.with_(launch_seconds=0)
    assert unknown.launch_seconds is None
    assert estimate_jobs((1e9, 1e6), device=unknown).seconds == estimate_jobs((1e9, 1e6), device=free).seconds


# -- a plan ------------------------------------------------------------------------------------------------------------


# D12: A and B take 10 ms each; under one roof their totals would take 10.010 ms.
def test_a_plan_is_the_sum_of_its_kernels():
    est = estimate_jobs((1e10, 1e6), (1e6, 1e9))
    assert est.seconds * 1e3 == pytest.approx(20.000, abs=5e-4)
    lumped = max(est.flops / TOY.peak["int8"], est.dram_bytes / TOY.bandwidth)
    assert lumped * 1e3 == pytest.approx(10.010, abs=5e-4)


def test_totals():
    est = estimate_jobs((1e10, 1e6), (1e6, 1e9), device=TOY.with_(launch_seconds=1e-3))
    assert est.flops == 10_001_000_000
    assert est.dram_bytes == 1_001_000_000
    assert est.intensity == pytest.approx(10_001 / 1_001)
    assert est.flops_per_second == pytest.approx(10_001_000_000 / 0.022)
    for total in ("macs", "flops", "dram_bytes", "on_chip_bytes", "seconds", "seconds_no_overlap"):
        assert getattr(est, total) == pytest.approx(sum(getattr(k, total) for k in est.kernels))
    assert isinstance(est.flops, int) and isinstance(est.macs, int)


def test_the_bound_of_a_plan_is_where_the_time_goes():
    est = estimate_jobs((1e9, 1e6), (1e9, 1e6), (1e6, 1e9))  # 2 x 1 ms of compute, 10 ms of memory
    assert est.bound == "memory"
    assert est.seconds_by_bound == pytest.approx({"compute": 2e-3, "memory": 10e-3, "launch": 0, "balanced": 0})
    assert list(est.seconds_by_bound) == list(BOUNDS)


# -- two engines -------------------------------------------------------------------------------------------------------


# A100 (DESIGN section 5): products at 312, the rest at 19.5 TFLOP/s. 1024^3 MAC: 2 * 1024^3 / 312e12 = 6.883 us; bias
# of 1024^2: 53.77 ns. As if all ran on the matrix unit: 6.886 us.
def test_work_that_is_not_a_product_runs_on_the_vector_unit():
    graph = graph_of(lambda b: b.dense(b.input("x", (1024, 1024)), 1024))
    two_engines = rl.Device("two", peak={"fp16": 312e12}, vector_peak=19.5e12, bandwidth=1.555e12)
    kernel = rl.estimate(rl.unfused(graph), two_engines, "fp16").kernels[0]
    assert kernel.arithmetic_seconds == pytest.approx(6.883e-6 + 53.77e-9, rel=1e-4)
    one = rl.estimate(rl.unfused(graph), two_engines.with_(vector_peak=None), "fp16").kernels[0]
    assert one.arithmetic_seconds == pytest.approx(6.886e-6, rel=1e-3)


def test_the_vector_unit_is_not_faster_than_the_format():
    """A double runs at most at its own peak, wherever it runs."""
    device = rl.Device("slow doubles", peak={"fp64": 1e10}, vector_peak=1e12, bandwidth=1e15)
    kernel = rl.estimate(rl.unfused(graph_of(lambda b: b.relu(b.input("x", (1_000_000,))))), device, "fp64").kernels[0]
    assert kernel.seconds == pytest.approx(1e-4)
    assert kernel.flops_per_second <= device.peak["fp64"] * (1 + 1e-12)


# -- on the chip -------------------------------------------------------------------------------------------------------


def test_a_fused_kernel_can_hit_the_on_chip_roof():
    """Eight relus of 1e6 fp32: DRAM 8e6 B at 1e11 take 80 us; on the chip 8 x 8e6 B at 4e11 take 160 us."""

    def eight(b):
        x = b.input("x", (1_000_000,))
        for _ in range(8):
            x = b.relu(x)
        return x

    graph = graph_of(eight)
    device = TOY.with_(levels=[rl.MemoryLevel("L2", bytes_per_second=4e11)])
    fused = rl.estimate(rl.Plan(graph, [graph.operators]), device).kernels[0]
    assert (fused.dram_bytes, fused.on_chip_bytes) == (8e6, 64e6)
    assert fused.seconds == pytest.approx(160e-6)
    assert fused.bound == "memory"
    assert "moving 64.0 MB at 400 GB/s (L2) takes 160 µs" in fused.because
    apart = rl.estimate(rl.unfused(graph), device)
    assert apart.seconds == pytest.approx(8 * 80e-6)  # one by one DRAM is the slower
    assert all("(DRAM)" in k.because for k in apart.kernels)
    assert "(PSRAM)" in rl.estimate(rl.unfused(graph), device.with_(memory="PSRAM")).kernels[0].because


def test_a_level_of_unknown_bandwidth_is_no_roof():
    device = TOY.with_(levels=[rl.MemoryLevel("L2", bytes=1e6)])
    assert estimate_jobs((1e6, 1e9), device=device).seconds == estimate_jobs((1e6, 1e9)).seconds


# -- energy ------------------------------------------------------------------------------------------------------------

METERED = TOY.with_(
    joules_per_flop={"int8": 1e-12}, joules_per_dram_byte=20e-12, joules_per_on_chip_byte=1e-12, static_watts=2
)


# 1e10 FLOP x 1 pJ, 1e9 B x 20 pJ, 1e9 B x 1 pJ, 2 W x 20 ms
def test_energy_by_hand():
    est = estimate_jobs((1e10, 0), (0, 1e9), device=METERED)
    assert est.joules_by_part == pytest.approx({"arithmetic": 0.01, "dram": 0.02, "on_chip": 0.001, "static": 0.04})
    assert est.joules == pytest.approx(0.071)
    assert est.joules_missing == ()
    overlapping = estimate_jobs((1e10, 1e9), device=METERED)  # 10 ms of arithmetic during 10 ms of memory
    assert overlapping.joules_by_part["static"] == pytest.approx(2 * 10e-3)


def test_energy_of_the_format_that_is_used():
    est = rl.estimate(rl.unfused(made_up((1e10, 0))), METERED, "fp32")
    assert est.joules_by_part["arithmetic"] is None  # known for int8 alone
    assert est.joules is None


def test_unknown_energy_is_unknown_not_zero():
    est = estimate_jobs((1e10, 1e9))
    assert est.joules is None
    assert est.joules_missing == ("arithmetic", "dram", "on_chip", "static")
    assert estimate_jobs((1e10, 1e9), device=METERED.with_(joules_per_dram_byte=None)).joules is None
    partly = estimate_jobs((1e10, 1e9), device=METERED.with_(static_watts=None))
    assert partly.joules == pytest.approx(0.01 + 0.02 + 0.001)
    assert partly.joules_missing == ("static",)


# -- because -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("job, launch, start, said", [
    ((1e10, 1e6), None, "compute: ", ["10.0 GFLOP", "10.0 ms", "1.00 MB", "100 GB/s", "DRAM", "10.0 µs"]),
    ((1e6, 1e9), None, "memory: ", ["1.00 GB", "100 GB/s", "DRAM", "10.0 ms", "1.00 MFLOP", "1.00 µs"]),
    ((1e6, 1e6), 1e-3, "launch: ", ["1.00 ms", "1.00 MB", "10.0 µs", "1.00 MFLOP", "1.00 µs"]),
    ((1e9, 1e8), None, "balanced: ", ["1.00 GFLOP", "100 MB", "1.00 ms"]),
    ((0, 1e8), None, "memory: ", ["100 MB", "1.00 ms", "0 FLOP"]),
    ((1e9, 0), None, "compute: ", ["1.00 GFLOP", "1.00 ms", "0 B"]),
])  # fmt: skip
def test_because_says_the_numbers(job, launch, start, said):
    sentence = estimate_jobs(job, device=TOY.with_(launch_seconds=launch)).kernels[0].because
    assert sentence.startswith(start)
    assert sentence.endswith(".")
    for number in said:
        assert number in sentence


def test_the_plan_says_it_too():
    because = estimate_jobs((1e9, 1e6), (1e9, 1e6), (2e6, 2e8)).because  # 2 x 1 ms of compute, 2 ms of memory
    assert because.startswith("compute: 2 of 3 kernels, with 50% of the 4.00 ms")


# -- tables and mistakes -----------------------------------------------------------------------------------------------


def test_to_frame():
    frame = estimate_jobs((1e10, 1e6), (1e6, 1e9)).to_frame()
    assert list(frame.columns) == (
        "name macs flops dram_bytes on_chip_bytes intensity seconds seconds_no_overlap bound because".split()
    )
    assert frame.name.tolist() == ["job_0", "job_1"]
    assert frame.bound.tolist() == ["compute", "memory"]
    assert frame.seconds.sum() == pytest.approx(20e-3)


def test_a_graph_of_views_takes_no_time():
    est = rl.estimate(rl.unfused(graph_of(lambda b: b.flatten(b.input("x", (2, 3))))), TOY)
    assert (est.seconds, est.flops, est.dram_bytes, est.intensity, est.flops_per_second) == (0, 0, 0, 0, 0)
    assert est.kernels == () and est.to_frame().empty


def test_no_peak_for_the_precision():
    with pytest.raises(ValueError, match='no peak for "fp16" on toy: it has fp32, int8'):
        rl.estimate(rl.unfused(made_up((1, 1))), TOY, "fp16")
    with pytest.raises(rl.UnknownNameError, match="unknown precision 'float32'"):
        rl.estimate(rl.unfused(made_up((1, 1))), TOY, "float32")


def test_a_graph_is_not_a_plan_and_an_id_is_not_a_device():
    graph = made_up((1, 1))
    with pytest.raises(ValueError, match=r"needs a plan, e.g. rl.unfused\(graph\)"):
        rl.estimate(graph, TOY)
    with pytest.raises(ValueError, match="needs a device, e.g. rl.device"):
        rl.estimate(rl.unfused(graph), "raspberry-pi-5")
