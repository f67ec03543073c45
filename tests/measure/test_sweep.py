"""Measuring a pretended machine finds what it is made of; a file brings it back; a browser says why not."""

import json
import sys

import numpy as np
import pytest

import roofline_lessons as rl
from roofline_lessons.measure import MeasureError, MeasureWarning, machine
from roofline_lessons.measure.measurement import Machine, from_json, to_json
from roofline_lessons.measure.memory import check_fits, largest_working_set, last_cache_bytes, total_bytes
from roofline_lessons.measure.sweep import split_by_kind
from tests.measure.pretend import MIB, Clock, PretendKit, measurement, place

measure_really = machine.measure


def measured(quick=True, **kit):
    clock = Clock()
    return measure_really(quick, lambda: PretendKit(clock, **kit), clock)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "my.machine.json"


@pytest.fixture
def pretend(monkeypatch):
    """`this_machine` measures the pretended one; counts how often."""
    count = []

    def measure(quick):
        count.append(quick)
        return measured(quick)

    monkeypatch.setattr(machine, "measure", measure)
    return count


# -- what is found -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("disturbed", [frozenset(), frozenset(range(10, 10_000, 7))], ids=["quiet", "disturbed"])
def test_the_roofs_of_a_known_machine_are_found(disturbed):
    device = measured(disturbed=disturbed).device()
    assert device.bandwidth == pytest.approx(10e9, rel=1e-3)
    assert [level.bytes_per_second for level in device.levels] == pytest.approx([40e9, 160e9], rel=2e-2)
    assert 16 * MIB < device.levels[0].bytes <= 32 * MIB
    assert MIB / 2 < device.levels[1].bytes <= MIB
    assert device.peak == {"fp32": pytest.approx(2e11), "fp64": pytest.approx(5e10)}  # the best library's
    assert device.ridge("fp32") == pytest.approx(20, rel=1e-3)
    assert device.launch_seconds == pytest.approx(4e-7, rel=1e-3)
    assert device.on_chip_bytes == device.levels[0].bytes


def test_calls_elements_and_pages_of_a_known_machine_are_found():
    m = measured()
    assert m.call_seconds == {"numpy": pytest.approx(4e-7, rel=1e-3), "numba": pytest.approx(2e-7, rel=0.01)}
    assert m.element_seconds["numpy"] == {
        "least": 0, "offset": 0,
        "mul": pytest.approx(2e-11), "add": pytest.approx(2e-11), "relu": pytest.approx(3e-10),
    }  # fmt: skip
    assert m.element_seconds["numba"] == {
        "least": pytest.approx(1.2e-11), "offset": pytest.approx(-1e-11),
        "mul": pytest.approx(2e-12), "add": pytest.approx(2e-12), "relu": pytest.approx(3e-11),
    }  # fmt: skip
    assert m.fresh_at(256 * MIB) == pytest.approx(2e-10) and m.fresh_at(MIB) == pytest.approx(0, abs=1e-15)
    assert m.bandwidth_at(200 * MIB, "in place") == pytest.approx(15e9, rel=1e-3)


def test_noise_is_seen_and_flagged():
    assert measured().worst_noise == pytest.approx(1)
    often = np.random.default_rng(1).random(100_000) < 2 / 3
    noisy = measured(quick=False, disturbed=frozenset(np.flatnonzero(often)))
    assert any("other programs were running" in said for said in noisy.flags)


def test_what_is_missing_is_flagged():
    flags = measurement(one_thread=False, products={("fp32", "numpy"): 1e11}).flags
    assert any("threadpoolctl is not installed" in said for said in flags)
    assert any("int8 peak is unknown: it needs onnx and onnxruntime" in said for said in flags)
    assert measurement().flags == []


def test_operators_from_chains():
    kinds = {"mul": 3, "add": 3, "relu": 7}
    interpreted = {"one": 3 + 1, "half": 12 * 3 + 1, "long": 24 * 3 + 1, "mixed": 16 * 3 + 8 * 7 + 1}
    assert split_by_kind(interpreted, fused=True) == {"least": 4, "offset": 1, **kinds}
    compiled = {"one": 10, "half": 12 * 3 - 20, "long": 24 * 3 - 20, "mixed": 16 * 3 + 8 * 7 - 20}
    assert split_by_kind(compiled, fused=True) == {"least": 10, "offset": -20, **kinds}
    apart = {"one": 3, "half": 36, "long": 72, "mixed": 104}
    assert split_by_kind(apart, fused=False) == {"least": 0, "offset": 0, **kinds}
    noise = split_by_kind({"one": -1, "half": 9, "long": 1, "mixed": 0}, fused=True)
    assert min(noise.values()) >= 0  # nothing takes less than no time


def test_working_sets_reach_beyond_the_caches_and_not_beyond_the_memory(tmp_path):
    assert largest_working_set(16 * MIB, 64e9) == 128 * MIB  # at least
    assert largest_working_set(64 * MIB, 64e9) == 256 * MIB  # four times the cache
    assert largest_working_set(2048 * MIB, 64e9) == 1024 * MIB  # at most
    assert largest_working_set(None, 64e9) == 256 * MIB
    assert largest_working_set(64 * MIB, 1e9) == 64 * MIB  # an eighth of the memory
    with pytest.raises(MeasureError, match=r"A chain needs 3.0 GB; measuring takes at most 0.5 GB .* fewer elements"):
        check_fits("A chain", 3e9, memory=2e9)
    cache = tmp_path / "sys/devices/system/cpu/cpu0/cache/index3"
    cache.mkdir(parents=True)
    (cache / "size").write_text("32768K\n")
    (cache.parent / "index4").mkdir()
    (cache.parent / "index4/size").write_text("\n")  # as some boards have it
    assert last_cache_bytes(tmp_path) == 32 * MIB and last_cache_bytes(tmp_path / "none") is None
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/memory.max").write_text("1000000000\n")
    assert total_bytes(tmp_path) == 1e9
    (tmp_path / "sys/fs/cgroup/memory.max").write_text("max\n")
    assert total_bytes(tmp_path) > 1e9


# -- the file ----------------------------------------------------------------------------------------------------------


def test_json_brings_everything_back():
    m = measured()
    again = from_json(to_json(m))
    assert again == m and again.device() == m.device()
    assert {"host", "processor", "versions", "date", "load"} <= set(json.loads(to_json(m))["place"])


def test_measured_once_then_read(file, pretend):
    first = rl.measure.this_machine(quick=True, path=file)
    assert isinstance(first, Machine) and isinstance(first, rl.Device)
    assert rl.measure.this_machine(quick=True, path=file) == first and pretend == [True]
    rl.measure.this_machine(path=file)  # a quick one is not enough
    rl.measure.this_machine(path=file)
    rl.measure.this_machine(quick=True, path=file)  # a full one is
    assert pretend == [True, False]
    rl.measure.this_machine(quick=True, again=True, path=file)
    assert pretend == [True, False, True]


def test_another_machine_or_version_is_measured_anew(file, pretend, monkeypatch):
    rl.measure.this_machine(quick=True, path=file)
    monkeypatch.setattr(machine, "here", lambda: place(versions={"python": "3.99"}))
    rl.measure.this_machine(quick=True, path=file)
    assert len(pretend) == 2
    assert place().same_machine(place(date="2030-01-01T00:00:00+00:00", load=9.0))
    assert not place().same_machine(place(host="other"))


def test_the_environment_names_the_file(tmp_path, pretend, monkeypatch):
    monkeypatch.setenv("ROOFLINE_MACHINE", str(tmp_path / "there.json"))
    rl.measure.this_machine(quick=True)
    assert (tmp_path / "there.json").exists()


@pytest.mark.parametrize(
    "text, why",
    [
        ("{", "it is no measurement"),
        ("[]", "it is no measurement"),
        ('{"version": 99}', "version 99"),
        ('{"version": 2, "place": {}}', "it is no measurement"),
        (lambda m: m | {"working_sets": [1.0, -1.0]}, "working_sets should be numbers above 0"),
        (lambda m: m | {"working_sets": m["working_sets"][::-1]}, "do not ascend"),
        (lambda m: m | {"fresh_seconds_per_byte": [0.0]}, "not every working set was measured"),
        (lambda m: m | {"call_seconds": {"numpy": "fast"}}, "call_seconds should be numbers above 0"),
        (lambda m: m | {"call_seconds": {"numpy": float("nan")}}, "call_seconds should be numbers above 0"),
        (lambda m: m | {"products": {}}, "products should be numbers above 0"),
        (lambda m: m | {"surprise": 1}, "it is no measurement"),
        (lambda m: m | {"call_seconds": {"numba": 1e-7}}, "NumPy was not measured"),
        (lambda m: m | {"element_seconds": {}}, "NumPy was not measured"),
        (lambda m: m | {"noise": m["noise"] | {"copy": [0.0] * 16}}, "noise of copy should be numbers above 0"),
        (lambda m: m | {"fresh_seconds_per_byte": [None] * 16}, "fresh_seconds_per_byte and element_seconds should be"),
        (lambda m: m | {"place": m["place"] | {"date": "today"}}, "it is no measurement: Invalid isoformat"),
    ],
)
def test_a_broken_file_is_kept_aside_and_said(file, pretend, text, why):
    if callable(text):
        text = json.dumps(text(json.loads(to_json(measured()))))
    file.write_text(text)
    with pytest.warns(MeasureWarning, match=rf"my.machine.json could not be read: .*{why}.*kept as .*measuring anew"):
        rl.measure.this_machine(quick=True, path=file)
    aside = [p for p in file.parent.iterdir() if "unreadable" in p.name]
    assert len(aside) == 1 and aside[0].read_text() == text
    assert from_json(file.read_bytes()).quick and len(pretend) == 1


def test_an_outdated_file_is_replaced_without_a_word(file, pretend):
    """It is whole; a learner who updates the package has done nothing wrong."""
    content = json.loads(to_json(measured()))
    file.write_text(json.dumps(content | {"version": content["version"] - 1}))
    rl.measure.this_machine(quick=True, path=file)  # a warning would be an error
    assert [p.name for p in file.parent.iterdir()] == [file.name] and len(pretend) == 1
    rl.measure.this_machine(quick=True, path=file)
    assert len(pretend) == 1


def test_where_nothing_can_be_written_it_measures_all_the_same(tmp_path, pretend):
    with pytest.warns(MeasureWarning, match="The measurement will not be kept"):
        found = rl.measure.this_machine(quick=True, path=tmp_path / "no such folder" / "my.machine.json")
    assert found.bandwidth == pytest.approx(10e9, rel=1e-3)
    assert list(tmp_path.iterdir()) == []


# -- a browser, and the recorded machine -------------------------------------------------------------------------------


def test_a_browser_says_why_it_cannot_and_gives_the_recorded_machine(monkeypatch):
    monkeypatch.setattr(sys, "platform", "emscripten")
    with pytest.warns(MeasureWarning, match="runs inside a browser tab and cannot measure.*clock.*recorded on"):
        found = rl.measure.this_machine()
    assert found is rl.measure.recorded()
    with pytest.warns(MeasureWarning, match="inside a browser tab and cannot measure: run .* What you get"):
        kept = rl.measure.chain(8, 1 << 24)
    assert kept.run.engine == "numba" and kept.run.machine is found and kept.speedup > 1
    with pytest.raises(MeasureError, match="7 operators on 1,000 elements was not recorded either. Recorded"):
        rl.measure.chain(7, 1000, "numba", machine=found)


def test_the_recorded_machine_says_that_it_is_and_when():
    found = rl.measure.recorded()
    assert found.name.startswith("recorded on ") and "one thread, measured 20" in found.name
    m = found.measurement
    assert m.recorded and m.place.host == "" and not m.quick  # nobody's host name is published
    assert {"fp32", "fp64", "int8"} <= set(found.peak) and len(found.levels) >= 2
    assert m.flags == [] and m.worst_noise < 1.3
    assert "recorded" in repr(m)


def test_the_processor_has_a_name(tmp_path):
    (tmp_path / "cpuinfo").write_text("processor : 0\nmodel name\t: Toy CPU @ 1 GHz\n")
    assert machine.processor(tmp_path / "cpuinfo") == "Toy CPU @ 1 GHz"
    assert machine.processor(tmp_path / "none")
    assert machine.here().same_machine(machine.here())


def test_a_device_without_measurement_says_so():
    with pytest.raises(MeasureError, match="toy has no measurement with it"):
        Machine("toy", {"fp32": 1e9}, 1e9).measurement  # noqa: B018
