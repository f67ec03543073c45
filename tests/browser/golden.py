"""Golden vectors: the browser's half of a scene loaded on its own, and its marks held against the Python scene's."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import roofline_lessons as rl


@contextmanager
def loaded(browser: Any, code: str) -> Iterator[Any]:
    """An empty page on which a JavaScript module's functions are in `window.made`."""
    page = browser.new_page()
    page.goto("about:blank")
    page.evaluate(
        "code => import(URL.createObjectURL(new Blob([code], {type: 'text/javascript'}))).then(m => window.made = m)",
        code,
    )
    yield page
    page.close()


def same(shown: Any, expected: Any, where: str, *, tolerance: float, gaps: bool = False) -> None:
    """The browser's marks are the scene's: texts to the letter, numbers within a relative tolerance.

    gaps : a NaN, which a line leaves out, is allowed, and must be one in both.
    """
    if isinstance(expected, dict):
        assert list(shown) == list(expected), where
        for key in expected:
            same(shown[key], expected[key], f"{where}: {key}", tolerance=tolerance, gaps=gaps)
    elif isinstance(expected, list):
        assert len(shown) == len(expected), where
        for a, b in zip(shown, expected):
            same(a, b, where, tolerance=tolerance, gaps=gaps)
    elif gaps and isinstance(expected, float) and math.isnan(expected):
        assert math.isnan(shown), where
    elif isinstance(expected, float):
        assert math.isclose(shown, expected, rel_tol=tolerance), f"{where}: {shown} is not {expected}"
    else:
        assert shown == expected, f"{where}: {shown!r} is not {expected!r}"


def odd_graph() -> rl.Graph:
    """Kernels without arithmetic, without traffic, and with names that HTML would eat."""
    b = rl.GraphBuilder("odd & <b>bold</b>")
    x = b.input("x", (1, 4, 8, 8))
    y = b.transpose(x, (0, 1, 3, 2), name="turn <i>")
    z = b.concat([y, y], in_place=True, name="join")
    return b.build(outputs=[b.relu(z)])


def devices() -> list[rl.Device]:
    """Devices with odd names, with and without what may be unknown, and the catalogue."""
    odd = rl.Device('<odd> & "quoted"', {"fp32": 1e12, "int8": 4e12}, 1e11, memory="A&B", memory_kind="<A>&B")
    chip = odd.with_(
        name="chip",
        vector_peak=2.5e11,
        launch_seconds=5e-6,
        levels=(rl.MemoryLevel("L2", bytes_per_second=2e11), rl.MemoryLevel("L1", bytes_per_second=3e11)),
        joules_per_flop={"fp32": 1e-12},
        joules_per_dram_byte=1.6e-10,
        static_watts=2.5,
    )
    at_once = odd.with_(name="no launch cost", launch_seconds=0)
    return [odd, at_once, chip, chip.with_(joules_per_on_chip_byte=1e-11), *(rl.device(i) for i in rl.devices())]
