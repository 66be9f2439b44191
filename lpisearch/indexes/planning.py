"""What building an index will take, said before anything is counted."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lpisearch.errors import BadOption, NothingToIndex
from lpisearch.indexes.learn import check_options
from lpisearch.messages import Message, Option, call
from lpisearch.projections.methods import DIMENSIONS, usual_dimensions
from lpisearch.records import Filter, IndexPlan
from lpisearch.storage import open_store
from lpisearch.terms.vocabulary import VocabularyLimits

if TYPE_CHECKING:
    from pathlib import Path

    from lpisearch.settings import IndexSpec

_NAME = re.compile(r"[\w.][\w.-]*")
_LONGEST_NAME = 100  # in bytes: it becomes part of a folder's name
_CHARACTERS_A_WORD = 7


@dataclass(frozen=True, slots=True)
class _Cost:
    """What a method takes beyond counting.

    Attributes
    ----------
    blocks
        How many arrays of (documents + terms) x dimensions it holds at once.
    more
        Dimensions that it works with beyond those that it keeps.
    has_graph
        Whether all documents are compared with each other.
    rounds
        How many times as long as RLPI it works on each word and dimension.
    has_kernel
        Whether a matrix of documents x documents is held, up to the bound of `KRLPI`.
    """

    blocks: float
    more: int
    has_graph: bool
    rounds: float = 1
    has_kernel: bool = False


# The first four were measured on 286, 5,000 and 18,846 documents at 40, 150 and 400 dimensions,
# with two cores: the estimates were 0.7 to 1.5 times what it took on a quiet machine. The others
# were measured once, beside RLPI, on 4,712 documents at 150 dimensions.
_COSTS = {
    "rlpi": _Cost(1.5, 0, has_graph=True),
    "olpi": _Cost(5.5, 100, has_graph=True),
    "lpi": _Cost(6, 200, has_graph=True),
    "lsi": _Cost(5.3, 0, has_graph=False),
    "pca": _Cost(7, 0, has_graph=False),
    "lpp": _Cost(7, 200, has_graph=True),
    "laplacian-score": _Cost(1, 0, has_graph=True),
    "ls+lpi": _Cost(3, 0, has_graph=True),
    "slpi": _Cost(2, 0, has_graph=True, rounds=35),
    "fsslpi": _Cost(6, 0, has_graph=True, rounds=60),
    "lpfl": _Cost(6, 0, has_graph=True, rounds=5),
    "spg": _Cost(1.5, 0, has_graph=True, rounds=30),
    "spca": _Cost(6, 0, has_graph=False, rounds=30),
    "plsi": _Cost(3, 0, has_graph=False, rounds=20),
    "nmf": _Cost(7, 0, has_graph=False, rounds=20),
    "eigenmaps": _Cost(1, 0, has_graph=True),
    "krlpi": _Cost(1, 0, has_graph=True, has_kernel=True),
}
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


def plan_index(library: Path, options: IndexSpec) -> IndexPlan:
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
    from lpisearch.projections.registry import METHODS

    cost = _COSTS.get(options.method, _COSTS["lpi"])
    own = usual_dimensions(METHODS[options.method], documents)
    most = min(DIMENSIONS, documents - 1) if isinstance(own, str) else own
    dims = (options.dims or most) + cost.more
    arrays = cost.blocks * (documents + terms) * dims * _BYTES_A_NUMBER
    seconds = words * (_SECONDS_A_WORD + cost.rounds * dims * _SECONDS_A_WORD_AND_DIMENSION)
    if cost.has_graph:
        seconds += documents**2 * _SECONDS_A_PAIR
    if cost.has_kernel:
        side = _with_kernels(documents)
        each = _SECONDS_A_KERNEL if side == documents else _SECONDS_A_LANDMARK
        seconds += documents * side * each
        arrays += side**2 * _BYTES_A_KERNEL
    megabytes = _BASE_MEGABYTES + (words * _BYTES_A_WORD + arrays) / 1e6
    return megabytes, _BASE_SECONDS + seconds


def _with_kernels(documents: int) -> int:
    """Return with how many documents each is compared by a kernel."""
    from lpisearch.projections.krlpi import KRLPI

    usual = KRLPI()
    return documents if documents <= usual.exact_documents else usual.landmarks


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
