"""Which documents a query may find, what BM25 gives them, and what is shown of them.

Tokens and filters go in, rows (the keys of documents) come out. Text reaches FTS5 through
`match_expression` and through nothing else.

By its tokens, a phrase is found where they stand one directly after the other among the stored
tokens of a document. Those are without stop words and stemmed, and begin with the title twice:
"state of the art" is found in "state art", and a phrase may begin at the end of a title and end at
the beginning of the text. Who wants it as it is written looks at the texts of the candidates.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from sqlalchemy import func, literal, select

from lpisearch.records import Filter
from lpisearch.storage.sqlite.documents import conditions
from lpisearch.storage.sqlite.fulltext import TABLE
from lpisearch.storage.sqlite.models import DocumentRow, LabelRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from sqlalchemy import Connection

# Measured on FTS5 of SQLite 3.40: an expression of 4,000 tokens takes three times as long as the
# same tokens in expressions of 64, whose BM25 add up.
_EXPRESSION_TOKENS = 64
# Up to so many rows go to SQLite, which then weighs no others: up to ten times as fast. Beyond,
# handing them over costs more than it saves.
_ROWS_HANDED_OVER = 10_000
_ROWS_AT_ONCE = 500
_UNSENDABLE = re.compile("[\0\ud800-\udfff]")
_MATCHING = f"SELECT rowid FROM {TABLE} WHERE {TABLE} MATCH ?"  # noqa: S608 (a constant name)
# FTS5 takes a phrase of a megabyte badly. Few documents have its first words: read those.
_VERIFIED = (
    f"{_MATCHING} AND instr((SELECT ' ' || tokens || ' ' "  # noqa: S608 (a constant name)
    f"FROM document_tokens WHERE document_id = {TABLE}.rowid), ?)"
)

Item = TypeVar("Item")


class Demands(Protocol):
    """What must and must not occur in a document."""

    @property
    def phrases(self) -> Sequence[Sequence[str]]:
        """All of them must occur."""

    @property
    def excluded(self) -> Sequence[Sequence[str]]:
        """None of them may occur."""


class Prefix(str):
    """The beginning of a token, in place of a token: all that begin so are meant."""

    __slots__ = ()


class Details(NamedTuple):
    """What is shown of a document; `text` is its beginning, as far as was asked for."""

    id: str
    title: str
    labels: tuple[str, ...]
    path: str
    date: str
    text: str
    content_hash: bytes


def match_expression(phrases: Iterable[Sequence[str]]) -> str:
    """Return an FTS5 expression that matches where any of the phrases occurs.

    Every token is quoted, so that none of its signs means anything to FTS5. What FTS5 cannot
    be given (NUL, half of a surrogate pair) becomes a space. A phrase in which FTS5 finds nothing
    to look for matches nothing. Without a phrase the expression is empty, which FTS5 refuses.
    """
    return " OR ".join(" + ".join(map(_quoted, phrase)) for phrase in phrases if phrase)


def allowed_rows(
    connection: Connection, where: Filter, parsed: Demands | None = None
) -> set[int] | None:
    """Return the documents that pass a filter and meet the demands; None if nothing is asked.

    Raises
    ------
    BadOption
        A date of the filter is none.
    """
    phrases = [phrase for phrase in parsed.phrases if phrase] if parsed else []
    excluded = [phrase for phrase in parsed.excluded if phrase] if parsed else []
    if where == Filter() and not phrases and not excluded:
        return None
    statement = select(DocumentRow.id).where(*conditions(where))
    allowed: set[int] | None = None
    for phrase in phrases:
        found = set(_rows_with_any(connection, [phrase]))
        allowed = found if allowed is None else allowed & found
        if not allowed:
            return set()
    if allowed is None:
        allowed = set(connection.execute(statement).scalars())
    elif where != Filter():
        allowed.intersection_update(connection.execute(statement).scalars())
    return allowed.difference(_rows_with_any(connection, excluded))


def candidate_rows(connection: Connection, alternatives: Sequence[Sequence[str]]) -> set[int]:
    """Return the documents that may have a phrase, each of whose tokens may be one of several.

    Where each is one, they stand one directly after the other; else in any order. A long phrase
    is looked for by its beginning.
    """
    some = [list(dict.fromkeys(each)) for each in alternatives[:_EXPRESSION_TOKENS]]
    if all(len(each) == 1 for each in some):
        expression = match_expression([[token for (token,) in some]])
    else:
        expression = " AND ".join(f"({match_expression([one] for one in each)})" for each in some)
    return set(connection.exec_driver_sql(_MATCHING, (expression,)).scalars())


def rows_with(connection: Connection, token: str, limit: int) -> list[int]:
    """Return a few documents that have a token."""
    statement = f"{_MATCHING} LIMIT ?"
    found = connection.exec_driver_sql(statement, (match_expression([[token]]), limit))
    return list(found.scalars())


def all_rows(connection: Connection) -> set[int]:
    """Return the keys of all documents."""
    return set(connection.execute(select(DocumentRow.id)).scalars())


def texts_of(
    connection: Connection, rows: Iterable[int], characters: int | None = None
) -> Iterator[tuple[int, str, str]]:
    """Yield key, title and text (or its beginning) of documents, a few at a time in memory."""
    text = DocumentRow.text if characters is None else func.substr(DocumentRow.text, 1, characters)
    ordered = sorted(rows)
    for start in range(0, len(ordered), _ROWS_AT_ONCE):
        some = ordered[start : start + _ROWS_AT_ONCE]
        statement = select(DocumentRow.id, DocumentRow.title, text).where(DocumentRow.id.in_(some))
        for row, title, beginning in connection.execute(statement):  # noqa: UP028 (a Row is typed)
            yield row, title, beginning


def bm25_rows(
    connection: Connection, tokens: Sequence[str], allowed: AbstractSet[int] | None = None
) -> list[tuple[int, float]]:
    """Return (row, BM25) of each document that has any of the tokens, in the order of rows.

    The higher the better: FTS5's own sign is turned. A token that is given twice counts twice.
    With `allowed`, only these rows; the score of a document does not depend on it.
    """
    if allowed is not None and not allowed:
        return []
    handed_over = allowed is not None and len(allowed) <= _ROWS_HANDED_OVER
    found = [
        _weighed(connection, some, allowed if handed_over else None) for some in _chunks(tokens)
    ]
    rows = found[0] if len(found) == 1 else _added_up(found)
    if allowed is None or handed_over:
        return rows
    return [pair for pair in rows if pair[0] in allowed]


def hit_details(
    connection: Connection, rows: Sequence[int], characters: int = 200_000
) -> dict[int, Details]:
    """Return what is shown of documents, by row; one that was deleted meanwhile is left out.

    Parameters
    ----------
    connection
        To the library.
    rows
        Keys of documents.
    characters
        How much of each text is wanted; at 0 none is read.
    """
    text = func.substr(DocumentRow.text, 1, characters) if characters else literal("")
    found: dict[int, Details] = {}
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        some = rows[start : start + _ROWS_AT_ONCE]
        labels = _labels_of(connection, some)
        statement = select(
            DocumentRow.id,
            DocumentRow.external_id,
            DocumentRow.title,
            DocumentRow.path,
            DocumentRow.date,
            text,
            DocumentRow.content_hash,
        ).where(DocumentRow.id.in_(some))
        for row, name, title, *rest in connection.execute(statement):
            found[row] = Details(name, title, tuple(labels.get(row, ())), *rest)
    return found


def known_labels(connection: Connection) -> list[str]:
    """Return the names of all labels, each once, in order."""
    statement = select(LabelRow.name).distinct().order_by(LabelRow.name)
    return list(connection.execute(statement).scalars())


def _quoted(token: str) -> str:
    doubled = _UNSENDABLE.sub(" ", token).replace('"', '""')
    return f'"{doubled}"*' if isinstance(token, Prefix) else f'"{doubled}"'


def _rows_with_any(connection: Connection, phrases: Sequence[Sequence[str]]) -> Iterator[int]:
    short = [phrase for phrase in phrases if len(phrase) <= _EXPRESSION_TOKENS]
    for some in _chunks(short):
        yield from connection.exec_driver_sql(_MATCHING, (match_expression(some),)).scalars()
    for phrase in phrases:
        if len(phrase) > _EXPRESSION_TOKENS:
            start = match_expression([phrase[:_EXPRESSION_TOKENS]])
            verified = connection.exec_driver_sql(_VERIFIED, (start, f" {' '.join(phrase)} "))
            yield from verified.scalars()


def _weighed(
    connection: Connection, tokens: Sequence[str], allowed: AbstractSet[int] | None
) -> list[tuple[int, float]]:
    statement = f"SELECT rowid, -bm25({TABLE}) FROM {TABLE} WHERE {TABLE} MATCH ?"  # noqa: S608 (a constant name)
    parameters: tuple[str, ...] = (match_expression([token] for token in tokens),)
    if allowed is not None:
        # The plus keeps SQLite from asking FTS5 anew for every row, a thousand times as slow.
        statement += " AND +rowid IN (SELECT value FROM json_each(?))"
        parameters += (json.dumps(list(allowed)),)
    return [(row, score) for row, score in connection.exec_driver_sql(statement, parameters)]


def _added_up(found: Iterable[list[tuple[int, float]]]) -> list[tuple[int, float]]:
    totals: dict[int, float] = {}
    for rows in found:
        for row, score in rows:
            totals[row] = totals.get(row, 0.0) + score
    return sorted(totals.items())


def _labels_of(connection: Connection, rows: Sequence[int]) -> dict[int, list[str]]:
    statement = (
        select(LabelRow.document_id, LabelRow.name)
        .where(LabelRow.document_id.in_(rows))
        .order_by(LabelRow.document_id, LabelRow.position)
    )
    labels: dict[int, list[str]] = {}
    for row, name in connection.execute(statement):
        labels.setdefault(row, []).append(name)
    return labels


def _chunks(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), _EXPRESSION_TOKENS):
        yield items[start : start + _EXPRESSION_TOKENS]
