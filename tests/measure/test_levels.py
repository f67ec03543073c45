"""Plateaus of a bandwidth curve, and what is said about a curve that no memory has."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline_lessons.measure.levels import Level, find_levels, interpolate, not_rising_inwards, rising_inwards
from roofline_lessons.measure.probes import SIZES, SMALLEST, working_sets
from tests.measure.pretend import MIB, measurement

SETS = [float(s) for s in working_sets(128 * MIB)]


def curve(*plateaus):
    """(up to bytes, bandwidth) ... as a curve."""
    return [next(b for up_to, b in plateaus if s <= up_to) for s in SETS]


def test_sizes():
    assert len(SETS) == SIZES and SETS[0] == SMALLEST and SETS[-1] == 128 * MIB
    assert all(s % 4096 == 0 for s in SETS)
    assert max(b / a for a, b in zip(SETS, SETS[1:])) < 1.8


def test_the_plateaus_are_found_with_noise_on_them():
    wobble = np.exp(np.random.default_rng(0).normal(0, 0.05, SIZES))
    levels = find_levels(SETS, curve((MIB, 200e9), (32 * MIB, 90e9), (1e12, 30e9)) * wobble)
    assert [level.bytes_per_second / 1e9 for level in levels] == pytest.approx([200, 90, 30], rel=0.12)
    assert 0.5 * MIB < levels[0].bytes <= MIB and 16 * MIB < levels[1].bytes <= 32 * MIB


def test_one_size_on_the_way_down_is_no_level():
    values = curve((MIB, 100e9), (1e12, 10e9))
    values[next(i for i, s in enumerate(SETS) if s > MIB)] = 35e9
    assert len(find_levels(SETS, values)) == 2


def test_a_machine_without_caches_has_one_level():
    assert [level.bytes_per_second for level in find_levels(SETS, [5e9] * SIZES)] == [5e9]
    flat = dict.fromkeys(("copy", "in place", "read", "fill"), (5e9,) * 14)
    assert measurement(bandwidth=flat).flags == ["No cache was seen: every working set came out alike."]


def test_a_curve_that_rises_outwards_is_flagged_and_its_level_is_no_roof():
    slow = tuple(20e9 if s <= 2**18 else 100e9 if s <= 2**23 else 10e9 for s in measurement().working_sets)
    m = measurement(bandwidth=dict.fromkeys(("copy", "in place", "read", "fill"), slow))
    assert [level.bytes_per_second for level in m.levels] == [20e9, 100e9, 10e9]
    assert m.flags == [
        "cache up to 262 kB (20.0 GB/s) came out slower than cache up to 8.39 MB (100 GB/s), which lies farther away: "
        "something disturbed the measurement."
    ]
    device = m.device()  # no MemoryLevelWarning: warnings are errors here
    assert [level.bytes_per_second for level in device.levels] == [100e9] and device.notes == tuple(m.flags)
    assert "slower than DRAM" in not_rising_inwards([Level(1e6, 5e9), Level(1e9, 9e9)])[0]


@given(st.lists(st.floats(1e9, 1e12), min_size=SIZES, max_size=SIZES))
def test_whatever_was_measured_makes_a_device(values):
    levels = find_levels(SETS, values)
    assert levels[-1] == Level(SETS[-1], values[-1])
    assert [level.bytes for level in levels] == sorted({level.bytes for level in levels})
    speeds = [level.bytes_per_second for level in rising_inwards(levels)]
    assert speeds == sorted(set(speeds)) and all(s > values[-1] for s in speeds)
    assert len({level.name for level in levels}) == len(levels)


def test_between_two_sizes_on_a_log_log_line():
    assert interpolate(20.0, [10, 40], [100, 400]) == pytest.approx(200)
    assert interpolate(1.0, [10, 40], [100, 400]) == pytest.approx(100)
    assert interpolate(1e9, [10, 40], [100, 400]) == pytest.approx(400)
