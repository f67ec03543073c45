"""Small ONNX files for tests, a few lines each."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import roofline_lessons as rl

FLOAT, INT64, INT8, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT8, TensorProto.BOOL

node = helper.make_node


def info(name, shape, dtype=FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def floats(name, *shape):
    """A weight."""
    return numpy_helper.from_array(np.ones(shape, np.float32), name)


def ints(name, values, dtype=np.int64):
    return numpy_helper.from_array(np.array(values, dtype), name)


def model(nodes, inputs, outputs, constants=(), opset=18, ir_version=8, value_info=(), **more):
    graph = helper.make_graph(list(nodes), "test", list(inputs), list(outputs), list(constants), value_info=value_info)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1), helper.make_opsetid("own", 1)]
    made = helper.make_model(graph, opset_imports=opsets, **more)
    made.ir_version = ir_version
    return made


def write(folder, made, name="model.onnx"):
    path = folder / name
    path.write_bytes(made if isinstance(made, bytes) else made.SerializeToString())
    return path


def varint(value):
    """A number as protobuf writes it."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def field(number, content):
    """A field of protobuf with a length."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def refused(read, path, words=None, most_bytes=None):
    """Reading must fail with a ModelFileError that names the file, within a second and in little memory.

    The second is the processor's, with room for a slow one; memory is traced on another try, as tracing takes time.
    """
    size = path.stat().st_size if path.is_file() else 0
    start = time.process_time()
    with pytest.raises(rl.ModelFileError, match=words) as caught:
        read(path)
    assert time.process_time() - start < 2
    tracemalloc.start()
    try:
        with pytest.raises(rl.ModelFileError):
            read(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert str(caught.value).startswith(path.name)
    assert peak < (most_bytes or 8 * size + 4e6)
    return str(caught.value)
