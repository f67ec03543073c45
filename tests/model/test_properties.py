"""What holds for every graph, plan, precision and device."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import roofline_lessons as rl
from roofline_lessons.precision import NAMED
from tests.model.strategies import PRECISIONS, devices, graphs, log_uniform, plans

EXACT = 1 + 1e-9  # rounding of floats


# -- the roof ----------------------------------------------------------------------------------------------------------


@given(plans(), devices(), PRECISIONS)
def test_no_kernel_is_above_the_roof(plan, device, precision):
    for kernel in rl.estimate(plan, device, precision).kernels:
        assert kernel.flops_per_second <= rl.attainable(kernel.intensity, device, precision) * EXACT


@given(devices(), PRECISIONS, st.lists(log_uniform(1e-6, 1e6), min_size=2, max_size=6))
def test_the_roof_rises_and_then_is_flat(device, precision, intensities):
    roof = rl.attainable(sorted(intensities), device, precision)
    assert np.all(np.diff(roof) >= 0)
    ridge = device.ridge(precision)
    assert rl.attainable(ridge, device, precision) == pytest.approx(device.peak_for(precision))
    assert rl.attainable(2 * ridge, device, precision) == device.peak_for(precision)
    assert rl.attainable(ridge / 2, device, precision) == pytest.approx(device.peak_for(precision) / 2)


# -- better hardware ---------------------------------------------------------------------------------------------------


@given(plans(), devices(), PRECISIONS, st.floats(1, 100))
def test_more_bandwidth_never_slows(plan, device, precision, factor):
    levels = [rl.MemoryLevel(level.name, bytes_per_second=level.bytes_per_second * factor) for level in device.levels]
    faster = device.with_(bandwidth=device.bandwidth * factor, levels=levels)
    before, after = (rl.estimate(plan, d, precision).kernel_seconds for d in (device, faster))
    assert np.all(after <= before * EXACT)


@given(plans(), devices(), PRECISIONS, st.floats(1, 100))
def test_a_higher_peak_never_slows(plan, device, precision, factor):
    faster = device.with_(peak={name: peak * factor for name, peak in device.peak.items()})
    before, after = (rl.estimate(plan, d, precision).kernel_seconds for d in (device, faster))
    assert np.all(after <= before * EXACT)


@given(plans(), devices(), PRECISIONS)
def test_twice_the_device_takes_half_the_time(plan, device, precision):
    twice = device.with_(
        peak={name: 2 * peak for name, peak in device.peak.items()},
        vector_peak=None if device.vector_peak is None else 2 * device.vector_peak,
        bandwidth=2 * device.bandwidth,
        levels=[rl.MemoryLevel(level.name, bytes_per_second=2 * level.bytes_per_second) for level in device.levels],
        launch_seconds=None if device.launch_seconds is None else device.launch_seconds / 2,
    )
    one, two = (rl.estimate(plan, d, precision) for d in (device, twice))
    assert two.seconds == pytest.approx(one.seconds / 2)
    assert two.bound == one.bound


# -- an estimate in itself ---------------------------------------------------------------------------------------------


@given(plans(), devices(), PRECISIONS)
def test_kernels_add_up(plan, device, precision):
    est = rl.estimate(plan, device, precision)
    for total in ("macs", "flops", "dram_bytes", "on_chip_bytes", "seconds", "seconds_no_overlap"):
        assert getattr(est, total) == pytest.approx(sum(getattr(k, total) for k in est.kernels))
    assert est.dram_bytes == est.ledger().dram_bytes.sum()
    assert sum(est.seconds_by_bound.values()) == pytest.approx(est.seconds)
    assert (est.macs, est.flops) == (plan.graph.macs, plan.graph.flops)


@given(plans(), devices(), PRECISIONS)
def test_overlap_helps_at_most_by_half(plan, device, precision):
    est = rl.estimate(plan, device, precision)
    assert est.seconds <= est.seconds_no_overlap * EXACT
    assert est.seconds_no_overlap <= 2 * est.seconds * EXACT


@given(plans(), devices(), PRECISIONS)
def test_the_bound_names_the_largest_part(plan, device, precision):
    for k in rl.estimate(plan, device, precision).kernels:
        parts = {"compute": k.arithmetic_seconds, "memory": k.memory_seconds, "launch": k.launch_seconds}
        if k.bound == "balanced":
            assert parts["compute"] == pytest.approx(parts["memory"], rel=0.05 * EXACT)
            assert parts["launch"] <= max(parts["compute"], parts["memory"])
        else:
            assert parts[k.bound] == max(parts.values())
        assert k.because.startswith(k.bound)


# -- bytes -------------------------------------------------------------------------------------------------------------

BY_BITS = ["int4", "int8", "fp16", "fp32", "fp64"]


@given(plans(), devices())
def test_fewer_bits_never_move_more_bytes(plan, device):
    moved = [rl.estimate(plan, device, p).kernel_dram_bytes for p in BY_BITS]
    for fewer, more in zip(moved, moved[1:]):
        assert np.all(fewer <= more)


@given(plans(), devices())
def test_smaller_weights_alone_never_move_more_bytes(plan, device):
    moved = [rl.estimate(plan, device, p).kernel_dram_bytes for p in ("w4a16", "w8a16", "fp16")]
    for fewer, more in zip(moved, moved[1:]):
        assert np.all(fewer <= more)


@given(graphs(), st.data(), devices(), PRECISIONS)
def test_fusing_never_moves_more_bytes(graph, data, device, precision):
    """As long as nothing is computed twice. The work and what moves on the chip stay the same."""
    fused = rl.estimate(data.draw(plans(of=graph)), device, precision)
    apart = rl.estimate(rl.unfused(graph), device, precision)
    assert fused.dram_bytes <= apart.dram_bytes
    assert (fused.macs, fused.flops, fused.on_chip_bytes) == (apart.macs, apart.flops, apart.on_chip_bytes)


@given(graphs(), devices(), PRECISIONS)
def test_one_by_one_nothing_stays_on_the_chip(graph, device, precision):
    est = rl.estimate(rl.unfused(graph), device, precision)
    assert est.kernel_dram_bytes.tolist() == est.kernel_on_chip_bytes.tolist()


@given(plans())
def test_what_a_kernel_reads_is_there(plan):
    """It came with the graph or an earlier kernel wrote it; nothing is written twice."""
    there = {t.name for t in plan.graph.inputs}
    for kernel in plan.kernels:
        for read in kernel.reads:
            assert read.tensor.is_constant or read.tensor.name in there
        written = [write.tensor.name for write in kernel.writes]
        assert not there & set(written) and len(set(written)) == len(written)
        there |= set(written)
    for output in plan.graph.outputs:
        assert all(stored.name in there for stored in plan.graph.storage(output))


@given(plans())
def test_what_is_written_is_needed(plan):
    """A later kernel reads it, or it is an output (what nobody reads is one, too)."""
    kept = {stored.name for t in plan.graph.outputs for stored in plan.graph.storage(t)}
    for i, kernel in enumerate(plan.kernels):
        later = {read.tensor.name for k in plan.kernels[i + 1 :] for read in k.reads}
        assert all(write.tensor.name in later | kept for write in kernel.writes)


# -- plans -------------------------------------------------------------------------------------------------------------


@given(plans())
def test_a_plan_covers_each_operator_once(plan):
    covered = [op.name for kernel in plan.kernels for op in kernel.operators]
    assert sorted(covered) == sorted(op.name for op in plan.graph if not op.is_view)


@given(graphs(), st.data())
def test_a_plan_refuses_to_leave_out_or_repeat(graph, data):
    working = [op for op in graph if not op.is_view]
    op = data.draw(st.sampled_from(working))
    with pytest.raises(rl.FusionError, match=f"{op.name} is in two kernels; a plan covers each operator once"):
        rl.Plan(graph, [*([o] for o in working), [op]])
    rest = [[o] for o in working if o is not op]
    with pytest.raises(rl.FusionError, match=f"{op.name} in no kernel; a plan covers each operator once"):
        rl.Plan(graph, rest)


# -- names -------------------------------------------------------------------------------------------------------------


@given(devices(), st.sampled_from(list(NAMED)))
def test_a_device_runs_the_precisions_it_names(device, precision):
    without = {name: peak for name, peak in device.peak.items() if name != NAMED[precision].arithmetic}
    assert precision in device.precisions()
    assert precision not in device.with_(peak=without).precisions()
