"""The two times of each kernel as a still picture."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from ..cost import Estimate
from ..scenes.roofline_marks import BOUND_COLORS
from ..text import si
from .picture import Picture, figure_of, quiet


def times(est: Estimate, axes: Axes | None = None) -> Figure:
    """Two bars per kernel: how long its arithmetic takes and how long its DRAM bytes. The longer one is its time.

    Parameters
    ----------
    est : Estimate
        Of a plan with a few kernels.
    axes : matplotlib Axes, optional
        Where to draw; a new figure when not given.

    Returns
    -------
    Figure
    """
    if axes is None:
        axes = Picture(9, 1 + 0.75 * len(est.kernels)).add_subplot()
    parts = {
        "arithmetic": (-0.2, BOUND_COLORS["compute"], est.kernel_arithmetic_seconds),
        "memory": (0.2, BOUND_COLORS["memory"], est.kernel_memory_seconds),
    }
    for name, (offset, color, seconds) in parts.items():
        places = [i + offset for i in range(len(seconds))]
        bars = axes.barh(places, seconds, 0.38, color=color, label=name, hatch="//" if name == "memory" else None)
        axes.bar_label(bars, [si(s, "s") for s in seconds], padding=5)
    axes.set_yticks(range(len(est.kernels)), [k.name for k in est.kernels])
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: si(v, "s", 2)))
    quiet(axes, grid="")
    axes.set_title(f"{est.plan.graph.name} on {est.device.name}, {est.precision}", loc="left", fontsize=11)
    figure = figure_of(axes)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return figure
