"""Takes the picture of the explorer for README.md from a real JupyterLab: python -m scripts.readme_picture"""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser.lab import FLAGS, ROOT, Lab, Server
from tests.browser_finder import find_browser

MAKE = 'import roofline_lessons as rl\nrl.FusionExplorer("MobileNetV2 block", device="raspberry-pi-5", depth=3)'


def take(target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as home, sync_playwright() as p:
        server = Server(Path(folder), Path(home))
        try:
            browser = p.chromium.launch(executable_path=find_browser(), args=FLAGS)
            page = browser.new_page(viewport={"width": 1500, "height": 1200})
            lab = Lab(page, server)
            lab.open(server.write("picture.ipynb", MAKE))
            lab.run_all()
            page.wait_for_timeout(2000)
            page.locator(".rl-explorer").screenshot(path=target)
            browser.close()
        finally:
            server.close()


if __name__ == "__main__":
    take(ROOT / "notebooks" / "images" / "explorer.png")
