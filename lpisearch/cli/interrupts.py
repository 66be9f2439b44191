"""Handle Ctrl-C where Python would ignore it or print a traceback."""

from __future__ import annotations

import _thread
import atexit
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def heard_everywhere() -> Iterator[None]:
    """Take up an interrupt that fell into a callback of the interpreter; at its end, die of one."""
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_DFL)
    before = sys.unraisablehook

    def take_up(what: sys.UnraisableHookArgs) -> None:
        if issubclass(what.exc_type, KeyboardInterrupt):
            _thread.interrupt_main()
        else:
            before(what)

    sys.unraisablehook = take_up
    try:
        yield
    finally:
        sys.unraisablehook = before
