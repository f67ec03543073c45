"""Opening a model file: whatever the path turns out to be, the answer is bytes or a sentence."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .assembly import model_file_error


@contextmanager
def opened(path: Path) -> Iterator[memoryview]:
    """The bytes of a file, without reading what nobody looks at.

    Raises
    ------
    ModelFileError
        No such file, a folder, a device, an empty file, no right to read it.
    """
    try:
        if path.is_dir():
            raise model_file_error(path, "it is a folder; the path of a model file is needed")
        if not path.exists():
            raise model_file_error(path, f"there is no such file in {path.parent.resolve()}")
        if not path.is_file():
            raise model_file_error(path, "it is no regular file")
        if path.stat().st_size == 0:
            raise model_file_error(path, "the file is empty")
        file = path.open("rb")
    except (OSError, ValueError) as error:
        if isinstance(error, OSError):
            raise model_file_error(path, f"it cannot be opened ({error.strerror or error})") from error
        raise
    with file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        with memoryview(mapped) as data:
            yield data
