"""What all still pictures share: a figure that shows itself, two colours of ink, quiet axes."""

from __future__ import annotations

import io
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK, FAINT = "#1c1f26", "#5b6270"


class Picture(Figure):
    """A figure that shows itself in a notebook, whichever matplotlib backend is in use (or none)."""

    def __init__(self, width: float, height: float) -> None:
        super().__init__(figsize=(width, height), layout="constrained")

    def _repr_png_(self) -> bytes:
        data = io.BytesIO()
        self.savefig(data, format="png", dpi=96)
        return data.getvalue()


def figure_of(axes: Axes) -> Figure:
    """The figure that axes stand in."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    return figure


def quiet(axes: Axes, grid: Literal["both", "x", "y", ""] = "both") -> None:
    """No frame to the right and above, and a pale grid behind everything.

    grid : "both", "x", "y" or "" for none.
    """
    if grid:
        axes.grid(axis=grid, color="#e6e8ee")
        axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
