"""Build steps in order: count, invert, fit, embed, train classifiers.

No database and no files of its own: what a step gives is kept by the workspace of the build, in
memory or in files, and a step that an earlier run finished is not worked out again.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.indexes.counting import Counted
from lpisearch.indexes.projecting import Samples
from lpisearch.indexes.steps import EMBEDDING, Corpus, Steps
from lpisearch.indexes.turning import turn_around
from lpisearch.indexes.workspace import MemoryWorkspace
from lpisearch.terms.weighting import Weighting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.indexes.stages import Stages
    from lpisearch.indexes.workspace import Workspace
    from lpisearch.settings import IndexSpec
    from lpisearch.terms.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Fitted:
    """A subspace, and the documents in it.

    Attributes
    ----------
    keys, hashes
        Of each document: its key in the store, and its content hash (documents x bytes).
    vocabulary, weighting
        How tokens become a row of weights.
    arrays
        Of the terms, the map, the postings, the documents and the classifier, by their names in
        an index.
    map_facts
        dims, alpha, components, isolated, learned_from, notes, graph_recall, placement.
    unknown_rate
        Share of the corpus' words that have no column.
    classifier
        What is to be said of what was learned from the labels; None without labels.
    """

    keys: NDArray[np.int64]
    hashes: NDArray[np.uint8]
    vocabulary: Vocabulary
    weighting: Weighting
    arrays: dict[str, NDArray[Any]]
    map_facts: dict[str, Any]
    unknown_rate: float
    classifier: dict[str, Any] | None


def fit_subspace(
    corpus: Corpus,
    options: IndexSpec,
    stages: Stages,
    workspace: Workspace | None = None,
    samples: Samples = Samples(),  # noqa: B008 (it cannot be changed)
) -> Fitted:
    """Learn vocabulary, weighting and projection, and place the documents.

    Parameters
    ----------
    corpus
        The documents.
    options
        What is to be built.
    stages
        Times what is done.
    workspace
        Keeps what is done; memory, if not given.
    samples
        From how many documents is learned at most.

    Raises
    ------
    NothingToIndex
        The documents do not tell anything apart.
    """
    build = Steps(corpus, options, stages, workspace or MemoryWorkspace(), samples)
    kept = build.step("counting terms", build.count)
    counted = Counted.of_kept(kept)
    vocabulary, stays = counted.vocabulary()
    turned = build.step(
        "writing postings", lambda room: turn_around(counted, vocabulary.index, room)
    )
    with stages.stage("weighting"):
        known = counted.known_words(stays)
        factors, n_documents = counted.factors[stays], len(counted.keys)
        frequencies, mean = vocabulary.document_frequencies, known / max(n_documents, 1)
        weighting = Weighting.of_frequencies(
            frequencies, n_documents, mean, options.weighting, factors
        )
        rows = build.weighed(counted, stays, weighting)
    learned = build.keep("map", lambda room: build.learn(rows, counted.keys, room))
    placed = build.step("embedding documents", lambda room: build.place(rows, learned, room))
    labelled = build.keep("labels", lambda room: build.classify(rows, turned, counted.keys, room))
    facts = learned.facts
    if "note" in kept.facts:
        facts = facts | {"notes": [*facts["notes"], kept.facts["note"]]}
    of_terms = _of_terms(vocabulary, weighting, factors)
    documents: dict[str, NDArray[Any]] = {
        "document_rows": counted.keys,
        "content_hashes": counted.hashes,
    }
    of_map = {name: each for name, each in learned.arrays.items() if name != EMBEDDING}
    return Fitted(
        counted.keys,
        counted.hashes,
        vocabulary,
        weighting,
        documents | of_terms | of_map | turned.arrays | placed.arrays | labelled.arrays,
        facts,
        1 - known / max(counted.words, 1),
        labelled.facts["classifier"],
    )


def _of_terms(
    vocabulary: Vocabulary, weighting: Weighting, factors: NDArray[np.float32]
) -> dict[str, NDArray[Any]]:
    """Return what is stored of the terms with a column."""
    return {
        "terms": np.frombuffer(vocabulary.terms_as_bytes(), np.uint8),
        "document_frequencies": vocabulary.document_frequencies,
        "idf": weighting.idf,
        "term_factors": factors,
    }


def library_versions() -> dict[str, str]:
    """Return the versions of what computes an index."""
    return {name: version(name) for name in ("lpisearch", "numpy", "scipy", "scikit-learn")}
