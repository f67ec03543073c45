"""This machine as a device: measured once, kept in a file beside the notebooks."""

from __future__ import annotations

import os
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from .errors import MeasureError, MeasureWarning, OutdatedError
from .measurement import Machine, Measurement, Place, from_json, to_json
from .protocol import Bench, installed, one_thread
from .recording import recorded
from .sweep import Kit, RealKit, measure_bandwidths, measure_engines, measure_fresh, measure_products

#: The file beside the notebooks; the environment variable ROOFLINE_MACHINE names another.
FILE = "my.machine.json"

#: What a browser's kernel says.
IN_A_BROWSER = (
    "This kernel runs inside a browser tab and cannot measure the machine: the browser makes its clock coarse on "
    "purpose, and code there is neither compiled for the processor nor alone on it. To measure, run the lessons on "
    "your own machine (README, Start). To study all the same, here is one that was measured before:"
)

_LIBRARIES = ("numpy", "numba", "numexpr", "onnxruntime")

#: Seconds for bandwidths, new arrays, products and engines.
_FULL, _QUICK = (12.0, 3.0, 5.0, 4.0), (2.2, 0.4, 0.9, 0.8)


def this_machine(quick: bool = False, again: bool = False, path: Path | str | None = None) -> Machine:
    """This machine's own roofs, measured on one thread.

    Takes 20 to 30 seconds, or about six with `quick`, the first time; then the file is read. It is measured anew when
    the machine, its system or a library's version is another one.

    Parameters
    ----------
    quick : bool
        Fewer rounds and smaller matrices: good for a look, noisier.
    again : bool
        Measure even though there is a file.
    path : path, optional
        The file; by default ``my.machine.json`` in the working directory.

    Returns
    -------
    Machine
        A `Device`: peaks by number format, DRAM bandwidth and cache levels, cost of a call. `notes` says what is
        doubtful, `measured` holds everything that was found.

    Warns
    -----
    MeasureWarning
        In a browser's kernel, which cannot measure: why, and that what comes back is `recorded()` instead. Also where
        the file cannot be read or written.
    """
    if in_a_browser():
        warnings.warn(f"{IN_A_BROWSER} {recorded().name}.", MeasureWarning, stacklevel=2)
        return recorded()
    file = Path(path or os.environ.get("ROOFLINE_MACHINE") or FILE).absolute()
    kept = None if again else _kept(file)
    if kept is not None and kept.place.same_machine(here()) and (quick or not kept.quick):
        return kept.device()
    found = measure(quick)
    _keep(file, found)
    return found.device()


def in_a_browser() -> bool:
    """Whether Python runs as WebAssembly, as in JupyterLite."""
    return sys.platform == "emscripten"


def measure(
    quick: bool = False, kit: Callable[[], Kit] = RealKit, clock: Callable[[], float] = time.perf_counter
) -> Measurement:
    """Measure now, whatever is in the file.

    Parameters
    ----------
    quick : bool
    kit : callable
        Makes what is run.
    clock : callable
        Seconds.

    Returns
    -------
    Measurement
    """
    budgets = _QUICK if quick else _FULL
    place, start = here(), clock()
    with _progress(sum(budgets)) as tick, one_thread() as on_one:
        bench, tools = Bench(clock, tick=tick), kit()
        bandwidths = measure_bandwidths(bench, tools, budgets[0])
        fresh = measure_fresh(bench, tools, budgets[1])
        rates = measure_products(bench, tools, 512 if quick else 1024, budgets[2])
        costs = measure_engines(bench, tools, budgets[3])
    return Measurement(
        place=place,
        quick=quick,
        seconds=clock() - start,
        probes=tools.library,
        one_thread=on_one,
        fresh_seconds_per_byte=fresh,
        products=rates,
        **bandwidths,
        **costs,
    )


def here() -> Place:
    """This machine, now."""
    versions = {"python": platform.python_version()}
    versions |= {library: metadata.version(library) for library in _LIBRARIES if installed(library)}
    return Place(
        host=platform.node(),
        processor=processor(),
        system=f"{platform.system()} {platform.machine()}",
        versions=versions,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        load=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        processors=os.cpu_count() or 1,
    )


def processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """The processor's name as the system gives it."""
    try:
        for line in cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.lower().startswith(("model name", "hardware")) and ":" in line:
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine() or "unknown processor"


@contextmanager
def _progress(seconds: float) -> Iterator[Callable[[float], Any] | None]:
    """A bar that fills with the seconds measured, where tqdm is installed."""
    if not installed("tqdm"):
        yield None
        return
    from tqdm.auto import tqdm

    with tqdm(
        total=round(seconds), desc="measuring", unit="s", leave=False, bar_format="{desc} {bar} {elapsed}"
    ) as bar:
        yield lambda passed: bar.update(min(passed, max(bar.total - bar.n, 0.0)))


# -- the file ----------------------------------------------------------------------------------------------------------


def _kept(file: Path) -> Measurement | None:
    """What the file holds; None where there is none or an outdated one, and where it cannot be read.

    What cannot be read is put aside. What is outdated is replaced without a word, as is what was measured with other
    versions of the libraries: it is whole, and worth nothing any more.
    """
    try:
        return from_json(file.read_bytes())
    except (OSError, OutdatedError):
        return None
    except MeasureError as error:
        aside = file.with_name(f"{file.name}.unreadable-{datetime.now(UTC).strftime('%Y%m%dT%H%M%S%f')}")
        try:
            file.replace(aside)
        except OSError:
            return None
        warnings.warn(
            f"{file.name} could not be read: {error}. It is kept as {aside.name}; measuring anew.",
            MeasureWarning,
            stacklevel=3,
        )
        return None


def _keep(file: Path, found: Measurement) -> None:
    """All or nothing. Where nothing can be written, the measurement is good all the same."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(to_json(found), encoding="utf-8")
        temporary.replace(file)
    except OSError as error:
        warnings.warn(f"The measurement will not be kept: {error}.", MeasureWarning, stacklevel=3)
    finally:
        try:
            temporary.unlink(missing_ok=True)
        except OSError:
            pass
