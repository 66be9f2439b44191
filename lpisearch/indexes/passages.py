"""Passages of long documents: text spans, vectors and words.

They are placed by the map that was learned from whole documents, and their postings have the terms
of the documents' postings. A library without a long document has none, and pays nothing for them.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from lpisearch.indexes.postings import LEXICON, Postings
from lpisearch.indexes.scoring.document_terms import DocumentTerms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from lpisearch.indexes.index import SubspaceIndex
    from lpisearch.storage import Snapshot
    from lpisearch.terms.cutting import Span
    from lpisearch.terms.tokeniser import Tokeniser

_PREFIX = "passage_"
_OWN = ("owners", "spans", "vectors")
_AT_ONCE = 50  # long documents, whose texts are held together
_COUNTED_AT_ONCE = 1000
_PLACED_AT_ONCE = 10_000


@dataclass(frozen=True, eq=False, slots=True)
class Passages:
    """The passages of an index.

    Attributes
    ----------
    owners
        The place of the document of each passage, ascending.
    spans
        Where each begins and ends in the text of its document (passages x 2).
    vectors
        Passages as rows, scaled and at unit length, as those of documents.
    postings
        The passages of every term of the lexicon of the documents.
    terms
        The telling terms of every passage.
    """

    owners: NDArray[np.int32]
    spans: NDArray[np.int32]
    vectors: NDArray[np.float32]
    postings: Postings
    terms: DocumentTerms

    def __len__(self) -> int:
        return len(self.owners)

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], postings: Postings) -> Self | None:
        """Take the arrays of an index; None if it has no passages."""
        own = {
            name.removeprefix(_PREFIX): arrays[name].view(np.ndarray)
            for name in passage_arrays(arrays)
        }
        if not own:
            return None
        lexicon = {name: getattr(postings, name) for name in LEXICON}
        return cls(
            own["owners"],
            own["spans"],
            own["vectors"],
            Postings.of_arrays(lexicon | own),
            DocumentTerms.of_arrays(own, len(own["owners"])),
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what is to be stored, by name; nothing if there is no passage."""
        if not len(self):
            return {}
        words = {name: a for name, a in self.postings.arrays().items() if name not in LEXICON}
        own = {name: getattr(self, name) for name in _OWN} | words | self.terms.arrays()
        return {f"{_PREFIX}{name}": array for name, array in own.items()}

    def of_document(self, place: int) -> slice:
        """Return which passages a document has."""
        start, end = np.searchsorted(self.owners, [place, place + 1]).tolist()
        return slice(start, end)


def passage_arrays(names: Iterable[str]) -> set[str]:
    """Return the names of arrays that are of passages."""
    return {name for name in names if name.startswith(_PREFIX)}


def cut_documents(
    snapshot: Snapshot,
    tokeniser: Tokeniser,
    places: Mapping[int, int],
    on_step: Callable[[int, int], None] = lambda _done, _total: None,
) -> Iterator[tuple[int, Span]]:
    """Yield the passages of long documents, each with the document's place.

    The words of the title are said once in each passage: what stands on a page is about it.

    Parameters
    ----------
    snapshot
        To the texts.
    tokeniser
        Which made the tokens of the index.
    places
        The places of the documents, by key.
    on_step
        Called with how many documents are cut, and of how many.
    """
    from lpisearch.terms.cutting import cut_passages

    joined = tokeniser.joined
    keys = sorted(places)
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
        sections = snapshot.documents.sections(some)
        for key, title, text in snapshot.documents.texts(some):
            about = joined(title)
            for span in cut_passages(text, sections.get(key, ()), joined):
                tokens = f"{about} {span.tokens}" if about else span.tokens
                yield places[key], span._replace(tokens=tokens)
        on_step(start + len(some), len(keys))


def place_passages(
    index: SubspaceIndex, found: Iterable[tuple[int, Span]], kept: Passages | None = None
) -> Passages:
    """Place passages by the map of an index.

    Parameters
    ----------
    index
        With the documents, whose terms are those of the passages.
    found
        New passages, each with its document's place.
    kept
        Those that stay as they are, from `staying`.
    """
    from scipy.sparse import vstack

    owners, spans, counts, lengths = _count(index.postings, found)
    vectors = _vectors(index, counts)
    if kept is not None:
        owners = np.concatenate([kept.owners, owners])
        spans = np.vstack([kept.spans, spans])
        vectors = np.vstack([kept.vectors, vectors])
        counts = vstack([kept.postings.counts(), counts], format="csr")
        lengths = np.concatenate([kept.postings.document_lengths, lengths])
    order = np.argsort(owners, kind="stable")
    postings = index.postings.with_rows(counts[order], lengths[order])
    return Passages(
        owners[order], spans[order], vectors[order], postings, DocumentTerms.of_postings(postings)
    )


def staying(passages: Passages, places: NDArray[np.integer], postings: Postings) -> Passages:
    """Return the passages of documents that stay, in the numbers of other postings.

    Parameters
    ----------
    passages
        Of an index before documents came or went.
    places
        The new place of each document, below zero where it is gone or has changed.
    postings
        Of the documents as they are now.
    """
    from scipy.sparse import csr_array

    owners = np.asarray(places)[passages.owners]
    stays = np.flatnonzero(owners >= 0)
    counts = passages.postings.counts()[stays]
    columns = postings.numbers(passages.postings.terms())[counts.indices]
    known = columns >= 0
    rows = np.repeat(np.arange(len(stays)), np.diff(counts.indptr))
    entries = (counts.data[known], (rows[known], columns[known]))
    renumbered: csr_array = csr_array(entries, shape=(len(stays), len(postings)))
    lengths = passages.postings.document_lengths[stays]
    return Passages(
        owners[stays].astype(np.int32),
        passages.spans[stays],
        passages.vectors[stays],
        postings.with_rows(renumbered, lengths),
        passages.terms,
    )


def _count(
    postings: Postings, found: Iterable[tuple[int, Span]]
) -> tuple[NDArray[np.int32], NDArray[np.int32], csr_array, NDArray[np.int32]]:
    """Return owners, spans and counts of passages, and the number of tokens of each."""
    from lpisearch.terms.counts import count_all_terms

    owners: array[int] = array("i")
    spans: array[int] = array("i")

    def shards() -> Iterator[list[str]]:
        remaining = iter(found)
        while some := list(islice(remaining, _COUNTED_AT_ONCE)):
            owners.extend(place for place, _ in some)
            spans.extend(bound for _, span in some for bound in (span.start, span.end))
            yield [span.tokens for _, span in some]

    terms = postings.terms()
    _, every = count_all_terms(shards(), terms)
    counts = every.matrix[:, : len(terms)]  # a term that no whole document has is none
    bounds = np.frombuffer(spans, np.int32).reshape(-1, 2)
    return np.frombuffer(owners, np.int32), bounds, counts, every.lengths


def _vectors(index: SubspaceIndex, counts: csr_array) -> NDArray[np.float32]:
    """Place passages some at a time, as documents that came later are placed."""
    vectors = np.empty((counts.shape[0], len(index.scales)), np.float32)
    for start in range(0, len(vectors), _PLACED_AT_ONCE):
        some = slice(start, start + _PLACED_AT_ONCE)
        vectors[some] = index.project(index.by_column(counts[some]))
    return vectors
