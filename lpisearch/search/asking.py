"""The library to its answers: `lpisearch query` and `lpisearch similar`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.search.batch import run_batch
from lpisearch.search.likeness import run_feedback, run_similar
from lpisearch.search.searcher import DEFAULTS, Searcher

if TYPE_CHECKING:
    from pathlib import Path

    from lpisearch.records import Answer
    from lpisearch.settings import SearchOptions

__all__ = ["Searcher", "run_batch", "run_feedback", "run_search", "run_similar"]


def run_search(library: Path, text: str, options: SearchOptions = DEFAULTS) -> Answer:
    """Answer one query.

    Raises
    ------
    BadOption, IndexNotFound, LibraryError
    """
    with Searcher.open(library, options.index) as searcher:
        return searcher.search(text, options)
