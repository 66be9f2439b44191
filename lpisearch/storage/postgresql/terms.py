"""Stored tokens as `tsvector`, and `tsquery` expressions.

PostgreSQL cuts no words here: each token is a lexeme as it stands. In place of positions each has
its number of occurrences, which is what BM25 asks for; phrases are looked for in the tokens
themselves. A document with more lexemes than PostgreSQL holds has as many as fit, and a mark by
which it is a candidate of every question, to be compared by its tokens.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from lpisearch.storage.sql.filters import Prefix

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
