"""Documents in place of words: more like this one, less like that one."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from lpisearch.search.feedback import LIKE_WORDS, moved, telling
from lpisearch.search.searcher import (
    DEFAULTS,
    Request,
    Searcher,
    check_labels,
    check_options,
)
from lpisearch.storage.sqlite import corpus
from lpisearch.storage.sqlite.documents import only_row
from lpisearch.storage.sqlite.matching import allowed_rows
from lpisearch.terms.documents import document_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lpisearch.records import Answer, Document
    from lpisearch.search.engine import Engine
    from lpisearch.search.opening import Opened
    from lpisearch.search.question import Question
    from lpisearch.settings import SearchOptions


def run_similar(
    library: Path, document: str | Document, options: SearchOptions = DEFAULTS
) -> Answer:
    """Find documents that are like one, without that one itself.

    Parameters
    ----------
    library
        The database file.
    document
        The id or the path of a document in the library, or a document that is nowhere yet.
    options
        How to answer.

    Raises
    ------
    DocumentNotFound, SeveralDocuments, BadOption, IndexNotFound, LibraryError
    """
    with Searcher.open(library, options.index) as searcher:
        return similar(searcher, document, options)


def similar(
    searcher: Searcher, document: str | Document, options: SearchOptions = DEFAULTS
) -> Answer:
    """Do the same in a library that is open."""
    check_options(options)
    with searcher.database.reading() as connection:
        opened = searcher.opened(connection)
        check_labels(connection, options.where)
        row: int | None = None
        if isinstance(document, str):
            row = only_row(connection, document)
            tokens = corpus.tokens_of(connection, [row])[0].split()
        else:
            tokens = document_tokens(searcher.tokeniser, document).split()
        request = Request(
            tokens=_frequent(tokens),
            question=_question(opened, tokens),
            allowed=allowed_rows(connection, options.where),
            left_out=frozenset() if row is None else frozenset({row}),
            pull=False,
        )
        return searcher.answer(connection, opened, request, options)


def run_feedback(
    library: Path,
    text: str,
    like: Sequence[str],
    unlike: Sequence[str],
    options: SearchOptions = DEFAULTS,
) -> Answer:
    """Answer a query moved towards some documents and away from others, which are left out.

    Raises
    ------
    DocumentNotFound, SeveralDocuments, BadOption, IndexNotFound, LibraryError
    """
    with Searcher.open(library, options.index) as searcher:
        return feedback(searcher, text, like, unlike, options)


def feedback(
    searcher: Searcher,
    text: str,
    like: Sequence[str],
    unlike: Sequence[str],
    options: SearchOptions = DEFAULTS,
) -> Answer:
    """Do the same in a library that is open. Without an index, words are added and none taken."""
    check_options(options)
    with searcher.database.reading() as connection:
        opened = searcher.opened(connection)
        check_labels(connection, options.where)
        wanted = [only_row(connection, name) for name in like]
        unwanted = [only_row(connection, name) for name in unlike]
        parsed, question = searcher.parse(opened, text)
        words = [tokens.split() for tokens in corpus.tokens_of(connection, wanted)]
        if opened.engine is not None and question is not None:
            others = [tokens.split() for tokens in corpus.tokens_of(connection, unwanted)]
            question = moved(
                question,
                [_asked(opened.engine, tokens) for tokens in words],
                [_asked(opened.engine, tokens) for tokens in others],
            )
        every = [*parsed.tokens, *(token for tokens in words for token in _frequent(tokens))]
        request = Request(
            tokens=tuple(dict.fromkeys(every)),
            question=question,
            allowed=allowed_rows(connection, options.where, parsed),
            left_out=frozenset({*wanted, *unwanted}),
            pull=False,
        )
        return searcher.answer(connection, opened, request, options)


def _question(opened: Opened, tokens: list[str]) -> Question | None:
    return _asked(opened.engine, tokens) if opened.engine is not None else None


def _asked(engine: Engine, tokens: list[str]) -> Question:
    question = engine.ask(tokens)
    return telling(question, engine.idf(question.words))


def _frequent(tokens: list[str]) -> tuple[str, ...]:
    return tuple(token for token, _ in Counter(tokens).most_common(LIKE_WORDS))
