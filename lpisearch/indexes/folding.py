"""Keep indexes in step with the documents: new ones are placed by the map that there is.

The vocabulary and the map of an index never change; documents that are added or changed after
the build get their place by the same product or rule, those that are gone lose theirs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lpisearch.errors import SubspaceError
from lpisearch.indexes.places import IndexPlace
from lpisearch.indexes.rebuild import (
    due_for_rebuild,
    rebuild_command,
    rebuild_note,
    same_tokens,
)
from lpisearch.messages import Message
from lpisearch.storage import TOKENISER, fingerprint

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.indexes.index import SubspaceIndex
    from lpisearch.indexes.passages import Passages
    from lpisearch.places import Place
    from lpisearch.storage import IndexEntry, Snapshot, Store


def fold_in(library: Place, store: Store) -> tuple[list[str], list[str]]:
    """Bring all indexes of a library up to date; the caller holds the writer lock.

    Returns
    -------
    tuple
        What could not be done, and which of the indexes that took documents in are due to be built
        anew, for the user. The documents are safe in any case.
    """
    with store.reading() as snapshot:
        entries = snapshot.indexes.entries()
    complaints: list[str] = []
    due: list[str] = []
    for entry in entries:
        try:
            due += _fold_into(library, store, entry)
        except SubspaceError as error:
            complaints.append(Message(error.what, " Next: ", rebuild_command(entry.spec)))
    return complaints, due


def _fold_into(library: Place, store: Store, entry: IndexEntry) -> list[str]:
    """Take documents into one index; say whether it should now be built anew."""
    from lpisearch.indexes.build import put_in_use
    from lpisearch.indexes.folder import open_folder
    from lpisearch.indexes.index import TAKEN_IN, SubspaceIndex
    from lpisearch.indexes.passages import passage_arrays

    with store.reading() as snapshot:
        wanted = snapshot.corpus.content_hashes(entry.spec.where)
        covered = fingerprint(wanted)
        if covered == entry.fingerprint:
            return []
        folder = IndexPlace.of(library, snapshot).fetched(snapshot, entry)
        index = SubspaceIndex(*open_folder(folder))
        tokeniser = snapshot.settings.get(TOKENISER) or {}
        if not same_tokens(index.manifest, tokeniser):
            raise SubspaceError(
                f"The words of the index “{entry.name}” were made by other rules, or in another "
                "language, than those of the library now."
            )
        fresh = [row for row, content in wanted.items() if index.contents.get(row) != content]
        arrays = _with_documents(index, wanted, fresh, snapshot.corpus.tokens(fresh))
        now = SubspaceIndex(index.manifest, index.arrays | arrays)
        passages = _passages(index, now, set(fresh), snapshot)
    totals = arrays["taken_in"].sum(axis=0, dtype=int).tolist()
    manifest = replace(
        index.manifest,
        folded=dict(zip(TAKEN_IN, totals, strict=True)),
        fingerprint=covered,
        passages=None if passages is None else len(passages),
    )
    changed = arrays.keys() | passage_arrays(index.arrays)
    fixed = {name: folder / f"{name}.npy" for name in index.arrays if name not in changed}
    if passages is not None:
        arrays |= passages.arrays()
    put_in_use(library, store, SubspaceIndex(manifest, arrays), fixed)
    reason = due_for_rebuild(manifest, tokeniser)
    return [rebuild_note(entry.name, reason, rebuild_command(entry.spec))] if reason else []


def _with_documents(
    index: SubspaceIndex, wanted: dict[int, bytes], fresh: list[int], tokens: list[str]
) -> dict[str, NDArray[Any]]:
    """Return the arrays of an index that has just the wanted documents, fresh ones placed."""
    import numpy as np

    from lpisearch.indexes.index import TAKEN_IN, document_arrays
    from lpisearch.indexes.postings import NEW
    from lpisearch.indexes.scoring.document_terms import DocumentTerms
    from lpisearch.terms.counts import count_terms

    counts = count_terms([tokens], index.vocabulary)
    known = counts.matrix.sum(axis=1, dtype=np.int64)
    placed = {row: at for at, row in enumerate(index.contents)}
    places = np.array([placed.get(row, -1) for row in wanted], np.int64)
    stay, change = places >= 0, np.isin(list(wanted), fresh)
    vectors = np.zeros((len(wanted), index.vectors.shape[1]), np.float32)
    vectors[stay] = index.vectors[places[stay]]
    vectors[change] = index.project(counts.matrix)
    taken_in = np.zeros((len(wanted), len(TAKEN_IN)), np.int32)
    taken_in[stay] = index.taken_in[places[stay]]
    taken_in[change] = np.column_stack(
        [np.ones_like(known), counts.lengths, counts.lengths - known]
    )
    postings = index.postings.with_documents(
        np.where(change, NEW, places), tokens, index.vocabulary
    )
    documents = document_arrays(vectors, list(wanted), list(wanted.values()), taken_in)
    return documents | postings.arrays() | DocumentTerms.of_postings(postings).arrays()


def _passages(
    before: SubspaceIndex, now: SubspaceIndex, fresh: set[int], snapshot: Snapshot
) -> Passages | None:
    """Return the passages of the documents as they are now; those of fresh ones are placed.

    An index of an earlier program has none, and gets none before it is built anew.
    """
    import numpy as np

    from lpisearch.indexes.passages import cut_documents, place_passages, staying
    from lpisearch.terms.tokenisers import Tokenisers

    if before.manifest.passages is None:
        return None
    places = {row: place for place, row in enumerate(now.document_rows.tolist())}
    kept = None
    if before.passages is not None:
        rows = before.document_rows.tolist()
        moved = [-1 if row in fresh else places.get(row, -1) for row in rows]
        kept = staying(before.passages, np.array(moved, np.int64), now.postings)
    long = now.document_rows[now.long_documents].tolist()
    found = cut_documents(
        snapshot,
        Tokenisers().of(before.manifest.tokeniser),
        {row: places[row] for row in long if row in fresh},
    )
    return place_passages(now, found, kept)
