"""The three ways to give a guess: a slider with a log scale, a field for a number, a choice.

Each is the control of ipywidgets with the same few members more: `guess`, `take`, `missing` (what to say where nobody
guessed), `beside` (the text beside it), `tell` (the feedback); for `BrowserHalf` `focus_css`, `attributes` and
`synced` (the trait that the browser writes).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import ipywidgets as W
import numpy as np

from ..errors import positive
from ..text import number
from .browser import Attributes
from .feedback import MODEL, Idea, about_choice, about_number

#: Steps of the slider per factor of ten.
_STEPS = 12


class SliderGuess(W.SelectionSlider):
    """A slider with a log scale. It has a value from the start, and that is nobody's guess until it was moved."""

    focus_css, synced = ".noUi-handle", "index"

    def __init__(self, between: tuple[float, float], unit: str) -> None:
        low, high = (positive("between", v) for v in between)
        if low >= high:
            raise ValueError(f"between must be (low, high), not {between}.")
        self.unit, self.moved = unit, False
        count = max(2, round(_STEPS * math.log10(high / low)) + 1)
        values = list(dict.fromkeys(float(f"{v:.2g}") for v in np.geomspace(low, high, count)))
        super().__init__(
            options=[(f"{number(v, 2)} {unit}".strip(), v) for v in values],
            value=values[len(values) // 2],
            layout=W.Layout(width="380px"),
            readout=False,  # it can be typed into, and would not be read
        )
        self.observe(self._move, "value")

    def _move(self, change: Any) -> None:
        self.moved = True

    @property
    def guess(self) -> float:
        return float(self.value)

    def take(self, value: Any) -> None:
        steps = [v for _, v in self.options]
        if not steps[0] <= positive("guess", value) <= steps[-1]:
            raise ValueError(f"a guess lies between {number(steps[0])} and {number(steps[-1])}, not {value!r}.")
        self.value = min(steps, key=lambda v: abs(math.log(v / value)))
        self.moved = True

    @property
    def missing(self) -> str:
        return "" if self.moved else "Move the slider first: where it starts is nobody's guess."

    @property
    def beside(self) -> str:
        return str(self.label)

    def tell(self, right: float | str, ideas: Sequence[Idea], says: str = MODEL) -> str:
        return about_number(self.guess, float(right), self.unit, ideas, says)

    def attributes(self, question: str) -> Attributes:
        return {self.focus_css: {"aria-label": question, "aria-disabled": str(self.disabled).lower()}}

    def __str__(self) -> str:
        return f"a number from {number(self.options[0][1], 2)} to {self.options[-1][0]}"


class NumberGuess(W.Text):
    """A field for a number. What is no number is said, not lost."""

    focus_css, synced = "input", "value"

    def __init__(self, unit: str) -> None:
        self.unit = unit
        super().__init__(placeholder="a number", layout=W.Layout(width="140px"))

    @property
    def guess(self) -> float | None:
        try:
            guess = float(self.value)
        except ValueError:
            return None
        return guess if math.isfinite(guess) else None

    def take(self, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not math.isfinite(value):
            raise ValueError(f"a guess is a number, not {value!r}.")
        self.value = f"{value:.6g}"

    @property
    def missing(self) -> str:
        if self.guess is not None:
            return ""
        if not self.value.strip():
            return "Type a number first: a wrong guess is worth more than none."
        return f"“{self.value}” is not a number: write 1250.5 or 1.25e3, with a point and no comma."

    @property
    def beside(self) -> str:
        return self.unit

    def tell(self, right: float | str, ideas: Sequence[Idea], says: str = MODEL) -> str:
        assert self.guess is not None  # `missing` comes first
        return about_number(self.guess, float(right), self.unit, ideas, says)

    def attributes(self, question: str) -> Attributes:
        return {self.focus_css: {"aria-label": f"{question} In {self.unit}." if self.unit else question}}

    def __str__(self) -> str:
        return f"a number in {self.unit}" if self.unit else "a number"


class ChoiceGuess(W.RadioButtons):
    """One of several options; each has its explanation."""

    focus_css, synced = "input:checked", "index"

    def __init__(self, choices: Mapping[str, str]) -> None:
        self.choices = dict(choices)
        layout = W.Layout(width="auto", margin="2px 20px 2px 2px")  # long options would touch the button
        super().__init__(options=list(choices), value=None, layout=layout)

    @property
    def guess(self) -> str | None:
        return self.value

    def take(self, value: Any) -> None:
        if value not in self.choices:
            raise ValueError(f"choose one of {', '.join(self.choices)}, not {value!r}.")
        self.value = value

    @property
    def missing(self) -> str:
        return "" if self.guess is not None else "Choose first: a wrong guess is worth more than none."

    @property
    def beside(self) -> str:
        return ""

    def tell(self, right: float | str, ideas: Sequence[Idea], says: str = MODEL) -> str:
        if right not in self.choices:
            raise ValueError(f"the answer {right!r} is none of the choices {', '.join(self.choices)}.")
        assert self.guess is not None  # `missing` comes first
        return about_choice(self.guess, str(right), self.choices, says)

    def attributes(self, question: str) -> Attributes:
        return {".widget-radio-box": {"role": "radiogroup", "aria-label": question}}

    def __str__(self) -> str:
        return " / ".join(self.choices)
