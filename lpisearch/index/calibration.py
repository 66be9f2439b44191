"""Learn the weight of the subspace in hybrid ranking, without labels or judgements.

A window of 4, 8 or 16 consecutive words is cut from a document and used as a query. The right
answer is its document without the window: BM25 and vector are recomputed without those words, or
every window would find its document trivially. The mean reciprocal rank of the right answers, for
each weight w of the subspace, measures the ranking.

Windows query for one document in its own words, where people query for a subject in theirs. So
windows favour words, and their best weight is too small. The weight chosen is the largest at which
they lose at most 1/80: as much as the subspace may contribute before it hides what words find. It
depends on the length of the query: long queries have more reliable vectors.

In a small library the map fits each document, and windows overrate it. So log w is shrunk towards
that of a safe weight by n / (n + 200); below 100 documents the safe weight is used.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array

from lpisearch.index.encoded_units import EncodedUnits, units_of
from lpisearch.index.fusion import (
    LENGTHS,
    SAFE_WEIGHT,
    Calibration,
    known_part,
    standardised,
    subspace_scores,
    vector_certainty,
)
from lpisearch.index.postings import NO_COLUMN, Bm25, half_saturation, saturation
from lpisearch.numeric.row_files import release_pages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from lpisearch.index.subspace import SubspaceIndex
    from lpisearch.storage.store import ReadTransaction
    from lpisearch.storage.vector_store import VectorStore
    from lpisearch.text.tokeniser import Tokeniser

    Floats = NDArray[np.float32]
    Numbers = NDArray[np.int64]

WEIGHTS = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0)
LOSS = 0.0125
SAMPLE = 500
LEAST_DOCUMENTS = 100
LEAST_WINDOWS = 20
DOUBTED_DOCUMENTS = 200
LEAST_WEIGHT = 0.1


def sample_documents(lengths: NDArray[np.integer], seed: int) -> NDArray[np.int64]:
    """Choose rows of documents to cut windows from, in order; none if there are too few."""
    if len(lengths) < LEAST_DOCUMENTS:
        return np.empty(0, np.int64)
    long_enough = np.flatnonzero(lengths >= 2 * LENGTHS[0])
    rng = np.random.default_rng([seed, len(lengths)])
    return np.sort(rng.permutation(long_enough)[:SAMPLE])


def calibrate(
    index: SubspaceIndex, places: NDArray[np.int64], tokens: Sequence[str], seed: int
) -> Calibration:
    """Learn the weight of the subspace from documents (rows of the index) and their tokens."""
    if not len(places) or not index.is_linear:
        return Calibration.safe()
    rng = np.random.default_rng([seed, len(places)])
    contest = Contest.of_index(index, places, rng)
    documents = contest.numbered(tokens)
    curves, counts = {}, {}
    for length in LENGTHS:
        windows = cut_windows(places, documents, length, rng)
        if len(windows.places) >= LEAST_WINDOWS:
            mean = contest.reciprocal_ranks(windows, WEIGHTS).mean(axis=0)
            curves[length] = mean / mean.max()
            counts[length] = len(windows.places)
    if not curves:
        return Calibration.safe()
    weights = {
        length: _shrunk(max_harmless_weight(curve), len(index.packed_vectors))
        for length, curve in _smoothed(curves).items()
    }
    return Calibration(weights, counts, len(places))


def max_harmless_weight(curve: NDArray[np.floating]) -> float:
    """Return the largest weight that loses at most 1/80 of the best score.

    `curve` has the mean reciprocal rank at each of `WEIGHTS`, and is taken as linear in between.
    """
    best = int(np.argmax(curve))
    least = curve[best] * (1 - LOSS)
    for low, high in pairwise(range(best, len(WEIGHTS))):
        if curve[high] < least:
            share = (curve[low] - least) / (curve[low] - curve[high])
            return float(WEIGHTS[low] + share * (WEIGHTS[high] - WEIGHTS[low]))
    return WEIGHTS[-1]


def _smoothed(
    curves: Mapping[int, NDArray[np.floating]],
) -> dict[int, NDArray[np.floating]]:
    """Average the curve of each length with those of all: windows are few and lengths similar."""
    all_curves = list(curves.values())
    return {length: np.mean([curve, *all_curves], axis=0) for length, curve in curves.items()}


def _shrunk(weight: float, n_documents: int) -> float:
    belief = n_documents / (n_documents + DOUBTED_DOCUMENTS)
    return round(float(max(weight, LEAST_WEIGHT) ** belief * SAFE_WEIGHT ** (1 - belief)), 3)


_ENCODER_WINDOW = 8  # words
_ENCODER_WINDOWS = 200
_ENCODER_WEIGHTS = WEIGHTS[:7]
_LEAST_ENCODER_SHARE, _TIMES_CHANCE = 0.1, 3
_LEAST_TEXT = 3 * _ENCODER_WINDOW


def calibrate_encoder(
    index: SubspaceIndex,
    encoded: EncodedUnits,
    snapshot: ReadTransaction,
    tokeniser: Tokeniser,
    store: VectorStore,
) -> dict[str, Any]:
    """Learn the weight of the encoder next to words and subspace, from windows of texts.

    Windows are as above, of 8 words. The right answer is its document without the window, encoded
    again. The weight is the largest at which windows lose at most 1/80, as that of the subspace is:
    windows favour words here, too. These windows are few, so a loss within its standard error does
    not count, and the weight is 3 at most, but it is not shrunk: an encoder is not fitted to the
    library. It is 0 if the encoder hides at once what words find, or alone hardly finds windows: a
    tenth as well as the words do, or thrice as well as chance does.
    """
    rng = np.random.default_rng([index.manifest.spec.seed, encoded.number])
    documents = np.unique(encoded.documents[encoded.known])
    cut = _text_windows(index, documents, snapshot, tokeniser, rng)
    if len(cut) < LEAST_WINDOWS or len(documents) < LEAST_DOCUMENTS:
        return {"weight": 0.0, "windows": len(cut), "gain": 0.0}
    number = {term: number for number, term in enumerate(index.postings.terms())}.get
    places = np.array([window.document for window in cut], np.int64)
    queries = [_known_numbers(window.query, number) for window in cut]
    left = [_known_numbers(window.left, number) for window in cut]
    rivals = documents
    if len(documents) > RIVALS:
        rivals = np.union1d(places, rng.permutation(documents)[: RIVALS - len(places)])
    contest = Contest(index, rivals)
    asked = store.vectors(window.text for window in cut)
    answers = store.vectors(window.rest for window in cut)
    vectors, rest = np.concatenate(list(asked)), np.concatenate(list(answers))
    weight = Calibration.of_manifest(index.manifest.calibration).weight(_ENCODER_WINDOW)
    weights = np.array(_ENCODER_WEIGHTS)
    reciprocal, alone = np.empty((len(cut), len(weights))), np.empty(len(cut))
    for block, right, words, said in contest.scores(Windows(places, queries, left)):
        rows = range(len(cut))[block]
        points = np.stack(
            [_encoder_points(encoded, cut[row], vectors[row], rest[row]) for row in rows]
        )
        base = words + np.float32(weight) * said
        reciprocal[block] = _reciprocal_ranks(base, points[:, rivals], right, _ENCODER_WEIGHTS)
        alone[block] = _reciprocal_ranks(points[:, rivals], words, right, (0.0,))[:, 0]
    curve = reciprocal.mean(axis=0)
    loss = reciprocal[:, [int(curve.argmax())]] - reciprocal
    allowed = LOSS * curve.max() + loss.std(axis=0) / np.sqrt(len(cut))
    harmless = float(weights[loss.mean(axis=0) <= allowed].max())
    # The mean of 1 / rank for ranks by chance is about that of all ranks.
    by_chance = (1 / np.arange(1, len(rivals) + 1)).mean()
    least = max(_LEAST_ENCODER_SHARE * curve[0], _TIMES_CHANCE * by_chance)
    if alone.mean() < least:
        harmless = 0.0
    return {
        "weight": harmless,
        "windows": len(cut),
        "gain": round(float(curve.max() / curve[0] - 1), 4),
    }


class _TextWindow(NamedTuple):
    """A window of a text, and the text without it, both as they are and as tokens."""

    document: int
    unit: int  # the row of the encoded unit it is from
    text: str
    rest: str
    query: list[str]
    left: list[str]


def _text_windows(
    index: SubspaceIndex,
    documents: Numbers,
    snapshot: ReadTransaction,
    tokeniser: Tokeniser,
    rng: np.random.Generator,
) -> list[_TextWindow]:
    """Cut a window from one passage of each of some documents."""
    some = np.sort(rng.permutation(documents)[: 2 * _ENCODER_WINDOWS])
    traits = snapshot.documents.traits_of(index.document_rows[some].tolist())
    windows: list[_TextWindow] = []
    for row, units in groupby(units_of(snapshot, index, some.tolist()), lambda unit: unit.document):
        parts = list(units)
        unit = parts[int(rng.integers(len(parts)))]
        title, _, text = unit.text.partition("\n")
        words = [match.span() for match in _WORD.finditer(text)]
        if len(words) < _LEAST_TEXT or len(windows) == _ENCODER_WINDOWS:
            continue
        first = int(rng.integers(len(words) - _ENCODER_WINDOW + 1))
        start, end = words[first][0], words[first + _ENCODER_WINDOW - 1][1]
        key = int(index.document_rows[row])
        language = traits[key].language if key in traits else ""
        query = tokeniser.of_language(language).joined(text[start:end]).split()
        whole = Counter(" ".join(snapshot.documents.tokens([key])).split())
        left = list((whole - Counter(query)).elements())
        if query and left:
            rest = f"{title}\n{text[:start]} {text[end:]}"
            windows.append(_TextWindow(row, unit.start, text[start:end], rest, query, left))
    return windows


_WORD = re.compile(r"\S+")


def _known_numbers(tokens: Sequence[str], number: Callable[[str], int | None]) -> Numbers:
    return np.array([at for token in tokens if (at := number(token)) is not None], np.int64)


def _encoder_points(
    encoded: EncodedUnits, window: _TextWindow, query: Floats, rest: Floats
) -> Floats:
    """Return the points of all documents by the encoder; the right one is without its window."""
    cosines = encoded.vectors @ query
    own = (encoded.documents == window.document) & (encoded.starts == window.unit)
    cosines[own] = rest @ query
    return encoded.points(cosines)


RIVALS = 20_000  # documents to rank windows among: more would hardly change the result
_BLOCK = 64
_ENTRIES = 4_000_000


@dataclass(frozen=True, eq=False, slots=True)
class Windows:
    """Windows of one length; words are numbers in the postings."""

    places: Numbers  # row of each window's document
    queries: list[Numbers]  # words of each window
    left: list[Numbers]  # the other words of its document


def cut_windows(
    places: Numbers, documents: Sequence[Numbers], length: int, rng: np.random.Generator
) -> Windows:
    """Cut one window from each document that is at least twice as long."""
    windows = Windows(places[[len(words) >= 2 * length for words in documents]], [], [])
    for words in documents:
        if len(words) >= 2 * length:
            start = int(rng.integers(len(words) - length + 1))
            windows.queries.append(words[start : start + length])
            windows.left.append(np.delete(words, slice(start, start + length)))
    return windows


class Contest:
    """The documents among which windows are ranked, right answers included."""

    def __init__(self, index: SubspaceIndex, rivals: Numbers) -> None:
        self.index = index
        self.rivals = rivals
        self.postings = index.postings
        distinct = index.document_terms.distinct_terms
        self.certainty = vector_certainty(distinct[rivals])
        self.vectors: Floats = index.packed_vectors.at(rivals)
        release_pages(index.packed_vectors.codes)

    @classmethod
    def of_index(cls, index: SubspaceIndex, places: Numbers, rng: np.random.Generator) -> Self:
        """Take all documents, or a sample that includes the right answers."""
        n = len(index.packed_vectors)
        if n <= RIVALS:
            return cls(index, np.arange(n))
        return cls(index, np.union1d(places, rng.permutation(n)[: RIVALS - len(places)]))

    def numbered(self, tokens: Sequence[str]) -> list[Numbers]:
        """Return joined tokens as numbers in the postings."""
        numbers = {term: number for number, term in enumerate(self.postings.terms())}
        return [np.array([numbers[word] for word in text.split()], np.int64) for text in tokens]

    def reciprocal_ranks(self, windows: Windows, weights: Sequence[float]) -> NDArray[np.float64]:
        """Return 1 / rank of the right answers (rows), for each weight of the subspace."""
        reciprocal = np.empty((len(windows.places), len(weights)))
        for block, right, words, said in self.scores(windows):
            reciprocal[block] = _reciprocal_ranks(words, said, right, weights)
        return reciprocal

    def scores(self, windows: Windows) -> Iterator[tuple[slice, Numbers, Floats, Floats]]:
        """Yield some windows, their right answers among the rivals, and two legs of all rivals.

        The legs are the words, and the subspace before its weight: windows x rivals.
        """
        queries, left = self._counts(windows.queries), self._counts(windows.left)
        places, _ = self._placed(queries)
        answers, certainty = self._placed(left)
        cosines = np.einsum("ij,ij->i", places, answers)
        bm25 = self._answers_bm25(queries, left)
        known = self._known(queries)
        factors = queries.data * self._idf[queries.indices]
        weighted_queries = csr_array(
            (factors, queries.indices, queries.indptr), shape=queries.shape
        )
        for start in range(0, len(windows.places), _BLOCK):
            block = slice(start, start + _BLOCK)
            right = np.searchsorted(self.rivals, windows.places[block])
            at = (np.arange(len(right)), right)
            words = (weighted_queries[block] @ self._weighted).toarray()
            near = places[block] @ self.vectors.T
            sure = np.tile(self.certainty, (len(right), 1))
            words[at], near[at], sure[at] = bm25[block], cosines[block], certainty[block]
            said = subspace_scores(near, sure) * known[block, np.newaxis]
            yield block, right, standardised(words), said

    @cached_property
    def _idf(self) -> Floats:
        return Bm25(self.postings, general=self.index.general_idf).idf(
            np.arange(len(self.postings))
        )

    @cached_property
    def _weighted(self) -> csr_array:
        """BM25 of each term in each rival, without idf: terms x rivals."""
        postings, starts = self.postings, self.postings.posting_starts
        rank = np.full(len(self.index.packed_vectors), -1, np.int32)
        rank[self.rivals] = np.arange(len(self.rivals))
        numbers, places, counts = map(np.concatenate, zip(*self._entries(rank), strict=True))
        weights = Bm25(postings).saturated(counts, places)
        entries = (weights, rank[places], np.searchsorted(numbers, starts))
        return csr_array(entries, shape=(len(postings), len(self.rivals)))

    def _entries(self, rank: NDArray[np.int32]) -> Iterator[tuple[NDArray[Any], ...]]:
        """Yield the numbers, documents and counts of entries of rivals (rank ≥ 0).

        There may be many more entries: a chunk is read at a time, then its memory is released.
        """
        postings = self.postings
        places, counts = postings.posting_places, postings.posting_counts
        for at in range(0, max(len(places), 1), _ENTRIES):
            numbers = at + np.flatnonzero(rank[places[at : at + _ENTRIES]] >= 0)
            yield numbers, places[numbers], counts[numbers]
            release_pages(places)
            release_pages(counts)

    def _counts(self, documents: Sequence[Numbers]) -> csr_array:
        rows = np.repeat(np.arange(len(documents)), [len(words) for words in documents])
        ones = np.ones(len(rows), np.float32)
        shape = (len(documents), len(self.postings))
        return csr_array((ones, (rows, np.concatenate(documents))), shape=shape)

    def _placed(self, counts: csr_array) -> tuple[Floats, Floats]:
        """Return the vectors of bags of words, and their certainty."""
        narrowed = self.index.by_column(counts)
        return self.index.project(narrowed), vector_certainty(np.diff(narrowed.indptr))

    def _answers_bm25(self, queries: csr_array, left: csr_array) -> Floats:
        lengths = self.postings.document_lengths
        half = half_saturation(np.asarray(left.sum(axis=1)), float(lengths.mean()))
        worth = saturation(left.data, np.repeat(half, np.diff(left.indptr)))
        worth *= self._idf[left.indices]
        weighted = csr_array((worth, left.indices, left.indptr), shape=left.shape)
        return np.asarray(weighted.multiply(queries).sum(axis=1), np.float32)

    def _known(self, queries: csr_array) -> Floats:
        frequencies = np.diff(self.postings.posting_starts)
        has_column = self.postings.lexicon_columns != NO_COLUMN
        n = len(self.index.packed_vectors)
        parts = np.split(np.arange(queries.nnz), queries.indptr[1:-1])
        known = [
            known_part(queries.data[part], frequencies[words], has_column[words], n)
            for part, words in ((part, queries.indices[part]) for part in parts)
        ]
        return np.array(known, np.float32)


def _reciprocal_ranks(
    words: Floats, places: Floats, right: Numbers, weights: Sequence[float]
) -> NDArray[np.float64]:
    """Return 1 / rank of the right answer in each row; half of the ties count as ahead."""
    at = (np.arange(len(right)), right)
    own_words, own_places = words[at], places[at]
    # A rival behind the right answer by words and by vector is behind it at every weight.
    rivals = (words >= own_words[:, np.newaxis]) | (places >= own_places[:, np.newaxis])
    rivals[at] = False
    rows, others = np.divmod(np.flatnonzero(rivals), words.shape[1])
    by_words = words[rows, others] - own_words[rows]
    by_place = places[rows, others] - own_places[rows]
    reciprocal = np.empty((len(right), len(weights)))
    for number, weight in enumerate(weights):
        lead = by_words + np.float32(weight) * by_place
        before = np.bincount(rows, (lead > 0) + 0.5 * (lead == 0), minlength=len(right))
        reciprocal[:, number] = 1 / (1 + before)
    return reciprocal
