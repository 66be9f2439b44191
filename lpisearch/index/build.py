"""Build an index of a library and publish it."""

from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.errors import BadOption, LibraryLocked, VectorsUnavailable
from lpisearch.index.checkpoint import MemoryWorkspace, Stages, StepResult, in_files, peak_megabytes
from lpisearch.index.directory import IndexLocation, choose_location, entry_named, publish_index
from lpisearch.index.inversion import HASH_BYTES, write_sequences
from lpisearch.index.partitions import Partitions
from lpisearch.index.pipeline import Corpus, FittedSubspace, fit_subspace, library_versions
from lpisearch.index.plan import check_parallelism, parallel, plan_index
from lpisearch.index.positions import Fields, read_fields
from lpisearch.index.projection import Samples, with_typed_settings
from lpisearch.index.subspace import TAKEN_IN, SubspaceIndex, open_index, packed_arrays
from lpisearch.messages import quoted
from lpisearch.model.reports import BuiltIndex, IndexPlan, IndexReport
from lpisearch.storage import open_store, writer_lock, writer_of
from lpisearch.storage.integrity import fingerprint
from lpisearch.storage.metadata import TOKENISER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from lpisearch.index.checkpoint import StepOutput, Workspace
    from lpisearch.location import Location
    from lpisearch.model.documents import TokenShard
    from lpisearch.options import IndexOptions, IndexSpec
    from lpisearch.storage.store import ReadTransaction
    from lpisearch.storage.vector_store import VectorStore
    from lpisearch.text.encoders import CheckedEncoder


SAMPLE = 300
"""The number of documents that are encoded to learn the weight of an encoder, if not all are."""


_PATIENCE_SECONDS = 5.0


_TOKENS_AT_ONCE = 1000  # documents


def build_index(
    library: Location,
    options: IndexOptions,
    on_stage: Callable[[str], None] = lambda _name: None,
    on_step: Callable[[int, int], None] = lambda _done, _total: None,
    encoder: CheckedEncoder | None = None,
) -> IndexReport:
    """Build an index and publish it; until then the previous one stays in use.

    A library that another process writes to longer than the options allow is refused before
    anything is computed; what is computed waits for a process that began to write meanwhile. An
    encoder makes vectors of the passages, too.

    `on_stage` is called with the name of each stage, `on_step` with the number of documents that a
    stage has processed and their total.
    """
    from lpisearch.index.format import check_writable, note_written

    check_parallelism(options)
    with writer_lock(library, "index", options.wait_seconds):
        pass
    plan = plan_index(library, options)
    if options.export_pgvector or options.in_database:
        _check_exportable(library)
    location = _index_location(library, options)
    check_writable(location.folder)
    stages = Stages(on_stage, on_step)
    spec = with_typed_settings(options.spec)
    with (
        parallel(options, library, location) as parallelism,
        _workspace(library, location, spec, plan, stages) as workspace,
    ):
        index = fit_index(
            library,
            spec,
            stages,
            workspace=workspace,
            samples=Samples.of(plan),
            partitioned=parallelism.reads_library,
        )
        if encoder is not None:
            from lpisearch.storage.vector_store import VectorStore

            vectors = VectorStore(location.folder, encoder.name, encoder.documents)
            vectors.recognise(probe := encoder.probe())
            index = _with_encoder(library, index, (vectors, probe), options, stages)
        with (
            stages.stage("writing"),
            _lock_when_free(library, on_stage),
            open_store(library, writable=True) as store,
        ):
            packed, arrays = packed_arrays(index.arrays), index.arrays
            files = {name: path for name, path in workspace.files().items() if name not in packed}
            in_memory = {name: a for name, a in arrays.items() if name not in files} | packed
            in_workspace = {name: path for name, path in files.items() if name in arrays}
            folder = publish_index(
                library,
                store,
                SubspaceIndex(index.manifest, in_memory),
                in_workspace,
                in_database=options.in_database,
            )
        report = _report(index, stages, folder, workspace.resumed)
    # Removing the workspace changed the link counts of files that the index shares with it.
    note_written(folder)
    report.notes.extend(parallelism.notes)
    if options.export_pgvector:
        with stages.stage("exporting vectors"):
            table = _export_vectors(library, options.name, options.wait_seconds)
        report.notes.append(f"Vectors written to the table {table}.")
    return report


def fit_index(
    library: Location,
    spec: IndexSpec,
    stages: Stages,
    *,
    whole: bool = False,
    workspace: Workspace | None = None,
    samples: Samples = Samples(),  # noqa: B008 (immutable)
    partitioned: bool = False,
) -> SubspaceIndex:
    """Compute an index without writing to the library, which others may change meanwhile.

    With `whole`, long documents have no passages. With `partitioned`, workers read the documents
    from the library themselves.
    """
    workspace = workspace or MemoryWorkspace()
    with open_store(library) as store, store.reading() as snapshot:
        partitions = Partitions.of(library, spec.where, snapshot) if partitioned else None
        corpus = _corpus(snapshot, spec, stages, partitions)
        subspace = fit_subspace(corpus, spec, stages, workspace, samples)
        index = _as_index(subspace, corpus, spec)
        calibration = workspace.run(
            "calibration", lambda _output: _calibrate(index, corpus, spec.seed, stages)
        )
        manifest = replace(index.manifest, calibration=calibration.facts)
        index = SubspaceIndex(manifest, index.arrays)
        if whole:
            return _with_fields(index, corpus, stages, workspace)
        spelled = workspace.run("words", lambda output: _words(index, corpus, stages, output))
        index = SubspaceIndex(manifest, index.arrays | spelled.arrays)
        index = _with_passages(index, corpus, stages, workspace)
        return _with_fields(index, corpus, stages, workspace)


def _with_encoder(
    library: Location,
    index: SubspaceIndex,
    encoded_by: tuple[VectorStore, NDArray[np.float32]],
    options: IndexOptions,
    stages: Stages,
) -> SubspaceIndex:
    """Encode the passages of an index, or a sample of them, and learn the encoder's weight."""
    from lpisearch.index.calibration import calibrate_encoder
    from lpisearch.index.encoded_units import EncodedUnits, count_units, encode, units_of
    from lpisearch.text.tokeniser import Tokenisers

    store, probe = encoded_by
    facts: dict[str, Any] = {"name": store.name, "way": options.encode, "weight": 0.0}
    with (
        stages.stage("encoding passages"),
        open_store(library) as database,
        database.reading() as snapshot,
    ):
        documents = np.arange(len(index.document_rows))
        if options.encode == "candidates":
            rng = np.random.default_rng(options.seed)
            documents = np.sort(rng.permutation(documents)[:SAMPLE])
        total = count_units(index, documents)
        arrays = encode(
            index,
            units_of(snapshot, index, documents.tolist()),
            store,
            lambda done: stages.on_step(done, total),
        )
        arrays |= {"encoder_probe": probe}
        encoded = SubspaceIndex(replace(index.manifest, encoder=facts), index.arrays | arrays)
        units = EncodedUnits.of_index(encoded)
        assert units is not None  # noqa: S101
        tokeniser = Tokenisers().of(index.manifest.tokeniser)
        facts |= calibrate_encoder(encoded, units, snapshot, tokeniser, store)
    return SubspaceIndex(replace(index.manifest, encoder=facts), encoded.arrays)


@contextmanager
def _lock_when_free(library: Location, on_stage: Callable[[str], None]) -> Iterator[None]:
    """Hold the writer lock as soon as no other process does: the work must not be in vain."""
    with ExitStack() as lock:
        while True:
            try:
                lock.enter_context(writer_lock(library, "index", _PATIENCE_SECONDS))
                break
            except LibraryLocked:
                on_stage(f"waiting for {writer_of(library) or 'another process'}")
        yield


def _index_location(library: Location, options: IndexOptions) -> IndexLocation:
    """Return the location of the indexes, after storing a new choice of it."""
    if options.index_store:
        with (
            writer_lock(library, "index", options.wait_seconds),
            open_store(library, writable=True) as store,
        ):
            choose_location(library, store, options.index_store)
    with open_store(library) as store, store.reading() as snapshot:
        location = IndexLocation.of(library, snapshot)
    location.check_ours()
    return location


@contextmanager
def _workspace(
    library: Location, location: IndexLocation, spec: IndexSpec, plan: IndexPlan, stages: Stages
) -> Iterator[Workspace]:
    """Yield the workspace of a build: memory, or files for a long or large one."""
    if not plan.in_files:
        yield MemoryWorkspace()
        return
    with open_store(library) as store, store.reading() as snapshot:
        key = _build_key(snapshot, spec, Samples.of(plan))
    with in_files(location.folder, spec.name, key, location.mode, stages.stage) as workspace:
        yield workspace


def _build_key(snapshot: ReadTransaction, spec: IndexSpec, samples: Samples) -> str:
    """Return a digest of everything that determines the result of a build."""
    inputs = {
        "spec": spec.as_dict(),
        "learned_from": list(samples),
        "tokeniser": snapshot.settings.get(TOKENISER),
        "documents": snapshot.corpus.fingerprint(spec.where),
        "versions": library_versions(),
    }
    digest = sha256(json.dumps(inputs, sort_keys=True).encode())
    for by_key in (_training_labels(snapshot, spec), snapshot.corpus.splits(spec.where)):
        for key in sorted(by_key):
            digest.update(json.dumps([key, by_key[key]]).encode())
    return digest.hexdigest()


def _corpus(
    snapshot: ReadTransaction, spec: IndexSpec, stages: Stages, partitions: Partitions | None
) -> Corpus:
    """Return the documents, labels, splits and pairs to learn from."""
    from lpisearch.classifiers.trainer import check_train

    labels = _training_labels(snapshot, spec)
    if spec.labels == "use" and not labels:
        raise BadOption("labels", "no document has a label")
    splits = snapshot.corpus.splits(spec.where)
    check_train(spec.train, set(splits.values()))
    pairs, ids = _pairs(spec, snapshot)

    def shards() -> Iterator[TokenShard]:
        total, _ = snapshot.documents.count_and_sum(spec.where)
        done = 0
        for shard in snapshot.corpus.shards(spec.where):
            yield shard
            done += len(shard.keys)
            stages.on_step(done, total)

    tokeniser = snapshot.settings.get(TOKENISER) or {}
    return Corpus(shards(), labels, splits, tokeniser, snapshot, pairs, ids, partitions=partitions)


def _pairs(
    spec: IndexSpec, snapshot: ReadTransaction
) -> tuple[list[tuple[str, int, int]], dict[int, str]]:
    """Return the pairs by keys, and the ids of their documents by key."""
    if not spec.pairs:
        return [], {}
    keys = {name: key for key, name in snapshot.documents.ids().items()}
    names = [name for pair in spec.pairs for name in pair[1:]]
    unknown = [name for name in dict.fromkeys(names) if name not in keys]
    if unknown:
        raise BadOption("pairs", f"no document has the id {quoted(unknown[:3])}")
    pairs = [(kind, keys[first], keys[second]) for kind, first, second in spec.pairs]
    return pairs, {keys[name]: name for name in names}


def _training_labels(snapshot: ReadTransaction, spec: IndexSpec) -> dict[int, list[str]]:
    """Return the labels of documents, with predicted ones if the spec includes them."""
    labels = snapshot.corpus.labels(spec.where)
    if spec.learn_predicted:
        others = [key for key in snapshot.corpus.content_hashes(spec.where) if key not in labels]
        for key, predicted in snapshot.labels.predicted(others).items():
            labels[key] = [label.label for label in predicted]
    return labels


def _as_index(subspace: FittedSubspace, corpus: Corpus, spec: IndexSpec) -> SubspaceIndex:
    from lpisearch.index.format import Manifest

    weighting, facts = subspace.weighting, dict(subspace.map_facts)
    joined = subspace.hashes.tobytes()
    hashes = (joined[at : at + HASH_BYTES] for at in range(0, len(joined), HASH_BYTES))
    manifest = Manifest(
        spec=spec,
        tokeniser=corpus.tokeniser,
        weighting={
            "name": weighting.name,
            "mean_length": weighting.mean_length,
            "k1": weighting.k1,
            "b": weighting.b,
        },
        placement=facts.pop("placement"),
        result=BuiltIndex(
            documents=len(subspace.keys),
            terms=len(subspace.vocabulary),
            unknown_rate=round(subspace.unknown_rate, 6),
            classifier=subspace.classifier,
            **facts,
        ),
        folded={"documents": 0, "words": 0, "unknown": 0},
        fingerprint=fingerprint(zip(subspace.keys.tolist(), hashes, strict=True)),
        versions=library_versions(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    taken_in = np.zeros((len(subspace.keys), len(TAKEN_IN)), np.int32)
    index = SubspaceIndex(manifest, subspace.arrays | {"taken_in": taken_in})
    groups = {"twin_keys": index.twin_keys, "twins": index.twins}
    return SubspaceIndex(manifest, index.arrays | groups)


def _calibrate(index: SubspaceIndex, corpus: Corpus, seed: int, stages: Stages) -> StepResult:
    """Learn the weight of the subspace relative to the words from a sample of documents."""
    from lpisearch.index.calibration import calibrate, sample_documents

    with stages.stage("calibrating"):
        rows = sample_documents(index.postings.document_lengths, seed)
        tokens = corpus.snapshot.documents.tokens(index.document_rows[rows].tolist())
        return StepResult(facts=calibrate(index, rows, tokens, seed).facts())


def _embed_passages(
    index: SubspaceIndex, corpus: Corpus, stages: Stages, output: StepOutput
) -> StepResult:
    """Place the passages of long documents by the learned map."""
    from lpisearch.index.subspace import cut_documents, project_passages
    from lpisearch.text.tokeniser import Tokenisers

    with stages.stage("embedding passages"):
        tokeniser = Tokenisers().of(corpus.tokeniser)
        rows = index.long_documents
        keys = index.document_rows[rows].tolist()
        long = dict(zip(keys, rows.tolist(), strict=True))
        passages = project_passages(
            index, cut_documents(corpus.snapshot, tokeniser, long, stages.on_step)
        )
        for name, array in passages.arrays().items():
            output.put(name, array)
    return StepResult(facts={"passages": len(passages)})


def _words(index: SubspaceIndex, corpus: Corpus, stages: Stages, output: StepOutput) -> StepResult:
    """Collect the words as documents write them, and the terms with accents."""
    from lpisearch.text.spelling import count_written, spelling_arrays
    from lpisearch.text.tokeniser import Tokenisers

    with stages.stage("collecting words"):
        texts = corpus.snapshot.documents.texts(index.document_rows.tolist())
        written = count_written(f"{title}\n{text}" for _, title, text in texts)
        tokeniser = Tokenisers().of(corpus.tokeniser)
        for name, array in spelling_arrays(written, index.lexicon, tokeniser).items():
            output.put(name, array)
    return StepResult()


def _with_passages(
    index: SubspaceIndex, corpus: Corpus, stages: Stages, workspace: Workspace
) -> SubspaceIndex:
    if not index.long_documents.size:
        return SubspaceIndex(replace(index.manifest, passages=0), index.arrays)
    passages = workspace.run(
        "passages", lambda output: _embed_passages(index, corpus, stages, output)
    )
    manifest = replace(index.manifest, passages=passages.facts["passages"])
    return SubspaceIndex(manifest, index.arrays | passages.arrays)


def _with_fields(
    index: SubspaceIndex, corpus: Corpus, stages: Stages, workspace: Workspace
) -> SubspaceIndex:
    """Add where words stand: the fields of documents, and the order of their tokens."""

    def read(output: StepOutput) -> StepResult:
        with stages.stage("reading titles and paths"):
            tokeniser = Tokenisers().of(corpus.tokeniser)
            rows = {key: row for row, key in enumerate(index.document_rows.tolist())}
            texts = read_fields(corpus.snapshot, tokeniser, rows, index.passages)
            for name, array in Fields.of_texts(texts).arrays().items():
                output.put(name, array)
        return StepResult()

    def order(output: StepOutput) -> StepResult:
        with stages.stage("writing the order of words"):
            lengths = np.array(index.postings.document_lengths)
            if index.passages is not None:
                lengths[index.passages.owners] = 0
            numbers = {term: number for number, term in enumerate(index.postings.terms())}
            write_sequences(_tokens(index, corpus, lengths), numbers, lengths, output)
        return StepResult()

    from lpisearch.text.tokeniser import Tokenisers

    fields, sequences = workspace.run("fields", read), workspace.run("sequences", order)
    return SubspaceIndex(index.manifest, index.arrays | fields.arrays | sequences.arrays)


def _tokens(
    index: SubspaceIndex, corpus: Corpus, lengths: NDArray[np.int32]
) -> Iterator[tuple[int, list[str]]]:
    """Yield the tokens of documents that have a length, and the row of the first of each batch."""
    keys = index.document_rows
    for start in range(0, len(keys), _TOKENS_AT_ONCE):
        rows = start + np.flatnonzero(lengths[start : start + _TOKENS_AT_ONCE])
        yield start, corpus.snapshot.documents.tokens(keys[rows].tolist())


def _report(index: SubspaceIndex, stages: Stages, folder: Path, resumed: list[str]) -> IndexReport:
    return IndexReport(
        name=index.manifest.name,
        method=index.manifest.method,
        seconds=stages.seconds,
        peak_mb=peak_megabytes(),
        size_bytes=sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
        folder=str(folder),
        calibration=index.manifest.calibration,
        encoder=index.manifest.encoder,
        passages=index.manifest.passages or 0,
        resumed=resumed,
        processor_seconds=stages.processor_seconds,
        wire={name: asdict(traffic) for name, traffic in stages.traffic.items()},
        **index.manifest.result.as_dict(),
    )


def _check_exportable(library: Location) -> None:
    """Refuse a library that is not in PostgreSQL, before its index is computed."""
    with open_store(library) as store, store.reading() as snapshot:
        if snapshot.vectors is None:
            raise VectorsUnavailable(
                f"{library} is a file; pgvector needs PostgreSQL",
                "use a database such as postgresql://USER@HOST/DATABASE",
            )
        if snapshot.search_tables is not None:
            snapshot.search_tables.act_as_owner()


def _export_vectors(library: Location, name: str, wait_seconds: float) -> str:
    """Replace the table with the vectors of an index in one transaction; return its name."""
    with (
        writer_lock(library, "index", wait_seconds),
        open_store(library, writable=True) as store,
        store.writing(durable=True) as transaction,
    ):
        entry = entry_named(transaction, name)
        if entry is None or transaction.vectors is None:
            raise VectorsUnavailable(f"{library} has no index “{name}”", "")
        index = open_index(IndexLocation.of(library, transaction), transaction, entry)
        rows = _vector_rows(index, transaction.documents.ids())
        return transaction.vectors.replace(name, index.packed_vectors.shape[1], rows)


def _vector_rows(
    index: SubspaceIndex, ids: dict[int, str]
) -> Iterator[tuple[int, str, list[float]]]:
    for rows, vectors in index.packed_vectors.blocks():
        for key, vector in zip(index.document_rows[rows].tolist(), vectors, strict=True):
            if key in ids and vector.any():  # pgvector cannot index zero vectors by cosine
                yield key, ids[key], vector.tolist()
