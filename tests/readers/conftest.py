"""Where the readers' tests find real files."""

import os
from pathlib import Path

import onnx
import pytest

ROOT = Path(__file__).resolve().parents[2]


def shared_folder():
    """The folder with the MLPerf Tiny models: beside the repository, or where ROOFLINE_SHARED says."""
    return Path(os.environ.get("ROOFLINE_SHARED", ROOT.parent / "shared"))


@pytest.fixture(scope="session")
def shared():
    folder = shared_folder()
    if not (folder / "models").is_dir():
        pytest.skip(f"no models in {folder} (ROOFLINE_SHARED names another folder): the MLPerf Tiny files are not ours")
    return folder


def light_models():
    """Real topologies with filled weights that the onnx wheel brings."""
    return sorted((Path(onnx.__file__).parent / "backend/test/data/light").glob("*.onnx"))
