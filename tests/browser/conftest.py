"""One JupyterLab and one browser for all browser tests; a fresh page for each."""

from __future__ import annotations

import shutil

import pytest
from playwright.sync_api import sync_playwright

from tests.browser.lab import FLAGS, ROOT, Lab, Server
from tests.browser_finder import find_browser


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebooks")
    shutil.copytree(ROOT / "notebooks", folder, dirs_exist_ok=True)
    made = Server(folder, tmp_path_factory.mktemp("jupyter"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        yield made
        made.close()


@pytest.fixture
def page(browser):
    context = browser.new_context(viewport={"width": 1400, "height": 1300})
    yield context.new_page()
    context.close()


@pytest.fixture
def lab(page, server):
    return Lab(page, server)
