"""Model files and reports for the tests."""

import pytest

import roofline_lessons as rl
from tests.readers.making import info, model, node, write


@pytest.fixture(scope="session")
def pi():
    return rl.device("raspberry-pi-5")


@pytest.fixture(scope="session")
def made(pi):
    """The report on MobileNetV1 at 64 x 64 in fp32."""
    return rl.report(rl.networks.mobilenet_v1(resolution=64), pi, "fp32")


@pytest.fixture(scope="session")
def file(tmp_path_factory):
    """The same network as an ONNX file."""
    path = tmp_path_factory.mktemp("files") / "mobile.onnx"
    rl.write_onnx(rl.networks.mobilenet_v1(resolution=64), path, weights="absent")
    return path


@pytest.fixture(scope="session")
def odd(tmp_path_factory):
    """A file with an open size, and an operator that is not known: half of the traffic."""
    nodes = [node("Odd", ["x"], ["a"], domain="own"), node("Relu", ["a"], ["y"])]
    made = model(nodes, [info("x", ("batch", 64))], [info("y", None)], value_info=[info("a", (1, 64))])
    return write(tmp_path_factory.mktemp("odd"), made)


@pytest.fixture(scope="session")
def hostile(tmp_path_factory):
    """A file whose names are markup, formulas and terminal codes."""
    names = ["<script>alert(1)</script>", "=1+1", "[red]x[/red]\x1b[31m", "{{ 7*7 }}"]
    tensors = ["x", "a", "b", "c", "y"]
    nodes = [node("Relu", [tensors[i]], [tensors[i + 1]], name=name) for i, name in enumerate(names)]
    made = model(nodes, [info("x", (1, 64))], [info("y", None)])
    return write(tmp_path_factory.mktemp("hostile"), made, "<b>&'.onnx")
