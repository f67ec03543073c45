"""What measured bytes and peaks count; "B14" ... are rows of references/faults.md."""

import numpy as np
import pytest

import roofline_lessons as rl
from roofline_lessons.measure import Timing, products, sweep
from roofline_lessons.measure.cpu_model import chain_seconds
from roofline_lessons.measure.probes import ARRAYS, Probes
from tests.measure.pretend import MIB, Clock, PretendKit, measurement

GIB = 1 << 30


class WriteAllocateKit(PretendKit):
    """A machine whose memory moves 30 GB/s, and reads a line before it overwrites it where a store misses."""

    BUS = 30e9

    def bandwidth(self, kind, working_set):
        lines = {"copy": 3, "in place": 2, "read": 1, "fill": 2}[kind]
        return self.takes(working_set / ARRAYS[kind][0] * lines / self.BUS)


# B14: a store that misses also reads its line. The loop's own bytes are counted, in every probe alike: a copy then
# comes out at 2/3 of what travels (3 lines for 2), in place at all of it.
def test_lines_read_before_they_are_overwritten_are_in_the_bandwidth_and_in_no_count():
    found = sweep.measure_bandwidths(rl.measure.Bench(clock := Clock()), WriteAllocateKit(clock), 0.0)["bandwidth"]
    assert found["copy"][-1] == pytest.approx(30e9 / 1.5, rel=1e-3)
    assert found["in place"][-1] == pytest.approx(30e9, rel=1e-3)
    assert found["read"][-1] == pytest.approx(30e9, rel=1e-3)
    assert found["fill"][-1] == pytest.approx(30e9 / 2, rel=1e-3)


# B14: so a chain that writes other arrays takes 1.5 times as long as one in place, once and not twice: counting the
# lines as bytes as well would make it 2.25.
def test_the_lines_are_paid_for_once():
    sets = measurement().working_sets
    m = measurement(
        bandwidth={"copy": (20e9,) * len(sets), "in place": (30e9,) * len(sets)}, noise={"copy": (1,) * len(sets)}
    )
    terms, n = ["working set", "in place"], 1 << 24
    apart, in_place = (chain_seconds(m, 3, n, f"numpy {how}", terms) for how in ("ping-pong", "in place"))
    assert in_place == pytest.approx(3 * 8 * n / 30e9)  # a line in, a line out
    assert apart == pytest.approx(3 * 12 * n / 30e9)  # two in, one out


# B14: DP triad, a + s b -> c: 24 B and 2 FLOP for each number, 1/12 FLOP per byte (with the line, 32 B, it would be
# 1/16).
def test_triad_counts_no_line_read_before_it_is_overwritten():
    n, b = 1 << 20, rl.GraphBuilder("triad")
    y = b.add(b.input("a", (n,)), b.mul(b.input("b", (n,)), b.weight("s", ())))
    plan = rl.fuse(b.build(outputs=[y]), "elementwise")
    found = rl.estimate(plan, rl.Device("toy", {"fp64": 1e10}, 1e10), "fp64")
    assert (found.flops, found.dram_bytes) == (2 * n, 24 * n + 8)  # and the number s
    assert found.intensity == pytest.approx(1 / 12, rel=1e-6)


# B15: bytes against a copy that is known: each pass touches the arrays that are counted, every number of them, and no
# others. (Where an engine counts bytes itself: tests/engines/test_node_times.py.)
@pytest.mark.parametrize("library", ["numpy", "numba"])
@pytest.mark.parametrize("kind, counted", [("copy", 2 * MIB), ("in place", 2 * MIB), ("read", MIB), ("fill", MIB)])
def test_a_pass_touches_the_bytes_that_are_counted(kind, counted, library):
    pytest.importorskip(library)
    probes, (arrays, times) = Probes(4 * MIB, library), ARRAYS[kind]
    working_set = arrays * MIB
    run = probes.bandwidth(kind, working_set)
    ((a, b),) = probes._small.values()
    assert a.nbytes == b.nbytes == working_set // arrays == MIB and times * MIB == counted
    a[:], b[:] = 3, 0
    run(1)
    assert (b == (3 if kind == "copy" else 0)).all() and (a == (1 if kind == "fill" else 3)).all()


# B16: a copy of N bytes in t seconds is 2 N / t: read and written both count, and each probe says which it does.
@pytest.mark.parametrize(
    "kind, working_set, counted",
    [("copy", 2 * GIB, 2 * GIB), ("in place", GIB, 2 * GIB), ("read", GIB, GIB), ("fill", GIB, GIB)],
)
def test_bandwidth_counts_what_is_read_and_what_is_written(kind, working_set, counted):
    timing = Timing(0.25, 0.5, 3)
    assert sweep._bandwidth(kind, working_set, timing, empty=0.05) == pytest.approx(counted / 0.2)  # the fastest round


# E4: an int8 peak is one of sums in int32, and so on: which is declared, and so it is.
@pytest.mark.parametrize("name", products.ACCUMULATOR)
def test_products_are_added_up_in_the_format_that_is_declared(name, monkeypatch):
    monkeypatch.setattr(products, "repeated", lambda call: call)
    size, formats = 160, {"fp32": np.float32, "fp64": np.float64, "int32": np.int32}
    found = {library: call() for (n, library), call in products.products(size).items() if n == name}
    if name == "int8" and not found:
        pytest.skip("the int8 peak needs onnx and onnxruntime")
    for y in found.values():
        (y,) = y if isinstance(y, list) else (y,)
        assert y.dtype == formats[products.ACCUMULATOR[name]]
        assert (y == size).all()  # 160 ones: more than an int8 holds


# E4: no peak is measured of which it is not declared.
def test_every_peak_says_how_its_products_are_added_up():
    assert {name for name, _ in products.products(16)} <= set(products.ACCUMULATOR)
    assert set(rl.measure.recorded().peak) <= set(products.ACCUMULATOR)
