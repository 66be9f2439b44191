"""Steps of a build, packed rows.

No database and no files of its own: what a step gives is kept by the workspace of the build, in
memory or in files, and a step that an earlier run finished is not worked out again.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from importlib.metadata import version
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from lpisearch.classifiers.trainer import LIMITS
from lpisearch.errors import NothingToIndex
from lpisearch.index.checkpoint import MemoryWorkspace, StepResult
from lpisearch.index.inversion import Counted, count_tokens, invert
from lpisearch.index.partitions import count_partitions
from lpisearch.index.projection import Known, Samples, fit_projection, rows_of_pairs
from lpisearch.index.status import rebuild_command
from lpisearch.index.subspace import place_arrays
from lpisearch.numeric.executor import is_remote, map_parts
from lpisearch.numeric.packed_rows import PackedRows, scales_of
from lpisearch.numeric.row_blocks import BLOCK_ROWS, LazyRows, MatrixBlocks, map_blocks, whole
from lpisearch.numeric.row_files import release_pages
from lpisearch.text.weighting import Weighting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from lpisearch.index.checkpoint import FileStepOutput, Stages, StepOutput, Workspace
    from lpisearch.index.partitions import Partitions
    from lpisearch.index.projection import Projected
    from lpisearch.model.documents import TokenShard
    from lpisearch.numeric.row_blocks import RowBlocks, RowTarget
    from lpisearch.options import IndexSpec
    from lpisearch.storage.store import ReadTransaction
    from lpisearch.text.vocabulary import Vocabulary


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
    """Learn vocabulary, weighting and projection, and place the documents."""
    build = Steps(corpus, options, stages, workspace or MemoryWorkspace(), samples)
    kept = build.step("counting terms", build.count)
    counted = Counted.from_step(kept)
    vocabulary, stays = counted.vocabulary()
    turned = build.step(
        "writing postings", lambda output: invert(counted, vocabulary.index, output)
    )
    with stages.stage("weighting"):
        known = counted.known_words(stays)
        factors, n_documents = counted.factors[stays], len(counted.keys)
        frequencies, mean = vocabulary.document_frequencies, known / max(n_documents, 1)
        weighting = Weighting.of_frequencies(
            frequencies, n_documents, mean, options.weighting, factors
        )
        rows = build.weighed(counted, stays, weighting)
    learned = build.keep("map", lambda output: build.learn(rows, counted.keys, output))
    placed = build.step("embedding documents", lambda output: build.place(rows, learned, output))
    labelled = build.keep(
        "labels", lambda output: build.classify(rows, turned, counted.keys, output)
    )
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


# Where a method without a linear map has put the documents: it is not part of the index.
EMBEDDING = "fitted_places"
_UNPACKED = "unpacked_places"  # on the way to the packed ones of a large library


@dataclass(frozen=True, slots=True)
class Corpus:
    """The documents to learn from.

    Attributes
    ----------
    shards
        Keys, content hashes and tokens of all documents; read once.
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
    partitions
        How other processes read the documents; None if they cannot.
    """

    shards: Iterable[TokenShard]
    labels: dict[int, list[str]]
    splits: dict[int, str]
    tokeniser: dict[str, Any]
    snapshot: ReadTransaction
    pairs: Sequence[tuple[str, int, int]] = ()
    ids: Mapping[int, str] = field(default_factory=dict)
    partitions: Partitions | None = None


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of one build, each kept by its workspace."""

    corpus: Corpus
    options: IndexSpec
    stages: Stages
    workspace: Workspace
    samples: Samples

    def step(self, name: str, work: Callable[[StepOutput], StepResult]) -> StepResult:
        """Keep what a step gives, timed as a stage of the same name."""

        def timed(output: StepOutput) -> StepResult:
            with self.stages.stage(name):
                return work(output)

        return self.workspace.run(name, timed)

    def keep(self, name: str, work: Callable[[StepOutput], StepResult]) -> StepResult:
        """Keep what a step gives, which times its own stages."""
        return self.workspace.run(name, work)

    def count(self, output: StepOutput) -> StepResult:
        """Count all tokens: in other processes where those work, and read the library too."""
        partitions = self.corpus.partitions
        if partitions is None or not is_remote() or not hasattr(output, "folder"):
            return count_tokens(self.corpus.shards, output)
        return count_partitions(
            partitions, self.corpus.snapshot, cast("FileStepOutput", output), self.stages.on_step
        )

    def weighed(
        self, counted: Counted, stays: NDArray[np.bool_], weighting: Weighting
    ) -> RowBlocks:
        """Return weighted rows: worked out once in memory, or each time they are read."""
        rows = counted.weighed(stays, weighting)
        return MatrixBlocks(whole(rows)) if isinstance(self.workspace, MemoryWorkspace) else rows

    def learn(self, rows: RowBlocks, keys: NDArray[np.int64], output: StepOutput) -> StepResult:
        """Learn the map, or what places documents by a rule."""
        corpus, options = self.corpus, self.options
        numbers = keys.tolist()
        learns_labels = options.labels == "use"
        labels = [corpus.labels.get(key, []) for key in numbers] if learns_labels else None
        pairs = rows_of_pairs(corpus.pairs, numbers, corpus.ids)
        found = fit_projection(rows, Known(labels, pairs), options, self.stages, self.samples.map)
        for name, array in _map_arrays(found.projection).items():
            output.put(name, array)
        return StepResult(facts=_map_facts(found))

    def place(self, rows: RowBlocks, learned: StepResult, output: StepOutput) -> StepResult:
        """Write where the documents are: a method without a linear map knows it already."""
        from lpisearch.index import subspace

        scales = np.asarray(learned.arrays["scales"])
        shape = (rows.shape[0], len(scales))
        packs = shape[0] >= subspace.PACKED_FROM
        target = output.target(_UNPACKED if packs else "vectors", shape, np.float32)
        if EMBEDDING in learned.arrays:
            places = _scaled(learned.arrays[EMBEDDING], scales)
            target.write(0, places)
            said = iter([_Said.of(places)])
        else:
            loadings = learned.arrays["loadings"]  # from a file: whoever works maps it, too
            said = map_blocks(_Place(loadings, scales, target), rows)
        self._refuse_alike(list(said))
        if packs:
            pack_places(target, output)
            output.drop(_UNPACKED)
        return StepResult()

    def classify(
        self, rows: RowBlocks, turned: StepResult, keys: NDArray[np.int64], output: StepOutput
    ) -> StepResult:
        """Learn the labels."""
        from lpisearch.classifiers.trainer import learn_classifier

        numbers = keys.tolist()
        labels = [self.corpus.labels.get(key, []) for key in numbers]
        splits = [self.corpus.splits.get(key, "") for key in numbers]
        X: Any = (
            rows.matrix
            if isinstance(rows, MatrixBlocks)
            else LazyRows(rows, np.asarray(turned.arrays["distinct_terms"]))
        )
        limits = replace(LIMITS, documents=self.samples.labels)
        learned = learn_classifier(
            X, labels, splits, self.options, self.stages.stage, limits=limits
        )
        for name, array in learned.arrays.items():
            output.put(name, array)
        return StepResult(facts={"classifier": learned.facts})

    def _refuse_alike(self, said: Sequence[_Said]) -> None:
        """Refuse places that tell nothing apart."""
        if not any(each.any for each in said) or not all(each.finite for each in said):
            raise NothingToIndex(
                "The model's numbers are too small or too large to distinguish documents.",
                rebuild_command(replace(self.options, alpha=None)),
            )


class _Said(NamedTuple):
    """Whether any of some places is not zero, and all are numbers."""

    any: bool
    finite: bool

    @classmethod
    def of(cls, places: NDArray[np.float32]) -> _Said:
        return cls(bool(places.any()), bool(np.isfinite(places).all()))


@dataclass(frozen=True, eq=False, slots=True)
class _Place:
    """Writes the vectors of weighted rows."""

    loadings: NDArray[np.floating[Any]]
    scales: NDArray[np.floating[Any]]
    target: RowTarget

    def __call__(self, block: csr_array, start: int) -> _Said:
        places = _scaled(block @ self.loadings.astype(block.dtype, copy=False), self.scales)
        self.target.write(start, places)
        return _Said.of(places)


def _scaled(places: Any, scales: Any) -> NDArray[np.float32]:
    from lpisearch.index.subspace import scaled_rows

    return scaled_rows(places, scales)


def _map_arrays(projection: Any) -> dict[str, Any]:
    """Return what places a document: the loadings of a linear map, or what its rule takes."""
    from lpisearch.index.format import PLACEMENT
    from lpisearch.methods.base import Embedding

    spectrum = projection.eigenvalues_
    arrays = {"scales": projection.scales_}
    arrays |= {} if spectrum is None else {"eigenvalues": spectrum}
    if isinstance(projection, Embedding):
        placement = projection.placement_arrays()
        arrays[EMBEDDING] = projection.embedding_
        return arrays | {PLACEMENT + name: array for name, array in placement.items()}
    return arrays | {"loadings": projection.components_.T}


def _map_facts(found: Projected) -> dict[str, Any]:
    """Return what is to be said of a map."""
    projection = found.projection
    alpha = projection.alpha_
    return {
        "dims": projection.n_components_,
        "alpha": None if alpha is None else float(alpha),
        "components": projection.n_graph_components_,
        "isolated": projection.n_isolated_,
        "learned_from": found.learned_from,
        "graph_recall": found.recall,
        "notes": list(found.notes),
        "placement": projection.placement,
    }


_KIND = np.int16


def pack_places(unpacked: RowTarget, output: StepOutput) -> None:
    """Write the arrays of places that were written as they are, as `PackedRows.pack` has them."""
    rows = unpacked.array()
    scales = scales_of(rows)
    release_pages(rows)
    codes = output.target("vectors", rows.shape, _KIND)
    steps = output.target("vector_steps", (len(rows),), np.float32)
    starts = [*range(0, len(rows), BLOCK_ROWS), len(rows)]
    for _ in map_parts(_Pack(unpacked, scales, codes, steps), pairwise(starts)):
        pass
    packed = PackedRows(codes.array(), steps.array(), scales)
    for name, array in place_arrays(packed).items():
        if name not in {"vectors", "vector_steps"}:
            output.put(name, array)


@dataclass(frozen=True, eq=False, slots=True)
class _Pack:
    """Packs the rows from one to before another."""

    unpacked: RowTarget
    scales: NDArray[np.float32]
    codes: RowTarget
    steps: RowTarget

    def __call__(self, part: tuple[int, int]) -> None:
        start, stop = part
        rows: NDArray[Any] = self.unpacked.array()[start:stop]
        packed = PackedRows.pack(rows, _KIND, self.scales)
        self.codes.write(start, packed.codes)
        self.steps.write(start, np.asarray(packed.steps))
