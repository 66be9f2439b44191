"""Merge the vocabularies of partitions, eight at a time.

A part numbers its terms in the order in which it sees them. Eight vocabularies become one in the
order of their parts, and eight of those, until one is left: so a term has the number that it would
have if all documents were counted one after the other. Each vocabulary is files of a folder that
all who work share: terms, in how many documents each is, what stands at edges, and, once it was
joined with others, the number that each of its terms has there.

No vocabulary has more than so many terms: those in the fewest documents are left out first, and
counted, the later one of two that are equal.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import compress, count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lpisearch.compute.spread import map_parts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

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
