"""Batches into the store, failure log."""

from __future__ import annotations

import os
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

from lpisearch import VERSION
from lpisearch.ingest.names import FileNames
from lpisearch.model.documents import (
    UNFINISHED,
    DocumentRow,
    DocumentWrite,
    FailedFile,
    IngestReport,
    Source,
    Trouble,
)
from lpisearch.readers.base import MOST_PROBLEMS
from lpisearch.storage.integrity import content_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from lpisearch.ingest.discovery import DiscoveredFile
    from lpisearch.ingest.ingestion import Tokenising
    from lpisearch.ingest.names import LabelRules
    from lpisearch.model.documents import Document
    from lpisearch.options import IngestOptions
    from lpisearch.storage.store import Store, Transaction


_BATCH_CHARACTERS = 4_000_000
_BATCH_SECONDS = 2.0


class Recorder:
    """Writes documents a batch at a time; each batch is one transaction."""

    def __init__(
        self, store: Store, label_rules: LabelRules, tokenise: Tokenising, options: IngestOptions
    ) -> None:
        self.report = IngestReport()
        limit = options.read.max_document_bytes
        self.failures = FailureLog(
            store, self.report, label_rules.fingerprint, limit, anew=options.retry
        )
        self._store = store
        self._label_rules = label_rules
        self._tokenise = tokenise
        self._prune = options.prune
        self._batch_documents = options.batch_documents
        self._writer = BatchWriter(tokenise, self._is_gone, options.ids == "global")
        self._names = FileNames()
        with store.reading() as snapshot:
            self.known = snapshot.sources.known()
            self._elsewhere = snapshot.sources.elsewhere()
        self._next_source_id = 0
        self._paths = {source.id: source.path for source in self.known.values()}
        self._refused: set[int] = set()
        self._repeated: Counter[int] = Counter()
        self._left: set[int] = set()
        self._begin_batch()

    def _begin_batch(self) -> None:
        self._documents: list[Incoming] = []
        self._sources: dict[int, Source] = {}
        self._ended: dict[int, bool] = {}
        self._characters = 0
        self._flushed = time.monotonic()

    def expect(self, files: Iterable[DiscoveredFile]) -> None:
        """Note all files of the run, so that no name depends on which of them comes first."""
        files = list(files)
        new = sum(file.path not in self.known for file in files)
        with self._store.writing() as transaction:
            self._next_source_id = transaction.sources.reserve(new)
        roots = ((file.path, root_of(file, self.known.get(file.path))) for file in files)
        self._names = FileNames.of((relative_path(path, root), root) for path, root in roots)

    def leave(self, source: Source | None) -> None:
        """Count the documents of a file that need not be read; None has none."""
        if source is None:
            return
        self.report.unchanged += source.documents - source.gone
        if source.gone:
            self._left.add(source.id)

    def fail_unfound(self, trouble: Trouble) -> None:
        """Note what could not be looked into; each run tries it again."""
        self.failures.note(trouble, passing=True)
        self.failures.end(trouble.path)

    def source(self, file: DiscoveredFile, reader_name: str) -> Source:
        """Return the source of a file that is about to be read."""
        known = self.known.get(file.path)
        if known is None:
            source_id = self._next_source_id
            self._next_source_id += 1
            self._paths[source_id] = file.path
        else:
            source_id = known.id
        return Source(
            source_id,
            file.path,
            root_of(file, known),
            reader_name,
            UNFINISHED,
            UNFINISHED,
            self._label_rules.fingerprint,
        )

    def add(self, source: Source, document: Document, position: int, *, many: bool) -> None:
        """Take a document in; it is written with its batch."""
        relative = relative_path(source.path, source.root)
        number = position if many else None
        ids = (
            self._names.stated(document.id, relative, source.root)
            if document.id
            else self._names.derived(relative, source.root, number)
        )
        known = document.id and source.path in self.known
        former = self._names.former(document.id or "", source.path) if known else ()
        labelled = self._label_rules.apply(document, ids, relative)
        stated = document.id is not None
        self._sources[source.id] = source
        self._documents.append(
            Incoming(source.id, position, ids, stated, source.path, labelled, former)
        )
        self._characters += len(document.text) + _metadata_characters(document)
        if (
            len(self._documents) >= self._batch_documents
            or self._characters >= _BATCH_CHARACTERS
            or time.monotonic() - self._flushed >= _BATCH_SECONDS
        ):
            self.flush()

    def repeats_itself(self, source: Source, documents: int) -> bool:
        """Tell whether so many ids of a file came before in it that no more is to be hoped for."""
        repeated = self._repeated[source.id]
        return repeated > MOST_PROBLEMS and 2 * repeated > documents

    def end(self, source: Source, file: DiscoveredFile, *, clean: bool) -> None:
        """Note that nothing more comes from a file; one with failures will be read again."""
        if clean:
            self._sources[source.id] = replace(source, size=file.size, mtime_ns=file.mtime_ns)
        elif source.path in self.known:
            self._sources[source.id] = source
        self._ended[source.id] = clean
        self.failures.end(file.path, file)

    def flush(self) -> None:
        """Write what was taken in, in one transaction."""
        if self._sources or self.failures.pending:
            now = datetime.now(UTC).isoformat(timespec="seconds")
            with self._store.writing() as transaction:
                transaction.sources.save(list(self._sources.values()), now)
                self._tokenise.see(transaction, [each.document for each in self._documents])
                written = self._writer.write(transaction, self._documents, now)
                self._count(written)
                transaction.sources.save(self._refused_sources(), now)
                self.failures.save(transaction)
                vanished = self._vanished(transaction)
                if self._prune:
                    transaction.changes.delete(vanished)
                else:
                    transaction.changes.mark_gone(vanished)
            self._count_gone(len(vanished))
        self._begin_batch()

    def finish(self, gone: Iterable[Source]) -> None:
        """Write the rest; then count, or remove, what is left of files that are gone.

        So late, because another file may have taken their documents over.
        """
        self.flush()
        self.failures.sweep(self._store)
        paths = {source.path for source in gone if source.id not in self._elsewhere}
        if not paths and not self._left:
            return
        with self._store.writing() as transaction:
            now_known = transaction.sources.known()
            lost = [now_known[path] for path in paths if path in now_known]
            self._count_gone(sum(source.documents for source in lost))
            self._count_gone(sum(s.gone for s in now_known.values() if s.id in self._left))
            empty = [source.id for source in lost if self._prune or not source.documents]
            transaction.sources.delete(empty)
            if self._prune:
                transaction.changes.delete_gone(self._left)

    def _count_gone(self, documents: int) -> None:
        if self._prune:
            self.report.removed += documents
        else:
            self.report.missing += documents

    def _refused_sources(self) -> list[Source]:
        """Return files of this batch that hold a document which was refused: not yet done."""
        sources = [source for key, source in self._sources.items() if key in self._refused]
        return [replace(source, size=UNFINISHED, mtime_ns=UNFINISHED) for source in sources]

    def _vanished(self, transaction: Transaction) -> list[int]:
        """Return the documents that cleanly read files no longer have."""
        vanished: list[int] = []
        for source_id, clean in self._ended.items():
            rows = self._writer.vanished(transaction, source_id)
            # After a failure, a record that was not seen may be the one that could not be read.
            vanished.extend(rows if clean else ())
        return vanished

    def _count(self, written: Sequence[Written]) -> None:
        for incoming, result in zip(self._documents, written, strict=True):
            match result.outcome:
                case "added":
                    self.report.added += 1
                case "updated":
                    self.report.updated += 1
                case "unchanged":
                    self.report.unchanged += 1
                case "duplicate":
                    self._repeated[incoming.source_id] += 1
                    self._refuse(incoming, "is used twice in this file")
                case "taken":
                    owner = self._paths.get(result.other_source, "another file")
                    # Another run may find the id free.
                    self._refuse(incoming, f"is already used by {owner}", passing=True)

    def _refuse(self, incoming: Incoming, what: str, *, passing: bool = False) -> None:
        self._refused.add(incoming.source_id)
        reason = f"the id “{incoming.ids[0]}” {what}"
        where = f"document {incoming.position}"
        self.failures.note(Trouble(incoming.path, reason, where), passing=passing)

    def _is_gone(self, source_id: int) -> bool:
        """Tell whether the file of a source is gone; one of another machine or run is not."""
        path = self._paths.get(source_id)
        return not (path is None or source_id in self._elsewhere or os.path.lexists(path))


def _metadata_characters(document: Document) -> int:
    values = document.metadata.values()
    return sum(len(each if isinstance(each, str) else repr(each)) for each in values)


def relative_path(path: str, root: str) -> str:
    """Return the path below its root, with forward slashes on every system."""
    below = path.removeprefix(root).removeprefix(os.sep) if root else path
    return below.replace(os.sep, "/")


def root_of(file: DiscoveredFile, known: Source | None) -> str:
    """Return the folder that names a file: the outer one, if it was found under two."""
    if known and f"{file.root}{os.sep}".startswith(f"{known.root}{os.sep}"):
        return known.root
    return file.root


Outcome = Literal["added", "updated", "unchanged", "duplicate", "taken"]


@dataclass(frozen=True, slots=True)
class Incoming:
    """A document on its way into the library.

    Attributes
    ----------
    source_id, position
        The source, and the number of the document within it, from 1.
    ids
        What it may be called, best first: the id that it states and those that tell it from
        another file's; or, where it states none, those derived from its path.
    stated
        A stated id goes with the document; a derived one belongs to the place.
    path
        The file, for display.
    document
        What is stored.
    former
        What else it may have been called, when its file was named from another folder.
    """

    source_id: int
    position: int
    ids: tuple[str, ...]
    stated: bool
    path: str
    document: Document
    former: tuple[str, ...] = ()


class Written(NamedTuple):
    """What became of one document; `other_source` has its id already, if it is "taken"."""

    outcome: Outcome
    other_source: int = 0


@dataclass(slots=True)
class BatchWriter:
    """Brings batches into a library, touching only what differs.

    Attributes
    ----------
    tokenise
        Gives the tokens to store; called for new and changed documents only.
    is_gone
        Tells of a source's key whether its file is gone, so that another file may bring the
        same documents.
    ids_are_global
        One stated id is one document, whichever files state it; else each file has its own.
    """

    tokenise: Callable[[Document], str]
    is_gone: Callable[[int], bool]
    ids_are_global: bool = False
    _seen: dict[int, set[int]] = field(default_factory=dict)

    def write(self, transaction: Transaction, batch: Sequence[Incoming], now: str) -> list[Written]:
        """Write a batch within the transaction; one result for each document."""
        present = _Present.of(transaction, batch)
        results: list[Written] = []
        new: list[DocumentWrite] = []
        changed: list[DocumentWrite] = []
        moved: list[DocumentWrite] = []
        for incoming in batch:
            stored = self._version(present, incoming)
            key = stored.key if stored else present.new_key()
            if refused := self._refused(incoming, stored, key):
                results.append(refused)
                continue
            digest = content_hash(incoming.document)
            results.append(Written(_outcome(stored, digest)))
            name = stored.id if stored else present.free_id(incoming.ids, key)
            place = DocumentRow(key, name, incoming.source_id, incoming.position, digest)
            write = DocumentWrite(place, incoming.path, incoming.document)
            if stored is None:
                present.put(place)
                new.append(write)
            elif digest != stored.content_hash:
                changed.append(write)
            elif stored != place:
                moved.append(write)
        transaction.changes.move(moved)
        transaction.changes.replace(self._tokenised(changed), now)
        transaction.changes.insert(self._tokenised(new), now)
        return results

    def _tokenised(self, writes: Sequence[DocumentWrite]) -> list[DocumentWrite]:
        return [write._replace(tokens=self.tokenise(write.document)) for write in writes]

    def _version(self, present: _Present, incoming: Incoming) -> DocumentRow | None:
        """Return the document that the incoming one is a version of."""
        stored = present.find(incoming)
        if stored is None or self.ids_are_global or stored.source_id == incoming.source_id:
            return stored
        return stored if self._is_free(stored) else None

    def _refused(self, incoming: Incoming, stored: DocumentRow | None, key: int) -> Written | None:
        """Say why a document is not taken in: its id is another's, or came before."""
        source_id = incoming.source_id
        if stored and stored.source_id != source_id and not self._is_free(stored):
            return Written("taken", stored.source_id)
        seen = self._seen.setdefault(source_id, set())
        if key in seen:
            return Written("duplicate")
        seen.add(key)
        return None

    def _is_free(self, stored: DocumentRow) -> bool:
        """Tell whether a document is left behind by its file."""
        return stored.position < 0 or self.is_gone(stored.source_id)

    def vanished(self, transaction: Transaction, source_id: int) -> list[int]:
        """Return the documents that a source, now read to its end, no longer has."""
        seen = self._seen.pop(source_id, set())
        return [key for key in transaction.changes.of_source(source_id) if key not in seen]


def _outcome(stored: DocumentRow | None, digest: bytes) -> Outcome:
    if stored is None:
        return "added"
    return "unchanged" if stored.content_hash == digest else "updated"


class _Present:
    """What the library has at the identities and places of a batch."""

    def __init__(self, stored: Sequence[DocumentRow], new_keys: Iterator[int]) -> None:
        self._by_id = {one.id: one for one in stored}
        # A record that is there hides one that is gone from the same place.
        by_place = sorted(stored, key=lambda one: one.position)
        self._by_place = {(one.source_id, abs(one.position)): one for one in by_place}
        self._new_keys = new_keys

    @classmethod
    def of(cls, transaction: Transaction, batch: Sequence[Incoming]) -> _Present:
        ids = {name for incoming in batch for name in (*incoming.ids, *incoming.former)}
        places = [(incoming.source_id, incoming.position) for incoming in batch]
        return cls(transaction.changes.at(sorted(ids), places), transaction.changes.new_keys())

    def find(self, incoming: Incoming) -> DocumentRow | None:
        """Return the document that has the place or the stated id of the incoming one."""
        at_place = self._by_place.get((incoming.source_id, incoming.position))
        longest = incoming.ids[-1]
        if not incoming.stated:
            # A document with an id of its own, which was here before, has moved.
            return at_place if at_place and _is_derived(at_place.id, longest) else None
        names = (*incoming.ids, *incoming.former)
        for stored in (self._by_id[name] for name in names if name in self._by_id):
            if stored.source_id == incoming.source_id:
                return stored
        if at_place and at_place.id.startswith(f"{longest} ("):  # as `free_id` makes them
            return at_place
        return self._by_id.get(incoming.ids[0])

    def free_id(self, candidates: Sequence[str], key: int) -> str:
        """Return the first candidate that no document has, else one with the document's key."""
        own = f"{candidates[-1]} ({key})"
        return next(name for name in (*candidates, own) if name not in self._by_id)

    def new_key(self) -> int:
        return next(self._new_keys)

    def put(self, place: DocumentRow) -> None:
        """Remember a document that this batch adds."""
        self._by_id[place.id] = place
        self._by_place[place.source_id, place.position] = place


def _is_derived(name: str, longest: str) -> bool:
    """Tell a name derived from a path, perhaps from an inner folder, from one that was stated."""
    file = longest.rsplit("/", 1)[-1]
    return name.startswith(longest) or (longest.endswith(name) and name.endswith(file))


_LISTED = 1000
_STORED = 100


class FailureLog:
    """Sorts failures into new and known ones, and keeps them in the library."""

    def __init__(
        self, store: Store, report: IngestReport, *circumstances: object, anew: bool = False
    ) -> None:
        with store.reading() as snapshot:
            self._stored = snapshot.sources.failed()
        self._report = report
        self._anew = anew
        self._read_options = " ".join(map(str, (VERSION, *circumstances)))
        self._open: dict[str, list[Trouble]] = {}
        self._numbers: dict[str, int] = {}
        self._passing: set[str] = set()
        self._ended: dict[str, DiscoveredFile | None] = {}

    @property
    def pending(self) -> int:
        """How many files have ended since the last `save`."""
        return len(self._ended)

    def is_settled(self, file: DiscoveredFile) -> bool:
        """Tell whether a file failed before, and would fail again in the same way."""
        known = self._stored.get(file.path)
        return (
            known is not None
            and (known.size, known.mtime_ns) == (file.size, file.mtime_ns)
            and known.read_options == self._read_options
        )

    def repeat(self, file: DiscoveredFile) -> None:
        """Count the failures of a file that is not tried again."""
        known = self._stored[file.path]
        self._report.known_failures.extend(known.troubles)
        self._report.unlisted += known.number - len(known.troubles)

    def note(self, trouble: Trouble, *, passing: bool = False) -> None:
        """Take in a failure; a passing one lets its file be tried again at the next run."""
        path = trouble.path
        if passing:
            self._passing.add(path)
        number = self._numbers[path] = self._numbers.get(path, 0) + 1
        whole = not trouble.where  # what is said of the file itself is always named
        if number <= _STORED or whole:
            self._open.setdefault(path, []).append(trouble)
        if number > _LISTED and not whole:
            self._report.unlisted += 1
        elif self._is_known(trouble):
            self._report.known_failures.append(trouble)
        else:
            self._report.failures.append(trouble)

    def end(self, path: str, file: DiscoveredFile | None = None) -> None:
        """Note that no more failures come from a file; None for one that was not even found."""
        if path in self._open or path in self._stored:
            self._ended[path] = file

    def save(self, transaction: Transaction) -> None:
        """Bring what ended into the library."""
        failed = [self._failed(path, file) for path, file in self._ended.items()]
        transaction.sources.save_failed([one for one in failed if one.number])
        transaction.sources.forget_failed(one.path for one in failed if not one.number)
        self._ended.clear()

    def sweep(self, store: Store) -> None:
        """Forget files that are gone."""
        gone = [path for path in self._stored if not os.path.lexists(path)]
        if gone:
            with store.writing() as transaction:
                transaction.sources.forget_failed(gone)

    def _is_known(self, trouble: Trouble) -> bool:
        known = self._stored.get(trouble.path)
        if known is None or self._anew:
            return False
        return known.number > len(known.troubles) or trouble in known.troubles

    def _failed(self, path: str, file: DiscoveredFile | None) -> FailedFile:
        """Return what is kept of a file, and drop it here."""
        lasting = file is not None and path not in self._passing
        size, mtime_ns = (file.size, file.mtime_ns) if file and lasting else (UNFINISHED,) * 2
        troubles = tuple(self._open.pop(path, ()))
        number = self._numbers.pop(path, 0)
        return FailedFile(path, size, mtime_ns, self._read_options, troubles, number)
