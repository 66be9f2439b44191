"""The effect of counting title words twice, on average precision.

Run `python benchmarks/titles.py`. Each collection is ingested and indexed by default options.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from benchmarks import arguments
from benchmarks.retrieval import _precision, build_library, judged_of
from lpisearch.ingest import ingestion as storing
from lpisearch.options import SearchOptions
from lpisearch.text.tokeniser import _begins_with, document_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from lpisearch.model.documents import Document
    from lpisearch.text.tokeniser import Tokeniser

COLLECTIONS = ("cranfield", "cisi")  # the documents of med have no titles


def once(tokeniser: Tokeniser, document: Document) -> str:
    """Count a title once, also where the text begins with it."""
    if _begins_with(document.text, document.title):
        return tokeniser.joined(document.text)
    return tokeniser.joined(f"{document.title}\n{document.text}")


def added(tokeniser: Tokeniser, document: Document) -> str:
    """Put the title before the text, whatever that begins with."""
    return tokeniser.joined(f"{document.title}\n{document.text}")


def main() -> None:
    """Print a line for each way."""
    arguments.nothing(__doc__)
    ways: dict[str, Callable[[Tokeniser, Document], str]] = {
        "once": once,
        "put before the text": added,
        "twice (in use)": document_tokens,
    }
    columns = [f"{name} {by}" for name in COLLECTIONS for by in ("lexical", "semantic", "hybrid")]
    print(" " * 22 + "".join(f"{column:>20}" for column in columns))
    for label, way in ways.items():
        found = []
        for name in COLLECTIONS:
            with tempfile.TemporaryDirectory() as folder:
                with patch.object(storing, "document_tokens", way):
                    library = build_library(name, Path(folder))
                judged = judged_of(name)
                found += [
                    _precision(library, name, judged, SearchOptions(by=by))
                    for by in ("lexical", "semantic", "hybrid")
                ]
        print(f"{label:22}" + "".join(f"{value:20.3f}" for value in found))


if __name__ == "__main__":
    main()
