"""The still pictures that stand in the lessons for readers without a kernel: `make pictures` draws them.

Each picture carries a fingerprint of everything it shows and of the code that draws it. A test compares fingerprints,
because the bytes of a drawing differ a little from machine to machine.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import roofline_lessons as rl
from roofline_lessons import plots
from roofline_lessons.scenes import RooflineScene

IMAGES = Path(__file__).parents[2] / "notebooks" / "images"

#: File name -> what it shows, and the function that draws it.
PICTURES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "explorer.svg": (lambda: RooflineScene("MobileNetV2", device="raspberry-pi-5"), plots.roofline),
    "times.svg": (lambda: depthwise_block(), plots.times),
}


def depthwise_block() -> rl.Estimate:
    """The block of lesson 01 on its device."""
    b = rl.GraphBuilder("depthwise block")
    x = b.input("x", (1, 144, 56, 56))
    y = b.relu6(b.batch_norm(b.conv2d(x, 144, kernel=3, padding=1, groups=144, bias=False)))
    return rl.estimate(rl.unfused(b.build(outputs=[y])), rl.device("raspberry-pi-5"), precision="fp32")


def fingerprint(shown: Any) -> str:
    """A digest of the numbers and texts of a picture, at the digits a reader could see, and of `plots.py`."""
    content = shown.marks if isinstance(shown, RooflineScene) else [k.because for k in shown.kernels]
    text = json.dumps(json.loads(json.dumps(content), parse_float=lambda v: rl.number(float(v), 4)), sort_keys=True)
    return hashlib.sha256((text + inspect.getsource(plots)).encode()).hexdigest()[:16]


def kept_fingerprint(path: Path) -> str:
    """The fingerprint in a picture, "" where there is none."""
    found = re.search(r"fingerprint ([0-9a-f]{16})", path.read_text(encoding="utf-8")) if path.exists() else None
    return found[1] if found else ""


def draw(name: str) -> None:
    """Draw one picture into the folder of the notebooks."""
    import matplotlib

    make, plot = PICTURES[name]
    shown = make()
    settings = {"svg.hashsalt": name, "svg.fonttype": "none", "font.family": "sans-serif"}
    with matplotlib.rc_context(settings):
        plot(shown).savefig(
            IMAGES / name,
            metadata={"Date": None, "Description": f"fingerprint {fingerprint(shown)}"},
            facecolor="white",
        )


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    for name in PICTURES:
        draw(name)
        print(f"{IMAGES / name}: drawn")
