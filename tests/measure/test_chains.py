"""Chains: what each engine computes, what the model says about them term by term, and points on a roofline."""

import dataclasses

import numpy as np
import pytest

import roofline_lessons as rl
from roofline_lessons.measure import MeasureError, MeasureWarning, Point, Timing, chain_engines, explained, timed_chains
from roofline_lessons.measure.cpu_model import TERMS, chain_band, chain_bytes, chain_seconds, term_by_term
from roofline_lessons.measure.protocol import Bench
from tests.measure.pretend import MIB, Clock, measurement

M = measurement()
SMALL, LARGE = 1 << 14, 1 << 24  # working sets of 128 KiB and 128 MiB


def near(value):
    return pytest.approx(value, rel=1e-9)


# -- engines -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", chain_engines.ENGINES)
@pytest.mark.parametrize("depth", [1, 2, 7])
def test_every_engine_computes_the_same(name, depth):
    pytest.importorskip(chain_engines.ENGINES[name].library)
    x = np.random.default_rng(1).uniform(-1, 1, 5000).astype(np.float32)
    before = x.copy()
    program = chain_engines.engine(name).prepare(chain_engines.kinds_of(depth), x)
    wanted = chain_engines.reference(chain_engines.kinds_of(depth), x)
    np.testing.assert_allclose(program(), wanted, rtol=1e-6)
    assert program().dtype == np.float32
    np.testing.assert_array_equal(x, before)  # the input stays what it was


@pytest.mark.parametrize("name", [n for n in chain_engines.ENGINES if n.startswith("numpy")])
def test_where_results_go(name):
    x = np.ones(100, np.float32)
    program = chain_engines.engine(name).prepare(chain_engines.kinds_of(3), x)
    first, second = program(), program()
    assert np.shares_memory(first, second) is (name != "numpy fresh")


def test_numbers_stay_between_0_and_1_in_place():
    program = chain_engines.engine("numpy in place").prepare(chain_engines.kinds_of(6), np.ones(10, np.float32))
    for _ in range(100):
        y = program()
    assert (y > 0.1).all() and (y <= 1).all()


def test_an_engine_that_is_not_there(monkeypatch):
    with pytest.raises(rl.UnknownNameError, match="did you mean 'numba'"):
        rl.measure.chain(4, 1000, "nunba")
    monkeypatch.setattr(chain_engines, "installed", lambda library: library != "numba")
    assert "numba" not in chain_engines.available() and "numpy in place" in chain_engines.available()
    with pytest.raises(MeasureError, match="needs numba: python -m pip install numba. A chain of 3 op.* not recorded"):
        rl.measure.chain(3, 1000, "numba")


def test_a_missing_engine_is_replaced_by_what_was_recorded(monkeypatch):
    monkeypatch.setattr(chain_engines, "installed", lambda library: library != "numba")
    with pytest.warns(MeasureWarning, match="needs numba: .* install numba. What you get instead is rec") as w:
        chain = rl.measure.chain(8, 1 << 24, "numba")
    assert w[0].filename == __file__  # the learner's line, not ours
    assert chain.run.recorded and chain.run.machine is chain.unfused.machine is rl.measure.recorded()
    assert repr(chain).endswith(", recorded") and "numba: recorded " in repr(chain.run)
    assert 2 < chain.speedup < 20 and abs(chain.predicted_speedup / chain.speedup - 1) < 0.3


# -- the model ---------------------------------------------------------------------------------------------------------


def test_the_naive_roofline_is_bytes_over_dram_bandwidth():
    assert chain_bytes(8, SMALL, "numpy ping-pong") == 8 * 2 * 4 * SMALL
    assert chain_bytes(8, SMALL, "numba") == 2 * 4 * SMALL
    for name in chain_engines.ENGINES:
        assert chain_seconds(M, 8, SMALL, name, ()) == near(chain_bytes(8, SMALL, name) / 10e9)


@pytest.mark.parametrize(
    "engine, elements, terms, seconds",
    [
        ("numpy ping-pong", SMALL, ["working set"], 3 * 8 * SMALL / 100e9),
        ("numpy ping-pong", LARGE, ["working set"], 3 * 8 * LARGE / 10e9),
        ("numpy in place", SMALL, ["working set"], 3 * 8 * SMALL / 100e9),
        ("numpy in place", SMALL, ["working set", "in place"], 3 * 8 * SMALL / 200e9),
        ("numpy ping-pong", SMALL, ["working set", "in place"], 3 * 8 * SMALL / 100e9),
        # 1 MiB fits twice 384 KiB, not three times: the first two kernels meet the input, too
        ("numpy ping-pong", 3 << 15, ["working set"], (2 / M.bandwidth_at(9 << 17) + 1 / 100e9) * 8 * (3 << 15)),
        ("numpy fresh", 3 << 15, ["working set"], 3 * 8 * (3 << 15) / 100e9),
        ("numpy ping-pong", SMALL, ["calls"], 3 * (8 * SMALL / 10e9 + 4e-7)),
        ("numba", SMALL, ["calls"], 8 * SMALL / 10e9 + 2e-7),
        ("numpy fresh", LARGE, ["fresh pages"], 3 * (8 * LARGE / 10e9 + 4 * LARGE * 1e-10)),
        ("numpy ping-pong", LARGE, ["fresh pages"], 3 * 8 * LARGE / 10e9),
        ("numpy fresh", SMALL, ["fresh pages"], 3 * 8 * SMALL / 10e9),
        ("numba", SMALL, ["working set", "arithmetic"], 8 * SMALL / 100e9),  # more than SMALL * 20e-12
        ("numpy ping-pong", SMALL, ["working set", "arithmetic"], 3 * 8 * SMALL / 100e9),  # mean 2e-11 < 8 B / 100 GB/s
        ("numpy ping-pong", SMALL, ["working set", "operator kinds"], SMALL * (2 * 8e-11 + 8e-11)),
        ("numpy in place", SMALL, ["working set", "in place", "operator kinds"], SMALL * 3 * 4e-11),
    ],
)
def test_each_term_by_hand(engine, elements, terms, seconds):
    """mul, add, relu at depth 3."""
    assert chain_seconds(M, 3, elements, engine, terms) == near(seconds)


def test_a_fused_kernel_waits_for_arithmetic_once_it_is_deep_enough():
    """Each operator takes 1e-12 s, 10 of them hide behind loads and stores, and no loop takes less than 2e-11 s."""
    assert chain_seconds(M, 300, SMALL, "numba") == near(SMALL * (300e-12 - 1e-11) + 2e-7)
    in_cache = dataclasses.replace(M, bandwidth=dict(M.bandwidth) | {"copy": (1e15,) * len(M.working_sets)})
    assert chain_seconds(in_cache, 4, SMALL, "numba") == near(SMALL * 2e-11 + 2e-7)
    assert chain_seconds(in_cache, 30, SMALL, "numba") == near(SMALL * 2e-11 + 2e-7)
    assert chain_seconds(in_cache, 40, SMALL, "numba") == near(SMALL * 3e-11 + 2e-7)


def test_the_arithmetic_of_a_slow_kind_is_seen_only_with_the_term_for_kinds():
    slow = dict(M.element_seconds) | {"numpy": {"least": 0.0, "offset": 0.0, "mul": 1e-11, "add": 1e-11, "relu": 7e-10}}
    m = measurement(element_seconds=slow)
    by_mean = chain_seconds(m, 3, SMALL, "numpy ping-pong", ["working set", "arithmetic"])
    by_kind = chain_seconds(m, 3, SMALL, "numpy ping-pong", ["working set", "operator kinds"])
    assert by_mean == near(SMALL * 3 * 2.4e-10) and by_kind == near(SMALL * (7e-10 + 2 * 8e-11))


def test_terms_are_switched_on_one_by_one():
    found = term_by_term(M, 8, SMALL, "numpy in place")
    assert list(found) == ["bytes / DRAM bandwidth", *(f"+ {name}" for name in TERMS)]
    assert found["bytes / DRAM bandwidth"] == chain_seconds(M, 8, SMALL, "numpy in place", ())
    assert found["+ operator kinds"] == chain_seconds(M, 8, SMALL, "numpy in place")
    with pytest.raises(rl.UnknownNameError, match="unknown term 'cache': .*working set"):
        chain_seconds(M, 8, SMALL, "numba", ["cache"])
    with pytest.raises(rl.UnknownNameError, match="unknown engine 'numby'"):
        chain_seconds(M, 8, SMALL, "numby")


def test_a_library_that_was_not_measured():
    with pytest.raises(MeasureError, match=r"without numexpr: python -m pip install numexpr, then .*again=True"):
        chain_seconds(M, 2, SMALL, "numexpr")
    assert chain_seconds(M, 2, SMALL, "numexpr", ["working set"]) > 0  # no term needs it


def test_the_band_is_wide_near_the_size_of_a_cache_and_narrow_elsewhere():
    def width(elements):
        low, high = chain_band(M, 1, elements, "numba")
        assert low <= chain_seconds(M, 1, elements, "numba") <= high
        return high / low

    assert width(MIB // 8) > 3  # a working set of 1 MiB, the size of the cache
    assert width(LARGE) < 1.01


# -- timed -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def pretend_engines(monkeypatch):
    """Engines that only move a clock: NumPy 8 ms per operator, a fused chain 10 ms."""
    clock = Clock()

    def prepare(engine):
        def of(kinds, x):
            def program():
                clock.now += 10e-3 if engine.fused else 8e-3 * len(kinds)
                return x

            return program

        return of

    fakes = {name: dataclasses.replace(e, prepare=prepare(e)) for name, e in chain_engines.ENGINES.items()}
    monkeypatch.setattr(timed_chains, "engine", fakes.__getitem__)
    monkeypatch.setattr(timed_chains, "why_not", lambda name: "")
    return Bench(clock)


def test_a_chain_holds_measured_and_predicted_side_by_side(pretend_engines):
    machine = M.device()
    chain = rl.measure.chain(4, SMALL, "numba", machine=machine, bench=pretend_engines)
    assert chain.run.seconds == pytest.approx(10e-3) and chain.unfused.seconds == pytest.approx(32e-3)
    assert chain.unfused.engine == "numpy ping-pong"
    assert chain.speedup == pytest.approx(3.2)
    assert chain.run.predicted_seconds == chain_seconds(M, 4, SMALL, "numba")
    assert chain.predicted_speedup == near(
        chain_seconds(M, 4, SMALL, "numpy ping-pong") / chain_seconds(M, 4, SMALL, "numba")
    )
    assert chain.run.bytes_per_second == pytest.approx(8 * SMALL / 10e-3)
    assert chain.usual_speedup == pytest.approx(3.2)  # no round was slower than another
    assert chain.run.error == near(chain.run.predicted_seconds / chain.run.seconds - 1)
    assert "32.0 ms → 10.0 ms, 3.20 times as fast (predicted" in repr(chain)
    assert "measured 10.0 ms, predicted" in repr(chain.run)


def test_many_chains_make_a_table(pretend_engines):
    found = rl.measure.chains(
        [1, 8], [SMALL, 2 * SMALL], ["numba", "numpy in place"], machine=M.device(), bench=pretend_engines
    )
    table = found.to_frame()
    assert len(found) == len(table) == 8 and set(table.engine) == {"numba", "numpy in place"}
    deep = table[(table.depth == 8) & (table.engine == "numba")]
    assert deep.speedup.tolist() == pytest.approx([6.4, 6.4])
    assert (table.noise - 1).abs().max() < 1e-9
    assert repr(found).count("\n") == 7 and len(found[:3]) == 3


def test_too_many_elements_are_refused_before_anything_runs():
    with pytest.raises(MeasureError, match="A chain on 1,000,000,000,000 elements needs .* Take fewer elements"):
        rl.measure.chain(1, 10**12, "numpy in place", machine=M.device())
    with pytest.raises(ValueError, match="depth must be a whole number of at least 1, not 0"):
        rl.measure.chain(0, 10, "numpy in place", machine=M.device())


def test_a_real_chain_is_timed():
    """That it runs, and nothing about how fast."""
    chain = rl.measure.chain(2, 1000, "numpy in place", machine=M.device(), bench=Bench(batch_seconds=1e-5))
    assert chain.run.seconds > 0 and chain.run.timing.rounds == 3 and chain.run.timing.noise >= 1


# -- points ------------------------------------------------------------------------------------------------------------

DEVICE = rl.Device("toy", {"fp32": 1e11}, 1e10, levels=(rl.MemoryLevel("cache", 1e6, 4e10),))


def test_a_point_and_its_spread():
    point = Point.of("relu", flops=1e6, dram_bytes=8e6, timing=Timing(1e-3, 2e-3, 5))
    assert (point.intensity, point.flops_per_second, point.usual_flops_per_second) == (0.125, near(1e9), near(5e8))
    with pytest.raises(ValueError, match="intensity of x must be a finite number above 0"):
        Point("x", 0, 1, 1)


@pytest.mark.parametrize(
    "intensity, speed, why",
    [
        (1, 0.9e10, ""),
        (1, 1.04e10, ""),  # on the roof
        (1, 3e10, "x is 3.0 times as fast as the DRAM roof allows: its arrays fit into a nearer memory (cache, 40"),
        (1, 9e10, "x is 9.0 times as fast as the DRAM roof allows: it moves fewer bytes than were counted"),
        (100, 2e11, "x is 2.0 times as fast as the peak allows: the peak was put too low"),
    ],
)  # fmt: skip
def test_a_point_above_the_roof_is_explained(intensity, speed, why):
    said = Point("x", intensity, speed, speed).above(DEVICE)
    assert said.startswith(why) and bool(said) == bool(why)


def test_only_points_above_the_roof_are_explained():
    assert explained([Point("low", 1, 1e9, 1e9), Point("high", 1, 2e10, 1e10)], DEVICE)[0].startswith("high is 2.0")


# -- pictures ----------------------------------------------------------------------------------------------------------


def test_measured_points_on_a_roofline_are_hollow_and_never_cut_off():
    from roofline_lessons import plots
    from roofline_lessons.scenes import RooflineScene

    points = [Point("far above", 1e4, 1e16, 1e15), Point("far below", 1e-6, 1.0, 0.5)]
    axes = plots.roofline(RooflineScene(measured=points)).axes[0]
    (x0, x1), (y0, y1) = axes.get_xlim(), axes.get_ylim()
    for p in points:
        assert x0 < p.intensity < x1 and y0 < p.usual_flops_per_second < p.flops_per_second < y1
    hollow = [c for c in axes.collections if c.get_offsets().tolist() == [[1e4, 1e16]]]
    assert len(hollow) == 1 and hollow[0].get_facecolor()[0].tolist() == [1, 1, 1, 1]
    assert any(line.get_ydata()[0] == 1e15 for line in axes.lines if len(line.get_ydata()) == 2)  # the spread


def test_pictures_of_a_measurement(pretend_engines):
    from roofline_lessons import measure_plots

    machine = M.device()
    found = rl.measure.chains([1, 8], [SMALL, LARGE], ["numba"], machine=machine, bench=pretend_engines)
    curves = measure_plots.bandwidths(machine).axes[0]
    assert [line.get_label() for line in curves.lines] == ["copy", "in place", "read", "fill"]
    roofs = measure_plots.roofline(machine, [c.run.point for c in found]).axes[0]
    labels = [text.get_text() for text in roofs.get_legend().get_texts()]
    assert labels[:2] == ["DRAM: 10.0 GB/s", "cache up to 1.05 MB: 100 GB/s"] and "measured" in labels
    panels = measure_plots.speedups(found).axes
    assert [a.get_title(loc="left") for a in panels] == ["arrays of 65.5 kB", "arrays of 67.1 MB"]
    assert panels[0].lines[0].get_ydata() == pytest.approx([c.predicted_speedup for c in found[:2]])
    bars = measure_plots.terms(found[0].run).axes[0]
    assert [b.get_width() for b in bars.patches] == pytest.approx(list(term_by_term(M, 1, SMALL, "numba").values()))


def test_a_level_that_one_working_set_alone_found_is_drawn_as_a_bar_too():
    from roofline_lessons import measure_plots

    machine = rl.measure.recorded()
    assert machine.measurement.levels[0].bytes == machine.measurement.working_sets[0]  # the case in question
    bars = [c.get_segments()[0] for c in measure_plots.bandwidths(machine).axes[0].collections]
    assert [bar[0][1] for bar in bars] == [level.bytes_per_second for level in machine.measurement.levels]
    assert all(end[0] > 1.5 * start[0] for start, end in bars)


# -- imports -----------------------------------------------------------------------------------------------------------


def test_nothing_slow_is_imported_unless_used():
    import subprocess
    import sys

    code = "import sys, roofline_lessons as rl; rl.measure.this_machine; rl.measure.recorded(); print(*sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert "roofline_lessons.measure" in loaded
    assert not loaded & {"numba", "numexpr", "onnxruntime", "onnx", "tqdm", "threadpoolctl", "pandas", "matplotlib"}


# -- the explorer ------------------------------------------------------------------------------------------------------


def test_measured_points_stand_in_the_explorer_wherever_they_lie():
    from roofline_lessons.scenes import RooflineScene

    points = [Point("fast <b>", 0.1, 1e15, 1e14), Point("slow", 1e-5, 10.0, 1.0)]
    scene = RooflineScene(device=DEVICE, measured=points)
    (x0, x1), (y0, y1) = scene.tables["x_limits"], scene.tables["y_limits"]
    assert all(x0 < p.intensity < x1 and y0 < p.usual_flops_per_second and p.flops_per_second < y1 for p in points)
    marks = scene.measured_marks
    assert marks["measured"]["x"] == [0.1, 1e-5] and marks["measured_spread"]["y"] == [[1e14, 1e15], [1.0, 10.0]]
    assert marks["measured_text"]["value"].startswith("fast &lt;b&gt; is ")
    explorer = rl.RooflineExplorer(device=DEVICE, measured=points)
    bars, circles = explorer.measured
    assert not circles.fill and bars in explorer.figure.marks and circles in explorer.figure.marks
    explorer.controls["bandwidth"].value += 8
    assert explorer.scene.measured_marks == marks
    without = RooflineScene(device=DEVICE)
    assert without.tables["y_limits"][1] < y1 and not rl.RooflineExplorer(device=DEVICE).measured
