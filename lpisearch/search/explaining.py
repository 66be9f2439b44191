"""Why the hits of a query are near it: `lpisearch query --explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.search.explain import check_linear, explain, surface_forms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lpisearch.records import Explanation, Hit
    from lpisearch.search.view import View


def explain_hit(
    view: View, counts: Mapping[str, float], text: str
) -> Callable[[Hit], Explanation | None]:
    """Return what takes the cosine of a query and a hit apart, exactly.

    It is the cosine that the hit shows: that of the query as it was typed.

    Raises
    ------
    SubspaceError
        The map of the index is not linear.
    """
    if view.engine is None:
        return lambda _hit: None
    index = view.engine.index
    check_linear(index)
    query_counts = index.vocabulary.count(counts)
    query_forms = surface_forms(text, view.tokeniser)

    def of(hit: Hit) -> Explanation | None:
        rows = view.snapshot.documents.find(hit.id)
        if not rows:
            return None
        document = view.snapshot.documents.load([rows[0]])[0]
        own_counts = index.vocabulary.count(view.snapshot.corpus.tokens(rows[:1])[0].split())
        forms = surface_forms(f"{document.title}\n{document.text}", view.tokeniser)
        return explain(index, query_counts, own_counts).worded(query_forms, forms)

    return of
