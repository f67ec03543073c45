"""`export_html`: a widget as one HTML file that works without a kernel and without a network."""

from __future__ import annotations

import html
import json
import re
from importlib import metadata
from pathlib import Path
from typing import Any

import ipywidgets as W
from ipywidgets import embed

from .driver import javascript

_States = dict[str, dict[str, Any]]

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<!-- The scripts below are the browser halves of {packages}, unchanged, with the licences that these packages carry. -->
</head>
<body>
<h1>{title}</h1>
<div id="widget"></div>
<p class="note">{note}</p>
<noscript>This page draws its picture with JavaScript, which is off here.</noscript>
<script>{page}</script>
{modules}
<style>
html {{ color-scheme: light; background: #fff; }}
body {{ margin: 24px auto; max-width: 1240px; padding: 0 16px; color: #1c1f26; font-family: system-ui, sans-serif; }}
h1 {{ font-size: 24px; }}
.note {{ color: #5b6270; font-size: 14px; }}
.jupyter-widgets-disconnected::before {{ content: none; }} /* without a kernel, each widget would show a broken link */
.fa {{ font-style: normal; }} /* the page has no font of icons: arrows of an accordion are letters */
.fa-caret-right::before {{ content: "▸ "; }}
.fa-caret-down::before {{ content: "▾ "; }}
.fa-play::before {{ content: "▶"; }}
.fa-pause::before {{ content: "⏸"; }}
.fa-stop::before {{ content: "■"; }}
</style>
<script>showWidgets({states}, "{id}", document.getElementById("widget"));</script>
</body>
</html>
"""


def _title(widget: W.DOMWidget) -> str:
    """The words of the name of its class: "Fuse by hand"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(widget).__name__).capitalize()


def export_html(widget: W.DOMWidget, path: Path | str, title: str | None = None) -> Path:
    """Write a widget as one HTML file. Sliders that a driver moves go on working in it.

    Parameters
    ----------
    widget : DOMWidget
        E.g. a `RooflineExplorer`. Its present state is what the page starts with.
    path : path
        The file to write; its folder must exist.
    title : str, optional
        By default what kind of widget it is, e.g. "Roofline explorer".

    Returns
    -------
    Path
        The file, absolute. About 2 MB: all libraries are in it, so it opens from a USB stick.

    Raises
    ------
    ValueError
        Not a widget; a folder that does not exist; a widget whose browser half cannot be had or needs a notebook.

    Notes
    -----
    Menus ask the kernel for new tables. There is none in the page, so they are greyed out in it. Icons of buttons are
    not in it either: they are a font of JupyterLab's.
    """
    if not isinstance(widget, W.DOMWidget):
        raise ValueError(f"only a widget can be exported, not {type(widget).__name__}; try rl.RooflineExplorer().")
    target = Path(path).absolute()
    if not target.parent.is_dir():
        raise ValueError(f"cannot write {target.name}: the folder {target.parent} does not exist.")
    states = page_states(widget)
    used = {state["model_module"] for state in states.values()}
    halves = dict(_browser_half(module) for module in ("@jupyter-widgets/base", *sorted(used)))  # all need the first
    page = _PAGE.format(
        title=html.escape(title or _title(widget)),
        note="Greyed-out controls need a notebook." if any(_is_off(state) for state in states.values()) else "",
        packages=", ".join(f"{package} {metadata.version(package)}" for package in halves),
        page=javascript("page.js"),
        modules="\n".join(f'<script data-package="{p}">{_inert(code)}</script>' for p, code in halves.items()),
        states=json.dumps(states).replace("<", "\\u003c"),
        id=widget.model_id,
    )
    target.write_text(page, encoding="utf-8")
    return target


def page_states(widget: W.DOMWidget) -> _States:
    """The states of a widget and of everything it refers to, with the controls off that need a kernel."""
    # defaults must be in: without them the driver finds no value and its sliders do nothing, silently
    states: _States = embed.dependency_state([widget], drop_defaults=False)
    live = {reference for state in states.values() for reference in _listened(state["state"])}
    for id, state in states.items():
        if "disabled" in state["state"] and f"IPY_MODEL_{id}" not in live:
            state["state"]["disabled"] = True
    return states


def _listened(state: dict[str, Any]) -> list[str]:
    """The widgets that a driver or a browser-side link listens to."""
    ends = [state[end][0] for end in ("source", "target") if isinstance(state.get(end), list)]
    return [*ends, *state["controls"].values()] if isinstance(state.get("controls"), dict) else ends


def _is_off(state: dict[str, Any]) -> bool:
    return bool(state["state"].get("disabled"))


def _browser_half(module: str) -> tuple[str, str]:
    """The package that brings a module of widgets, and the module's JavaScript.

    It comes from the installed package, so that it matches the Python half.
    """
    if module == "@jupyter-widgets/output":
        raise ValueError("an Output widget shows what a kernel prints: it cannot be exported.")
    own = module.startswith("@jupyter-widgets/")
    package, file = ("widgetsnbextension", "jupyter-js-widgets/extension.js") if own else (module, f"{module}/index.js")
    try:
        inside = next(f for f in metadata.files(package) or [] if f.match(f"nbextensions/{file}"))
        return package, Path(str(inside.locate())).read_text(encoding="utf-8")
    except (metadata.PackageNotFoundError, StopIteration, OSError):
        raise ValueError(f"the browser half of {package} cannot be found: `pip install {package}` brings it.") from None


def _inert(code: str) -> str:
    """Script text that cannot end its own <script> element."""
    return code.replace("</script", "<\\/script").replace("<!--", "<\\!--")
