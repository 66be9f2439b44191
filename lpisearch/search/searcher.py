"""A library that is open for queries, one after the other."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from lpisearch.errors import BadOption
from lpisearch.records import Answer
from lpisearch.search.engine import WAYS, Scores
from lpisearch.search.hits import Ranking, as_hits, select
from lpisearch.search.opening import Opened, behind, open_engine
from lpisearch.search.parsing import ParsedQuery, parse_query
from lpisearch.search.passages import Passages
from lpisearch.settings import SearchOptions
from lpisearch.storage.sqlite.configuration import TOKENISER, stored_setting
from lpisearch.storage.sqlite.matching import allowed_rows, bm25_rows, known_labels
from lpisearch.storage.sqlite.schema import open_library
from lpisearch.terms.languages import TokeniserSettings
from lpisearch.terms.tokeniser import Tokeniser

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from lpisearch.records import Filter
    from lpisearch.search.engine import Engine
    from lpisearch.search.question import Question
    from lpisearch.storage.sqlite.engine import Database

DEFAULTS = SearchOptions()
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
    pull
        Whether the documents that are found first may pull the question towards them.
    """

    tokens: tuple[str, ...]
    question: Question | None
    allowed: AbstractSet[int] | None
    left_out: frozenset[int] = frozenset()
    pull: bool = True


class Searcher:
    """Answers queries; its index stays open between them, and is opened anew when it was rebuilt.

    Use `Searcher.open(library)` in a `with` block. One per thread.
    """

    def __init__(self, library: Path, database: Database, index: str) -> None:
        self.library = library
        self.index = index
        self.database = database
        self._opened: Opened | None = None
        self._settings = TokeniserSettings()
        self._tokenisers: dict[TokeniserSettings, Tokeniser] = {}

    @classmethod
    def open(cls, library: Path, index: str = DEFAULTS.index) -> Self:
        """Open a library, and the index of that name at the first query.

        Raises
        ------
        LibraryError
        """
        return cls(library, open_library(library), index)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the library."""
        self._opened = None
        self.database.close()

    def search(self, text: str, options: SearchOptions = DEFAULTS) -> Answer:
        """Answer a query.

        Raises
        ------
        BadOption
            A way, number, date or label that cannot work.
        IndexNotFound
            The library has no index of the name.
        """
        check_options(options)
        with self.database.reading() as connection:
            opened = self.opened(connection)
            check_labels(connection, options.where)
            parsed, question = self.parse(opened, text)
            allowed = allowed_rows(connection, options.where, parsed)
            request = Request(parsed.tokens, question, allowed)
            return self.answer(connection, opened, request, options)

    def opened(self, connection: Connection) -> Opened:
        """Return the index that is in use now."""
        stored = stored_setting(connection, TOKENISER) or {}
        self._settings = TokeniserSettings.from_dict(stored)
        self._opened = open_engine(self.library, connection, self.index, self._opened)
        return self._opened

    def parse(self, opened: Opened, text: str) -> tuple[ParsedQuery, Question | None]:
        """Take a query apart, and find its words in the index."""
        return self._ask(opened, lambda tokeniser: parse_query(text, tokeniser))

    def parse_plain(self, opened: Opened, text: str) -> tuple[ParsedQuery, Question | None]:
        """Do the same with a text in which quotes and minus signs ask for nothing."""
        return self._ask(opened, lambda tokeniser: ParsedQuery(tuple(tokeniser.tokens(text))))

    @property
    def tokeniser(self) -> Tokeniser:
        """The tokeniser of the library."""
        return self._tokeniser(self._settings)

    def answer(
        self, connection: Connection, opened: Opened, request: Request, options: SearchOptions
    ) -> Answer:
        """Rank the documents of the library and return those to show."""
        if opened.engine is None or request.question is None:
            by = "lexical"
            ranking = _by_table(connection, request)
        else:
            by = options.by
            ranking = _by_index(opened.engine, request.question, request, by)
        selection = select(connection, ranking, options)
        passages = Passages(self.tokeniser, request.tokens, opened.engine, request.question)
        hits = as_hits(connection, ranking, selection, options, passages.passage)
        notes = [opened.note, _about_words(request, by), behind(connection, opened)]
        if selection.changed:
            notes.append(
                "some documents changed after the index was built, and were passed over. "
                "Next: lpisearch index"
            )
        return Answer(hits, by, tuple(filter(None, notes)))

    def _ask(
        self, opened: Opened, parse: Callable[[Tokeniser], ParsedQuery]
    ) -> tuple[ParsedQuery, Question | None]:
        tokeniser = self.tokeniser
        parsed = parse(tokeniser)
        if opened.engine is None:
            return parsed, None
        settings = TokeniserSettings.from_dict(opened.engine.index.manifest.tokeniser)
        if settings == tokeniser.settings:
            return parsed, opened.engine.ask(parsed.tokens)
        # The index is older than the language of the library: it knows words as they were cut.
        return parsed, opened.engine.ask(parse(self._tokeniser(settings)).tokens)

    def _tokeniser(self, settings: TokeniserSettings) -> Tokeniser:
        if settings not in self._tokenisers:
            self._tokenisers[settings] = Tokeniser(settings)
        return self._tokenisers[settings]


def check_options(options: SearchOptions) -> None:
    """Refuse options that cannot work.

    Raises
    ------
    BadOption
    """
    if options.by not in WAYS:
        near = difflib.get_close_matches(options.by.casefold(), WAYS, 1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise BadOption("--by", f"there is no way “{options.by}”{hint}", WAYS)
    if options.k < 0:
        raise BadOption("-k", f"{options.k} is not a number of hits")
    if options.offset < 0:
        raise BadOption("--offset", f"{options.offset} is not a number of hits")


def check_labels(connection: Connection, where: Filter) -> None:
    """Refuse a label that no document has, and say which are near.

    Raises
    ------
    BadOption
    """
    if not where.labels:
        return
    known = known_labels(connection)
    for label in where.labels:
        if label not in known:
            near = difflib.get_close_matches(label, known, 3, cutoff=0.5)
            hint = f" (did you mean {' or '.join(near)}?)" if near else ""
            error = BadOption("--label", f"no document has the label “{label}”{hint}")
            error.next_step = "lpisearch status  (shows the labels)"
            raise error


def _by_index(engine: Engine, question: Question, request: Request, by: str) -> Ranking:
    scores = engine.scores(question, by, pull=request.pull)
    places = among(engine, request, scores, by)
    hashes = engine.index.arrays["content_hashes"]
    return Ranking(engine.rows, scores, places, hashes, engine.vectors)


def _by_table(connection: Connection, request: Request) -> Ranking:
    """Rank by SQLite's own full-text index: it knows only the documents with a word."""
    found = bm25_rows(connection, request.tokens, request.allowed) if request.tokens else []
    kept = [pair for pair in found if pair[0] not in request.left_out]
    bm25 = np.array([score for _, score in kept], np.float32)
    rows = np.array([row for row, _ in kept], np.int64)
    return Ranking(rows, Scores(bm25, bm25, None, found=bool(kept)))


def among(engine: Engine, request: Request, scores: Scores, by: str) -> NDArray[np.int64] | None:
    """Return the places of the documents that may be found, or None for all."""
    if not scores.found:
        return np.empty(0, np.int64)
    places = _allowed_places(engine, request)
    if by != "lexical":
        return places
    with_words = scores.by > 0
    return np.flatnonzero(with_words) if places is None else places[with_words[places]]


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
    if not request.tokens:
        return "the query has no words to look for"
    unknown = request.question.unknown if request.question else ()
    if unknown:
        shown = ", ".join(f"“{word}”" for word in unknown[:_SHOWN_WORDS])
        more = f" and {len(unknown) - _SHOWN_WORDS} others" if len(unknown) > _SHOWN_WORDS else ""
        return f"in no document: {shown}{more}"
    if by == "semantic" and request.question and not request.question.has_place:
        return "these words are too rare for the subspace; try --by lexical"
    return ""
