"""Add documents to indexes and remove them.

The vocabulary and the map never change: documents that were added or changed since the build are
placed by the same map or rule, deleted ones are removed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lpisearch.errors import IndexNotHere, IndexNotOwned, SubspaceError
from lpisearch.index.directory import (
    IndexLocation,
    due_for_rebuild,
    publish_index,
    rebuild_command,
    rebuild_note,
    same_tokens,
)
from lpisearch.index.positions import CODES, Fields, Sequences, SequenceWriter, read_fields
from lpisearch.index.postings import APPENDED, NEW, DocumentTerms, Postings
from lpisearch.messages import Message
from lpisearch.storage.integrity import fingerprint_of_arrays
from lpisearch.storage.metadata import TOKENISER, IndexEntry
from lpisearch.text.spans import LONG_DOCUMENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from lpisearch.index.additions import Change, Target
    from lpisearch.index.subspace import Passages, SubspaceIndex
    from lpisearch.location import Location
    from lpisearch.storage.store import ReadTransaction, Store
    from lpisearch.text.vocabulary import Vocabulary

    Whole = NDArray[np.int64]


def add_documents(library: Location, store: Store) -> tuple[list[str], list[str]]:
    """Update all indexes of a library; return failures, and notes about due rebuilds.

    The caller holds the writer lock. The documents are safe in any case.
    """
    with store.reading() as snapshot:
        entries = snapshot.indexes.entries()
    complaints: list[str] = []
    due: list[str] = []
    for entry in entries:
        try:
            due += _update(library, store, entry)
        except IndexNotOwned as error:
            complaints.append(Message(error.what, " Next: ", error.next_step))
        except IndexNotHere as error:
            due.append(Message(error.what, " Next: ", rebuild_command(entry.spec)))
        except SubspaceError as error:
            complaints.append(Message(error.what, " Next: ", rebuild_command(entry.spec)))
    return complaints, due


def _update(library: Location, store: Store, entry: IndexEntry) -> list[str]:
    """Update one index; return a note if it should now be rebuilt."""
    from lpisearch.index.additions import Target, append_documents, can_append
    from lpisearch.index.format import open_verified
    from lpisearch.index.subspace import SubspaceIndex

    with store.reading() as snapshot:
        rows, hashes = snapshot.corpus.keys_and_hashes(entry.spec.where)
        covered = fingerprint_of_arrays(rows, hashes)
        if covered == entry.fingerprint:
            return []
        tables = snapshot.search_tables
        if tables is not None and tables.exist(entry.folder):
            tables.act_as_owner()  # refused now, not when all is computed
        location = IndexLocation.of(library, snapshot)
        folder = location.fetched(snapshot, entry)
        index = SubspaceIndex(*open_verified(folder))
        tokeniser = snapshot.settings.get(TOKENISER) or {}
        if not same_tokens(index.manifest, tokeniser):
            raise SubspaceError(
                f"The index “{entry.name}” was built with different word rules or another "
                "language than the library uses now."
            )
        target = Target.of(rows, hashes, index)
        change = None
        if not location.is_of_server and can_append(index, target):
            change = append_documents(index, target, snapshot)
        change = change or _rewrite(index, target, snapshot)
    manifest = replace(
        index.manifest,
        folded=change.folded,
        fingerprint=covered,
        passages=change.passages,
        appended=change.appended,
        removed=change.removed,
    )
    fixed = {
        name: folder / f"{name}.npy"
        for name in index.arrays.keys() - change.arrays.keys() - change.gone
    }
    changed = SubspaceIndex(manifest, change.arrays)
    publish_index(library, store, changed, fixed, rows=change.rows)
    reason = due_for_rebuild(manifest, tokeniser)
    return [rebuild_note(entry.name, reason, rebuild_command(entry.spec))] if reason else []


def _rewrite(index: SubspaceIndex, target: Target, snapshot: ReadTransaction) -> Change:
    """Rewrite every array of documents."""
    from lpisearch.index.additions import Change
    from lpisearch.index.subspace import TAKEN_IN, SubspaceIndex, packed_arrays, passage_arrays

    fresh = target.fresh.tolist()
    arrays = _with_documents(index, target, snapshot.documents.tokens(fresh))
    gone = {name for name in index.arrays if name.startswith(APPENDED)}
    others = {name: index.arrays[name] for name in index.arrays.keys() - gone}
    now = SubspaceIndex(index.manifest, others | arrays)
    passages = _passages(index, now, set(fresh), snapshot)
    arrays |= _words(index, now, fresh, snapshot)
    arrays |= _fields(index, now, passages, target, snapshot)
    gone |= passage_arrays(index.arrays) | {*CODES}
    if passages is not None:
        arrays |= passages.arrays()
    arrays |= packed_arrays(arrays)
    totals = arrays["taken_in"].sum(axis=0, dtype=int).tolist()
    folded = dict(zip(TAKEN_IN, totals, strict=True))
    number = None if passages is None else len(passages)
    return Change(number, folded, arrays=arrays, gone=frozenset(gone))


def _with_documents(
    index: SubspaceIndex, target: Target, tokens: list[str]
) -> dict[str, NDArray[Any]]:
    """Return the arrays of the updated index; `tokens` are those of new documents."""
    from lpisearch.index.subspace import TAKEN_IN
    from lpisearch.index.twins import twin_groups, twin_keys
    from lpisearch.text.vocabulary import count_terms

    counts = count_terms([tokens], index.vocabulary)
    known = counts.matrix.sum(axis=1, dtype=np.int64)
    is_new, stays = target.places < 0, target.places[target.places >= 0]
    vectors = index.packed_vectors.with_rows(target.places, index.project(counts.matrix))
    steps = {} if vectors.steps is None else {"vector_steps": vectors.steps}
    taken_in = np.zeros((len(target.rows), len(TAKEN_IN)), np.int32)
    taken_in[~is_new] = index.taken_in[stays]
    taken_in[is_new] = np.column_stack(
        [np.ones_like(known), counts.lengths, counts.lengths - known]
    )
    words = merged(index.postings, target.places, tokens, index.vocabulary)
    terms = index.document_terms.with_documents(
        target.places, words.numbers, words.fresh, words.postings
    )
    if "strongest_terms" not in index.arrays:  # written by an earlier version
        terms = DocumentTerms.of_postings(words.postings)
    sequences = _sequences(index, target, tokens, words)
    keys = twin_keys(terms.strongest_terms)
    return {
        **({} if sequences is None else sequences.arrays()),
        "vectors": vectors.codes,
        **steps,
        "document_rows": target.rows,
        "content_hashes": target.hashes,
        "taken_in": taken_in,
        "twin_keys": keys,
        "twins": twin_groups(terms, vectors, keys),
        **words.postings.arrays(),
        **terms.arrays(),
    }


def _passages(
    before: SubspaceIndex, now: SubspaceIndex, fresh: set[int], snapshot: ReadTransaction
) -> Passages | None:
    """Return the passages of the updated index.

    An index of an earlier version has none until it is rebuilt.
    """
    from lpisearch.index.subspace import cut_documents, project_passages, staying
    from lpisearch.text.tokeniser import Tokenisers

    if before.manifest.passages is None:
        return None
    places = {row: place for place, row in enumerate(now.document_rows.tolist())}
    unchanged = None
    if before.passages is not None:
        rows = before.document_rows.tolist()
        moved = [-1 if row in fresh else places.get(row, -1) for row in rows]
        unchanged = staying(before.passages, np.array(moved, np.int64), now.postings)
    long = now.document_rows[now.long_documents].tolist()
    cut = cut_documents(
        snapshot,
        Tokenisers().of(before.manifest.tokeniser),
        {row: places[row] for row in long if row in fresh},
    )
    return project_passages(now, cut, unchanged)


def _words(
    before: SubspaceIndex, now: SubspaceIndex, fresh: list[int], snapshot: ReadTransaction
) -> dict[str, NDArray[Any]]:
    """Return the tables of words with those of new documents.

    The words of documents that are gone stay; a suggestion is checked. An index of an earlier
    version has no tables until it is rebuilt.
    """
    from lpisearch.text.spelling import count_written, spelling_arrays
    from lpisearch.text.tokeniser import Tokenisers

    if before.written_words is None:
        return {}
    texts = snapshot.documents.texts(fresh)
    written = count_written(f"{title}\n{text}" for _, title, text in texts)
    written.update(dict(zip(before.written_words, before.written_documents.tolist(), strict=True)))
    return spelling_arrays(written, now.lexicon, Tokenisers().of(before.manifest.tokeniser))


def _sequences(
    index: SubspaceIndex, target: Target, tokens: list[str], words: Merged
) -> Sequences | None:
    """Return the tokens of documents in order; those of long ones are in their passages."""
    if index.sequences is None:
        return None
    numbers = {term: number for number, term in enumerate(words.postings.terms())}
    writer = SequenceWriter(numbers)
    has_passages = index.manifest.passages is not None
    is_new = target.places < 0
    long = words.postings.document_lengths[is_new] >= LONG_DOCUMENT
    writer.add("" if cut else text for text, cut in zip(tokens, has_passages & long, strict=True))
    unchanged = index.sequences.taken(target.places[~is_new], words.numbers)
    rows = np.argsort(np.argsort(is_new, kind="stable"))
    return unchanged.joined(writer.finish()).taken(rows)


def _fields(
    before: SubspaceIndex,
    now: SubspaceIndex,
    passages: Passages | None,
    target: Target,
    snapshot: ReadTransaction,
) -> dict[str, NDArray[Any]]:
    """Return the arrays of the fields; none for an index of an earlier version."""
    from lpisearch.text.tokeniser import Tokenisers

    if before.fields is None:
        return {}
    is_new = target.places < 0
    places = [target.places]
    if passages is not None:
        places.append(_passage_vectors(before, passages, target))
    tokeniser = Tokenisers().of(before.manifest.tokeniser)
    fresh = dict(zip(target.rows[is_new].tolist(), np.flatnonzero(is_new).tolist(), strict=True))
    texts = read_fields(snapshot, tokeniser, fresh, passages)
    words = merged(before.fields.postings, np.concatenate(places), texts.units, now.vocabulary)
    sizes = np.empty(len(target.rows), np.uint8)
    sizes[~is_new] = before.fields.name_sizes[target.places[~is_new]]
    sizes[is_new] = texts.name_sizes
    return Fields(words.postings, sizes).arrays()


def _passage_vectors(before: SubspaceIndex, passages: Passages, target: Target) -> Whole:
    """Return the unit of the index before of each passage, `NEW` for a new one."""
    owners = target.places[passages.owners]
    own = np.arange(len(passages)) - np.searchsorted(passages.owners, passages.owners)
    first = np.zeros(len(passages), np.int64)
    if before.passages is not None:
        first = np.searchsorted(before.passages.owners, owners)
    return np.where(owners >= 0, len(before.document_rows) + first + own, NEW)


class Merged(NamedTuple):
    """Updated postings."""

    postings: Postings
    numbers: Whole  # old number of each term → new one, -1 for a term without documents
    fresh: csr_array  # counts of new documents (rows) by the new numbers of terms


def merged(
    before: Postings, places: Whole, tokens: Sequence[str], vocabulary: Vocabulary
) -> Merged:
    """Return postings of new joined `tokens` where `places` is negative, else of those rows."""
    from scipy.sparse import csr_array, vstack

    from lpisearch.text.vocabulary import count_all_terms

    names, counted = count_all_terms([tokens], before.terms())
    is_new, stays = places < 0, places[places >= 0]
    old = before.counts()[stays]
    widened = csr_array((old.data, old.indices, old.indptr), shape=(len(stays), len(names)))
    rows = np.argsort(np.argsort(is_new, kind="stable"))  # of the old ones, and the new ones after
    lengths = np.concatenate([before.document_lengths[stays], counted.lengths])[rows]
    every = vstack([widened, counted.matrix], format="csr")[rows]
    postings = Postings.build(names, every, lengths.astype(np.int32), vocabulary.index)
    numbers = postings.numbers(names)
    fresh = counted.matrix[:, np.argsort(numbers)[len(names) - len(postings) :]]
    return Merged(postings, numbers[: len(before)], fresh)
