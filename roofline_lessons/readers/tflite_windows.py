"""TensorFlow Lite operators with windows: convolutions and poolings on images (batch, height, width, channels)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..errors import GraphError
from .tflite_node import Node


def _padding(
    n: Node, size: Sequence[int], kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> tuple[int, ...]:
    """(top, bottom, left, right). SAME keeps ceil(size / stride) places; the odd one goes behind."""
    if n.option("Padding") == 1:  # VALID
        return (0, 0, 0, 0)
    pads: list[int] = []
    for length, k, s, d in zip(size, kernel, stride, dilation, strict=True):
        total = max((-(-length // s) - 1) * s + d * (k - 1) + 1 - length, 0)
        pads += [total // 2, total - total // 2]
    return tuple(pads)


def _pair(n: Node, name: str, default: int = 1) -> tuple[int, int]:
    """Two settings "StrideH", "StrideW" and their like."""
    values = n.option(f"{name}H", default), n.option(f"{name}W", default)
    if min(values) < 1:
        raise GraphError(f"{name} must be at least 1, not {values}")
    return values


def conv(n: Node) -> None:
    """Weights (output channels, kernel height, kernel width, input channels / groups)."""
    x, w = n.shape(0), n.shape(1)
    if len(x) != 4 or len(w) != 4:
        raise GraphError(f"input {x} and weight {w} must have four axes")
    if x[3] % w[3]:
        raise GraphError(f"the weight takes {w[3]} input channels, but the input has {x[3]}")
    _conv(n, (w[0], w[3], *w[1:3]), x[3] // w[3])


def depthwise(n: Node) -> None:
    """Weights (1, kernel height, kernel width, output channels)."""
    x, w = n.shape(0), n.shape(1)
    if len(x) != 4 or len(w) != 4 or w[3] % x[3]:
        raise GraphError(f"a depthwise weight {w} does not fit the input {x}")
    _conv(n, (w[3], 1, *w[1:3]), x[3])


def _conv(n: Node, weight: tuple[int, ...], groups: int) -> None:
    stride, dilation, kernel = _pair(n, "Stride"), _dilation(n), weight[2:]
    pads = _padding(n, n.shape(0)[1:3], kernel, stride, dilation)
    bias = [n.weight(2, n.shape(2))] if n.has(2) else []
    n.emit("conv2d", [n.tensor(0, image=True), n.weight(1, weight), *bias], image=True,
           kernel=kernel, stride=stride, dilation=dilation, padding=pads, groups=groups)  # fmt: skip


def _dilation(n: Node) -> tuple[int, int]:
    values = n.option("DilationHFactor", 1), n.option("DilationWFactor", 1)
    if min(values) < 1:
        raise GraphError(f"the dilation must be at least 1, not {values}")
    return values


def transpose_conv(n: Node) -> None:
    """Inputs: output shape, weights (output channels, kh, kw, input channels), image, bias."""
    x, w, out = n.shape(2), n.shape(1), n.out_shape()
    if len(x) != 4 or len(w) != 4 or len(out) != 4:
        raise GraphError(f"input {x}, weight {w} and output {out} must have four axes")
    stride, kernel = _pair(n, "Stride"), w[1:3]
    over = [(size - 1) * s + k - o for size, s, k, o in zip(x[1:3], stride, kernel, out[1:3], strict=True)]
    pads = tuple(p for t in over for p in (max(t, 0) // 2, max(t, 0) - max(t, 0) // 2))
    bias = [n.weight(3, n.shape(3))] if n.has(3) else []
    n.emit("conv_transpose2d", [n.tensor(2, image=True), n.weight(1, (w[3], w[0], *kernel)), *bias], image=True,
           kernel=kernel, stride=stride, dilation=(1, 1), padding=pads, groups=1,
           output_padding=tuple(max(-t, 0) for t in over))  # fmt: skip


def pool(kind: str) -> Callable[[Node], None]:
    def make(n: Node) -> None:
        x = n.shape(0)
        kernel, stride = (n.option("FilterHeight"), n.option("FilterWidth")), _pair(n, "Stride")
        if len(x) != 4 or min(kernel) < 1:
            raise GraphError(f"a window of {kernel} does not fit the input {x}")
        n.emit(kind, [n.tensor(0, image=True)], image=True, kernel=kernel, stride=stride, dilation=(1, 1),
               padding=_padding(n, x[1:3], kernel, stride, (1, 1)))  # fmt: skip

    return make
