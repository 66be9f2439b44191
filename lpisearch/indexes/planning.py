"""What building an index will take, said before anything is counted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from lpisearch.errors import BadOption, NothingToIndex
from lpisearch.indexes.checking import check_options
from lpisearch.messages import Message, Option, call
from lpisearch.projections.catalogue import CATALOGUE, DIMENSIONS, EXACT_DOCUMENTS, LANDMARKS
from lpisearch.records import Filter, IndexPlan
from lpisearch.storage import open_store
from lpisearch.terms.cutting import LONG_DOCUMENT
from lpisearch.terms.vocabulary import VocabularyLimits

if TYPE_CHECKING:
    from pathlib import Path

    from lpisearch.projections.catalogue import Method
    from lpisearch.settings import IndexSpec

_NAME = re.compile(r"[\w.][\w.-]*")
_LONGEST_NAME = 100  # in bytes: it becomes part of a folder's name
_CHARACTERS_A_WORD = 7


_BASE_MEGABYTES = 210
_BYTES_A_NUMBER = 4  # float32
_BYTES_A_WORD = 65
# Processor time on one core, in the stages of builds of 236 to 21,577 documents.
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


def plan_index(library: Path, options: IndexSpec) -> IndexPlan:
    """Say what building an index will take.

    Raises
    ------
    BadOption, NothingToIndex, LibraryError
    """
    check_options(options)
    _check_name(options.name)
    with open_store(library) as store, store.reading() as snapshot:
        documents, characters, in_long = snapshot.corpus.size(
            options.where, LONG_DOCUMENT * _CHARACTERS_A_WORD
        )
        labels = 0 if options.train == "none" else len(snapshot.labels.names())
        limits = VocabularyLimits()
        found = snapshot.lexical.count_terms(limits.smallest_df(documents))
        terms = min(found, limits.max_terms or found)
    _refuse_too_few(documents, options)
    words, in_long = characters // _CHARACTERS_A_WORD, in_long // _CHARACTERS_A_WORD
    sizes = _Sizes(documents, words, in_long, terms, labels, _dimensions(documents, options))
    method = CATALOGUE[options.method]
    stages = _seconds(sizes, method)
    seconds = _BASE_SECONDS + sum(stages.values())
    return IndexPlan(documents, words, terms, _megabytes(sizes, method), seconds, stages)


class _Sizes(NamedTuple):
    """What there is of each."""

    documents: int
    words: int
    words_in_long: int
    terms: int
    labels: int
    dims: int


def _dimensions(documents: int, options: IndexSpec) -> int:
    method = CATALOGUE[options.method]
    own = method.usual_dimensions(documents)
    most = min(DIMENSIONS, documents - 1) if isinstance(own, str) else own
    return (options.dims or most) + method.cost.more_dimensions


def _megabytes(sizes: _Sizes, method: Method) -> float:
    arrays = method.cost.blocks * (sizes.documents + sizes.terms) * sizes.dims * _BYTES_A_NUMBER
    if method.has_kernel:
        arrays += _with_kernels(sizes.documents) ** 2 * _BYTES_A_KERNEL
    return _BASE_MEGABYTES + (sizes.words * _BYTES_A_WORD + arrays) / 1e6


def _seconds(sizes: _Sizes, method: Method) -> dict[str, float]:
    """Return the seconds of each stage of a build, by its name."""
    documents, words, cells = sizes.documents, sizes.words, sizes.documents * sizes.dims
    projecting = cells * _SECONDS_A_DOCUMENT_AND_DIMENSION
    projecting += words * method.cost.rounds * sizes.dims * _SECONDS_A_WORD_AND_DIMENSION
    if method.has_kernel:
        side = _with_kernels(documents)
        each = _SECONDS_A_KERNEL if side == documents else _SECONDS_A_LANDMARK
        projecting += documents * side * each
    linking = documents * _SECONDS_A_DOCUMENT_LINKED + documents**2 * _SECONDS_A_PAIR
    return {
        "counting terms": words * _SECONDS_A_WORD,
        "linking neighbours": linking if method.has_graph else 0.0,
        "projecting": projecting,
        "learning labels": words * sizes.labels * _SECONDS_A_WORD_AND_LABEL,
        "calibrating": words * _SECONDS_A_WORD_CALIBRATED,
        "placing passages": sizes.words_in_long * _SECONDS_A_WORD_IN_PASSAGES,
    }


def _with_kernels(documents: int) -> int:
    """Return with how many documents each is compared by a kernel."""
    return documents if documents <= EXACT_DOCUMENTS else LANDMARKS


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise BadOption("name", f"“{name}” has signs other than letters, digits, . _ -")
    if len(name.encode()) > _LONGEST_NAME:
        raise BadOption("name", f"“{name[:20]}…” is longer than {_LONGEST_NAME} bytes")


def _refuse_too_few(documents: int, options: IndexSpec) -> None:
    if documents < 2 and options.where != Filter():  # noqa: PLR2004 (the least to compare)
        number = "Only one document passes" if documents else "No document passes"
        raise NothingToIndex(
            Message(f"{number} ", Option("where"), "."),
            Message(call("status"), "  (shows the labels)"),
        )
    if documents == 0:
        raise NothingToIndex("The library has no documents.", call("ingest", "PATH"))
    if documents == 1:
        raise NothingToIndex(
            "The library has one document; a subspace needs at least two.", call("ingest", "PATH")
        )
    if options.dims is not None and options.dims >= documents:
        raise BadOption(
            "dims", f"{options.dims} dimensions need more than the {documents:,} documents"
        )
