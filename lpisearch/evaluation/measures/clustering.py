"""Clusters of documents, and how well they agree with the classes (rlpi-2007, section 4.1).

Documents come in as rows (the papers write columns). Each needs at most one label, as in the
papers; documents without a label are left out of the measures.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from lpisearch.compute.agreement import normalised_information
from lpisearch.evaluation.measures.labelling import Labelling, as_list, as_matrix
from lpisearch.projections.base import check_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.evaluation.measures.labelling import Labels

    Whole = NDArray[np.integer[Any]]
    Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Clustering:
    """What k-means found.

    Attributes
    ----------
    assignments
        The number of each document's cluster, from 0.
    objective
        The sum of squared distances of the documents from the centres of their clusters.
    seconds
        How long all starts took together.
    """

    assignments: Whole
    objective: float
    seconds: float


def clustering_accuracy(labels: Labels, clusters: Labels) -> float:
    """Give AC: the share of documents in the right class when clusters are matched to classes.

    The matching is the best there is, one class to a cluster. With more clusters than classes
    some clusters have no class, and their documents count as wrong; likewise the other way round.

    Parameters
    ----------
    labels
        One for each document; documents without are left out.
    clusters
        The name of each document's cluster.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If a document has several labels, none has one, or the lengths differ.

    Examples
    --------
    >>> from lpisearch.evaluation import clustering_accuracy
    >>> clustering_accuracy(["a", "a", "b", "b"], [1, 1, 0, 1])
    0.75
    """
    table = _table(labels, clusters)
    return float(table[linear_sum_assignment(table, maximize=True)].sum() / table.sum())


def clustering_hits(labels: Labels, clusters: Labels) -> list[bool]:
    """Tell of each labelled document whether it is in the right cluster.

    Parameters
    ----------
    labels
        One for each document; documents without are left out.
    clusters
        The name of each document's cluster.

    Returns
    -------
    list of bool
        `clustering_accuracy` is the share of true ones.

    Raises
    ------
    ValueError
        If a document has several labels, none has one, or the lengths differ.

    Examples
    --------
    >>> from lpisearch.evaluation import clustering_hits
    >>> clustering_hits(["a", "a", "b", "b"], [1, 1, 0, 1])
    [True, True, True, False]
    """
    groups, classes = _numbered(labels, clusters)
    best = linear_sum_assignment(_counts(groups, classes), maximize=True)
    right = {(int(group), int(own)) for group, own in zip(*best, strict=True)}
    return [pair in right for pair in zip(groups.tolist(), classes.tolist(), strict=True)]


def mutual_information(labels: Labels, clusters: Labels) -> float:
    """Give the mutual information of classes and clusters over the larger of their entropies.

    It is 1 where they are the same but for names (also if all documents are in one class and one
    cluster) and 0 where they are independent.

    Parameters
    ----------
    labels
        One for each document; documents without are left out.
    clusters
        The name of each document's cluster.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If a document has several labels, none has one, or the lengths differ.

    Examples
    --------
    >>> from lpisearch.evaluation import mutual_information
    >>> mutual_information(["a", "a", "b", "b"], [1, 1, 0, 0])
    1.0
    >>> mutual_information(["a", "a", "b", "b"], [0, 1, 0, 1])
    0.0
    """
    return normalised_information(_table(labels, clusters))


def cluster_documents(
    Y: Any, n_clusters: int, *, starts: int = 10, init: str = "k-means++", random_state: Any = 0
) -> Clustering:
    """Cluster documents by k-means; of several starts, keep the one with the best objective.

    Distances are Euclidean and rows are taken as they are: bring them to unit length first where
    only their direction matters. With fewer distinct documents than clusters, some clusters stay
    empty.

    Parameters
    ----------
    Y
        Documents x dimensions, dense or sparse.
    n_clusters
        How many clusters there are.
    starts
        How many starts there are, from different centres.
    init
        How centres are drawn: "k-means++", or "random" as in the papers.
    random_state
        Of the starts.

    Returns
    -------
    Clustering
        The cluster of each document, the objective and the time.

    Raises
    ------
    ValueError
        If there are fewer documents than clusters.

    Examples
    --------
    >>> from lpisearch.evaluation import cluster_documents
    >>> found = cluster_documents([[0.0], [0.2], [5.0]], 2)
    >>> len(set(found.assignments[:2].tolist())), len(set(found.assignments.tolist()))
    (1, 2)
    >>> round(found.objective, 6)
    0.02
    """
    check_count("n_clusters", n_clusters)
    check_count("starts", starts)
    Y = as_matrix(Y)
    if Y.shape[0] < n_clusters:
        raise ValueError(f"{Y.shape[0]} documents cannot form {n_clusters} clusters.")
    begin = time.perf_counter()
    model = KMeans(n_clusters, n_init=starts, init=init, random_state=random_state)
    with warnings.catch_warnings():
        # Fewer distinct documents than clusters: a rule stated above, not a surprise.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(Y)
    seconds = time.perf_counter() - begin
    return Clustering(np.asarray(model.labels_), float(model.inertia_), seconds)


def _table(labels: Labels, clusters: Labels) -> Whole:
    """Count the documents of each cluster (rows) in each class (columns)."""
    return _counts(*_numbered(labels, clusters))


def _numbered(labels: Labels, clusters: Labels) -> tuple[Whole, Whole]:
    """Return the number of the cluster and of the class of each labelled document."""
    if len(labels) != len(clusters):
        raise ValueError(f"There are {len(labels)} labels, but {len(clusters)} documents.")
    known = Labelling.of(labels)
    classes = known.single("The comparison with clusters")
    found = as_list(clusters)
    numbers = {name: number for number, name in enumerate(dict.fromkeys(found))}
    return np.array([numbers[found[row]] for row in known.rows]), classes


def _counts(groups: Whole, classes: Whole) -> Whole:
    table = np.zeros((int(groups.max()) + 1, int(classes.max()) + 1), dtype=np.int64)
    np.add.at(table, (groups, classes), 1)
    return table
