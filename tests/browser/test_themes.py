"""The explorer in the light and in the dark theme: every word of the picture can be read."""

from __future__ import annotations

import re

import pytest

from tests.browser.explorer import Explorer

LIGHT, DARK = "JupyterLab Light", "JupyterLab Dark"
#: What is behind an element: the nearest ancestor with a background of its own.
BEHIND = """e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
  if (!/rgba\\(.*, 0\\)|transparent/.test(c)) return c; } return 'rgb(255, 255, 255)'; }"""


@pytest.fixture
def themed(lab):
    """Shows an explorer in a theme; the light one is back afterwards, for the other tests."""

    def open_in(theme: str, code: str) -> Explorer:
        lab.open(lab.server.write("theme_test.ipynb", f"import roofline_lessons as rl\n{code}"))
        lab.page.evaluate("t => jupyterapp.commands.execute('apputils:change-theme', {theme: t})", theme)
        lab.page.wait_for_function(
            "dark => document.body.dataset.jpThemeLight === (dark ? 'false' : 'true')", arg=theme == DARK
        )
        lab.run_all()
        return lab.explorer()

    yield open_in
    lab.page.evaluate("t => jupyterapp.commands.execute('apputils:change-theme', {theme: t})", LIGHT)


def luminance(color: str) -> float:
    """Relative luminance (WCAG 2) of a colour as the browser gives it."""
    parts = [float(v) / 255 for v in re.findall(r"[\d.]+", color)[:3]]
    r, g, b = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_words_on_lines_stand_out_and_their_halo_is_the_page(themed, lab, theme):
    explorer = themed(theme, 'rl.RooflineExplorer("MobileNetV2", device="stm32f746")')
    page = explorer.root.locator("svg.svg-figure").evaluate(BEHIND)
    assert (luminance(page) < 0.1) == (theme == DARK)
    words = explorer.root.locator("svg.svg-figure text.label")
    styles = words.evaluate_all("es => es.map(e => getComputedStyle(e)).map(s => [s.fill, s.stroke, s.paintOrder])")
    assert len(styles) == 3
    for ink, halo, order in styles:
        assert halo == page, "a halo of another colour than the page is a blot"
        assert order.startswith("stroke") and contrast(ink, page) > 7
    faint = "es => es.map(e => getComputedStyle(e).fill)"
    for ink in explorer.root.locator("svg.svg-figure .axis text").evaluate_all(faint):
        assert contrast(ink, page) > 4.5
    lab.screenshot(f"theme_{theme.split()[1].lower()}")
    assert not lab.errors


def test_the_name_of_the_slope_stays_clear_of_the_other_lines(themed):
    """Where there are roofs on the chip it stands below the slanted one, and does not leave the plot."""
    explorer = themed(LIGHT, 'rl.RooflineExplorer("MobileNetV2", device="raspberry-pi-5")')
    for device, words in (("STM32F746", "SRAM1 864 MB/s"), ("AMD Instinct MI300X", "HBM3 5.30 TB/s")):
        menu = explorer.root.locator("select").nth(1)
        explorer.choose("device", menu.locator("option", has_text=device).inner_text())
        label = explorer.root.locator("svg.svg-figure text.label", has_text=words)
        label.wait_for()
        box = label.bounding_box()
        left, top, right, bottom = explorer.plot()
        assert left < box["x"] and box["x"] + box["width"] < right
        (x0, y0), (x1, y1), _ = explorer.line()
        slope = (y1 - y0) / (x1 - x0)
        roof_at_start = y0 + slope * (box["x"] - x0)
        assert box["y"] > roof_at_start, "it begins below the slanted roof"
        assert box["y"] + box["height"] < bottom


def test_the_arrow_of_a_menu_is_seen_in_the_dark_theme(themed):
    menu = themed(DARK, "rl.RooflineExplorer()").root.locator("select").first
    arrow, ground = menu.evaluate("e => (s => [s.backgroundImage, s.backgroundColor])(getComputedStyle(e))")
    assert contrast(re.search(r"fill='(rgb[^']*)'", arrow)[1], ground) > 4.5


def test_the_ends_of_a_vertical_axis_strike_through_no_number(lab):
    """The axis begins and ends at a number. Its line goes out to the left there, and that is cut off."""
    lab.open(lab.server.write("axis_test.ipynb", "import roofline_lessons as rl\nrl.TilingExplorer()"))
    lab.run_all()
    axis = lab.page.locator(".rl-explorer g.axis").nth(1)
    axis.get_by_text("0", exact=True).wait_for()
    line = axis.locator("path.domain")
    assert line.get_attribute("d").startswith("M-6,")
    assert line.evaluate("e => getComputedStyle(e).clipPath") == "inset(0px -2px 0px 5px)"
