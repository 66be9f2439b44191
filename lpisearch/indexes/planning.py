"""What building an index will take, said before anything is counted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lpisearch.errors import BadOption, NothingToIndex
from lpisearch.indexes.checking import check_options
from lpisearch.messages import Message, Option, call
from lpisearch.projections.catalogue import CATALOGUE, DIMENSIONS, EXACT_DOCUMENTS, LANDMARKS
from lpisearch.records import Filter, IndexPlan
from lpisearch.storage import open_store
from lpisearch.terms.vocabulary import VocabularyLimits

if TYPE_CHECKING:
    from lpisearch.places import Place
    from lpisearch.settings import IndexSpec

_NAME = re.compile(r"[\w.][\w.-]*")
_LONGEST_NAME = 100  # in bytes: it becomes part of a folder's name
_CHARACTERS_A_WORD = 7


_BASE_MEGABYTES = 210
_BYTES_A_NUMBER = 4  # float32
_BYTES_A_WORD = 65
_BASE_SECONDS = 2
_SECONDS_A_WORD = 0.25e-6
_SECONDS_A_WORD_AND_DIMENSION = 0.004e-6
_SECONDS_A_PAIR = 2e-9
_SECONDS_A_KERNEL = 80e-9
_SECONDS_A_LANDMARK = 300e-9
_BYTES_A_KERNEL = 17  # its matrix and the factor of it


def plan_index(library: Place, options: IndexSpec) -> IndexPlan:
    """Say what building an index will take.

    Raises
    ------
    BadOption, NothingToIndex, LibraryError
    """
    check_options(options)
    _check_name(options.name)
    with open_store(library) as store, store.reading() as snapshot:
        documents, characters = snapshot.corpus.size(options.where)
        limits = VocabularyLimits()
        found = snapshot.lexical.count_terms(limits.smallest_df(documents))
        terms = min(found, limits.max_terms or found)
    _refuse_too_few(documents, options)
    words = characters // _CHARACTERS_A_WORD
    return IndexPlan(documents, words, terms, *_estimates(documents, words, terms, options))


def _estimates(documents: int, words: int, terms: int, options: IndexSpec) -> tuple[float, float]:
    """Return megabytes and seconds."""
    method = CATALOGUE[options.method]
    cost = method.cost
    own = method.usual_dimensions(documents)
    most = min(DIMENSIONS, documents - 1) if isinstance(own, str) else own
    dims = (options.dims or most) + cost.more_dimensions
    arrays = cost.blocks * (documents + terms) * dims * _BYTES_A_NUMBER
    seconds = words * (_SECONDS_A_WORD + cost.rounds * dims * _SECONDS_A_WORD_AND_DIMENSION)
    if method.has_graph:
        seconds += documents**2 * _SECONDS_A_PAIR
    if method.has_kernel:
        side = _with_kernels(documents)
        each = _SECONDS_A_KERNEL if side == documents else _SECONDS_A_LANDMARK
        seconds += documents * side * each
        arrays += side**2 * _BYTES_A_KERNEL
    megabytes = _BASE_MEGABYTES + (words * _BYTES_A_WORD + arrays) / 1e6
    return megabytes, _BASE_SECONDS + seconds


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
