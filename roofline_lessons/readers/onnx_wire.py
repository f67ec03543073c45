"""An ONNX file without its weights: the bytes of a model, large tensors' numbers left out.

An ONNX file is a protobuf message, and nearly all of it is the numbers of weights, of which only the shapes matter
here. This walks over the fields of the message and copies everything but long numbers and comments, so that a file of
any size is read in the time and memory that its *graph* needs. It is also the first guard: a length that points beyond
the end of the file, or more fields than any real graph has, ends the reading before anything is made of them.

References
----------
Protobuf encoding, https://protobuf.dev/programming-guides/encoding; field numbers from onnx.proto (ONNX 1.x).
"""

from __future__ import annotations

from .assembly import MOST_OPERATORS

#: Numbers of a tensor up to so many bytes are kept: shapes, axes, scales.
KEPT_BYTES = 8192

#: More fields than any real graph has (one of ten thousand nodes has some 200,000).
MOST_FIELDS = 1_000_000

#: Graphs within graphs (If, Loop) are not nested deeper in real files.
MOST_DEEP = 24

#: Message -> field -> the message that the field holds.
_HOLDS = {
    "model": {7: "graph", 25: "function"},
    "graph": {1: "node", 5: "tensor", 15: "sparse tensor"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse tensor", 23: "sparse tensor"},
    "sparse tensor": {1: "tensor", 2: "tensor"},
}

#: Message -> fields left out when they are long: numbers of tensors (float, int32, string, int64, raw, double,
#: uint64), texts, comments, metadata, training graphs.
_LONG = {
    "tensor": {4, 5, 6, 7, 9, 10, 11},
    "attribute": {4, 9},
    "node": {6, 9, 10},
    "graph": {10, 14, 16},
    "model": {6, 14, 20, 26},
    "function": {8, 14},
}


#: The type of one input or output is short; a long one is made of millions of dimensions.
_SHORT = {"graph": {11, 12, 13}}


class Damaged(ValueError):
    """The bytes are no protobuf message, or none that a real model would be."""


def without_weights(data: memoryview) -> bytes:
    """The bytes of a model with long numbers and comments left out.

    Raises
    ------
    Damaged
        The bytes do not form a message, or hold more fields or deeper graphs than a real model.
    """
    kept = _Walk(data).message(0, len(data), "model", 0)
    return bytes(data) if kept is None else kept


class _Walk:
    def __init__(self, data: memoryview) -> None:
        self.data, self.fields_left, self.nodes_left = data, MOST_FIELDS, MOST_OPERATORS

    def message(self, at: int, end: int, kind: str, deep: int) -> bytes | None:
        """What is kept of a message; None where all of it is."""
        if deep > MOST_DEEP:
            raise Damaged("graphs are nested too deeply")
        holds, long, short = _HOLDS.get(kind, {}), _LONG.get(kind, ()), _SHORT.get(kind, ())
        pieces: list[bytes] = []
        copied = at
        while at < end:
            start = at
            field, at, inside = self.field(at, end)
            length = at - inside
            self.nodes_left -= kind == "graph" and field == 1
            if self.nodes_left < 0:
                raise Damaged(f"more than {MOST_OPERATORS:,} nodes")
            if length > KEPT_BYTES and field in short:
                raise Damaged(f"the type of an input or output takes {length:,} bytes")
            if length > KEPT_BYTES and field in long:
                pieces.append(bytes(self.data[copied:start]))
                copied = at
            elif length and field in holds:
                inner = self.message(inside, at, holds[field], deep + 1)
                if inner is not None:
                    head = _varint(field << 3 | 2) + _varint(len(inner))
                    pieces += [bytes(self.data[copied:start]), head, inner]
                    copied = at
        return None if not pieces else b"".join([*pieces, bytes(self.data[copied:end])])

    def field(self, at: int, end: int) -> tuple[int, int, int]:
        """(number of the field that starts here, where it ends, where the bytes it holds start, if it holds any)."""
        self.fields_left -= 1
        if self.fields_left < 0:
            raise Damaged(f"more than {MOST_FIELDS:,} fields")
        start = at
        tag, at = self.varint(at, end)
        wire, inside = tag & 7, 0
        if wire == 2:
            length, inside = self.varint(at, end)
            at = inside + length
            if at > end:
                raise Damaged(f"a field claims {length:,} bytes where {end - inside:,} are left: the file is cut off")
        elif wire == 0:
            _, at = self.varint(at, end)
        elif wire in (1, 5):
            at += 8 if wire == 1 else 4
        if wire in (3, 4, 6, 7) or at > end or tag < 8:
            raise Damaged(f"byte {start:,} starts no field")
        return tag >> 3, at, inside if wire == 2 else at

    def varint(self, at: int, end: int) -> tuple[int, int]:
        """A number and the place behind it."""
        data = self.data
        if at < end and data[at] < 128:  # nearly always
            return data[at], at + 1
        value = shift = 0
        while at < end:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value, at
            shift += 7
            if shift > 63:
                raise Damaged(f"byte {at:,} belongs to no number")
        raise Damaged("the file is cut off within a number")


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
