"""The picture of the tiling scene: a square per tensor, in it what one tile needs, the halo hatched.

`tiling.js` draws the same (`tilingPicture`), to the letter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..text import percent

if TYPE_CHECKING:
    from .tiling import TilingScene

#: What happens to the halo, for the legend of the picture.
HALO_WORDS = {
    "recompute": "halo: each tile computes it again",
    "cache rows": "halo: kept along a row, computed again down",
    "cache all": "halo: kept on the chip, computed once",
}

_WIDTH, _HEIGHT, _GAP, _BASE, _LARGEST = 560, 152, 40, 104, 98


def picture(scene: TilingScene) -> str:
    """The regions that one tile of the first kernel's output needs: a square per tensor, the halo hatched."""
    frames, letters = scene.pyramid, scene.letters
    streams = scene.depth == 1
    side = min(_LARGEST, math.floor((_WIDTH - 4 - (len(frames) - 1) * _GAP) / len(frames)))
    zoom = 1.0 if streams else _zoom(frames)
    left = math.floor((_WIDTH - len(frames) * side - (len(frames) - 1) * _GAP) / 2)
    parts = []
    for i, frame in enumerate(frames):
        x = left + i * (side + _GAP)
        parts.append(_frame(frame, x, side, zoom, streams, scene.hatch))
        if i < scene.depth:
            parts.append(_arrow(letters[i], x + side, _BASE - side / 2))
    sizes = [_size(frame) for frame in reversed(frames)]
    walk = " → ".join(sizes)
    title = "one layer per kernel streams through whole tensors" if streams else f"one tile needs {walk}"
    caption = (
        "One layer per kernel: it streams through its input once. There is no tile and no halo."
        if streams
        else f"One tile needs, walking back: <b>{walk}</b><br>"
        f'<svg width="14" height="14" aria-hidden="true"><rect width="14" height="14" class="rl-own"/></svg> the '
        f'tile\'s own part &nbsp; <svg width="14" height="14" aria-hidden="true">'
        f'<rect width="14" height="14" class="rl-halo" style="fill:url(#{scene.hatch})"/></svg> '
        f"{HALO_WORDS[scene.halo]}{_enlarged(zoom)}"
    )
    return (
        f'<svg class="rl-pyramid" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"><title>{title}</title>'
        f'<defs><pattern id="{scene.hatch}" {_HATCH}'
        f"{''.join(parts)}</svg><div>{caption}</div>"
    )


_HATCH = (
    'width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="6" height="6" class="rl-hatch-ground"/><rect width="2.4" height="6" class="rl-hatch-line"/>'
    "</pattern></defs>"
)


def _zoom(frames: Sequence[Sequence[int]]) -> float:
    """The share of each tensor's side that is drawn: so much that every region is in it with some room."""
    return min(1.0, 1.15 * max(max((f[3] - f[2]) / f[0], (f[7] - f[6]) / f[1]) for f in frames))


def _enlarged(zoom: float) -> str:
    """A grey square is the whole tensor, or only a part of it: then that is said."""
    return f"<br><small>Enlarged: each square is {percent(zoom)} of its tensor's side.</small>" if zoom < 1 else ""


def _frame(frame: Sequence[int], x: float, side: float, zoom: float, streams: bool, hatch: str) -> str:
    """One tensor: a part of it around the region, in that the tile's own part, and the sizes below."""
    height, width, r0, r1, own_r0, own_r1, c0, c1, own_c0, own_c1 = frame
    y, middle = _BASE - side, x + side / 2
    top, down = _window(height, zoom, own_r0 + own_r1, side)
    left, along = _window(width, zoom, own_c0 + own_c1, side)
    halo = f'rl-halo" style="fill:url(#{hatch})'
    region = [] if streams else [(halo, r0, r1, c0, c1), ("rl-own", own_r0, own_r1, own_c0, own_c1)]
    parts = "".join(
        f'<rect class="{name}" x="{px(x + (left_edge - left) * along)}" y="{px(y + (upper - top) * down)}" '
        f'width="{px((right_edge - left_edge) * along)}" height="{px((lower - upper) * down)}"/>'
        for name, upper, lower, left_edge, right_edge in region
    )
    whole = "rl-own" if streams else "rl-tensor"
    label = _extent(height, width) if streams else _size(frame)
    below = (
        "" if streams else f'<text class="rl-of" x="{px(middle)}" y="{_BASE + 40}">of {_extent(height, width)}</text>'
    )
    return (
        f'<rect class="{whole}" x="{px(x)}" y="{px(y)}" width="{px(side)}" height="{px(side)}"/>{parts}'
        f'<rect class="rl-outline" x="{px(x)}" y="{px(y)}" width="{px(side)}" height="{px(side)}"/>'
        f'<text x="{px(middle)}" y="{_BASE + 21}">{label}</text>{below}'
    )


def _window(size: int, zoom: float, twice_middle: int, side: float) -> tuple[float, float]:
    """Where along one axis the drawn part of a tensor begins, and the pixels per position."""
    shown = size * zoom
    return min(max(twice_middle / 2 - shown / 2, 0), size - shown), side / shown


def _arrow(letter: str, x: float, y: float) -> str:
    return (
        f'<path class="rl-arrow" d="M{px(x + 6)} {px(y)}h{_GAP - 18}m-7 -6l8 6l-8 6"/>'
        f'<text x="{px(x + _GAP / 2)}" y="{px(y - 10)}">{letter}</text>'
    )


def _size(frame: Sequence[int]) -> str:
    """Rows and columns of a region, one number where they are the same."""
    return _extent(frame[3] - frame[2], frame[7] - frame[6])


def _extent(height: int, width: int) -> str:
    return f"{height}" if height == width else f"{height}×{width}"


def px(value: float) -> str:
    """A coordinate with at most one decimal, as JavaScript writes it too."""
    return f"{math.floor(value * 10 + 0.5) / 10:g}"
