"""More-like-this and less-like-this queries."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from lpisearch.indexes.scoring.feedback import LIKE_WORDS, moved, telling
from lpisearch.search.request import Request
from lpisearch.terms.documents import document_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from lpisearch.indexes.scoring.engine import Engine
    from lpisearch.indexes.scoring.question import Question
    from lpisearch.records import Document
    from lpisearch.search.view import View


def like_document(
    view: View, document: str | Document, allowed: AbstractSet[int] | None
) -> Request:
    """Ask for what is like a document, which is left out if it is in the library.

    Raises
    ------
    DocumentNotFound, SeveralDocuments
    """
    left_out: frozenset[int] = frozenset()
    if isinstance(document, str):
        row = view.snapshot.documents.only(document)
        tokens = view.snapshot.corpus.tokens([row])[0].split()
        left_out = frozenset({row})
    else:
        tokens = document_tokens(view.tokeniser, document).split()
    engine = view.engine
    question = _asked(engine, tokens) if engine is not None else None
    return Request(_frequent(tokens), question, allowed, left_out, feedback=False)


def moved_by_documents(
    view: View, request: Request, like: Sequence[str], unlike: Sequence[str]
) -> Request:
    """Move a query towards some documents and away from others, all of which are left out.

    Without an index, words are added and none taken.

    Raises
    ------
    DocumentNotFound, SeveralDocuments
    """
    wanted = [view.snapshot.documents.only(name) for name in like]
    unwanted = [view.snapshot.documents.only(name) for name in unlike]
    words = [tokens.split() for tokens in view.snapshot.corpus.tokens(wanted)]
    others = [tokens.split() for tokens in view.snapshot.corpus.tokens(unwanted)]
    question, engine = request.question, view.engine
    if engine is not None and question is not None:
        question = moved(
            question,
            [_asked(engine, tokens) for tokens in words],
            [_asked(engine, tokens) for tokens in others],
        )
    every = [*request.tokens, *(token for tokens in words for token in _frequent(tokens))]
    return replace(
        request,
        tokens=tuple(dict.fromkeys(every)),
        in_table=None,
        question=question,
        left_out=frozenset({*wanted, *unwanted}),
        feedback=False,
    )


def _asked(engine: Engine, tokens: list[str]) -> Question:
    question = engine.ask(tokens)
    return telling(question, engine.idf(question.words))


def _frequent(tokens: list[str]) -> tuple[str, ...]:
    return tuple(token for token, _ in Counter(tokens).most_common(LIKE_WORDS))
