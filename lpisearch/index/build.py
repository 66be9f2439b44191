"""Build_index: corpus to published index."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.errors import BadOption, VectorsUnavailable
from lpisearch.index.checkpoint import MemoryWorkspace, Stages, StepResult, in_files, peak_megabytes
from lpisearch.index.directory import IndexLocation, choose_location, entry_named
from lpisearch.index.inversion import HASH_BYTES
from lpisearch.index.partitions import Partitions
from lpisearch.index.pipeline import Corpus, fit_subspace, library_versions
from lpisearch.index.plan import check_spread, plan_index, spread_of
from lpisearch.index.projection import Samples, with_typed_settings
from lpisearch.index.subspace import TAKEN_IN, SubspaceIndex, open_index
from lpisearch.messages import quoted
from lpisearch.model.reports import BuiltIndex, IndexReport
from lpisearch.storage import open_store, writer_lock
from lpisearch.storage.integrity import fingerprint
from lpisearch.storage.metadata import TOKENISER, IndexEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from lpisearch.index.checkpoint import StepOutput, Workspace
    from lpisearch.index.format import Manifest
    from lpisearch.index.pipeline import Fitted
    from lpisearch.location import Location
    from lpisearch.model.documents import TokenShard
    from lpisearch.model.reports import IndexPlan
    from lpisearch.options import IndexOptions, IndexSpec
    from lpisearch.storage.store import ReadTransaction, Store


def build_index(
    library: Location,
    options: IndexOptions,
    on_stage: Callable[[str], None] = lambda _name: None,
    on_step: Callable[[int, int], None] = lambda _done, _total: None,
) -> IndexReport:
    """Build an index and put it in use; until then the one before stays in use."""
    from lpisearch.index.format import check_writable, note_written

    check_spread(options)
    plan = plan_index(library, options)
    if options.export_pgvector:
        check_exportable(library)
    place = _chosen_place(library, options)
    check_writable(place.folder)
    stages = Stages(on_stage, on_step)
    spec = with_typed_settings(options.spec)
    with (
        spread_of(options, library, place) as spreading,
        workspace_of(library, place, spec, plan, stages) as workspace,
    ):
        index = fit_index(
            library,
            spec,
            stages,
            workspace=workspace,
            samples=Samples.of(plan),
            partitioned=spreading.reads_library,
        )
        with (
            stages.stage("writing"),
            writer_lock(library, "index", options.wait_seconds),
            open_store(library, writable=True) as store,
        ):
            files = workspace.files()
            in_memory = {name: a for name, a in index.arrays.items() if name not in files}
            in_files = {name: path for name, path in files.items() if name in index.arrays}
            written = SubspaceIndex(index.manifest, in_memory)
            folder = publish_index(library, store, written, in_files)
        report = as_report(index, stages, folder, workspace.resumed)
    # Its files were those of the workspace as well, and changed as that was removed.
    note_written(folder)
    report.notes.extend(spreading.notes)
    if options.export_pgvector:
        with stages.stage("exporting vectors"):
            table = export_vectors(library, options.name, options.wait_seconds)
        report.notes.append(f"Vectors written to the table {table}.")
    return report


def fit_index(
    library: Location,
    spec: IndexSpec,
    stages: Stages,
    *,
    whole: bool = False,
    workspace: Workspace | None = None,
    samples: Samples = Samples(),  # noqa: B008 (it cannot be changed)
    partitioned: bool = False,
) -> SubspaceIndex:
    """Work out an index; nothing of the library is written.

    The library is opened only to read: others may write to it meanwhile. With `whole`, long
    documents have no passages. Steps are kept by the workspace; in memory, if none is given. A
    map and labels are learned from samples of at most such a size. With `partitioned`, whoever
    works reads documents from the library.
    """
    workspace = workspace or MemoryWorkspace()
    with open_store(library) as store, store.reading() as snapshot:
        partitions = Partitions.of(library, spec.where, snapshot) if partitioned else None
        documents = corpus_of(snapshot, spec, stages, partitions)
        return fit_corpus(documents, spec, stages, workspace, samples, whole=whole)


def fit_corpus(
    documents: Corpus,
    spec: IndexSpec,
    stages: Stages,
    workspace: Workspace,
    samples: Samples = Samples(),  # noqa: B008 (it cannot be changed)
    *,
    whole: bool = False,
) -> SubspaceIndex:
    """Work out an index of documents, wherever they lie; the options are those of `fit_index`."""
    fitted = fit_subspace(documents, spec, stages, workspace, samples)
    index = _as_index(fitted, documents, spec)
    calibrated = workspace.run(
        "calibration", lambda _output: _calibrated(index, documents, spec.seed, stages)
    )
    manifest = replace(index.manifest, calibration=calibrated.facts)
    index = SubspaceIndex(manifest, index.arrays)
    if whole:
        return index
    if not index.long_documents.size:
        return SubspaceIndex(replace(manifest, passages=0), index.arrays)
    placed = workspace.run(
        "passages", lambda output: _place_passages(index, documents, stages, output)
    )
    manifest = replace(manifest, passages=placed.facts["passages"])
    return SubspaceIndex(manifest, index.arrays | placed.arrays)


def _chosen_place(library: Location, options: IndexOptions) -> IndexLocation:
    """Return where the indexes are to be, noted first if it is chosen now."""
    if options.index_store:
        with (
            writer_lock(library, "index", options.wait_seconds),
            open_store(library, writable=True) as store,
        ):
            choose_location(library, store, options.index_store)
    with open_store(library) as store, store.reading() as snapshot:
        return IndexLocation.of(library, snapshot)


def publish_index(
    library: Location,
    store: Store,
    index: SubspaceIndex,
    unchanged: dict[str, Path] | None = None,
) -> Path:
    """Publish an index and let the library refer to it; the caller holds the writer lock."""
    from lpisearch.index.format import note_written, publish, sweep

    manifest = index.manifest
    with store.reading() as snapshot:
        place = IndexLocation.of(library, snapshot)
    folder = publish(place.folder, manifest, index.arrays, unchanged, place.mode)
    entry = IndexEntry(
        name=manifest.name,
        method=manifest.method,
        parameters=manifest.spec.as_dict(),
        fingerprint=manifest.fingerprint,
        folder=folder.name,
        created_at=manifest.created,
    )
    note_written(folder)  # for who opens it as soon as it is named
    # The folder before goes only when a power cut can no longer bring its name back.
    with store.writing(durable=True) as transaction:
        transaction.indexes.save(entry)
        used = {each.folder for each in transaction.indexes.entries()}
        place.keep(transaction, folder, used)
    sweep(place.folder, used)
    note_written(folder)  # after the sweep: files that two folders had in common change by it
    return folder


def _as_index(fitted: Fitted, documents: Corpus, spec: IndexSpec) -> SubspaceIndex:
    taken_in = np.zeros((len(fitted.keys), len(TAKEN_IN)), np.int32)
    arrays = fitted.arrays | {"taken_in": taken_in}
    return SubspaceIndex(_manifest(fitted, documents, spec), arrays)


def _manifest(fitted: Fitted, documents: Corpus, spec: IndexSpec) -> Manifest:
    from lpisearch.index.format import Manifest

    weighting = fitted.weighting
    return Manifest(
        spec=spec,
        tokeniser=documents.tokeniser,
        weighting={
            "name": weighting.name,
            "mean_length": weighting.mean_length,
            "k1": weighting.k1,
            "b": weighting.b,
        },
        result=_built(fitted),
        folded={"documents": 0, "words": 0, "unknown": 0},
        fingerprint=fingerprint(_contents(fitted)),
        versions=library_versions(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        placement=fitted.map_facts["placement"],
    )


def _contents(fitted: Fitted) -> Iterator[tuple[int, bytes]]:
    """Yield key and content hash of each document."""
    joined = fitted.hashes.tobytes()
    for number, key in enumerate(fitted.keys.tolist()):
        yield key, joined[number * HASH_BYTES : (number + 1) * HASH_BYTES]


def _built(fitted: Fitted) -> BuiltIndex:
    """Gather what the build came to."""
    facts = {name: each for name, each in fitted.map_facts.items() if name != "placement"}
    return BuiltIndex(
        documents=len(fitted.keys),
        terms=len(fitted.vocabulary),
        unknown_rate=round(fitted.unknown_rate, 6),
        classifier=fitted.classifier,
        **facts,
    )


def _calibrated(index: SubspaceIndex, documents: Corpus, seed: int, stages: Stages) -> StepResult:
    """Learn from some of the documents how much the subspace counts beside the words."""
    from lpisearch.index.calibration import calibrate, sample_documents

    with stages.stage("calibrating"):
        places = sample_documents(index.postings.document_lengths, seed)
        keys = index.document_rows[places].tolist()
        tokens = documents.snapshot.corpus.tokens(keys)
        return StepResult(facts=calibrate(index, places, tokens, seed).facts())


def _place_passages(
    index: SubspaceIndex, documents: Corpus, stages: Stages, output: StepOutput
) -> StepResult:
    """Place the passages of long documents by the map that is learned already."""
    from lpisearch.index.subspace import cut_documents, place_passages
    from lpisearch.text.tokeniser import Tokenisers

    with stages.stage("embedding passages"):
        tokeniser = Tokenisers().of(documents.tokeniser)
        places = index.long_documents
        keys = index.document_rows[places].tolist()
        long = dict(zip(keys, places.tolist(), strict=True))
        passages = place_passages(
            index, cut_documents(documents.snapshot, tokeniser, long, stages.on_step)
        )
        for name, array in passages.arrays().items():
            output.put(name, array)
    return StepResult(facts={"passages": len(passages)})


def as_report(
    index: SubspaceIndex, stages: Stages, folder: Path, resumed: list[str]
) -> IndexReport:
    """Return what was built, and what it took."""
    return IndexReport(
        name=index.manifest.name,
        method=index.manifest.method,
        seconds=stages.seconds,
        peak_mb=peak_megabytes(),
        size_bytes=sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
        folder=str(folder),
        calibration=index.manifest.calibration,
        passages=index.manifest.passages or 0,
        resumed=resumed,
        processor_seconds=stages.processor_seconds,
        wire={name: asdict(each) for name, each in stages.traffic.items()},
        **index.manifest.result.as_dict(),
    )


def corpus_of(
    snapshot: ReadTransaction, spec: IndexSpec, stages: Stages, partitions: Partitions | None = None
) -> Corpus:
    """Return the documents that a build learns from."""
    from lpisearch.classifiers.trainer import check_train

    labels = labels_to_learn(snapshot, spec)
    if spec.labels == "use" and not labels:
        raise BadOption("labels", "no document has a label")
    splits = snapshot.labels.splits_by_key(spec.where)
    check_train(spec.train, set(splits.values()))
    pairs, ids = _pairs(spec, snapshot)

    def shards() -> Iterator[TokenShard]:
        number, _ = snapshot.corpus.count_and_sum(spec.where)
        done = 0
        for shard in snapshot.corpus.shards(spec.where):
            yield shard
            done += len(shard.keys)
            stages.on_step(done, number)

    tokeniser = snapshot.settings.get(TOKENISER) or {}
    return Corpus(shards(), labels, splits, tokeniser, snapshot, pairs, ids, partitions=partitions)


def _pairs(
    spec: IndexSpec, snapshot: ReadTransaction
) -> tuple[list[tuple[str, int, int]], dict[int, str]]:
    """Find the documents of the pairs: their keys, and which id each key has."""
    if not spec.pairs:
        return [], {}
    keys = {name: key for key, name in snapshot.documents.ids().items()}
    named = [name for pair in spec.pairs for name in pair[1:]]
    unknown = [name for name in dict.fromkeys(named) if name not in keys]
    if unknown:
        raise BadOption("pairs", f"no document has the id {quoted(unknown[:3])}")
    found = [(kind, keys[first], keys[second]) for kind, first, second in spec.pairs]
    return found, {keys[name]: name for name in named}


@contextmanager
def workspace_of(
    library: Location, place: IndexLocation, spec: IndexSpec, plan: IndexPlan, stages: Stages
) -> Iterator[Workspace]:
    """Give what keeps the steps of a build: memory, or files for one that is long or large."""
    if not plan.in_files:
        yield MemoryWorkspace()
        return
    with open_store(library) as store, store.reading() as snapshot:
        key = build_key(snapshot, spec, Samples.of(plan))
    with in_files(place.folder, spec.name, key, place.mode, stages.stage) as workspace:
        yield workspace


def build_key(snapshot: ReadTransaction, spec: IndexSpec, samples: Samples) -> str:
    """Return what tells a build from all others: what it is made from, and how."""
    made = {
        "spec": spec.as_dict(),
        "learned_from": list(samples),
        "tokeniser": snapshot.settings.get(TOKENISER),
        "documents": snapshot.corpus.fingerprint(spec.where),
        "versions": library_versions(),
    }
    digest = sha256(json.dumps(made, sort_keys=True).encode())
    for told in (labels_to_learn(snapshot, spec), snapshot.labels.splits_by_key(spec.where)):
        for key in sorted(told):
            digest.update(json.dumps([key, told[key]]).encode())
    return digest.hexdigest()


def labels_to_learn(snapshot: ReadTransaction, spec: IndexSpec) -> dict[int, list[str]]:
    """Return what is learned from: given labels, and predicted ones where that is asked."""
    labels = snapshot.labels.by_key(spec.where)
    if spec.learn_predicted:
        others = [key for key in snapshot.corpus.content_hashes(spec.where) if key not in labels]
        for key, predicted in snapshot.labels.predicted(others).items():
            labels[key] = [each.label for each in predicted]
    return labels


def check_exportable(library: Location) -> None:
    """Refuse a library that is in no database, before an index is worked out for it."""
    with open_store(library) as store, store.reading() as snapshot:
        if snapshot.vectors is None:
            raise VectorsUnavailable(
                f"{library} is a file; pgvector needs PostgreSQL",
                "use a database such as postgresql://USER@HOST/DATABASE",
            )


def export_vectors(library: Location, name: str, wait_seconds: float) -> str:
    """Write the vectors of the documents that are there into a table; return its name.

    It is there whole or not at all; until then whoever reads has the one before.
    """
    with (
        writer_lock(library, "index", wait_seconds),
        open_store(library, writable=True) as store,
        store.writing(durable=True) as transaction,
    ):
        entry = entry_named(transaction, name)
        if entry is None or transaction.vectors is None:
            raise VectorsUnavailable(f"{library} has no index “{name}”", "")
        index = open_index(IndexLocation.of(library, transaction), transaction, entry)
        rows = _rows(index, transaction.documents.ids())
        return transaction.vectors.replace(name, index.places.shape[1], rows)


def _rows(index: SubspaceIndex, ids: dict[int, str]) -> Iterator[tuple[int, str, list[float]]]:
    for rows, vectors in index.places.blocks():
        for key, vector in zip(index.document_rows[rows].tolist(), vectors, strict=True):
            if key in ids and vector.any():  # an angle with nothing is none
                yield key, ids[key], vector.tolist()
