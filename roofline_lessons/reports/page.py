"""The report as a page of HTML: one file that needs nothing from elsewhere and runs nothing."""

from __future__ import annotations

import functools
import html
import io
import re
from typing import TYPE_CHECKING, Any

from ..fusion.rules import rule_set
from ..text import number, percent, si

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .content import Report

#: What the parts of the energy are called, but for "dram": the device says what its main memory is.
ENERGY_PARTS = {
    "arithmetic": "arithmetic",
    "on_chip": "the memory on the chip",
    "static": "static power",
}

_INK, _STAR = "#1c1f26", "#cc79a7"


def page(r: Report, most: int = 10) -> str:
    """The whole page, with the roofline as a picture in it.

    Names come from files that anyone may have made: the template escapes every one.
    """
    return str(_template("page.html").render(**_shown(r, most), picture=_raw(roofline_svg(r))))


def fragment(r: Report, most: int = 10) -> str:
    """The tables of the page without its head and picture, for a notebook."""
    return str(_template("fragment.html").render(**_shown(r, most)))


def part(r: Report, name: str, plan: str | None = None, most: int = 10) -> str:
    """One part of the page: "advice", "plans", "slowest", "changes", "memory" or "notes"."""
    module = _template("parts.html").make_module(_shown(r, most, plan))
    return str(getattr(module, name)()).strip()


def roofline_svg(r: Report) -> str:
    """The kernels of the model as it stands under the roofline of its device, and the way to the best legal fusion."""
    import matplotlib  # takes longer to load than the rest of a report

    from .. import plots
    from ..scenes.roofline import RooflineScene

    scene = RooflineScene(r.as_it_stands.plan, r.device, r.precision.name)
    with matplotlib.rc_context({"svg.hashsalt": "report", "svg.fonttype": "none", "font.family": "sans-serif"}):
        axes = plots.Picture(7, 5).add_subplot()
        figure = plots.roofline(scene, axes)
        axes.set_title("", loc="left")  # the page says it in words
        _make_room(axes)
        _trail(axes, r)
        text = io.StringIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(text, format="svg", metadata=nothing)
    svg = text.getvalue()
    label = html.escape(f"Roofline of {r.name}. {scene.sentence}", quote=True)
    return re.sub(r"<svg ", f'<svg role="img" aria-label="{label}" ', svg[svg.index("<svg ") :], count=1)


def _make_room(axes: Axes) -> None:
    """Where the slope is short, its label does not fit on its left: it goes below."""
    left, right = axes.get_xlim()
    for label in axes.texts:
        x, y = label.get_position()
        if label.get_horizontalalignment() == "right" and x < left * (right / left) ** 0.25:
            label.set(horizontalalignment="left", verticalalignment="top", position=(1.3 * x, y / 1.3))


def _trail(axes: Axes, r: Report) -> None:
    """An arrow from the whole network as it stands to where the best legal fusion brings it."""
    before, after = ((e.intensity, e.flops_per_second) for e in (r.as_it_stands, r.best))
    moved = max(after[0] / before[0], after[1] / before[1]) > 1.05 if min(*before, *after) > 0 else False
    if not moved or float("inf") in (*before, *after):
        return
    axes.annotate("", after, before, arrowprops={"arrowstyle": "->", "linestyle": "--", "color": _INK}, zorder=5)
    axes.scatter(*after, s=240, marker="*", c=_STAR, edgecolors=_INK, zorder=6)
    axes.annotate("best legal fusion", after, (4, -13), textcoords="offset points", ha="center", va="top", color=_INK)
    axes.set_xlim(right=max(axes.get_xlim()[1], 2 * after[0]))


def _shown(r: Report, most: int, plan: str | None = None) -> dict[str, Any]:
    """What the templates need."""
    name = next(iter(r.estimates)) if plan is None else plan
    return {"r": r, "stands": r.as_it_stands, "most": most, "plan": name, "listed": r.estimates[name],
            "whose": rule_set(r.rules).whose, "energy": _energy(r)}  # fmt: skip


@functools.cache
def _environment() -> Any:
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__, "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"si": si, "number": number, "percent": percent, "finite": _finite}
    return made


def _template(name: str) -> Any:
    return _environment().get_template(name)


def _raw(svg: str) -> Any:
    """Markup that this module made itself."""
    import markupsafe

    return markupsafe.Markup(svg)


def _energy(r: Report) -> str:
    """What the energy leaves out, in a sentence; "" where it is complete."""
    est = r.as_it_stands
    parts = ENERGY_PARTS | {"dram": f"{est.device.memory_kind} bytes"}
    missing = ", ".join(parts[name] for name in est.joules_missing)
    if not missing:
        return ""
    told = "The energy is not known" if est.joules is None else "The energy is not complete"
    return f"{told}: there is no figure for {missing}."


def _finite(intensity: float) -> str:
    return f"{number(intensity)} FLOP/B"
