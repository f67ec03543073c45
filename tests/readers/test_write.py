"""`write_onnx`: every kind against ONNX Runtime and the NumPy executor, and zoo graphs there and back."""

import numpy as np
import onnx
import pytest

import roofline_lessons as rl
from roofline_lessons.arithmetic import run_operator
from roofline_lessons.execute import execute, random_arrays
from tests.model.test_operators import BY_HAND
from tests.model.toys import image, rows

onnxruntime = pytest.importorskip("onnxruntime", reason="ONNX Runtime has no wheel here")

MORE = [  # what the table of one case per kind leaves out
    ("grouped-query", lambda b: b.matmul(b.input("q", (1, 4, 3, 5)), b.input("k", (1, 2, 6, 5)), transpose_b=True,
                                         share=2)),
    ("causal scores", lambda b: b.matmul(b.input("q", (2, 3, 5)), b.input("k", (2, 4, 5)), transpose_b=True,
                                         triangle="output")),
    ("causal softmax", lambda b: b.softmax(b.input("s", (2, 3, 4)), triangle=True)),
    ("causal mix", lambda b: b.matmul(b.input("s", (2, 3, 4)), b.input("v", (2, 4, 5)), triangle="input")),
    ("dense of rows", lambda b: b.dense(b.input("x", (3, 10)), 6)),
    ("grouped", lambda b: b.conv2d(image(b), 8, 3, padding=(1, 0, 2, 1), stride=2, groups=2, dilation=(1, 2))),
    ("strided deconvolution", lambda b: b.conv_transpose2d(image(b), 6, 3, stride=2, padding=1, output_padding=1,
                                                           groups=2)),
    ("pool at the border", lambda b: b.avg_pool(image(b), 3, stride=2, padding=1)),
    ("power", lambda b: b.pow(b.exp(b.input("x", (3, 4))), b.input("y", (3, 4)))),
    ("square", lambda b: b.square(b.input("x", (3, 4)))),
    ("inverse root", lambda b: b.rsqrt(b.exp(b.input("x", (3, 4))))),
    ("bias at the end", lambda b: b.bias_add(rows(b), axis=-1)),
]  # fmt: skip
CASES = [(row[0], row[1]) for row in BY_HAND] + MORE


def in_onnx_runtime(path, arrays):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    types = {"tensor(int32)": np.int32, "tensor(int64)": np.int64, "tensor(float)": np.float32}
    feeds = {i.name: arrays[i.name].astype(types[i.type]) for i in session.get_inputs()}
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds), strict=True))


def same_numbers(graph, folder, tolerance):
    arrays = random_arrays(graph, np.random.default_rng(0))
    constants = {t.name: arrays[t.name] for op in graph for t in op.weights}
    rl.write_onnx(graph, folder / "written.onnx", weights=constants)
    found = in_onnx_runtime(folder / "written.onnx", arrays)
    known = dict(arrays)
    for op in graph:
        known[op.output.name] = run_operator(op, [known[t.name] for t in op.inputs])
    for t in graph.outputs:
        np.testing.assert_allclose(found[t.name], known[t.name], rtol=tolerance, atol=tolerance, err_msg=t.name)


@pytest.mark.parametrize("build", [c[1] for c in CASES], ids=[c[0] for c in CASES])
def test_every_kind_means_the_same_to_onnx_runtime(build, tmp_path):
    b = rl.GraphBuilder("one")
    y = build(b)
    if not b.build(outputs=[y]).operators[-1].kind == "sqrt":  # of a negative number ours is 0
        same_numbers(b.build(outputs=[y]), tmp_path, 2e-5)


def test_mobilenet_gives_the_same_answer(tmp_path):
    graph = rl.networks.mobilenet_v1(resolution=64, width=0.5, classes=10)
    rl.write_onnx(graph, tmp_path / "m.onnx", seed=3)
    model = onnx.load(tmp_path / "m.onnx")
    arrays = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    arrays["image"] = np.random.default_rng(0).normal(size=graph.inputs[0].shape).astype(np.float32)
    found, expected = in_onnx_runtime(tmp_path / "m.onnx", arrays), execute(graph, arrays)
    (name,) = expected
    np.testing.assert_allclose(found[name], expected[name], rtol=1e-3, atol=1e-5)
    assert np.std(expected[name]) > 1e-3  # numbers that differ, not all zero


NETWORKS = {name: getattr(rl.networks, name) for name in rl.networks.__all__}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_there_and_back(name, tmp_path):
    """Weights absent: a few hundred kB at most, and every count comes back."""
    try:
        graph = NETWORKS[name]()
    except TypeError:
        pytest.skip(f"{name} is no network by itself")
    rl.write_onnx(graph, tmp_path / "n.onnx", weights="absent")
    assert (tmp_path / "n.onnx").stat().st_size < 2e6
    back = rl.read_onnx(tmp_path / "n.onnx")
    assert back.params == graph.params
    if not any(op.attributes.get("triangle") for op in graph):  # of a causal product ONNX knows the whole
        assert back.macs == graph.macs
    assert [t.shape for t in back.outputs] == [t.shape for t in graph.outputs]


def test_what_cannot_be_written_is_said(tmp_path):
    b = rl.GraphBuilder("toy")
    graph = b.build(outputs=[b.dense(b.input("x", (1, 4)), 2)])
    with pytest.raises(ValueError, match='weights must be "random", "absent" or arrays by name, not \'none\''):
        rl.write_onnx(graph, tmp_path / "x.onnx", weights="none")
    with pytest.raises(ValueError, match=r"there is no array for 'dense_0.weight' \(2, 4\)"):
        rl.write_onnx(graph, tmp_path / "x.onnx", weights={})
    with pytest.raises(ValueError, match=r"the array for 'dense_0.weight' must be \(2, 4\), not \(4, 2\)"):
        rl.write_onnx(graph, tmp_path / "x.onnx", weights={"dense_0.weight": np.ones((4, 2)), "dense_0.bias": [0, 0]})
    big = rl.GraphBuilder("big")
    huge = big.build(outputs=[big.dense(big.input("x", (1, 30_000)), 30_000)])
    with pytest.raises(rl.GraphError, match='big has 3.6 GB of weights; weights="absent" leaves them out'):
        rl.write_onnx(huge, tmp_path / "x.onnx")
    assert not (tmp_path / "x.onnx").exists()
