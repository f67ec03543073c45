"""Broken and hostile files: a `ModelFileError` that names file, node and reason, soon, and in little memory."""

import os
import time
import warnings

import numpy as np
import pytest
from onnx import TensorProto, helper

import roofline_lessons as rl
from tests.readers.conftest import light_models
from tests.readers.making import INT64, field, floats, info, ints, model, node, refused, varint, write
from tests.readers.tflite_making import Maker

READERS = [rl.read_model, rl.read_onnx, rl.read_tflite]
X, Y = info("x", (4, 64)), info("y", None)


# -- no model at all --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("content", [
    b"\x00", b"hello, this is a text file\n" * 50, b"\xff" * 1000, bytes(5000), bytes(range(256)) * 20,
    b"\x08\x07", b"PK\x03\x04" + bytes(100), b"\x00\x00\x00\x00TFL3", b"\x10\x00\x00\x00TFL3" + b"\xff" * 100,
])  # fmt: skip
def test_what_is_no_model(read, content, tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes(content)
    refused(read, path)


@pytest.mark.parametrize("read", READERS)
def test_paths_that_are_no_files(read, tmp_path):
    (tmp_path / "empty.onnx").touch()
    refused(read, tmp_path / "empty.onnx", "empty.onnx: the file is empty")
    refused(read, tmp_path, "it is a folder; the path of a model file is needed")
    refused(read, tmp_path / "none.onnx", "none.onnx: there is no such file in")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.onnx")
    refused(rl.read_model, tmp_path / "pipe.onnx", "it is no regular file")


def test_a_name_with_a_nul_is_refused():
    with pytest.raises(ValueError):
        rl.read_model("a\0b.onnx")


def test_random_bytes(tmp_path):
    rng = np.random.default_rng(0)
    for i in range(200):
        path = tmp_path / "random.bin"
        path.write_bytes((b"\x18\0\0\0TFL3" if i % 2 else b"") + rng.bytes(int(rng.integers(1, 4000))))
        with pytest.raises(rl.ModelFileError):
            rl.read_model(path)


# -- damaged ----------------------------------------------------------------------------------------------------------


def test_a_file_that_is_cut_off_anywhere(tmp_path):
    whole = light_models()[0].read_bytes()
    for length in np.linspace(1, len(whole) - 1, 60).astype(int):
        path = tmp_path / "cut.onnx"
        path.write_bytes(whole[:length])
        words = refused(rl.read_onnx, path)
        assert "cut off" in words or "there is no graph" in words or "damaged" in words


def a_tflite():
    m = Maker()
    x = m.input("x", (1, 8, 8, 3))
    w, b = m.tensor("w", (4, 3, 3, 3), data=True), m.tensor("b", (4,), data=True)
    y = m.op("CONV_2D", [x, w, b], [m.tensor("y", (1, 8, 8, 4))], "Conv2DOptions", StrideH=1, StrideW=1)
    m.outputs = [m.op("RELU", [y], [m.tensor("z", (1, 8, 8, 4))])]
    return m.bytes()


def test_a_tflite_file_that_is_cut_off(tmp_path):
    whole = a_tflite()
    assert rl.read_tflite(write(tmp_path, whole, "whole.tflite")).macs == 64 * 4 * 27
    for length in range(8, len(whole) // 2, 16):  # tables lie in front
        with pytest.raises(rl.ModelFileError):
            rl.read_tflite(write(tmp_path, whole[:length], "cut.tflite"))


# -- wrong on purpose -------------------------------------------------------------------------------------------------


def bad(tmp_path, *args, words, **more):
    return refused(rl.read_onnx, write(tmp_path, model(*args, **more)), words)


def test_a_graph_with_a_cycle(tmp_path):
    nodes = [node("Add", ["x", "b"], ["a"], name="first"), node("Relu", ["a"], ["b"])]
    bad(tmp_path, nodes, [X], [Y], words='model.onnx, node "first": it waits for its own result: the graph has a cycle')


def test_a_name_that_nothing_makes_and_one_that_two_make(tmp_path):
    bad(tmp_path, [node("Relu", ["q"], ["y"])], [X], [Y], words='node "Relu_0": it reads "q", which nothing makes')
    twice = [node("Relu", ["x"], ["y"]), node("Relu", ["x"], ["y"])]
    bad(tmp_path, twice, [X], [Y], words='node "Relu_1": it makes "y", which another node makes too')
    bad(tmp_path, [node("Relu", ["x"], ["y"])], [X], [info("z", None)], words='it reads "z", which nothing makes')


def test_names_that_are_no_text(tmp_path):
    whole = model([node("Relu", ["name"], ["y"])], [info("name", (4, 64))], [Y]).SerializeToString()
    for damaged in (whole.replace(b"name", b"\xff\xfe\xfd\xfc"), whole.replace(b"Relu", b"\xff\xfe\xfd\xfc")):
        refused(rl.read_onnx, write(tmp_path, damaged), "a name in it is no text")


@pytest.mark.parametrize("shape, words", [
    ((-1, 4), r'"x" has the shape \(-1, 4\): a dimension cannot be negative'),
    ((2**62, 2**62), "more elements than any memory holds"),
    ((2**40, 2**20), "more elements than any memory holds"),
    ((1,) * 100, "has more than 32 dimensions"),
])  # fmt: skip
def test_impossible_dimensions(tmp_path, shape, words):
    bad(tmp_path, [node("Relu", ["x"], ["y"])], [info("x", shape)], [Y], words=words)
    weight = TensorProto(name="w", dims=shape, data_type=1)
    bad(tmp_path, [node("Add", ["x", "w"], ["y"])], [X], [Y], [weight], words=words.replace('"x"', '"w"'))


@pytest.mark.parametrize("made, constants", [
    (node("Conv", ["x", "w"], ["y"], strides=[0, 1]), [floats("w", 2, 3, 3, 3)]),
    (node("Conv", ["x", "w"], ["y"], strides=[-1, 1]), [floats("w", 2, 3, 3, 3)]),
    (node("Conv", ["x", "w"], ["y"], strides=[1, 1, 1]), [floats("w", 2, 3, 3, 3)]),
    (node("Conv", ["x", "w"], ["y"], strides="one"), [floats("w", 2, 3, 3, 3)]),
    (node("Conv", ["x", "w"], ["y"], group=0), [floats("w", 2, 3, 3, 3)]),
    (node("Conv", ["x", "w"], ["y"], group=-3), [floats("w", 3, 1, 3, 3)]),
    (node("Conv", ["x", "w"], ["y"], pads=[-1, 0, 0, 0]), [floats("w", 2, 3, 3, 3)]),
    (node("Conv", ["x", "w"], ["y"], dilations=[2**40, 1]), [floats("w", 2, 3, 3, 3)]),
    (node("Conv", ["x", "w"], ["y"]), [floats("w", 2, 3, 3)]),
    (node("Conv", ["x"], ["y"]), []),
    (node("MaxPool", ["x"], ["y"], kernel_shape=[0, 0]), []),
    (node("MaxPool", ["x"], ["y"]), []),
    (node("Concat", ["x", "x"], ["y"], axis=17), []),
    (node("Concat", [], ["y"], axis=0), []),
    (node("Gemm", ["x", "w"], ["y"]), [floats("w", 3, 3)]),
    (node("BatchNormalization", ["x", "w", "w", "w", "w"], ["y"]), [floats("w", 5)]),
    (node("LRN", ["x"], ["y"], size=3.5), []),
    (node("Softmax", ["x"], ["y"], axis=9), []),
    (node("Transpose", ["x"], ["y"], perm=[0, 0, 0, 0]), []),
    (node("Gather", ["x", "w"], ["y"], axis=7), [ints("w", [0])]),
    (node("LSTM", ["x", "w", "w"], ["y"]), [floats("w", 1, 4, 4)]),
    (node("If", ["x"], ["y"]), []),
    (node("Loop", ["n", "", "x"], ["y"]), [ints("n", 3)]),
    (node("Cast", ["x"], ["y"], to=9999), []),
    (node("Clip", [""], ["y"]), []),
    (node("Relu", [], ["y"]), []),
    (node("Relu", ["x"], []), []),
])  # fmt: skip
def test_nodes_that_cannot_be(tmp_path, made, constants):
    """Each is refused with the node's name, or shown as an operator that is not known; nothing else is allowed."""
    path = write(tmp_path, model([made], [info("x", (1, 3, 8, 8))], [info("y", (1, 3, 8, 8))], constants))
    with pytest.warns() as caught:
        try:
            assert rl.read_onnx(path).unknown
        except rl.ModelFileError as error:
            assert "model.onnx" in str(error)
            warnings.warn(rl.ModelFileWarning("refused"), stacklevel=1)
    assert all(w.category is rl.ModelFileWarning for w in caught)


def test_graphs_within_graphs_without_end(tmp_path):
    """Attribute 6 of a node is a graph, whose field 1 is a node, whose field 5 is an attribute ... 3,000 times."""
    inside = b""
    for _ in range(3000):
        inside = field(1, field(5, field(6, inside)))
    path = write(tmp_path, field(7, inside), "deep.onnx")
    refused(rl.read_onnx, path, "graphs are nested too deeply", most_bytes=4e6)


def test_loops_in_loops_do_not_multiply(tmp_path):
    """Six loops of nine iterations within each other would be half a million operators."""

    def loop(depth, x):
        inputs = [info(f"i{depth}", (), INT64), info(f"c{depth}", (), TensorProto.BOOL), info(f"v{depth}", (4, 64))]
        nodes = [node("Identity", [f"c{depth}"], [f"k{depth}"])]
        nodes += [loop(depth - 1, f"v{depth}")] if depth else [node("Relu", [f"v{depth}"], ["r0"])]
        outputs = [info(f"k{depth}", (), TensorProto.BOOL), info(nodes[-1].output[0], (4, 64))]
        return node("Loop", ["n", "", x], [f"r{depth + 1}"], body=helper.make_graph(nodes, "b", inputs, outputs))

    path = write(tmp_path, model([loop(6, "x")], [X], [info("r7", (4, 64))], [ints("n", 9)]))
    start = time.perf_counter()
    with pytest.warns(rl.ModelFileWarning, match="Loop"):
        assert rl.read_onnx(path).unknown
    assert time.perf_counter() - start < 5


# -- sizes that are only claimed --------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [
    field(7, field(1, b"\x22\x01a") * 300_000),  # 300,000 nodes of 5 bytes
    field(7, field(1, b"") * 2_000_000),  # two million empty nodes
    field(7, field(1, field(5, b"") * 2_000_000)),  # one node with two million empty attributes
    field(7, field(11, field(2, field(1, field(2, field(1, b"") * 1_000_000))))),  # a million dimensions
    field(7, b"\x0a" + varint(2**40)),  # a node of a terabyte
    b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f",  # a number that does not end
    b"\x3b" * 1000,  # groups
], ids=["nodes", "empty nodes", "attributes", "dimensions", "length", "number", "groups"])  # fmt: skip
def test_more_than_a_file_can_hold(content, tmp_path):
    path = tmp_path / "claims.onnx"
    path.write_bytes(content)
    refused(rl.read_onnx, path, most_bytes=20 * len(content) + 4e6)


def test_a_tflite_file_that_claims_a_billion_operators(tmp_path):
    """The length of each vector in turn becomes a billion, and each offset leads far away."""
    whole = bytearray(a_tflite())
    worst = 0.0
    for place in range(8, len(whole) - 4, 4):
        for value in (2**30, 2**31 - 1, 2**32 - 1):
            damaged = bytes(whole[:place]) + value.to_bytes(4, "little") + bytes(whole[place + 4 :])
            path = write(tmp_path, damaged, "claims.tflite")
            start = time.perf_counter()
            try:
                rl.read_tflite(path)
            except rl.ModelFileError:
                pass
            except Warning:
                pass
            worst = max(worst, time.perf_counter() - start)
    assert worst < 1


def test_operators_that_share_one_long_table(tmp_path):
    """Every operator is one table with a long list of inputs: reading each anew would take the square of the size."""
    m = Maker()
    x = m.input("x", (1, 8))
    m.outputs = [m.op("ADD_N", [x] * 20_000, [m.tensor("y", (1, 8))])]
    whole = m.bytes()
    import flatbuffers  # noqa: F401  the maker's own
    import tflite

    graph = tflite.Model.GetRootAs(whole, 0).Subgraphs(0)
    table = graph.Operators(0)._tab.Pos
    vector = graph._tab.Vector(graph._tab.Offset(10))
    # the vector of operators moves to the end of the file, where there is room for 20,000 offsets back to the table
    claims = bytearray(whole + bytes(-len(whole) % 4))
    start = len(claims)
    claims += (20_000).to_bytes(4, "little")
    for i in range(20_000):
        claims += ((table - (start + 4 + 4 * i)) % 2**32).to_bytes(4, "little")
    at = graph._tab.Pos + graph._tab.Offset(10)
    claims[at : at + 4] = (start - at).to_bytes(4, "little")
    assert vector < start
    refused(rl.read_tflite, write(tmp_path, bytes(claims), "shared.tflite"))
