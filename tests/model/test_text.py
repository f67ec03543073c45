"""Numbers as a person reads them: three digits, ties away from zero, an SI prefix."""

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline_lessons.text import number, percent, si

INF, NAN = math.inf, math.nan

# What a person would write, with exact decimal values in mind: 2.675 is stored as 2.67499999..., 99.95 as 99.9500...03.
NUMBERS = [
    (0, "0"),
    (-0.0, "0"),
    (1, "1.00"),
    (8.998, "9.00"),
    (12, "12.0"),
    (123, "123"),
    (1234.5, "1230"),
    (123_456, "123000"),
    (999_499, "999000"),
    (999_500, "1.00e6"),
    (1e6, "1.00e6"),
    (3.35e12, "3.35e12"),
    (0.25, "0.250"),
    (0.001, "0.00100"),
    (0.0009995, "9.99e-4"),  # stored as 0.00099949999...
    (2.5e-7, "2.50e-7"),
    # ties go away from zero (Python's own rounding gives 1.12, 112 and 0.0125)
    (1.125, "1.13"),
    (-1.125, "-1.13"),
    (112.5, "113"),
    (0.0126953125, "0.0127"),
    # not ties, though they look like it
    (2.675, "2.67"),
    (9.995, "9.99"),
    (99.95, "100"),
    (-3.5e-9, "-3.50e-9"),
    (INF, "∞"),
    (-INF, "-∞"),
    (NAN, "unknown"),
]


@pytest.mark.parametrize("value, text", NUMBERS)
def test_numbers(value, text):
    assert number(value) == text


WITH_UNITS = [
    (17.07e9, "B/s", "17.1 GB/s"),
    (0.00143, "s", "1.43 ms"),
    (1, "s", "1.00 s"),
    (999, "B", "999 B"),
    (1000, "B", "1.00 kB"),
    # rounding carries into the next prefix
    (999.4, "B", "999 B"),
    (999.5, "B", "1.00 kB"),
    (999_400, "B", "999 kB"),
    (999_600, "B", "1.00 MB"),
    (0.9996, "s", "1.00 s"),
    (999.6e-6, "s", "1.00 ms"),
    # ties
    (1125, "B", "1.13 kB"),
    (1.125e9, "B", "1.13 GB"),
    (-1125, "B", "-1.13 kB"),
    # prefixes are decimal: 80 GB are not 74.5 GiB (faults.md C6)
    (80e9, "B", "80.0 GB"),
    (2039e9, "B/s", "2.04 TB/s"),
    (989.4e12, "FLOP/s", "989 TFLOP/s"),
    (1.5e15, "FLOP/s", "1.50 PFLOP/s"),
    (1.5e18, "FLOP", "1.50 EFLOP"),
    (4.2e-6, "s", "4.20 µs"),
    (4.2e-9, "J", "4.20 nJ"),
    (4.2e-12, "J", "4.20 pJ"),
    # beyond the prefixes the digits go on
    (4.2e-15, "J", "0.00420 pJ"),
    (1.23e22, "B", "12300 EB"),
    (5e-324, "s", "0." + "0" * 311 + "494 ps"),  # the smallest number there is
    (0, "B", "0 B"),
    (-0.0, "B", "0 B"),
    (INF, "B/s", "∞ B/s"),
    (-INF, "B/s", "-∞ B/s"),
    (NAN, "J", "unknown"),
    (None, "J", "unknown"),
]


@pytest.mark.parametrize("value, unit, text", WITH_UNITS)
def test_with_units(value, unit, text):
    assert si(value, unit) == text


@pytest.mark.parametrize("value, text", [
    (0, "0 %"), (0.004, "0 %"), (0.005, "1 %"), (0.725, "73 %"), (0.995, "100 %"), (1, "100 %"), (1.2, "120 %"),
])  # fmt: skip
def test_percent(value, text):
    assert percent(value) == text


def test_more_digits():
    assert number(300_774_272, significant=9) == "3.00774272e8"
    assert si(300_774_272, "MAC", significant=4) == "300.8 MMAC"


def test_numpy_numbers_read_the_same():
    assert si(np.int64(1125), "B") == si(np.float64(1125), "B") == si(np.float32(1125), "B") == "1.13 kB"
    assert number(np.int64(7)) == "7.00"


FACTORS = {"p": -12, "n": -9, "µ": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


def half_a_unit(value):
    """Half a unit of the third digit of a value."""
    return Decimal(5).scaleb(Decimal(value).adjusted() - 3)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_text_says_the_value(value):
    """Read back, a text is at most half a unit of the third digit away from the value, and has three digits."""
    plain, (digits, unit) = number(value), si(value, "s").split()
    back = Decimal(digits).scaleb(FACTORS[unit.removesuffix("s")])
    assert abs(Decimal(plain) - Decimal(value)) <= half_a_unit(value)
    assert abs(back - Decimal(value)) <= half_a_unit(value)
    assert len(Decimal(plain).normalize().as_tuple().digits) <= 3


@given(st.floats(min_value=1e-12, max_value=9e20))
def test_prefixes_keep_numbers_short(value):
    digits = si(value, "s").split()[0]
    assert 1 <= float(digits) <= 999
    assert len(digits.replace(".", "")) == 3


@given(st.floats(min_value=1e-300, max_value=1e300))
def test_a_minus_sign_changes_nothing_else(value):
    assert number(-value) == "-" + number(value)
    assert si(-value, "s") == "-" + si(value, "s")
