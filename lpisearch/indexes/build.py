"""The library into a subspace: `lpisearch index`, from the stored tokens to a folder in use."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from lpisearch.errors import BadOption
from lpisearch.indexes.checking import with_typed_settings
from lpisearch.indexes.learn import (
    Corpus,
    fit_subspace,
    library_versions,
)
from lpisearch.indexes.places import IndexPlace, choose_place
from lpisearch.indexes.planning import plan_index
from lpisearch.indexes.stages import Stages, peak_megabytes
from lpisearch.records import BuiltIndex, IndexReport
from lpisearch.storage import TOKENISER, IndexEntry, fingerprint, open_store, writer_lock
from lpisearch.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from lpisearch.indexes.index import SubspaceIndex
    from lpisearch.indexes.learn import Fitted
    from lpisearch.indexes.manifest import Manifest
    from lpisearch.places import Place
    from lpisearch.projections.base import DocumentTransformer
    from lpisearch.settings import IndexOptions, IndexSpec
    from lpisearch.storage import Snapshot, Store


def build_index(
    library: Place, options: IndexOptions, on_stage: Callable[[str], None] = lambda _name: None
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

    Raises
    ------
    BadOption, NothingToIndex, IndexUnwritable, LibraryError
    """
    from lpisearch.indexes.exporting import check_exportable, export_vectors
    from lpisearch.indexes.folder import check_writable

    plan_index(library, options)
    if options.export_pgvector:
        check_exportable(library)
    check_writable(_chosen_place(library, options).folder)
    stages = Stages(on_stage)
    index = fit_index(library, with_typed_settings(options.spec), stages)
    with (
        stages.stage("writing"),
        writer_lock(library, "index", options.wait_seconds),
        open_store(library, writable=True) as store,
    ):
        folder = put_in_use(library, store, index)
    report = _report(index, stages, folder)
    if options.export_pgvector:
        with stages.stage("exporting vectors"):
            table = export_vectors(library, options.name, options.wait_seconds)
        report.notes.append(f"the vectors are in the table {table}")
    return report


def fit_index(
    library: Place, spec: IndexSpec, stages: Stages, *, whole: bool = False
) -> SubspaceIndex:
    """Work out an index in memory; nothing is written.

    The library is opened only to read: others may write to it meanwhile. With `whole`, long
    documents have no passages.

    Raises
    ------
    BadOption, NothingToIndex, LibraryError
    """
    with open_store(library) as store, _corpus(store, spec) as documents:
        fitted = fit_subspace(documents, spec, stages)
        index = _as_index(fitted, documents, spec)
        with stages.stage("calibrating"):
            index = _calibrated(index, documents, spec.seed)
        return index if whole else _with_passages(index, documents, stages)


def _chosen_place(library: Place, options: IndexOptions) -> IndexPlace:
    """Return where the indexes are to be, noted first if it is chosen now."""
    if options.index_store:
        with (
            writer_lock(library, "index", options.wait_seconds),
            open_store(library, writable=True) as store,
            store.writing() as transaction,
        ):
            choose_place(library, transaction, options.index_store)
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
    # The folder before goes only when a power cut can no longer bring its name back.
    with store.writing(durable=True) as transaction:
        transaction.indexes.save(entry)
        used = {each.folder for each in transaction.indexes.entries()}
        place.keep(transaction, folder, used)
    sweep(place.folder, used)
    return folder


@contextmanager
def _corpus(store: Store, spec: IndexSpec) -> Iterator[Corpus]:
    """Give the documents as they are now, whatever is written meanwhile."""
    from lpisearch.classifiers.training import check_train

    rows: list[int] = []
    hashes: list[bytes] = []
    with store.reading() as snapshot:
        labels = _labels(snapshot, spec)
        if spec.labels == "use" and not labels:
            raise BadOption("labels", "no document has a label to use")
        splits = snapshot.labels.splits_by_key(spec.where)
        check_train(spec.train, set(splits.values()))
        pairs, ids = _pairs(spec, snapshot)

        def shards() -> Iterator[list[str]]:
            for shard in snapshot.corpus.shards(spec.where):
                rows.extend(shard.keys)
                hashes.extend(shard.hashes)
                yield shard.tokens

        tokeniser = snapshot.settings.get(TOKENISER) or {}
        yield Corpus(
            shards(), rows, hashes, labels, splits, tokeniser, snapshot, pairs=pairs, ids=ids
        )


def _pairs(
    spec: IndexSpec, snapshot: Snapshot
) -> tuple[list[tuple[str, int, int]], dict[int, str]]:
    """Find the documents of the pairs: their keys, and which id each key has."""
    if not spec.pairs:
        return [], {}
    keys = {name: key for key, name in snapshot.documents.ids().items()}
    named = [name for pair in spec.pairs for name in pair[1:]]
    unknown = [name for name in dict.fromkeys(named) if name not in keys]
    if unknown:
        raise BadOption("pairs", f"no document is called {quoted(unknown[:3])}")
    found = [(kind, keys[first], keys[second]) for kind, first, second in spec.pairs]
    return found, {keys[name]: name for name in named}


def _labels(snapshot: Snapshot, spec: IndexSpec) -> dict[int, list[str]]:
    """Return what is learned from: given labels, and predicted ones where that is asked."""
    labels = snapshot.labels.by_key(spec.where)
    if spec.learn_predicted:
        others = [key for key in snapshot.corpus.content_hashes(spec.where) if key not in labels]
        for key, predicted in snapshot.labels.predicted(others).items():
            labels[key] = [each.label for each in predicted]
    return labels


def _as_index(fitted: Fitted, documents: Corpus, spec: IndexSpec) -> SubspaceIndex:
    from lpisearch.indexes.index import SubspaceIndex

    return SubspaceIndex(_manifest(fitted, documents, spec), _arrays(fitted, documents))


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
        result=_built(fitted, documents),
        folded={"documents": 0, "words": 0, "unknown": 0},
        fingerprint=fingerprint(zip(documents.rows, documents.hashes, strict=True)),
        versions=library_versions(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        placement=fitted.projection.placement,
    )


def _built(fitted: Fitted, documents: Corpus) -> BuiltIndex:
    """Gather what the build came to."""
    projection = fitted.projection
    alpha = projection.alpha_
    return BuiltIndex(
        dims=projection.n_components_,
        alpha=None if alpha is None else float(alpha),
        documents=len(documents.rows),
        terms=len(fitted.vocabulary),
        components=projection.n_graph_components_,
        isolated=projection.n_isolated_,
        learned_from=fitted.learned_from,
        unknown_rate=round(fitted.unknown_rate, 6),
        classifier=fitted.classifier.facts,
        notes=list(fitted.notes),
    )


def _arrays(fitted: Fitted, documents: Corpus) -> dict[str, Any]:
    """Gather what is stored of the terms, the map, the classifier and the documents."""
    from lpisearch.indexes.index import document_arrays, term_array
    from lpisearch.indexes.scoring.document_terms import DocumentTerms

    vocabulary, projection = fitted.vocabulary, fitted.projection
    return {
        "terms": term_array(vocabulary),
        "document_frequencies": vocabulary.document_frequencies,
        "idf": fitted.weighting.idf,
        "term_factors": fitted.factors,
        "scales": projection.scales_,
        **_map_arrays(projection),
        **fitted.classifier.arrays,
        **fitted.postings.arrays(),
        **DocumentTerms.of_postings(fitted.postings).arrays(),
        **document_arrays(fitted.vectors, documents.rows, documents.hashes),
    }


def _calibrated(index: SubspaceIndex, documents: Corpus, seed: int) -> SubspaceIndex:
    """Learn from some of the documents how much the subspace counts beside the words."""
    from lpisearch.indexes.index import SubspaceIndex
    from lpisearch.indexes.scoring.calibration import calibrate, sample_documents

    places = sample_documents(index.postings.document_lengths, seed)
    tokens = documents.snapshot.corpus.tokens([documents.rows[place] for place in places.tolist()])
    calibration = calibrate(index, places, tokens, seed)
    return SubspaceIndex(replace(index.manifest, calibration=calibration.facts()), index.arrays)


def _with_passages(index: SubspaceIndex, documents: Corpus, stages: Stages) -> SubspaceIndex:
    """Place the passages of long documents by the map that is learned already."""
    from lpisearch.indexes.index import SubspaceIndex
    from lpisearch.indexes.passages import cut_documents, place_passages
    from lpisearch.terms.tokenisers import Tokenisers

    if not index.long_documents.size:
        return SubspaceIndex(replace(index.manifest, passages=0), index.arrays)
    with stages.stage("placing passages"):
        tokeniser = Tokenisers().of(documents.tokeniser)
        long = {documents.rows[place]: place for place in index.long_documents.tolist()}
        passages = place_passages(index, cut_documents(documents.snapshot, tokeniser, long))
    manifest = replace(index.manifest, passages=len(passages))
    return SubspaceIndex(manifest, index.arrays | passages.arrays())


def _map_arrays(projection: DocumentTransformer) -> dict[str, Any]:
    """Return what places a document: the loadings of a linear map, or what its rule takes."""
    from lpisearch.indexes.manifest import PLACEMENT
    from lpisearch.projections.embedding import Embedding

    spectrum = projection.eigenvalues_
    arrays = {} if spectrum is None else {"eigenvalues": spectrum}
    if isinstance(projection, Embedding):
        placement = projection.placement_arrays()
        return arrays | {PLACEMENT + name: array for name, array in placement.items()}
    return arrays | {"loadings": projection.components_.T}


def _report(index: SubspaceIndex, stages: Stages, folder: Path) -> IndexReport:
    return IndexReport(
        name=index.manifest.name,
        method=index.manifest.method,
        seconds=stages.seconds,
        peak_mb=peak_megabytes(),
        size_bytes=sum(path.stat().st_size for path in folder.iterdir()),
        folder=str(folder),
        calibration=index.manifest.calibration,
        passages=index.manifest.passages or 0,
        **index.manifest.result.as_dict(),
    )
