"""Shapes and MACs by brute force: convolutions of ones, TensorFlow's padding, NumPy's shapes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.toys import operator_of

# -- convolutions by brute force ---------------------------------------------------------------------------------------


def slots(size, kernel, stride, before, after, dilation):
    """First taps of every window that fits, by trying all."""
    return [p for p in range(0, size + before + after, stride) if p + dilation * (kernel - 1) < size + before + after]


@st.composite
def convolutions(draw):
    def either():
        return draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))

    groups = draw(st.integers(1, 3))
    return {
        "batch": draw(st.integers(1, 2)),
        "inputs": groups * draw(st.integers(1, 2)),
        "outputs": groups * draw(st.integers(1, 2)),
        "size": draw(st.tuples(st.integers(5, 8), st.integers(5, 8))),
        "kernel": either(),
        "stride": either(),
        "dilation": draw(st.tuples(st.integers(1, 2), st.integers(1, 2))),
        "padding": draw(st.tuples(*[st.integers(0, 2)] * 4)),
        "groups": groups,
    }


@given(convolutions())
def test_convolution_of_ones(c):
    """Convolve an image of ones (its padding too) with a kernel of ones: the sum of the result is the MACs."""
    (h, w), (kh, kw), (sh, sw), (dh, dw), (top, bottom, left, right) = (
        c[part] for part in ("size", "kernel", "stride", "dilation", "padding")
    )
    ys, xs = slots(h, kh, sh, top, bottom, dh), slots(w, kw, sw, left, right, dw)
    padded = np.ones((c["batch"], c["inputs"], h + top + bottom, w + left + right))
    result = np.zeros((c["batch"], c["outputs"], len(ys), len(xs)))
    inputs, outputs = c["inputs"] // c["groups"], c["outputs"] // c["groups"]
    for g in range(c["groups"]):
        part = padded[:, g * inputs : (g + 1) * inputs]
        for i, y in enumerate(ys):
            for j, x in enumerate(xs):
                window = part[:, :, y : y + dh * (kh - 1) + 1 : dh, x : x + dw * (kw - 1) + 1 : dw]
                result[:, g * outputs : (g + 1) * outputs, i, j] = window.sum((1, 2, 3))[:, None]

    op = operator_of(
        lambda b: b.conv2d(
            b.input("x", (c["batch"], c["inputs"], h, w)), c["outputs"], c["kernel"], stride=c["stride"],
            padding=c["padding"], dilation=c["dilation"], groups=c["groups"], bias=False,
        )
    )  # fmt: skip
    assert op.output.shape == result.shape
    assert op.macs == result.sum()


@given(convolutions())
def test_transposed_convolution_of_ones(c):
    """Spread every one of an image of ones over a window of ones: the sum before cropping is the MACs."""
    (h, w), (kh, kw), (sh, sw), (dh, dw) = (c[part] for part in ("size", "kernel", "stride", "dilation"))
    inputs, outputs = c["inputs"] // c["groups"], c["outputs"]
    full = np.zeros((c["batch"], outputs, (h - 1) * sh + dh * (kh - 1) + 1, (w - 1) * sw + dw * (kw - 1) + 1))
    for y in range(h):
        for x in range(w):
            full[:, :, y * sh : y * sh + dh * (kh - 1) + 1 : dh, x * sw : x * sw + dw * (kw - 1) + 1 : dw] += inputs
    top, bottom, left, right = c["padding"]
    cropped = full[:, :, top : full.shape[2] - bottom, left : full.shape[3] - right]
    if cropped.size == 0:
        return

    op = operator_of(
        lambda b: b.conv_transpose2d(
            b.input("x", (c["batch"], c["inputs"], h, w)), outputs, c["kernel"], stride=c["stride"],
            padding=c["padding"], dilation=c["dilation"], groups=c["groups"], bias=False,
        )
    )  # fmt: skip
    assert op.output.shape == cropped.shape
    assert op.macs == full.sum()


def same_padding(size, kernel, stride, dilation):
    """TensorFlow's rule, as the notes on padding of tf.nn write it: (before, after) along one axis."""
    reach = (kernel - 1) * dilation + 1
    along = max(reach - stride, 0) if size % stride == 0 else max(reach - size % stride, 0)
    return along // 2, along - along // 2


@given(size=st.integers(1, 20), kernel=st.integers(1, 7), stride=st.integers(1, 4), dilation=st.integers(1, 3))
def test_same_padding_is_tensorflows(size, kernel, stride, dilation):
    op = operator_of(
        lambda b: b.conv2d(b.input("x", (1, 1, size, 9)), 1, kernel, stride=stride, dilation=dilation, padding="same")
    )
    assert op.attributes["padding"][:2] == same_padding(size, kernel, stride, dilation)
    assert op.output.shape[2:] == (-(-size // stride), -(-9 // stride))


# The case in every tutorial: 224 -> 112 with a 3 x 3 kernel pads 0 in front and 1 behind.
def test_same_padding_of_an_even_image():
    op = operator_of(lambda b: b.conv2d(b.input("x", (1, 3, 224, 224)), 8, 3, stride=2, padding="same"))
    assert op.attributes["padding"] == (0, 1, 0, 1)


# A convolution and the transposed one with the same settings undo each other's shape; output_padding picks one of the
# sizes that a stride maps to the same result (Dumoulin & Visin, arXiv 1603.07285, section 4.6).
@pytest.mark.parametrize("size, extra", [(7, 0), (8, 1)])
def test_output_padding(size, extra):
    small = operator_of(lambda b: b.conv2d(b.input("x", (1, 1, size, size)), 1, 3, stride=2, padding=1)).output.shape
    assert small == (1, 1, 4, 4)
    op = operator_of(lambda b: b.conv_transpose2d(b.input("x", small), 1, 3, stride=2, padding=1, output_padding=extra))
    assert op.output.shape == (1, 1, size, size)


# -- numpy agrees on shapes --------------------------------------------------------------------------------------------

SIDES = st.integers(1, 3)


@given(st.lists(st.tuples(SIDES, SIDES), min_size=1, max_size=4), st.integers(0, 3))
def test_broadcasting_is_numpys(sides, dropped):
    full = tuple(side for side, _ in sides)
    other = tuple(side if keep > 1 else 1 for side, keep in sides)[dropped:]
    op = operator_of(lambda b: b.add(b.input("x", other), b.input("y", full)))
    assert op.output.shape == (np.ones(other) + np.ones(full)).shape
    assert op.flops == (np.ones(other) + np.ones(full)).sum() / 2


@given(st.lists(SIDES, max_size=2), SIDES, SIDES, SIDES)
def test_matrix_product_is_numpys(lead, m, k, n):
    x, y = (*lead, m, k), (*lead[1:], k, n)
    op = operator_of(lambda b: b.matmul(b.input("x", x), b.input("y", y)))
    product = np.ones(x) @ np.ones(y)
    assert op.output.shape == product.shape
    assert op.macs == product.sum()
