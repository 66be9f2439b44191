"""What building an index will take, said before anything is counted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lpisearch.database.corpus import corpus_size
from lpisearch.database.fulltext import count_terms
from lpisearch.database.schema import open_library
from lpisearch.errors import BadOption, NothingToIndex
from lpisearch.records import Filter, IndexPlan
from lpisearch.terms.vocabulary import VocabularyLimits
from lpisearch.workflows.subspace import check_options

if TYPE_CHECKING:
    from pathlib import Path

    from lpisearch.settings import IndexOptions

_NAME = re.compile(r"[\w.][\w.-]*")
_LONGEST_NAME = 100  # in bytes: it becomes part of a folder's name
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
    _check_name(options.name)
    with open_library(library) as database, database.reading() as connection:
        documents, characters = corpus_size(connection, options.where)
        limits = VocabularyLimits()
        found = count_terms(connection, limits.smallest_df(documents))
        terms = min(found, limits.max_terms or found)
    _refuse_too_few(documents, options)
    words = characters // _CHARACTERS_A_WORD
    memory = _BASE_MEGABYTES + (words * _BYTES_A_WORD + documents * _BYTES_A_DOCUMENT) / 1e6
    return IndexPlan(documents, words, terms, memory, 1 + words / _WORDS_A_SECOND)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise BadOption("--name", f"“{name}” has signs other than letters, digits, . _ -")
    if len(name.encode()) > _LONGEST_NAME:
        raise BadOption("--name", f"“{name[:20]}…” is longer than {_LONGEST_NAME} bytes")


def _refuse_too_few(documents: int, options: IndexOptions) -> None:
    if documents < 2 and options.where != Filter():  # noqa: PLR2004 (the least to compare)
        number = "Only one document passes" if documents else "No document passes"
        raise NothingToIndex(f"{number} --where.", "lpisearch status  (shows the labels)")
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
