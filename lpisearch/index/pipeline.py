"""Steps from counted tokens to vectors, packed.

No step opens a database or chooses a file: its result goes to the workspace of the build, in memory
or in files, and a step that an earlier run finished is not repeated.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from importlib.metadata import version
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from lpisearch.classifiers.trainer import LIMITS, learn_classifier
from lpisearch.errors import NothingToIndex
from lpisearch.index.checkpoint import MemoryWorkspace, StepResult
from lpisearch.index.directory import rebuild_command
from lpisearch.index.inversion import Counted, count_tokens, invert
from lpisearch.index.partitions import Partitions, count_partitions
from lpisearch.index.projection import Samples, Supervision, fit_projection, rows_of_pairs
from lpisearch.index.subspace import scaled_rows, vector_arrays
from lpisearch.numeric.row_blocks import (
    BLOCK_ROWS,
    LazyRows,
    MatrixBlocks,
    is_remote,
    map_blocks,
    map_parts,
    whole,
)
from lpisearch.numeric.row_files import release_pages
from lpisearch.numeric.rows import PackedRows, scales_of
from lpisearch.text.vocabulary import Vocabulary, Weighting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from lpisearch.index.checkpoint import FileStepOutput, Stages, StepOutput, Workspace
    from lpisearch.model.documents import TokenShard
    from lpisearch.numeric.row_blocks import RowBlocks, RowTarget
    from lpisearch.options import IndexSpec
    from lpisearch.storage.store import ReadTransaction


# Where a method without a linear map has placed the documents; not part of the index.
EMBEDDING = "fitted_places"
_UNPACKED = "unpacked_places"  # an intermediate array of a large library


@dataclass(frozen=True, slots=True)
class Corpus:
    """The documents to learn from."""

    shards: Iterable[TokenShard]  # keys, content hashes and tokens; read once
    labels: dict[int, list[str]]  # by key
    splits: dict[int, str]  # by key
    tokeniser: dict[str, Any]
    snapshot: ReadTransaction
    pairs: Sequence[tuple[str, int, int]] = ()  # "must" or "cannot", and two keys
    ids: Mapping[int, str] = field(default_factory=dict)  # of the documents in pairs, by key
    partitions: Partitions | None = None  # None if other processes cannot read the documents


@dataclass(frozen=True, slots=True)
class FittedSubspace:
    """A subspace and the documents in it."""

    keys: NDArray[np.int64]
    hashes: NDArray[np.uint8]  # content hashes: documents x bytes
    vocabulary: Vocabulary
    weighting: Weighting
    arrays: dict[str, NDArray[Any]]  # by their names in an index
    map_facts: dict[str, Any]
    unknown_rate: float  # share of the words of the corpus without a column
    classifier: dict[str, Any] | None


def fit_subspace(
    corpus: Corpus,
    options: IndexSpec,
    stages: Stages,
    workspace: Workspace | None = None,
    samples: Samples = Samples(),  # noqa: B008 (immutable)
) -> FittedSubspace:
    """Learn vocabulary, weighting, map and classifier, and place the documents."""
    workspace = workspace or MemoryWorkspace()
    build = _Steps(corpus, options, stages, samples)

    def timed(stage: str, work: Callable[[StepOutput], StepResult]) -> StepResult:
        def work_in_stage(output: StepOutput) -> StepResult:
            with stages.stage(stage):
                return work(output)

        return workspace.run(stage, work_in_stage)

    counting = timed("counting terms", build.count)
    counted = Counted.from_step(counting)
    vocabulary, has_column = counted.vocabulary()
    postings = timed("writing postings", lambda output: invert(counted, vocabulary.index, output))
    with stages.stage("weighting"):
        known = counted.known_words(has_column)
        factors, n_documents = counted.factors[has_column], len(counted.keys)
        frequencies, mean = vocabulary.document_frequencies, known / max(n_documents, 1)
        weighting = Weighting.of_frequencies(
            frequencies, n_documents, mean, options.weighting, factors
        )
        rows = counted.weighted(has_column, weighting)
        if isinstance(workspace, MemoryWorkspace):  # otherwise recomputed whenever they are read
            rows = MatrixBlocks(whole(rows))
    learned = workspace.run("map", lambda output: build.learn(rows, counted.keys, output))
    vectors = timed("embedding documents", lambda output: build.embed(rows, learned, output))
    classifier = workspace.run(
        "labels", lambda output: build.classify(rows, postings, counted.keys, output)
    )
    facts = learned.facts
    if "note" in counting.facts:
        facts = facts | {"notes": [*facts["notes"], counting.facts["note"]]}
    arrays: dict[str, NDArray[Any]] = {
        "document_rows": counted.keys,
        "content_hashes": counted.hashes,
        "terms": np.frombuffer(vocabulary.terms_as_bytes(), np.uint8),
        "document_frequencies": vocabulary.document_frequencies,
        "idf": weighting.idf,
        "term_factors": factors,
    }
    for step in (learned, postings, vectors, classifier):
        arrays |= {name: array for name, array in step.arrays.items() if name != EMBEDDING}
    return FittedSubspace(
        counted.keys,
        counted.hashes,
        vocabulary,
        weighting,
        arrays,
        facts,
        1 - known / max(counted.words, 1),
        classifier.facts["classifier"],
    )


def library_versions() -> dict[str, str]:
    """Return the versions of the packages that compute an index."""
    return {name: version(name) for name in ("lpisearch", "numpy", "scipy", "scikit-learn")}


@dataclass(frozen=True, slots=True)
class _Steps:
    """The steps of one build."""

    corpus: Corpus
    options: IndexSpec
    stages: Stages
    samples: Samples

    def count(self, output: StepOutput) -> StepResult:
        """Count all tokens, in worker processes if they exist and can read the library."""
        partitions = self.corpus.partitions
        if partitions is None or not is_remote() or not hasattr(output, "folder"):
            return count_tokens(self.corpus.shards, output)
        return count_partitions(
            partitions, self.corpus.snapshot, cast("FileStepOutput", output), self.stages.on_step
        )

    def learn(self, rows: RowBlocks, keys: NDArray[np.int64], output: StepOutput) -> StepResult:
        """Learn the map, or the arrays of a placement rule."""
        corpus, options = self.corpus, self.options
        numbers = keys.tolist()
        labels = None
        if options.labels == "use":
            labels = [corpus.labels.get(key, []) for key in numbers]
        supervision = Supervision(labels, rows_of_pairs(corpus.pairs, numbers, corpus.ids))
        fitted = fit_projection(rows, supervision, options, self.stages, self.samples.map)
        for name, array in _map_arrays(fitted.projection).items():
            output.put(name, array)
        projection = fitted.projection
        alpha = projection.alpha_
        facts = {
            "dims": projection.n_components_,
            "alpha": None if alpha is None else float(alpha),
            "components": projection.n_graph_components_,
            "isolated": projection.n_isolated_,
            "learned_from": fitted.learned_from,
            "graph_recall": fitted.recall,
            "notes": list(fitted.notes),
            "placement": projection.placement,
        }
        return StepResult(facts=facts)

    def embed(self, rows: RowBlocks, learned: StepResult, output: StepOutput) -> StepResult:
        """Write the vectors of the documents; a method without a linear map has them already."""
        from lpisearch.index import subspace

        scales = np.asarray(learned.arrays["scales"])
        shape = (rows.shape[0], len(scales))
        is_packed = shape[0] * shape[1] >= subspace.PACKED_FROM
        target = output.target(_UNPACKED if is_packed else "vectors", shape, np.float32)
        if EMBEDDING in learned.arrays:
            vectors = scaled_rows(learned.arrays[EMBEDDING], scales)
            target.write(0, vectors)
            checks = [_Check.of(vectors)]
        else:
            loadings = learned.arrays["loadings"]  # mapped from a file, by workers too
            checks = list(map_blocks(_Embed(loadings, scales, target), rows))
        if not any(check.nonzero for check in checks) or not all(c.finite for c in checks):
            raise NothingToIndex(
                "The model's numbers are too small or too large to distinguish documents.",
                rebuild_command(replace(self.options, alpha=None)),
            )
        if is_packed:
            _pack_vectors(target, output)
            output.drop(_UNPACKED)
        return StepResult()

    def classify(
        self, rows: RowBlocks, postings: StepResult, keys: NDArray[np.int64], output: StepOutput
    ) -> StepResult:
        """Train the classifier of the labels."""
        numbers = keys.tolist()
        labels = [self.corpus.labels.get(key, []) for key in numbers]
        splits = [self.corpus.splits.get(key, "") for key in numbers]
        X: Any = (
            rows.matrix
            if isinstance(rows, MatrixBlocks)
            else LazyRows(rows, np.asarray(postings.arrays["distinct_terms"]))
        )
        limits = replace(LIMITS, documents=self.samples.labels)
        learned = learn_classifier(
            X, labels, splits, self.options, self.stages.stage, limits=limits
        )
        for name, array in learned.arrays.items():
            output.put(name, array)
        return StepResult(facts={"classifier": learned.facts})


class _Check(NamedTuple):
    """Whether some vectors have a nonzero number, and only finite ones."""

    nonzero: bool
    finite: bool

    @classmethod
    def of(cls, vectors: NDArray[np.float32]) -> _Check:
        return cls(bool(vectors.any()), bool(np.isfinite(vectors).all()))


@dataclass(frozen=True, eq=False, slots=True)
class _Embed:
    """Writes the vectors of weighted rows."""

    loadings: NDArray[np.floating[Any]]
    scales: NDArray[np.floating[Any]]
    target: RowTarget

    def __call__(self, block: csr_array, start: int) -> _Check:
        vectors = scaled_rows(block @ self.loadings.astype(block.dtype, copy=False), self.scales)
        self.target.write(start, vectors)
        return _Check.of(vectors)


def _map_arrays(projection: Any) -> dict[str, Any]:
    """Return the loadings of a linear map, or the arrays of its placement rule."""
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


_KIND = np.int16


def _pack_vectors(unpacked: RowTarget, output: StepOutput) -> None:
    """Write the arrays of `PackedRows.pack` from unpacked vectors."""
    rows = unpacked.array()
    scales = scales_of(rows)
    release_pages(rows)
    codes = output.target("vectors", rows.shape, _KIND)
    steps = output.target("vector_steps", (len(rows),), np.float32)
    starts = [*range(0, len(rows), BLOCK_ROWS), len(rows)]
    for _ in map_parts(_Pack(unpacked, scales, codes, steps), pairwise(starts)):
        pass
    packed = PackedRows(codes.array(), steps.array(), scales)
    for name, array in vector_arrays(packed).items():
        if name not in {"vectors", "vector_steps"}:
            output.put(name, array)


@dataclass(frozen=True, eq=False, slots=True)
class _Pack:
    """Packs a range of rows."""

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
