"""Cluster documents into topics and pick their typical terms.

In go the places of an index (documents as ROWS at unit length, leading dimensions first), its
eigenvalues and its postings; out come arrays. NumPy alone is needed. Of very many documents a
sample says where the centres are; then all are gone through, some at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.compute.k_means import nearest_centres, spherical_centres
from lpisearch.compute.rows import divided_by_lengths
from lpisearch.compute.stretches import largest, over_stretches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from lpisearch.compute.packed_rows import PackedRows
    from lpisearch.indexes.postings import Postings

    Floats = NDArray[np.floating[Any]]
    Whole = NDArray[np.integer[Any]]

NO_TOPIC = -1
LARGEST_ROOT = 50
SAMPLE = 100_000
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


def count_placed(vectors: PackedRows) -> int:
    """Count the documents that have a direction: those with a word that the index knows."""
    return int(np.count_nonzero(vectors.filled()))


def cluster(vectors: PackedRows, number: int, dims: int, seed: int) -> Clusters:
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
    placed = np.flatnonzero(vectors.filled())
    leading = vectors.leading(dims)
    some = placed
    if len(placed) > SAMPLE:
        some = np.sort(np.random.default_rng(seed).choice(placed, SAMPLE, replace=False))
    centres = spherical_centres(divided_by_lengths(leading.at(some)), number, seed)
    nearest_centre = _assigned(leading, placed, centres)
    sizes = np.bincount(nearest_centre, minlength=len(centres))
    order = np.argsort(-sizes, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    assignments = np.full(len(vectors), NO_TOPIC, np.int64)
    assignments[placed] = rank[nearest_centre]
    return Clusters(assignments, sizes[order][sizes[order] > 0])


def typical_documents(
    vectors: PackedRows, clusters: Clusters, count: int
) -> list[list[tuple[int, float]]]:
    """Return for each cluster its documents nearest to the centre, in all dimensions.

    Returns
    -------
    list
        (place, cosine) pairs for each cluster, nearest first.
    """
    assigned, number = clusters.assignments, len(clusters.sizes)
    totals = np.zeros((number, vectors.shape[1]))
    for part, rows in vectors.blocks(_BLOCK):
        belongs = assigned[part, np.newaxis] == np.arange(number)
        totals += belongs.T.astype(np.float32) @ rows
    centres = divided_by_lengths(totals).astype(np.float32)
    cosines = np.empty(len(assigned), np.float32)
    for part, rows in vectors.blocks(_BLOCK):
        cosines[part] = np.einsum("ij,ij->i", rows, centres[assigned[part]])
    typical = []
    for each in range(number):
        members = np.flatnonzero(assigned == each)
        own = cosines[members]
        near = np.sort(_with_ties(own, count))
        best = near[np.argsort(-own[near], kind="stable")][:count]
        typical.append([(int(members[at]), float(min(own[at], 1))) for at in best])
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
        counted = entries >= 0
        # By the place in the stretch: the columns of its terms lie anywhere.
        place = np.repeat(np.arange(last - first), np.diff(starts[first : last + 1]))[counted]
        cells = np.bincount(
            place * n_clusters + entries[counted], minlength=(last - first) * n_clusters
        ).reshape(-1, n_clusters)
        known = columns[first:last] >= 0
        counts[columns[first:last][known]] += cells[known].astype(np.int32)
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


def _assigned(vectors: PackedRows, placed: Whole, centres: Floats) -> Whole:
    """Return the nearest centre of each document that is placed."""
    found = np.empty(len(placed), np.int64)

    def assign(part: slice) -> None:
        for start in range(part.start, part.stop, _BLOCK):
            block = slice(start, min(start + _BLOCK, part.stop))
            found[block] = nearest_centres(divided_by_lengths(vectors.at(placed[block])), centres)

    over_stretches(len(placed), assign)
    return found


def _with_ties(values: NDArray[np.float32], count: int) -> Whole:
    """Return the places of the largest values, with all that tie with the least of them."""
    if not count:
        return np.empty(0, np.int64)
    return np.flatnonzero(values >= values[largest(values, count)].min())


def _stretches(starts: Whole) -> Iterator[tuple[int, int]]:
    """Cut the terms into stretches of not many more than a few million postings."""
    first, n_terms = 0, len(starts) - 1
    while first < n_terms:
        last = int(np.searchsorted(starts, starts[first] + _ENTRIES, "right")) - 1
        last = min(max(last, first + 1), n_terms)
        yield first, last
        first = last
