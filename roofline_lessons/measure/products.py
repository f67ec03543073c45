"""How fast matrix products run: the nearest to a peak that one can measure. NumPy, and ONNX Runtime where it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .protocol import Run, installed, repeated

_TYPES = {"fp32": np.float32, "fp64": np.float64}

#: Number format of what is multiplied -> format in which the products are added up, which is part of what a peak means:
#: a sum in a narrower format is quicker, and another peak. (No fp16: processors add its products up in several ways.)
ACCUMULATOR: Mapping[str, str] = {"fp32": "fp32", "fp64": "fp64", "int8": "int32"}


def products(size: int) -> dict[tuple[str, str], Run]:
    """Products of two square matrices by (number format, library): `flops(size)` FLOP each.

    int8 runs in ONNX Runtime alone: NumPy's integer products do not use the processor's vector instructions.
    """
    found: dict[tuple[str, str], Run] = {}
    for name, dtype in _TYPES.items():
        a, out = np.ones((size, size), dtype), np.empty((size, size), dtype)
        found[name, "numpy"] = repeated(_numpy_product(a, out))
    if installed("onnxruntime") and installed("onnx"):
        for name in ("fp32", "fp64", "int8"):
            found[name, "onnxruntime"] = repeated(_onnx_product(name, size))
    return found


def flops(size: int) -> int:
    """FLOP of the product of two square matrices; 1 MAC = 2 FLOP."""
    return 2 * size**3


def best(rates: Mapping[tuple[str, str], float]) -> dict[str, float]:
    """The fastest library's FLOP/s for each number format.

    Examples
    --------
    >>> best({("fp32", "numpy"): 1e11, ("fp32", "onnxruntime"): 2e11, ("fp64", "numpy"): 5e10})
    {'fp32': 200000000000.0, 'fp64': 50000000000.0}
    """
    formats = dict.fromkeys(name for name, _ in rates)
    return {name: max(rate for (f, _), rate in rates.items() if f == name) for name in formats}


def _numpy_product(a: np.ndarray, out: np.ndarray) -> Any:
    return lambda: np.matmul(a, a, out=out)


def _onnx_product(name: str, size: int) -> Any:
    """x times a constant matrix in ONNX Runtime; int8 multiplies into int32 as quantised networks do."""
    import onnxruntime

    dtype: Any = np.int8 if name == "int8" else _TYPES[name]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        _model(name, np.ones((size, size), dtype)), options, providers=["CPUExecutionProvider"]
    )
    x = np.ones((size, size), np.uint8 if name == "int8" else dtype)
    return lambda: session.run(None, {"x": x})


def _model(name: str, weight: np.ndarray) -> bytes:
    from onnx import TensorProto, helper, numpy_helper

    known = {"fp32": TensorProto.FLOAT, "fp64": TensorProto.DOUBLE, "int32": TensorProto.INT32}
    into, out = TensorProto.UINT8 if name == "int8" else known[name], known[ACCUMULATOR[name]]
    node = helper.make_node("MatMulInteger" if name == "int8" else "MatMul", ["x", "w"], ["y"])
    graph = helper.make_graph(
        [node],
        "product",
        [helper.make_tensor_value_info("x", into, weight.shape)],
        [helper.make_tensor_value_info("y", out, weight.shape)],
        [numpy_helper.from_array(weight, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return bytes(model.SerializeToString())
