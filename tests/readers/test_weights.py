"""What lies outside the file, and files that are large: weights are not needed, and not loaded."""

import os
import subprocess
import sys
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto

import roofline_lessons as rl
from tests.readers.making import floats, info, model, node, refused, varint, write

X, Y = info("x", (4, 64)), info("y", None)


# -- data outside the file --------------------------------------------------------------------------------------------


def outside(location, name="w", shape=(64, 64), dtype=TensorProto.FLOAT, **more):
    tensor = TensorProto(name=name, dims=shape, data_type=dtype, data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **more}.items():
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def test_weights_outside_the_file_that_are_not_there(tmp_path):
    """G5: shapes and counts need no numbers."""
    path = write(tmp_path, model([node("MatMul", ["x", "w"], ["y"])], [X], [Y], [outside("weights.bin")]))
    graph = rl.read_onnx(path)
    assert (graph.params, graph.macs) == (4_096, 16_384)


def test_a_shape_outside_the_file_is_read_where_it_is_there(tmp_path):
    (tmp_path / "data.bin").write_bytes(b"skip" + np.array([8, 32], "<i8").tobytes() + b"more")
    shape = outside("data.bin", "shape", (2,), TensorProto.INT64, offset=4, length=16)
    nodes = [node("Reshape", ["x", "shape"], ["a"]), node("Relu", ["a"], ["y"])]
    path = write(tmp_path, model(nodes, [X], [Y], [shape]))
    assert rl.read_onnx(path).outputs[0].shape == (8, 32)
    (tmp_path / "data.bin").unlink()
    with pytest.warns(rl.ModelFileWarning):
        assert rl.read_onnx(path).unknown


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_for_the_numbers_of_a_shape_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "data.bin")
    nodes = [node("Reshape", ["x", "shape"], ["a"]), node("Relu", ["a"], ["y"])]
    path = write(tmp_path, model(nodes, [X], [Y], [outside("data.bin", "shape", (2,), TensorProto.INT64)]))
    with pytest.warns(rl.ModelFileWarning):
        assert rl.read_onnx(path).unknown


@pytest.mark.parametrize(
    "location", ["../secret.bin", "/etc/passwd", "a/../../secret.bin", "", "..\\secret.bin", "a\0b"]
)
def test_paths_that_leave_the_folder_are_refused(tmp_path, location):
    folder = tmp_path / "inner"
    folder.mkdir()
    (tmp_path / "secret.bin").write_bytes(bytes(100))
    path = write(folder, model([node("MatMul", ["x", "w"], ["y"])], [X], [Y], [outside(location)]))
    refused(rl.read_onnx, path, "outside the folder of the model")


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_that_leaves_the_folder_is_refused(tmp_path):
    folder = tmp_path / "inner"
    folder.mkdir()
    (folder / "w.bin").symlink_to("/etc/passwd")
    path = write(folder, model([node("MatMul", ["x", "w"], ["y"])], [X], [Y], [outside("w.bin")]))
    refused(rl.read_onnx, path, "outside the folder of the model")


# -- large files ------------------------------------------------------------------------------------------------------


def large(path, megabytes):
    """An ONNX file with a weight of so many MB; the file has a hole where the weight is."""
    small = model([node("MatMul", ["x", "w"], ["y"])], [info("x", (1, 1024))], [Y])
    tensor = TensorProto(name="w", dims=(1024, megabytes * 256), data_type=1)
    size = megabytes << 20
    head = tensor.SerializeToString() + varint(9 << 3 | 2) + varint(size)
    graph = small.graph.SerializeToString() + varint(5 << 3 | 2) + varint(len(head) + size) + head
    small.ClearField("graph")
    with path.open("wb") as file:
        file.write(small.SerializeToString() + varint(7 << 3 | 2) + varint(len(graph) + size) + graph)
        file.truncate(file.tell() + size)
    return path


@pytest.mark.parametrize("megabytes", [100, 3000])
def test_a_large_file_is_read_without_its_weights(tmp_path, megabytes):
    """Under 5 s for 100 MB is asked; what is measured here is a few milliseconds, and 3 GB take no longer."""
    path = large(tmp_path / "large.onnx", megabytes)
    assert path.stat().st_size > megabytes << 20
    code = (
        "import sys, time, resource; import roofline_lessons as rl; rl.read_onnx; start = time.perf_counter()\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "graph = rl.read_onnx(sys.argv[1]); print(graph.params, time.perf_counter() - start, "
        "resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    if sys.platform == "win32":
        assert rl.read_onnx(path).params == megabytes << 18
        return
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    params, seconds, grown = done.stdout.split()
    assert int(params) == megabytes << 18
    assert float(seconds) < 5
    assert int(grown) < 40_000  # kB of memory


def test_a_real_100_MB_file(tmp_path):
    """VGG-like layers with their numbers in the file, written and read back."""
    weights = [floats(f"w{i}", 2560, 2560) for i in range(4)]
    nodes = [node("MatMul", [f"a{i}", f"w{i}"], [f"a{i + 1}"]) for i in range(4)]
    path = write(tmp_path, model(nodes, [info("a0", (1, 2560))], [info("a4", None)], weights))
    assert path.stat().st_size > 100e6
    start = time.perf_counter()
    graph = rl.read_onnx(path)
    assert time.perf_counter() - start < 5
    assert graph.params == 4 * 2560**2
    onnx.load(path, load_external_data=False)  # the same file is a valid model to others
