"""Vector store: the vectors of one encoder by the hashes of texts, in a file next to the indexes.

No text is encoded twice, whatever is rebuilt. Each batch is a transaction of its own, so that a run
that is killed loses one batch at most. The file is of no library: it can be deleted at any time.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.errors import IndexUnwritable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Half = NDArray[np.float16]

SAME = 0.999
"""The least cosine of two vectors of one text by one model."""
_LOOKED_UP, _ENCODED = 500, 32  # texts at once
_DIGITS, _HASH_BYTES = 12, 16
_WAIT_SECONDS = 60
_TABLES = (
    "CREATE TABLE facts (name PRIMARY KEY, value)",
    "CREATE TABLE vectors (hash PRIMARY KEY, vector) WITHOUT ROWID",
)


class VectorStore:
    """Vectors of unit length of an encoder, by its name and the hashes of texts.

    `encode` returns the vectors of texts (texts x dims).
    """

    def __init__(self, folder: Path, name: str, encode: Callable[[Sequence[str]], Floats]) -> None:
        self.name = name
        self.path = folder / f"encoded-{sha256(name.encode()).hexdigest()[:_DIGITS]}.db"
        self._encode = encode
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with self._connected() as database:
                found = set(database.execute("SELECT sql FROM sqlite_master LIMIT 9").fetchall())
                if foreign := found - {(None,), *((create,) for create in _TABLES)}:
                    # A view of a stranger may be endless: nothing of it is asked.
                    raise sqlite3.DatabaseError(f"it contains something else: {foreign.pop()[0]}")
                for create in _TABLES:
                    database.execute(create.replace("TABLE", "TABLE IF NOT EXISTS", 1))
        except (OSError, sqlite3.Error) as error:
            raise IndexUnwritable(self.path, str(error)) from error

    def recognise(self, probe: Floats) -> None:
        """Forget all vectors if that of one fixed text, the probe, is of another model."""
        with self._connected() as database:
            facts = dict(database.execute("SELECT name, value FROM facts"))
            if "probe" in facts and not is_same(probe, np.frombuffer(facts["probe"], np.float32)):
                database.execute("DELETE FROM vectors")
                facts = {}
            if not facts:
                values = {"name": self.name, "probe": probe.tobytes()}
                database.executemany("REPLACE INTO facts VALUES (?, ?)", values.items())

    def vectors(
        self, texts: Iterable[str], on_step: Callable[[int], None] = lambda _done: None
    ) -> Iterator[Floats]:
        """Yield the vectors of texts, block by block; those that are not here are encoded."""
        remaining, done = iter(texts), 0
        while some := list(islice(remaining, _LOOKED_UP)):
            yield self._block(some, lambda new, done=done: on_step(done + new))  # type: ignore[misc]
            done += len(some)
            on_step(done)

    def _block(self, texts: Sequence[str], on_step: Callable[[int], None]) -> Floats:
        hashes = [_hash(text) for text in texts]
        known = self._known(hashes)
        # Texts of similar length together: most models pad the shorter ones.
        new = {key: text for key, text in zip(hashes, texts, strict=True) if key not in known}
        order = sorted(new, key=lambda key: len(new[key]))
        for start in range(0, len(order), _ENCODED):
            keys = order[start : start + _ENCODED]
            rows = self._encode([new[key] for key in keys]).astype(np.float16)
            known |= zip(keys, rows, strict=True)
            self._keep(keys, rows)
            on_step(len(texts) - len(order) + start + len(keys))
        return np.array([known[key] for key in hashes], np.float32)

    def _known(self, hashes: Sequence[bytes]) -> dict[bytes, Half]:
        marks = ",".join("?" * len(hashes))
        select = f"SELECT hash, vector FROM vectors WHERE hash IN ({marks})"  # noqa: S608 (marks alone)
        with self._connected() as database:
            found = database.execute(select, hashes).fetchall()
        return {key: np.frombuffer(value, np.float16) for key, value in found}

    def _keep(self, hashes: Sequence[bytes], rows: Half) -> None:
        pairs = zip(hashes, (row.tobytes() for row in rows), strict=True)
        with self._connected() as database:
            database.executemany("REPLACE INTO vectors VALUES (?, ?)", pairs)

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction."""
        database = sqlite3.connect(self.path, timeout=_WAIT_SECONDS)
        try:
            with database:
                yield database
        finally:
            database.close()


def _hash(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()[:_HASH_BYTES]


def is_same(vector: Floats, other: Floats) -> bool:
    """Tell whether two vectors of the probe are those of one model."""
    same: bool = vector.shape == other.shape and float(vector @ other) >= SAME
    return same
