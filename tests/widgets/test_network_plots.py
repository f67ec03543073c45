"""One network on several devices as a still picture."""

from __future__ import annotations

import pytest
from matplotlib.patches import Rectangle

import roofline_lessons as rl
from roofline_lessons import network_plots

GRAPH = rl.networks.mobilenet_v2()


def table(*ids: str) -> dict[str, dict[str, rl.Estimate]]:
    plans = {"unfused": rl.unfused(GRAPH), "epilogue": rl.fuse(GRAPH, "epilogue")}
    return {id: {name: rl.estimate(plan, rl.device(id), "int8") for name, plan in plans.items()} for id in ids}


def bars(figure) -> list[Rectangle]:
    return [p for p in figure.axes[0].patches if isinstance(p, Rectangle)]


def test_each_bar_is_as_long_as_its_time_compared_with_the_first_plan():
    shown = table("raspberry-pi-5", "h100-sxm")
    lengths: dict[float, float] = {}
    for bar in bars(network_plots.spent(shown)):
        lengths[bar.get_y()] = lengths.get(bar.get_y(), 0.0) + bar.get_width()
    expected = [e.seconds / plans["unfused"].seconds for plans in shown.values() for e in plans.values()]
    assert list(lengths.values()) == pytest.approx(expected) and expected[0] == expected[2] == 1


def test_parts_differ_in_hatch_too_and_the_legend_names_those_there_are():
    figure = network_plots.spent(table("raspberry-pi-5"))
    looks = {(bar.get_facecolor(), bar.get_hatch()) for bar in bars(figure) if bar.get_width()}
    assert len(looks) == len({hatch for _, hatch in looks}) == 3
    assert [text.get_text() for text in figure.legends[0].texts] == ["arithmetic", "memory", "launch"]


def test_rows_and_times_are_named():
    shown = table("jetson-orin-nano")
    axes = network_plots.spent(shown).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["jetson-orin-nano, unfused", "epilogue"]
    said = [text.get_text() for text in axes.texts]
    for est in shown["jetson-orin-nano"].values():
        assert rl.si(est.seconds, "s") in said
    assert "launch 79 %" in said


def test_the_words_say_what_the_picture_shows():
    assert network_plots.text(table("h100-sxm")) == [
        "h100-sxm, unfused: 768 µs; launch 100 %", "h100-sxm, epilogue: 326 µs; launch 100 %"
    ]  # fmt: skip


@pytest.mark.parametrize("nothing", [{}, {"a device": {}}])
def test_nothing_to_show_is_refused(nothing):
    with pytest.raises(ValueError, match="needs at least one device, and at least one plan for each"):
        network_plots.spent(nothing)
