"""Small TensorFlow Lite files for tests, written with the schema's own functions: no TensorFlow."""

from __future__ import annotations

import flatbuffers
import numpy as np
import tflite

TYPES = {"float32": 0, "float16": 1, "int32": 2, "uint8": 3, "int64": 4, "int8": 9}


class Maker:
    """A file, tensor by tensor and operator by operator."""

    def __init__(self):
        self.tensors, self.operators, self.codes = [], [], []
        self.inputs, self.outputs = [], []

    def tensor(self, name, shape, dtype="float32", data=None):
        """An activation, or a constant where there is data (True: as many zeros as it needs)."""
        if data is True:
            data = np.zeros(shape, dtype)
        raw = b"" if data is None else np.array(data, dtype).tobytes()
        self.tensors.append((name, tuple(shape), TYPES[dtype], raw))
        return len(self.tensors) - 1

    def input(self, name, shape, dtype="float32"):
        self.inputs.append(self.tensor(name, shape, dtype))
        return self.inputs[-1]

    def op(self, op_type, inputs, outputs, options="", custom="", **settings):
        code = (getattr(tflite.BuiltinOperator, op_type), custom)
        if code not in self.codes:
            self.codes.append(code)
        self.operators.append((self.codes.index(code), inputs, outputs, options, settings))
        return outputs[0] if outputs else None

    def bytes(self):
        b = flatbuffers.Builder(1024)
        buffers = self._buffers(b)
        tensors = [self._tensor(b, i, t) for i, t in enumerate(self.tensors)]
        operators = [self._operator(b, *op) for op in self.operators]
        inputs, outputs = (_ints(b, tflite.SubGraphStartInputsVector, v) for v in (self.inputs, self.outputs))
        all_tensors = _offsets(b, tflite.SubGraphStartTensorsVector, tensors)
        all_operators = _offsets(b, tflite.SubGraphStartOperatorsVector, operators)
        tflite.SubGraphStart(b)
        tflite.SubGraphAddTensors(b, all_tensors)
        tflite.SubGraphAddInputs(b, inputs)
        tflite.SubGraphAddOutputs(b, outputs)
        tflite.SubGraphAddOperators(b, all_operators)
        graph = tflite.SubGraphEnd(b)
        graphs = _offsets(b, tflite.ModelStartSubgraphsVector, [graph])
        codes = _offsets(b, tflite.ModelStartOperatorCodesVector, [_code(b, *c) for c in self.codes])
        tflite.ModelStart(b)
        tflite.ModelAddVersion(b, 3)
        tflite.ModelAddOperatorCodes(b, codes)
        tflite.ModelAddSubgraphs(b, graphs)
        tflite.ModelAddBuffers(b, buffers)
        b.Finish(tflite.ModelEnd(b), b"TFL3")
        return bytes(b.Output())

    def _buffers(self, b):
        made = []
        for raw in [b"", *(t[3] for t in self.tensors)]:
            data = b.CreateByteVector(raw) if raw else None
            tflite.BufferStart(b)
            if data is not None:
                tflite.BufferAddData(b, data)
            made.append(tflite.BufferEnd(b))
        return _offsets(b, tflite.ModelStartBuffersVector, made)

    def _tensor(self, b, i, tensor):
        name, shape, dtype, raw = tensor
        text, dims = b.CreateString(name), _ints(b, tflite.TensorStartShapeVector, shape)
        tflite.TensorStart(b)
        tflite.TensorAddName(b, text)
        tflite.TensorAddShape(b, dims)
        tflite.TensorAddType(b, dtype)
        tflite.TensorAddBuffer(b, i + 1 if raw else 0)
        return tflite.TensorEnd(b)

    def _operator(self, b, code, inputs, outputs, options, settings):
        table = None
        if options:
            getattr(tflite, f"{options}Start")(b)
            for key, value in settings.items():
                getattr(tflite, f"{options}Add{key}")(b, value)
            table = getattr(tflite, f"{options}End")(b)
        reads, makes = (_ints(b, start, v) for start, v in (
            (tflite.OperatorStartInputsVector, inputs), (tflite.OperatorStartOutputsVector, outputs),
        ))  # fmt: skip
        tflite.OperatorStart(b)
        tflite.OperatorAddOpcodeIndex(b, code)
        tflite.OperatorAddInputs(b, reads)
        tflite.OperatorAddOutputs(b, makes)
        if table is not None:
            tflite.OperatorAddBuiltinOptionsType(b, getattr(tflite.BuiltinOptions, options))
            tflite.OperatorAddBuiltinOptions(b, table)
        return tflite.OperatorEnd(b)


def _code(b, number, custom):
    text = b.CreateString(custom) if custom else None
    tflite.OperatorCodeStart(b)
    tflite.OperatorCodeAddDeprecatedBuiltinCode(b, min(number, 127))
    tflite.OperatorCodeAddBuiltinCode(b, number)
    if text is not None:
        tflite.OperatorCodeAddCustomCode(b, text)
    return tflite.OperatorCodeEnd(b)


def _ints(b, start, values):
    start(b, len(values))
    for v in reversed(values):
        b.PrependInt32(v)
    return b.EndVector()


def _offsets(b, start, values):
    start(b, len(values))
    for v in reversed(values):
        b.PrependUOffsetTRelative(v)
    return b.EndVector()
