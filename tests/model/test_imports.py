"""Dependencies point one way (DESIGN, section 3), the model needs NumPy alone, and its examples are true."""

import ast
import doctest
import importlib
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import roofline_lessons

PACKAGE = Path(roofline_lessons.__file__).parent

#: Parts of the package from the bottom to the top. A part may import parts below it and itself.
LAYERS = [
    {"errors", "frozen", "text"},
    {"precision"},
    {"device", "graph"},
    {"operators", "arithmetic", "timing"},
    {"builder"},
    {"networks", "fusion"},
    {"cost", "execute"},
    {"measure"},
    {"readers"},
    {"engines"},
    {"scenes"},
    {"plots"},
    {"reports"},
    {"__main__", "widgets"},
    {"teaching"},
]
LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}

#: The model: what a browser kernel runs and what imports in a blink.
MODEL = {part for part, level in LEVEL.items() if level <= LEVEL["cost"]}

HEAVY = {"ipywidgets", "bqplot", "matplotlib", "anywidget", "pandas"}


def modules():
    """Every module file with its path below the package."""
    return sorted(PACKAGE.rglob("*.py"))


def part_of(path):
    """The part a file belongs to: its folder below the package, or its own name."""
    inside = path.relative_to(PACKAGE)
    return inside.parts[0].removesuffix(".py")


def imports(path):
    """(absolute name, at module level) of everything a file imports, what only a type checker reads aside."""
    package = ["roofline_lessons", *path.relative_to(PACKAGE).parent.parts]
    found = []

    def visit(node, top):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, ast.Import):
            found.extend((alias.name, top) for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            module = [*base, *([node.module] if node.module else [])]
            if node.module:
                found.append((".".join(module), top))
            else:  # from . import networks
                found.extend((".".join([*module, alias.name]), top) for alias in node.names)
        inside_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for child in ast.iter_child_nodes(node):
            visit(child, top and not inside_function)

    visit(ast.parse(path.read_text(encoding="utf-8")), True)
    return found


def name_of(path):
    return str(path.relative_to(PACKAGE))


IN_PARTS = [path for path in modules() if path.parent != PACKAGE or path.name != "__init__.py"]


def test_imports_are_read_right(tmp_path):
    file = PACKAGE / "fusion" / "imagined.py"
    text = "from ..graph import Graph\nfrom . import plan\nimport numpy as np\ndef f():\n    import pandas\n"

    class Imagined(type(file)):
        def read_text(self, **_):
            return text

    assert imports(Imagined(file)) == [
        ("roofline_lessons.graph", True),
        ("roofline_lessons.fusion.plan", True),
        ("numpy", True),
        ("pandas", False),
    ]


def test_every_part_has_a_layer():
    unplaced = {part_of(path) for path in IN_PARTS} - set(LEVEL)
    assert not unplaced, f"say in LAYERS where {unplaced} belongs"


@pytest.mark.parametrize("path", IN_PARTS, ids=name_of)
def test_dependencies_point_down(path):
    own = part_of(path)
    for name, _ in imports(path):
        if name.startswith("roofline_lessons."):
            other = name.split(".")[1]
            assert other == own or LEVEL[other] < LEVEL[own], f"{name_of(path)} imports {name}, which is not below it"


@pytest.mark.parametrize("path", [p for p in IN_PARTS if part_of(p) in MODEL], ids=name_of)
def test_the_model_imports_numpy_and_the_standard_library(path):
    allowed = {"roofline_lessons", "numpy", *sys.stdlib_module_names}
    if part_of(path) == "fusion":
        allowed.add("networkx")
    outside = {name for name, top in imports(path) if top and name.split(".")[0] not in allowed}
    assert not outside


@pytest.mark.parametrize("path", [p for p in IN_PARTS if LEVEL.get(part_of(p), 99) <= LEVEL["scenes"]], ids=name_of)
def test_scenes_and_what_is_below_draw_nothing(path):
    assert not {name for name, top in imports(path) if top and name.split(".")[0] in HEAVY}


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, roofline_lessons as rl; rl.networks.mobilenet_v2(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PACKAGE.parent)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert "numpy" in loaded
    assert not loaded & (HEAVY | {"networkx", "IPython"})


def test_names_that_are_loaded_late_are_known_and_misspelt_ones_are_not():
    assert "plots" in roofline_lessons.__all__
    with pytest.raises(AttributeError, match="no attribute 'RooflineExplorr'"):
        roofline_lessons.RooflineExplorr  # noqa: B018


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_the_examples_are_true(path):
    name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of bqplot, when it is first imported
        module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0
