"""driver.js against the Python scene, in the browser it runs in: numbers to the last digits, texts to the letter."""

from __future__ import annotations

import itertools
import json
import math
import random
import struct

import numpy as np
import pytest

from roofline_lessons.cost import classify
from roofline_lessons.scenes import RooflineScene
from roofline_lessons.scenes.roofline import BANDWIDTH_FACTORS, PEAK_FACTORS
from roofline_lessons.text import number, percent, si
from roofline_lessons.widgets.driver import javascript
from tests.browser.golden import devices, loaded, odd_graph, same

#: Two sums in another order differ in the last bits.
TOLERANCE = 1e-12


@pytest.fixture(scope="module")
def driver(browser):
    """Calls a function of driver.js with JSON arguments."""
    with loaded(browser, javascript("driver.js")) as page:
        yield lambda name, calls: page.evaluate(
            "([name, calls]) => calls.map(c => window.made[name](...c))", [name, calls]
        )


def scenes():
    steps = list(itertools.product((0, 11, 24, 37, 48), (0, 16, 32)))
    for dev in devices():
        for precision in dev.precisions()[:2]:
            for network in ("MobileNetV2", odd_graph()):
                scene = RooflineScene(network, dev, precision)
                yield scene, steps[:: 1 if network != "MobileNetV2" or dev.id in ("", "raspberry-pi-5") else 7]
    for step in range(len(BANDWIDTH_FACTORS)):  # the whole grid of both sliders, one after the other
        yield RooflineScene(device="raspberry-pi-5"), [(step, 16), (24, min(step, len(PEAK_FACTORS) - 1))]


def test_golden_vectors(driver):
    count = 0
    for scene, steps in scenes():
        tables = json.loads(json.dumps(scene.tables))
        calls, right = [], []
        for scene.bandwidth_step, scene.peak_step in steps:
            calls.append([tables, scene.controls])
            right.append(scene.marks)
        for shown, expected, call in zip(driver("roofline", calls), right, calls):
            same(shown, expected, f"{scene.title} on {scene.device.name} at {call[1]}", tolerance=TOLERANCE)
            count += 1
    assert count > 300


def test_bounds_are_named_alike(driver):
    """Nothing to do, one time alone, the edge of balanced, launches of every size."""
    times = (0.0, 1e-9, 1.0, 1.05, 1.0500000000000003, 1.06, 2.0)
    calls = list(itertools.product(times, times, (0.0, 1e-9, 1.5, 2.0, 3.0)))
    expected = [int(classify(np.array(a), np.array(m), launch)) for a, m, launch in calls]
    assert driver("classify", calls) == expected
    assert set(expected) == {0, 1, 2, 3}


def values() -> list[float]:
    """Random doubles of any size, and ties of rounding: halves that binary holds exactly, and what rounds up a
    digit.
    """
    rng = random.Random(1)
    ties = [s * m * 2.0**k for s in (1, -1) for m in (0.125, 2.5, 0.5, 1.25, 4.125, 17.25) for k in range(-12, 30, 3)]
    edges = [0.0, 999.5, 999.4999, 999_500.0, 0.9995, 1e-13, 1e22, 5e-324, 1.7e308, 1e15, 0.001, 0.00099951, 999_999.0]
    wild = [struct.unpack("d", rng.randbytes(8))[0] for _ in range(1500)]
    return ties + edges + [v for v in wild if math.isfinite(v)] + [10 ** rng.uniform(-12, 18) for _ in range(3500)]


@pytest.mark.parametrize("name, python", [("number", number), ("si", lambda v: si(v, "B/s")), ("percent", percent)])
def test_numbers_are_written_alike(driver, name, python):
    tried = [v % 1 for v in values()] if name == "percent" else values()
    calls = [[v, "B/s"] if name == "si" else [v] for v in tried]
    assert driver(name, calls) == [python(v) for v in tried]
    if name == "si":
        assert driver("si", [[None, "J"]]) == ["unknown"] == [si(None, "J")]
