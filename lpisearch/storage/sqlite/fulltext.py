"""FTS5 table and BM25 queries.

Inserting is explicit, in the transaction that writes the tokens: a trigger would make FTS5 flush
its segment for each row and triple the time of an ingest. Deleting is a trigger, so that even a
cascade keeps the index complete.

Tokens and filters go in, keys come out; text reaches FTS5 only through `match_expression`. Tokens
are stemmed, without stop words, and start with the title twice: the phrase "state of the art"
matches "state art", and a match may span title and text. Exact phrases need the texts of the
candidates.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from lpisearch.storage.reading import Connection, Prefix, SQLLexical, chunks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet


TABLE = "documents_fts"
DELETE_TRIGGER = """CREATE TRIGGER document_tokens_deleted AFTER DELETE ON document_tokens BEGIN
INSERT INTO documents_fts(documents_fts, rowid, tokens)
VALUES ('delete', old.document_id, plain_tokens(old.tokens)); END"""
_COUNT = "SELECT count(*) FROM temp.library_terms"
_BETWEEN = "SELECT term, doc FROM temp.library_terms WHERE term >= ? AND term < ?"
_LISTED = """SELECT term, doc FROM (
SELECT term, doc, row_number() OVER () AS number FROM temp.library_terms)
WHERE number % ? = 0"""
_FOUND = "SELECT count(*) FROM documents_fts WHERE documents_fts MATCH ?"
CREATE_VIEW = """CREATE VIEW plain_document_tokens AS
SELECT document_id, plain_tokens(tokens) AS tokens FROM document_tokens"""
CREATE = """CREATE VIRTUAL TABLE documents_fts USING fts5(
tokens, content='plain_document_tokens', content_rowid='document_id', tokenize='ascii')"""


def add(connection: Connection, tokens: Mapping[int, str]) -> None:
    """Index the tokens of new documents."""
    statement = f"INSERT INTO {TABLE}(rowid, tokens) VALUES (?, ?)"  # noqa: S608 (a constant name)
    if tokens:
        connection.exec_driver_sql(statement, [*tokens.items()])


def _open_terms(connection: Connection) -> None:
    connection.rows(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.library_terms "
        f"USING fts5vocab(main, '{TABLE}', 'row')"
    )


def rebuild(connection: Connection) -> None:
    """Rebuild the whole table from the stored tokens."""
    connection.rows(f"INSERT INTO {TABLE}({TABLE}) VALUES ('rebuild')")  # noqa: S608 (a constant name)


def check(connection: Connection) -> None:
    """Compare the table with the stored tokens; raise DatabaseError where they differ."""
    connection.rows(f"INSERT INTO {TABLE}({TABLE}, rank) VALUES ('integrity-check', 1)")  # noqa: S608 (a constant name)


def finds_its_terms(connection: Connection, number: int) -> bool:
    """Look up some terms, evenly spread, and compare their document frequencies.

    FTS5's own check ignores missing entries of its directory: it lists terms by its segments, but
    finds them by the directory.
    """
    _open_terms(connection)
    step = max(int(connection.value(_COUNT)) // number, 1)
    listed = connection.rows(_LISTED, step).fetchall()
    return all(connection.value(_FOUND, f'"{term}"') == documents for term, documents in listed)


def follows_deletions(connection: Connection) -> bool:
    """Tell whether the trigger exists that removes deleted documents."""
    statement = "SELECT 1 FROM sqlite_master WHERE name = 'document_tokens_deleted'"
    return connection.value(statement) is not None


# Measured on FTS5 of SQLite 3.40: an expression of 4,000 tokens takes three times as long as the
# same tokens in expressions of 64, whose BM25 add up.
_EXPRESSION_TOKENS = 64
# Up to this number, keys are passed to SQLite, which then scores no others: up to ten times as
# fast. Beyond it, passing them costs more than it saves.
_KEYS_IN_QUERY = 10_000
_UNSENDABLE = re.compile("[\0\ud800-\udfff]")
_MATCHING = f"SELECT rowid FROM {TABLE} WHERE {TABLE} MATCH ?"  # noqa: S608 (a constant name)
_SCORED = f"SELECT rowid, -bm25({TABLE}) FROM {TABLE} WHERE {TABLE} MATCH ?"  # noqa: S608 (a constant name)
# FTS5 is slow on very long phrases. Few documents contain their first words: those are read.
_VERIFIED = (
    f"{_MATCHING} AND instr((SELECT ' ' || plain_tokens(tokens) || ' ' "  # noqa: S608 (a constant name)
    f"FROM document_tokens WHERE document_id = {TABLE}.rowid), ?)"
)


class SQLiteLexical(SQLLexical):
    """FTS5 over the stored tokens."""

    __slots__ = ()

    def candidates(self, alternatives: Sequence[Sequence[str]]) -> set[int]:
        """Return the documents that may contain a phrase with alternative tokens."""
        some = [list(dict.fromkeys(tokens)) for tokens in alternatives[:_EXPRESSION_TOKENS]]
        if all(len(tokens) == 1 for tokens in some):
            expression = match_expression([[token for (token,) in some]])
        else:
            any_of = [match_expression([token] for token in tokens) for tokens in some]
            expression = " AND ".join(f"({part})" for part in any_of)
        return set(self.connection.column(_MATCHING, expression))

    def some_with(self, token: str, limit: int) -> list[int]:
        """Return a few documents that contain a token."""
        expression = match_expression([[token]])
        return self.connection.column(f"{_MATCHING} LIMIT ?", expression, limit)

    def bm25(
        self, tokens: Sequence[str], allowed: AbstractSet[int] | None = None
    ) -> list[tuple[int, float]]:
        """Return (key, BM25) of each document that contains any of the tokens, in order of keys."""
        if allowed is not None and not allowed:
            return []
        few = allowed if allowed is not None and len(allowed) <= _KEYS_IN_QUERY else None
        scores = [self._scores(some, few) for some in chunks(tokens, _EXPRESSION_TOKENS)]
        pairs = scores[0] if len(scores) == 1 else _sum(scores)
        if allowed is None or few is not None:
            return pairs
        return [pair for pair in pairs if pair[0] in allowed]

    def count_terms(self, least_documents: int) -> int:
        """Return how many terms occur in at least some number of documents."""
        _open_terms(self.connection)
        return int(self.connection.value(f"{_COUNT} WHERE doc >= ?", least_documents))

    def terms_between(self, *ranges: tuple[str, str]) -> list[tuple[str, int]]:
        """Return the terms in any of the half-open ranges, with their document frequencies."""
        _open_terms(self.connection)
        return [
            (term, documents)
            for first, end in ranges
            for term, documents in self.connection.rows(_BETWEEN, first, end)
        ]

    def _keys_with_any(self, phrases: Sequence[Sequence[str]]) -> Iterator[int]:
        column = self.connection.column
        short = [phrase for phrase in phrases if len(phrase) <= _EXPRESSION_TOKENS]
        for some in chunks(short, _EXPRESSION_TOKENS):
            yield from column(_MATCHING, match_expression(some))
        for phrase in phrases:
            if len(phrase) > _EXPRESSION_TOKENS:
                start = match_expression([phrase[:_EXPRESSION_TOKENS]])
                yield from column(_VERIFIED, start, f" {' '.join(phrase)} ")

    def _scores(
        self, tokens: Sequence[str], allowed: AbstractSet[int] | None
    ) -> list[tuple[int, float]]:
        statement = _SCORED
        parameters: tuple[str, ...] = (match_expression([token] for token in tokens),)
        if allowed is not None:
            # The plus keeps SQLite from querying FTS5 for every row, which is 1000 times slower.
            statement += " AND +rowid IN (SELECT value FROM json_each(?))"
            parameters += (json.dumps(list(allowed)),)
        return list(self.connection.rows(statement, *parameters))


def match_expression(phrases: Iterable[Sequence[str]]) -> str:
    """Return an FTS5 expression that matches any of the phrases.

    Every token is quoted, so that nothing in it is an operator. A phrase in which FTS5 finds no
    token matches nothing. Without a phrase the expression is empty, which FTS5 refuses.
    """
    return " OR ".join(" + ".join(map(_quoted, phrase)) for phrase in phrases if phrase)


def _quoted(token: str) -> str:
    doubled = _UNSENDABLE.sub(" ", token).replace('"', '""')
    return f'"{doubled}"*' if isinstance(token, Prefix) else f'"{doubled}"'


def _sum(scores: Iterable[list[tuple[int, float]]]) -> list[tuple[int, float]]:
    totals: dict[int, float] = {}
    for pairs in scores:
        for key, score in pairs:
            totals[key] = totals.get(key, 0.0) + score
    return sorted(totals.items())
