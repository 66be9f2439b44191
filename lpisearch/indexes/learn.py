"""Documents to a subspace: count, weigh, link neighbours, project. No database and no files."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from importlib.metadata import version
from math import sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

from lpisearch.errors import BadOption, NothingToIndex
from lpisearch.indexes.rebuild import rebuild_command
from lpisearch.messages import Message, call
from lpisearch.projections.catalogue import CATALOGUE
from lpisearch.projections.methods import MethodOptions, make_method
from lpisearch.wording import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractContextManager

    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from lpisearch.classifiers.training import Learned
    from lpisearch.indexes.postings import Postings
    from lpisearch.indexes.stages import Stages
    from lpisearch.projections.base import DocumentTransformer
    from lpisearch.settings import IndexSpec
    from lpisearch.storage import Snapshot
    from lpisearch.terms.vocabulary import Vocabulary
    from lpisearch.terms.weighting import Weighting

_LABEL_CHOICES = ("ignore", "use")
_AUTO = "auto"
_ONE_THREAD_DOCUMENTS = 2000
# Between a whole library's documents and short queries, a little less than the estimators' 2 was
# measured to be better everywhere: docs/ranking.md.
_EIGENVALUE_POWER = 1.5
_LARGEST_SEED = 2**32 - 1
_LARGEST_ALPHA = 1e30  # beyond it float32 cannot hold what is left of the map


@dataclass(frozen=True, slots=True)
class Corpus:
    """The documents to learn from.

    Attributes
    ----------
    shards
        Lists of joined tokens, in the order of `rows`; read once.
    rows, hashes
        Keys and content hashes, filled while the shards are read.
    labels, splits
        Of each document that has any, by key.
    tokeniser
        The settings that made the tokens.
    snapshot
        To all else that the library has of them.
    """

    shards: Iterable[Sequence[str]]
    rows: list[int]
    hashes: list[bytes]
    labels: dict[int, list[str]]
    splits: dict[int, str]
    tokeniser: dict[str, Any]
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class Fitted:
    """A subspace, and the documents in it.

    Attributes
    ----------
    vocabulary, weighting
        How tokens become a row of weights.
    factors
        Of each term: below 1 for boilerplate. The weighting has them already.
    projection
        The fitted estimator.
    vectors
        Documents as rows, scaled and at unit length.
    learned_from
        How many documents the map was learned from.
    unknown_rate
        Share of the corpus' words that have no column.
    classifier
        What was learned from the labels.
    postings
        The documents of every term, rare ones too.
    notes
        What is to be known of the map: an iteration that ended too early.
    """

    vocabulary: Vocabulary
    weighting: Weighting
    factors: NDArray[np.float32]
    projection: DocumentTransformer
    vectors: NDArray[np.float32]
    learned_from: int
    unknown_rate: float
    classifier: Learned
    postings: Postings
    notes: tuple[str, ...]


def check_options(options: IndexSpec) -> None:
    """Refuse options that cannot work, before anything is read.

    Raises
    ------
    BadOption
    """
    from lpisearch.terms.weighting import weighting_scheme

    if options.method not in CATALOGUE:
        hint = nearest(options.method, CATALOGUE)
        raise BadOption("method", f"there is no method “{options.method}”{hint}", CATALOGUE)
    method = CATALOGUE[options.method]
    if options.labels not in _LABEL_CHOICES:
        raise BadOption("labels", f"“{options.labels}” is not a choice", _LABEL_CHOICES)
    if options.dims is not None and options.dims < 1:
        raise BadOption("dims", f"{options.dims} is not a number of dimensions")
    if options.neighbours < 1:
        raise BadOption("neighbours", f"{options.neighbours} is not a number of neighbours")
    if options.alpha is not None and not 0 <= options.alpha <= _LARGEST_ALPHA:
        raise BadOption("alpha", f"{options.alpha} is not a number from 0 to {_LARGEST_ALPHA:g}")
    if options.alpha is not None and "alpha" not in method.parameters:
        raise BadOption("alpha", f"{options.method} has no α")
    _check_graph(options)
    if options.labels == "use" and not method.has_graph:
        raise BadOption("labels", f"{options.method} takes no notice of labels")
    if not 0 <= options.seed <= _LARGEST_SEED:
        raise BadOption("seed", f"{options.seed} is not between 0 and {_LARGEST_SEED}")
    weighting_scheme(options.weighting)


def _check_graph(options: IndexSpec) -> None:
    from lpisearch.graphs.registry import GRAPHS

    if options.radius is not None and not 0 < options.radius <= sqrt(2):
        raise BadOption("radius", f"{options.radius} is not above 0 and at most √2")
    if options.graph == _AUTO:
        return
    if options.graph not in GRAPHS:
        hint = nearest(options.graph, GRAPHS)
        raise BadOption("graph", f"there is no graph “{options.graph}”{hint}", [_AUTO, *GRAPHS])
    if not CATALOGUE[options.method].has_graph:
        raise BadOption("graph", f"{options.method} has no graph")
    if GRAPHS[options.graph].needs_labels != (options.labels == "use"):
        needs, instead = "takes no notice of labels", "ignore"
        if options.labels == "ignore":
            needs, instead = "is built from labels", "use"
        error = BadOption("graph", f"{options.graph} {needs}")
        error.next_step = call("index", graph=options.graph, labels=instead)
        raise error


def fit_subspace(corpus: Corpus, options: IndexSpec, stages: Stages) -> Fitted:
    """Learn vocabulary, weighting and projection, and place the documents.

    Raises
    ------
    NothingToIndex
        The documents do not tell anything apart.
    """
    from lpisearch.classifiers.training import learn_classifier
    from lpisearch.terms.weighting import Weighting, normalise_rows

    with stages.stage("counting terms"):
        counted, counts = _count(corpus)
    with stages.stage("weighting"):
        weighting = Weighting.fit(counts, options.weighting, factors=counted.factors)
        X = normalise_rows(weighting.apply(counts))
        del counts
    labels = [corpus.labels.get(row, []) for row in corpus.rows]
    splits = [corpus.splits.get(row, "") for row in corpus.rows]
    learned = labels if options.labels == "use" else None
    projection, learned_from, notes = _fit_projection(X, learned, options, stages)
    with stages.stage("placing documents"):
        vectors = _vectors(projection, X, options)
    return Fitted(
        counted.vocabulary,
        weighting,
        counted.factors,
        projection,
        vectors,
        learned_from,
        counted.unknown_rate,
        learn_classifier(X, labels, splits, options, stages.stage),
        counted.postings,
        notes,
    )


class _Counted(NamedTuple):
    """What counting gives: the columns of the subspace, and the postings of every term."""

    vocabulary: Vocabulary
    factors: NDArray[np.float32]
    postings: Postings
    unknown_rate: float


def _count(corpus: Corpus) -> tuple[_Counted, csr_array]:
    """Count the terms of all documents; the counts are of those with a column alone."""
    from lpisearch.indexes.postings import Postings
    from lpisearch.terms.boilerplate import Edges
    from lpisearch.terms.counts import count_all_terms, narrow
    from lpisearch.terms.vocabulary import Vocabulary

    edges = Edges()
    terms, every = count_all_terms(edges.watch(corpus.shards))
    vocabulary, stays = Vocabulary.choose(terms, every.matrix)
    if not len(vocabulary):
        raise NothingToIndex(
            f"None of the {len(corpus.rows):,} documents has a word to index.",
            Message(call("entries"), "  (is their language set? ", call("status"), ")"),
        )
    postings = Postings.build(terms, every.matrix, every.lengths, vocabulary.index)
    counts = narrow(every.matrix, stays)
    words = int(every.lengths.sum())
    unknown = words - int(counts.sum(dtype=float))
    factors = edges.factors(terms, every)[stays]
    return _Counted(vocabulary, factors, postings, unknown / max(words, 1)), counts


def library_versions() -> dict[str, str]:
    """Return the versions of what computes an index."""
    return {name: version(name) for name in ("lpisearch", "numpy", "scipy", "scikit-learn")}


def _fit_projection(
    X: Any, labels: list[list[str]] | None, options: IndexSpec, stages: Stages
) -> tuple[DocumentTransformer, int, tuple[str, ...]]:
    from lpisearch.graphs import GRAPHS, GraphOptions
    from lpisearch.graphs.options import RADIUS
    from lpisearch.indexes.leaders import documents_to_learn_from
    from lpisearch.projections.base import NotConverged, Projection

    wanted = MethodOptions(
        options.dims, options.alpha, options.neighbours, options.seed, _EIGENVALUE_POWER
    )
    projection = make_method(options.method, wanted, X.shape[0])
    affinity = None
    try:
        if projection.about.has_graph and (labels is None or options.graph != _AUTO):
            graph = GRAPHS["nearest" if options.graph == _AUTO else options.graph]
            with stages.stage("linking neighbours"):
                if labels is None and isinstance(projection, Projection):  # it places the others
                    X = X[documents_to_learn_from(X, options.seed)]
                edges = GraphOptions(options.neighbours, options.radius or RADIUS)
                affinity = graph.build(X, labels, edges)
        with (
            stages.stage("projecting"),
            one_thread_if_small(X.shape[0]),
            warnings.catch_warnings(record=True) as said,
        ):
            warnings.simplefilter("ignore")  # what came out is in the report
            warnings.simplefilter("always", NotConverged)
            projection.fit(X, labels, affinity=affinity)
    except ValueError as error:
        raise NothingToIndex(
            f"No subspace can be learned from these documents: {error}",
            Message("add documents that differ, or ask for other options: ", call("help", "index")),
        ) from error
    return projection, X.shape[0], tuple(str(each.message) for each in said)


def one_thread_if_small(n_documents: int) -> AbstractContextManager[object]:
    """Keep small problems on one thread.

    BLAS threads wait for each other by spinning: on small matrices that brings nothing, and on
    a busy machine it was measured to cost twenty times the work itself.
    """
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(
        limits=1 if n_documents < _ONE_THREAD_DOCUMENTS else None
    )
    return limits


def _vectors(projection: DocumentTransformer, X: Any, options: IndexSpec) -> NDArray[np.float32]:
    """Return where the fitted documents are: a method without a linear map knows it already."""
    import numpy as np

    from lpisearch.indexes.index import scaled_rows
    from lpisearch.projections.embedding import Embedding

    fitted = projection.embedding_ if isinstance(projection, Embedding) else projection.transform(X)
    vectors = scaled_rows(fitted, projection.scales_)
    if not vectors.any() or not np.isfinite(vectors).all():
        raise NothingToIndex(
            "The numbers of this subspace are too small or too large to tell documents apart.",
            rebuild_command(replace(options, alpha=None)),
        )
    return vectors
