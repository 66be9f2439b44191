"""Session: the database, tokenisers and indexes that stay open between questions.

The library's register names the folder of each index. A build that finishes registers a new folder
and removes the old one, so a reader may look for a folder that has just gone. It then looks again
in a new transaction, because the old one still sees the old register.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cached_property, partial
from threading import Lock, RLock, Thread
from typing import TYPE_CHECKING, Any, Self

from lpisearch.errors import EncoderFailed, EncoderNotFound, LpiSearchError, SubspaceError
from lpisearch.index.directory import IndexLocation, entry_named
from lpisearch.messages import Message, call
from lpisearch.options import IndexSpec
from lpisearch.storage import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lpisearch.index.encoded_units import EncodedUnits
    from lpisearch.index.subspace import SubspaceIndex
    from lpisearch.location import Location
    from lpisearch.search.engine import Engine
    from lpisearch.search.snapshot import Snapshot
    from lpisearch.storage.metadata import IndexEntry
    from lpisearch.storage.store import ReadTransaction, Store
    from lpisearch.text.encoders import CheckedEncoder, Encoding
    from lpisearch.text.tokeniser import Tokeniser, Tokenisers


def _why_another(encoder: CheckedEncoder, encoded: EncodedUnits) -> str:
    """Say why an encoder is not the one of an index; "" if it is."""
    from lpisearch.storage.vector_store import is_same

    if encoder.name != encoded.name:
        return f"The index has vectors of the encoder “{encoded.name}”, not of “{encoder.name}”."
    if not is_same(encoder.probe(), encoded.probe):
        return f"The encoder “{encoder.name}” is another model than when the index was built."
    return ""


_DEFAULT = IndexSpec().name
_REMEMBERED = 32  # results per state, such as the documents that match a filter


class Session:
    """An open library, which any number of threads may share; files are opened when first used."""

    def __init__(self, path: Location, encoding: Encoding | None = None) -> None:
        self.path = path
        self._encoding = encoding
        self._encoder: CheckedEncoder | None = None
        self._encoder_lock, self._probed = Lock(), dict[int, str]()
        self.facet_lock = Lock()  # so that questions asked together do not all count the facets
        self._lock, self._index_lock, self._memory_lock = RLock(), Lock(), Lock()
        self._store: Store | None = None
        self._engines: dict[str, tuple[IndexEntry, Engine]] = {}
        self._downloads: dict[str, Thread] = {}
        self._state, self._remembered = "", dict[str, Any]()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the files; the next question opens them again."""
        with self._lock:
            if self._store is not None:
                self._store.close()
            self._store = None
            self._engines = {}

    @property
    def store(self) -> Store:
        """The database."""
        with self._lock:
            if self._store is None:
                self._store = open_store(self.path)
            return self._store

    @cached_property
    def tokenisers(self) -> Tokenisers:
        """The tokenisers by their settings."""
        from lpisearch.text.tokeniser import Tokenisers

        return Tokenisers()

    def reading(self) -> AbstractContextManager[ReadTransaction]:
        """Begin a read transaction, which sees one state of the documents."""
        return self.store.reading()

    @contextmanager
    def snapshot(self, index: str | None = _DEFAULT) -> Iterator[Snapshot]:
        """Open one state of the documents and of an index, or of the documents alone (None).

        An index other than the default one must exist: `IndexNotFound`.
        """
        from lpisearch.search.snapshot import Snapshot

        missing_folder = ""
        while True:
            with self.store.reading() as transaction:
                state = transaction.state()
                entry = None
                if index is not None:
                    read = partial(entry_named, transaction, index)
                    entry = self.remember(state, f"entry {index}", read)
                opened, trouble = self._open(transaction, entry)
                # A folder that fails twice was not replaced in between: it is damaged.
                if entry is None or trouble is None or entry.folder == missing_folder:
                    yield Snapshot(self, transaction, index, opened, trouble, state=state)
                    return
            missing_folder = entry.folder

    def index(self, name: str = _DEFAULT) -> SubspaceIndex:
        """Return an index as it is now; raise a `SubspaceError` if there is none to use."""
        with self.snapshot(name) as snapshot:
            return snapshot.require_engine().whole_index

    def tokeniser_of(self, index: SubspaceIndex) -> Tokeniser:
        """Return the tokeniser that made the terms of an index."""
        return self.tokenisers.of(index.manifest.tokeniser)

    def encoder(self) -> CheckedEncoder | None:
        """Return the user's encoder, opened when first used; None if there is none."""
        from lpisearch.text.encoders import open_encoder

        with self._encoder_lock:
            if self._encoder is None and self._encoding is not None:
                self._encoder = open_encoder(self._encoding)
            return self._encoder

    def encoder_of(self, encoded: EncodedUnits) -> tuple[CheckedEncoder | None, str]:
        """Return the user's encoder if it made the vectors of an index; else a note."""
        if self._encoding is None:
            return None, Message(
                f"The index has vectors of the encoder “{encoded.name}”, but none is set; results "
                "are without it. Next: ",
                call("settings", "encoder", encoded.name),
            )
        try:
            encoder = self.encoder()
            assert encoder is not None  # noqa: S101
            with self._encoder_lock:
                if id(encoded) not in self._probed:
                    self._probed = {id(encoded): _why_another(encoder, encoded)}
                note = self._probed[id(encoded)]
        except (EncoderFailed, EncoderNotFound) as error:
            return None, Message(error.what, " Results are without it.")
        if note:
            return None, Message(note, " Results are without it. Next: ", call("index"))
        return encoder, ""

    def remember(self, state: str, name: str, compute: Callable[[], Any]) -> Any:
        """Return a result that holds for one state of the library, computed once for that state."""
        with self._memory_lock:
            if state != self._state:
                self._state, self._remembered = state, {}
            if name in self._remembered:
                result = self._remembered[name] = self._remembered.pop(name)  # used last
                return result
        result = compute()
        with self._memory_lock:
            if state == self._state:
                self._remembered[name] = result
                while len(self._remembered) > _REMEMBERED:
                    del self._remembered[next(iter(self._remembered))]
        return result

    def _open(
        self, transaction: ReadTransaction, entry: IndexEntry | None
    ) -> tuple[tuple[IndexEntry, Engine] | None, SubspaceError | None]:
        if entry is None:
            return None, None
        from lpisearch.index.format import sweep
        from lpisearch.index.subspace import open_index
        from lpisearch.search.engine import Engine

        with self._index_lock:
            current = self._engines.get(entry.name)
            if current is not None and current[0].folder == entry.folder:
                return current, None
            tables = transaction.search_tables
            try:
                if tables is not None and tables.exist(entry.folder):
                    opened = self._engines[entry.name] = entry, self._of_tables(transaction, entry)
                    return opened, None
                location = IndexLocation.of(self.path, transaction)
                if current is not None and location.is_away(entry):
                    if location.is_cache:
                        self._start_download(location, entry)
                    return current, None  # until the new index is here
                index = open_index(location, transaction, entry)
            except SubspaceError as error:
                return None, error
            opened = self._engines[entry.name] = entry, Engine(index)
            if location.is_cache and current is not None:
                used = {other.folder for other in transaction.indexes.entries()}
                sweep(location.folder, used)
            return opened, None

    def _of_tables(self, transaction: ReadTransaction, entry: IndexEntry) -> Engine:
        """Return an engine that asks the database, which has the tables of the index."""
        from lpisearch.search.candidates import DatabaseEngine, Stored

        return DatabaseEngine(Stored(self.store, transaction, entry))

    def _start_download(self, location: IndexLocation, entry: IndexEntry) -> None:
        """Fetch an index in the background; the next question retries one that failed."""
        download = self._downloads.get(entry.name)
        if download is None or not download.is_alive():
            download = Thread(target=self._download, args=(location, entry), daemon=True)
            self._downloads[entry.name] = download
            download.start()

    def _download(self, location: IndexLocation, entry: IndexEntry) -> None:
        with suppress(LpiSearchError), self.store.reading() as transaction:
            location.fetched(transaction, entry)
