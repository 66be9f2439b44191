"""One moment of a library: its documents, the index in use, and how words are cut."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.indexes.rebuild import rebuild_command
from lpisearch.messages import Message, Option, call
from lpisearch.records import Answer
from lpisearch.search.asked import Asked
from lpisearch.search.demands import demanded
from lpisearch.search.engine import Scores
from lpisearch.search.expansion import asked_of, expand
from lpisearch.search.hits import Ranking, as_hits, select
from lpisearch.search.parsing import parse_plain, parse_query
from lpisearch.search.passages import Passages
from lpisearch.search.word_sources import LibraryWords

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from lpisearch.records import Filter, Suggestion
    from lpisearch.search.engine import Engine
    from lpisearch.search.question import Question
    from lpisearch.search.word_sources import OpenWords
    from lpisearch.settings import SearchOptions
    from lpisearch.storage import IndexEntry, Snapshot
    from lpisearch.terms.phrases import WrittenPhrase
    from lpisearch.terms.tokeniser import Tokeniser

_SHOWN_WORDS = 5


@dataclass(frozen=True, eq=False, slots=True)
class Request:
    """What is looked for.

    Attributes
    ----------
    tokens
        Its words.
    question
        The same for the index; None without one.
    allowed
        Keys of the documents that may be found; None for all.
    left_out
        Keys of those that may not.
    feedback
        Whether the documents that are found first may move the question towards them.
    in_table
        What the full-text table is asked for, if not the tokens.
    phrases, occurrences
        What was quoted, and how often it stands in each document.
    unknown
        Words that are in no document, and what may have been meant.
    notes
        What is to be said of the query.
    """

    tokens: tuple[str, ...]
    question: Question | None
    allowed: AbstractSet[int] | None
    left_out: frozenset[int] = frozenset()
    feedback: bool = True
    in_table: tuple[str, ...] | None = None
    phrases: tuple[WrittenPhrase, ...] = ()
    occurrences: Mapping[int, int] = field(default_factory=dict)
    unknown: tuple[Suggestion, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class View:
    """A library as it is while one question is answered.

    Attributes
    ----------
    snapshot
        Sees one unchanging state of the documents.
    engine
        Over the index in use; None if the words alone must do.
    entry
        What the library says of that index.
    note
        Why there is no index, or "".
    tokeniser
        Of the library.
    index_tokeniser
        Which made the words of the index: it may be older than the language of the library.
    words
        Of the index, as far as they were looked up before.
    """

    snapshot: Snapshot
    engine: Engine | None
    entry: IndexEntry | None
    note: str
    tokeniser: Tokeniser
    index_tokeniser: Tokeniser
    words: OpenWords

    def ask(self, text: str, *, plain: bool = False) -> Asked:
        """Take a query apart, and find its words in the index.

        In a plain text quotes, stars and minus signs ask for nothing.
        """
        parse = parse_plain if plain else parse_query
        parsed = parse(text, self.tokeniser)
        engine = self.engine
        of_library = LibraryWords(self.snapshot, self.tokeniser)
        if engine is None:
            return Asked(parsed, expand(parsed, of_library), None, of_library, of_library)
        source = self.words.of(engine, self.index_tokeniser)
        if self.index_tokeniser is self.tokeniser:
            expanded = expand(parsed, source)
            return Asked(parsed, expanded, asked_of(engine, expanded), source, source)
        expanded = expand(parse(text, self.index_tokeniser), source)
        return Asked(parsed, expanded, asked_of(engine, expanded), source, of_library)

    def request(self, asked: Asked, where: Filter) -> Request:
        """Return what is looked for: the documents that meet the demands of a query.

        Raises
        ------
        BadOption
            A date of the filter is none.
        """
        found = demanded(self.snapshot, where, asked.parsed, asked.spellings)
        return Request(
            asked.tokens,
            asked.question,
            found.rows,
            in_table=asked.expanded.in_table,
            phrases=asked.phrases,
            occurrences=found.occurrences,
            unknown=asked.suggestions(self.snapshot, self.tokeniser),
            notes=(*asked.expanded.notes, *found.notes),
        )

    def answer(self, request: Request, options: SearchOptions) -> Answer:
        """Rank the documents of the library and return those to show."""
        engine = self.engine
        if request.phrases and not _ranks(request, options.by):
            by = "lexical"
            ranking = _by_occurrences(request)
        elif engine is None or request.question is None:
            by = "lexical"
            ranking = _by_table(self.snapshot, request)
        else:
            by = options.by
            weight = options.semantic_weight
            ranking = _by_index(engine, request.question, request, by, weight)
        selection = select(self.snapshot, ranking, options)
        passages = Passages(
            self.tokeniser, request.tokens, engine, request.question, request.phrases
        )
        hits = as_hits(self.snapshot, ranking, selection, options, passages.passage)
        notes = [self.note, _about_words(request, by), self._behind()]
        if selection.changed:
            notes.append(
                Message(
                    "some documents changed after the index was built, and were passed over. "
                    "Next: ",
                    call("index"),
                )
            )
        return Answer(hits, by, (*request.notes, *filter(None, notes)), request.unknown)

    def _behind(self) -> str:
        """Say that documents came or went since the index was brought up to date, or "".

        Counts and sums of keys are compared, which costs next to nothing. A document whose content
        changed keeps its key: it is noticed when it is found.
        """
        if self.entry is None or self.engine is None:
            return ""
        rows = self.engine.rows
        now = self.snapshot.corpus.count_and_sum(self.entry.spec.where)
        if now == (len(rows), int(rows.sum())):
            return ""
        said = "the index is behind the documents: some came or went since. Next: "
        return Message(said, rebuild_command(self.entry.spec))


def _by_index(
    engine: Engine, question: Question, request: Request, by: str, weight: float | None
) -> Ranking:
    scores = engine.scores(question, by, feedback=request.feedback, weight=weight)
    places = among(engine, request, scores, by)
    hashes = engine.index.content_hashes
    return Ranking(engine.rows, scores, places, hashes, engine.vectors)


def _by_table(snapshot: Snapshot, request: Request) -> Ranking:
    """Rank by SQLite's own full-text index: it knows only the documents with a word."""
    tokens = request.tokens if request.in_table is None else request.in_table
    found = snapshot.lexical.bm25(tokens, request.allowed) if tokens else []
    kept = [pair for pair in found if pair[0] not in request.left_out]
    bm25 = np.array([score for _, score in kept], np.float32)
    rows = np.array([row for row, _ in kept], np.int64)
    return Ranking(rows, Scores(bm25, bm25, None, found=bool(kept)))


def _ranks(request: Request, by: str) -> bool:
    """Tell whether the words of a query rank anything."""
    return request.question.is_known(by) if request.question else bool(request.tokens)


def _by_occurrences(request: Request) -> Ranking:
    """Rank by how often phrases without a word that ranks stand in a document."""
    kept = sorted(set(request.allowed or ()) - request.left_out)
    counts = np.array([request.occurrences.get(row, 0) for row in kept], np.float32)
    return Ranking(np.array(kept, np.int64), Scores(counts, counts, None, found=bool(kept)))


def among(engine: Engine, request: Request, scores: Scores, by: str) -> NDArray[np.int64] | None:
    """Return the places of the documents that may be found, or None for all."""
    if not scores.found:
        return np.empty(0, np.int64)
    places = _allowed_places(engine, request)
    shown = scores.by > 0 if by == "lexical" else scores.evidence
    if shown is None:
        return places
    return np.flatnonzero(shown) if places is None else places[shown[places]]


def _allowed_places(engine: Engine, request: Request) -> NDArray[np.int64] | None:
    if request.allowed is None and not request.left_out:
        return None
    every = engine.rows.tolist() if request.allowed is None else request.allowed
    rows = np.array(sorted(set(every) - request.left_out), np.int64)
    # Keys ascend in an index, as they do in the library.
    at = np.searchsorted(engine.rows, rows)
    inside = at < len(engine.rows)
    at, rows = at[inside], rows[inside]
    return np.asarray(at[engine.rows[at] == rows])


def _about_words(request: Request, by: str) -> str:
    if not request.tokens and not request.unknown:
        return "" if request.phrases else "the query has no words to look for"
    unknown = [_in_no_document(each) for each in request.unknown]
    if unknown:
        more = f" and {len(unknown) - _SHOWN_WORDS} others" if len(unknown) > _SHOWN_WORDS else ""
        return f"in no document: {', '.join(unknown[:_SHOWN_WORDS])}{more}"
    if by == "semantic" and request.question and not request.question.has_place:
        return Message("these words are too rare for the subspace; try ", Option("by", "lexical"))
    return ""


def _in_no_document(suggestion: Suggestion) -> str:
    meant = f" (did you mean “{suggestion.nearest[0]}”?)" if suggestion.nearest else ""
    return f"“{suggestion.word}”{meant}"
