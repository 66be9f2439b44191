"""Documents in place of words: more like this one, less like that one."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from lpisearch.database import corpus
from lpisearch.database.matching import allowed_rows
from lpisearch.errors import DocumentNotFound, ReaderError
from lpisearch.records import Answer, Document, Problem
from lpisearch.search.feedback import LIKE_WORDS, moved, telling
from lpisearch.workflows.documents import only_row
from lpisearch.workflows.searcher import (
    DEFAULTS,
    Request,
    Searcher,
    check_labels,
    check_options,
)
from lpisearch.workflows.tokens import document_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from lpisearch.search.engine import Engine
    from lpisearch.search.question import Question
    from lpisearch.settings import SearchOptions
    from lpisearch.workflows.opening import Opened


def run_similar(
    library: Path, document: str | Path | Document, options: SearchOptions = DEFAULTS
) -> Answer:
    """Find documents that are like one, without that one itself.

    Parameters
    ----------
    library
        The database file.
    document
        The id or the path of a document in the library, or any other file that can be read, or
        a document that is nowhere yet.
    options
        How to answer.

    Raises
    ------
    DocumentNotFound, SeveralDocuments, ReaderError, BadOption, IndexNotFound, LibraryError
    """
    with Searcher.open(library, options.index) as searcher:
        return similar(searcher, document, options)


def similar(
    searcher: Searcher, document: str | Path | Document, options: SearchOptions = DEFAULTS
) -> Answer:
    """Do the same in a library that is open."""
    check_options(options)
    with searcher.database.reading() as connection:
        opened = searcher.opened(connection)
        check_labels(connection, options.where)
        row = None if isinstance(document, Document) else _row(connection, os.fspath(document))
        if row is not None:
            tokens = corpus.tokens_of(connection, [row])[0].split()
        else:
            read = document if isinstance(document, Document) else _read(os.fspath(document))
            tokens = document_tokens(searcher.tokeniser, read).split()
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


def _row(connection: Connection, name: str) -> int | None:
    try:
        return only_row(connection, name)
    except DocumentNotFound:
        return None


def _read(name: str) -> Document:
    """Read the first document of a file."""
    from lpisearch.settings import ReadOptions
    from lpisearch.workflows.discovery import FoundFile
    from lpisearch.workflows.extraction import extract

    path = Path(name).expanduser().absolute()
    if not name or not path.is_file():
        raise DocumentNotFound(name)
    facts = path.stat()
    file = FoundFile(str(path), str(path.parent), facts.st_size, facts.st_mtime_ns, named=True)
    for extracted in extract([file], ReadOptions()):
        for item in extracted.items:
            if isinstance(item, Document):
                return item
            if isinstance(item, Problem) and not item.warning:
                raise ReaderError(f"{name}: {item.reason}.", "name another file")
    raise ReaderError(f"{name}: not a document that lpisearch can read.", "name another file")
