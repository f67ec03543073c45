"""`read_onnx`, point by point: small files written here, counts worked by hand. "G1" ... are rows of faults.md."""

import warnings

import numpy as np
import pytest
from onnx import TensorProto, helper

import roofline_lessons as rl
from tests.readers.making import BOOL, FLOAT, INT8, INT64, floats, info, ints, model, node, write


@pytest.fixture
def read(tmp_path):
    """Write a model and read it; any warning is an error unless the test asks for it."""

    def read(*args, sizes=None, **more):
        return rl.read_onnx(write(tmp_path, model(*args, **more)), **(sizes or {}))

    return read


def one(graph):
    """The only operator that is no view."""
    (op,) = [op for op in graph if not op.is_view]
    return op


def kinds(graph):
    return [op.kind for op in graph]


X = info("x", (4, 64))
Y = info("y", None)


# -- weights -----------------------------------------------------------------------------------------------------------


def test_an_initializer_that_is_also_an_input_is_a_weight(read):
    """G1: before IR version 4 every initializer is an input too."""
    graph = read([node("MatMul", ["x", "w"], ["y"])], [X, info("w", (64, 64))], [Y], [floats("w", 64, 64)],
                 opset=9, ir_version=3)  # fmt: skip
    assert [t.name for t in graph.inputs] == ["x"]
    assert (graph.params, graph.macs) == (4_096, 4 * 4_096)


def test_a_weight_in_a_constant_node(read):
    made = node("Constant", [], ["w"], value=floats("w", 64, 64))
    graph = read([made, node("MatMul", ["x", "w"], ["y"])], [X], [Y])
    assert (graph.params, kinds(graph)) == (4_096, ["dense"])


def test_a_weight_that_two_operators_share_counts_once(read):
    """G11: two products with one weight of 64 x 64 on 4 rows."""
    nodes = [node("MatMul", ["x", "w"], ["a"]), node("MatMul", ["a", "w"], ["y"])]
    graph = read(nodes, [X], [Y], [floats("w", 64, 64)])
    assert (graph.params, graph.macs) == (4_096, 32_768)


def test_an_embedding_and_the_transpose_of_its_table_share_it(read):
    """GPT-2's head: one table, looked up in front and multiplied with behind."""
    nodes = [node("Gather", ["table", "ids"], ["a"]), node("Transpose", ["table"], ["t"], perm=[1, 0]),
             node("MatMul", ["a", "t"], ["y"])]  # fmt: skip
    graph = read(nodes, [info("ids", (1, 7), INT64)], [Y], [floats("table", 1000, 16)])
    assert (graph.params, graph.macs) == (16_000, 7 * 16_000)
    assert graph["Gather_0"].work.read == (7 * 16, 7)
    assert graph.inputs[0].bits == 64


def test_shapes_axes_and_single_numbers_are_no_parameters(read):
    nodes = [node("Mul", ["x", "half"], ["a"]), node("Reshape", ["a", "shape"], ["y"])]
    graph = read(nodes, [X], [Y], [ints("shape", [8, -1]), ints("half", 0.5, np.float32)])
    assert graph.params == 0
    assert graph.outputs[0].shape == (8, 32)
    assert graph["Mul_0"].work.read == (256, 1)


def test_arithmetic_on_weights_alone_is_done_before_the_network_runs(read):
    nodes = [
        node("Mul", ["w", "scale"], ["v"]),
        node("Cast", ["v"], ["u"], to=FLOAT),
        node("MatMul", ["x", "u"], ["y"]),
    ]
    graph = read(nodes, [X], [Y], [floats("w", 64, 64), floats("scale", 1, 64)])
    assert (kinds(graph), graph.params) == (["dense"], 4_096)


# -- sizes -------------------------------------------------------------------------------------------------------------


def test_a_symbolic_batch_is_1_and_said(read):
    """G3."""
    args = [node("Relu", ["x"], ["y"])], [info("x", ("N", 64))], [Y]
    with pytest.warns(rl.ModelFileWarning, match=r"model.onnx: N=1 is assumed\.$"):
        assert read(*args).inputs[0].shape == (1, 64)
    assert read(*args, sizes={"N": 8}).inputs[0].shape == (8, 64)


def test_a_size_without_a_name_is_called_by_its_place(read):
    args = [node("Relu", ["x"], ["y"])], [info("x", (None, 64))], [Y]
    with pytest.warns(rl.ModelFileWarning, match=r"x\[0\]=1 is assumed"):
        read(*args)
    assert read(*args, sizes={"x[0]": 3}).inputs[0].shape == (3, 64)


def test_a_size_that_the_file_does_not_have_is_refused(read):
    with pytest.raises(rl.UnknownNameError, match="unknown size of model.onnx 'bacth': did you mean 'batch'"):
        read([node("Relu", ["x"], ["y"])], [info("x", ("batch", "seq"))], [Y], sizes={"bacth": 2, "seq": 3})
    with pytest.raises(ValueError, match="batch must be a whole number of at least 1, not 0"):
        read([node("Relu", ["x"], ["y"])], [info("x", ("batch",))], [Y], sizes={"batch": 0})


def test_shapes_that_the_graph_computes_are_worked_out(read):
    """G2: Shape -> Gather -> Concat -> Reshape leaves no operator but the view."""
    nodes = [
        node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"], axis=0),
        node("Unsqueeze", ["n", "axes"], ["n1"]), node("Concat", ["n1", "rest"], ["to"], axis=0),
        node("Reshape", ["x", "to"], ["r"]), node("Relu", ["r"], ["y"]),
    ]  # fmt: skip
    constants = [ints("zero", 0), ints("axes", [0]), ints("rest", [-1])]
    graph = read(nodes, [info("x", ("batch", 3, 4, 5))], [Y], constants, sizes={"batch": 2})
    assert kinds(graph) == ["reshape", "relu"]
    assert graph.outputs[0].shape == (2, 60)


def test_an_assumed_size_that_does_not_fit_is_in_the_message(read):
    nodes = [node("Conv", ["x", "w"], ["y"], name="stem")]
    with pytest.raises(
        rl.ModelFileError, match=r'model.onnx, node "stem": .*window.*\(h=1, w=1 assumed: give the right'
    ):
        read(nodes, [info("x", (1, 3, "h", "w"))], [Y], [floats("w", 8, 3, 7, 7)])


# -- opsets ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("opset, axis", [(9, 1), (13, -1)])
def test_softmax_of_both_kinds(read, opset, axis):
    op = one(read([node("Softmax", ["x"], ["y"])], [X], [Y], opset=opset))
    assert (op.kind, op.attributes["axis"], op.flops) == ("softmax", axis, 5 * 256)


@pytest.mark.parametrize("op_type", ["Squeeze", "Unsqueeze", "ReduceSum"])
def test_axes_as_an_attribute_and_as_an_input(read, op_type):
    x = info("x", (1, 4, 6))
    before = read([node(op_type, ["x"], ["a"], axes=[0]), node("Relu", ["a"], ["y"])], [x], [Y], opset=11)
    after = read([node(op_type, ["x", "i"], ["a"]), node("Relu", ["a"], ["y"])], [x], [Y], [ints("i", [0])], opset=13)
    assert kinds(before) == kinds(after)
    assert before.outputs[0].shape == after.outputs[0].shape


def test_clip_with_its_limits_as_attributes_and_as_inputs(read):
    before = one(read([node("Clip", ["x"], ["y"], min=0.0, max=6.0)], [X], [Y], opset=6))
    limits = [ints("low", 0, np.float32), ints("high", 6, np.float32), ints("low2", -2, np.float32)]
    after = one(read([node("Clip", ["x", "low", "high"], ["y"])], [X], [Y], limits))
    other = one(read([node("Clip", ["x", "low2", "high"], ["y"])], [X], [Y], limits))
    from_zero = one(read([node("Clip", ["x", "low"], ["y"])], [X], [Y], limits))
    assert [op.kind for op in (before, after, other, from_zero)] == ["relu6", "relu6", "clip", "relu"]


def test_dropout_is_a_view_and_its_mask_is_nobodys(read):
    graph = read([node("Dropout", ["x"], ["a", "mask"]), node("Relu", ["a"], ["y"])], [X], [Y], opset=10)
    assert [op.is_view for op in graph] == [True, False]


def batch_norm(**more):
    vectors = [floats(n, 4) for n in ("scale", "shift", "mean", "variance")]
    outputs = more.pop("outputs", ["y"])
    made = node("BatchNormalization", ["x", "scale", "shift", "mean", "variance"], outputs, name="bn", **more)
    return [made], [info("x", (1, 4, 6, 6))], [Y], vectors


def test_batch_norm_at_inference_folds_and_in_training_reduces(read):
    """F3: training_mode=1 (opset 14), or outputs for the statistics before that."""
    stored = one(read(*batch_norm(), opset=15))
    assert (stored.kind, sum(t.elements for t in stored.weights if t.role == "weight")) == ("batch_norm", 8)
    for more, opset in (({"training_mode": 1, "outputs": ["y", "m", "v"]}, 15), ({"outputs": list("ymvab")}, 9)):
        with pytest.warns(rl.ModelFileWarning, match="bn is a batch norm in training: it reduces, and does not fold"):
            assert one(read(*batch_norm(**more), opset=opset)).kind == "instance_norm"


# -- convolutions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("a, out, padding", [
    ({"pads": [1, 2, 3, 4]}, (10, 12), (1, 3, 2, 4)),
    ({"auto_pad": "SAME_UPPER", "strides": [2, 2]}, (4, 4), (0, 1, 0, 1)),
    ({"auto_pad": "SAME_LOWER", "strides": [2, 2]}, (4, 4), (1, 0, 1, 0)),
    ({"auto_pad": "VALID", "dilations": [2, 2]}, (4, 4), (0, 0, 0, 0)),
])  # fmt: skip
def test_every_way_to_pad(read, a, out, padding):
    op = one(read([node("Conv", ["x", "w", "b"], ["y"], **a)], [info("x", (1, 3, 8, 8))], [Y],
                  [floats("w", 5, 3, 3, 3), floats("b", 5)]))  # fmt: skip
    assert op.output.shape == (1, 5, *out)
    assert op.attributes["padding"] == padding
    assert op.macs == 5 * out[0] * out[1] * 27


def test_a_convolution_along_one_axis_is_an_image_of_height_1(read):
    nodes = [node("Conv", ["x", "w"], ["a"], pads=[1, 1], strides=[2]), node("MaxPool", ["a"], ["y"], kernel_shape=[2])]
    graph = read(nodes, [info("x", (1, 4, 10))], [Y], [floats("w", 6, 4, 3)])
    assert graph.macs == 6 * 5 * 4 * 3
    assert graph.outputs[0].shape == (1, 6, 4)
    assert graph.params == 72


def test_a_pooling_that_rounds_up(read):
    a = {"kernel_shape": [3, 3], "strides": [2, 2]}
    for ceil, size in ((0, 55), (1, 55)):  # 112 -> floor((112 - 3) / 2) + 1 = 55, rounded up 56
        op = one(
            read([node("MaxPool", ["x"], ["y"], ceil_mode=ceil, **a)], [info("x", (1, 2, 112, 112))], [Y], opset=11)
        )
        assert op.output.shape[2] == size + ceil


@pytest.mark.parametrize("x, w, a, shape, macs", [
    ((1, 3, 2, 2), (3, 1, 2, 2), {"strides": [2, 2]}, (1, 1, 4, 4), 48),  # A5
    ((1, 32, 1, 1), (32, 1, 3, 3), {}, (1, 1, 3, 3), 288),  # A5
    ((1, 4, 8, 8), (4, 3, 4, 4), {"strides": [2, 2], "pads": [1, 1, 1, 1], "group": 2}, (1, 6, 16, 16), 4 * 64 * 48),
    ((1, 4, 8, 8), (4, 6, 3, 3), {"strides": [2, 2], "output_shape": [16, 16]}, (1, 6, 16, 16), 4 * 64 * 54),
    ((1, 4, 8), (4, 6, 3), {"strides": [2], "auto_pad": "SAME_UPPER"}, (1, 6, 16), 4 * 8 * 18),
])  # fmt: skip
def test_transposed_convolutions(read, x, w, a, shape, macs):
    graph = read([node("ConvTranspose", ["x", "w"], ["y"], **a)], [info("x", x)], [Y], [floats("w", *w)])
    assert (graph.outputs[0].shape, graph.macs) == (shape, macs)


def test_a_zero_MAC_convolution_is_an_error_and_no_silence(read):
    """G4: a weight whose layout does not fit is named, with both shapes."""
    words = r'model.onnx, node "Conv_0": weight w \(64, 3, 7, 7\) with 1 groups takes 3 input channels, but x has 4'
    with pytest.raises(rl.ModelFileError, match=words):
        read([node("Conv", ["x", "w"], ["y"])], [info("x", (1, 4, 9, 9))], [Y], [floats("w", 64, 3, 7, 7)])


# -- products ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("trans_b", [0, 1])
def test_gemm_either_way(read, trans_a, trans_b):
    x, w = ((64, 4) if trans_a else (4, 64)), ((10, 64) if trans_b else (64, 10))
    graph = read([node("Gemm", ["x", "w", "b"], ["y"], transA=trans_a, transB=trans_b)], [info("x", x)], [Y],
                 [floats("w", *w), floats("b", 10)])  # fmt: skip
    assert (graph.outputs[0].shape, graph.macs, graph.params) == ((4, 10), 2_560, 650)
    assert one(graph).work.read == (256, 640, 10)


def test_attention_of_two_activations(read):
    nodes = [node("Transpose", ["k"], ["t"], perm=[0, 1, 3, 2]), node("MatMul", ["q", "t"], ["s"]),
             node("Softmax", ["s"], ["p"]), node("MatMul", ["p", "v"], ["y"])]  # fmt: skip
    graph = read(nodes, [info(n, (1, 2, 5, 8)) for n in "qkv"], [Y])
    assert graph.macs == 2 * (2 * 5 * 5 * 8)


@pytest.mark.parametrize("op_type, gates, macs", [("LSTM", 4, 3_276_800), ("GRU", 3, 2_457_600), ("RNN", 1, 819_200)])
def test_recurrent_layers_work_in_every_step(read, op_type, gates, macs):
    """A9: 100 steps, batch 1, 64 inputs, 64 units. Biases are given, the lengths are an empty optional input."""
    inputs = ["x", "w", "r", "b", "", "h"]
    constants = [floats("w", 1, gates * 64, 64), floats("r", 1, gates * 64, 64), floats("b", 1, 2 * gates * 64)]
    made = node(op_type, inputs, ["", "y"], hidden_size=64)
    op = one(read([made], [info("x", (100, 1, 64)), info("h", (1, 1, 64))], [Y], constants))
    assert (op.macs, op.output.shape) == (macs, (1, 1, 64))
    assert op.work.read == (6_400, gates * 4_096, gates * 4_096, gates * 128, 64)


def test_a_recurrent_layer_in_both_directions(read):
    constants = [floats("w", 2, 20, 4), floats("r", 2, 20, 5)]
    made = node("LSTM", ["x", "w", "r"], ["y"], hidden_size=5, direction="bidirectional")
    op = one(read([made], [info("x", (7, 3, 4))], [Y], constants))
    assert (op.macs, op.output.shape) == (7 * 3 * 2 * 4 * (20 + 25), (7, 2, 3, 5))


# -- whole numbers -----------------------------------------------------------------------------------------------------

SCALE, ZERO = ints("s", 0.1, np.float32), ints("z", 0, np.int8)


def qdq(x):
    """x -> QuantizeLinear -> DequantizeLinear -> x_dq."""
    return [
        node("QuantizeLinear", [x, "s", "z"], [f"{x}_q"]),
        node("DequantizeLinear", [f"{x}_q", "s", "z"], [f"{x}_dq"]),
    ]


def test_a_product_between_quantised_tensors_works_on_whole_numbers(read):
    """E5: 4 x 64 x 64: 16,384 MACs, 4,096 B of weights, and no kernel for what is folded."""
    nodes = [*qdq("x"), node("DequantizeLinear", ["w", "s", "z"], ["w_dq"]), node("MatMul", ["x_dq", "w_dq"], ["m"]),
             *qdq("m"), node("Relu", ["m_dq"], ["r"]), *qdq("r")]  # fmt: skip
    graph = read(nodes, [X], [info("r_dq", None)], [ints("w", np.ones((64, 64)), np.int8), SCALE, ZERO])
    assert kinds(graph) == ["quantize", "dense", "relu", "dequantize"]  # floats come, and floats go
    product = graph["MatMul_3"]
    assert product.macs == 16_384
    assert [t.bits for t in product.inputs] == [8, 8]
    assert product.inputs[1].elements * 8 // 8 == 4_096 == graph.params
    assert [op.output.bits for op in graph] == [8, 8, 8, None]


def test_a_quantised_weight_alone_stays_as_it_is_stored(read):
    nodes = [node("DequantizeLinear", ["w", "s", "z"], ["w_dq"]), node("MatMul", ["x", "w_dq"], ["y"])]
    op = one(read(nodes, [X], [Y], [ints("w", np.ones((64, 64)), np.int8), SCALE, ZERO]))
    assert [t.bits for t in op.inputs] == [None, 8]


def test_who_needs_floats_gets_them_from_an_operator_of_its_own(read):
    """One operand of the addition is a float: it works on floats."""
    graph = read([*qdq("x"), node("Add", ["x_dq", "o"], ["y"])], [X, info("o", (4, 64))], [Y], [SCALE, ZERO])
    assert kinds(graph) == ["quantize", "dequantize", "add"]


def test_qlinear_operators(read):
    nodes = [node("QLinearConv", ["x", "s", "z", "w", "s", "z", "s", "z", "b"], ["a"], pads=[1, 1, 1, 1]),
             node("QLinearMatMul", ["a", "s", "z", "m", "s", "z", "s", "z"], ["y"])]  # fmt: skip
    constants = [ints("w", np.ones((4, 3, 3, 3)), np.int8), ints("b", [0] * 4, np.int32), SCALE, ZERO,
                 ints("m", np.ones((8, 2)), np.int8)]  # fmt: skip
    graph = read(nodes, [info("x", (1, 3, 8, 8), INT8)], [info("y", None, INT8)], constants)
    assert [op.macs for op in graph] == [4 * 64 * 27, 4 * 8 * 8 * 2]
    assert [t.bits for t in graph.operators[0].inputs] == [8, 8, 32]
    assert graph.operators[0].output.bits == 8
    assert graph.params == 108 + 4 + 16


# -- control flow ------------------------------------------------------------------------------------------------------


def branch(name, op_type, times):
    """A chain of operators on the x of the graph around it."""
    names = ["x", *(f"{name}_{i}" for i in range(times))]
    nodes = [node(op_type, [a], [b]) for a, b in zip(names, names[1:])]
    return helper.make_graph(nodes, name, [], [info(names[-1], None)])


def test_of_an_if_the_costlier_branch_counts(read):
    both = {"then_branch": branch("t", "Relu", 1), "else_branch": branch("e", "Sigmoid", 2)}
    args = [node("If", ["c"], ["a"], name="fork", **both), node("Relu", ["a"], ["y"])], [X, info("c", (), BOOL)], [Y]
    words = r"of fork the costlier branch counts \(then_branch 256 FLOP and else_branch 2,048 FLOP\)"
    with pytest.warns(rl.ModelFileWarning, match=words):
        assert kinds(read(*args)) == ["sigmoid", "sigmoid", "relu"]
    known = args[0], [X], [Y], [ints("c", True, bool)]
    assert kinds(read(*known)) == ["relu", "relu"]  # a known condition leaves no choice


def loop_body():
    """v -> relu(v), and v as a row of the stacked result."""
    inputs = [info("i", (), INT64), info("c", (), BOOL), info("v", (4, 64))]
    nodes = [node("Identity", ["c"], ["c2"]), node("Relu", ["v"], ["v2"])]
    return helper.make_graph(nodes, "body", inputs, [info("c2", (), BOOL), info("v2", (4, 64)), info("v2", (4, 64))])


def test_a_loop_runs_as_often_as_it_says(read):
    made = node("Loop", ["n", "", "x"], ["last", "y"], body=loop_body(), name="loop")
    graph = read([made], [X], [info("last", None), Y], [ints("n", 3)])
    assert [op.kind for op in graph if not op.is_view] == ["relu"] * 3
    assert {t.name: t.shape for t in graph.outputs}["y"] == (3, 4, 64)
    assert graph.flops == 3 * 256


def test_a_loop_that_runs_nobody_knows_how_often_counts_once(read):
    made = node("Loop", ["n", "", "x"], ["last", "y"], body=loop_body(), name="loop")
    with pytest.warns(rl.ModelFileWarning, match="how often loop runs is not known: one iteration counts"):
        assert read([made], [X, info("n", (), INT64)], [info("last", None)]).flops == 256


def test_a_loop_of_a_billion_iterations_is_not_unrolled(read):
    made = node("Loop", ["n", "", "x"], ["last", "y"], body=loop_body(), name="loop")
    with pytest.warns(rl.ModelFileWarning, match="FLOPs are not known, only their bytes: Loop"):
        (op,) = read([made], [X], [info("last", (4, 64))], [ints("n", 10**9)]).unknown
    assert op.work.read == (1, 256)


def test_functions_of_the_file_are_put_in_place(tmp_path):
    inside = [node("Relu", ["a"], ["t"]), node("Sigmoid", ["t"], ["b"])]
    body = helper.make_function("own", "Twice", ["a"], ["b"], inside, [helper.make_opsetid("", 18)])
    made = model([node("Twice", ["x"], ["y"], domain="own")], [X], [Y], functions=[body])
    assert kinds(rl.read_onnx(write(tmp_path, made))) == ["relu", "sigmoid"]


# -- what is not known -------------------------------------------------------------------------------------------------


def test_unknown_operators_are_shown_with_their_bytes_and_listed_once(read):
    """G10: the profile goes on. x (256) -> Odd -> 256; twice, and once another kind."""
    nodes = [node("Odd", ["x"], ["a"], domain="own"), node("Odd", ["a"], ["b"], domain="own"),
             node("Strange", ["b"], ["c"], domain="own"), node("Relu", ["c"], ["y"])]  # fmt: skip
    value_info = [info(n, (4, 64)) for n in "abc"]
    with pytest.warns(rl.ModelFileWarning, match=r"only their bytes: own.Odd \(2\), own.Strange\. The") as caught:
        graph = read(nodes, [X], [Y], value_info=value_info)
    assert len(caught) == 1
    assert [op.name for op in graph.unknown] == ["Odd_0", "Odd_1", "Strange_2"]
    assert graph.unknown[0].attributes["op_type"] == "own.Odd"
    est = rl.estimate(rl.unfused(graph), rl.device("raspberry-pi-5"))
    assert est.unknown_bytes_share == 3 / 4
    assert "the FLOPs of Odd_0 are not known" in est.kernels[0].because


def test_what_follows_a_tensor_of_unknown_shape_is_unknown_too(read):
    nodes = [node("Odd", ["x"], ["a"], domain="own"), node("MatMul", ["a", "w"], ["b"]), node("Relu", ["x"], ["y"])]
    with pytest.warns(rl.ModelFileWarning, match=r"only their bytes: MatMul, own.Odd"):
        graph = read(nodes, [X], [Y], [floats("w", 64, 64)])
    assert graph["MatMul_1"].work.read == (4_096,)
    assert graph["Relu_2"].flops_known


def test_a_size_that_depends_on_the_numbers_is_1_and_said(read):
    inputs = [info("boxes", (1, 10, 4)), info("scores", (1, 3, 10))]
    with pytest.warns(rl.ModelFileWarning) as caught:
        graph = read([node("NonMaxSuppression", ["boxes", "scores"], ["y"])], inputs, [info("y", (None, 3), INT64)])
    words = " ".join(str(w.message) for w in caught)
    assert "y[0]=1 is assumed" in words and "NonMaxSuppression" in words
    assert graph.outputs[0].shape == (1, 3) and graph.outputs[0].bits == 64


def test_pooling_over_three_axes_is_not_known_and_does_not_stop_the_reading(read):
    with pytest.warns(rl.ModelFileWarning, match="MaxPool"):
        graph = read([node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2, 2])], [info("x", (1, 2, 4, 4, 4))], [Y])
    assert graph.outputs[0].shape == (1, 2, 3, 3, 3)


def test_optional_outputs_that_are_empty(read):
    nodes = [node("Split", ["x"], ["a", ""], axis=0, num_outputs=2), node("Relu", ["a"], ["y"])]
    assert read(nodes, [X], [Y]).outputs[0].shape == (2, 64)


# -- every kind --------------------------------------------------------------------------------------------------------

IMAGE = info("x", (1, 4, 6, 6))
ONE_BY_ONE = [  # node, inputs, constants, kind, other FLOPs
    (node("Sum", ["x", "x", "x"], ["y"]), [X], [], "sum", 512),
    (node("Pow", ["x", "p"], ["y"]), [X], [ints("p", 2, np.float32)], "square", 256),
    (node("Pow", ["x", "p"], ["y"]), [X], [ints("p", 0.5, np.float32)], "sqrt", 256),
    (node("Pow", ["x", "x"], ["y"]), [X], [], "pow", 256),
    (node("PRelu", ["x", "p"], ["y"]), [IMAGE], [floats("p", 4, 1, 1)], "prelu", 288),
    (node("PRelu", ["x", "p"], ["y"]), [IMAGE], [floats("p", 1)], "leaky_relu", 288),
    (node("Add", ["x", "b"], ["y"]), [X], [floats("b", 64)], "bias_add", 256),
    (node("Add", ["b", "x"], ["y"]), [IMAGE], [floats("b", 1, 4, 1, 1)], "bias_add", 144),
    (node("Add", ["x", "b"], ["y"]), [IMAGE], [floats("b", 6, 6)], "add", 144),
    (node("Max", ["x", "x"], ["y"]), [X], [], "maximum", 256),
    (node("Where", ["c", "x", "x"], ["y"]), [X, info("c", (1, 64), BOOL)], [], "where", 256),
    (node("Cast", ["x"], ["y"], to=TensorProto.INT8), [X], [], "cast", 256),
    (node("LayerNormalization", ["x", "g", "b"], ["y"]), [X], [floats("g", 64), floats("b", 64)], "layer_norm", 1792),
    (node("LayerNormalization", ["x", "g"], ["y"]), [X], [floats("g", 64)], "layer_norm", 1792),
    (node("InstanceNormalization", ["x", "g", "b"], ["y"]), [IMAGE], [floats("g", 4), floats("b", 4)],
        "instance_norm", 1008),
    (node("LRN", ["x"], ["y"], size=5), [IMAGE], [], "lrn", 9 * 144),
    (node("ReduceMean", ["x", "a"], ["y"]), [X], [ints("a", [-1])], "reduce_mean", 256),
    (node("ReduceL2", ["x"], ["y"]), [X], [], "reduce_l2", 512),
    (node("ArgMax", ["x"], ["y"], axis=1), [X], [], "arg_max", 256),
    (node("CumSum", ["x", "a"], ["y"]), [X], [ints("a", 1)], "cumsum", 256),
    (node("GlobalAveragePool", ["x"], ["y"]), [IMAGE], [], "avg_pool", 144),
    (node("GlobalMaxPool", ["x"], ["y"]), [info("x", (1, 4, 36))], [], "reduce_max", 144),
    (node("Slice", ["x", "s", "e", "a"], ["y"]), [X], [ints("s", [-3]), ints("e", [4]), ints("a", [0])], "slice", 0),
    (node("Slice", ["x", "s", "e"], ["y"]), [X], [ints("s", [1, 1]), ints("e", [3, 9])], "copy", 0),
    (node("Pad", ["x", "p"], ["y"]), [X], [ints("p", [0, 1, 0, 1])], "copy", 0),
    (node("Expand", ["x", "s"], ["y"]), [X], [ints("s", [2, 4, 64])], "expand", 0),
    (node("DepthToSpace", ["x"], ["y"], blocksize=2), [IMAGE], [], "copy", 0),
    (node("Transpose", ["x"], ["y"]), [X], [], "transpose", 0),
    (node("Gather", ["x", "i"], ["y"], axis=1), [X], [ints("i", [0, 5, 7])], "gather", 0),
    (node("Resize", ["x", "", "s"], ["y"]), [IMAGE], [ints("s", [1, 1, 2, 2], np.float32)], "upsample_nearest", 0),
    (node("Resize", ["x", "", "s"], ["y"], mode="linear"), [IMAGE], [ints("s", [1, 1, 1.5, 1.5], np.float32)], "resize",
        7 * 4 * 81),
    (node("Concat", ["x", "x"], ["y"], axis=0), [X], [], "concat", 0),
    (node("FusedConv", ["x", "w"], ["y"], activation="Relu", domain="com.microsoft"), [IMAGE],
        [floats("w", 2, 4, 1, 1)], "conv2d", 0),
]  # fmt: skip


@pytest.mark.parametrize("made, inputs, constants, kind, flops", ONE_BY_ONE, ids=[
    f"{row[0].op_type}-{row[3]}-{i}" for i, row in enumerate(ONE_BY_ONE)
])  # fmt: skip
def test_one_operator(read, made, inputs, constants, kind, flops):
    op = next(iter(read([made], inputs, [Y], constants)))
    assert (op.kind, op.work.other_flops) == (kind, flops)


@pytest.mark.parametrize("made, constants", [
    (node("Transpose", ["x"], ["a"], perm=[1, 0, 2]), []),
    (node("Flatten", ["x"], ["a"]), []),
    (node("Pad", ["x", "p"], ["a"]), [ints("p", [0] * 6)]),
    (node("Identity", ["x"], ["a"]), []),
    (node("Slice", ["x", "s", "e"], ["a"]), [ints("s", [0]), ints("e", [9999])]),
    (node("Cast", ["x"], ["a"], to=FLOAT), []),
    (node("Expand", ["x", "s"], ["a"]), [ints("s", [4, 1, 64])]),
])  # fmt: skip
def test_what_moves_nothing_costs_nothing(read, made, constants):
    """B6, B7: views, and operators that leave everything where it is."""
    graph = read([made, node("Relu", ["a"], ["y"])], [info("x", (4, 1, 64))], [Y], constants)
    assert one(graph).kind == "relu"
    assert rl.estimate(rl.unfused(graph), rl.device("raspberry-pi-5")).dram_bytes == 2 * 4 * 256


def test_a_fused_activation_is_marked_and_the_files_plan_has_it_in_one_kernel(tmp_path):
    fused = node("FusedConv", ["x", "w"], ["a"], activation="Relu", domain="com.microsoft", name="c")
    made = model([fused, node("Sigmoid", ["a"], ["y"])], [IMAGE], [Y], [floats("w", 2, 4, 1, 1)])
    plan = rl.plan_from_file(write(tmp_path, made))
    assert [[op.name for op in k.operators] for k in plan.kernels] == [["c", "c/relu"], ["Sigmoid_1"]]
    assert "as in the file" in repr(plan)


# -- order and names ---------------------------------------------------------------------------------------------------


def test_nodes_in_any_order(read):
    nodes = [node("Sigmoid", ["a"], ["y"]), node("Relu", ["x"], ["a"])]
    assert kinds(read(nodes, [X], [Y])) == ["relu", "sigmoid"]


def test_two_nodes_of_one_name_are_told_apart(read):
    nodes = [node("Relu", ["x"], ["a"], name="act"), node("Relu", ["a"], ["y"], name="act")]
    assert [op.name for op in read(nodes, [X], [Y])] == ["act", "act_1"]


def test_reading_is_quiet_where_nothing_is_assumed(read):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read([node("Relu", ["x"], ["y"])], [X], [Y])
