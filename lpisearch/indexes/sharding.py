"""Index of one shard: its own documents, with the shared model and statistics.

What all shards of a build have in common is a `Shared`: the manifest of the whole, and the files
of its arrays. It can be sent to another process or machine that sees the files. What a shard has
for itself are its documents: their places, postings, telling words and passages. They are cut out
of an index of all documents (`OwnArrays.cut_out`), or worked out from the tokens in the shard's
library (`place_shard`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.compute.mapped import mapped
from lpisearch.indexes.folder import publish
from lpisearch.indexes.index import FREQUENCIES, SubspaceIndex
from lpisearch.indexes.kept_files import file_digest
from lpisearch.indexes.passages import passage_arrays
from lpisearch.indexes.places import IndexPlace
from lpisearch.indexes.verification import note_written
from lpisearch.storage import IndexEntry, fingerprint, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from lpisearch.indexes.manifest import Manifest

    Array = NDArray[Any]

_BUILD_DIGITS = 16
_BY_DOCUMENT = (
    *("vectors", "vector_steps", "document_rows", "content_hashes", "taken_in"),
    *("document_lengths", "distinct_terms", "strongest_terms", "strongest_counts"),
)
_POSTINGS = ("posting_starts", "posting_places", "posting_counts")
OWN_ARRAYS = frozenset({*_BY_DOCUMENT, *_POSTINGS})
"""What a shard has for itself, beside the arrays of passages; all else is shared."""
_PASSAGE = "passage_"


@dataclass(frozen=True, slots=True)
class Shared:
    """What the shards of a build have in common; it can cross a process boundary.

    Attributes
    ----------
    manifest
        Of the index of all documents: of its `result`, `documents` is how many all shards have.
    files
        The files of the arrays that all shards have, by name: those of the map, the terms, the
        lexicon with all words of all shards, the classifier; `whole_frequencies`, in how many
        documents of all shards each word of the lexicon is; where places are packed,
        `vector_scales` and `vector_moments` of all.
    documents, mean_length
        How many documents there are in all shards, and how many tokens one has on average.
    shards
        How many there are.
    build
        A digest of all this: shards with the same one fit together.
    """

    manifest: Manifest
    files: dict[str, Path]
    documents: int
    mean_length: float
    shards: int
    build: str

    @classmethod
    def of(
        cls, manifest: Manifest, files: Mapping[str, Path], lengths: tuple[int, int], shards: int
    ) -> Shared:
        """Put together what was learned.

        Parameters
        ----------
        manifest, files, shards
            As the attributes.
        lengths
            How many documents all shards have, and how many tokens these.
        """
        documents, tokens = lengths
        mean = tokens / documents if documents else 0.0
        digests = {name: file_digest(path) for name, path in sorted(files.items())}
        said = [digests, documents, mean, shards, manifest.fingerprint, manifest.created]
        build = sha256(json.dumps(said).encode()).hexdigest()[:_BUILD_DIGITS]
        own = replace(manifest, arrays={})
        return cls(own, dict(files), documents, mean, shards, build)

    @classmethod
    def of_index(cls, folder: Path, index: SubspaceIndex, scratch: Path, shards: int) -> Shared:
        """Take what shards have in common out of an index of all documents.

        Parameters
        ----------
        folder
            Of the index.
        scratch
            A folder for what the index has no file of.
        """
        frequencies = scratch / f"{index.manifest.name}-{FREQUENCIES}.npy"
        np.save(frequencies, index.postings.frequencies(), allow_pickle=False)
        own = OWN_ARRAYS | passage_arrays(index.arrays)
        names = [name for name in index.arrays if name not in own]
        files = {name: folder / f"{name}.npy" for name in names} | {FREQUENCIES: frequencies}
        lengths = index.postings.document_lengths
        return cls.of(index.manifest, files, (len(lengths), int(lengths.sum(dtype=int))), shards)

    def arrays(self) -> dict[str, Array]:
        """Map the arrays into memory."""
        return {name: mapped(path) for name, path in self.files.items()}


def write_shard(library: Path, shared: Shared, number: int, own: Mapping[str, Array]) -> Path:
    """Write the index of a shard and put it in use; the library has its documents already.

    Parameters
    ----------
    library
        The file of the shard, such as DIR/shard-0000.db.
    shared
        What all shards have.
    number
        Of the shard, from 0.
    own
        The arrays of its documents: those of `OWN_ARRAYS`, and of passages if any is long. Terms
        have the numbers of the shared lexicon, documents are counted from 0 in the order of their
        keys.

    Returns
    -------
    pathlib.Path
        The folder.

    Raises
    ------
    IndexUnwritable, LibraryError
    """
    rows, hashes = own["document_rows"].tolist(), own["content_hashes"]
    digests = (each.tobytes() for each in hashes)
    covered = fingerprint(zip(rows, digests, strict=True))
    has_passages = shared.manifest.passages is not None
    manifest = replace(
        shared.manifest,
        fingerprint=covered,
        passages=len(own.get(f"{_PASSAGE}owners", ())) if has_passages else None,
        shard={
            "build": shared.build,
            "number": number,
            "of": shared.shards,
            "documents": shared.documents,
            "mean_length": shared.mean_length,
        },
    )
    with open_store(library, writable=True) as store:
        with store.reading() as snapshot:
            place = IndexPlace.of(library, snapshot)
        folder = publish(place.folder, manifest, own, shared.files, place.mode)
        entry = IndexEntry(
            name=manifest.name,
            method=manifest.method,
            parameters=manifest.spec.as_dict(),
            fingerprint=covered,
            folder=folder.name,
            created_at=manifest.created,
        )
        with store.writing(durable=True) as transaction:
            transaction.indexes.save(entry)
    note_written(folder)
    return folder


def place_shard(library: Path, shared: Shared, number: int) -> Path:
    """Work out the index of a shard from the tokens in its library, and write it.

    Parameters and errors are those of `write_shard`. Documents and passages are placed by the map
    that was learned; the telling words of passages are those among the passages of the shard.
    """
    from lpisearch.indexes.shard_placing import placed_arrays

    with open_store(library) as store, store.reading() as snapshot:
        own = placed_arrays(snapshot, shared)
    return write_shard(library, shared, number, own)


def cut_out(index: SubspaceIndex, first: int, last: int) -> dict[str, Array]:
    """Return the own arrays of a shard with the documents of some keys.

    Parameters
    ----------
    index
        Of all documents.
    first, last
        The least and the largest key.
    """
    begin, end = np.searchsorted(index.document_rows, [first, last + 1]).tolist()
    arrays = index.arrays
    own = {name: arrays[name][begin:end] for name in _BY_DOCUMENT if name in arrays}
    own |= _cut_postings({name: arrays[name] for name in _POSTINGS}, begin, end)
    passages = passage_arrays(arrays)
    if not passages:
        return own
    owners = arrays[f"{_PASSAGE}owners"]
    start, stop = np.searchsorted(owners, [begin, end]).tolist()
    if start == stop:
        return own
    words = {name: arrays[f"{_PASSAGE}{name}"] for name in _POSTINGS}
    others = passages - {f"{_PASSAGE}{name}" for name in _POSTINGS}
    of_passages = {name: arrays[name][start:stop] for name in others}
    of_passages[f"{_PASSAGE}owners"] = owners[start:stop] - np.int32(begin)
    cut = _cut_postings(words, start, stop)
    return own | of_passages | {f"{_PASSAGE}{name}": each for name, each in cut.items()}


def _cut_postings(arrays: Mapping[str, Array], begin: int, end: int) -> dict[str, Array]:
    """Return the entries of some documents in a row, numbered anew from 0."""
    places = arrays["posting_places"]
    kept = np.concatenate([np.empty(0, np.int64), *_entries(places, begin, end)])
    return {
        "posting_starts": np.searchsorted(kept, arrays["posting_starts"]).astype(np.int64),
        "posting_places": (places[kept] - begin).astype(np.int32),
        "posting_counts": arrays["posting_counts"][kept],
    }


def _entries(places: Array, begin: int, end: int, at_once: int = 4_000_000) -> Iterator[Array]:
    """Give the entries of some documents, a stretch of all at a time."""
    for at in range(0, len(places), at_once):
        some = places[at : at + at_once]
        yield at + np.flatnonzero((some >= begin) & (some < end))
