"""Reading lessons for the tests: their prose, the numbers in it, the claims behind the numbers, their predictions."""

from __future__ import annotations

import ast
import functools
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

from roofline_lessons.teaching.predictions import Prediction

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
LESSONS = sorted(p for p in NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))

_CLAIM = re.compile(r"<!--\s*claim:\s*(?P<shown>[\d.,]+)\s*(?P<unit>[^=\s]*)\s*=(?P<expression>.*?)-->", re.S)
_PREFIX = {"p": 1e-12, "n": 1e-9, "µ": 1e-6, "m": 1e-3, "": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_UNITS = ("FLOP/B", "FLOP/s", "FLOP", "MAC", "B/s", "B", "s", "J", "W")

#: Text in which a number is no claim. The rule, in this order: code, formulas, comments and the targets of links are
#: not prose; headings and list items carry their own numbers; then names that hold a digit, sizes of windows (3 × 3),
#: lesson numbers, years, durations of lessons, and "one of" as words do.
_NO_PROSE = [r"```.*?```", r"`[^`]*`", r"\$\$.*?\$\$", r"\$[^$]*\$", r"<!--.*?-->", r"<[^>]*>", r"(?<=\])\([^)]*\)"]
_NO_CLAIM = [
    r"^#+.*$",
    r"^\s*\d+\.\s",
    r"\[\d\d · [^\]]*\]",
    r"\b[A-Za-z]+-?\d+\b",
    r"\bRaspberry Pi \d\b",
    r"\b\d × \d\b",
    r"\b[Ll]essons? \d\d\b",
    r"\b(19|20)\d\d\b",
    r"\b\d+ minutes\b",
    r"\b1 MAC\b",
]


@dataclass(frozen=True)
class Claim:
    """A number in the text and the expression that gives it."""

    shown: str
    unit: str
    expression: str

    def holds(self, value: float) -> bool:
        """The value rounds to the number shown, at the digits and in the unit shown."""
        decimals = len(self.shown.partition(".")[2])
        factor = unit_factor(self.unit)
        shown = float(self.shown.replace(",", ""))
        return abs(shown - float(value) / factor) <= 0.5 * 10**-decimals * (1 + 1e-9)

    def stands_in(self, words: str) -> bool:
        """The whole number (not the 3 of 13 or of 3.5) with its unit; "times" may be said in other words."""
        unit = {"times": "", "B": "(B|bytes?)"}.get(self.unit, re.escape(self.unit))
        follows = rf"\s*{unit}(?!\w)" if unit else r"(?!\w|[.,]\d)"
        return re.search(rf"(?<![\w.,]){re.escape(self.shown)}{follows}", words) is not None


def unit_factor(unit: str) -> float:
    """What one of the unit is in SI units: 1e9 for "GB/s", 0.01 for "%"."""
    if unit in ("", "times"):
        return 1.0
    if unit == "%":
        return 0.01
    for base in _UNITS:
        if unit.endswith(base) and unit.removesuffix(base) in _PREFIX:
            return _PREFIX[unit.removesuffix(base)]
    raise ValueError(f"a claim with the unit {unit!r}; known are %, times, and prefixes of {', '.join(_UNITS)}")


def cells(path: Path, kind: str) -> list[Any]:
    return [c for c in nbformat.read(path, 4).cells if c.cell_type == kind]


def claims(text: str) -> list[Claim]:
    return [Claim(m["shown"], m["unit"], m["expression"].strip()) for m in _CLAIM.finditer(text)]


def prose(text: str) -> str:
    """What a reader reads: no code, no formulas, no comments, no addresses."""
    for pattern in _NO_PROSE:
        text = re.sub(pattern, " ", text, flags=re.S)
    return text


def numbers_without_claim(text: str) -> list[str]:
    """Numbers in the prose of a cell that no claim in the same cell stands behind."""
    claimed = {c.shown for c in claims(text)}
    words = prose(text)
    for pattern in _NO_CLAIM:
        words = re.sub(pattern, " ", words, flags=re.M)
    return [n for n in re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?", words) if n not in claimed]


def run(path: Path) -> dict[str, Any]:
    """The names a lesson defines, after all its code cells ran in this process."""
    names: dict[str, Any] = {"__name__": "lesson"}
    for cell in cells(path, "code"):
        exec(compile(cell.source, f"{path.name}, cell {cell.id}", "exec"), names)
    return names


@functools.cache
def questions(path: Path) -> dict[str, Prediction]:
    """The predictions and quizzes of a lesson, by the id of their cell, after it ran in this process."""
    names: dict[str, Any] = {"__name__": "lesson"}
    found: dict[str, Prediction] = {}
    for cell in cells(path, "code"):
        tree = ast.parse(cell.source, f"{path.name}, cell {cell.id}")
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"{path.name}, cell {cell.id}", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"{path.name}, cell {cell.id}", "eval"), names)
            if isinstance(value, Prediction):
                found[cell.id] = value
    return found


def calls(path: Path, *functions: str) -> list[ast.Call]:
    """The calls of `rl.<function>` in a lesson."""
    found = []
    for cell in cells(path, "code"):
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in functions:
                if isinstance(node.func.value, ast.Name) and node.func.value.id == "rl":
                    found.append(node)
    return found


def glossary() -> dict[str, dict[str, Any]]:
    """Term -> the lesson that introduces it, other forms of the word, what it means."""
    return tomllib.loads((NOTEBOOKS / "glossary.toml").read_text(encoding="utf-8"))
