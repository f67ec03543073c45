"""One source of versions: pyproject.toml -> the locks -> environment.yml and binder/, which must not drift apart."""

import itertools
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
LOCKS = {"requirements.lock": ["lab", "engines"], "requirements-test.lock": ["lab", "engines", "coreml", "test"]}

# Python and browser halves that must match (see pyproject.toml)
EXACT_SET = ["jupyterlab", "ipywidgets", "jupyterlab-widgets", "bqplot", "anywidget"]

PYTHONS = ["3.11", "3.12", "3.13"]
SYSTEMS = [
    {"sys_platform": "linux", "os_name": "posix", "platform_system": "Linux", "platform_machine": "x86_64"},
    {"sys_platform": "linux", "os_name": "posix", "platform_system": "Linux", "platform_machine": "aarch64"},
    {"sys_platform": "darwin", "os_name": "posix", "platform_system": "Darwin", "platform_machine": "arm64"},
    {"sys_platform": "darwin", "os_name": "posix", "platform_system": "Darwin", "platform_machine": "x86_64"},
    {"sys_platform": "win32", "os_name": "nt", "platform_system": "Windows", "platform_machine": "AMD64"},
    {"sys_platform": "win32", "os_name": "nt", "platform_system": "Windows", "platform_machine": "ARM64"},
]
ENVIRONMENTS = [
    {"python_version": python, "python_full_version": f"{python}.9", "implementation_name": "cpython", **system}
    for python, system in itertools.product(PYTHONS, SYSTEMS)
]

# Registries' hosts, put together here so that this file names none either.
HOSTS = [
    ".".join(parts)
    for parts in [
        ("pypi", "org"),
        ("files", "pythonhosted", "org"),
        ("registry", "npmjs", "org"),
        ("registry", "yarnpkg", "com"),
        ("conda", "anaconda", "org"),
        ("deb", "debian", "org"),
        ("security", "debian", "org"),
    ]
]
NOT_COMMITTED = {"venv", "env", "node_modules", "build", "dist", "artefacts", "__pycache__"}  # and .git, .venv, caches


def blocks(name):
    """A lock's requirements, each with its continuation lines (the hashes)."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    return re.split(r"\n(?=\S)", text.strip())


def requirements(name):
    return [Requirement(block.split("\\")[0].strip()) for block in blocks(name)]


def version(requirement):
    """The version of an exact pin."""
    (specifier,) = requirement.specifier
    assert specifier.operator == "==", f"{requirement} is not an exact pin"
    return specifier.version


def chosen(name, environment):
    """Project -> version that a lock gives in one environment; more than one is a fault."""
    pins = {}
    for requirement in requirements(name):
        if requirement.marker is None or requirement.marker.evaluate(environment):
            project = canonicalize_name(requirement.name)
            assert project not in pins, f"{name} has two versions of {project} for {environment}"
            pins[project] = version(requirement)
    return pins


def committed():
    """The project's files, as far as a plain walk can tell."""
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [f for f in folders if f not in NOT_COMMITTED and (f == ".ci" or not f.startswith("."))]
        yield from (Path(folder, file) for file in files)


def test_what_is_exported_is_up_to_date():
    run = subprocess.run([sys.executable, ROOT / "scripts/export_env.py", "--check"], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("lock", LOCKS)
def test_each_pin_has_hashes(lock):
    without = [block for block in blocks(lock) if "--hash=sha256:" not in block]
    assert not without


def named(environment):
    return "-".join(environment[part] for part in ("python_version", "sys_platform", "platform_machine"))


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=named)
@pytest.mark.parametrize("lock", LOCKS)
def test_the_lock_satisfies_the_project(lock, environment):
    pins = chosen(lock, environment)
    wanted = PROJECT["project"]["dependencies"] + [line for extra in LOCKS[lock] for line in EXTRAS[extra]]
    for requirement in map(Requirement, wanted):
        if requirement.marker is not None and not requirement.marker.evaluate(environment):
            continue  # not wanted there
        project = canonicalize_name(requirement.name)
        assert project in pins, f"{lock} lacks {project}: `make lock`"
        assert pins[project] in requirement.specifier, f"{lock} has {project} {pins[project]}, not {requirement}"


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=named)
def test_the_tests_run_on_the_versions_of_the_lab(environment):
    lab, tests = (chosen(lock, environment).items() for lock in LOCKS)
    assert lab <= tests


#: Where each engine has wheels.
WHEELS = {
    "onnxruntime": {"linux-x86_64", "linux-aarch64", "darwin-arm64", "win32-AMD64", "win32-ARM64"},
    "numba": {"linux-x86_64", "linux-aarch64", "darwin-arm64", "win32-AMD64", "win32-ARM64"},
    "ai-edge-litert": {"linux-x86_64", "linux-aarch64", "darwin-arm64", "win32-AMD64"},
    "coremltools": {"linux-x86_64", "darwin-x86_64", "darwin-arm64"},
}


@pytest.mark.parametrize("engine", WHEELS)
def test_engines_are_installed_where_they_have_wheels(engine):
    """Anywhere else pip would look for an old version or try to build one."""
    places = {
        f"{e['sys_platform']}-{e['platform_machine']}"
        for e in ENVIRONMENTS
        if engine in chosen("requirements-test.lock", e)
    }
    assert places == WHEELS[engine]


def test_all_is_everything():
    (everything,) = map(Requirement, EXTRAS["all"])
    assert everything.extras == set(EXTRAS) - {"all", "test"}


def test_python_and_browser_halves_are_an_exact_set():
    project = {canonicalize_name(r.name): version(r) for r in map(Requirement, EXTRAS["lab"]) if "==" in str(r)}
    wanted = {name: project.get(name) for name in EXACT_SET}
    assert None not in wanted.values(), f"pyproject.toml must pin these exactly: {wanted}"
    conda = re.findall(r'- "([\w-]+)==([^" ]+)', (ROOT / "environment.yml").read_text(encoding="utf-8"))
    binder = re.findall(r"^([\w-]+)==(\S+)", (ROOT / "binder/requirements.txt").read_text(encoding="utf-8"), re.M)
    for pins in (chosen("requirements.lock", ENVIRONMENTS[0]), dict(conda), dict(binder)):
        assert {name: pins[name] for name in EXACT_SET} == wanted


def test_the_lock_brings_what_builds_the_project():
    (backend,) = map(Requirement, PROJECT["build-system"]["requires"])
    assert chosen("requirements.lock", ENVIRONMENTS[0])[canonicalize_name(backend.name)] == version(backend)


def test_no_file_names_a_package_registrys_host():
    """University mirrors and offline rooms set their own: a host in a file would win over theirs."""
    naming = [f"{path}: {host}" for path in committed() for host in HOSTS if host.encode() in path.read_bytes()]
    assert not naming
