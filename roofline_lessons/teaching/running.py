"""Run a learner's function: stop it when it never ends, and say where in it an error happened."""

from __future__ import annotations

import linecache
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

#: A learner's function is stopped after so long.
SECONDS = 2.0


class _Stop(BaseException):
    """Not an `Exception`: an ``except Exception`` inside an endless loop must not swallow it."""


def run(function: Callable[..., Any], args: tuple[Any, ...], seconds: float = SECONDS) -> Any:
    """Call a function, and stop it when it takes too long.

    A trace function looks at the clock at every instruction, which works on every system and in a browser kernel, where
    neither signals nor threads do. It cannot stop a single call that never comes back from C, nor a loop that catches
    everything with a bare ``except``.

    Raises
    ------
    TimeoutError
        It took longer than `seconds`.
    """
    deadline = time.monotonic() + seconds

    def watch(frame: Any, event: str, argument: Any) -> Any:
        frame.f_trace_opcodes = True  # a loop on one line passes no second line
        if time.monotonic() > deadline:
            raise _Stop
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        return function(*args)
    except _Stop as stop:
        told = f"stopped after {seconds:g} seconds: is there a loop that never ends?"
        raise TimeoutError(told).with_traceback(stop.__traceback__) from None
    finally:
        sys.settrace(before)


def error_words(error: BaseException, function: Any) -> str:
    """An error in the learner's words: what it was, and in which of the learner's own lines."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    code = getattr(function, "__code__", None)
    own = [f for f in traceback.extract_tb(error.__traceback__) if code and f.filename == code.co_filename]
    if not own:
        return text
    line = (own[-1].line or linecache.getline(own[-1].filename, own[-1].lineno or 0)).strip()
    return f"{text}\nin line {own[-1].lineno} of your cell{': ' * bool(line)}{line}"
