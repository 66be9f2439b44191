"""Indexes that the database searches: the rows of their tables, and arrays read on first use.

What a query needs of a few documents is asked of tables (storage/postgres/search_tables.py). What
it needs of the whole index is small: the lexicons, a number for each term, and the moments of the
vectors. These arrays are read from the index files in the database, into memory, when first used;
no folder is written.
"""

from __future__ import annotations

import json
from collections import UserDict
from dataclasses import replace
from hashlib import sha256
from io import BytesIO
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.errors import BadOption, IndexDamaged
from lpisearch.index.format import MANIFEST_FILE, Manifest
from lpisearch.index.fusion import Moments
from lpisearch.index.positions import NAME, Sequences
from lpisearch.index.postings import Bm25, Postings
from lpisearch.storage.postgres.search_tables import ENTRIES, FIELDS, PASSAGES, TEXTS
from lpisearch.text.spans import LONG_DOCUMENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from lpisearch.index.directory import IndexLocation
    from lpisearch.index.subspace import SubspaceIndex
    from lpisearch.storage.store import ReadTransaction, Store, Transaction

    Floats = NDArray[np.float32]


NUMBERS, MOMENTS, NAMED, MANIFEST = "numbers", "moments", "named", "manifest"
_MANY_PASSAGES = 10  # more do not move a query as a whole (search/engine.py)


class StoredArrays(UserDict[str, "NDArray[Any]"]):
    """The arrays of an index in the database, each read and verified when first used."""

    def __init__(self, store: Store, folder: str, manifest: Manifest) -> None:
        super().__init__()
        self._store, self._folder, self._manifest = store, folder, manifest

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self.data:
            self.data[name] = self._read(name)
        return self.data[name]

    def __contains__(self, name: object) -> bool:
        return name in self._manifest.arrays

    def __iter__(self) -> Iterator[str]:
        return iter(self._manifest.arrays)

    def __len__(self) -> int:
        return len(self._manifest.arrays)

    def _read(self, name: str) -> NDArray[Any]:
        facts = self._manifest.arrays[name]
        with self._store.reading() as snapshot:
            assert snapshot.index_files is not None  # noqa: S101
            content = b"".join(snapshot.index_files.read(self._folder, f"{name}.npy"))
        if sha256(content).hexdigest() != facts.sha256:
            raise IndexDamaged(Path(self._folder), f"{name}.npy is corrupt")
        array: NDArray[Any] = np.load(BytesIO(content), allow_pickle=False)
        return array


def write_tables(
    transaction: Transaction, location: IndexLocation, folder: Path, index: SubspaceIndex
) -> None:
    """Write the tables of an index whose files are stored in the database."""
    tables = transaction.search_tables
    if tables is None or not location.is_cache:
        raise BadOption("in_database", "it needs a library in PostgreSQL, with index_store=db")
    rows = {
        "facts": _facts(index, (folder / MANIFEST_FILE).read_bytes()),
        "loadings": _loadings(index),
        "postings": _postings(index),
        "units": _units(index),
    }
    tables.write(folder.name, index.packed_vectors.shape[1], rows)


def read_manifest(snapshot: ReadTransaction, folder: str) -> Manifest:
    """Return the manifest of an index that the database searches."""
    assert snapshot.search_tables is not None  # noqa: S101
    return Manifest.of_bytes(snapshot.search_tables.fact(folder, MANIFEST), Path(folder))


def _facts(index: SubspaceIndex, manifest: bytes) -> Iterator[tuple[str, bytes]]:
    n, passages = len(index.document_rows), index.passages
    long = 0
    if passages is not None:
        long = int((np.bincount(passages.owners, minlength=n) > _MANY_PASSAGES).sum())
    units = n + (0 if passages is None else len(passages))
    numbers = {
        "documents": n,
        "keys": int(index.document_rows.sum()),
        "movers": units - long,
        "units": units,
        "mean_length": index.postings.mean_length,
    }
    moments = index.moments or Moments.of_rows(index.packed_vectors)
    yield MANIFEST, manifest
    yield NUMBERS, json.dumps(numbers).encode()
    yield MOMENTS, moments.as_array().astype("<f4").tobytes()
    if index.fields is not None:
        postings = index.fields.postings
        is_named = (postings.posting_counts & NAME > 0) & (postings.posting_places < n)
        total = np.concatenate([[0], np.cumsum(is_named)])
        yield NAMED, np.diff(total[postings.posting_starts]).astype("<i4").tobytes()


def _loadings(index: SubspaceIndex) -> Iterator[tuple[int, bytes]]:
    if index.is_linear:
        for terms, rows in index.packed_loadings.blocks():
            for term, row in zip(range(index.n_terms)[terms], rows, strict=True):
                yield term, row.astype("<f4").tobytes()


def _postings(index: SubspaceIndex) -> Iterator[tuple[int, int, int, str, str, str]]:
    n, passages, fields = len(index.document_rows), index.passages, index.fields
    words = Bm25(index.postings, long_from=None if passages is None else LONG_DOCUMENT)
    every = _entries(TEXTS, index.postings, 0, words.worth())
    if passages is not None:
        of_passages = replace(words, postings=passages.postings, among=index.postings)
        worths = replace(of_passages, long_from=None).worth()
        every = chain(every, _entries(PASSAGES, passages.postings, n, worths))
    if fields is not None:
        worths = np.ones(len(fields.postings.posting_places), np.float32)
        every = chain(every, _entries(FIELDS, fields.postings, 0, worths))
    return every


def _entries(
    kind: int, postings: Postings, first: int, worths: Floats
) -> Iterator[tuple[int, int, int, str, str, str]]:
    """Yield the entries of each term in pieces; units are counted from `first`."""
    starts = postings.posting_starts.tolist()
    for term, (start, end) in enumerate(pairwise(starts)):
        for part, at in enumerate(range(start, end, ENTRIES)):
            some = slice(at, min(at + ENTRIES, end))
            units = postings.posting_places[some].astype(np.int64) + first
            counts = postings.posting_counts[some]
            yield kind, term, part, _array(units), _array(counts), _array(worths[some])


def _array(values: NDArray[Any]) -> str:
    return "{" + ",".join(map(str, values.tolist())) + "}"


def _units(index: SubspaceIndex) -> Iterator[tuple[Any, ...]]:
    n, passages = len(index.document_rows), index.passages
    keys, twins = index.document_rows.tolist(), index.twins.tolist()
    lengths, terms = index.postings.document_lengths.tolist(), index.document_terms
    sizes = [0] * n if index.fields is None else index.fields.name_sizes.tolist()
    for rows, vectors in index.packed_vectors.blocks():
        for unit, vector in zip(range(n)[rows], vectors, strict=True):
            yield (
                *(unit, unit, keys[unit], _vector(vector), lengths[unit]),
                *(int(terms.distinct_terms[unit]), terms.strongest_terms[unit].tobytes()),
                np.asarray(terms.strongest_counts[unit], np.uint16).tobytes(),
                _sequence(index.sequences, unit),
                *(index.content_hashes[unit].tobytes(), twins[unit], sizes[unit], 0, 0),
            )
    if passages is None:
        return
    lengths, terms = passages.postings.document_lengths.tolist(), passages.terms
    for at, (owner, (start, end)) in enumerate(
        zip(passages.owners.tolist(), passages.spans.tolist(), strict=True)
    ):
        yield (
            *(n + at, owner, keys[owner], _vector(passages.vectors.at(at)), lengths[at]),
            *(int(terms.distinct_terms[at]), terms.strongest_terms[at].tobytes()),
            np.asarray(terms.strongest_counts[at], np.uint16).tobytes(),
            _sequence(passages.sequences, at),
            *(b"", twins[owner], 0, start, end),
        )


def _vector(vector: Floats) -> str:
    return "[" + ",".join([f"{number:.5g}" for number in vector.tolist()]) + "]"


def _sequence(sequences: Sequences | None, unit: int) -> bytes:
    return b"" if sequences is None else sequences.of_units(np.array([unit]))[0].tobytes()
