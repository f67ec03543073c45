"""ONNX operators with windows: convolutions and poolings, with all the ways to say how an image is padded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import GraphError
from ..graph import Tensor
from .assembly import NotKnown
from .onnx_node import Node


def conv(n: Node) -> None:
    """Over one or two axes; one axis is an image of height 1."""
    x, w = n.shape(0), n.shape(1)
    axes = _axes(x, w)
    kernel = w[2:]
    window = _window(n, x[2:], kernel)
    bias = [n.tensor(2, "weight")] if n.has(2) else []
    _emit(n, "conv2d", axes, [n.tensor(1, "weight", _flat(w))], bias, window, groups=n.get("group", 1))


def conv_transpose(n: Node) -> None:
    """Padding crops the output; `output_shape` says how much instead."""
    x, w = n.shape(0), n.shape(1)
    axes, kernel = _axes(x, w), w[2:]
    stride, dilation = n.pair("strides", 1, axes), n.pair("dilations", 1, axes)
    extra = n.get("output_padding", ()) or (0,) * axes
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    full = [(size - 1) * s + r + e for size, s, r, e in zip(x[2:], stride, reach, extra, strict=True)]
    wanted = n.get("output_shape", ())[-axes:]
    if not wanted and n.get("auto_pad", "NOTSET").startswith("SAME"):
        wanted = tuple(size * s for size, s in zip(x[2:], stride, strict=True))
    pads = _share(n, [f - w for f, w in zip(full, wanted, strict=True)]) if wanted else _pads(n, axes)
    if any(p < 0 for p in pads):
        raise NotKnown("an output larger than the windows reach")
    window = {"kernel": kernel, "stride": stride, "dilation": dilation, "padding": pads}
    bias = [n.tensor(2, "weight")] if n.has(2) else []
    weight = n.tensor(1, "weight", _flat(w))
    _emit(n, "conv_transpose2d", axes, [weight], bias, window, groups=n.get("group", 1), output_padding=extra)


def max_pool(n: Node) -> None:
    if n.wanted(1):
        raise NotKnown("places of the largest values")
    _pool(n, "max_pool")


def average_pool(n: Node) -> None:
    _pool(n, "avg_pool")


def global_pool(windowed: str, reduced: str) -> Callable[[Node], None]:
    """One window over the whole image; over one or three axes, a reduction."""

    def make(n: Node) -> None:
        x = n.shape(0)
        if len(x) == 4:
            whole: dict[str, Any] = {"kernel": x[2:], "stride": (1, 1), "dilation": (1, 1), "padding": (0, 0, 0, 0)}
            n.emit(windowed, [n.tensor(0)], **whole)
        else:
            n.emit(reduced, [n.tensor(0)], axes=tuple(range(2, len(x))), keepdims=True)

    return make


def _pool(n: Node, kind: str) -> None:
    x = n.shape(0)
    kernel = n.pair("kernel_shape", 0, len(x) - 2)
    _emit(n, kind, _axes(x, x[:2] + kernel), [], [], _window(n, x[2:], kernel, n.get("ceil_mode", 0)))


def _axes(x: Sequence[int], w: Sequence[int]) -> int:
    """How many axes the windows have: one or two."""
    if len(x) != len(w):
        raise GraphError(f"the input {tuple(x)} and the window {tuple(w)} have different numbers of axes")
    if len(x) not in (3, 4):
        raise NotKnown(f"{len(x) - 2} axes")
    return len(x) - 2


def _flat(w: tuple[int, ...]) -> tuple[int, ...]:
    """The weight as one of a window of height 1, where it has one axis."""
    return w if len(w) == 4 else (*w[:2], 1, *w[2:])


def _emit(
    n: Node, kind: str, axes: int, weight: list[Tensor], bias: list[Tensor], window: dict[str, Any], **a: Any
) -> None:  # fmt: skip
    x = n.tensor(0)
    if axes == 2:
        n.emit(kind, [x, *weight, *bias], **window, **a)
        return
    image = n.reshaped(x, (*x.shape[:2], 1, x.shape[2]))
    pads = window.pop("padding")
    both = {key: (1, *value) for key, value in window.items()}
    if "output_padding" in a:
        a["output_padding"] = (0, *a["output_padding"])
    made = n.before(kind, [image, *weight, *bias], kind, **both, padding=(0, 0, *pads), **a)
    n.emit("reshape", [made], shape=(*made.shape[:2], made.shape[3]))


def _window(n: Node, size: Sequence[int], kernel: Sequence[int], ceil: int = 0) -> dict[str, Any]:
    """Kernel, stride, dilation, and padding (top, bottom, left, right)."""
    axes = len(size)
    stride, dilation = n.pair("strides", 1, axes), n.pair("dilations", 1, axes)
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    mode = n.get("auto_pad", "NOTSET")
    if mode.startswith("SAME"):
        rows = zip(size, stride, reach, strict=True)
        pads = _share(n, [max((-(-length // s) - 1) * s + r - length, 0) for length, s, r in rows])
    else:
        pads = (0,) * (2 * axes) if mode == "VALID" else _pads(n, axes)
    if ceil:
        pads = _rounded_up(size, stride, reach, pads)
    return {"kernel": tuple(kernel), "stride": stride, "dilation": dilation, "padding": pads}


def _pads(n: Node, axes: int) -> tuple[int, ...]:
    """From ONNX's order (all begins, all ends) to begin and end of each axis."""
    pads = n.get("pads", ()) or (0,) * (2 * axes)
    if len(pads) != 2 * axes or any(p < 0 for p in pads):
        raise GraphError(f"pads must be {2 * axes} whole numbers of at least 0, not {pads!r:.60}")
    return tuple(pads[side * axes + i] for i in range(axes) for side in (0, 1))


def _share(n: Node, total: Sequence[int]) -> tuple[int, ...]:
    """Padding in two halves; the odd one goes behind, with SAME_LOWER in front."""
    lower = n.get("auto_pad", "NOTSET") == "SAME_LOWER"
    return tuple(p for t in total for p in ((t - t // 2, t // 2) if lower else (t // 2, t - t // 2)))


def _rounded_up(
    size: Sequence[int], stride: Sequence[int], reach: Sequence[int], pads: tuple[int, ...]
) -> tuple[int, ...]:
    """`ceil_mode`: a last window that reaches beyond the padding, unless all of it would lie there."""
    out = list(pads)
    for i, (length, s, r) in enumerate(zip(size, stride, reach, strict=True)):
        before, after = pads[2 * i : 2 * i + 2]
        windows = -(-(length + before + after - r) // s) + 1
        if (windows - 1) * s >= length + before:
            windows -= 1
        out[2 * i + 1] = max(after, (windows - 1) * s + r - length - before)
    return tuple(out)
