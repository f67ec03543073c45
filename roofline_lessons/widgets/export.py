"""`export_html`: an explorer as one HTML file that works without a kernel and without a network."""

from __future__ import annotations

import gzip
import html
import json
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import ipywidgets as W
from ipywidgets import embed

#: Browser halves of the installed packages, by AMD module name: they match the Python halves exactly.
_INSTALLED = ("bqscales", "bqplot", "anywidget")

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>body {{ margin: 24px auto; max-width: 1240px; padding: 0 16px; background: #fff; color: #1c1f26;
  font-family: system-ui, sans-serif; }} h1 {{ font-size: 24px; }}</style>
{scripts}
</head>
<body>
<h1>{title}</h1>
<script type="application/vnd.jupyter.widget-state+json">{state}</script>
<script type="application/vnd.jupyter.widget-view+json">{view}</script>
<noscript>This page draws its picture with JavaScript, which is off here.</noscript>
</body>
</html>
"""

# The builds are anonymous AMD modules. In a page of their own they need a name, or require.js refuses them.
_NAMED = """(function (define) {{
{code}
}})(Object.assign(
  (dependencies, factory) => factory === undefined
    ? window.define("{name}", [], dependencies) : window.define("{name}", dependencies, factory),
  {{amd: {{}}}}));"""


def export_html(widget: W.DOMWidget, path: Path | str, title: str | None = None) -> Path:
    """Write a widget as one HTML file. Sliders that a driver moves go on working in it.

    Parameters
    ----------
    widget : DOMWidget
        E.g. a `RooflineExplorer`. Its present state is what the page starts with.
    path : path
        The file to write; its folder must exist.
    title : str, optional

    Returns
    -------
    Path
        The file, absolute. About 5 MB: all libraries are in it, so it opens from a USB stick.

    Raises
    ------
    ValueError
        Not a widget, or a folder that does not exist.

    Notes
    -----
    Menus ask the kernel for new tables. There is none in the page, so they are greyed out in it.
    """
    if not isinstance(widget, W.DOMWidget):
        raise ValueError(f"only a widget can be exported, not {type(widget).__name__}; try rl.RooflineExplorer().")
    target = Path(path).absolute()
    if not target.parent.is_dir():
        raise ValueError(f"cannot write {target.name}: the folder {target.parent} does not exist.")
    data = embed.embed_data(views=[widget], state=page_state(widget), drop_defaults=False)
    page = _PAGE.format(
        title=html.escape(title or "Roofline explorer"),
        scripts="\n".join(f"<script>{_inert(code)}</script>" for code in _scripts()),
        state=_inert(json.dumps(data["manager_state"])),
        view=_inert(json.dumps(data["view_specs"][0])),
    )
    target.write_text(page, encoding="utf-8")
    return target


def page_state(widget: W.DOMWidget) -> dict[str, Any]:
    """The state of a widget and of everything it refers to, with what needs a kernel disabled."""
    # defaults must be in: without them the driver finds no value and its sliders do nothing, silently
    state = embed.dependency_state([widget], drop_defaults=False)
    for model in state.values():
        if model["model_name"] in ("DropdownModel", "ButtonModel"):
            model["state"]["disabled"] = True
    return state


def _scripts() -> list[str]:
    vendored = [_vendored("require.js.gz"), _vendored("embed-amd.js.gz")]
    return [*vendored, *(_NAMED.format(code=_installed(name), name=name) for name in _INSTALLED)]


def _vendored(name: str) -> str:
    return gzip.decompress(resources.files(__package__).joinpath("vendor", name).read_bytes()).decode("utf-8")


def _installed(name: str) -> str:
    path = Path(sys.prefix, "share", "jupyter", "nbextensions", name, "index.js")
    if not path.exists():
        raise ValueError(f"the browser half of {name} is not at {path}: install it anew with `pip install {name}`.")
    return path.read_text(encoding="utf-8")


def _inert(code: str) -> str:
    """Script text that cannot end its own <script> element."""
    return code.replace("</script", "<\\/script").replace("<!--", "<\\!--")
