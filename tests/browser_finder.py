"""The browser for the tests: an installed Chromium or Chrome, else one that may be installed.

    python -m tests.browser_finder      prints the browser's path; installs one first if there is none and it may

In order: the program named in the environment variable CHROME; an installed Chromium, Chrome or Edge; Playwright's
own Chromium if it was downloaded before. Only ``ensure_browser`` and the command go on: Debian's package (as root, or
where sudo asks no password), then Playwright's download. ``CHROME=none`` says: no browser, install none.

Playwright, which drives the browser, must start too: on a bare Debian its driver lacks a library.

Every outside command has a time limit, so that a dead network or a locked package database ends in a sentence.
"""

import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge")
MAC_APPS = ("Chromium", "Google Chrome", "Microsoft Edge")
WINDOWS_PROGRAMS = (r"Chromium\Application\chrome.exe", r"Google\Chrome\Application\chrome.exe",
                    r"Microsoft\Edge\Application\msedge.exe")  # fmt: skip
WINDOWS_FOLDERS = ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA")

# A bare Debian has no fonts, and a screenshot without letters helps nobody; nor the library that the driver needs.
DEBIAN_BROWSER = ("chromium", "fonts-dejavu-core")
DEBIAN_DRIVER = ("libatomic1",)


def find_browser() -> str | None:
    """Path of a browser that is here and can be driven, or None. Installs nothing.

    Raises
    ------
    ValueError
        CHROME names something that is not there: better than testing quietly in another browser.
    """
    named = os.environ.get("CHROME", "")
    if named == "none":
        return None
    if named:
        path = shutil.which(named)
        if path is None:
            raise ValueError(f"CHROME={named}: no such program. It should be a Chromium or Chrome, or unset.")
    else:
        path = _installed()
    return path if path and not _driver_fault() else None


def ensure_browser() -> str | None:
    """Path of a browser, installed first if there is none and it may be; None if none can be had.

    Says on standard output what it does. Call it from one process: the tests themselves only call ``find_browser``.
    """
    if os.environ.get("CHROME") == "none":
        return None
    for install in (None, _install_from_debian, _download_with_playwright):
        if install is not None:
            install()
            _installed.cache_clear()
            _driver_fault.cache_clear()
        if path := find_browser():
            return path
    return None


def why_none() -> str:
    """Why there is no browser, for the line that says what was skipped."""
    if os.environ.get("CHROME") == "none":
        return "CHROME=none"
    if fault := _driver_fault():
        return f"Playwright does not start ({fault})"
    return "no Chromium, Chrome or Edge here (`python -m tests.browser_finder` gets one; CHROME=path names one)"


def in_ci() -> bool:
    """Whether this is a CI run, where a missing browser is a failure."""
    return os.environ.get("CI", "").lower() in ("true", "1", "yes")


@functools.cache
def _installed() -> str | None:
    for candidates in (_in_the_system, _downloaded):  # the second takes a second to ask
        for path in candidates():
            if _usable(path):
                return path
    return None


@functools.cache
def _driver_fault() -> str:
    """Why Playwright's driver does not start; empty if it does."""
    worked, output = _run([sys.executable, "-m", "playwright", "--version"], seconds=60)
    return "" if worked else _gist(output)


def _in_the_system() -> list[str]:
    if sys.platform == "win32":
        roots = [Path(os.environ[name]) for name in WINDOWS_FOLDERS if os.environ.get(name)]
        paths = [root / program for program in WINDOWS_PROGRAMS for root in roots]
        return [str(path) for path in paths if path.is_file()]
    paths = [shutil.which(command) for command in COMMANDS]
    if sys.platform == "darwin":
        roots = [Path("/Applications"), Path.home() / "Applications"]
        paths += [shutil.which(root / f"{app}.app/Contents/MacOS/{app}") for app in MAC_APPS for root in roots]
    return [path for path in paths if path]


def _usable(path: str) -> bool:
    if not sys.platform.startswith("linux"):
        return True
    # Ubuntu's Chromium is a snap: it sees neither /tmp nor hidden folders, where the tests put their pages.
    if Path(path).resolve().name == "snap" or b"/snap/bin/" in Path(path).read_bytes()[:10_000]:
        return False
    return _run([path, "--version"], seconds=30)[0]


def _downloaded() -> list[str]:
    """Where Playwright keeps its own Chromium, if it is there. Asked in a process of its own: this one may have an
    event loop running, which Playwright's plain interface refuses."""
    ask = "from playwright.sync_api import sync_playwright as p\nwith p() as it: print(it.chromium.executable_path)"
    worked, output = _run([sys.executable, "-c", ask], seconds=60)
    path = output.strip()
    return [path] if worked and Path(path).is_file() else []


def _install_from_debian() -> None:
    if not shutil.which("apt-get"):
        return
    sudo: list[str] = []
    if os.getuid() != 0:
        sudo = ["sudo", "-n"]  # -n: fail rather than ask for a password
        if not shutil.which("sudo") or not _run([*sudo, "true"], seconds=10)[0]:
            return
    driver = DEBIAN_DRIVER if _driver_fault() else ()
    browser = () if os.environ.get("CHROME") or _installed() else DEBIAN_BROWSER
    packages = [*driver, *browser]
    if not packages:
        return
    apt = [*sudo, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-o", "DPkg::Lock::Timeout=60"]
    install = [*apt, "install", "-y", "--no-install-recommends"]
    # The download is a step of its own: it may be cut off at any time, unpacking should not be.
    _steps(
        f"Debian's {' '.join(packages)}",
        ([*apt, "update"], 120),
        ([*install, "--download-only", *packages], 600),
        ([*install, "--no-download", *packages], 600),
    )


def _download_with_playwright() -> None:
    if _driver_fault() or os.environ.get("CHROME"):
        return
    _steps("Playwright's Chromium", ([sys.executable, "-m", "playwright", "install", "chromium"], 600))


def _steps(what: str, *steps: tuple[list[str], float]) -> None:
    print(f"The browser tests need more than is here: installing {what} ...", flush=True)
    for command, seconds in steps:
        worked, output = _run(command, seconds)
        if not worked:
            print(f"  that did not work: {_gist(output)}", flush=True)
            return


def _gist(output: str) -> str:
    """The line that says what went wrong: the first that speaks of an error, else the last."""
    lines = [line.strip() for line in output.splitlines() if line.strip()] or ["it said nothing"]
    return next((line for line in lines if "error" in line.lower()), lines[-1])[:200]


def _run(command: list[str], seconds: float) -> tuple[bool, str]:
    """Run a command for at most so many seconds: whether it worked, and what it printed."""
    # Output goes to a file and the time limit ends the whole process group: with a pipe, a child that outlives its
    # parent would keep us waiting for the pipe's end.
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
        except OSError as error:
            return False, str(error)
        try:
            worked = process.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            try:
                if sys.platform == "win32":
                    process.kill()
                else:
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            except PermissionError:
                pass  # what sudo started is root's to end
            return False, f"no answer within {seconds:g} s"
        output.seek(0)
        return worked, output.read().decode(errors="replace")


def main() -> int:
    try:
        browser = ensure_browser()
    except ValueError as error:
        print(error)
        return 2
    if browser:
        print(f"Browser for the tests: {browser}")
        return 0
    print(f"Browser for the tests: none ({why_none()}).")
    if shutil.which("apt-get"):
        print(f"An administrator can bring it: sudo apt-get install {' '.join(DEBIAN_BROWSER + DEBIAN_DRIVER)}")
    print("Under CI that is a failure." if in_ci() else "The tests that need one are skipped.")
    return 1 if in_ci() else 0


if __name__ == "__main__":
    raise SystemExit(main())
