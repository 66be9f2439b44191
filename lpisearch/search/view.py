"""A consistent view of a library: documents, index and tokeniser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lpisearch.indexes.scoring.explanation import Explainer
from lpisearch.records import Answer
from lpisearch.search.hits import as_hits
from lpisearch.search.notes import CHANGED, about_words, why_no_index, why_none
from lpisearch.search.passages import Passages
from lpisearch.search.ranking import rounded
from lpisearch.search.rankings import by_index, by_occurrences, by_table, ranks_anything
from lpisearch.search.sorting import select_sorted
from lpisearch.search.written import written_forms
from lpisearch.terms.forms import surface_forms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lpisearch.indexes.opening import Reading
    from lpisearch.indexes.scoring.engine import Engine
    from lpisearch.records import Details, Explanation, Facets
    from lpisearch.search.facets import OpenFacets
    from lpisearch.search.rankings import Ranking
    from lpisearch.search.request import Request
    from lpisearch.search.word_sources import OpenWords
    from lpisearch.settings import SearchOptions
    from lpisearch.storage import Snapshot
    from lpisearch.terms.tokeniser import Tokeniser


@dataclass(frozen=True, eq=False, slots=True)
class View:
    """A library as it is while one question is answered.

    Attributes
    ----------
    reading
        One unchanging state of the documents, and the index that it names.
    engine
        Over that index; None if the words alone must do.
    tokeniser
        Of the library.
    index_tokeniser
        Which made the words of the index: it may be older than the language of the library.
    words
        Of the index, as far as they were looked up before.
    columns
        What is counted of all documents.
    """

    reading: Reading
    engine: Engine | None
    tokeniser: Tokeniser
    index_tokeniser: Tokeniser
    words: OpenWords
    columns: OpenFacets

    @property
    def snapshot(self) -> Snapshot:
        """The documents."""
        return self.reading.snapshot

    def answer(self, request: Request, options: SearchOptions, text: str = "") -> Answer:
        """Rank the documents of the library and return those to show.

        Parameters
        ----------
        request
            What is looked for.
        options
            How to answer.
        text
            The query as it was typed, for those who want to know why a hit is one.
        """
        by, ranking = self._ranking(request, options)
        chosen, changed = select_sorted(self.snapshot, ranking, options)
        rows = [int(ranking.rows[place]) for place in chosen]
        sections = self.snapshot.documents.sections(rows)
        passages = Passages(self, request, ranking, sections)
        explain = self.explainer(request, passages, text) if options.explain else None
        hits = as_hits(self.snapshot, ranking, chosen, options, passages.of, explain=explain)
        notes = (
            *request.notes,
            why_no_index(self.reading),
            about_words(request, by),
            self.reading.behind(),
            CHANGED if changed else "",
            "" if hits else why_none(self.snapshot, options),
        )
        facets = self._facets(ranking, options) if options.facets else None
        return Answer(hits, by, tuple(filter(None, notes)), request.unknown, facets)

    def _facets(self, ranking: Ranking, options: SearchOptions) -> Facets:
        """Count all that may be found, those that `collapse` hides too."""
        places = slice(None) if ranking.among is None else ranking.among
        rows = ranking.rows[places]
        if options.min_score is not None:
            rows = rows[rounded(ranking.scores.by[places]) >= options.min_score]
        return self.columns.of(self.snapshot).count(rows)

    def _ranking(self, request: Request, options: SearchOptions) -> tuple[str, Ranking]:
        """Choose what ranks, as far as it was not chosen."""
        if request.occurrences and not ranks_anything(request, options.by):
            return "lexical", by_occurrences(request)
        if self.engine is None or request.question is None:
            return "lexical", by_table(self.snapshot, request)
        weight = options.semantic_weight
        return options.by, by_index(self.engine, request.question, request, options.by, weight)

    def explainer(
        self, request: Request, passages: Passages, text: str
    ) -> Callable[[int, Details], Explanation] | None:
        """Return what takes the cosine of a hit apart: that of the query as it was typed.

        Raises
        ------
        SubspaceError
            The map of the index is not linear.
        """
        if self.engine is None:
            return None
        explainer = Explainer(self.engine.index, request.counts)
        index, query_forms = self.engine.index, surface_forms(text, self.tokeniser)
        others: dict[str, str] = {}

        def other_forms(stems: Iterable[str]) -> dict[str, str]:
            if unknown := [stem for stem in sorted(stems) if stem not in others]:
                forms = written_forms(index, self.snapshot, unknown)
                others.update({stem: forms.get(stem, stem) for stem in unknown})
            return others

        def explain(place: int, document: Details) -> Explanation:
            tokens, said = passages.explained(place, document)
            forms = surface_forms(said, self.tokeniser)
            return explainer.of(tokens, query_forms, forms, other_forms)

        return explain
