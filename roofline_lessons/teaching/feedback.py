"""What is said about a guess: how far off it is, and which wrong idea leads to it."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..text import number

#: A function that asks the model.
Answer = Callable[[], float | str]

#: Who says the answer, if nobody else is named: some answers are the clock's, and the model is wrong there.
MODEL = "the model"

#: A guess within this factor of the answer is right; within `CLOSE` it is close.
RIGHT, CLOSE = 1.1, 1.5

#: A guess within this factor of a wrong idea is taken for it.
_SAME_IDEA = 1.15


@dataclass(frozen=True)
class Idea:
    """A wrong idea: the number it leads to (a function, like the answer), and why it is tempting but wrong."""

    value: Answer
    why: str


def about_number(guess: float, right: float, unit: str, ideas: Sequence[Idea], says: str = MODEL) -> str:
    """The guess, the number of who knows it beside it, how far off, and the wrong idea that leads there. HTML."""
    shown = f"Your guess: <b>{amount(guess, unit)}</b> · {html.escape(says)}: <b>{amount(right, unit)}</b>. "
    return shown + how_far_off(guess, right) + _tempting(guess, right, ideas)


def about_choice(guess: str, right: str, choices: Mapping[str, str], says: str = MODEL) -> str:
    """The option that was chosen, the right one, and every other one, each with its explanation. HTML."""
    explained = {option: f"<b>{html.escape(option)}</b>: {html.escape(why)}" for option, why in choices.items()}
    told = "✓ Right, "
    if guess != right:
        told = f"✗ You chose {explained.pop(guess)}<br>{html.escape(says.capitalize())} says "
    told += explained.pop(right)
    others = "".join(f"<li>{words}</li>" for words in explained.values())
    return f'{told}<ul style="margin:4px 0">{others}</ul>' if others else told


def amount(value: float, unit: str) -> str:
    """A number with two digits and its unit, as HTML."""
    return html.escape(f"{number(value, 2)} {unit}".strip())


def how_far_off(guess: float, right: float) -> str:
    """How a guess compares, in words.

    Examples
    --------
    >>> how_far_off(8.0, 1.0), how_far_off(1.0, 8.0), how_far_off(1.04, 1.0)
    ('8.0× too high.', '8.0× too low.', '✓ Right.')
    """
    if guess == right:
        return "✓ Right."
    if guess <= 0 or right <= 0:
        return f"{number(abs(guess - right), 2)} too {'high' if guess > right else 'low'}."
    factor = max(guess / right, right / guess)
    if factor <= RIGHT:
        return "✓ Right."
    close = "Close: " if factor <= CLOSE else ""
    return f"{close}{number(factor, 2)}× too {'high' if guess > right else 'low'}."


def _tempting(guess: float, right: float, ideas: Sequence[Idea]) -> str:
    """Why the first wrong idea that is nearer to the guess than the answer is tempting, "" where there is none."""
    for idea in ideas:
        near = _apart(guess, float(idea.value()))
        if near <= math.log(_SAME_IDEA) and near < _apart(guess, right):
            return f"<br>{html.escape(idea.why)}"
    return ""


def _apart(a: float, b: float) -> float:
    """How many e-folds two numbers are apart; no factor leads to or from zero."""
    return abs(math.log(a / b)) if a > 0 and b > 0 else math.inf
