"""Documents to a subspace: count, weigh, link neighbours, project. No database and no files."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

from lpisearch.errors import NothingToIndex
from lpisearch.indexes.projecting import Known, fit_projection, rows_of_pairs
from lpisearch.indexes.rebuild import rebuild_command
from lpisearch.messages import Message, call

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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
    pairs
        "must" or "cannot", and the keys of two documents.
    ids
        Of the documents in pairs, by key.
    """

    shards: Iterable[Sequence[str]]
    rows: list[int]
    hashes: list[bytes]
    labels: dict[int, list[str]]
    splits: dict[int, str]
    tokeniser: dict[str, Any]
    snapshot: Snapshot
    pairs: Sequence[tuple[str, int, int]] = ()
    ids: Mapping[int, str] = field(default_factory=dict)


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
    pairs = rows_of_pairs(corpus.pairs, corpus.rows, corpus.ids)
    projection, learned_from, notes = fit_projection(X, Known(learned, pairs), options, stages)
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
