"""Numbers as a person reads them: three digits, an SI prefix, a unit.

`driver.js` writes the same texts in the browser, so both must round alike: exact decimal value, ties away from zero.
(Python's own formatting rounds ties to even, and no library does both languages.) Golden vectors hold the two equal.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal

_PREFIXES = {-12: "p", -9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}


def digits(value: float, significant: int = 3) -> tuple[str, int]:
    """The leading decimal digits of |value| and the power of ten of the first one.

    Examples
    --------
    >>> digits(17.07e9), digits(0.23456, 3)
    (('171', 10), ('235', -1))
    """
    rounded = Context(prec=significant, rounding=ROUND_HALF_UP).create_decimal(Decimal(float(abs(value))))
    text = "".join(map(str, rounded.as_tuple().digits)).ljust(significant, "0")
    return text[:significant], rounded.adjusted()


def number(value: float, significant: int = 3) -> str:
    """A number with so many digits and no prefix: plain from 0.001 to a million, otherwise with a power of ten.

    Examples
    --------
    >>> number(8.998), number(1234.5), number(0.25), number(2.5e-7), number(0)
    ('9.00', '1230', '0.250', '2.50e-7', '0')
    """
    if not math.isfinite(value):
        return "unknown" if math.isnan(value) else ("-∞" if value < 0 else "∞")
    if value == 0:
        return "0"
    text, exponent = digits(value, significant)
    sign = "-" if value < 0 else ""
    if -4 < exponent < 6:
        return sign + _plain(text, exponent)
    return f"{sign}{_plain(text, 0)}e{exponent}"


def si(value: float | None, unit: str, significant: int = 3) -> str:
    """A value with an SI prefix and its unit; None is "unknown".

    Examples
    --------
    >>> si(17.07e9, "B/s"), si(0.00143, "s"), si(999_600, "B"), si(0, "B"), si(None, "J")
    ('17.1 GB/s', '1.43 ms', '1.00 MB', '0 B', 'unknown')
    """
    if value is None or math.isnan(value):
        return "unknown"
    if value == 0 or math.isinf(value):
        return f"{number(value)} {unit}"
    text, exponent = digits(value, significant)
    thousand = min(max(exponent // 3 * 3, -12), 18)
    sign = "-" if value < 0 else ""
    return f"{sign}{_plain(text, exponent - thousand)} {_PREFIXES[thousand]}{unit}"


def percent(share: float) -> str:
    """A share of 1 in whole per cent, halves up.

    Examples
    --------
    >>> percent(0.725), percent(0.004), percent(1)
    ('73 %', '0 %', '100 %')
    """
    return f"{math.floor(100 * share + 0.5)} %"


def counted(count: int, one: str) -> str:
    """A count of things whose plural ends in s.

    Examples
    --------
    >>> counted(1, "kernel"), counted(3, "kernel")
    ('1 kernel', '3 kernels')
    """
    return f"{count} {one}{'' if count == 1 else 's'}"


def _plain(text: str, exponent: int) -> str:
    """Digits with the point after the digit number `exponent`, zeros filled in."""
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + text
    if exponent >= len(text) - 1:
        return text + "0" * (exponent - len(text) + 1)
    return f"{text[: exponent + 1]}.{text[exponent + 1 :]}"
