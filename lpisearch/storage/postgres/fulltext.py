"""Tsvector and BM25 queries.

PostgreSQL cuts no words here: each token is a lexeme as it stands. In place of positions each has
its number of occurrences, which is what BM25 asks for; phrases are looked for in the tokens
themselves. A document with more lexemes than PostgreSQL holds has as many as fit, and a mark by
which it is a candidate of every question, to be compared by its tokens.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from math import log
from typing import TYPE_CHECKING, Any

from sqlalchemy import text

from lpisearch.storage.filters import Prefix, SQLLexical

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet


_K1, _B = 1.2, 0.75  # those of FTS5, so that a library finds the same wherever it is
_LEAST_IDF = 1e-6
_AT_ONCE = 500
_KEYS_HANDED_OVER = 10_000
_PHRASE_TOKENS = 64  # few documents have so many words of a phrase: their tokens are read
_MATCHING = "SELECT document_id FROM document_terms d WHERE terms @@ CAST(:asked AS tsquery)"
_TOKENS = "(SELECT tokens FROM document_tokens t WHERE t.document_id = d.document_id)"
_WITH = text(_MATCHING)
_SOME_WITH = text(f"{_MATCHING} LIMIT :most")
_STANDING = text(f"{_MATCHING} AND strpos(' ' || {_TOKENS} || ' ', :phrase) > 0")
_BEGINNING = text(f"{_MATCHING} AND {_TOKENS} ~ :phrase")
_READ = text(_MATCHING.replace("document_id", f"document_id, {_TOKENS}", 1))
_TOTALS = text("SELECT count(*), coalesce(sum(length), 0) FROM document_terms")
_HAVE = text(
    "SELECT word, (SELECT count(*) FROM document_terms WHERE terms @@ CAST(asked AS tsquery)) "
    "FROM unnest(CAST(:words AS VARCHAR[]), CAST(:asked AS VARCHAR[])) AS each(word, asked)"
)
_COUNTS = """SELECT d.document_id, d.length, u.lexeme, u.positions[1]
FROM document_terms d, LATERAL unnest(d.terms) AS u(lexeme, positions, weights)
WHERE d.terms @@ CAST(:asked AS tsquery) AND u.lexeme = ANY(CAST(:words AS VARCHAR[]))"""
_COUNTED = text(_COUNTS)
_COUNTED_AMONG = text(f"{_COUNTS} AND d.document_id = ANY(CAST(:keys AS BIGINT[]))")
_STATISTICS = "SELECT {what} FROM ts_stat('SELECT terms FROM document_terms') WHERE word <> :mark"
_COUNT_TERMS = text(f"{_STATISTICS.format(what='count(*)')} AND ndoc >= :least")
# All that is asked for at once: it reads every vector.
_BETWEEN = text(
    f"{_STATISTICS.format(what='word, ndoc')} AND EXISTS (SELECT FROM "
    "unnest(CAST(:first AS VARCHAR[]), CAST(:end AS VARCHAR[])) AS r(first, last) "
    'WHERE word COLLATE "C" >= r.first AND word COLLATE "C" < r.last) ORDER BY word COLLATE "C"'
)


class PostgreSQLLexical(SQLLexical):
    """A GIN index over vectors of the tokens."""

    __slots__ = ()

    def candidates(self, alternatives: Sequence[Sequence[str]]) -> set[int]:
        """Return the documents that may have a phrase, each of whose tokens may be one of several.

        Where each is one, they stand one directly after the other; else in any order.
        """
        some = [list(dict.fromkeys(each)) for each in alternatives[:_PHRASE_TOKENS]]
        if all(len(each) == 1 for each in some):
            return set(self._standing([token for (token,) in some]))
        asked = all_of(some)
        found = self._keys(_WITH, asked=asked) if asked else []
        return {*found, *self._keys(_WITH, asked=any_of([MARK]))}

    def some_with(self, token: str, limit: int) -> list[int]:
        """Return a few documents that have a token."""
        asked = any_of([token])
        found = self._keys(_SOME_WITH, asked=asked, most=limit) if asked else []
        if len(found) < limit:
            found += [key for key in self._standing([token], any_of([MARK])) if key not in found]
        return found[:limit]

    def bm25(
        self, tokens: Sequence[str], allowed: AbstractSet[int] | None = None
    ) -> list[tuple[int, float]]:
        """Return (key, BM25) of each document that has any of the tokens, in the order of keys."""
        wanted = Counter(tokens)
        asked = any_of(wanted)
        if not asked or (allowed is not None and not allowed):
            return []
        handed_over = allowed is not None and len(allowed) <= _KEYS_HANDED_OVER
        documents, length_of_all = self.connection.execute(_TOTALS).one()
        idf = self._idf([token for token in wanted if any_of([token])], documents)
        mean = max(float(length_of_all) / max(documents, 1), 1e-9)
        scores: defaultdict[int, float] = defaultdict(float)
        for key, length, word, number in self._counts(
            asked, wanted, allowed if handed_over else None
        ):
            part = number * (_K1 + 1) / (number + _K1 * (1 - _B + _B * length / mean))
            scores[key] += wanted[word] * idf.get(word, _LEAST_IDF) * part
        return sorted(
            (key, score) for key, score in scores.items() if allowed is None or key in allowed
        )

    def count_terms(self, least_documents: int) -> int:
        """Return how many terms occur in at least so many documents of the whole library."""
        given = {"least": least_documents, "mark": MARK}
        return int(self.connection.execute(_COUNT_TERMS, given).scalar_one())

    def terms_between(self, *ranges: tuple[str, str]) -> list[tuple[str, int]]:
        """Return the terms from one word on and before another, with the documents of each."""
        first, end = ([bounds[side] for bounds in ranges] for side in (0, 1))
        rows = self.connection.execute(_BETWEEN, {"first": first, "end": end, "mark": MARK})
        return [(word, documents) for word, documents in rows]

    def _keys_with_any(self, phrases: Sequence[Sequence[str]]) -> Iterator[int]:
        single = [phrase[0] for phrase in phrases if len(phrase) == 1]
        for start in range(0, len(single), _AT_ONCE):
            if asked := any_of(single[start : start + _AT_ONCE]):
                yield from self._keys(_WITH, asked=asked)
        for phrase in phrases:
            if len(phrase) > 1:
                yield from self._standing(phrase)
        if single and self._keys(_SOME_WITH, asked=any_of([MARK]), most=1):
            for token in single:
                yield from self._standing([token], any_of([MARK]))

    def _standing(self, phrase: Sequence[str], asked: str = "") -> Iterable[int]:
        """Return the documents in whose tokens a phrase stands, of those that are asked for."""
        if not asked:
            every = all_of([token] for token in phrase[:_PHRASE_TOKENS])
            asked = " | ".join(f"({each})" for each in (every, any_of([MARK])) if each)
        if any(isinstance(token, Prefix) for token in phrase):
            return self._keys(_BEGINNING, asked=asked, phrase=phrase_expression(phrase))
        return (
            self._keys(_STANDING, asked=asked, phrase=f" {' '.join(phrase)} ")
            if all(phrase)
            else []
        )

    def _idf(self, words: list[str], total: int) -> dict[str, float]:
        given = {"words": words, "asked": [any_of([word]) for word in words]}
        return {
            word: max(log((total - have + 0.5) / (have + 0.5)), _LEAST_IDF)
            for word, have in self.connection.execute(_HAVE, given)
        }

    def _counts(
        self, asked: str, wanted: Counter[str], allowed: AbstractSet[int] | None
    ) -> Iterator[tuple[int, int, str, int]]:
        """Yield key, length, token and number of occurrences."""
        marked = {
            key: tokens.split(" ")
            for key, tokens in self.connection.execute(_READ, {"asked": any_of([MARK])})
        }
        given: dict[str, Any] = {"asked": asked, "words": list(wanted)}
        statement = _COUNTED
        if allowed is not None:
            statement, given = _COUNTED_AMONG, given | {"keys": list(allowed)}
        for key, length, word, number in self.connection.execute(statement, given):
            if key not in marked:
                yield key, length, word, number
        for key, words in marked.items():
            for word, number in Counter(words).items():
                if word in wanted:
                    yield key, len(words), word, number

    def _keys(self, statement: Any, **given: Any) -> list[int]:
        return list(self.connection.execute(statement, given).scalars())


MARK = "\x01"
"""The lexeme of a document of which not all tokens are in its vector; no token is so."""
_MOST_BYTES = 900_000  # PostgreSQL takes 1,048,575, positions included
_OF_EACH = 12  # bytes that a lexeme takes beside its letters
_LONGEST = 2000  # bytes; PostgreSQL takes 2,046
_MOST_COUNTED = 16_383


def as_vector(tokens: str) -> tuple[str, int]:
    """Return the vector of joined tokens in PostgreSQL's notation, and how many they are."""
    words = tokens.split(" ")
    counts = Counter(words)
    length = len(words) - counts.pop("", 0)
    if len(tokens) * 4 + len(counts) * _OF_EACH > _MOST_BYTES or _has_long(counts):
        _cut(counts)
    return " ".join(
        f"{_quoted(word)}:{min(n, _MOST_COUNTED)}" for word, n in counts.items()
    ), length


def any_of(tokens: Iterable[str]) -> str:
    """Return the question for documents with any of the tokens; "" if none can be asked for."""
    return " | ".join(dict.fromkeys(_asked(token) for token in tokens if can_be_asked(token)))


def all_of(alternatives: Iterable[Sequence[str]]) -> str:
    """Return the question for documents that have one of each several tokens; "" if none can."""
    every = list(dict.fromkeys(any_of(each) for each in alternatives))
    return " & ".join(f"({each})" for each in every) if all(every) else ""


def can_be_asked(token: str) -> bool:
    """Tell whether a token can be in a vector; one that is too long is in a marked document."""
    return bool(token) and len(token.encode(errors="replace")) <= _LONGEST


def phrase_expression(phrase: Iterable[str]) -> str:
    """Return the expression that matches joined tokens in which a phrase with beginnings stands."""
    parts = (re.escape(token) + ("[^ ]*" if isinstance(token, Prefix) else "") for token in phrase)
    return f"(^| ){' '.join(parts)}( |$)"


def _has_long(counts: Counter[str]) -> bool:
    return any(len(word) > _LONGEST // 4 and len(word.encode()) > _LONGEST for word in counts)


def _cut(counts: Counter[str]) -> None:
    """Leave as many tokens as PostgreSQL takes, and mark that others are missing."""
    room = _MOST_BYTES
    for word in list(counts):
        size = len(word.encode())
        room -= size + _OF_EACH
        if size > _LONGEST or room < 0:
            del counts[word]
            counts[MARK] = 1


def _asked(token: str) -> str:
    return _quoted(token) + (":*" if isinstance(token, Prefix) else "")


def _quoted(token: str) -> str:
    doubled = token.replace("\\", "\\\\").replace("'", "''")
    return f"'{doubled}'"
