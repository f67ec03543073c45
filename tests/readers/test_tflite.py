"""`read_tflite`: the MLPerf Tiny models operator by operator, and small files written here."""

import json
import math

import numpy as np
import pytest

import roofline_lessons as rl
from tests.readers.tflite_making import Maker

MODELS = [
    "ad01_fp32", "ad01_int8", "kws_ref_model", "kws_ref_model_float32", "pretrainedResnet", "pretrainedResnet_quant",
    "str_ww_ref_model", "vww_96_float", "vww_96_int8",
]  # fmt: skip

#: Kinds of ours for the file's.
KIND = {"CONV_2D": "conv2d", "DEPTHWISE_CONV_2D": "conv2d", "FULLY_CONNECTED": "dense", "AVERAGE_POOL_2D": "avg_pool",
        "SOFTMAX": "softmax", "RESHAPE": "reshape", "ADD": "add"}  # fmt: skip


def stated(shared, name):
    """What computed_tflite.json says of a model."""
    return json.loads((shared / "references/computed_tflite.json").read_text())[f"{name}.tflite"]


def size(t):
    return t.elements * (t.bits or 32) // 8


# -- the MLPerf Tiny models --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_mlperf_tiny_in_all(shared, name):
    graph, want = rl.read_tflite(shared / f"models/{name}.tflite"), stated(shared, name)
    weights = {t.name: t for op in graph for t in op.weights}
    assert (graph.macs, graph.params) == (want["macs"], want["params_total"])
    assert sum(size(t) for t in weights.values()) == want["weight_bias_bytes"]
    assert graph.unknown == ()
    assert math.prod(graph.inputs[0].shape) == math.prod(want["input"][0])


@pytest.mark.parametrize("name", MODELS)
def test_mlperf_tiny_operator_by_operator(shared, name):
    """MACs, and the bytes of the activations in and out, of every operator of the file."""
    graph, want = rl.read_tflite(shared / f"models/{name}.tflite"), stated(shared, name)
    ours = {int(op.name.rsplit("_", 1)[1]): op for op in graph if op.name.rsplit("_", 1)[-1].isdigit()}
    assert len(want["ops"]) == want["n_ops"]
    for i, row in enumerate(want["ops"]):
        op = ours[i]
        assert op.kind == KIND[row["op"]], op.name
        assert op.macs == row["macs"], op.name
        assert sum(size(t) for t in op.activations) == row["in_bytes"], op.name
        assert size(op.output) == row["out_bytes"], op.name
        shape = op.output.shape
        assert [shape[i] for i in (0, 2, 3, 1)] if len(shape) == 4 else list(shape) == row["out"]


@pytest.mark.parametrize("name", MODELS)
def test_the_files_kernels_are_its_operators(shared, name):
    """One kernel for each operator that is no view: fused activations are in the kernel of what they are fused with."""
    plan, want = rl.plan_from_file(shared / f"models/{name}.tflite"), stated(shared, name)
    assert len(plan) == sum(row["op"] != "RESHAPE" for row in want["ops"])
    est = rl.estimate(plan, _toy(), "int8")
    traffic = sum(row["in_bytes"] + row["out_bytes"] for row in want["ops"] if row["op"] != "RESHAPE")
    if "int8" in name or "quant" in name or name in ("kws_ref_model", "str_ww_ref_model"):
        assert est.dram_bytes == traffic + want["weight_bias_bytes"]


def _toy():
    return rl.Device("toy", peak={"int8": 1e9}, bandwidth=1e9)


# -- files written here ------------------------------------------------------------------------------------------------


@pytest.fixture
def read(tmp_path):
    def read(maker, output, reader=rl.read_tflite):
        maker.outputs = [output]
        path = tmp_path / "model.tflite"
        path.write_bytes(maker.bytes())
        return reader(path)

    return read


def kinds(graph):
    return [op.kind for op in graph]


def conv(m, x, shape, out, activation=0, padding=0, name="y", **more):
    """A 3 x 3 convolution; padding 0 is SAME."""
    w = m.tensor(f"{name}.w", (out[3], 3, 3, shape[3]), data=True)
    b = m.tensor(f"{name}.b", (out[3],), data=True)
    y = m.tensor(name, out)
    settings = {"StrideH": 1, "StrideW": 1, "Padding": padding, "FusedActivationFunction": activation} | more
    return m.op("CONV_2D", [x, w, b], [y], "Conv2DOptions", **settings)


def test_a_fused_activation_is_an_operator_of_its_own(read):
    m = Maker()
    y = conv(m, m.input("x", (1, 8, 8, 3)), (1, 8, 8, 3), (1, 8, 8, 4), activation=3)
    graph = read(m, y)
    assert kinds(graph) == ["conv2d", "relu6"]
    assert graph["conv_2d_0/relu6"].attributes["fused_with"] == "conv_2d_0"
    assert graph.inputs[0].shape == (1, 3, 8, 8) and graph.outputs[0].shape == (1, 4, 8, 8)
    plan = read(m, y, rl.plan_from_file)
    assert len(plan) == 1 and len(rl.unfused(plan.graph)) == 2


def test_images_stay_images_from_operator_to_operator(read):
    """No view between convolution, pad, pool, softmax over channels, concat, mean, add with a vector of channels."""
    m = Maker()
    x = conv(m, m.input("x", (1, 8, 8, 3)), (1, 8, 8, 3), (1, 8, 8, 4), name="c")
    p = m.op(
        "PAD", [x, m.tensor("pads", (4, 2), "int32", [[0, 0], [0, 1], [0, 1], [0, 0]])], [m.tensor("p", (1, 9, 9, 4))]
    )
    q = m.op("MAX_POOL_2D", [p], [m.tensor("q", (1, 4, 4, 4))], "Pool2DOptions",
             FilterHeight=2, FilterWidth=2, StrideH=2, StrideW=2, Padding=1)  # fmt: skip
    s = m.op("SOFTMAX", [q], [m.tensor("s", (1, 4, 4, 4))], "SoftmaxOptions", Beta=1.0)
    c = m.op("CONCATENATION", [q, s], [m.tensor("cc", (1, 4, 4, 8))], "ConcatenationOptions", Axis=3)
    a = m.op("ADD", [c, m.tensor("v", (8,), data=True)], [m.tensor("a", (1, 4, 4, 8))], "AddOptions")
    y = m.op(
        "MEAN", [a, m.tensor("axes", (2,), "int32", [1, 2])], [m.tensor("y", (1, 8))], "ReducerOptions", KeepDims=0
    )
    graph = read(m, y)
    assert kinds(graph) == ["conv2d", "copy", "max_pool", "softmax", "concat", "add", "reduce_mean"]
    assert graph["softmax_3"].attributes["axis"] == graph["concatenation_4"].attributes["axis"] == 1
    assert graph["concatenation_4"].output.shape == (1, 8, 4, 4)
    assert graph["add_5"].inputs[1].shape == (1, 8, 1, 1)
    assert graph.outputs[0].shape == (1, 8)


def test_between_the_two_orders_of_axes_lies_a_view(read):
    """Flatten in the file's order: bytes do not move, and the numbers are those of the file."""
    m = Maker()
    x = conv(m, m.input("x", (1, 8, 8, 3)), (1, 8, 8, 3), (1, 8, 8, 4), name="c")
    y = m.op("RESHAPE", [x], [m.tensor("y", (1, 256))])
    z = m.op("RELU", [y], [m.tensor("z", (1, 256))])
    graph = read(m, z)
    assert kinds(graph) == ["conv2d", "layout", "reshape", "relu"]
    assert graph.operators[1].attributes["axes"] == (0, 2, 3, 1)
    est = rl.estimate(rl.unfused(graph), _toy(), "int8")
    assert len(est.kernels) == 2


def test_what_is_laid_out_otherwise_has_the_numbers_of_the_file(read):
    """The flattened image is the file's NHWC order, run with real numbers."""
    from roofline_lessons.execute import execute, random_arrays

    m = Maker()
    x = m.input("x", (1, 2, 3, 4))
    a = m.op("MAX_POOL_2D", [x], [m.tensor("a", (1, 2, 3, 4))], "Pool2DOptions",
             FilterHeight=1, FilterWidth=1, StrideH=1, StrideW=1, Padding=1)  # fmt: skip
    graph = read(m, m.op("RESHAPE", [a], [m.tensor("y", (1, 24))]))
    arrays = random_arrays(graph, np.random.default_rng(0))
    nhwc = arrays["x"].transpose(0, 2, 3, 1)
    np.testing.assert_array_equal(execute(graph, arrays)["y"], nhwc.reshape(1, 24))


def test_depthwise_transposed_and_dilated_convolutions(read):
    m = Maker()
    x = m.input("x", (1, 8, 8, 3))
    w = m.tensor("w", (1, 3, 3, 6), data=True)
    d = m.op("DEPTHWISE_CONV_2D", [x, w, -1], [m.tensor("d", (1, 4, 4, 6))], "DepthwiseConv2DOptions",
             StrideH=2, StrideW=2, Padding=0, DepthMultiplier=2)  # fmt: skip
    e = conv(m, d, (1, 4, 4, 6), (1, 4, 4, 5), name="e", DilationHFactor=2, DilationWFactor=2)
    shape = m.tensor("shape", (4,), "int32", [1, 8, 8, 2])
    y = m.op("TRANSPOSE_CONV", [shape, m.tensor("u", (2, 3, 3, 5), data=True), e], [m.tensor("y", (1, 8, 8, 2))],
             "TransposeConvOptions", StrideH=2, StrideW=2, Padding=0)  # fmt: skip
    graph = read(m, y)
    depthwise, dilated, transposed = graph.operators
    assert (depthwise.macs, depthwise.attributes["groups"], depthwise.attributes["padding"]) == (
        16 * 6 * 9,
        3,
        (0, 1, 0, 1),
    )
    assert (dilated.macs, dilated.attributes["padding"]) == (16 * 5 * 54, (2, 2, 2, 2))
    assert (transposed.macs, transposed.output.shape) == (16 * 5 * 18, (1, 2, 8, 8))  # every input position


def test_a_fully_connected_layer_flattens_an_image(read):
    m = Maker()
    x = conv(m, m.input("x", (2, 4, 4, 3)), (2, 4, 4, 3), (2, 4, 4, 4), name="c")
    w, b = m.tensor("w", (10, 64), data=True), m.tensor("b", (10,), data=True)
    y = m.op("FULLY_CONNECTED", [x, w, b], [m.tensor("y", (2, 10))], "FullyConnectedOptions", FusedActivationFunction=1)
    graph = read(m, y)
    assert kinds(graph) == ["conv2d", "layout", "reshape", "dense", "relu"]
    assert graph["fully_connected_1"].macs == 1_280


def test_quantised_tensors_keep_their_bits(read):
    m = Maker()
    x = m.input("x", (1, 64), "int8")
    w, b = m.tensor("w", (8, 64), "int8", True), m.tensor("b", (8,), "int32", True)
    y = m.op("FULLY_CONNECTED", [x, w, b], [m.tensor("y", (1, 8), "int8")], "FullyConnectedOptions")
    z = m.op("DEQUANTIZE", [y], [m.tensor("z", (1, 8))])
    graph = read(m, z)
    assert [t.bits for t in graph.operators[0].inputs] == [8, 8, 32]
    assert [op.output.bits for op in graph] == [8, None]
    est = rl.estimate(rl.unfused(graph), rl.Device("toy", peak={"fp32": 1.0}, bandwidth=1.0), "fp32")
    assert est.kernels[0].dram_bytes == 64 + 512 + 32 + 8


def test_half_floats_of_weights_stay_as_they_are_stored(read):
    m = Maker()
    x, w = m.input("x", (1, 64)), m.tensor("w", (8, 64), "float16", True)
    v = m.op("DEQUANTIZE", [w], [m.tensor("v", (8, 64))])
    graph = read(m, m.op("FULLY_CONNECTED", [x, v, -1], [m.tensor("y", (1, 8))], "FullyConnectedOptions"))
    assert kinds(graph) == ["dense"] and graph.operators[0].inputs[1].bits == 16


def test_the_state_of_a_streaming_model_comes_from_outside_and_is_kept(read):
    m = Maker()
    x = m.input("x", (1, 1, 4))
    handle = m.op("VAR_HANDLE", [], [m.tensor("h", (), "int32")], "VarHandleOptions")
    state = m.op("READ_VARIABLE", [handle], [m.tensor("state", (1, 3, 4))], "ReadVariableOptions")
    both = m.op("CONCATENATION", [state, x], [m.tensor("both", (1, 4, 4))], "ConcatenationOptions", Axis=1)
    last = m.op("SLICE", [both, m.tensor("b", (3,), "int32", [0, 1, 0]), m.tensor("s", (3,), "int32", [1, 3, 4])],
                [m.tensor("last", (1, 3, 4))])  # fmt: skip
    m.op("ASSIGN_VARIABLE", [handle, last], [], "AssignVariableOptions")
    graph = read(m, both)
    assert [t.name for t in graph.inputs] == ["x", "state"]
    assert [t.name for t in graph.outputs] == ["both", "last"]
    assert graph["slice_3"].attributes["start"] == 1


def test_custom_operators_are_shown_with_their_bytes(read):
    m = Maker()
    x = m.input("x", (1, 8))
    a = m.op("CUSTOM", [x], [m.tensor("a", (1, 4))], custom="TFLite_Detection_PostProcess")
    y = m.op("RELU", [a], [m.tensor("y", (1, 4))])
    with pytest.warns(rl.ModelFileWarning, match="only their bytes: CUSTOM TFLite_Detection_PostProcess"):
        graph = read(m, y)
    assert graph.unknown[0].work.read == (8,) and graph.unknown[0].work.written == (4,)
    assert rl.estimate(rl.unfused(graph), _toy(), "int8").unknown_bytes_share == 12 / 20


ELEMENTS = {"ADD": 1, "MUL": 1, "SUB": 1, "RELU": 1, "LOGISTIC": 4, "HARD_SWISH": 5, "RSQRT": 2, "EXP": 1, "ABS": 1}


@pytest.mark.parametrize("op_type, flops", ELEMENTS.items())
def test_element_by_element(read, op_type, flops):
    m = Maker()
    inputs = [m.input("x", (2, 8)), m.input("z", (8,))][: 2 if op_type in ("ADD", "MUL", "SUB") else 1]
    graph = read(m, m.op(op_type, inputs, [m.tensor("y", (2, 8))]))
    assert graph.flops == 16 * flops


@pytest.mark.parametrize("op_type, options, settings, out, kind", [
    ("RESIZE_BILINEAR", "ResizeBilinearOptions", {}, (1, 8, 8, 3), "upsample_bilinear"),
    ("RESIZE_BILINEAR", "ResizeBilinearOptions", {}, (1, 6, 6, 3), "resize"),
    ("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions", {}, (1, 12, 12, 3), "upsample_nearest"),
    ("DEPTH_TO_SPACE", "DepthToSpaceOptions", {"BlockSize": 2}, (1, 8, 6, 1), "copy"),
    ("L2_NORMALIZATION", "L2NormOptions", {}, (1, 4, 4, 3), "l2_norm"),
])  # fmt: skip
def test_images(read, op_type, options, settings, out, kind):
    m = Maker()
    graph = read(m, m.op(op_type, [m.input("x", (1, 4, 4, 3))], [m.tensor("y", out)], options, **settings))
    assert kinds(graph) == [kind]


def test_split_pack_and_transpose(read):
    m = Maker()
    x = m.input("x", (1, 6, 4))
    axis = m.tensor("axis", (), "int32", 1)
    parts = [m.tensor("p0", (1, 3, 4)), m.tensor("p1", (1, 3, 4))]
    m.op("SPLIT", [axis, x], parts, "SplitOptions", NumSplits=2)
    k = m.op("PACK", parts, [m.tensor("k", (1, 2, 3, 4))], "PackOptions", Axis=1, ValuesCount=2)
    t = m.op("TRANSPOSE", [k, m.tensor("perm", (4,), "int32", [0, 2, 1, 3])], [m.tensor("t", (1, 3, 2, 4))])
    u = m.op("TRANSPOSE", [t, m.tensor("perm2", (4,), "int32", [1, 0, 2, 3])], [m.tensor("u", (3, 1, 2, 4))])
    graph = read(m, m.op("RELU", [u], [m.tensor("y", (3, 1, 2, 4))]))
    assert [op.kind for op in graph if not op.is_view] == ["split", "concat", "transpose", "relu"]
    assert [t.shape for t in graph.operators[0].outputs] == [(1, 3, 4)] * 2


def test_shapes_that_contradict_the_file_are_refused(read):
    m = Maker()
    y = conv(m, m.input("x", (1, 8, 8, 3)), (1, 8, 8, 3), (1, 7, 8, 4))
    words = r'model.tflite, node "conv_2d_0": it makes \(1, 8, 8, 4\), but the file says \(1, 7, 8, 4\)'
    with pytest.raises(rl.ModelFileError, match=words):
        read(m, y)


def test_a_model_file_is_known_by_its_content(tmp_path):
    m = Maker()
    m.outputs = [m.op("RELU", [m.input("x", (1, 8))], [m.tensor("y", (1, 8))])]
    path = tmp_path / "no_suffix_at_all.onnx"
    path.write_bytes(m.bytes())
    assert rl.read_model(path).operators[0].name == "relu_0"
    with pytest.raises(rl.ModelFileError, match="leaves no size open, and batch was given"):
        rl.read_model(path, batch=2)
    with pytest.raises(rl.ModelFileError, match="it is not an ONNX file, or damaged"):
        rl.read_onnx(path)


def test_the_schema_knows_the_operators_of_the_engine():
    """ai-edge-litert, where it is installed, numbers operators as the schema does that this reads with."""
    schema = pytest.importorskip("ai_edge_litert.schema_py_generated", reason="LiteRT is not installed")
    import tflite

    theirs = {k: v for k, v in vars(schema.BuiltinOperator).items() if isinstance(v, int)}
    ours = {k: v for k, v in vars(tflite.BuiltinOperator).items() if isinstance(v, int)}
    assert ours.items() <= theirs.items()
