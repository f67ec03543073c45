"""What every layer of the tests shares: what happens to browser tests where there is no browser."""

import getpass
import os
import tempfile
from pathlib import Path

import pytest

from tests.browser_finder import find_browser, in_ci, why_none

#: Where tests and the lessons they run keep what they measured of this machine: under load, so not where a learner's
#: own measurement lies, and once for all processes.
os.environ.setdefault("ROOFLINE_MACHINE", str(Path(tempfile.gettempdir(), f"roofline-tests-{getpass.getuser()}.json")))

BROWSER_TESTS = Path(__file__).parent / "browser"


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses by marker
def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.is_relative_to(BROWSER_TESTS):
            item.add_marker(pytest.mark.browser)


@pytest.hookimpl(tryfirst=True)  # before fixtures start a server for nothing
def pytest_runtest_setup(item):
    if item.get_closest_marker("browser") and find_browser() is None:
        (pytest.fail if in_ci() else pytest.skip)(f"no browser: {why_none()}")


def pytest_terminal_summary(terminalreporter):
    reports = terminalreporter.getreports("skipped")
    skipped = [report for report in reports if "browser" in getattr(report, "keywords", ())]
    if skipped and find_browser() is None:
        files = sorted({report.nodeid.split("::")[0] for report in skipped})
        terminalreporter.write_line(f"Skipped the browser tests ({len(skipped)} in {', '.join(files)}): {why_none()}.")
