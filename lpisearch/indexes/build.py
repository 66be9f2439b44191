"""`lpisearch index`: build an index from stored tokens and publish its folder."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.indexes.checking import with_typed_settings
from lpisearch.indexes.corpus import corpus_of
from lpisearch.indexes.counting import HASH_BYTES
from lpisearch.indexes.index import TAKEN_IN, SubspaceIndex
from lpisearch.indexes.learn import fit_subspace, library_versions
from lpisearch.indexes.partitions import Partitions
from lpisearch.indexes.places import IndexPlace, choose_place
from lpisearch.indexes.planning import plan_index
from lpisearch.indexes.projecting import Samples
from lpisearch.indexes.resuming import workspace_of
from lpisearch.indexes.spreading import check_spread, spread_of
from lpisearch.indexes.stages import Stages, peak_megabytes
from lpisearch.indexes.workspace import Kept, MemoryWorkspace
from lpisearch.records import BuiltIndex, IndexReport
from lpisearch.storage import IndexEntry, fingerprint, open_store, writer_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from lpisearch.indexes.learn import Fitted
    from lpisearch.indexes.manifest import Manifest
    from lpisearch.indexes.steps import Corpus
    from lpisearch.indexes.workspace import Room, Workspace
    from lpisearch.places import Place
    from lpisearch.settings import IndexOptions, IndexSpec
    from lpisearch.storage import Store


def build_index(
    library: Place,
    options: IndexOptions,
    on_stage: Callable[[str], None] = lambda _name: None,
    on_step: Callable[[int, int], None] = lambda _done, _total: None,
) -> IndexReport:
    """Build an index and put it in use; until then the one before stays in use.

    Parameters
    ----------
    library
        The database file.
    options
        What to build.
    on_stage
        Called with the name of each stage as it begins.
    on_step
        Called with how many documents a stage has done, and of how many, where it knows.

    Raises
    ------
    BadOption, NothingToIndex, IndexUnwritable, LibraryError
    """
    from lpisearch.indexes.exporting import check_exportable, export_vectors
    from lpisearch.indexes.folder import check_writable
    from lpisearch.indexes.verification import note_written

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
            folder = put_in_use(library, store, written, in_files)
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
    library: Place,
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

    Raises
    ------
    BadOption, NothingToIndex, LibraryError
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
    """Work out an index of documents, wherever they lie; the options are those of `fit_index`.

    Raises
    ------
    BadOption, NothingToIndex, LibraryError
    """
    fitted = fit_subspace(documents, spec, stages, workspace, samples)
    index = _as_index(fitted, documents, spec)
    calibrated = workspace.keep(
        "calibration", lambda _room: _calibrated(index, documents, spec.seed, stages)
    )
    manifest = replace(index.manifest, calibration=calibrated.facts)
    index = SubspaceIndex(manifest, index.arrays)
    if whole:
        return index
    if not index.long_documents.size:
        return SubspaceIndex(replace(manifest, passages=0), index.arrays)
    placed = workspace.keep(
        "passages", lambda room: _place_passages(index, documents, stages, room)
    )
    manifest = replace(manifest, passages=placed.facts["passages"])
    return SubspaceIndex(manifest, index.arrays | placed.arrays)


def _chosen_place(library: Place, options: IndexOptions) -> IndexPlace:
    """Return where the indexes are to be, noted first if it is chosen now."""
    if options.index_store:
        with (
            writer_lock(library, "index", options.wait_seconds),
            open_store(library, writable=True) as store,
        ):
            choose_place(library, store, options.index_store)
    with open_store(library) as store, store.reading() as snapshot:
        return IndexPlace.of(library, snapshot)


def put_in_use(
    library: Place,
    store: Store,
    index: SubspaceIndex,
    unchanged: dict[str, Path] | None = None,
) -> Path:
    """Publish an index and let the library refer to it; the caller holds the writer lock."""
    from lpisearch.indexes.folder import publish, sweep
    from lpisearch.indexes.verification import note_written

    manifest = index.manifest
    with store.reading() as snapshot:
        place = IndexPlace.of(library, snapshot)
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
    from lpisearch.indexes.manifest import Manifest

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


def _calibrated(index: SubspaceIndex, documents: Corpus, seed: int, stages: Stages) -> Kept:
    """Learn from some of the documents how much the subspace counts beside the words."""
    from lpisearch.indexes.scoring.calibration import calibrate, sample_documents

    with stages.stage("calibrating"):
        places = sample_documents(index.postings.document_lengths, seed)
        keys = index.document_rows[places].tolist()
        tokens = documents.snapshot.corpus.tokens(keys)
        return Kept(facts=calibrate(index, places, tokens, seed).facts())


def _place_passages(index: SubspaceIndex, documents: Corpus, stages: Stages, room: Room) -> Kept:
    """Place the passages of long documents by the map that is learned already."""
    from lpisearch.indexes.passages import cut_documents, place_passages
    from lpisearch.terms.tokenisers import Tokenisers

    with stages.stage("embedding passages"):
        tokeniser = Tokenisers().of(documents.tokeniser)
        places = index.long_documents
        keys = index.document_rows[places].tolist()
        long = dict(zip(keys, places.tolist(), strict=True))
        passages = place_passages(
            index, cut_documents(documents.snapshot, tokeniser, long, stages.on_step)
        )
        for name, array in passages.arrays().items():
            room.put(name, array)
    return Kept(facts={"passages": len(passages)})


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
