"""Preload what the first query needs."""

from __future__ import annotations

import gc
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING

from lpisearch.settings import SearchOptions

if TYPE_CHECKING:
    from lpisearch.library import Library

_QUESTION = "a"


def warm_up(library: Library) -> Thread:
    """Import what searches, open the index and read what is counted, in a thread of its own."""
    thread = Thread(target=_open, args=(library,), name="warming", daemon=True)
    thread.start()
    return thread


def _open(library: Library) -> None:
    with suppress(Exception):  # what is wrong with a library is said to those who ask
        library.search(_QUESTION, options=SearchOptions(k=1, facets=True))
    # What is there now stays until the end. Python need not look through it again and again for
    # what can be thrown away, which stops every answer that is under way.
    gc.collect()
    gc.freeze()
