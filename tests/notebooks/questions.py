"""The questions as text, for readers without a kernel: `python -m tests.notebooks.questions` writes them.

A question is a widget, and without a kernel a page draws none. So the cell of each question keeps one output: the
question in words. A learner's own run puts the widget in its place.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from tests.notebooks.reading import LESSONS, questions


def output(text: str | list[str]) -> list[dict[str, Any]]:
    """What the cell of a question keeps."""
    return [{"data": {"text/plain": text}, "metadata": {}, "output_type": "display_data"}]


def write(path: Path) -> None:
    """Put the question into the output of each cell that asks one, and mark the cell as one that keeps it."""
    asked = questions(path)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for count, cell in enumerate((c for c in notebook["cells"] if c["cell_type"] == "code"), start=1):
        if cell["id"] in asked:
            tags = cell["metadata"].setdefault("tags", [])
            tags += ["keep_output"] * ("keep_output" not in tags)
            cell["outputs"] = output([repr(asked[cell["id"]])])  # in a file: a list of lines
            cell["execution_count"] = count  # nbval takes an output for a mistake where nothing ran
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ROOFLINE_PROGRESS"] = str(Path(folder, "progress.json"))  # nobody's guesses
        os.environ["ROOFLINE_MACHINE"] = str(Path(folder, "machine.json"))  # nobody's measurements
        for lesson in [*LESSONS, LESSONS[0].with_name("_template.ipynb")]:
            write(lesson)
