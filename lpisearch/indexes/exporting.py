"""`lpisearch index --export-pgvector`: export vectors to an SQL table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.errors import VectorsUnavailable
from lpisearch.indexes.opening import OpenIndexes
from lpisearch.storage import open_store, writer_lock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.indexes.index import SubspaceIndex
    from lpisearch.places import Place


def check_exportable(library: Place) -> None:
    """Refuse a library that is in no database, before an index is worked out for it.

    Raises
    ------
    VectorsUnavailable
    """
    with open_store(library) as store, store.reading() as snapshot:
        if snapshot.vectors is None:
            raise VectorsUnavailable(
                f"{library} is a file; pgvector needs PostgreSQL",
                "use a database such as postgresql://USER@HOST/DATABASE",
            )


def export_vectors(library: Place, name: str, wait_seconds: float) -> str:
    """Write the vectors of the documents that are there into a table; return its name.

    It is there whole or not at all; until then whoever reads has the one before.

    Raises
    ------
    VectorsUnavailable, SubspaceError, LibraryError
    """
    with (
        writer_lock(library, "index", wait_seconds),
        open_store(library, writable=True) as store,
    ):
        opened = OpenIndexes(library, store).get(name)
        with store.writing(durable=True) as transaction:
            if opened is None or transaction.vectors is None:
                raise VectorsUnavailable(f"{library} has no index “{name}”", "")
            rows = _rows(opened.index, transaction.documents.ids())
            return transaction.vectors.replace(name, opened.index.places.shape[1], rows)


def _rows(index: SubspaceIndex, ids: dict[int, str]) -> Iterator[tuple[int, str, list[float]]]:
    for rows, vectors in index.places.blocks():
        for key, vector in zip(index.document_rows[rows].tolist(), vectors, strict=True):
            if key in ids and vector.any():  # an angle with nothing is none
                yield key, ids[key], vector.tolist()
