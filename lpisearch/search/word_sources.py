"""Look up words in the index or, without one, in the full-text table."""

from __future__ import annotations

from functools import partial
from threading import local
from typing import TYPE_CHECKING

from lpisearch.terms.folding import fold
from lpisearch.terms.spelling import Words

if TYPE_CHECKING:
    from lpisearch.indexes.opening import Reading
    from lpisearch.indexes.scoring.engine import Engine
    from lpisearch.terms.tokeniser import Tokeniser

# Latin letters with accents, by which another spelling may begin.
_ACCENTED = (("\u00c0", "\u0250"), ("\u1e00", "\u1f00"))


class IndexWords:
    """All words of an index."""

    everywhere = True

    def __init__(self, engine: Engine, tokeniser: Tokeniser) -> None:
        self._postings = engine.postings
        postings = engine.postings
        frequencies = postings.frequencies()
        self._words = Words(postings.lexicon, postings.lexicon_starts, frequencies, tokeniser)

    def has(self, token: str) -> bool:
        """Tell whether any document has a term."""
        return self._postings.find(token) >= 0

    def words(self, _typed: str) -> Words:
        """Return all terms."""
        return self._words


class OpenWords(local):
    """The words of the index that a thread asked last: a stemmer is not shared."""

    def __init__(self) -> None:
        self._last: tuple[Engine, IndexWords] | None = None

    def of(self, engine: Engine, tokeniser: Tokeniser) -> IndexWords:
        """Return the words of an index, whose tokeniser is given."""
        if self._last is None or self._last[0] is not engine:
            self._last = engine, IndexWords(engine, tokeniser)
        return self._last[1]


class LibraryWords:
    """The words of a library, read from its full-text table where they are needed."""

    everywhere = False

    def __init__(self, reading: Reading, tokeniser: Tokeniser) -> None:
        self._reading = reading
        self._tokeniser = tokeniser
        self._read: dict[str, Words] = {}

    def has(self, token: str) -> bool:
        """Tell whether any document has a term."""
        return bool(self._reading.snapshot.lexical.some_with(token, 1))

    def words(self, typed: str) -> Words:
        """Return the terms that begin with the first letter of a word, or with an accented one."""
        initial = fold(typed)[:1]
        if initial not in self._read:
            ranges = [(initial, chr(ord(initial) + 1))] if initial else []
            ranges += _ACCENTED if initial.isascii() else ()
            between = partial(self._reading.snapshot.lexical.terms_between, *ranges)
            # PostgreSQL reads the words of all documents for it.
            terms = self._reading.remember(f"words {initial}", between) if ranges else []
            self._read[initial] = Words.of_terms(terms, self._tokeniser)
        return self._read[initial]
