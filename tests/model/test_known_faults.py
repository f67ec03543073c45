"""Rows of references/faults.md that no other test names: faults of other tools, with the right values.

They belong to no one module: that counting changes nothing, and that what lies at the edge of a plot is not lost.
"""

from __future__ import annotations

import html

import numpy as np
import pytest

import roofline_lessons as rl
from roofline_lessons.scenes import RooflineScene


def attention() -> rl.Graph:
    b = rl.GraphBuilder("attention")
    q, k, v = (b.input(name, (1, 12, 64, 64)) for name in "qkv")
    return b.build(outputs=[b.matmul(b.softmax(b.matmul(q, b.transpose(k, (0, 1, 3, 2)))), v)])


def dense() -> rl.Graph:
    b = rl.GraphBuilder("dense")
    return b.build(outputs=[b.dense(b.input("x", (1, 256)), 128, bias=False)])


# A21: a counter that patched functions counted wrongly ever after. Here counting is a pure function.
def test_counting_leaves_nothing_behind():
    assert dense().macs == 32_768
    counted = attention().macs
    assert [dense().macs, dense().macs, attention().macs] == [32_768, 32_768, counted]


# A23: the activation of a gated layer works on the intermediate size, not on the hidden one.
def test_the_activation_of_llama_works_on_the_intermediate_size():
    network = rl.networks.llama2_7b(batch=8, sequence=1, context=2047, layers=1)
    silu = next(op for op in network if op.kind == "silu")
    assert silu.output.elements == 88_064
    mul = next(op for op in network if op.kind == "mul" and op.output.elements == 88_064)
    assert sum(t.elements for t in mul.inputs) * 2 == 352_256  # bytes that are read in fp16: both branches


# -- what is at the edge of a plot -------------------------------------------------------------------------------------


def scene_of(make, device: rl.Device, precision: str = "fp32") -> RooflineScene:
    b = rl.GraphBuilder("edge")
    return RooflineScene(b.build(outputs=[make(b)]), device, precision)


TOY = rl.Device("toy", {"fp32": 1e12, "int8": 4e12}, 1e11)


# D3: a kernel that does no arithmetic is timed, and listed beside the plot.
def test_a_copy_takes_its_bytes_time_and_is_listed():
    scene = scene_of(lambda b: b.transpose(b.input("x", (1000, 125_000)), (1, 0)), TOY)
    assert scene.estimate.seconds == pytest.approx(1e9 / 1e11)  # D2: 1e9 bytes at 100 GB/s are 10 ms
    assert scene.estimate.intensity == 0 and scene.estimate.bound == "memory"
    assert "transpose_0 does no arithmetic" in html.unescape(scene.marks["off_plot"]["value"])
    assert not scene.marks["total"]["x"]


# D7: what computes in integers only is on the plot, too.
def test_an_integer_kernel_is_seen():
    scene = scene_of(lambda b: b.dense(b.input("x", (64, 64)), 64, bias=False), TOY, "int8")
    assert len(scene.points.intensity) == 1 and scene.marks["points matrix product"]["names"]
    assert scene.points.flops_per_second[0] <= TOY.peak["int8"]


# D10: the axes hold every point, wherever the sliders stand; one at 1000 FLOP/byte and more is inside.
@pytest.mark.parametrize("steps", [(0, 0), (24, 16), (48, 32), (48, 0), (0, 32)])
def test_points_far_out_are_inside_the_axes(steps):
    scene = scene_of(lambda b: b.dense(b.input("x", (8192, 8192)), 8192, bias=False), TOY, "int8")
    scene.bandwidth_step, scene.peak_step = steps
    (x0, x1), (y0, y1) = scene.tables["x_limits"], scene.tables["y_limits"]
    assert scene.points.intensity[0] > 1000
    assert np.all((x0 < scene.points.intensity) & (scene.points.intensity < x1))
    assert np.all((y0 < scene.points.flops_per_second) & (scene.points.flops_per_second < y1))
