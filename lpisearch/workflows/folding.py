"""Keep indexes in step with the documents: new ones are projected by the map that there is.

The vocabulary and the map of an index never change; documents that are added or changed after
the build get their place by the same product, those that are gone lose theirs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lpisearch.database import corpus
from lpisearch.database.indexes import index_entries
from lpisearch.errors import SubspaceError
from lpisearch.records import Filter
from lpisearch.settings import index_folder

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from lpisearch.database.engine import Database
    from lpisearch.database.indexes import IndexEntry
    from lpisearch.store.index import SubspaceIndex
    from lpisearch.store.manifest import Manifest

# A rebuild is due when a fifth of the documents, or a tenth more of the words, are new to the map.
_DUE_SHARE = 0.2
_DUE_UNKNOWN = 0.1
_DUE_DOCUMENTS = 20


def fold_in(library: Path, database: Database) -> list[str]:
    """Bring all indexes of a library up to date; the caller holds the writer lock.

    Returns
    -------
    list of str
        What could not be done, for the user. The documents are safe in any case.
    """
    with database.reading() as connection:
        entries = index_entries(connection)
    complaints = []
    for entry in entries:
        try:
            _fold_into(library, database, entry)
        except SubspaceError as error:
            complaints.append(str(error))
    return complaints


def due_for_rebuild(manifest: Manifest) -> str:
    """Say why an index should be built anew, or ""."""
    folded, built = manifest.folded, manifest.result
    documents = folded["documents"]
    if documents >= max(_DUE_DOCUMENTS, _DUE_SHARE * built["documents"]):
        return f"{documents:,} documents came after it was built from {built['documents']:,}"
    unknown = folded["unknown"] / max(folded["words"], 1)
    if documents >= _DUE_DOCUMENTS and unknown >= built["unknown_rate"] + _DUE_UNKNOWN:
        return f"{unknown:.0%} of the words in newer documents are unknown to it"
    return ""


def _fold_into(library: Path, database: Database, entry: IndexEntry) -> None:
    from lpisearch.store.folder import open_folder
    from lpisearch.store.index import FIXED_ARRAYS, SubspaceIndex, document_arrays
    from lpisearch.workflows.indexing import put_in_use

    where = filter_of(entry)
    with database.reading() as connection:
        wanted = corpus.content_hashes(connection, where)
        if corpus.fingerprint(wanted) == entry.fingerprint:
            return
        folder = index_folder(library) / entry.folder
        index = SubspaceIndex(*open_folder(folder))
        placed = {row: at for at, row in enumerate(index.contents)}
        fresh = [row for row, content in wanted.items() if index.contents.get(row) != content]
        folded, vectors = _project(index, corpus.tokens_of(connection, fresh))
    import numpy as np

    places = np.array([placed.get(row, -1) for row in wanted], np.int64)
    every = np.zeros((len(wanted), index.vectors.shape[1]), np.float32)
    every[places >= 0] = index.vectors[places[places >= 0]]
    is_fresh = set(fresh)
    every[[at for at, row in enumerate(wanted) if row in is_fresh]] = vectors
    manifest = replace(
        index.manifest,
        folded={name: index.manifest.folded[name] + number for name, number in folded.items()},
        fingerprint=corpus.fingerprint(wanted),
    )
    arrays = document_arrays(every, list(wanted), list(wanted.values()))
    fixed = {name: folder / f"{name}.npy" for name in FIXED_ARRAYS}
    put_in_use(library, database, SubspaceIndex(manifest, arrays), fixed)


def _project(index: SubspaceIndex, tokens: list[str]) -> tuple[dict[str, int], NDArray[np.float32]]:
    """Place documents, and count how much of them the vocabulary does not know."""
    from lpisearch.terms.counts import count_terms

    counts = count_terms([tokens], index.vocabulary)
    words = int(counts.lengths.sum())
    unknown = words - int(counts.matrix.sum())
    folded = {"documents": len(tokens), "words": words, "unknown": unknown}
    return folded, index.project(counts.matrix)


def filter_of(entry: IndexEntry) -> Filter:
    """Return which documents an index covers."""
    where = entry.parameters.get("where", {})
    return Filter(tuple(where.get("labels", ())), where.get("path", ""), where.get("split", ""))
