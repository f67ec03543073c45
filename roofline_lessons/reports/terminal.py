"""The report in a terminal, with `rich`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

from ..device import device, devices
from ..text import number, percent, si

if TYPE_CHECKING:
    from rich.console import Console

    from .content import Report

#: Reasons stand beside their kernels from so many columns on, and below them where there are fewer.
_WIDE = 90

#: The table of plans has all its columns from so many on.
_ALL_COLUMNS = 80


def show(r: Report, console: Console, most: int = 10) -> None:
    """Print a report: advice, plans, slowest kernels, changes, memory, notes.

    Names come from files that anyone may have made: neither markup nor a terminal's codes in them mean anything.
    """
    stands = r.as_it_stands
    console.print(_text(r.name, "bold") + _text(f" on {stands.device.name}, {stands.precision}", "not bold"))
    console.print(_text(f"{r.graph.params:,} parameters, {r.graph.macs:,} MACs, {len(r.graph)} operators", "dim"))
    console.print()
    console.print(_text(" ".join(r.advice)))
    console.print()
    console.print(_plans(r, console.width >= _ALL_COLUMNS))
    for name, why in r.refused.items():
        console.print(_text(f"{name}: {why}"))
    console.print()
    console.print(_slowest(r, most, console.width))
    console.print()
    console.print(_changes(r))
    console.print()
    console.print(_text(f"{r.memory.sentence}"))
    for note in r.notes:
        console.print(_text(f"Note: {note}"))


def show_devices(console: Console) -> None:
    """Print the devices of the catalogue with the precisions they can run."""
    table = _table(("id", "device", "precisions"))
    for id in devices():
        d = device(id)
        table.add_row(_text(id, "bold"), _text(d.name), _text(", ".join(d.precisions())))
    console.print(table)


def _text(text: str, style: str = "") -> Text:
    """Letters alone: what would move the cursor or change colours becomes a question mark."""
    return Text("".join(c if c.isprintable() or c == "\n" else "?" for c in text), style)


def _table(columns: Sequence[str], title: str | None = None, numbers: Sequence[str] = ()) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    for name in columns:
        number_like = name in numbers
        table.add_column(name, justify="right" if number_like else "left", no_wrap=number_like, overflow="fold")
    return table


def _plans(r: Report, wide: bool) -> Table:
    numbers = ("time", "bytes", "× as fast", *(("kernels", "FLOP/B") if wide else ()))
    table = _table(("plan", *numbers, "limit"), numbers=numbers)
    for name, est in r.estimates.items():
        row = [si(est.seconds, "s"), si(est.dram_bytes, "B"), number(r.as_it_stands.seconds / est.seconds)]
        row += [str(len(est.plan)), number(est.intensity)] if wide else []
        table.add_row(_text(name, "bold"), *row, est.bound)
    return table


def _slowest(r: Report, most: int, width: int) -> Any:
    stands, kernels = r.as_it_stands, r.slowest(most)
    title = f"The {len(kernels)} slowest of {len(stands.plan)} kernels"
    wide = width >= _WIDE
    table = _table(("kernel", "time", "of all", *(["because"] if wide else [])), title, numbers=("time", "of all"))
    for k in kernels:
        cells = (si(k.seconds, "s"), percent(k.seconds / stands.seconds))
        if wide:
            table.add_row(_text(k.name, "bold"), *cells, _text(k.because))
        else:
            table.add_row(_text(k.name, "bold") + _text(f"\n{k.because}", "not bold dim"), *cells)
    return table


def _changes(r: Report) -> Table:
    table = _table(("one thing changed", "time", "× as fast"), numbers=("time", "× as fast"))
    for c in r.changes:
        table.add_row(_text(c.what), si(c.seconds, "s"), number(c.times_as_fast))
    return table
