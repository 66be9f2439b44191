"""Fields: the words of titles, headings, folders and file names.

A word of a title says more about a document than a word of its text, and a file is often looked
for by its name, whose words need not be in the text. So the index has postings of these words, too,
with a lexicon of their own. Rows are units: documents, then passages, which have the headings above
them. The count of an entry is a sum of bits: in which fields the word is.

An id is a path below the folder that was ingested, "manual/dml-fill.pptx": its last part is the
name. A name without a letter, such as the number of a record, has no words.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from lpisearch.index.postings import NOTHING, Postings
from lpisearch.text.vocabulary import count_all_terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from lpisearch.index.subspace import Passages
    from lpisearch.model.documents import Section
    from lpisearch.storage.store import ReadTransaction
    from lpisearch.text.tokeniser import Tokeniser

    Numbers = NDArray[np.int64]


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

    def units_with_any(self, words: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.uint16]]:
        """Return the units that have any of some words in a field, and their bits in each."""
        found = [one for one in map(self.units_with, words) if len(one[0])]
        if not found:
            return self.units_with(words[0])
        if len(found) == 1:
            return found[0]
        units, at = np.unique(np.concatenate([one for one, _ in found]), return_inverse=True)
        bits = np.zeros(len(units), np.uint16)
        np.bitwise_or.at(bits, at, np.concatenate([own for _, own in found]))
        return units, bits

    def units_with(self, word: str) -> tuple[NDArray[np.int32], NDArray[np.uint16]]:
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
