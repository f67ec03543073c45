"""One network on several devices as a still picture: what limits the kernels that the time goes into, per plan."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from ..cost import BOUNDS, Estimate
from ..scenes.roofline_marks import BOUND_COLORS
from ..text import percent, si
from .picture import INK, Picture

_HATCHES = {"compute": "", "memory": "//", "launch": "..", "balanced": "xx"}
_WORDS = {"compute": "arithmetic", "memory": "memory", "launch": "launch", "balanced": "balanced"}
_NARROW = 0.09  # of the width of a whole bar: a part that is narrower has no words in it

#: Device -> plan -> its estimate.
Table = Mapping[str, Mapping[str, Estimate]]


def spent(estimates: Table) -> Picture:
    """A bar for each plan on each device, as long as its time compared with the first plan of that device.

    Parameters
    ----------
    estimates : mapping of str to mapping of str to Estimate
        Device -> plan -> estimate, as they are to be called in the picture. The first plan of a device is the whole
        width.

    Returns
    -------
    Picture

    Raises
    ------
    ValueError
        No device, or a device without plans.
    """
    if not estimates or not all(estimates.values()):
        raise ValueError("a picture of devices needs at least one device, and at least one plan for each.")
    rows = sum(len(plans) for plans in estimates.values())
    figure = Picture(9.5, 1.1 + 0.34 * rows + 0.2 * len(estimates))
    axes = figure.add_subplot()
    y, ticks = 0.0, []
    for device, plans in estimates.items():
        whole = next(iter(plans.values())).seconds
        for i, (name, est) in enumerate(plans.items()):
            _bar(axes, y, est, whole)
            ticks.append((y, f"{device}, {name}" if i == 0 else name))
            y += 1
        y += 0.6
    axes.set_yticks([at for at, _ in ticks], [words for _, words in ticks], fontsize=11)
    axes.tick_params(left=False)
    axes.set(ylim=(y - 1.1, -0.6), xlim=(0, 1.16), xticks=[])
    axes.spines[:].set_visible(False)
    shown = [b for b in BOUNDS if any(_shares(e)[b] for plans in estimates.values() for e in plans.values())]
    patches = [Patch(facecolor=BOUND_COLORS[b], hatch=_HATCHES[b], edgecolor="white", label=_WORDS[b]) for b in shown]
    figure.legend(handles=patches, loc="outside lower center", ncols=len(shown), frameon=False, title="limited by")
    return figure


def text(estimates: Table) -> list[str]:
    """What the picture says, a line for each bar."""
    return [
        f"{device}, {name}: {si(est.seconds, 's')}; " + ", ".join(_label(b, s) for b, s in _shares(est).items() if s)
        for device, plans in estimates.items()
        for name, est in plans.items()
    ]


def _shares(est: Estimate) -> dict[str, float]:
    return {b: seconds / est.seconds for b, seconds in est.seconds_by_bound.items()}


def _label(bound: str, share: float) -> str:
    return f"{_WORDS[bound]} {percent(share)}"


def _bar(axes: Axes, y: float, est: Estimate, whole: float) -> None:
    left, length = 0.0, est.seconds / whole
    for bound, share in _shares(est).items():
        width = share * length
        axes.barh(y, width, 0.8, left, color=BOUND_COLORS[bound], hatch=_HATCHES[bound], edgecolor="white")
        if width > _NARROW:
            words = _label(bound, share) if width > 2 * _NARROW else percent(share)
            box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"}
            axes.text(left + width / 2, y, words, ha="center", va="center", fontsize=9, color=INK, bbox=box)
        left += width
    axes.text(left + 0.012, y, si(est.seconds, "s"), va="center", fontsize=11, color=INK)
