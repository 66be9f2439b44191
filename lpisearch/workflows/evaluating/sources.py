"""Where an evaluation takes its documents from, and the index that lies beside them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.database.schema import open_library
from lpisearch.errors import NothingToEvaluate
from lpisearch.workflows.evaluating.collection import library_collection
from lpisearch.workflows.evaluating.matrices import matrix_collection
from lpisearch.workflows.opening import entry_named

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from lpisearch.database.indexes import IndexEntry
    from lpisearch.settings import EvaluateOptions
    from lpisearch.workflows.evaluating.collection import Collection


@dataclass(frozen=True, eq=False, slots=True)
class StoredVectors:
    """The documents as an index in use has them.

    Attributes
    ----------
    method, dims
        Of the index.
    vectors
        Documents as rows at unit length.
    places
        The row of each document, by its key in the library.
    notes
        What is to be known of them.
    """

    method: str
    dims: int
    vectors: NDArray[np.float32]
    places: dict[int, int]
    notes: tuple[str, ...]

    def of(self, keys: Sequence[int]) -> NDArray[np.float32]:
        """Return the vectors of documents."""
        return np.asarray(self.vectors[[self.places[key] for key in keys]])

    def known(self, collection: Collection) -> Collection:
        """Keep the documents that the index has."""
        rows = [row for row, key in enumerate(collection.keys) if key in self.places]
        missing = len(collection) - len(rows)
        if not missing:
            return collection
        if not rows:
            raise NothingToEvaluate(
                "The index has none of the labelled documents.", "lpisearch index"
            )
        said = f"{missing:,} documents are not in the index and are left out."
        return replace(collection.of(rows), notes=(*collection.notes, said))


@dataclass(frozen=True, eq=False, slots=True)
class Source:
    """A library or a file, read once.

    Attributes
    ----------
    library
        The database file.
    collection
        Its documents, or those of the file.
    has_index
        Whether it is a library: a file has no index.
    """

    library: Path
    collection: Collection
    has_index: bool

    @classmethod
    def open(cls, library: Path, options: EvaluateOptions) -> Source:
        """Read the documents.

        Raises
        ------
        LibraryError, MatrixUnreadable, NothingToEvaluate
        """
        if options.matrix is not None:
            return cls(library, matrix_collection(options.matrix), has_index=False)
        return cls(library, library_collection(library), has_index=True)

    def entry(self, name: str) -> IndexEntry | None:
        """Return what the library says of an index; None if it has no default one.

        Raises
        ------
        IndexNotFound
        """
        if not self.has_index:
            return None
        with open_library(self.library) as database, database.reading() as connection:
            return entry_named(connection, name)

    def stored_vectors(self, name: str) -> StoredVectors | None:
        """Open the vectors of an index; None if there is none.

        Raises
        ------
        IndexNotFound, IndexDamaged, IndexTooNew
        """
        entry = self.entry(name)
        if entry is None:
            return None
        from lpisearch.workflows.indexing import open_index

        index = open_index(self.library, name)
        rows: list[int] = index.arrays["document_rows"].tolist()
        notes = []
        if entry.parameters.get("labels") == "use":
            notes.append("The index learned from the labels that it is compared with here.")
        places = {key: place for place, key in enumerate(rows)}
        return StoredVectors(
            index.manifest.method, index.vectors.shape[1], index.vectors, places, tuple(notes)
        )


def index_options(source: Source, options: EvaluateOptions) -> tuple[EvaluateOptions, str]:
    """Take what an index was built with where nothing else is asked for; name its method.

    Returns
    -------
    tuple
        The options, and the method: "rlpi" if there is no index.
    """
    entry = None if options.methods else source.entry(options.index)
    if entry is None:
        return options, "rlpi"
    asked: dict[str, Any] = entry.parameters
    return replace(
        options,
        alpha=options.alpha if options.alpha is not None else asked.get("alpha"),
        weighting=options.weighting or asked.get("weighting", ""),
        neighbours=asked.get("neighbours", options.neighbours),
    ), entry.method
