"""Why the hits of a query are near it: `lpisearch query --explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.search.explain import check_linear, explain, surface_forms
from lpisearch.search.searcher import DEFAULTS, Searcher
from lpisearch.storage.sqlite.corpus import tokens_of
from lpisearch.storage.sqlite.documents import find_rows, load

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lpisearch.search.explain import Explanation
    from lpisearch.settings import SearchOptions


def explain_hits(
    library: Path, text: str, ids: Sequence[str], options: SearchOptions = DEFAULTS
) -> dict[str, Explanation]:
    """Take the cosine of a query and each of some documents apart, exactly.

    It is the cosine that a hit shows: that of the query as it was typed.

    Returns
    -------
    dict
        By document id; empty without an index. Documents that are gone are left out.

    Raises
    ------
    SubspaceError
        The map of the index is not linear.
    """
    with (
        Searcher.open(library, options.index) as searcher,
        searcher.database.reading() as connection,
    ):
        opened = searcher.opened(connection)
        if opened.engine is None:
            return {}
        index = opened.engine.index
        check_linear(index)
        tokeniser = searcher.tokeniser
        parsed, _ = searcher.parse(opened, text)
        query_counts = index.vocabulary.count(parsed.tokens)
        query_forms = surface_forms(text, tokeniser)
        found = {}
        for name in ids:
            for row in find_rows(connection, name)[:1]:
                tokens = tokens_of(connection, [row])[0].split()
                document = load(connection, row)
                forms = surface_forms(f"{document.title}\n{document.text}", tokeniser)
                taken = explain(index, query_counts, index.vocabulary.count(tokens))
                found[name] = taken.worded(query_forms, forms)
        return found
