"""Counts in partitions, merged vocabularies.

A part numbers its terms in the order in which it sees them. Eight vocabularies become one in the
order of their parts, and eight of those, until one is left: so a term has the number that it would
have if all documents were counted one after the other. Each vocabulary is files of a folder that
all who work share: terms, in how many documents each is, what stands at edges, and, once it was
joined with others, the number that each of its terms has there.

No vocabulary has more than so many terms: those in the fewest documents are left out first, and
counted, the later one of two that are equal.

In the end there is what `lpisearch.index.inversion` gives of the same documents, to the bit: a
partition is a block of it. Each is counted by itself and written to a folder that all share; the
vocabularies are joined (`lpisearch.index.partitions`); then the counts are written anew by the
numbers that terms have in the end.
"""

from __future__ import annotations

import secrets
import shutil
from collections import defaultdict
from dataclasses import dataclass
from itertools import compress, count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lpisearch.files import folder_mode
from lpisearch.index.inversion import HASH_BYTES, CountedDocuments, CountedTerms, write_counted
from lpisearch.numeric.executor import map_parts
from lpisearch.numeric.row_blocks import BLOCK_ROWS
from lpisearch.numeric.row_files import write_partition
from lpisearch.storage import open_store
from lpisearch.storage.integrity import fingerprint
from lpisearch.storage.metadata import TOKENISER
from lpisearch.text.boilerplate import EdgeCounts

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


MOST_TERMS = 5_000_000
"""Of a vocabulary: to join some takes about 300 bytes for each."""
FAN = 8
GONE = -1
_KINDS = {"terms": np.uint8, "frequencies": np.int32, "edges": np.int64, "numbers": np.int32}


class Terms(NamedTuple):
    """What a part knows of its terms.

    Attributes
    ----------
    terms
        In their order.
    frequencies
        In how many documents each is.
    edges
        Two rows: how often each stands at the edges of documents, and of how many.
    """

    terms: Sequence[str]
    frequencies: NDArray[np.int32]
    edges: NDArray[np.int64]


class Dropped(NamedTuple):
    """How many terms were left out, and in how many documents of a part one of them was at most."""

    terms: int = 0
    documents: int = 0


@dataclass(frozen=True, slots=True)
class Vocabularies:
    """Vocabularies of parts in a folder.

    Attributes
    ----------
    folder
        That all who work share.
    most
        Terms of one at most.
    fan
        How many become one at a time.
    """

    folder: Path
    most: int = MOST_TERMS
    fan: int = FAN

    def write(self, level: int, number: int, found: Terms) -> None:
        """Write the vocabulary of a part, or of several that were joined."""
        joined = "\n".join(found.terms).encode()
        self._write(level, number, "terms", np.frombuffer(joined, np.uint8))
        self._write(level, number, "frequencies", found.frequencies)
        self._write(level, number, "edges", found.edges)

    def read(self, level: int, number: int) -> Terms:
        """Return what was written."""
        terms = self._read(level, number, "terms").tobytes().decode().split()
        edges = self._read(level, number, "edges").reshape(2, -1)
        return Terms(terms, self._read(level, number, "frequencies"), edges)

    def join_all(self, parts: int) -> tuple[int, Terms, Dropped]:
        """Make one of those of all parts; return how many times that took, and what it is."""
        level, left_out = 0, Dropped()
        while level == 0 or parts > 1:
            groups = [
                (level, number, min(self.fan, parts - number * self.fan))
                for number in range(-(-parts // self.fan))
            ]
            for one in map_parts(_Join(self), groups):
                most = max(left_out.documents, one.documents)
                left_out = Dropped(left_out.terms + one.terms, most)
            parts, level = len(groups), level + 1
        return level, self.read(level, 0), left_out

    def numbers(self, part: int, levels: int) -> NDArray[np.int32]:
        """Return the number that each term of a part has in the end; `GONE` if it was left out."""
        found = self._read(0, part, "numbers")
        for level in range(1, levels):
            above = self._read(level, part // self.fan**level, "numbers")
            found = np.where(found == GONE, GONE, above[found])
        return found

    def join(self, level: int, number: int, size: int) -> Dropped:
        """Make one vocabulary of some that follow each other."""
        columns: dict[str, int] = defaultdict(count().__next__)
        children = [number * self.fan + at for at in range(size)]
        given = [self.read(level, child) for child in children]
        numbers = [np.fromiter(map(columns.__getitem__, one.terms), np.int32) for one in given]
        frequencies = np.zeros(len(columns), np.int32)
        edges = np.zeros((2, len(columns)), np.int64)
        for own, one in zip(numbers, given, strict=True):
            frequencies[own] += one.frequencies
            edges[:, own] += one.edges
        stays = self._most_frequent(frequencies)
        moved = np.where(stays, np.cumsum(stays, dtype=np.int32) - 1, GONE).astype(np.int32)
        for child, own in zip(children, numbers, strict=True):
            self._write(level, child, "numbers", moved[own])
        kept = Terms(list(compress(columns, stays)), frequencies[stays], edges[:, stays])
        self.write(level + 1, number, kept)
        return Dropped(int((~stays).sum()), int(frequencies[~stays].max(initial=0)))

    def _most_frequent(self, frequencies: NDArray[np.int32]) -> NDArray[np.bool_]:
        stays = np.ones(len(frequencies), np.bool_)
        if len(frequencies) > self.most:
            stays[np.argsort(-frequencies, kind="stable")[self.most :]] = False
        return stays

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

    library: Location
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
    def of(cls, library: Location, where: Filter, snapshot: ReadTransaction) -> Partitions:
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
    snapshot: ReadTransaction,
    output: FileStepOutput,
    on_step: Callable[[int, int], None],
    most: int = MOST_TERMS,
) -> StepResult:
    """Count the terms of all documents, on whoever works now."""
    # A name of this run alone: whoever still works for one that was killed writes elsewhere.
    folder = output.folder / f"{_PARTS}-{secrets.token_hex(4)}"
    folder.mkdir(folder_mode(output.mode))
    try:
        work = _Count(partitions, folder)
        counted = []
        for part, found in zip(partitions.parts, map_parts(work, partitions.parts), strict=True):
            counted.append(found or work.of(snapshot, part))
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
    documents, looked_at = _joined(counted)
    edges = EdgeCounts(len(documents.keys), looked_at, *terms.edges)
    kept = write_counted(
        output, rows, CountedTerms(terms.terms, terms.frequencies, edges), documents
    )
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

    def of(self, snapshot: ReadTransaction, part: Partition) -> CountedPart:
        """Count what a snapshot has of it."""
        from lpisearch.text.boilerplate import Edges
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
        return write_partition(self.rows, part, matrix, self.mode)


def _write_matrix(folder: Path, number: int, matrix: csr_array) -> None:
    for name, kind in _MATRIX.items():
        getattr(matrix, name).astype(kind).tofile(folder / f"{number:06}.{name}")


def _read_matrix(folder: Path, number: int) -> list[NDArray[Any]]:
    return [np.fromfile(folder / f"{number:06}.{name}", kind) for name, kind in _MATRIX.items()]
