"""Count documents in partitions, in parallel, and merge their vocabularies.

The result equals that of `lpisearch.index.inversion.count_tokens` to the bit: a partition is one of
its blocks. Each partition numbers its terms in the order of their appearance. Eight vocabularies at
a time are merged in the order of their partitions until one is left, so every term gets the number
that a sequential count would give it; then the counts are renumbered.

All intermediate results are files of a shared folder. A vocabulary has a maximal size: terms in the
fewest documents are dropped first, later ones among equals.
"""

from __future__ import annotations

import secrets
import shutil
from collections import defaultdict
from dataclasses import dataclass
from itertools import compress, count, islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lpisearch.files import folder_mode
from lpisearch.index.inversion import HASH_BYTES, CountedDocuments, CountedTerms, write_counted
from lpisearch.numeric.row_blocks import BLOCK_ROWS, map_parts
from lpisearch.numeric.row_files import write_partition
from lpisearch.storage import open_store
from lpisearch.storage.integrity import fingerprint
from lpisearch.storage.metadata import TOKENISER
from lpisearch.text.boilerplate import EdgeCounts, Edges

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from lpisearch.index.checkpoint import FileStepOutput, StepResult
    from lpisearch.location import Location
    from lpisearch.model.documents import Filter
    from lpisearch.storage.store import ReadTransaction

    Array = NDArray[Any]


MOST_TERMS = 5_000_000  # of a vocabulary; merging takes about 300 bytes for each
FAN = 8
GONE = -1
_KINDS = {"terms": np.uint8, "frequencies": np.int32, "edges": np.int64, "numbers": np.int32}


class Terms(NamedTuple):
    """The vocabulary of a partition."""

    terms: Sequence[str]
    frequencies: NDArray[np.int32]  # number of documents with each term
    edges: NDArray[np.int64]  # two rows: occurrences at the edges of documents, and documents


class Dropped(NamedTuple):
    """Number of dropped terms, and the largest document frequency of one in a partition."""

    terms: int = 0
    documents: int = 0


@dataclass(frozen=True, slots=True)
class Vocabularies:
    """Vocabularies of partitions in a folder that all workers share."""

    folder: Path
    most: int = MOST_TERMS
    fan: int = FAN  # vocabularies merged at a time

    def write(self, level: int, number: int, vocabulary: Terms) -> None:
        """Write the vocabulary of a partition or of several merged ones."""
        joined = "\n".join(vocabulary.terms).encode()
        self._write(level, number, "terms", np.frombuffer(joined, np.uint8))
        self._write(level, number, "frequencies", vocabulary.frequencies)
        self._write(level, number, "edges", vocabulary.edges)

    def read(self, level: int, number: int) -> Terms:
        """Read a vocabulary."""
        terms = self._read(level, number, "terms").tobytes().decode().split()
        edges = self._read(level, number, "edges").reshape(2, -1)
        return Terms(terms, self._read(level, number, "frequencies"), edges)

    def join_all(self, parts: int) -> tuple[int, Terms, Dropped]:
        """Merge all vocabularies; return the number of levels and the result."""
        level, dropped = 0, Dropped()
        while level == 0 or parts > 1:
            groups = [
                (level, number, min(self.fan, parts - number * self.fan))
                for number in range(-(-parts // self.fan))
            ]
            for group in map_parts(_Join(self), groups):
                most = max(dropped.documents, group.documents)
                dropped = Dropped(dropped.terms + group.terms, most)
            parts, level = len(groups), level + 1
        return level, self.read(level, 0), dropped

    def numbers(self, part: int, levels: int) -> NDArray[np.int32]:
        """Return the final number of each term of a partition; `GONE` for dropped terms."""
        numbers = self._read(0, part, "numbers")
        for level in range(1, levels):
            above = self._read(level, part // self.fan**level, "numbers")
            numbers = np.where(numbers == GONE, GONE, above[numbers])
        return numbers

    def join(self, level: int, number: int, size: int) -> Dropped:
        """Merge consecutive vocabularies into one."""
        columns: dict[str, int] = defaultdict(count().__next__)
        children = [number * self.fan + at for at in range(size)]
        parts = [self.read(level, child) for child in children]
        numbers = [np.fromiter(map(columns.__getitem__, part.terms), np.int32) for part in parts]
        frequencies = np.zeros(len(columns), np.int32)
        edges = np.zeros((2, len(columns)), np.int64)
        for own, part in zip(numbers, parts, strict=True):
            frequencies[own] += part.frequencies
            edges[:, own] += part.edges
        stays = np.ones(len(frequencies), np.bool_)
        if len(frequencies) > self.most:
            stays[np.argsort(-frequencies, kind="stable")[self.most :]] = False
        moved = np.where(stays, np.cumsum(stays, dtype=np.int32) - 1, GONE).astype(np.int32)
        for child, own in zip(children, numbers, strict=True):
            self._write(level, child, "numbers", moved[own])
        merged = Terms(list(compress(columns, stays)), frequencies[stays], edges[:, stays])
        self.write(level + 1, number, merged)
        return Dropped(int((~stays).sum()), int(frequencies[~stays].max(initial=0)))

    def _write(self, level: int, number: int, name: str, array: Array) -> None:
        np.ascontiguousarray(array, _KINDS[name]).tofile(self._path(level, number, name))

    def _read(self, level: int, number: int, name: str) -> Array:
        return np.fromfile(self._path(level, number, name), _KINDS[name])

    def _path(self, level: int, number: int, name: str) -> Path:
        return self.folder / f"{level}-{number:06}.{name}"


@dataclass(frozen=True, slots=True)
class _Join:
    vocabularies: Vocabularies

    def __call__(self, group: tuple[int, int, int]) -> Dropped:
        return self.vocabularies.join(*group)


_PARTS = "parts"
_MATRIX = {"indptr": np.int64, "indices": np.int32, "data": np.float32}


class Partition(NamedTuple):
    """A range of documents."""

    library: Location
    number: int
    first: int  # key
    last: int  # key, included
    digest: str  # of the keys and contents of the documents


@dataclass(frozen=True, slots=True)
class Partitions:
    """The partitions of a library."""

    where: Filter
    tokeniser: dict[str, Any]
    parts: tuple[Partition, ...]

    @classmethod
    def of(cls, library: Location, where: Filter, snapshot: ReadTransaction) -> Partitions:
        """Divide the documents of a library into blocks."""
        parts: list[Partition] = []
        hashes = snapshot.corpus.stream_hashes(where)
        while block := list(islice(hashes, BLOCK_ROWS)):
            first, last = block[0][0], block[-1][0]
            digest = fingerprint(block)
            parts.append(Partition(library.absolute(), len(parts), first, last, digest))
        tokeniser = snapshot.settings.get(TOKENISER) or {}
        return cls(where, tokeniser, tuple(parts))


class CountedPart(NamedTuple):
    """The documents of a partition, and the numbers of those long enough to have edges."""

    documents: CountedDocuments
    looked_at: NDArray[np.int64]


def count_partitions(
    partitions: Partitions,
    snapshot: ReadTransaction,
    output: FileStepOutput,
    on_step: Callable[[int, int], None],
    most: int = MOST_TERMS,
) -> StepResult:
    """Count the terms of all documents by the current executor.

    A partition that changed after `snapshot` was taken is counted here, from the snapshot.
    """
    # A unique name: a worker of a killed run may still be writing to its folder.
    folder = output.folder / f"{_PARTS}-{secrets.token_hex(4)}"
    folder.mkdir(folder_mode(output.mode))
    try:
        work = _Count(partitions, folder)
        counted = []
        results = map_parts(work, partitions.parts)
        for part, result in zip(partitions.parts, results, strict=True):
            counted.append(result or work.of(snapshot, part))
            on_step(part.number + 1, len(partitions.parts))
        vocabularies = Vocabularies(folder, most)
        levels, terms, dropped = vocabularies.join_all(len(counted))
        writer = output.rows()
        renumber = _Renumber(
            vocabularies, levels, len(terms.terms), output.rows_folder, output.mode
        )
        writer.take(map_parts(renumber, range(len(counted))), np.float32)
        rows = writer.finish(len(terms.terms))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    starts = np.cumsum([0, *(len(part.documents.keys) for part in counted)])
    looked_at = [part.looked_at + start for part, start in zip(counted, starts, strict=False)]
    columns = zip(*(part.documents for part in counted), strict=True)
    documents = CountedDocuments(*map(np.concatenate, columns))
    edges = EdgeCounts(len(documents.keys), np.concatenate(looked_at), *terms.edges)
    step = write_counted(
        output, rows, CountedTerms(terms.terms, terms.frequencies, edges), documents
    )
    if dropped.terms:
        step.facts["note"] = (
            f"{dropped.terms:,} rare terms were dropped; none is in more than "
            f"{dropped.documents:,} documents of one partition."
        )
    return step


@dataclass(frozen=True, slots=True)
class _Count:
    """Counts a partition and writes the counts to files."""

    partitions: Partitions
    folder: Path

    def __call__(self, part: Partition) -> CountedPart | None:
        """Return the counts; None if the library has changed."""
        with open_store(part.library) as store, store.reading() as snapshot:
            if (snapshot.settings.get(TOKENISER) or {}) != self.partitions.tokeniser:
                return None
            counted = self.of(snapshot, part)
        keys, hashes, _ = counted.documents
        content = zip(keys.tolist(), map(bytes, hashes), strict=True)
        return counted if fingerprint(content) == part.digest else None

    def of(self, snapshot: ReadTransaction, part: Partition) -> CountedPart:
        """Count the documents of a snapshot in the partition."""
        from lpisearch.text.vocabulary import TermNumbers

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
    """Renumbers the counts of a partition by the merged vocabulary."""

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
        return write_partition(self.rows, part, matrix, self.mode)


def _write_matrix(folder: Path, number: int, matrix: csr_array) -> None:
    for name, kind in _MATRIX.items():
        getattr(matrix, name).astype(kind).tofile(folder / f"{number:06}.{name}")


def _read_matrix(folder: Path, number: int) -> list[NDArray[Any]]:
    return [np.fromfile(folder / f"{number:06}.{name}", kind) for name, kind in _MATRIX.items()]
