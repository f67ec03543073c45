"""Graphs that cannot be: what does not fit is said in words, with the operator, the tensor and what would be right."""

import numpy as np
import pytest

import roofline_lessons as rl
from tests.model.toys import graph_of, image, operator_of, rows

# -- what does not fit is said in words --------------------------------------------------------------------------------

# how it is built, and what the message must hold: the operator, the tensor, what would be right
REFUSED = [
    (lambda b: b.conv2d(b.input("x", (3, 8, 8)), 4), ["conv_0", "x", "(batch, channels, height, width)", "(3, 8, 8)"]),
    (lambda b: b.conv2d(image(b), 4, 9), ["conv_0", "9", "6"]),
    (lambda b: b.conv2d(image(b, 6), 8, 3, groups=4), ["conv_0", "4 groups", "x", "6"]),
    (lambda b: b.conv2d(image(b), 6, 3, groups=4), ["conv_0", "4 groups", "6 output channels"]),
    (lambda b: b.conv2d(image(b), 4, 3, padding="valid"), ["conv_0", '"same"', "'valid'"]),
    (lambda b: b.conv2d(image(b), 4, 3, padding=(1, 1, 1)), ["conv_0", "padding", "(1, 1, 1)"]),
    (lambda b: b.conv2d(image(b), 4, 2.5), ["conv_0", "kernel", "2.5"]),
    (lambda b: b.conv2d(image(b), 4, 3, stride=0), ["conv_0", "stride", "at least 1", "0"]),
    (lambda b: b.conv2d(image(b), 0), ["conv_0", "channels", "at least 1", "0"]),
    (lambda b: b.conv2d(image(b), 4, 3, weight=b.weight("w", (4, 4, 5, 5))), ["conv_0", "w", "(4, 4, 3, 3)"]),
    (lambda b: b.conv2d(image(b), 4, 3, weight=b.weight("w", (8, 4, 3, 3))), ["conv_0", "w", "(4, 4, 3, 3)"]),
    (lambda b: b.conv_transpose2d(b.input("x", (8, 8)), 4), ["conv_transpose_0", "x", "(8, 8)"]),
    (lambda b: b.conv_transpose2d(image(b), 5, groups=2), ["conv_transpose_0", "2 groups", "5 output channels"]),
    (lambda b: b.conv_transpose2d(image(b), 4, groups=3), ["conv_transpose_0", "3 groups", "x", "4"]),
    (lambda b: b.conv_transpose2d(image(b), 4, padding=7), ["conv_transpose_0", "crops the whole output"]),
    (lambda b: b.conv_transpose2d(image(b), 4, padding="same"), ["conv_transpose_0", "padding", "'same'"]),
    (lambda b: b.dense(b.input("x", (4, 10)), 8, weight=b.weight("w", (8, 12))), ["dense_0", "w", "(8, 10)"]),
    (lambda b: b.dense(b.input("x", (10,)), 8), ["dense_0", "x", "(10,)"]),
    (lambda b: b.matmul(rows(b), rows(b, "y")), ["matmul_0", "x", "y", "4", "3"]),
    (lambda b: b.matmul(rows(b), b.input("y", (4,))), ["matmul_0", "two dimensions", "(4,)"]),
    (lambda b: b.matmul(b.input("q", (1, 8, 4, 4)), b.input("k", (1, 2, 4, 4)), share=3),
        ["matmul_0", "share=3", "k", "6 query heads", "q"]),
    (lambda b: b.matmul(b.input("q", (1, 1, 4, 4)), b.input("k", (1, 2, 4, 4)), share=4),
        ["matmul_0", "share=4", "8 query heads", "q"]),
    (lambda b: b.conv_transpose2d(image(b), 4, stride=2, output_padding=2),
        ["conv_transpose_0", "output_padding (2, 2)", "smaller than the stride"]),
    (lambda b: b.matmul(b.input("q", (4, 4)), b.input("k", (4, 4)), share=2), ["matmul_0", "share=2", "k", "head"]),
    (lambda b: b.add(rows(b), b.input("y", (5,))), ["add_0", "(2, 3, 4)", "(5,)", "broadcast"]),
    (lambda b: b.batch_norm(b.input("x", (4,))), ["batch_norm_0", "x", "axis 1"]),
    (lambda b: b.max_pool(rows(b), 2), ["max_pool_0", "x", "(batch, channels, height, width)"]),
    (lambda b: b.max_pool(image(b), 2, stride=0), ["max_pool_0", "stride", "at least 1", "0"]),
    (lambda b: b.global_avg_pool(b.input("x", (4, 8))), ["global_avg_pool_0", "x", "(4, 8)"]),
    (lambda b: b.softmax(rows(b), axis=3), ["softmax_0", "x", "axis 3"]),
    (lambda b: b.reduce_sum(rows(b), [5]), ["reduce_sum_0", "x", "axis 5"]),
    (lambda b: b.concat([rows(b), b.input("y", (2, 3, 5))]), ["concat_0", "axis 1", "(2, 3, 5)"]),
    (lambda b: b.concat([]), ["concat_0", "at least one"]),
    (lambda b: b.reshape(rows(b), (5, 5)), ["reshape_0", "x", "24", "25"]),
    (lambda b: b.reshape(rows(b), (5, -1)), ["reshape_0", "x", "24"]),
    (lambda b: b.flatten(rows(b), axis=4), ["flatten_0", "x", "axis 4"]),
    (lambda b: b.squeeze(rows(b), [0]), ["squeeze_0", "x", "size 1"]),
    (lambda b: b.transpose(rows(b), (0, 1)), ["transpose_0", "x", "3 axes"]),
    (lambda b: b.upsample(image(b), 2, mode="bicubic"), ["upsample_0", "bicubic", "bilinear"]),
    (lambda b: b.upsample(image(b), 1.5), ["upsample_0", "scale", "1.5"]),
    (lambda b: b.input("x", (1, 0)), ["x", "at least 1", "(1, 0)"]),
    (lambda b: b.input("x", (1, 2.5)), ["x", "whole number", "2.5"]),
    (lambda b: b.input("x", 1024), ["x", "dimension", "1024"]),
    (lambda b: [b.weight("w", (8, 8)), b.weight("w", (8, 8))], ["'w'", "to share it, pass the same tensor"]),
    (lambda b: b.input("ids", (1, 2), bits=0), ["ids", "bits", "at least 1"]),
]  # fmt: skip


@pytest.mark.parametrize("build, words", REFUSED)
def test_what_does_not_fit_is_said_in_words(build, words):
    with pytest.raises(ValueError) as refusal:
        operator_of(build)
    for word in words:
        assert word in str(refusal.value)


def test_numpy_integers_are_whole_numbers():
    size = np.array([1, 4, 6, 6]) // 1
    op = operator_of(lambda b: b.conv2d(b.input("x", size), np.int64(4), np.int64(3)))
    assert op.output.shape == (1, 4, 4, 4)
    assert isinstance(op.macs, int)


# -- the graph ---------------------------------------------------------------------------------------------------------


def graph_error(build):
    with pytest.raises(rl.GraphError) as refusal:
        build(rl.GraphBuilder("net"))
    return str(refusal.value)


def test_a_graph_needs_operators_and_outputs():
    assert "no operator" in graph_error(lambda b: b.build(outputs=[b.input("x", (1,))]))
    assert "no output" in graph_error(lambda b: (b.relu(b.input("x", (1,))), b.build(outputs=[])))


def test_names_differ():
    def two_operators(b):
        x = b.input("x", (1,))
        b.build(outputs=[b.relu(b.relu(x, name="act"), name="act")])

    def two_inputs(b):
        b.build(outputs=[b.add(b.input("x", (1,)), b.input("x", (1,)))])

    def a_weight_and_an_input(b):
        w = b.weight("x", (8, 8))
        b.build(outputs=[b.dense(b.input("x", (1, 8)), 8, weight=w)])

    assert "'act'" in graph_error(two_operators)
    assert "'x'" in graph_error(two_inputs)
    assert "'x' (8, 8), but another tensor of that name is (1, 8)" in graph_error(a_weight_and_an_input)


def test_a_given_name_does_not_get_in_the_way():
    b = rl.GraphBuilder("net")
    x = b.relu(b.relu(b.input("x", (1,)), name="relu_0"))
    assert len(b.build(outputs=[x])) == 2


def test_tensors_come_from_the_same_builder():
    stranger = rl.GraphBuilder("other").input("stranger", (1,))
    assert "'stranger'" in graph_error(lambda b: b.build(outputs=[b.relu(stranger)]))
    assert "'stranger'" in graph_error(lambda b: (b.relu(b.input("x", (1,))), b.build(outputs=[stranger])))


def test_operators_by_name():
    graph = graph_of(lambda b: b.relu(b.conv2d(image(b), 4)))
    assert [op.name for op in graph] == ["conv_0", "relu_0"]
    assert graph["relu_0"] in graph
    with pytest.raises(rl.UnknownNameError, match="did you mean 'relu_0'"):
        graph["relu_1"]
