"""Update indexes: embed new documents with the existing model.

The vocabulary and the map of an index never change; documents that are added or changed after
the build get their place by the same product or rule, those that are gone lose theirs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from lpisearch.errors import SubspaceError
from lpisearch.indexes.places import IndexPlace
from lpisearch.indexes.rebuild import (
    due_for_rebuild,
    rebuild_command,
    rebuild_note,
    same_tokens,
)
from lpisearch.messages import Message
from lpisearch.storage import TOKENISER

if TYPE_CHECKING:
    import numpy as np
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
        covered = snapshot.corpus.fingerprint(entry.spec.where)
        if covered == entry.fingerprint:
            return []
        folder = IndexPlace.of(library, snapshot).fetched(snapshot, entry)
        index = SubspaceIndex(*open_folder(folder))
        tokeniser = snapshot.settings.get(TOKENISER) or {}
        if not same_tokens(index.manifest, tokeniser):
            raise SubspaceError(
                f"The index “{entry.name}” was built with different word rules or another "
                "language than the library uses now."
            )
        wanted = _Wanted.of(snapshot.corpus.content_hashes(entry.spec.where), index)
        fresh = wanted.rows[wanted.places < 0].tolist()
        arrays = _with_documents(index, wanted, snapshot.corpus.tokens(fresh))
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


class _Wanted(NamedTuple):
    """The documents that an index is to have.

    Attributes
    ----------
    rows, hashes
        Their keys, ascending, and the digests of their content.
    places
        Where each is in the index already, or `NEW`.
    """

    rows: NDArray[np.int64]
    hashes: NDArray[np.uint8]
    places: NDArray[np.int64]

    @classmethod
    def of(cls, hashes: dict[int, bytes], index: SubspaceIndex) -> _Wanted:
        import numpy as np

        from lpisearch.indexes.index import HASH_BYTES
        from lpisearch.indexes.postings import NEW

        rows = np.fromiter(hashes, np.int64, len(hashes))
        content = np.frombuffer(b"".join(hashes.values()), np.uint8).reshape(-1, HASH_BYTES)
        before = index.document_rows
        at = np.searchsorted(before, rows)
        known = at < len(before)
        known[known] = before[at[known]] == rows[known]
        known[known] = (index.content_hashes[at[known]] == content[known]).all(axis=1)
        return cls(rows, content, np.where(known, at, NEW))


def _with_documents(
    index: SubspaceIndex, wanted: _Wanted, tokens: list[str]
) -> dict[str, NDArray[Any]]:
    """Return the arrays of an index that has just the wanted documents, fresh ones placed."""
    import numpy as np

    from lpisearch.indexes.index import TAKEN_IN
    from lpisearch.indexes.merging import merged
    from lpisearch.indexes.scoring.document_terms import DocumentTerms
    from lpisearch.terms.counts import count_terms

    counts = count_terms([tokens], index.vocabulary)
    known = counts.matrix.sum(axis=1, dtype=np.int64)
    is_new, stays = wanted.places < 0, wanted.places[wanted.places >= 0]
    vectors = index.places.with_rows(wanted.places, index.project(counts.matrix))
    steps = {} if vectors.steps is None else {"vector_steps": vectors.steps}
    taken_in = np.zeros((len(wanted.rows), len(TAKEN_IN)), np.int32)
    taken_in[~is_new] = index.taken_in[stays]
    taken_in[is_new] = np.column_stack(
        [np.ones_like(known), counts.lengths, counts.lengths - known]
    )
    words = merged(index.postings, wanted.places, tokens, index.vocabulary)
    terms = index.document_terms.with_documents(
        wanted.places, words.numbers, words.fresh, words.postings
    )
    if "strongest_terms" not in index.arrays:  # an index of an earlier program
        terms = DocumentTerms.of_postings(words.postings)
    return {
        "vectors": vectors.codes,
        **steps,
        "document_rows": wanted.rows,
        "content_hashes": wanted.hashes,
        "taken_in": taken_in,
        **words.postings.arrays(),
        **terms.arrays(),
    }


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
