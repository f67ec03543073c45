"""ONNX operators that compute nothing: views, and copies in another arrangement."""

from __future__ import annotations

from collections.abc import Callable

from .assembly import NotKnown, Value
from .onnx_node import Node, void

Make = Callable[[Node], None]


def view(n: Node) -> None:
    n.view(n.inferred())


def copy(n: Node) -> None:
    """Another arrangement of the first input's elements; other activations are indices and updates."""
    more = [n.tensor(i) for i in range(1, len(n.inputs)) if n.has(i) and not n.value(i).is_constant]
    n.emit("copy", [n.tensor(0), *more], shape=n.inferred())


def transpose(n: Node) -> None:
    """Where only axes of size 1 move, nothing does."""
    x = n.shape(0)
    axes = n.get("perm", ()) or tuple(reversed(range(len(x))))
    moved = [i for i in axes if 0 <= i < len(x) and x[i] > 1]
    if sorted(axes) == list(range(len(x))) and moved == sorted(moved):
        n.view(tuple(x[i] for i in axes))
    else:
        n.emit("transpose", [n.tensor(0)], axes=axes)


def concat(n: Node) -> None:
    parts = [n.tensor(i) for i, v in enumerate(n.inputs) if v is not None and not (v.shape and 0 in v.shape)]
    axis = n.get("axis", 1)
    n.emit("concat", parts, axis=axis, in_place=False) if len(parts) > 1 else n.emit(
        "reshape", parts, shape=parts[0].shape
    )


def split(n: Node) -> None:
    x, axis = n.tensor(0), n.get("axis", 0)
    outputs = [i for i, o in enumerate(n.outputs) if o]
    shapes = [n.inferred(i) for i in outputs]
    if len(outputs) == 1:
        return n.alias() if shapes[0] == x.shape else void(n.emit("copy", [x], shape=shapes[0]))
    sizes = tuple(s[axis] for s in shapes)
    return void(n.emit_all("split", [x], outputs, axis=axis, sizes=sizes))


def part(n: Node) -> None:
    """A slice: along one axis step by step, or any other selection as a copy."""
    x, out = n.shape(0), n.inferred()
    cut = [i for i, (a, b) in enumerate(zip(x, out, strict=True)) if a != b]
    starts = n.data(1) if n.opset >= 10 else list(n.get("starts", ()))
    axes = (n.data(3) if n.has(3) else list(range(len(starts or ())))) if n.opset >= 10 else list(n.get("axes", ()))
    steps = n.data(4) if n.has(4) else [1]
    if 0 in out:
        return n.define(0, Value(n.outputs[0], out, n.value(0).bits, n.value(0).dtype))
    if len(cut) == 1 and starts and set(steps or [0]) == {1} and axes:
        by_axis = {a % len(x): s for a, s in zip(axes, starts, strict=False)}
        start = by_axis.get(cut[0], 0)
        start = max(start + x[cut[0]], 0) if start < 0 else start
        return void(n.emit("slice", [n.tensor(0)], axis=cut[0], start=start, stop=start + out[cut[0]]))
    return n.alias() if not cut and set(steps or [0]) == {1} else void(n.emit("copy", [n.tensor(0)], shape=out))


def gather(n: Node) -> None:
    n.emit("gather", [n.tensor(0), n.tensor(1)], axis=n.get("axis", 0))


def same_shape_or(kind: str) -> Make:
    """Expand, Pad, Tile: nothing at all where the shape stays."""

    def make(n: Node) -> None:
        out = n.inferred()
        n.alias() if out == n.shape(0) else n.emit(kind, [n.tensor(0)], shape=out)

    return make


def resize(n: Node) -> None:
    """Nearest copies; linear mixes four neighbours; a whole factor is an upsampling."""
    x, out, mode = n.shape(0), n.inferred(), n.get("mode", "nearest")
    if out == x:
        return n.alias()
    factors = {b / a for a, b in zip(x[2:], out[2:], strict=True)}
    known = {"nearest": "nearest", "linear": "bilinear", "bilinear": "bilinear"}
    if mode in known and len(x) == 4 and x[:2] == out[:2] and len(factors) == 1 and factors.copy().pop().is_integer():
        return void(n.emit(f"upsample_{known[mode]}", [n.tensor(0)], scale=int(factors.pop())))
    if mode == "nearest":
        return void(n.emit("copy", [n.tensor(0)], shape=out))
    if mode not in known or len(x) != 4:
        raise NotKnown(f"mode {mode}")
    return void(n.emit("resize", [n.tensor(0)], shape=out))


def dropout(n: Node) -> None:
    """Acts in training only; its mask is nobody's."""
    n.emit("dropout", [n.tensor(0)])
    if len(n.outputs) > 1:
        n.define(1, Value(n.outputs[1], n.shape(0), 8))
