"""Tsvector and BM25 queries.

Each token is one lexeme, unchanged. In place of positions a lexeme has its number of occurrences,
which BM25 needs; phrases are matched in the tokens themselves. A document with more lexemes than
PostgreSQL stores is truncated and gets a mark, which makes it a candidate of every query, to be
compared by its tokens.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from math import log
from typing import TYPE_CHECKING

from lpisearch.storage.reading import Prefix, SQLLexical, chunks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet


_K1, _B = 1.2, 0.75  # as in FTS5, so that both stores rank alike
_LEAST_IDF = 1e-6
_AT_ONCE = 500
_KEYS_IN_QUERY = 10_000
_PHRASE_TOKENS = 64  # few documents contain this many words of a phrase: their tokens are read
_MATCHING = "SELECT document_id FROM document_terms d WHERE terms @@ CAST(? AS tsquery)"
_TOKENS = "(SELECT tokens FROM document_tokens t WHERE t.document_id = d.document_id)"
# Planned without the limit: with it, all documents are read until enough have a rare word.
_SOME_WITH = f"WITH found AS MATERIALIZED ({_MATCHING}) SELECT document_id FROM found LIMIT ?"  # noqa: S608 (constants)
# The first comparison needs no copy of the tokens; few documents pass it.
_WITH_PHRASE = (
    f"{_MATCHING} AND strpos({_TOKENS}, ?) > 0 AND strpos(' ' || {_TOKENS} || ' ', ?) > 0"
)
_WITH_PREFIX_PHRASE = f"{_MATCHING} AND {_TOKENS} ~ ?"
_READ = _MATCHING.replace("document_id", f"document_id, {_TOKENS}", 1)
_TOTALS = "SELECT count(*), coalesce(sum(length), 0) FROM document_terms"
_HAVE = """SELECT word, (SELECT count(*) FROM document_terms WHERE terms @@ CAST(asked AS tsquery))
FROM unnest(CAST(? AS VARCHAR[]), CAST(? AS VARCHAR[])) AS each(word, asked)"""
# Weights mark the words of the query, so that only these leave the vector: to unnest all of it
# takes thirty times as long.
_COUNTED = """SELECT d.document_id, d.length, u.lexeme, u.positions[1] FROM document_terms d,
LATERAL unnest(ts_filter(setweight(d.terms, 'A', CAST(? AS TEXT[])), '{a}')) AS u
WHERE d.terms @@ CAST(? AS tsquery)"""
_COUNTED_AMONG = f"{_COUNTED} AND d.document_id = ANY(CAST(? AS BIGINT[]))"
# What it takes to unpack a vector is unknown to the planner, which reads all for a frequent word.
_BY_INDEX = "SELECT set_config('enable_seqscan', ?, true)"
_STATISTICS = "SELECT {what} FROM ts_stat('SELECT terms FROM document_terms') WHERE word <> ?"
_COUNT_TERMS = f"{_STATISTICS.format(what='count(*)')} AND ndoc >= ?"
# One query for all ranges: each reads every vector.
_BETWEEN = (
    f"{_STATISTICS.format(what='word, ndoc')} AND EXISTS (SELECT FROM "
    "unnest(CAST(? AS VARCHAR[]), CAST(? AS VARCHAR[])) AS r(first, last) "
    'WHERE word COLLATE "C" >= r.first AND word COLLATE "C" < r.last) ORDER BY word COLLATE "C"'
)


class PostgreSQLLexical(SQLLexical):
    """A GIN index over vectors of the tokens."""

    __slots__ = ()

    def candidates(self, alternatives: Sequence[Sequence[str]]) -> set[int]:
        """Return the documents that may contain a phrase with alternative tokens."""
        some = [list(dict.fromkeys(tokens)) for tokens in alternatives[:_PHRASE_TOKENS]]
        if all(len(tokens) == 1 for tokens in some):
            return set(self._with_phrase([token for (token,) in some]))
        query = all_of(some)
        keys = self.connection.column(_MATCHING, query) if query else []
        return {*keys, *self.connection.column(_MATCHING, any_of([MARK]))}

    def some_with(self, token: str, limit: int) -> list[int]:
        """Return a few documents that contain a token."""
        query = any_of([token])
        keys = self.connection.column(_SOME_WITH, query, limit) if query else []
        if len(keys) < limit:
            keys += [key for key in self._with_phrase([token], any_of([MARK])) if key not in keys]
        return keys[:limit]

    def bm25(
        self, tokens: Sequence[str], allowed: AbstractSet[int] | None = None
    ) -> list[tuple[int, float]]:
        """Return (key, BM25) of each document that contains any of the tokens, in order of keys."""
        words = Counter(tokens)
        query = any_of(words)
        if not query or (allowed is not None and not allowed):
            return []
        few = allowed if allowed is not None and len(allowed) <= _KEYS_IN_QUERY else None
        documents, total_length = self.connection.rows(_TOTALS).fetchone()
        self.connection.rows(_BY_INDEX, "off")
        truncated, counts = self._truncated(words), self._counts(query, words, few)
        having = self._having(words) if few is not None else Counter(row[2] for row in counts)
        having.update(row[2] for row in truncated)
        self.connection.rows(_BY_INDEX, "on")
        idf = {
            word: max(log((documents - number + 0.5) / (number + 0.5)), _LEAST_IDF)
            for word, number in having.items()
        }
        mean = max(float(total_length) / max(documents, 1), 1e-9)
        scores: defaultdict[int, float] = defaultdict(float)
        for key, length, word, number in (*counts, *truncated):
            part = number * (_K1 + 1) / (number + _K1 * (1 - _B + _B * length / mean))
            scores[key] += words[word] * idf[word] * part
        return sorted(
            (key, score) for key, score in scores.items() if allowed is None or key in allowed
        )

    def count_terms(self, least_documents: int) -> int:
        """Return how many terms occur in at least some number of documents."""
        return int(self.connection.value(_COUNT_TERMS, MARK, least_documents))

    def terms_between(self, *ranges: tuple[str, str]) -> list[tuple[str, int]]:
        """Return the terms in any of the half-open ranges, with their document frequencies."""
        first, end = ([bounds[side] for bounds in ranges] for side in (0, 1))
        return list(self.connection.rows(_BETWEEN, MARK, first, end))

    def _keys_with_any(self, phrases: Sequence[Sequence[str]]) -> Iterator[int]:
        single = [phrase[0] for phrase in phrases if len(phrase) == 1]
        for some in chunks(single, _AT_ONCE):
            if query := any_of(some):
                yield from self.connection.column(_MATCHING, query)
        for phrase in phrases:
            if len(phrase) > 1:
                yield from self._with_phrase(phrase)
        if single and self.connection.column(_SOME_WITH, any_of([MARK]), 1):
            for token in single:
                yield from self._with_phrase([token], any_of([MARK]))

    def _with_phrase(self, phrase: Sequence[str], query: str = "") -> Iterable[int]:
        """Return the documents that contain a phrase, by default among those with its tokens."""
        if not query:
            every = all_of([token] for token in phrase[:_PHRASE_TOKENS])
            query = " | ".join(f"({part})" for part in (every, any_of([MARK])) if part)
        if any(isinstance(token, Prefix) for token in phrase):
            expression = phrase_expression(phrase)
            return self.connection.column(_WITH_PREFIX_PHRASE, query, expression)
        if not all(phrase):
            return []
        joined = " ".join(phrase)
        return self.connection.column(_WITH_PHRASE, query, joined, f" {joined} ")

    def _having(self, words: Iterable[str]) -> Counter[str]:
        """Return the number of documents with each token, but for truncated ones."""
        mark, sought = any_of([MARK]), [word for word in words if any_of([word])]
        asked = [f"{any_of([word])} & !{mark}" for word in sought]
        rows = self.connection.rows(_HAVE, sought, asked)
        return Counter({word: documents for word, documents in rows})  # noqa: C416 (rows are no tuples to mypy)

    def _truncated(self, words: Counter[str]) -> list[tuple[int, int, str, int]]:
        """Return key, length, token and its occurrences of documents whose vector is truncated."""
        return [
            (key, len(tokens), word, number)
            for key, joined in self.connection.rows(_READ, any_of([MARK]))
            for tokens in [joined.split(" ")]
            for word, number in Counter(tokens).items()
            if word in words
        ]

    def _counts(
        self, query: str, words: Counter[str], allowed: AbstractSet[int] | None
    ) -> list[tuple[int, int, str, int]]:
        """Return key, length, token and its occurrences of all other documents."""
        sought = [word for word in words if any_of([word])]
        asked = f"({query}) & !{any_of([MARK])}"
        if allowed is None:
            return list(self.connection.rows(_COUNTED, sought, asked))
        return list(self.connection.rows(_COUNTED_AMONG, sought, asked, list(allowed)))


MARK = "\x01"
"""The lexeme that marks a document whose vector is truncated; no token equals it."""
_VECTOR_BYTES = 900_000  # PostgreSQL's limit is 1,048,575, positions included
_LEXEME_OVERHEAD = 12  # bytes
_LEXEME_BYTES = 2000  # PostgreSQL's limit is 2,046
_LARGEST_COUNT = 16_383


def as_vector(tokens: str) -> tuple[str, int]:
    """Return joined tokens as a tsvector in PostgreSQL's notation, and their number."""
    words = tokens.split(" ")
    counts = Counter(words)
    length = len(words) - counts.pop("", 0)
    if len(tokens) * 4 + len(counts) * _LEXEME_OVERHEAD > _VECTOR_BYTES or _has_long(counts):
        _truncate(counts)
    entries = (f"{_quoted(word)}:{min(n, _LARGEST_COUNT)}" for word, n in counts.items())
    return " ".join(entries), length


def any_of(tokens: Iterable[str]) -> str:
    """Return a query for documents with any of the tokens; "" if none can be in a vector."""
    return " | ".join(dict.fromkeys(_operand(token) for token in tokens if _is_lexeme(token)))


def all_of(alternatives: Iterable[Sequence[str]]) -> str:
    """Return a query for documents with one of each group of tokens; "" if a group has none."""
    parts = list(dict.fromkeys(any_of(tokens) for tokens in alternatives))
    return " & ".join(f"({part})" for part in parts) if all(parts) else ""


def _is_lexeme(token: str) -> bool:
    """Tell whether a token can be in a vector; a document with a longer one is marked."""
    return bool(token) and len(token.encode(errors="replace")) <= _LEXEME_BYTES


def phrase_expression(phrase: Iterable[str]) -> str:
    """Return the regular expression for a phrase with prefixes in joined tokens."""
    parts = (re.escape(token) + ("[^ ]*" if isinstance(token, Prefix) else "") for token in phrase)
    return f"(^| ){' '.join(parts)}( |$)"


def _has_long(counts: Counter[str]) -> bool:
    return any(
        len(word) > _LEXEME_BYTES // 4 and len(word.encode()) > _LEXEME_BYTES for word in counts
    )


def _truncate(counts: Counter[str]) -> None:
    """Delete the tokens beyond PostgreSQL's limits, and mark that some are missing."""
    free = _VECTOR_BYTES
    for word in list(counts):
        size = len(word.encode())
        free -= size + _LEXEME_OVERHEAD
        if size > _LEXEME_BYTES or free < 0:
            del counts[word]
            counts[MARK] = 1


def _operand(token: str) -> str:
    return _quoted(token) + (":*" if isinstance(token, Prefix) else "")


def _quoted(token: str) -> str:
    doubled = token.replace("\\", "\\\\").replace("'", "''")
    return f"'{doubled}'"
