"""Batches, rounds in turns, the minimum: with a clock of our own."""

import gc
import importlib.util

import pytest

from roofline_lessons.measure import MeasureError
from roofline_lessons.measure.protocol import MOST_ROUNDS, Bench, Timing, installed, one_thread, repeated
from tests.measure.pretend import Clock


def runs_that_take(clock, log, **seconds):
    def run_of(name, values):
        def run(repeats):
            log.append((name, repeats))
            clock.now += repeats * (values.pop(0) if len(values) > 1 else values[0])

        return run

    return {name: run_of(name, list(values)) for name, values in seconds.items()}


def test_the_minimum_counts_and_the_median_says_how_noisy_it_was():
    clock, log = Clock(), []
    runs = runs_that_take(clock, log, a=[1.0, 1.0, 3.0, 1.5, 2.0])  # the first two find the number of repeats
    timing = Bench(clock, rounds=3).time(runs)["a"]
    assert timing == Timing(1.5, 2.0, 3)
    assert timing.noise == pytest.approx(4 / 3)


def test_noise_of_a_time_too_short_for_the_clock():
    """A profiler's clock of whole microseconds says 0."""
    assert Timing(0.0, 0.0, 3).noise == 1 and Timing(0.0, 1e-6, 3).noise == float("inf")


def test_a_clock_that_stands_still_is_told():
    with pytest.raises(MeasureError, match="repeats take hardly any time: the clock stands still, or what is timed"):
        Bench(Clock(), batch_seconds=1e-6).time({"nothing": lambda repeats: None})


def test_variants_take_turns():
    clock, log = Clock(), []
    Bench(clock, rounds=3).time(runs_that_take(clock, log, a=[1.0], b=[1.0]))
    assert [name for name, _ in log] == ["a", "a", "b", "b"] + ["a", "b"] * 3


def test_a_short_run_is_repeated_until_the_batch_is_long_enough():
    clock, log = Clock(), []
    timing = Bench(clock, batch_seconds=2.5e-3).time(runs_that_take(clock, log, a=[1e-4]))["a"]
    assert log[-1] == ("a", 32) and 32 * 1e-4 >= 2.5e-3 > 16 * 1e-4
    assert timing.seconds == pytest.approx(1e-4)


def test_each_batch_begins_with_a_run_that_is_not_timed():
    """The variant before has filled the caches: the first pass takes 1 ms, each further one 0.1 ms."""
    clock = Clock()
    clock.warm = None

    def passes(name):
        def run(repeats):
            clock.now += repeats * 1e-4 + (0.9e-3 if clock.warm != name else 0)
            clock.warm = name

        return run

    found = Bench(clock, batch_seconds=1e-3).time({name: passes(name) for name in "ab"})
    assert found["a"].seconds == found["b"].seconds == pytest.approx(1e-4)
    assert found["a"].noise == pytest.approx(1)


def test_a_long_run_is_not_run_twice_for_that():
    clock, log = Clock(), []
    Bench(clock).time(runs_that_take(clock, log, long=[25e-3], short=[24e-3]))
    assert [name for name, _ in log].count("long") == 2 + 3
    assert [name for name, _ in log].count("short") == 2 + 2 * 3


def test_rounds_go_on_for_as_long_as_there_is_time_but_not_for_ever():
    clock = Clock()
    assert Bench(clock).time(runs_that_take(clock, [], a=[1.0]), seconds=10)["a"].rounds == 8  # two warm up
    assert Bench(clock).time(runs_that_take(clock, [], a=[1.0]), seconds=1e9)["a"].rounds == MOST_ROUNDS


def test_the_progress_bar_hears_all_the_time_that_passes():
    clock, heard = Clock(), []
    start = clock()
    Bench(clock, tick=heard.append).time(runs_that_take(clock, [], a=[0.5], b=[0.25]))
    assert sum(heard) == pytest.approx(clock() - start)


def test_no_garbage_is_collected_in_between_and_it_is_on_again_after_an_error():
    seen = []

    def run(_):
        seen.append(gc.isenabled())
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        Bench(Clock()).time({"a": run})
    assert seen == [False] and gc.isenabled()


def test_repeated_and_one_thread():
    calls = []
    repeated(lambda: calls.append(1))(5)
    assert len(calls) == 5
    with one_thread() as on_one:
        assert on_one is installed("threadpoolctl")
    assert not installed("no_such_library")


def test_a_folder_is_no_library(tmp_path, monkeypatch):
    """A learner's folder named after a library looks like a package without code to Python."""
    (tmp_path / "torchlike").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    assert importlib.util.find_spec("torchlike") is not None and not installed("torchlike")


@pytest.mark.parametrize("library", ["numexpr", "threadpoolctl"])
def test_threads_are_as_they_were_also_after_an_error(library):
    module = pytest.importorskip(library)

    def threads():
        if library == "numexpr":
            return module.get_num_threads()
        return [pool["num_threads"] for pool in module.threadpool_info() if pool["user_api"] == "blas"]

    before = threads()
    with pytest.raises(RuntimeError, match="stop"), one_thread():
        assert threads() in (1, [1] * len(before) if isinstance(before, list) else 1)
        raise RuntimeError("stop")
    assert threads() == before
