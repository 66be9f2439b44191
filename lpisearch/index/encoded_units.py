"""Encoded passages: the vectors of the user's encoder, and what they add to the score.

    score = z(BM25) + w · … + e · z(cosine by the encoder)

The cosines of the query with all documents, a long one by its best passage and its first, are
standardised. They are not bounded as those of the subspace are (fusion.py): that measured worse. e
is learned from the library's own documents (calibration.py), and is 0 where the encoder does not
help.

Either all passages are encoded when the index is built, or a sample of them, which gives mean and
deviation of the cosines, and at each query the first candidates.

Vectors are kept by the hashes of their texts (storage/vector_store.py). The vector of one fixed
text, the probe, shows whether another model has the same name: then all are encoded again.

The index has the arrays encoder_vectors, and for each of its rows the document (key and content
hash) and the start of the passage in the text, -1 for a whole document. So documents that are
added later or change have no vector, and the mean score, until the next build.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from lpisearch.index.fusion import standard_of
from lpisearch.numeric.rows import numbers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from lpisearch.index.subspace import Passages, SubspaceIndex
    from lpisearch.storage.store import ReadTransaction
    from lpisearch.storage.vector_store import VectorStore

    Floats = NDArray[np.float32]
    Numbers = NDArray[np.int64]

CANDIDATES = 100
"""The number of first documents that are encoded at a query, if not all are beforehand."""
WHOLE = -1
_CHARACTERS = 4000  # of a text: encoders read fewer
_DOCUMENTS = 50  # whose texts are in memory together
_PREFIX = "encoder_"


class Unit(NamedTuple):
    """A passage, or a short document as a whole."""

    document: int  # row in the index
    start: int  # of the passage in the text, or `WHOLE`
    text: str


def unit_text(title: str, text: str, start: int = 0, end: int | None = None) -> str:
    """Return the text that is encoded for a passage or a short document."""
    return f"{title}\n{text[start:end]}"[:_CHARACTERS]


def units_of(
    snapshot: ReadTransaction, index: SubspaceIndex, documents: Iterable[int]
) -> Iterator[Unit]:
    """Yield the passages of some documents (rows, ascending), or the documents without any."""
    remaining = iter(documents)
    while rows := list(islice(remaining, _DOCUMENTS)):
        keys = index.document_rows[rows].tolist()
        texts = {key: (title, text) for key, title, text in snapshot.documents.texts(keys)}
        for row, key in zip(rows, keys, strict=True):
            if key not in texts:
                continue
            title, text = texts[key]
            part = slice(0, 0) if index.passages is None else index.passages.of_document(row)
            if part.start == part.stop or index.passages is None:
                yield Unit(row, WHOLE, unit_text(title, text))
                continue
            for start, end in index.passages.spans[part].tolist():
                yield Unit(row, start, unit_text(title, text, start, end))


def count_units(index: SubspaceIndex, documents: Numbers) -> int:
    """Return how many units some documents have, about."""
    if index.passages is None:
        return len(documents)
    own = np.bincount(index.passages.owners, minlength=len(index.document_rows))
    return int(np.maximum(own[documents], 1).sum())


def encode(
    index: SubspaceIndex,
    units: Iterable[Unit],
    store: VectorStore,
    on_step: Callable[[int], None] = lambda _done: None,
) -> dict[str, NDArray[Any]]:
    """Return the arrays of encoded units."""
    places: list[tuple[int, int]] = []

    def texts() -> Iterator[str]:
        for unit in units:
            places.append((unit.document, unit.start))
            yield unit.text

    blocks = [block.astype(np.float16) for block in store.vectors(texts(), on_step)]
    rows, starts = np.array(places, np.int64).reshape(-1, 2).T
    return {
        f"{_PREFIX}vectors": np.concatenate(blocks),
        f"{_PREFIX}keys": index.document_rows[rows],
        f"{_PREFIX}hashes": index.content_hashes[rows],
        f"{_PREFIX}starts": starts.astype(np.int32),
    }


_ARRAYS = ("vectors", "keys", "hashes", "starts", "probe")


@dataclass(frozen=True)
class EncodedUnits:
    """The encoded passages of an index, as far as their documents are unchanged.

    Attributes
    ----------
    facts
        Of the manifest: the name of the encoder, the weight of the leg, whether all passages are
        encoded or a sample.
    vectors
        As rows.
    documents, starts
        The row of the document of each in the index, -1 if it is gone or has changed, and the start
        of the passage in it.
    """

    facts: Mapping[str, Any]
    probe: Floats
    vectors: Floats
    documents: Numbers
    starts: Numbers
    number: int  # of documents in the index

    @classmethod
    def of_index(cls, index: SubspaceIndex) -> Self | None:
        """Take the arrays of an index; None if nothing is encoded."""
        facts = index.manifest.encoder
        if not facts:
            return None
        own = {name: index.arrays[f"{_PREFIX}{name}"].view(np.ndarray) for name in _ARRAYS}
        keys, rows = own["keys"], index.document_rows
        at = numbers_of(keys, rows)
        same = (at >= 0) & (index.content_hashes[at] == own["hashes"]).all(axis=1)
        return cls(
            facts,
            own["probe"],
            own["vectors"].astype(np.float32),
            np.where(same, at, -1),
            own["starts"].astype(np.int64),
            len(rows),
        )

    @property
    def name(self) -> str:
        """The name of the encoder."""
        return str(self.facts["name"])

    @property
    def weight(self) -> float:
        """The weight of the leg."""
        return float(self.facts["weight"])

    @property
    def is_sample(self) -> bool:
        """Whether a sample is encoded, and candidates at each query."""
        return bool(self.facts["way"] != "passages")

    @cached_property
    def known(self) -> Numbers:
        """The rows of `vectors` whose documents are unchanged."""
        return np.flatnonzero(self.documents >= 0)

    def of_documents(self, cosines: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the cosine of each document, and which documents have one.

        That of a long one is the mean of its best passage and its first, which says what it is
        about: an encoder would read no more of the whole.
        """
        best = np.full(self.number, -np.inf, np.float32)
        owners, own = self.documents[self.known], cosines[self.known]
        np.maximum.at(best, owners, own)
        documents, first = np.unique(owners, return_index=True)
        best[documents] = (best[documents] + own[first]) / 2
        has_vector = np.isfinite(best)
        return np.where(has_vector, best, 0), has_vector

    def points(self, cosines: Floats) -> Floats:
        """Return the points of all documents: 0, which is the mean, for one without a vector."""
        best, has_vector = self.of_documents(cosines)
        points = standard_of(best[has_vector]).of(best)
        return np.where(has_vector, points, np.float32(0))

    def leg(self, query: Floats) -> Leg:
        """Compare all documents with the vector of a query."""
        cosines = self.vectors @ query
        best, has_vector = self.of_documents(cosines)
        points = standard_of(best[has_vector]).of(best)
        return Leg(self.weight, best, np.where(has_vector, points, np.float32(0)), cosines)

    def leg_of(self, query: Floats, documents: Numbers, cosines: Floats) -> Leg:
        """Make the leg of some documents, given their cosines; the others have the lowest points.

        Mean and deviation of the cosines are those of the sample.
        """
        sample, has_vector = self.of_documents(self.vectors @ query)
        some = standard_of(sample[has_vector]).of(cosines)
        points = np.full(self.number, some.min(initial=0), np.float32)
        every = np.zeros(self.number, np.float32)
        points[documents], every[documents] = some, cosines
        return Leg(self.weight, every, points, None)

    def of_passages(self, passages: Passages, cosines: Floats) -> Floats:
        """Return the cosine of each passage of the index; that of the worst if it has no vector."""
        own = self.documents * _SPAN + self.starts
        order = np.argsort(own, kind="stable")
        wanted = passages.owners.astype(np.int64) * _SPAN + passages.spans[:, 0]
        at = np.minimum(np.searchsorted(own, wanted, sorter=order), len(own) - 1)
        found = order[at]
        return np.where(own[found] == wanted, cosines[found], cosines.min(initial=0))


_SPAN = 1 << 31


class Leg(NamedTuple):
    """What the encoder adds to the score of each document.

    Attributes
    ----------
    weight
        Of the leg.
    cosines, points
        Of each document: its cosine, and that standardised.
    units
        The cosine of each encoded passage; None if only candidates are encoded.
    """

    weight: float
    cosines: Floats
    points: Floats
    units: Floats | None

    @property
    def shares(self) -> Floats:
        """What is added to each score."""
        return np.asarray(np.float32(self.weight) * self.points)
