"""Mutations of real files: each gives a graph that can be estimated, or a `ModelFileError`, and nothing else.

The ordinary run tries some hundred cases. Thousands: ``FUZZ_CASES=5000 python -m pytest tests/readers/test_fuzz.py``.
"""

import os
import time
import warnings

import onnx
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import roofline_lessons as rl
from tests.readers.conftest import light_models, shared_folder
from tests.readers.making import BOOL, INT64, floats, info, ints, model, node
from tests.readers.test_broken import a_tflite

CASES = int(os.environ.get("FUZZ_CASES", 60))
TOY = rl.Device("toy", peak={"fp32": 1e12}, bandwidth=1e11)

#: No shrinking and no deadline: what counts is that each case ends well.
fuzz = settings(
    max_examples=CASES, deadline=None, phases=[Phase.generate], database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip

EXTREMES = [0, 1, -1, 2, 7, 63, 64, 255, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, -(2**63), -(2**31)]


class Content(bytes):
    """A file's bytes, which nobody wants to see when a case fails: the file itself stays in the test's folder."""

    def __repr__(self):
        return f"<{len(self)} bytes>"


def tries(read, content, folder):
    """Read a file with this content; what reads is estimated."""
    path = folder / "fuzzed.bin"
    path.write_bytes(content)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", rl.ModelFileWarning)
        try:
            graph = read(path)
        except rl.ModelFileError as error:
            assert str(error).startswith("fuzzed.bin")
        else:
            est = rl.estimate(rl.unfused(graph), TOY)
            assert est.seconds >= 0 and 0 <= est.unknown_bytes_share <= 1
    assert time.perf_counter() - start < 5


def control_flow():
    """If, Loop, LSTM, quantisation, shapes that are computed: what the light models do not have."""
    from tests.readers.test_onnx import branch, loop_body, qdq

    x, weights = info("x", (4, 64)), [floats("w", 1, 32, 64), floats("r", 1, 32, 8)]
    scale, zero = ints("s", 0.1, "float32"), ints("z", 0, "int8")
    both = {"then_branch": branch("t", "Relu", 1), "else_branch": branch("e", "Sigmoid", 2)}
    nodes = [
        node("If", ["c"], ["a"], **both), node("Loop", ["n", "", "a"], ["b", "rows"], body=loop_body()), *qdq("b"),
        node("Shape", ["b_dq"], ["sh"]), node("Reshape", ["b_dq", "sh"], ["d"]), node("Unsqueeze", ["d", "ax"], ["u"]),
        node("LSTM", ["u", "w", "r"], ["y", "h"], hidden_size=8), node("Slice", ["d", "ax", "n1"], ["k"]),
        node("Softmax", ["k"], ["o"], axis=-1), node("TopK", ["o", "n1"], ["top", "i"]),
    ]  # fmt: skip
    constants = [*weights, scale, zero, ints("n", 3), ints("ax", [0]), ints("n1", [2])]
    outputs = [info(n, None) for n in ("y", "o", "rows")] + [info("i", None, INT64)]
    return model(nodes, [x, info("c", (), BOOL)], outputs, constants).SerializeToString()


def tflite_files():
    found = sorted((shared_folder() / "models").glob("*.tflite"))
    small = [f.read_bytes() for f in found if f.stat().st_size < 100_000]
    return [a_tflite(), *small]


FILES = {
    "onnx": [control_flow(), *(f.read_bytes() for f in light_models() if f.stat().st_size < 100_000)],
    "tflite": tflite_files(),
}


@st.composite
def damaged(draw, kind):
    """A real file with some bytes changed, cut out, doubled, or its end cut off."""
    content = bytearray(FILES[kind][draw(st.integers(0, len(FILES[kind]) - 1))])
    for _ in range(draw(st.integers(1, 8))):
        if len(content) < 8:
            break
        at = draw(st.integers(0, len(content) - 4))
        what = draw(st.sampled_from(["byte", "byte", "bits", "number", "number", "cut", "double", "end"]))
        size = draw(st.integers(1, 64))
        if what == "byte":
            content[at] = draw(st.integers(0, 255))
        elif what == "bits":
            content[at] ^= 1 << draw(st.integers(0, 7))
        elif what == "number":
            content[at : at + 4] = (draw(st.sampled_from(EXTREMES)) % 2**32).to_bytes(4, "little")
        elif what == "cut":
            del content[at : at + size]
        elif what == "double":
            content[at:at] = content[at : at + size]
        else:
            del content[at:]
    return Content(content)


@given(content=damaged("onnx"))
@fuzz
def test_damaged_onnx_files(content, tmp_path):
    tries(rl.read_onnx, content, tmp_path)


@given(content=damaged("tflite"))
@fuzz
def test_damaged_tflite_files(content, tmp_path):
    tries(rl.read_tflite, content, tmp_path)


def fields_of(message, found=None):
    """Every (message, field, place in a list or None) that holds a number or a text."""
    found = [] if found is None else found
    for field, value in message.ListFields():
        items = list(value) if field.is_repeated else [value]
        for i, item in enumerate(items):
            if field.message_type is not None:
                fields_of(item, found)
            else:
                found.append((message, field, i if field.is_repeated else None))
    return found


@st.composite
def wrong(draw):
    """A valid message of a real model in which some numbers and names are others, or nodes are missing or doubled."""
    made = onnx.ModelProto.FromString(FILES["onnx"][draw(st.integers(0, len(FILES["onnx"]) - 1))])
    found = fields_of(made)
    texts = [n for m, f, _ in found if f.type == f.TYPE_STRING for n in [getattr(m, f.name)] if isinstance(n, str)]
    for _ in range(draw(st.integers(1, 6))):
        message, field, place = found[draw(st.integers(0, len(found) - 1))]
        if field.type == field.TYPE_STRING:
            value = draw(st.sampled_from([*texts[:50], "", "x", "no such name", "../../x"]))
        elif field.type == field.TYPE_BYTES:
            value = draw(st.binary(max_size=16))
        elif field.type in (field.TYPE_FLOAT, field.TYPE_DOUBLE):
            value = draw(st.sampled_from([0.0, 1.0, -1.5, 1e30, float("inf"), float("nan")]))
        else:
            value = draw(st.sampled_from(EXTREMES))
        try:
            if place is None:
                setattr(message, field.name, value)
            else:
                getattr(message, field.name)[place] = value
        except (ValueError, IndexError, TypeError):
            pass  # out of the field's range
    nodes = made.graph.node
    if draw(st.booleans()) and len(nodes):
        at = draw(st.integers(0, len(nodes) - 1))
        nodes.add().CopyFrom(nodes[at]) if draw(st.booleans()) else nodes.__delitem__(at)
    return Content(made.SerializeToString())


@given(content=wrong())
@fuzz
def test_wrong_onnx_models(content, tmp_path):
    tries(rl.read_onnx, content, tmp_path)


@given(content=st.binary(max_size=2000))
@fuzz
def test_any_bytes(content, tmp_path):
    tries(rl.read_model, content, tmp_path)


def test_the_files_are_read_as_they_are(tmp_path):
    """Otherwise the cases above would say nothing."""
    for read, files in ((rl.read_onnx, FILES["onnx"]), (rl.read_tflite, FILES["tflite"])):
        for content in files:
            path = tmp_path / "real.bin"
            path.write_bytes(content)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", rl.ModelFileWarning)
                assert len(read(path)) > 1
