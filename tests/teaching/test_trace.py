"""`rl.trace`: bytes and FLOPs of a learner's own lines, against counts by hand."""

from __future__ import annotations

import numpy as np
import pytest

import roofline_lessons as rl

N = 1000


@pytest.fixture
def t():
    return rl.trace()


@pytest.fixture
def x(t):
    return t.array(np.linspace(-1, 1, N, dtype=np.float32), "x")


def test_three_operations_are_three_round_trips(t, x):
    y = np.maximum(2 * x + 1, 0)
    assert (t.bytes_read, t.bytes_written, t.flops) == (3 * 4 * N, 3 * 4 * N, 3 * N)
    assert t.temporaries(y) == ["t0", "t1"]
    assert np.array_equal(y.values, np.maximum(2 * x.values + 1, 0))


def test_the_same_array_twice_is_read_once(t, x):
    _ = x * x
    assert t.bytes_read == 4 * N


def test_in_place_makes_no_temporary(t, x):
    np.multiply(x, 2, out=x)
    x += 1
    assert t.temporaries(x) == [] and t.bytes_written == 2 * 4 * N


def test_a_sum_reads_everything_and_writes_little(t, x):
    np.sum(x)
    assert (t.bytes_read, t.bytes_written, t.flops) == (4 * N, 4, N)
    x.sum()
    assert t.flops == 2 * N


def test_a_matrix_product_counts_two_flop_per_multiply_accumulate(t):
    a, b = t.array(np.ones((2, 3)), "a"), t.array(np.ones((3, 4)), "b")
    _ = a @ b
    assert (t.flops, t.bytes_read, t.bytes_written) == (2 * 2 * 3 * 4, 8 * (6 + 12), 8 * 8)


def test_where_and_table(t, x):
    y = np.where(x > 0, x, 0 * x)
    table = t.to_frame()
    assert list(table.operation) == ["greater", "multiply", "where"]
    assert t.temporaries(y) == ["t0", "t1"]
    assert "3 operations" in repr(t) and repr(x) == "<traced x: [1000] float32>"


@pytest.mark.parametrize(
    "view", [lambda x: x[1:], lambda x: x[0], lambda x: x[None, :], lambda x: x.reshape(10, 100), lambda x: x.T,
             lambda x: np.reshape(x, (10, 100)), lambda x: np.transpose(x), lambda x: np.ravel(x)],
)  # fmt: skip
def test_a_view_moves_nothing(t, x, view):
    y = view(x)
    assert t.steps == [] and y.name == "x"
    _ = y * 2
    assert t.bytes_read == 4 * y.size


def test_neighbours_are_read_once_from_one_array(t, x):
    _ = x[1:] - x[:-1]
    assert (t.bytes_read, t.bytes_written, t.flops) == (4 * (N - 1), 4 * (N - 1), N - 1)


@pytest.mark.parametrize(
    "move", [lambda x: np.concatenate([x, x]), lambda x: x[[3, 1, 2]], lambda x: x.astype("float64"), np.copy]
)
def test_a_move_is_bytes_and_no_arithmetic(t, x, move):
    y = move(x)
    assert t.flops == 0 and t.bytes_written == y.values.nbytes and t.bytes_read > 0


@pytest.mark.parametrize("reduce", [lambda x: x.max(), lambda x: x.min(), lambda x: x.mean(), np.max, np.mean])
def test_every_reduction_reads_everything(t, x, reduce):
    y = reduce(x)
    assert (t.bytes_read, t.flops) == (4 * N, N) and np.isclose(float(y), float(reduce(x.values)))


def test_it_has_the_sizes_of_an_array(x):
    assert (len(x), x.size, x.ndim, x.shape, x.dtype) == (N, N, 1, (N,), np.float32)


@pytest.mark.parametrize("call, words", [(np.frexp, "one result"), (np.add.accumulate, "calls and reductions")])
def test_what_cannot_be_counted_is_said(x, call, words):
    with pytest.raises(TypeError, match=words):
        call(x)
    with pytest.raises(TypeError, match="write the product with @"):
        np.dot(x, x)
