"""Choices offered before a library is open: libraries and methods."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from lpisearch.places import place_of

if TYPE_CHECKING:
    from lpisearch.places import Place

DEFAULT_PATH = "lpisearch.db"


def default_path() -> Place:
    """Return the library that is meant where none is named.

    It is `LPISEARCH_DB`; else `lpisearch.db`, if there is one in the current folder; else the
    standing library of the settings; else `lpisearch.db`, which need not be there yet.

    Raises
    ------
    BadPreference
        The file of settings cannot be understood.
    """
    named, here = os.environ.get("LPISEARCH_DB"), Path(DEFAULT_PATH)
    if named or here.exists():
        return place_of(named or here)
    from lpisearch.settings.preferences import standing_library

    standing = standing_library()
    return here if standing is None else standing.value


def method_names() -> list[str]:
    """Return the names of the methods that `Library.index` takes."""
    from lpisearch.projections.catalogue import CATALOGUE

    return list(CATALOGUE)


def classifier_names() -> list[str]:
    """Return the names of the classifiers that `Library.classify` takes."""
    from lpisearch.classifiers.classifier import AUTO, CLASSIFIERS

    return [AUTO, *CLASSIFIERS]


def graph_names() -> list[str]:
    """Return the names of the graphs that `Library.index` takes."""
    from lpisearch.graphs.registry import GRAPHS

    return list(GRAPHS)


def pairs_of(path: str | os.PathLike[str]) -> tuple[tuple[str, str, str], ...]:
    """Read a file of pairs, which `Library.index` takes: what belongs together, and what does not.

    A line is `must ID ID` or `cannot ID ID`, with tabs between.
    """
    from lpisearch.readers.pairs import read_pairs

    return read_pairs(Path(path))
