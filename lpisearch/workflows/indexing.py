"""The library into a subspace: `lpisearch index`, from the stored tokens to a folder in use."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from lpisearch.database import corpus
from lpisearch.database.configuration import TOKENISER, stored_setting
from lpisearch.database.fulltext import count_terms
from lpisearch.database.indexes import IndexEntry, index_entries, save_index
from lpisearch.database.lock import writer_lock
from lpisearch.database.schema import open_library
from lpisearch.errors import BadOption, IndexNotFound, NothingToIndex
from lpisearch.records import Filter, IndexPlan, IndexReport
from lpisearch.settings import index_folder
from lpisearch.terms.vocabulary import VocabularyLimits
from lpisearch.workflows.stages import Stages, peak_megabytes
from lpisearch.workflows.subspace import (
    Corpus,
    check_options,
    fit_subspace,
    library_versions,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from lpisearch.database.engine import Database
    from lpisearch.settings import IndexOptions
    from lpisearch.store.index import SubspaceIndex
    from lpisearch.workflows.subspace import Fitted

_NAME = re.compile(r"[\w.-]+")
_CHARACTERS_A_WORD = 7
# Measured on 20 Newsgroups with benchmarks/index.py: rough, but of the right order.
_BYTES_A_WORD = 60
_BYTES_A_DOCUMENT = 6000
_BASE_MEGABYTES = 150
_WORDS_A_SECOND = 250_000


def plan_index(library: Path, options: IndexOptions) -> IndexPlan:
    """Say what building an index will take.

    Raises
    ------
    BadOption, NothingToIndex, LibraryError
    """
    check_options(options)
    if not _NAME.fullmatch(options.name):
        raise BadOption("--name", f"“{options.name}” has signs other than letters, digits, . _ -")
    with open_library(library) as database, database.reading() as connection:
        documents, characters = corpus.corpus_size(connection, options.where)
        limits = VocabularyLimits()
        found = count_terms(connection, limits.smallest_df(documents))
        terms = min(found, limits.max_terms or found)
    _refuse_too_few(documents, options)
    words = characters // _CHARACTERS_A_WORD
    memory = _BASE_MEGABYTES + (words * _BYTES_A_WORD + documents * _BYTES_A_DOCUMENT) / 1e6
    return IndexPlan(documents, words, terms, memory, 1 + words / _WORDS_A_SECOND)


def build_index(
    library: Path, options: IndexOptions, on_stage: Callable[[str], None] = lambda _name: None
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
    plan_index(library, options)
    stages = Stages(on_stage)
    with open_library(library, writable=True) as database:
        with _corpus(database, options) as documents:
            fitted = fit_subspace(documents, options, stages)
        with database.reading() as connection:
            tokeniser = stored_setting(connection, TOKENISER) or {}
        index = _as_index(fitted, documents, tokeniser, options)
        with stages.stage("writing"), writer_lock(library, "lpisearch index", options.wait_seconds):
            folder = put_in_use(library, database, index)
    return _report(index, stages, folder)


def open_index(library: Path, name: str = "default") -> SubspaceIndex:
    """Open an index of a library, checking that its files are as they were written.

    Raises
    ------
    IndexNotFound, IndexDamaged, IndexTooNew, LibraryError
    """
    from lpisearch.store.folder import open_folder
    from lpisearch.store.index import SubspaceIndex

    with open_library(library) as database, database.reading() as connection:
        entries = {entry.name: entry for entry in index_entries(connection)}
    if name not in entries:
        raise IndexNotFound(name, entries)
    return SubspaceIndex(*open_folder(index_folder(library) / entries[name].folder))


def put_in_use(
    library: Path,
    database: Database,
    index: SubspaceIndex,
    unchanged: dict[str, Path] | None = None,
) -> Path:
    """Publish an index and let the library refer to it; the caller holds the writer lock."""
    from lpisearch.store.folder import publish, sweep

    manifest = index.manifest
    folder = publish(index_folder(library), manifest, index.arrays, unchanged)
    entry = IndexEntry(
        name=manifest.name,
        method=manifest.method,
        parameters=manifest.parameters,
        fingerprint=manifest.fingerprint,
        folder=folder.name,
        created_at=manifest.created,
    )
    with database.writing() as connection:
        save_index(connection, entry)
        used = {each.folder for each in index_entries(connection)}
    sweep(index_folder(library), used)
    return folder


def _refuse_too_few(documents: int, options: IndexOptions) -> None:
    if documents == 0 and options.where != Filter():
        raise NothingToIndex("No document passes --where.", "lpisearch status  (shows the labels)")
    if documents == 0:
        raise NothingToIndex("The library has no documents.", "lpisearch ingest PATH")
    if documents == 1:
        raise NothingToIndex(
            "The library has one document; a subspace needs at least two.", "lpisearch ingest PATH"
        )
    if options.dims is not None and options.dims >= documents:
        raise BadOption(
            "--dims", f"{options.dims} dimensions need more than the {documents:,} documents"
        )


@contextmanager
def _corpus(database: Database, options: IndexOptions) -> Iterator[Corpus]:
    """Give the documents as they are now, whatever is written meanwhile."""
    rows: list[int] = []
    hashes: list[bytes] = []
    with database.reading() as connection:
        labels = None
        if options.labels == "use":
            labels = corpus.labels_by_row(connection, options.where)
            if not labels:
                raise BadOption("--labels", "no document has a label to use")

        def shards() -> Iterator[list[str]]:
            for shard in corpus.token_shards(connection, options.where):
                rows.extend(shard.row_ids)
                hashes.extend(shard.hashes)
                yield shard.tokens

        yield Corpus(shards(), rows, hashes, labels)


def _as_index(
    fitted: Fitted, documents: Corpus, tokeniser: dict[str, Any], options: IndexOptions
) -> SubspaceIndex:
    from lpisearch.store.index import SubspaceIndex, document_arrays, term_array
    from lpisearch.store.manifest import Manifest

    projection, weighting = fitted.projection, fitted.weighting
    alpha = getattr(projection, "alpha_", None)
    manifest = Manifest(
        name=options.name,
        method=options.method,
        parameters=asdict(options),
        tokeniser=tokeniser,
        weighting={
            "name": weighting.name,
            "mean_length": weighting.mean_length,
            "k1": weighting.k1,
            "b": weighting.b,
        },
        result={
            "dims": projection.n_components_,
            "alpha": None if alpha is None else float(alpha),
            "documents": len(documents.rows),
            "terms": len(fitted.vocabulary),
            "components": getattr(projection, "n_graph_components_", None),
            "isolated": getattr(projection, "n_isolated_", None),
            "unknown_rate": round(fitted.unknown_rate, 6),
        },
        folded={"documents": 0, "words": 0, "unknown": 0},
        fingerprint=corpus.fingerprint(zip(documents.rows, documents.hashes, strict=True)),
        versions=library_versions(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    arrays: dict[str, Any] = {
        "terms": term_array(fitted.vocabulary),
        "document_frequencies": fitted.vocabulary.document_frequencies,
        "idf": weighting.idf,
        "loadings": projection.components_.T,
        "eigenvalues": projection.eigenvalues_,
        "scales": projection.scales_,
        **document_arrays(fitted.vectors, documents.rows, documents.hashes),
    }
    return SubspaceIndex(manifest, arrays)


def _report(index: SubspaceIndex, stages: Stages, folder: Path) -> IndexReport:
    return IndexReport(
        name=index.manifest.name,
        method=index.manifest.method,
        seconds=stages.seconds,
        peak_mb=peak_megabytes(),
        size_bytes=sum(path.stat().st_size for path in folder.iterdir()),
        folder=str(folder),
        **index.manifest.result,
    )
