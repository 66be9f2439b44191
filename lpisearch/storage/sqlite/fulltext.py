"""FTS5 table and BM25 queries.

Inserting is explicit, in the transaction that writes the tokens: a trigger would make FTS5
flush its segment once a row and triple the time of an ingest. Deleting is a trigger, so that
no path, not even a cascade, can leave a document in the lexical index.

Tokens and filters go in, keys come out. Text reaches FTS5 through `match_expression` and through
nothing else.

By its tokens, a phrase is found where they stand one directly after the other among the stored
tokens of a document. Those are without stop words and stemmed, and begin with the title twice:
"state of the art" is found in "state art", and a phrase may begin at the end of a title and end at
the beginning of the text. Who wants it as it is written looks at the texts of the candidates.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy import text

from lpisearch.storage.filters import Prefix, SQLLexical

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from sqlalchemy import Connection


TABLE = "documents_fts"
_COUNT = "SELECT count(*) FROM temp.library_terms"
_LISTED = """SELECT term, doc FROM (
SELECT term, doc, row_number() OVER () AS number FROM temp.library_terms)
WHERE number % :step = 0"""
_FOUND = "SELECT count(*) FROM documents_fts WHERE documents_fts MATCH :term"
DELETE_TRIGGER = """CREATE TRIGGER document_tokens_deleted AFTER DELETE ON document_tokens BEGIN
INSERT INTO documents_fts(documents_fts, rowid, tokens)
VALUES ('delete', old.document_id, old.tokens); END"""


def add(connection: Connection, row_ids: Sequence[int]) -> None:
    """Index the stored tokens of documents that are not in the table yet."""
    connection.execute(
        text(
            f"INSERT INTO {TABLE}(rowid, tokens) SELECT document_id, tokens "  # noqa: S608 (a constant name)
            "FROM json_each(:ids) JOIN document_tokens ON document_id = value"
        ),
        {"ids": json.dumps(row_ids)},
    )


def count_terms(connection: Connection, least_documents: int) -> int:
    """Return how many terms occur in at least so many documents of the whole library."""
    _open_terms(connection)
    statement = text("SELECT count(*) FROM temp.library_terms WHERE doc >= :least")
    return int(connection.execute(statement, {"least": least_documents}).scalar_one())


def terms_between(connection: Connection, first: str, end: str) -> list[tuple[str, int]]:
    """Return the terms from `first` on and before `end`, with the documents of each."""
    _open_terms(connection)
    statement = text(
        "SELECT term, doc FROM temp.library_terms WHERE term >= :first AND term < :end"
    )
    rows = connection.execute(statement, {"first": first, "end": end})
    return [(term, documents) for term, documents in rows]


def _open_terms(connection: Connection) -> None:
    connection.execute(
        text(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.library_terms "
            f"USING fts5vocab(main, '{TABLE}', 'row')"
        )
    )


def rebuild(connection: Connection) -> None:
    """Build the whole table anew from the stored tokens."""
    connection.execute(text(f"INSERT INTO {TABLE}({TABLE}) VALUES ('rebuild')"))  # noqa: S608 (a constant name)


def check(connection: Connection) -> None:
    """Compare the table with the stored tokens; raises DatabaseError where they differ."""
    connection.execute(
        text(f"INSERT INTO {TABLE}({TABLE}, rank) VALUES ('integrity-check', 1)")  # noqa: S608 (a constant name)
    )


def finds_its_terms(connection: Connection, number: int) -> bool:
    """Ask for so many of the terms, evenly spread: each is to be found as often as it is listed.

    The check of FTS5 itself passes over entries of its directory that are missing.
    """
    _open_terms(connection)
    # FTS5 lists terms by its segments, and finds them by the directory.
    step = max(int(connection.execute(text(_COUNT)).scalar_one()) // number, 1)
    listed = connection.execute(text(_LISTED), {"step": step}).all()
    return all(
        connection.execute(text(_FOUND), {"term": f'"{term}"'}).scalar() == documents
        for term, documents in listed
    )


def follows_deletions(connection: Connection) -> bool:
    """Tell whether the trigger is there that removes what is deleted."""
    statement = "SELECT 1 FROM sqlite_master WHERE name = 'document_tokens_deleted'"
    return connection.execute(text(statement)).first() is not None


# Measured on FTS5 of SQLite 3.40: an expression of 4,000 tokens takes three times as long as the
# same tokens in expressions of 64, whose BM25 add up.
_EXPRESSION_TOKENS = 64
# Up to so many keys go to SQLite, which then weighs no others: up to ten times as fast. Beyond,
# handing them over costs more than it saves.
_KEYS_HANDED_OVER = 10_000
_UNSENDABLE = re.compile("[\0\ud800-\udfff]")
_MATCHING = f"SELECT rowid FROM {TABLE} WHERE {TABLE} MATCH ?"  # noqa: S608 (a constant name)
_WEIGHED = f"SELECT rowid, -bm25({TABLE}) FROM {TABLE} WHERE {TABLE} MATCH ?"  # noqa: S608 (a constant name)
# FTS5 takes a phrase of a megabyte badly. Few documents have its first words: read those.
_VERIFIED = (
    f"{_MATCHING} AND instr((SELECT ' ' || tokens || ' ' "  # noqa: S608 (a constant name)
    f"FROM document_tokens WHERE document_id = {TABLE}.rowid), ?)"
)

Item = TypeVar("Item")


class SQLiteLexical(SQLLexical):
    """FTS5 over the stored tokens."""

    __slots__ = ()

    def candidates(self, alternatives: Sequence[Sequence[str]]) -> set[int]:
        """Return the documents that may have a phrase, each of whose tokens may be one of several.

        Where each is one, they stand one directly after the other; else in any order. A long
        phrase is looked for by its beginning.
        """
        some = [list(dict.fromkeys(each)) for each in alternatives[:_EXPRESSION_TOKENS]]
        if all(len(each) == 1 for each in some):
            expression = match_expression([[token for (token,) in some]])
        else:
            any_of = [match_expression([one] for one in each) for each in some]
            expression = " AND ".join(f"({each})" for each in any_of)
        return set(self.connection.exec_driver_sql(_MATCHING, (expression,)).scalars())

    def some_with(self, token: str, limit: int) -> list[int]:
        """Return a few documents that have a token."""
        found = f"{_MATCHING} LIMIT ?", (match_expression([[token]]), limit)
        return list(self.connection.exec_driver_sql(*found).scalars())

    def bm25(
        self, tokens: Sequence[str], allowed: AbstractSet[int] | None = None
    ) -> list[tuple[int, float]]:
        """Return (key, BM25) of each document that has any of the tokens, in the order of keys.

        FTS5's own sign is turned.
        """
        if allowed is not None and not allowed:
            return []
        handed_over = allowed is not None and len(allowed) <= _KEYS_HANDED_OVER
        found = [self._weighed(some, allowed if handed_over else None) for some in _chunks(tokens)]
        pairs = found[0] if len(found) == 1 else _added_up(found)
        if allowed is None or handed_over:
            return pairs
        return [pair for pair in pairs if pair[0] in allowed]

    def count_terms(self, least_documents: int) -> int:
        """Return how many terms occur in at least so many documents of the whole library."""
        return count_terms(self.connection, least_documents)

    def terms_between(self, *ranges: tuple[str, str]) -> list[tuple[str, int]]:
        """Return the terms from one word on and before another, with the documents of each."""
        found = (terms_between(self.connection, *bounds) for bounds in ranges)
        return [pair for pairs in found for pair in pairs]

    def _keys_with_any(self, phrases: Sequence[Sequence[str]]) -> Iterator[int]:
        execute = self.connection.exec_driver_sql
        short = [phrase for phrase in phrases if len(phrase) <= _EXPRESSION_TOKENS]
        for some in _chunks(short):
            yield from execute(_MATCHING, (match_expression(some),)).scalars()
        for phrase in phrases:
            if len(phrase) > _EXPRESSION_TOKENS:
                start = match_expression([phrase[:_EXPRESSION_TOKENS]])
                yield from execute(_VERIFIED, (start, f" {' '.join(phrase)} ")).scalars()

    def _weighed(
        self, tokens: Sequence[str], allowed: AbstractSet[int] | None
    ) -> list[tuple[int, float]]:
        statement = _WEIGHED
        parameters: tuple[str, ...] = (match_expression([token] for token in tokens),)
        if allowed is not None:
            # The plus keeps SQLite from asking FTS5 anew for every row, a thousand times as slow.
            statement += " AND +rowid IN (SELECT value FROM json_each(?))"
            parameters += (json.dumps(list(allowed)),)
        pairs = self.connection.exec_driver_sql(statement, parameters)
        return [(key, score) for key, score in pairs]


def match_expression(phrases: Iterable[Sequence[str]]) -> str:
    """Return an FTS5 expression that matches where any of the phrases occurs.

    Every token is quoted, so that none of its signs means anything to FTS5. What FTS5 cannot
    be given (NUL, half of a surrogate pair) becomes a space. A phrase in which FTS5 finds nothing
    to look for matches nothing. Without a phrase the expression is empty, which FTS5 refuses.
    """
    return " OR ".join(" + ".join(map(_quoted, phrase)) for phrase in phrases if phrase)


def _quoted(token: str) -> str:
    doubled = _UNSENDABLE.sub(" ", token).replace('"', '""')
    return f'"{doubled}"*' if isinstance(token, Prefix) else f'"{doubled}"'


def _added_up(found: Iterable[list[tuple[int, float]]]) -> list[tuple[int, float]]:
    totals: dict[int, float] = {}
    for pairs in found:
        for key, score in pairs:
            totals[key] = totals.get(key, 0.0) + score
    return sorted(totals.items())


def _chunks(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), _EXPRESSION_TOKENS):
        yield items[start : start + _EXPRESSION_TOKENS]
