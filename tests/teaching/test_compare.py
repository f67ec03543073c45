"""`rl.compare`: one thing changes, or it refuses and names the culprits."""

from __future__ import annotations

import pytest

import roofline_lessons as rl

PI = rl.device("raspberry-pi-5")
PLAN = rl.unfused(rl.networks.mobilenet_v2())
BEFORE = rl.estimate(PLAN, PI, "fp32")


def test_a_fair_comparison():
    after = rl.estimate(PLAN, PI.with_(bandwidth=2 * PI.bandwidth), "fp32")
    c = rl.compare(BEFORE, after, changed="bandwidth")
    assert c.speedup == BEFORE.seconds / after.seconds > 1
    assert c.bytes_saved == 0 and repr(c).startswith("bandwidth changed, all else equal: ")


def test_the_memory_has_the_name_it_has_on_the_device():
    def said(device: str) -> str:
        slow, fast = (rl.estimate(PLAN, rl.device(device).with_(launch_seconds=s), "int8") for s in (2, 1))
        return repr(rl.compare(slow, fast, changed="launch_seconds"))

    assert "of DRAM traffic" in said("raspberry-pi-5")
    assert "of SRAM traffic" in said("stm32h743") and "DRAM" not in said("esp32-s3").replace("PSRAM", "")


def test_culprits_are_named():
    after = rl.estimate(PLAN, PI.with_(bandwidth=2 * PI.bandwidth), "int8")
    with pytest.raises(ValueError, match=r"not a fair comparison of precision: this differs too: bandwidth \(1.7"):
        rl.compare(BEFORE, after, changed="precision")


def test_batch_is_a_part_of_the_network():
    after = rl.estimate(rl.unfused(rl.networks.mobilenet_v2(batch=2)), PI, "fp32")
    assert rl.compare(BEFORE, after, changed="network").speedup < 1
    with pytest.raises(ValueError, match="this differs too: network"):
        rl.compare(BEFORE, after, changed="precision")


def test_another_device_may_differ_in_everything_of_the_device():
    after = rl.estimate(PLAN, rl.device("jetson-orin-nano"), "fp32")
    assert rl.compare(BEFORE, after, changed="device").speedup > 1


def test_the_same_twice_and_unknown_things_are_refused():
    with pytest.raises(ValueError, match="nothing to compare: precision is the same"):
        rl.compare(BEFORE, BEFORE, changed="precision")
    with pytest.raises(ValueError, match="unknown thing to compare 'bandwith': did you mean 'bandwidth'"):
        rl.compare(BEFORE, BEFORE, changed="bandwith")
