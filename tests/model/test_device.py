"""Devices: the ridge point, changed copies, and what is refused."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest

import roofline_lessons as rl
from roofline_lessons.errors import MemoryLevelWarning
from tests.model.toys import H100, TOY


def a_device(**changes):
    return rl.Device(**{"name": "mine", "peak": {"fp32": 1e12}, "bandwidth": 1e11, **changes})


# -- the ridge ---------------------------------------------------------------------------------------------------------


# D4: P = 1e12, BW = 1e11.
def test_ridge_is_peak_over_bandwidth():
    assert TOY.ridge("fp32") == 10


# C1: 295.3 FLOP/byte (590.7 is the sparse peak's).
def test_ridge_of_an_h100():
    assert H100.ridge("fp16") == pytest.approx(295.34328358208955)


def test_the_ridge_follows_the_arithmetic():
    device = a_device(peak={"fp32": 1e12, "int8": 4e12})
    assert device.ridge("int8") == 4 * device.ridge("fp32") == 40


def test_roofs_are_the_bandwidths_that_are_known():
    levels = [rl.MemoryLevel("L2", bytes=1e6, bytes_per_second=4e11), rl.MemoryLevel("L1", bytes=1e5)]
    assert a_device(levels=levels).roofs() == {"DRAM": 1e11, "L2": 4e11}


# -- changed copies ----------------------------------------------------------------------------------------------------


def test_with_makes_a_copy():
    fast = TOY.with_(bandwidth=2e11)
    assert (fast.bandwidth, TOY.bandwidth) == (2e11, 1e11)
    assert fast.ridge("fp32") == 5
    assert fast.with_(bandwidth=1e11) == TOY


def test_a_device_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        TOY.bandwidth = 2e11
    with pytest.raises(TypeError):
        TOY.peak["fp32"] = 2e12


def test_a_device_keeps_its_own_copy_of_the_peaks():
    peaks = {"fp32": 1e12}
    device = a_device(peak=peaks)
    peaks["fp32"] = 9e12
    assert device.peak["fp32"] == 1e12


def test_a_changed_number_has_lost_its_source():
    fact = rl.Fact(1e11, "B/s", "source", "data sheet")
    device = a_device(facts={"bandwidth": fact, "peak.fp32": fact})
    assert set(device.with_(bandwidth=2e11).facts) == {"peak.fp32"}
    assert set(device.with_(peak={"fp32": 2e12}).facts) == {"bandwidth"}


def test_with_checks_too():
    with pytest.raises(ValueError, match="bandwidth of toy must be a finite number above 0, not 0"):
        TOY.with_(bandwidth=0)
    with pytest.raises(rl.UnknownNameError, match="did you mean 'bandwidth'"):
        TOY.with_(bandwith=1e11)


# -- unknown is not zero -----------------------------------------------------------------------------------------------


def test_what_is_not_given_is_unknown():
    assert TOY.launch_seconds is TOY.on_chip_bytes is TOY.vector_peak is TOY.static_watts is None
    assert TOY.joules_per_dram_byte is TOY.joules_per_on_chip_byte is None
    assert not TOY.joules_per_flop and not TOY.levels


def test_a_launch_may_be_known_to_be_free():
    assert a_device(launch_seconds=0).launch_seconds == 0


# -- what is refused ---------------------------------------------------------------------------------------------------

NOT_POSITIVE = [0, -1, -1e12, float("nan"), float("inf"), -float("inf"), True, np.True_, "1e12", b"1", None, [1e12], {}]


@pytest.mark.parametrize("value", NOT_POSITIVE, ids=repr)
def test_numbers_are_finite_and_above_zero(value):
    with pytest.raises(ValueError, match="bandwidth of mine must be a"):
        a_device(bandwidth=value)
    with pytest.raises(ValueError, match=r"peak\['fp32'\] of mine must be a"):
        a_device(peak={"fp32": value})
    with pytest.raises(ValueError, match=r"joules_per_flop\['fp32'\] of mine must be a"):
        a_device(joules_per_flop={"fp32": value})


@pytest.mark.parametrize("value", [v for v in NOT_POSITIVE if v is not None], ids=repr)
@pytest.mark.parametrize(
    "what",
    ["vector_peak", "on_chip_bytes", "static_watts", "joules_per_dram_byte", "joules_per_on_chip_byte"],
)
def test_optional_numbers_too(what, value):
    with pytest.raises(ValueError, match=f"{what} of mine must be a"):
        a_device(**{what: value})


@pytest.mark.parametrize("value", [-1e-6, float("nan"), float("inf"), False, "5e-6", [5e-6]], ids=repr)
def test_a_launch_takes_a_finite_time(value):
    with pytest.raises(ValueError, match="launch_seconds of mine must be a"):
        a_device(launch_seconds=value)


@pytest.mark.parametrize("value", [0, -1, float("nan"), True, "1"], ids=repr)
def test_memory_levels_too(value):
    with pytest.raises(ValueError, match="bytes of level L2 must be a"):
        rl.MemoryLevel("L2", bytes=value)
    with pytest.raises(ValueError, match="bytes_per_second of level L2 must be a"):
        rl.MemoryLevel("L2", bytes_per_second=value)


@pytest.mark.parametrize("peak", [{}, 1e12, None])
def test_a_device_needs_a_peak(peak):
    with pytest.raises(ValueError, match="mine needs at least one peak, e.g."):
        a_device(peak=peak)


def test_an_unknown_number_format():
    with pytest.raises(rl.UnknownNameError, match="number format in peak of mine 'fp31': did you mean .*'fp32'"):
        a_device(peak={"fp31": 1e12})


# E7: no ceiling where there is no such arithmetic, and a sentence that says what there is.
def test_a_precision_without_a_peak():
    cpu = rl.Device("CPU", peak={"fp32": 1e11, "int8": 4e11}, bandwidth=1e10)
    assert "fp16" not in cpu.precisions()
    with pytest.raises(ValueError, match='no peak for "fp16" on CPU: it has fp32, int8'):
        cpu.ridge("fp16")


# D11: levels [DRAM 100, L1 50] -> warning.
def test_a_cache_that_is_slower_than_dram():
    with pytest.warns(MemoryLevelWarning, match=r"L1 \(50 B/s\) is slower than DRAM \(100 B/s\)"):
        a_device(bandwidth=100, levels=[rl.MemoryLevel("L1", bytes_per_second=50)])


def test_a_near_cache_that_is_slower_than_a_far_one():
    levels = [rl.MemoryLevel("L2", bytes_per_second=400), rl.MemoryLevel("L1", bytes_per_second=200)]
    with pytest.warns(MemoryLevelWarning, match=r"L1 \(200 B/s\) is slower than L2 \(400 B/s\)"):
        a_device(bandwidth=100, levels=levels)


@pytest.mark.parametrize("names", [["L1", "L1"], ["DRAM"]])
def test_levels_have_names_of_their_own(names):
    with pytest.raises(ValueError, match="memory levels need names of their own"):
        a_device(levels=[rl.MemoryLevel(name, bytes_per_second=1e13) for name in names])


# -- the catalogue's ids -----------------------------------------------------------------------------------------------


def test_an_unknown_device_names_the_closest():
    with pytest.raises(rl.UnknownNameError, match="did you mean .*'jetson-orin-nano'") as refusal:
        rl.device("jetson-orin-nan")
    assert isinstance(refusal.value, KeyError) and isinstance(refusal.value, ValueError)
    assert "Allowed: arduino-nano-33-ble" in str(refusal.value)


@pytest.mark.parametrize("id", ["", None, 5, "zzz"])
def test_a_device_that_resembles_none(id):
    with pytest.raises(rl.UnknownNameError, match=r"^unknown device .*: Allowed: "):
        rl.device(id)


def test_equal_devices_have_equal_hashes():
    """So a device can be the key of a cache."""
    one, other = rl.device("raspberry-pi-5"), copy.deepcopy(rl.device("raspberry-pi-5"))
    assert one is not other and {one: 1}[other] == 1
    assert {one: 1}.get(one.with_(bandwidth=1e9)) is None


def test_devices_and_graphs_can_be_copied_and_pickled():
    """A check copies a learner's arguments, and a notebook may send them to another process."""
    dev, graph = rl.device("raspberry-pi-5"), rl.networks.mobilenet_v2(resolution=32)
    for again in (copy.deepcopy(dev), pickle.loads(pickle.dumps(dev))):
        assert again == dev and again.facts == dev.facts
    for other in (copy.deepcopy(graph), pickle.loads(pickle.dumps(graph))):
        assert other.operators == graph.operators and other.macs == graph.macs
    with pytest.raises(TypeError, match="cannot be changed"):
        dev.peak["fp32"] = 1.0
