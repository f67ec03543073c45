"""Operators on images, whose windows have a kernel, a stride, a padding: convolutions, poolings, upsampling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import GraphError, pair, whole
from ..graph import Tensor
from .base import Base, weight_and_bias

Pair = int | tuple[int, int]
Padding = int | tuple[int, ...] | str


def _pool(kind: str, each: str) -> Callable[..., Tensor]:
    def method(
        self: Windows,
        x: Tensor,
        kernel: Pair,
        *,
        stride: Pair | None = None,
        padding: Padding = 0,
        name: str | None = None,
    ) -> Tensor:
        name = self._name(kind, name)
        return self._add(name, kind, [x], **_window(name, x, kernel, kernel if stride is None else stride, padding))

    method.__name__, method.__doc__ = kind, f"{each} of each window; `stride` is the kernel's size unless given."
    return method


class Windows(Base):
    """Methods that add operators on images."""

    def conv2d(
        self,
        x: Tensor,
        channels: int,
        kernel: Pair = 1,
        *,
        stride: Pair = 1,
        padding: Padding = 0,
        dilation: Pair = 1,
        groups: int = 1,
        bias: bool = True,
        weight: Tensor | None = None,
        name: str | None = None,
    ) -> Tensor:
        """Convolution to `channels` output channels.

        Parameters
        ----------
        kernel, stride, dilation : int or (height, width)
        padding : int, (height, width), (top, bottom, left, right) or "same"
            "same" keeps ceil(size / stride), as TensorFlow does.
        groups : int
            Channels are split in this many groups that do not mix; `groups` = input channels is depthwise.
        """
        name = self._name("conv", name)
        channels, groups = whole(f"{name}: channels", channels), whole(f"{name}: groups", groups)
        window = _window(name, x, kernel, stride, padding, dilation)
        _check_groups(name, x, channels, groups)
        shape = (channels, x.shape[1] // groups, *window["kernel"])
        weights = weight_and_bias(name, weight, shape, channels if bias else None)
        return self._add(name, "conv2d", [x, *weights], **window, groups=groups)

    def conv_transpose2d(
        self,
        x: Tensor,
        channels: int,
        kernel: Pair = 2,
        *,
        stride: Pair = 1,
        padding: int | tuple[int, ...] = 0,
        output_padding: Pair = 0,
        dilation: Pair = 1,
        groups: int = 1,
        bias: bool = True,
        weight: Tensor | None = None,
        name: str | None = None,
    ) -> Tensor:
        """Transposed convolution ("deconvolution"): every input value spreads over a window of the output."""
        name = self._name("conv_transpose", name)
        channels, groups = whole(f"{name}: channels", channels), whole(f"{name}: groups", groups)
        if isinstance(padding, str):
            raise GraphError(f"{name}: padding must be whole numbers, not {padding!r}")
        window = _window(name, x, kernel, stride, padding, dilation)
        _check_groups(name, x, channels, groups)
        shape = (x.shape[1], channels // groups, *window["kernel"])
        weights = weight_and_bias(name, weight, shape, channels if bias else None)
        extra = pair(f"{name}: output_padding", output_padding, at_least=0)
        return self._add(name, "conv_transpose2d", [x, *weights], **window, groups=groups, output_padding=extra)

    max_pool = _pool("max_pool", "Largest value")
    avg_pool = _pool("avg_pool", "Mean")

    def global_avg_pool(self, x: Tensor, *, name: str | None = None) -> Tensor:
        """Mean over the whole image: an average pooling with one window, (N, C, 1, 1)."""
        name = self._name("global_avg_pool", name)
        _check_image(name, x)
        return self.avg_pool(x, (x.shape[2], x.shape[3]), name=name)

    def upsample(self, x: Tensor, scale: int, *, mode: str = "nearest", name: str | None = None) -> Tensor:
        """Enlarge height and width by a whole factor; mode "nearest" or "bilinear"."""
        name = self._name("upsample", name)
        if mode not in ("nearest", "bilinear"):
            raise GraphError(f'{name}: mode must be "nearest" or "bilinear", not {mode!r}')
        return self._add(name, f"upsample_{mode}", [x], scale=whole(f"{name}: scale", scale))


def _window(
    name: str, x: Tensor, kernel: Pair, stride: Pair, padding: Padding, dilation: Pair = 1
) -> dict[str, tuple[int, ...]]:
    """The attributes of a windowed operator, each axis by itself."""
    _check_image(name, x)
    k, s, d = (
        pair(f"{name}: {what}", v) for what, v in (("kernel", kernel), ("stride", stride), ("dilation", dilation))
    )
    return {"kernel": k, "stride": s, "dilation": d, "padding": _padding(name, x, k, s, d, padding)}


def _padding(
    name: str, x: Tensor, kernel: tuple[int, int], stride: tuple[int, int], dilation: tuple[int, int], padding: Any
) -> tuple[int, int, int, int]:
    """(top, bottom, left, right) from any of the accepted forms."""
    if padding == "same":
        sides: list[int] = []
        for size, k, s, d in zip(x.shape[2:], kernel, stride, dilation, strict=True):
            total = max((-(-size // s) - 1) * s + d * (k - 1) + 1 - size, 0)
            sides += [total // 2, total - total // 2]  # the odd one goes behind, as TensorFlow does
        return sides[0], sides[1], sides[2], sides[3]
    if isinstance(padding, (tuple, list)) and len(padding) == 4:
        top, bottom, left, right = (whole(f"{name}: padding", p, at_least=0) for p in padding)
        return top, bottom, left, right
    if isinstance(padding, str):
        raise GraphError(f'{name}: padding must be whole numbers or "same", not {padding!r}')
    height, width = pair(f"{name}: padding", padding, at_least=0)
    return height, height, width, width


def _check_image(name: str, x: Tensor) -> None:
    if len(x.shape) != 4:
        raise GraphError(f"{name}: {x.name} must have the shape (batch, channels, height, width), not {x.shape}")


def _check_groups(name: str, x: Tensor, channels: int, groups: int) -> None:
    if x.shape[1] % groups:
        raise GraphError(f"{name}: {groups} groups do not divide the {x.shape[1]} input channels of {x.name}")
    if channels % groups:
        raise GraphError(f"{name}: {groups} groups do not divide the {channels} output channels")
