"""Estimated cost of a build; threads, workers or a cluster."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from lpisearch.classifiers.trainer import LIMITS
from lpisearch.errors import BadOption, NothingToIndex
from lpisearch.index.projection import DRAWN_A_LEADER, MOST_LEADERS, Samples, check_options
from lpisearch.location import Address, Location
from lpisearch.messages import Message, Option, call
from lpisearch.methods.catalogue import CATALOGUE, EXACT_DOCUMENTS, LANDMARKS
from lpisearch.model.documents import Filter
from lpisearch.model.reports import IndexPlan
from lpisearch.numeric.row_blocks import use_executor
from lpisearch.storage import open_store
from lpisearch.text.spans import LONG_DOCUMENT
from lpisearch.text.vocabulary import VocabularyLimits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.index.directory import IndexLocation
    from lpisearch.options import IndexOptions, IndexSpec


MOST_DIMENSIONS = 300  # chosen by the spectrum; repeated here, as that module imports SciPy
_NAME = re.compile(r"[\w.][\w.-]*")
_LONGEST_NAME = 100  # in bytes: it becomes part of a folder's name
_CHARACTERS_A_WORD = 7

FILES_FROM = 50_000  # documents: longer builds write checkpoints
_BASE_MEGABYTES = 210
_BYTES_A_NUMBER = 4  # float32
_BYTES_A_WORD = 65
# With files: of the words of a sample, of all words in calibration, of a document (its key, hash
# and label), of a term.
_BYTES_A_SAMPLED_WORD = 65
_BYTES_A_CALIBRATED_WORD = 33
_BYTES_A_DOCUMENT = 700
_BYTES_A_TERM = 1500
# Of labels: for each word of a training document; for each document and label; and again for each
# document of the split that measures accuracy.
_BYTES_A_LABELLED_WORD = 40
_BYTES_A_CELL = 40
_BYTES_A_CELL_HELD_OUT = 60
# Processor time on one core, measured in builds of 236 to 21,577 documents.
_BASE_SECONDS = 1
_SECONDS_A_WORD = 0.45e-6
_SECONDS_A_WORD_AND_DIMENSION = 0.004e-6
_SECONDS_A_DOCUMENT_AND_DIMENSION = 1e-6
_SECONDS_A_DOCUMENT_LINKED = 150e-6
_SECONDS_A_PAIR = 2e-9
_SECONDS_A_WORD_AND_LABEL = 0.07e-6
_SECONDS_A_WORD_CALIBRATED = 0.5e-6
_SECONDS_A_WORD_IN_PASSAGES = 2e-6
_SECONDS_A_KERNEL = 80e-9
_SECONDS_A_LANDMARK = 300e-9
_BYTES_A_KERNEL = 17  # its matrix and the factor of it
_LEAST_LEARNED_FROM = 2500


class _Size(NamedTuple):
    """The size of a library."""

    documents: int
    words: int
    terms: int
    words_in_long: int = 0
    labels: int = 0


class _Megabytes(NamedTuple):
    """Peak memory while the map and while the classifier is learned."""

    map: float
    labels: float


def plan_index(library: Location, options: IndexOptions) -> IndexPlan:
    """Estimate time and memory of a build."""
    check_options(options)
    _check_name(options.name)
    with open_store(library) as store, store.reading() as snapshot:
        documents, characters, in_long = snapshot.corpus.size(
            options.where, LONG_DOCUMENT * _CHARACTERS_A_WORD
        )
        labels = 0 if options.train == "none" else len(snapshot.labels.names())
        limits = VocabularyLimits()
        terms = snapshot.lexical.count_terms(limits.min_df_for(documents))
        terms = min(terms, limits.max_terms or terms)
    _refuse_too_few(documents, options)
    words, in_long = characters // _CHARACTERS_A_WORD, in_long // _CHARACTERS_A_WORD
    return _within(_Size(documents, words, terms, in_long, labels), options)


def _within(size: _Size, options: IndexOptions) -> IndexPlan:
    """Choose memory or files, and sample sizes, for the available memory."""
    limit = None if options.memory is None else options.memory / 1e6
    learning = Samples(MOST_LEADERS, min(size.documents, LIMITS.n_documents(size.labels)))
    needs = _megabytes(size, options, learning, in_files=False)
    in_files = size.documents >= FILES_FROM if limit is None else max(needs) > limit
    in_files = in_files or bool(options.cluster or options.workers)
    needs = _megabytes(size, options, learning, in_files=in_files)
    while limit is not None and max(needs) > limit:
        learning = learning.halved(of_labels=needs.labels > needs.map)
        if min(learning) < min(size.documents, _LEAST_LEARNED_FROM):
            raise BadOption("memory", f"this build needs at least {max(needs):,.0f} MB")
        needs = _megabytes(size, options, learning, in_files=True)
    most = learning.map
    stages = _seconds(size, options, most)
    seconds = _BASE_SECONDS + sum(stages.values())
    labelled = learning.labels if size.labels else 0
    return IndexPlan(*size[:3], max(needs), seconds, most, in_files, stages, labelled)


def _dimensions(documents: int, options: IndexSpec) -> int:
    method = CATALOGUE[options.method]
    own = method.usual_dimensions(documents)
    most = min(MOST_DIMENSIONS, documents - 1) if isinstance(own, str) else own
    return (options.dims or most) + method.cost.more_dimensions


def _learned_from(size: _Size, options: IndexSpec, most: int) -> int:
    method = CATALOGUE[options.method]
    sampled = method.has_graph and method.is_linear and options.graph != "label"
    return min(size.documents, most) if sampled else size.documents


def _megabytes(size: _Size, options: IndexSpec, learning: Samples, *, in_files: bool) -> _Megabytes:
    """Estimate the peak memory of learning, everything else in memory included."""
    method = CATALOGUE[options.method]
    dims = _dimensions(size.documents, options)
    learned_from = _learned_from(size, options, learning.map)
    needs = method.cost.blocks * (learned_from + size.terms) * dims * _BYTES_A_NUMBER
    if method.has_kernel:
        needs += _kernel_side(size.documents) ** 2 * _BYTES_A_KERNEL
    if in_files:
        drawn = min(size.documents, DRAWN_A_LEADER * learned_from)
        needs += size.words * drawn / size.documents * _BYTES_A_SAMPLED_WORD
        needs = max(needs, size.words * _BYTES_A_CALIBRATED_WORD)
        held = size.documents * _BYTES_A_DOCUMENT + size.terms * _BYTES_A_TERM
        words = size.words * learning.labels / size.documents * _BYTES_A_LABELLED_WORD
    else:
        held = size.words * _BYTES_A_WORD + size.documents * dims * _BYTES_A_NUMBER
        words = 0.0
    of_labels = words + _label_bytes(size, learning.labels) if size.labels else 0.0
    return _Megabytes(*(_BASE_MEGABYTES + (held + extra) / 1e6 for extra in (needs, of_labels)))


def _label_bytes(size: _Size, documents: int) -> float:
    """Estimate the memory of learning labels without that of the words."""
    classes = min(size.labels, LIMITS.classes)
    held_out_from = min(documents, LIMITS.judged + LIMITS.seen)
    return classes * (documents * _BYTES_A_CELL + held_out_from * _BYTES_A_CELL_HELD_OUT)


def _seconds(size: _Size, options: IndexSpec, most: int) -> dict[str, float]:
    """Estimate the seconds of each stage of a build."""
    method = CATALOGUE[options.method]
    dims = _dimensions(size.documents, options)
    documents = _learned_from(size, options, most)
    words = size.words * documents / size.documents
    projecting = documents * dims * _SECONDS_A_DOCUMENT_AND_DIMENSION
    projecting += words * method.cost.rounds * dims * _SECONDS_A_WORD_AND_DIMENSION
    if method.has_kernel:
        side = _kernel_side(documents)
        seconds = _SECONDS_A_KERNEL if side == documents else _SECONDS_A_LANDMARK
        projecting += documents * side * seconds
    linking = documents * _SECONDS_A_DOCUMENT_LINKED + documents**2 * _SECONDS_A_PAIR
    return {
        "counting terms": size.words * _SECONDS_A_WORD,
        "finding neighbours": linking if method.has_graph else 0.0,
        "projecting": projecting,
        "embedding documents": size.words * dims * _SECONDS_A_WORD_AND_DIMENSION,
        "training classifiers": size.words * size.labels * _SECONDS_A_WORD_AND_LABEL,
        "calibrating": size.words * _SECONDS_A_WORD_CALIBRATED,
        "embedding passages": size.words_in_long * _SECONDS_A_WORD_IN_PASSAGES,
    }


def _kernel_side(documents: int) -> int:
    """Return the number of documents with which a kernel compares each document."""
    return documents if documents <= EXACT_DOCUMENTS else LANDMARKS


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise BadOption("name", f"“{name}” may contain only letters, digits, “.”, “_” and “-”")
    if len(name.encode()) > _LONGEST_NAME:
        raise BadOption("name", f"“{name[:20]}…” is longer than {_LONGEST_NAME} bytes")


def _refuse_too_few(documents: int, options: IndexSpec) -> None:
    if documents < 2 and options.where != Filter():  # noqa: PLR2004 (the least to compare)
        number = "Only one document matches" if documents else "No document matches"
        raise NothingToIndex(
            Message(f"{number} ", Option("where"), "."),
            Message(call("status"), "  (lists the labels)"),
        )
    if documents == 0:
        raise NothingToIndex("The library has no documents.", call("ingest", "PATH"))
    if documents == 1:
        raise NothingToIndex(
            "The library has only one document; an index needs at least two.",
            call("ingest", "PATH"),
        )
    if options.dims is not None and options.dims >= documents:
        raise BadOption("dims", f"{options.dims} dimensions need more than {documents:,} documents")


@dataclass(frozen=True, slots=True)
class Parallelism:
    """The workers of a build."""

    reads_library: bool = False  # whether they read the documents from the library themselves
    notes: tuple[str, ...] = ()


_NOT_READ = (
    "Words were counted on this machine only: other machines cannot read an SQLite file in use. "
    "With PostgreSQL, all of them can."
)


def check_parallelism(options: IndexOptions) -> None:
    """Refuse contradictory options."""
    if options.cluster and options.workers:
        raise BadOption(("cluster", "workers"), "cannot be used together")
    if options.workers < 0:
        raise BadOption("workers", f"must be 0 or more, not {options.workers}")


@contextmanager
def parallel(
    options: IndexOptions, library: Location, location: IndexLocation
) -> Iterator[Parallelism]:
    """Run the block on threads, local workers or a cluster, as the options say."""
    if not options.cluster and not options.workers:
        yield Parallelism()
        return
    from lpisearch.numeric import dask_cluster

    workers = (
        dask_cluster.cluster_at(options.cluster)
        if options.cluster
        else dask_cluster.local_cluster(options.workers)
    )
    with workers as cluster, use_executor(cluster):
        dask_cluster.check_shared(cluster, location.folder, location.mode)
        reads = isinstance(library, Address) or dask_cluster.is_one_machine(cluster)
        yield Parallelism(reads, () if reads else (_NOT_READ,))
