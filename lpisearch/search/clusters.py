"""Documents to topics: how many, which documents are in each, and which terms stand out.

In go the vectors of an index (documents as ROWS at unit length, leading dimensions first), its
eigenvalues and its postings; out come arrays. NumPy alone is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.compute.k_means import spherical_k_means
from lpisearch.compute.rows import divided_by_lengths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from lpisearch.indexes.postings import Postings

    Floats = NDArray[np.floating[Any]]
    Whole = NDArray[np.integer[Any]]

NO_TOPIC = -1
LARGEST_ROOT = 50
_BLOCK = 8192
_ENTRIES = 4_000_000


@dataclass(frozen=True, slots=True)
class Clusters:
    """Documents in clusters, the largest cluster first.

    Attributes
    ----------
    assignments
        The number of each document's cluster from 0, or `NO_TOPIC` for a row of zeros.
    sizes
        How many documents each cluster has; none is empty.
    """

    assignments: Whole
    sizes: Whole


def choose_number(eigenvalues: Floats, n_documents: int) -> int:
    """Choose how many topics there are from the spectrum of the index.

    The eigenvalues are without the one of the constant direction, so K - 1 of them lie before
    the gap that separates K clusters. It is the widest gap among the numbers from half to twice
    the cube root of the number of documents, itself taken as 50 at most: the gaps before that
    only part the library in halves and quarters.
    """
    root = min(float(np.cbrt(max(n_documents, 1))), LARGEST_ROOT)
    most = min(round(2 * root), len(eigenvalues), n_documents)
    least = max(2, min(round(root / 2), most))
    if most <= least:
        return min(least, max(n_documents, 1))
    gaps = eigenvalues[least - 2 : most - 1] - eigenvalues[least - 1 : most]
    return least + int(np.argmax(gaps))


def usual_number(n_documents: int) -> int:
    """Choose how many topics there are where no spectrum says it.

    It is the cube root of the number of documents, 50 at most: the middle of what
    `choose_number` chooses from.
    """
    root = min(round(float(np.cbrt(max(n_documents, 1)))), LARGEST_ROOT)
    return max(min(max(root, 2), n_documents), 1)


def count_placed(vectors: Floats) -> int:
    """Count the documents that have a direction: those with a word that the index knows."""
    return int(np.count_nonzero(_filled(vectors)))


def cluster(vectors: Floats, number: int, dims: int, seed: int) -> Clusters:
    """Cluster documents by the cosine in the leading dimensions: spherical k-means++.

    Lengths in the subspace are not used. They were measured to help where a few classes are far
    larger than the rest (tdt2: NMI .90 instead of .84), and to harm more where documents differ in
    length (20 Newsgroups: .45 instead of .57; sample corpus: .80 instead of .87).

    Parameters
    ----------
    vectors
        Documents as rows; rows of zeros are set apart.
    number
        Of clusters. There are fewer if fewer documents differ.
    dims
        How many dimensions take part; those beyond the number of clusters only add noise.
    seed
        Of the ten starts, the best of which is kept.
    """
    placed = np.flatnonzero(_filled(vectors))
    points = divided_by_lengths(np.asarray(vectors[placed, :dims], np.float32))
    nearest_centre, n_centres = spherical_k_means(points, number, seed)
    sizes = np.bincount(nearest_centre, minlength=n_centres)
    order = np.argsort(-sizes, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    assignments = np.full(len(vectors), NO_TOPIC, np.int64)
    assignments[placed] = rank[nearest_centre]
    return Clusters(assignments, sizes[order][sizes[order] > 0])


def typical_documents(
    vectors: Floats, clusters: Clusters, count: int
) -> list[list[tuple[int, float]]]:
    """Return for each cluster its documents nearest to the centre, in all dimensions.

    Returns
    -------
    list
        (place, cosine) pairs for each cluster, nearest first.
    """
    typical = []
    for number in range(len(clusters.sizes)):
        members = np.flatnonzero(clusters.assignments == number)
        total = np.zeros(vectors.shape[1])
        for start in range(0, len(members), _BLOCK):
            total += vectors[members[start : start + _BLOCK]].sum(axis=0, dtype=np.float64)
        centre = divided_by_lengths(total[np.newaxis])[0].astype(np.float32)
        blocks = [
            vectors[members[at : at + _BLOCK]] @ centre for at in range(0, len(members), _BLOCK)
        ]
        cosines = np.concatenate(blocks)
        best = np.argsort(-cosines, kind="stable")[:count]
        typical.append([(int(members[each]), float(min(cosines[each], 1))) for each in best])
    return typical


def document_counts(postings: Postings, clusters: Clusters, n_terms: int) -> Whole:
    """Count in how many documents of each cluster each term of the subspace occurs.

    Returns
    -------
    numpy.ndarray
        Terms (by column) x clusters, int32. A few million postings are read at a time.
    """
    n_clusters = len(clusters.sizes)
    counts = np.zeros((n_terms, n_clusters), np.int32)
    starts, columns = postings.posting_starts, postings.lexicon_columns
    for first, last in _stretches(starts):
        entries = clusters.assignments[postings.posting_places[starts[first] : starts[last]]]
        term = np.repeat(columns[first:last], np.diff(starts[first : last + 1]))
        counted = (term >= 0) & (entries >= 0)
        cells, times = np.unique(
            term[counted].astype(np.int64) * n_clusters + entries[counted], return_counts=True
        )
        counts.reshape(-1)[cells] += times.astype(np.int32)
    return counts


def characteristic_terms(
    counts: Whole, clusters: Clusters, number: int, factors: Floats | None = None
) -> list[list[int]]:
    """Return for each cluster the terms that stand out against the whole library, best first.

    A term in the share p of a cluster's documents and in the share q of all has the score
    p log(p / q): its part of the Kullback-Leibler divergence, times its factor if it has one. In a
    cluster of several documents a term counts only if at least two of them have it.
    """
    shares = counts / clusters.sizes
    overall = counts.sum(axis=1, keepdims=True) / clusters.sizes.sum()
    ratio = np.divide(shares, overall, out=np.ones_like(shares), where=shares > 0)
    scores = shares * np.log(ratio)
    if factors is not None:
        scores *= factors[:, np.newaxis]
    scores[counts < np.minimum(clusters.sizes, 2)] = 0
    best = np.argsort(-scores, axis=0, kind="stable")[:number]
    return [
        [int(term) for term in best[:, each] if scores[term, each] > 0]
        for each in range(len(clusters.sizes))
    ]


def _filled(vectors: Floats) -> NDArray[np.bool_]:
    blocks = [vectors[at : at + _BLOCK].any(axis=1) for at in range(0, len(vectors), _BLOCK)]
    return np.concatenate(blocks) if blocks else np.zeros(0, np.bool_)


def _stretches(starts: Whole) -> Iterator[tuple[int, int]]:
    """Cut the terms into stretches of not many more than a few million postings."""
    first, n_terms = 0, len(starts) - 1
    while first < n_terms:
        last = int(np.searchsorted(starts, starts[first] + _ENTRIES, "right")) - 1
        last = min(max(last, first + 1), n_terms)
        yield first, last
        first = last
