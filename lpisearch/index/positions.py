"""Where words are in a document: in which fields, and in which order.

A query word that stands next to the one typed before it says more than both far apart. So the index
stores sequences: the tokens of each unit (a short document, or a passage of a long one) as numbers
of terms, two bytes each. Where there are more terms, the most frequent have codes; the few others
stand apart. Nearness is scored like a word: for two neighbouring words of the query,

    (idf + idf) / 2 · (next(f₁) + near(f₈)) · PAIR_SHARE,

with f₁ how often the second follows the first, f₈ how often both are within eight tokens in any
order, both saturated as in BM25. Stop words are no tokens, neither here nor in the query.

A word of a title says more about a document than a word of its text, and a file is often looked
for by its name, whose words need not be in the text. So the index has postings of fields too (the
words of titles, headings, folders and file names), with a lexicon of their own. Rows are units:
documents, then passages, which have the headings above them. The count of an entry is a sum of
bits: in which fields the word is.

An id is a path below the folder that was ingested, "manual/dml-fill.pptx": its last part is the
name. A name without a letter, such as the number of a record, has no words.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from lpisearch.index.postings import NOTHING, Postings
from lpisearch.text.vocabulary import count_all_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from lpisearch.index.subspace import Passages
    from lpisearch.model.documents import Section
    from lpisearch.storage.store import ReadTransaction
    from lpisearch.text.tokeniser import Tokeniser

    Integers = NDArray[np.integer[Any]]
    Numbers = NDArray[np.int64]


SEQUENCE_STARTS, SEQUENCE_TERMS = "sequence_starts", "sequence_terms"
NEAR = 8
PAIR_SHARE = 0.125


CODES = ("code_terms", "code_others", "code_places")
_OTHER = np.iinfo(np.uint16).max


@dataclass(frozen=True, eq=False, slots=True)
class Sequences:
    """The terms (numbers in the postings) of each unit in order; those of unit i at starts[i].

    With `codes`, `terms` has codes: `codes` is the term of each, and the last one stands for any
    other term, of which `others` and `places` have which, and where in `terms`.
    """

    starts: Integers
    terms: Integers
    codes: NDArray[np.int32] | None = None
    others: NDArray[np.int32] | None = None
    places: Numbers | None = None

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], prefix: str = "") -> Self | None:
        """Take the arrays of an index; None from an index of an earlier version."""
        if prefix + SEQUENCE_TERMS not in arrays:
            return None
        names = [prefix + name for name in (SEQUENCE_STARTS, SEQUENCE_TERMS, *CODES)]
        return cls(*(arrays[name].view(np.ndarray) for name in names if name in arrays))

    def arrays(self, prefix: str = "") -> dict[str, NDArray[Any]]:
        """Return the arrays to store, by name."""
        parts = (self.starts, self.terms, self.codes, self.others, self.places)
        names = (SEQUENCE_STARTS, SEQUENCE_TERMS, *CODES)
        own = zip(names, parts, strict=True)
        return {prefix + name: part for name, part in own if part is not None}

    def coded(self) -> Sequences:
        """Return the same with two bytes for each term."""
        if int(self.terms.max(initial=0)) <= _OTHER:  # they are narrowed when they are written
            return self
        frequent = np.argsort(-np.bincount(self.terms), kind="stable")[:_OTHER]
        codes = np.append(np.sort(frequent), -1).astype(np.int32)
        return Sequences(self.starts, self.terms, codes).coded_alike(self)

    def coded_alike(self, more: Sequences, at: int = 0) -> Sequences:
        """Return other sequences by the codes of these; their terms begin `at` a place."""
        if self.codes is None:
            return more
        code = np.full(max(self.codes.max(), more.terms.max(initial=0)) + 1, _OTHER, np.uint16)
        code[self.codes[:-1]] = np.arange(_OTHER, dtype=np.uint16)
        coded = code[more.terms]
        places = np.flatnonzero(coded == _OTHER)
        others = more.terms[places].astype(np.int32)
        return Sequences(more.starts, coded, self.codes, others, places + at)

    def of_units(self, units: Numbers) -> tuple[NDArray[np.int32], Numbers]:
        """Return the terms of some units, one after the other, and where those of each begin."""
        starts, ends = self.starts[units], self.starts[units + 1]
        first = np.cumsum(ends - starts) - (ends - starts)
        runs = map(slice, starts.tolist(), ends.tolist())
        terms = np.concatenate([self.terms[:0], *map(self.terms.__getitem__, runs)])
        if self.codes is None or self.others is None or self.places is None:
            return terms.astype(np.int32, copy=False), first
        terms = self.codes.take(terms, mode="clip")
        other = np.flatnonzero(terms < 0)
        at = other + (starts - first)[np.searchsorted(first, other, "right") - 1]
        terms[other] = self.others.take(np.searchsorted(self.places, at), mode="clip")
        return terms, first

    def taken(self, units: Numbers, numbers: Numbers | None = None) -> Sequences:
        """Return those of some units, by new numbers of the terms if any are given."""
        terms, _ = self.of_units(units)
        if numbers is not None:
            terms = numbers[terms].astype(np.int32)
        return Sequences(np.append(0, np.cumsum(np.diff(self.starts)[units])), terms)

    def joined(self, others: Sequences) -> Sequences:
        """Return them, and after them the sequences of other units."""
        starts = np.concatenate([self.starts, others.starts[1:] + self.starts[-1]])
        return Sequences(starts, np.concatenate([self.terms, others.terms]))


class SequenceWriter:
    """Numbers the tokens of units; a token without a number is left out."""

    def __init__(self, numbers: Mapping[str, int]) -> None:
        self._numbers = numbers
        self._terms: array[int] = array("i")
        self._starts: array[int] = array("q", [0])

    def add(self, texts: Iterable[str]) -> None:
        """Add units, given as tokens joined by spaces."""
        number, has_number = self._numbers.__getitem__, self._numbers.__contains__
        for text in texts:
            self._terms.extend(map(number, filter(has_number, text.split())))
            self._starts.append(len(self._terms))

    def finish(self) -> Sequences:
        """Return all that was added."""
        return Sequences(
            np.frombuffer(self._starts, np.int64), np.frombuffer(self._terms, np.int32)
        )


class Pairs(NamedTuple):
    """Neighbouring words of a query: numbers of their terms, and the weight of each pair."""

    first: Numbers
    second: Numbers
    weights: NDArray[np.float32]


def count_pairs(
    terms: NDArray[np.int32], first: Numbers, pairs: Pairs, n_terms: int
) -> tuple[Numbers, Numbers, Numbers, NDArray[np.bool_]]:
    """Count pairs in the sequences of units, each of which begins at `first`.

    Returns
    -------
    tuple
        Units, pairs, how often each pair is in each unit, and whether that is in order and adjacent
        (or, else, near). Only what occurs is returned.
    """
    words = np.unique(np.concatenate([pairs.first, pairs.second]))
    rank = np.full(n_terms + 1, -1, np.int16)  # the last for terms that are gone
    rank[words] = np.arange(len(words))
    ranks = rank[terms]
    at = np.flatnonzero(ranks >= 0)
    own, unit = ranks[at], np.searchsorted(first, at, "right") - 1
    table = np.full((len(words), len(words)), -1, np.int64)
    table[rank[pairs.first], rank[pairs.second]] = np.arange(len(pairs.first))
    found: list[NDArray[np.int64]] = []
    n_pairs = len(pairs.first)
    for step in range(1, NEAR):
        distance = at[step:] - at[:-step]
        close = np.flatnonzero((distance < NEAR) & (unit[step:] == unit[:-step]))
        if not close.size:
            break  # the next are farther apart still
        before, after = own[close], own[close + step]
        forward, backward = table[before, after], table[after, before]
        for number, in_order in ((forward, True), (backward, False)):
            is_pair = number >= 0
            base = unit[close][is_pair] * n_pairs + number[is_pair]
            found.append(base * 2)
            if in_order:
                found.append(base[distance[close][is_pair] == 1] * 2 + 1)
    keys, counts = np.unique(np.concatenate([np.empty(0, np.int64), *found]), return_counts=True)
    return keys // 2 // n_pairs, keys // 2 % n_pairs, counts, keys % 2 == 1


TITLE, NAME, FOLDER, HEADING = 1, 2, 4, 8
FIELD = "field_"  # begins the names of their arrays
_SIZES = "name_sizes"
_PAGE = "page"  # such a section has a number for a name
_AT_ONCE = 500
_LARGEST = np.iinfo(np.uint8).max


@dataclass(frozen=True, eq=False, slots=True)
class Fields:
    """Postings of the fields of units, and how many words the name of each document has.

    An extension is searched for, but does not count as a word of the name.
    """

    postings: Postings
    name_sizes: NDArray[np.uint8]

    @classmethod
    def of_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], removed: Numbers = NOTHING
    ) -> Self | None:
        """Take the arrays of an index; None from an index of an earlier version."""
        if FIELD + _SIZES not in arrays:
            return None
        postings = Postings.of_arrays(arrays, FIELD, removed=removed)
        return cls(postings, arrays[FIELD + _SIZES].view(np.ndarray))

    @classmethod
    def of_texts(cls, texts: FieldTexts) -> Self:
        """Count the words of all units."""
        terms, counts = count_all_terms([texts.units])
        postings = Postings.build(terms, counts.matrix, counts.lengths, {})
        return cls(postings, np.array(texts.name_sizes, np.uint8))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to store, by name."""
        own = self.postings.arrays() | {_SIZES: self.name_sizes}
        return {FIELD + name: array for name, array in own.items()}

    def units_with_any(self, words: Sequence[str]) -> tuple[Integers, Integers]:
        """Return the units that have any of some words in a field, and their bits in each."""
        found = [one for one in map(self.units_with, words) if len(one[0])]
        found = found or [self.units_with(words[0])]
        if len(found) == 1:
            return found[0]
        units, at = np.unique(np.concatenate([one for one, _ in found]), return_inverse=True)
        bits = np.zeros(len(units), np.uint16)
        np.bitwise_or.at(bits, at, np.concatenate([own for _, own in found]))
        return units, bits

    def units_with(self, word: str) -> tuple[Integers, Integers]:
        """Return the units that have a word in a field, and its bits in each."""
        number = self.postings.find(word)
        if number < 0:
            return np.empty(0, np.int32), np.empty(0, np.uint16)
        return self.postings.entries(number)


@dataclass(frozen=True, slots=True)
class FieldTexts:
    """The words of the fields of some documents, and of some passages after them.

    Each unit is words joined by spaces; a word is repeated as often as the sum of its bits.
    """

    units: Sequence[str]
    name_sizes: Sequence[int]  # of the documents


def read_fields(
    snapshot: ReadTransaction,
    tokeniser: Tokeniser,
    rows: Mapping[int, int],
    passages: Passages | None,
) -> FieldTexts:
    """Read the fields of documents, given by key and row, and of the passages of the long ones."""
    units: list[str] = []
    of_passages: list[str] = []
    sizes: list[int] = []
    keys = sorted(rows)
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
        sections = snapshot.documents.sections(some)
        details = snapshot.documents.details(some, 0)
        for key in some:
            own, headings = details[key], sections.get(key, ())
            words = tokeniser.of_language(own.language)
            spans: list[list[int]] = []
            if passages is not None:
                spans = passages.spans[passages.of_document(rows[key])].tolist()
            of_passages += (_repeated(words, {HEADING: one}) for one in _above(headings, spans))
            name, folder, size = _path_words(words, own.id)
            texts = {TITLE: own.title, NAME: name, FOLDER: folder}
            if not len(spans):
                texts[HEADING] = "\n".join(one.name for one in headings if one.kind != _PAGE)
            units.append(_repeated(words, texts))
            sizes.append(min(size, _LARGEST))
    return FieldTexts(units + of_passages, sizes)


def _path_words(tokeniser: Tokeniser, id_: str) -> tuple[str, str, int]:
    """Return the name of a document, its folder, and how many words the name has."""
    path = PurePosixPath(id_)
    if not any(map(str.isalpha, path.name)):
        return "", str(path.parent), 0
    return path.name, str(path.parent), len(set(tokeniser.tokens(path.stem)))


def _above(sections: Sequence[Section], spans: Sequence[Sequence[int]]) -> Iterator[str]:
    """Yield the names of the sections that each span of a text is in."""
    named = [one for one in sections if one.kind != _PAGE]
    starts = [one.start for one in named]
    for start, end in spans:
        first, last = max(bisect_right(starts, start) - 1, 0), bisect_right(starts, end - 1)
        yield "\n".join(one.name for one in named[first:last])


def _repeated(tokeniser: Tokeniser, texts: Mapping[int, str]) -> str:
    """Return each word of some fields, by their bits, as often as the sum of these."""
    bits: dict[str, int] = {}
    for bit, text in texts.items():
        for word in tokeniser.tokens(text):
            bits[word] = bits.get(word, 0) | bit
    return " ".join(word for word, times in bits.items() for _ in range(times))
