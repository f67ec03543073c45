"""Fetches the two JavaScript files that `export_html` puts into its pages and no Python package carries.

    python scripts/vendor_js.py     (needs npm; run it when the version of ipywidgets changes)

They are stored compressed in roofline_lessons/widgets/vendor, with their licences; README.md there says what and where.
"""

from __future__ import annotations

import gzip
import hashlib
import subprocess
import tarfile
import tempfile
from pathlib import Path

VENDOR = Path(__file__).parents[1] / "roofline_lessons" / "widgets" / "vendor"

#: npm package, version, file in it, name here, licence file in it.
FILES = [
    ("@jupyter-widgets/html-manager", "1.0.14", "dist/embed-amd.js", "embed-amd.js", "LICENSE"),
    ("requirejs", "2.3.8", "require.js", "require.js", None),
]


def fetch() -> None:
    rows = []
    for package, version, inside, name, licence in FILES:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["npm", "pack", f"{package}@{version}"], cwd=folder, check=True, capture_output=True)
            with tarfile.open(next(Path(folder).glob("*.tgz"))) as archive:
                code = archive.extractfile(f"package/{inside}").read()
                if licence:
                    (VENDOR / f"{name}.LICENSE").write_bytes(archive.extractfile(f"package/{licence}").read())
        (VENDOR / f"{name}.gz").write_bytes(gzip.compress(code, 9, mtime=0))
        rows.append(f"| {name}.gz | {package} {version}, {inside} | {hashlib.sha256(code).hexdigest()} |")
    table = "\n".join(["| file | from npm | sha256 of the unpacked file |", "|---|---|---|", *rows])
    (VENDOR / "README.md").write_text(
        "JavaScript of others, unchanged and compressed, for the pages that `export_html` writes.\n"
        "`scripts/vendor_js.py` fetched it; a test compares the sums.\n\n"
        f"{table}\n\nembed-amd.js: BSD-3-Clause, see embed-amd.js.LICENSE. require.js: MIT, see the head of the file.\n"
    )


if __name__ == "__main__":
    fetch()
