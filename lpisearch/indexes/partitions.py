"""Count tokens in partitions, each read from the store by its worker.

In the end there is what `lpisearch.indexes.counting` gives of the same documents, to the bit: a
partition is a block of it. Each is counted by itself and written to a folder that all share; the
vocabularies are joined (`lpisearch.indexes.vocabularies`); then the counts are written anew by the
numbers that terms have in the end.
"""

from __future__ import annotations

import secrets
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lpisearch.compute.row_blocks import BLOCK_ROWS
from lpisearch.compute.shards import write_shard
from lpisearch.compute.spread import map_parts
from lpisearch.files import folder_mode
from lpisearch.indexes.counting import (
    HASH_BYTES,
    CountedDocuments,
    CountedTerms,
    keep_counted,
)
from lpisearch.indexes.vocabularies import GONE, MOST_TERMS, Terms, Vocabularies
from lpisearch.storage import TOKENISER, fingerprint, open_store
from lpisearch.terms.boilerplate import EdgeCounts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from lpisearch.indexes.vocabularies import Dropped
    from lpisearch.indexes.workspace import FileRoom, Kept
    from lpisearch.places import Place
    from lpisearch.records import Filter
    from lpisearch.storage import Snapshot

_PARTS = "parts"
_MATRIX = {"indptr": np.int64, "indices": np.int32, "data": np.float32}


class Partition(NamedTuple):
    """Documents of a library from one key to another, both included.

    Attributes
    ----------
    library
        Where they are.
    number
        Of the partition.
    first, last
        The keys.
    digest
        Of the keys and contents of the documents.
    """

    library: Place
    number: int
    first: int
    last: int
    digest: str


@dataclass(frozen=True, slots=True)
class Partitions:
    """Which documents are counted together.

    Attributes
    ----------
    where
        Which documents there are.
    tokeniser
        The settings that made the tokens.
    parts
        In the order of the keys.
    """

    where: Filter
    tokeniser: dict[str, Any]
    parts: tuple[Partition, ...]

    @classmethod
    def of(cls, library: Place, where: Filter, snapshot: Snapshot) -> Partitions:
        """Cut the documents of a library as they are now into blocks."""
        parts: list[Partition] = []
        place = library.absolute()
        block: list[tuple[int, bytes]] = []

        def cut() -> None:
            digest = fingerprint(block)
            parts.append(Partition(place, len(parts), block[0][0], block[-1][0], digest))
            block.clear()

        for each in snapshot.corpus.stream_hashes(where):
            block.append(each)
            if len(block) == BLOCK_ROWS:
                cut()
        if block:
            cut()
        tokeniser = snapshot.settings.get(TOKENISER) or {}
        return cls(where, tokeniser, tuple(parts))


class CountedPart(NamedTuple):
    """The documents of a partition, and which of them, by number, are long enough to have edges."""

    documents: CountedDocuments
    looked_at: NDArray[np.int64]


def count_partitions(
    partitions: Partitions,
    snapshot: Snapshot,
    room: FileRoom,
    on_step: Callable[[int, int], None],
    most: int = MOST_TERMS,
) -> Kept:
    """Count the terms of all documents, on whoever works now.

    Parameters
    ----------
    partitions
        The documents.
    snapshot
        Of the library as it was when they were cut: a partition that has changed since, or where
        the tokens were made anew, is counted here.
    room
        Where the counts are put.
    on_step
        Called with how many partitions are counted, and of how many.
    most
        Terms at most.
    """
    # A name of this run alone: whoever still works for one that was killed writes elsewhere.
    folder = room.folder / f"{_PARTS}-{secrets.token_hex(4)}"
    folder.mkdir(folder_mode(room.mode))
    try:
        work = _Count(partitions, folder)
        counted = []
        for part, found in zip(partitions.parts, map_parts(work, partitions.parts), strict=True):
            counted.append(found or work.of(snapshot, part))
            on_step(part.number + 1, len(partitions.parts))
        vocabularies = Vocabularies(folder, most)
        levels, terms, dropped = vocabularies.join_all(len(counted))
        writer = room.rows()
        renumber = _Renumber(vocabularies, levels, len(terms.terms), room.rows_folder, room.mode)
        writer.take(map_parts(renumber, range(len(counted))), np.float32)
        rows = writer.finish(len(terms.terms))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    documents, looked_at = _joined(counted)
    edges = EdgeCounts(len(documents.keys), looked_at, *terms.edges)
    kept = keep_counted(room, rows, CountedTerms(terms.terms, terms.frequencies, edges), documents)
    kept.facts |= _facts(dropped)
    return kept


def _facts(dropped: Dropped) -> dict[str, Any]:
    if not dropped.terms:
        return {}
    return {
        "note": f"{dropped.terms:,} rare terms were dropped; none is in more than "
        f"{dropped.documents:,} documents of one partition."
    }


def _joined(parts: Sequence[CountedPart]) -> CountedPart:
    """Put what is known of all partitions one after the other."""
    starts = np.cumsum([0, *(len(each.documents.keys) for each in parts)])
    looked_at = [each.looked_at + start for each, start in zip(parts, starts, strict=False)]
    columns = zip(*(each.documents for each in parts), strict=True)
    documents = CountedDocuments(*map(np.concatenate, columns))
    return CountedPart(documents, np.concatenate(looked_at))


@dataclass(frozen=True, slots=True)
class _Count:
    """Counts a partition and writes it to files."""

    partitions: Partitions
    folder: Path

    def __call__(self, part: Partition) -> CountedPart | None:
        """Return what is to be known of it; None if the library is not as it was."""
        with open_store(part.library) as store, store.reading() as snapshot:
            if (snapshot.settings.get(TOKENISER) or {}) != self.partitions.tokeniser:
                return None
            found = self.of(snapshot, part)
        keys, hashes, _ = found.documents
        content = zip(keys.tolist(), map(bytes, hashes), strict=True)
        return found if fingerprint(content) == part.digest else None

    def of(self, snapshot: Snapshot, part: Partition) -> CountedPart:
        """Count what a snapshot has of it."""
        from lpisearch.terms.boilerplate import Edges
        from lpisearch.terms.counts import TermNumbers

        keys: list[int] = []
        texts: list[str] = []
        hashes, edges = bytearray(), Edges()
        between = (part.first, part.last)
        for shard in snapshot.corpus.shards(self.partitions.where, between):
            keys += shard.keys
            hashes += b"".join(shard.hashes)
            texts += next(edges.watch([shard.tokens]))
        numbers = TermNumbers()
        counts = numbers.count(texts)
        _write_matrix(self.folder, part.number, counts.matrix)
        terms = numbers.terms
        frequencies = np.bincount(counts.matrix.indices, minlength=len(terms)).astype(np.int32)
        seen = edges.of_terms(terms)
        both = np.stack([seen.occurrences, seen.frequencies])
        Vocabularies(self.folder).write(0, part.number, Terms(terms, frequencies, both))
        content = np.frombuffer(bytes(hashes), np.uint8).reshape(-1, HASH_BYTES)
        documents = CountedDocuments(np.array(keys, np.int64), content, counts.lengths)
        return CountedPart(documents, seen.looked_at)


@dataclass(frozen=True, slots=True)
class _Renumber:
    """Writes the counts of a partition by the numbers that terms have in the end."""

    vocabularies: Vocabularies
    levels: int
    n_terms: int
    rows: Path
    mode: int

    def __call__(self, part: int) -> tuple[int, int]:
        from scipy.sparse import csr_array

        indptr, indices, data = _read_matrix(self.vocabularies.folder, part)
        columns = self.vocabularies.numbers(part, self.levels)[indices]
        stays = columns != GONE
        starts = np.append(0, np.cumsum(stays))[indptr]
        entries = (data[stays], columns[stays], starts.astype(np.int32))
        matrix = csr_array(entries, shape=(len(indptr) - 1, self.n_terms))
        matrix.sort_indices()
        return write_shard(self.rows, part, matrix, self.mode)


def _write_matrix(folder: Path, number: int, matrix: csr_array) -> None:
    for name, kind in _MATRIX.items():
        getattr(matrix, name).astype(kind).tofile(folder / f"{number:06}.{name}")


def _read_matrix(folder: Path, number: int) -> list[NDArray[Any]]:
    return [np.fromfile(folder / f"{number:06}.{name}", kind) for name, kind in _MATRIX.items()]
