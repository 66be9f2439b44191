"""How well the cosine tells documents of one topic from others (olpi-2005, sections 5.2 and 5.3).

Documents come in as rows (the paper writes columns), dense or sparse, with a label each; out come
figures between 0 and 1. Rows are brought to unit length in double precision; a row of zeros has
the cosine 0 with every document. Cosines are rounded to steps of 2^-22, far above the rounding of
double precision and below that of single precision: documents that are equal tie, and neither
their order nor the blocks in which they are multiplied changes a figure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from lpisearch.compute.rows import row_lengths
from lpisearch.evaluation.measures.labelling import Labelling, as_matrix
from lpisearch.evaluation.measures.pairs import STEPS, count_pairs, grid_steps, sample_pairs
from lpisearch.graphs.cosines import map_cosines
from lpisearch.projections.base import check_count, generator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.evaluation.measures.labelling import Labels
    from lpisearch.graphs.affinity import Floats, Matrix

    Whole = NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class PairPrecision:
    """Average precision over pairs of documents.

    Attributes
    ----------
    precision
        The average precision.
    pairs, intra_pairs
        Pairs of labelled documents that were ranked, and those that share a label.
    documents, unlabelled
        Documents that took part, and those left out because they have no label.
    sampled
        Whether only a sample of all pairs was ranked.
    low, high
        95 % interval of the precision over all pairs; both equal it if all were ranked.
    """

    precision: float
    pairs: int
    intra_pairs: int
    documents: int
    unlabelled: int
    sampled: bool
    low: float
    high: float


def pair_precision(
    Y: Any,
    labels: Labels,
    *,
    most_documents: int = 20_000,
    sample: int = 20_000_000,
    random_state: Any = 0,
) -> PairPrecision:
    """Rank all pairs of documents by cosine; give the average precision of those of one topic.

    A pair is relevant if the two share a label. The precision at a pair counts all pairs with a
    cosine at least as high, so ties do not depend on the order of the documents. With up to
    `most_documents` labelled documents every pair counts: two histograms over the grid of
    cosines, of all pairs and of the relevant ones, hold all that the measure needs.

    Beyond that, pairs are sampled. The documents are put in a random order, on a circle; the
    pairs at one distance on it are one draw, in which each document takes part twice. Distances
    are drawn without replacement until there are `sample` pairs. Every pair is as likely as every
    other, so both histograms are unbiased, and the precision is that of the pooled histograms.
    The interval is Student's t over the precisions of 20 parts of the draws.

    Parameters
    ----------
    Y
        Documents x dimensions, dense or sparse; zeros and negative values are fine.
    labels
        One for each document, or a list of them; documents without are left out.
    most_documents
        With more labelled documents than this, pairs are sampled.
    sample
        How many pairs are drawn then, about.
    random_state
        Of the sample.

    Returns
    -------
    PairPrecision
        The precision, its interval, and what was counted.

    Raises
    ------
    ValueError
        If no pair shares a label, or Y and labels do not fit.

    Examples
    --------
    >>> from lpisearch.evaluation import pair_precision
    >>> found = pair_precision([[1, 0], [2, 0], [1, 1], [0, 1]], ["a", "a", "b", "b"])
    >>> found.precision, found.pairs, found.intra_pairs
    (0.75, 6, 2)
    """
    check_count("most_documents", most_documents)
    check_count("sample", sample)
    unit, known = _labelled(Y, labels)
    n = len(known.rows)
    if known.flags.sum(axis=0).max() == 1:
        raise ValueError("No two documents share a label, so no pair is relevant.")
    sampled = n > max(most_documents, 2)  # two documents are one pair
    counted = sample_pairs(unit, known, sample, generator(random_state)) if sampled else None
    pooled, low, high = counted or (count_pairs(unit, known), None, None)
    precision = pooled.precision()
    return PairPrecision(
        precision=precision,
        pairs=int(pooled.every.sum()),
        intra_pairs=int(pooled.intra.sum()),
        documents=n,
        unlabelled=len(labels) - n,
        sampled=sampled,
        low=precision if low is None else low,
        high=precision if high is None else high,
    )


def average_accuracy(Y: Any, labels: Labels) -> float:
    """Give the share of documents of the own class among the nearest, averaged over documents.

    As section 5.3 has it: a document of a class of p documents is given its p nearest neighbours
    by cosine; its accuracy is the number of those with its label, divided by p. A document is no
    neighbour of itself. Of the p neighbours p - 1 at most can share the label: a representation
    without fault reaches 1 - classes / documents, and a document alone in its class counts 0.
    If there are fewer than p other documents, all of them are its neighbours.

    Of several documents at the same cosine where the p nearest end, each counts in part: as much
    as it would on average over all orders. With several labels a document, p is the number of
    documents that share one with it, itself included.

    Parameters
    ----------
    Y
        Documents x dimensions, dense or sparse.
    labels
        One for each document, or a list of them; documents without are left out.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If no document has a label, or Y and labels do not fit.

    Examples
    --------
    >>> from lpisearch.evaluation import average_accuracy
    >>> average_accuracy([[1, 0], [2, 0], [1, 1], [0, 1]], ["a", "a", "b", "b"])
    0.4583333333333333
    """
    return float(np.mean(document_accuracies(Y, labels)))


def document_accuracies(Y: Any, labels: Labels) -> Floats:
    """Give what `average_accuracy` is the mean of: a value for each labelled document.

    Parameters
    ----------
    Y
        Documents x dimensions, dense or sparse.
    labels
        One for each document, or a list of them; documents without are left out.

    Returns
    -------
    array
        Each between 0 and 1, in the order of the documents.

    Raises
    ------
    ValueError
        If no document has a label, or Y and labels do not fit.
    """
    unit, known = _labelled(Y, labels)
    sizes = known.companions()

    def relevant(cosines: Floats, start: int) -> Floats:
        stop = start + len(cosines)
        steps = grid_steps(cosines)
        steps[np.arange(len(steps)), np.arange(start, stop)] = -2 * STEPS  # behind all others
        return _relevant_nearest(steps, known.shared(slice(start, stop), slice(None)),
                                 sizes[start:stop])  # fmt: skip

    found = np.concatenate(map_cosines(unit, relevant))
    accuracies: Floats = found / sizes
    return accuracies


def _labelled(Y: Any, labels: Labels) -> tuple[Matrix, Labelling]:
    """Take the rows that have a label, at unit length in double precision."""
    documents: Any = as_matrix(Y)
    is_sparse: bool = sparse.issparse(documents)
    if documents.ndim != 2 or documents.shape[0] != len(labels):  # noqa: PLR2004 -- a matrix
        raise ValueError(f"Y has the shape {documents.shape}, but there are {len(labels)} labels.")
    known = Labelling.of(labels)
    documents = documents[known.rows].astype(np.float64)
    if not np.isfinite(documents.data if is_sparse else documents).all():
        raise ValueError("Y has values that are not finite.")
    lengths = row_lengths(documents)
    scale = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    if is_sparse:
        return sparse.csr_array(sparse.diags_array(scale) @ documents), known
    return documents * scale[:, np.newaxis], known


def _relevant_nearest(steps: Whole, relevant: NDArray[np.bool_], sizes: Whole) -> Floats:
    """Count, for each row, the relevant documents among its nearest, as many as its size."""
    others = steps.shape[1] - 1
    last = np.empty(len(steps), dtype=steps.dtype)
    for size in np.unique(sizes):
        rows = np.flatnonzero(sizes == size)
        place = steps.shape[1] - min(int(size), max(others, 1))
        last[rows] = np.partition(steps[rows], place, axis=1)[:, place]
    nearer, level = steps > last[:, np.newaxis], steps == last[:, np.newaxis]
    missing = np.minimum(sizes, others) - nearer.sum(axis=1)
    share = missing / level.sum(axis=1)
    return np.asarray((nearer & relevant).sum(axis=1) + share * (level & relevant).sum(axis=1))
