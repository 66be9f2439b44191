"""Terms by prefix, without accents, by edit distance.

Terms are filtered as bytes first: only those whose letters leave a chance are compared in full.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from lpisearch.text.characters import fold, folded_spellings, normalise

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from lpisearch.text.tokeniser import Tokeniser


# Letters of a word that may differ in one of them, or in two.
_ONE_EDIT, _TWO_EDITS = 4, 7
# Another edit must be offset by 400 times the documents, another first letter by 20 times.
_EDIT = math.log(400)
_FIRST_LETTER = math.log(20)
_MARKED = 0x80  # bytes from here on are parts of letters beyond ASCII
_SHORTEST_STEM = 4
_ENDING = 5
_LETTER_OF_ENDING = 0.4


class Words:
    """All terms, or those with some prefixes.

    `lines` are the terms in UTF-8, sorted, each ended by a line feed; `starts` where each begins,
    and the end of the last; `frequencies` the number of documents of each.
    """

    def __init__(
        self,
        lines: NDArray[np.uint8],
        starts: NDArray[np.int64],
        frequencies: NDArray[np.integer],
        tokeniser: Tokeniser,
    ) -> None:
        self._lines = lines
        self._starts = starts
        self._frequencies = frequencies
        self._tokeniser = tokeniser

    @classmethod
    def of_terms(cls, terms: Iterable[tuple[str, int]], tokeniser: Tokeniser) -> Self:
        """Take terms with the number of their documents."""
        pairs = sorted((f"{term}\n".encode(), documents) for term, documents in terms)
        starts = np.zeros(len(pairs) + 1, np.int64)
        np.cumsum([len(line) for line, _ in pairs], out=starts[1:])
        lines = np.frombuffer(b"".join(line for line, _ in pairs), np.uint8)
        return cls(
            lines, starts, np.array([documents for _, documents in pairs], np.int64), tokeniser
        )

    def __len__(self) -> int:
        return len(self._starts) - 1

    def documents(self, term: str) -> int:
        """Return the number of documents of a term."""
        number = self._position(f"{term}\n".encode("utf-8", "surrogatepass"))
        there = number < len(self) and self._term(number) == term
        return int(self._frequencies[number]) if there else 0

    def spelled_like(self, token: str, typed: str = "") -> tuple[str, ...]:
        """Return the other terms that are equal without accents: "muller" for "Müller".

        Also in German and Danish spelling: "mueller". `typed` is the word before it was stemmed.
        """
        spellings = self._spellings(token)
        if fold(typed) != normalise(typed):  # else it may be the stem of another word
            spellings |= self._spellings(typed)
        plain = {term for term in spellings if self.documents(term)}
        marked = {term for spelling in spellings for term in self._marked.get(spelling, ())}
        return tuple(sorted((plain | marked) - {token}))

    def beginning_with(self, prefix: str) -> tuple[str, ...]:
        """Return the terms of all words with a prefix, most documents first.

        Terms are stems: if none has the prefix, use the stem of the prefix as a word, or the
        longest stem that begins the prefix.
        """
        first, last = self._position(prefix.encode()), self._position(prefix.encode() + b"\xff")
        order = np.argsort(-self._frequencies[first:last], kind="stable") + first
        terms = [self._term(number) for number in order.tolist()]
        stems = [stem for stem in self._tokeniser.tokens(prefix) if self.documents(stem)]
        terms += [stem for stem in stems if stem not in terms]
        if not terms:
            shorter = (prefix[:end] for end in range(len(prefix) - 1, _SHORTEST_STEM - 1, -1))
            terms = [stem for stem in shorter if self.documents(stem)][:1]
        return tuple(terms)

    def nearest(self, word: str, limit: int) -> list[tuple[str, float]]:
        """Return the nearest terms of a misspelt word with their edit distances, best first.

        Terms are stems: compare them with the stem of the word, and with the word without its last
        letters, each of which counts against a term.
        """
        costs: dict[int, float] = {}
        for form, ending in [
            (word, _ENDING),
            *((stem, 0) for stem in self._tokeniser.tokens(word)),
        ]:
            for number, cost in self._near(form, ending):
                costs[number] = min(cost, costs.get(number, cost))
        documents = self._frequencies
        ranked = sorted(
            (-merit(word, self._term(number), cost, int(documents[number])), number)
            for number, cost in costs.items()
        )
        return [(self._term(number), costs[number]) for _, number in ranked[:limit]]

    def _near(self, word: str, ending: int) -> list[tuple[int, float]]:
        """Return the numbers of similar terms, and the edit distance of each."""
        limit = allowed_edits(word)
        if not limit or not len(self):
            return []
        letters, lengths = self._letters
        own = np.bitwise_or.reduce(_bits(np.frombuffer(f"{word}\n".encode(), np.uint8)))
        chance = np.bitwise_count(letters & ~own) <= limit * (1 if word.isascii() else 2)
        chance &= lengths <= len(word) + limit
        chance &= lengths >= max(len(word) - limit - ending, _SHORTEST_STEM - 1)
        numbers = np.flatnonzero(chance).tolist()
        terms = [self._term(number) for number in numbers]
        edits = edit_distances(word, terms, ending)
        return [
            (number, distance + _LETTER_OF_ENDING * max(len(word) - len(term), 0) * bool(ending))
            for number, term, distance in zip(numbers, terms, edits, strict=True)
            if distance <= limit
        ]

    def _spellings(self, word: str) -> set[str]:
        """Return a word without accents, and the stems of that if it had any."""
        normal = normalise(word)
        folded = set(folded_spellings(normal))
        stems = (stem for word in folded - {normal} for stem in self._tokeniser.tokens(word))
        return {*folded, *stems} - {""}

    def _position(self, line: bytes) -> int:
        return bisect_left(range(len(self)), line, key=self._line)

    def _term(self, number: int) -> str:
        return self._line(number)[:-1].decode()

    def _line(self, number: int) -> bytes:
        return self._memory[self._bounds[number] : self._bounds[number + 1]].tobytes()

    @cached_property
    def _memory(self) -> memoryview:
        return self._lines.data

    @cached_property
    def _bounds(self) -> memoryview:
        return self._starts.data

    @cached_property
    def _marked(self) -> dict[str, list[str]]:
        """The terms with accents, by their spellings without."""
        marked = np.unique(
            np.searchsorted(self._starts, np.flatnonzero(self._lines >= _MARKED), "right") - 1
        )
        terms = [self._term(number) for number in marked.tolist()]
        by_spelling: dict[str, list[str]] = {}
        # All at once is many times as fast as one after the other.
        for spelled in map(str.split, folded_spellings("\n".join(terms))):
            for term, plain, stem in zip(
                terms, spelled, self._tokeniser.stems(spelled), strict=True
            ):
                if plain != term:
                    for spelling in {plain, stem} - {""}:
                        by_spelling.setdefault(spelling, []).append(term)
        return by_spelling

    @cached_property
    def _letters(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """The letters of each term, a bit each, and how many characters it has."""
        starts = self._starts[:-1]
        continued = (self._lines & 0xC0) == _MARKED
        more = np.add.reduceat(continued, starts, dtype=np.int64)
        return np.bitwise_or.reduceat(_bits(self._lines), starts), np.diff(self._starts) - 1 - more


def allowed_edits(word: str) -> int:
    """Return how many letters another spelling may differ in: two in a word of 7 or more."""
    return (len(word) >= _ONE_EDIT) + (len(word) >= _TWO_EDITS)


def merit(word: str, near: str, edits: float, documents: int) -> float:
    """Return how probable another word is: few edits, many documents."""
    other_letter = near[:1] != word[:1]
    return math.log1p(documents) - _EDIT * edits - _FIRST_LETTER * other_letter


def edit_distances(word: str, terms: Sequence[str], ending: int = 0) -> list[int]:
    """Return the edit distance (with transpositions) of a word to each term.

    Damerau and Levenshtein's distance in which no letter is edited twice. Up to `ending` letters at
    the end of the word may be dropped at no cost.
    """
    if not terms:
        return []
    longest = max(map(len, terms))
    codes = np.array(terms, dtype=f"U{longest}").view(np.uint32).reshape(len(terms), longest)
    typed = [ord(letter) for letter in word]
    lengths = [len(term) for term in terms]
    beyond = longest + len(word)
    least = np.array(lengths if ending >= len(word) else [beyond] * len(terms), np.int16)
    before = np.zeros((longest + 1, len(terms)), np.int16)
    row = np.repeat(np.arange(longest + 1, dtype=np.int16)[:, np.newaxis], len(terms), axis=1)
    for at, letter in enumerate(typed):
        earlier, before, row = before, row, np.empty_like(row)
        row[0] = at + 1
        for column in range(longest):
            same = codes[:, column] == letter
            best = np.minimum(before[column + 1] + 1, row[column] + 1)
            best = np.minimum(best, before[column] + ~same)
            if at and column:
                swapped = (codes[:, column] == typed[at - 1]) & (codes[:, column - 1] == letter)
                best = np.where(swapped, np.minimum(best, earlier[column - 1] + 1), best)
            row[column + 1] = best
        if at + 1 >= len(typed) - ending:
            least = np.minimum(least, row[lengths, np.arange(len(terms))])
    return [int(edits) for edits in least]


def _bits(letters: NDArray[np.uint8]) -> NDArray[np.uint64]:
    return np.left_shift(np.uint64(1), (letters & 63).astype(np.uint64))
