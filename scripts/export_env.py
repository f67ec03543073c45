"""Write the files that others read from the lock: environment.yml (conda) and binder/ (Binder).

`python scripts/export_env.py` writes them; with `--check` it writes nothing and fails when one is out of date.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = "requirements.lock"
PYTHON = "3.12"  # what conda and Binder bring; the lock's markers pick the right versions

NOTE = f"# Written by `make export` from {LOCK}. Do not edit.\n"


def pins(lock: str) -> list[str]:
    """The requirements of a lock, as "name==version" or "name==version ; marker", without hashes and comments."""
    return [line.removesuffix("\\").strip() for line in lock.splitlines() if line and line[0] not in "# "]


def conda(requirements: list[str]) -> str:
    """conda brings Python and pip; pip brings the lock's versions and the project itself."""
    lines = "".join(f'      - "{requirement}"\n' for requirement in [*requirements, "-e ."])
    return (
        f"{NOTE}name: roofline-lessons\nchannels:\n  - conda-forge\n  - nodefaults\n"
        f"dependencies:\n  - python={PYTHON}\n  - pip\n  - pip:\n{lines}"
    )


def binder(requirements: list[str]) -> str:
    """The same versions for Binder; the project itself is installed by binder/postBuild."""
    return NOTE + "".join(f"{requirement}\n" for requirement in requirements)


def exports() -> dict[str, str]:
    """Path -> content of every file written from the lock."""
    requirements = pins((ROOT / LOCK).read_text(encoding="utf-8"))
    return {
        "environment.yml": conda(requirements),
        "binder/requirements.txt": binder(requirements),
        "binder/runtime.txt": f"python-{PYTHON}\n",
    }


def main(arguments: list[str]) -> int:
    stale = []
    for name, content in exports().items():
        path = ROOT / name
        if path.exists() and path.read_text(encoding="utf-8") == content:
            continue
        stale.append(name)
        if "--check" not in arguments:
            path.parent.mkdir(exist_ok=True)
            path.write_text(content, encoding="utf-8", newline="\n")
            print(f"wrote {name}")
    if "--check" in arguments and stale:
        print(f"out of date with {LOCK}: {', '.join(stale)}. `make export` writes them anew.")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
