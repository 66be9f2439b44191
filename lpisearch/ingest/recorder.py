"""Write documents to the store in batches; remember failures."""

from __future__ import annotations

import os
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from lpisearch import VERSION
from lpisearch.ingest.moves import MissingDocuments, MissingFiles, is_missing
from lpisearch.ingest.names import FileNames, FolderCensus, LabelRules
from lpisearch.model.documents import (
    PART,
    UNFINISHED,
    DocumentRow,
    DocumentWrite,
    FailedFile,
    IngestReport,
    Source,
    Trouble,
)
from lpisearch.readers.base import MOST_PROBLEMS
from lpisearch.readers.registry import READERS
from lpisearch.storage.integrity import content_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from lpisearch.ingest.discovery import DiscoveredFile
    from lpisearch.ingest.extraction import Analysed
    from lpisearch.ingest.ingestion import Tokenising
    from lpisearch.model.documents import Document
    from lpisearch.options import IngestOptions
    from lpisearch.storage.store import Store, Transaction


_BATCH_CHARACTERS = 4_000_000
_BATCH_SECONDS, _FIRST_SECONDS = 2.0, 30.0


class Recorder:
    """Writes documents a batch at a time; each batch is one transaction."""

    def __init__(self, store: Store, tokenise: Tokenising, options: IngestOptions) -> None:
        self.report = IngestReport()
        with store.reading() as snapshot:
            self.known = snapshot.sources.known()
            self._elsewhere = snapshot.sources.elsewhere()
        self.label_rules = LabelRules.of(options.read, self.known.values())
        self.folders = FolderCensus()
        self.by_option: Counter[str] = Counter()  # skipped files, by the option that reads them
        limit = options.read.max_document_bytes
        self.failures = FailureLog(
            store, self.report, self.label_rules.fingerprint, limit, retry=options.retry
        )
        self._store = store
        self._tokenise = tokenise
        self._prune = options.prune
        self._batch_documents = options.batch_documents
        self._writer = BatchWriter(tokenise, self._is_gone, options.ids == "global")
        self._files: Sequence[DiscoveredFile] = ()
        self._first_new = self._next_source_id = 0
        self._missing = MissingFiles()
        self._origins: dict[int, Sequence[Source]] = {}
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
        """Register all files of the run, so that ids do not depend on their order."""
        self._files = files = list(files)
        self._missing = MissingFiles.among(self.known.values(), files, self._elsewhere)
        new = sum(file.path not in self.known for file in files)
        with self._store.writing() as transaction:
            self._first_new = self._next_source_id = transaction.sources.reserve(new)

    @cached_property
    def _names(self) -> FileNames:
        """The names of all files; where nothing changed, none is needed."""
        roots = ((file.path, root_of(file, self.known.get(file.path))) for file in self._files)
        return FileNames.of((relative_path(path, root), root) for path, root in roots)

    def leave(self, source: Source | None, file: DiscoveredFile | None = None) -> None:
        """Count the documents of a file that is not read again; note a time that was unknown."""
        if source is None:
            return
        if file is not None and not source.ctime_ns:
            self._sources[source.id] = replace(source, ctime_ns=file.ctime_ns)
        self.report.unchanged += source.documents - source.gone
        if source.gone:
            self._left.add(source.id)

    def fail_discovery(self, trouble: Trouble) -> None:
        """Record a path that could not be read; each run tries it again."""
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
        root = root_of(file, known)
        self._origins[source_id] = self._missing.origins(file, known)
        rules = self._rules_of(source_id, root, file.path)
        return Source(
            source_id, file.path, root, reader_name, UNFINISHED, UNFINISHED, rules.fingerprint
        )

    def _rules_of(self, source_id: int, root: str, path: str) -> LabelRules:
        """Return the label rules of a file; those of a renamed folder stay."""
        if not self.label_rules.by_root:
            return self.label_rules
        name = path.rpartition(os.sep)[-1]
        named = (one for one in self._origins.get(source_id, ()) if one.path.endswith(name))
        origin = next(named, None)
        return self.label_rules.at(root, origin.root if origin else "")

    def add(
        self,
        source: Source,
        document: Document,
        position: int,
        analysed: Analysed | None = None,
        *,
        many: bool,
    ) -> None:
        """Add a document to the current batch."""
        relative = relative_path(source.path, source.root)
        number = position if many else None
        part = document.metadata.get(PART) if _contains(source.format) else None
        if part:
            ids = self._names.inside(str(part), relative, source.root)
        elif document.id:
            ids = self._names.stated(document.id, relative, source.root)
        else:
            ids = self._names.derived(relative, source.root, number)
        known = document.id and source.path in self.known
        former = self._names.former(document.id or "", source.path) if known else ()
        rules = self._rules_of(source.id, source.root, source.path)
        labelled = rules.apply(document, ids, relative)
        if rules.ignores_folders and source.path not in self.known:
            self.folders.see(labelled, relative)
        stated = document.id is not None or bool(part)
        self._sources[source.id] = source
        origins = self._origins.get(source.id, ())
        self._documents.append(
            Incoming(
                *(source.id, position, ids, stated, source.path, labelled),
                *(former, origins, analysed),
            )
        )
        self._characters += len(document.text) + _metadata_characters(document)
        if (
            len(self._documents) >= self._batch_documents
            or self._characters >= _BATCH_CHARACTERS
            or time.monotonic() - self._flushed >= self._batch_seconds()
        ):
            self.flush()

    def _batch_seconds(self) -> float:
        # The first batch tells the language: what it is must not depend on the machine's speed.
        return _BATCH_SECONDS if self._tokenise.is_ready else _FIRST_SECONDS

    def repeats_itself(self, source: Source, documents: int) -> bool:
        """Tell whether a file repeats so many ids that the rest is not worth reading."""
        repeated = self._repeated[source.id]
        return repeated > MOST_PROBLEMS and 2 * repeated > documents

    def end(self, source: Source, file: DiscoveredFile, *, clean: bool) -> None:
        """Record the end of a file; one with failures will be read again."""
        if clean:
            self._sources[source.id] = replace(
                source, size=file.size, mtime_ns=file.mtime_ns, ctime_ns=file.ctime_ns
            )
        elif source.path in self.known:
            self._sources[source.id] = source
        self._ended[source.id] = clean
        self._origins.pop(source.id, None)
        self.failures.end(file.path, file)

    def flush(self) -> None:
        """Write the current batch in one transaction."""
        if self._sources or self.failures.pending:
            now = datetime.now(UTC).isoformat(timespec="seconds")
            with self._store.writing() as transaction:
                transaction.sources.save(list(self._sources.values()), now)
                documents = [incoming.document for incoming in self._documents]
                self._tokenise.see(transaction, documents)
                written = self._writer.write(transaction, self._documents, now)
                self._count(written)
                left = {result.other_source for result in written if result.outcome == "moved"}
                transaction.sources.delete_empty(left)
                transaction.sources.save(self._refused_sources(), now)
                self.failures.save(transaction)
                vanished = self._vanished(transaction)
                if self._prune:
                    self._note_labels(transaction, vanished)
                    transaction.changes.delete(vanished)
                else:
                    transaction.changes.mark_gone(vanished)
            self._count_gone(len(vanished))
        self._begin_batch()

    def finish(self, gone: Iterable[Source]) -> None:
        """Write the last batch; then count or remove the documents of missing files.

        Only at the end, as another file of the run may contain the same documents.
        """
        self.flush()
        self.failures.sweep(self._store)
        gone = list(gone)
        paths = {source.path for source in gone if source.id not in self._elsewhere}
        if paths or self._left:
            self._finish(paths)
        if self._missing.folders:
            with self._store.reading() as snapshot:
                now_known = snapshot.sources.known().values()
            notes = self._missing.notes(now_known, {source.id for source in gone})
            self.report.notes.extend(notes)

    def _finish(self, paths: set[str]) -> None:
        with self._store.writing() as transaction:
            now_known = transaction.sources.known()
            lost = [now_known[path] for path in paths if path in now_known]
            self._count_gone(sum(source.documents for source in lost))
            self._count_gone(sum(s.gone for s in now_known.values() if s.id in self._left))
            empty = [source.id for source in lost if self._prune or not source.documents]
            if self._prune:
                doomed = [key for one in empty for key in transaction.changes.of_source(one)]
                doomed += transaction.changes.gone(self._left)
                self._note_labels(transaction, doomed)
                transaction.changes.delete(doomed)
            transaction.sources.delete(empty)

    def _note_labels(self, transaction: Transaction, keys: Sequence[int]) -> None:
        """Remember labels given by hand that are removed with their documents."""
        self.report.labels_removed.update(transaction.labels.by_hand(keys))

    def _count_gone(self, documents: int) -> None:
        if self._prune:
            self.report.removed += documents
        else:
            self.report.missing += documents

    def _refused_sources(self) -> list[Source]:
        """Return files of this batch with a refused document as unfinished."""
        sources = [source for key, source in self._sources.items() if key in self._refused]
        return [replace(source, size=UNFINISHED, mtime_ns=UNFINISHED) for source in sources]

    def _vanished(self, transaction: Transaction) -> list[int]:
        """Return the documents that completely read files no longer contain."""
        vanished: list[int] = []
        for source_id, clean in self._ended.items():
            is_new = source_id >= self._first_new
            rows = self._writer.vanished(transaction, source_id, is_new=is_new)
            # After a failure, a missing record may be the one that could not be read.
            vanished.extend(rows if clean else ())
        return vanished

    def _count(self, written: Sequence[Written]) -> None:
        for incoming, result in zip(self._documents, written, strict=True):
            match result.outcome:
                case "added":
                    self.report.added += 1
                case "updated":
                    self.report.updated += 1
                case "moved":
                    self.report.moved += 1
                case "unchanged":
                    self.report.unchanged += 1
                case "duplicate":
                    self._repeated[incoming.source_id] += 1
                    self._refuse(incoming, "is used twice in this file")
                case "taken":
                    owner = self._paths.get(result.other_source, "another file")
                    # The id may be free in a later run.
                    self._refuse(incoming, f"is already used by {owner}", passing=True)

    def _refuse(self, incoming: Incoming, what: str, *, passing: bool = False) -> None:
        self._refused.add(incoming.source_id)
        reason = f"the id “{incoming.ids[0]}” {what}"
        where = f"document {incoming.position}"
        self.failures.note(Trouble(incoming.path, reason, where), passing=passing)

    def _is_gone(self, source_id: int) -> bool:
        """Tell whether a file is known to be gone; one of another machine or run is not."""
        path = self._paths.get(source_id)
        return not (path is None or source_id in self._elsewhere) and is_missing(path)


def _contains(name: str) -> bool:
    """Tell whether a format has files of other formats inside."""
    return name in READERS and READERS[name].contains


def _metadata_characters(document: Document) -> int:
    values = document.metadata.values()
    return sum(len(value if isinstance(value, str) else repr(value)) for value in values)


def relative_path(path: str, root: str) -> str:
    """Return a path relative to its root, with forward slashes on every system."""
    below = path.removeprefix(root).removeprefix(os.sep) if root else path
    return below.replace(os.sep, "/")


def root_of(file: DiscoveredFile, known: Source | None) -> str:
    """Return the folder that names a file: the outer one if it was found under two."""
    if (
        known
        and known.root != file.root
        and f"{file.root}{os.sep}".startswith(f"{known.root}{os.sep}")
    ):
        return known.root
    return file.root


Outcome = Literal["added", "updated", "moved", "unchanged", "duplicate", "taken"]


class Incoming(NamedTuple):
    """A document to be written."""

    source_id: int
    position: int  # within the source, from 1
    # Possible ids, best first: the stated id and variants that distinguish it from another file's;
    # without a stated one, ids derived from the path.
    ids: tuple[str, ...]
    stated: bool  # a stated id follows the document, a derived one stays with the position
    path: str  # of the file, for display
    document: Document
    former: tuple[str, ...] = ()  # ids it may have had when its file was named from another folder
    origins: Sequence[Source] = ()  # missing files that its file may have been
    analysed: Analysed | None = None


class Written(NamedTuple):
    """The outcome of one document; `other_source` owns its id if "taken", had it if "moved"."""

    outcome: Outcome
    other_source: int = 0


@dataclass(slots=True)
class BatchWriter:
    """Writes batches into a library, changing only what differs."""

    # Adds tokens and traits, perhaps those of a worker, to new and changed documents.
    tokenise: Callable[..., DocumentWrite]
    is_gone: Callable[[int], bool]  # whether the file of a source is gone, freeing its ids
    ids_are_global: bool = False  # whether equal stated ids in different files are one document
    _seen: dict[int, set[int]] = field(default_factory=dict)

    def write(self, transaction: Transaction, batch: Sequence[Incoming], now: str) -> list[Written]:
        """Write a batch within a transaction; return one result for each document."""
        present = _Present.of(transaction, batch)
        missing = MissingDocuments(transaction, batch)
        results: list[Written] = []
        new: list[tuple[DocumentWrite, Analysed | None]] = []
        changed: list[tuple[DocumentWrite, Analysed | None]] = []
        moved: list[DocumentWrite] = []
        from_elsewhere: list[int] = []
        for incoming in batch:
            stored = self._version(present, incoming)
            former = missing.take(incoming) if stored is None else None
            stored = stored or former
            key = stored.key if stored else present.new_key()
            if refused := self._refused(incoming, stored, key):
                results.append(refused)
                continue
            digest = content_hash(incoming.document)
            name = stored.id if stored else present.free_id(incoming.ids, key)
            if former:
                name = present.free_id(incoming.ids, key, former.id)
                from_elsewhere.append(key)
            results.append(_written(stored, incoming, digest, is_former=former is not None))
            row = DocumentRow(key, name, incoming.source_id, incoming.position, digest)
            write = DocumentWrite(row, incoming.path, incoming.document)
            if stored is None:
                present.put(row)
                new.append((write, incoming.analysed))
            elif digest != stored.content_hash:
                changed.append((write, incoming.analysed))
            elif stored != row:
                moved.append(write)
            if former:
                present.put(row)
        transaction.changes.move(moved)
        transaction.changes.replace(self._tokenised(changed), now, from_elsewhere)
        transaction.changes.insert(self._tokenised(new), now)
        return results

    def _tokenised(
        self, writes: Sequence[tuple[DocumentWrite, Analysed | None]]
    ) -> list[DocumentWrite]:
        return [self.tokenise(write, *([made] if made else [])) for write, made in writes]

    def _version(self, present: _Present, incoming: Incoming) -> DocumentRow | None:
        """Return the stored document that the incoming one is a version of."""
        stored = present.find(incoming)
        if stored is None or self.ids_are_global or stored.source_id == incoming.source_id:
            return stored
        return stored if self._is_free(stored) else None

    def _refused(self, incoming: Incoming, stored: DocumentRow | None, key: int) -> Written | None:
        """Return why a document is refused: its id is another's or was used before."""
        source_id = incoming.source_id
        if stored and stored.source_id != source_id and not self._is_free(stored):
            return Written("taken", stored.source_id)
        seen = self._seen.setdefault(source_id, set())
        if key in seen:
            return Written("duplicate")
        seen.add(key)
        return None

    def _is_free(self, stored: DocumentRow) -> bool:
        """Tell whether a document's file no longer contains it."""
        return stored.position < 0 or self.is_gone(stored.source_id)

    def vanished(
        self, transaction: Transaction, source_id: int, *, is_new: bool = False
    ) -> list[int]:
        """Return the documents that a source, now read completely, no longer contains."""
        seen = self._seen.pop(source_id, set())
        if is_new:
            return []
        return [key for key in transaction.changes.of_source(source_id) if key not in seen]


def _written(
    stored: DocumentRow | None, incoming: Incoming, digest: bytes, *, is_former: bool
) -> Written:
    if stored is None:
        return Written("added")
    same = stored.content_hash == digest
    if is_former or (same and stored.source_id != incoming.source_id):
        return Written("moved", stored.source_id)
    return Written("unchanged" if same else "updated")


class _Present:
    """Stored documents with the ids and positions of a batch."""

    def __init__(self, stored: Sequence[DocumentRow], new_keys: Iterator[int]) -> None:
        self._by_id = {row.id: row for row in stored}
        # An existing record hides one that is gone from the same position.
        ordered = sorted(stored, key=lambda row: row.position)
        self._by_position = {(row.source_id, abs(row.position)): row for row in ordered}
        self._new_keys = new_keys

    @classmethod
    def of(cls, transaction: Transaction, batch: Sequence[Incoming]) -> _Present:
        ids = {name for incoming in batch for name in (*incoming.ids, *incoming.former)}
        positions = [(incoming.source_id, incoming.position) for incoming in batch]
        return cls(transaction.changes.at(sorted(ids), positions), transaction.changes.new_keys())

    def find(self, incoming: Incoming) -> DocumentRow | None:
        """Return the document with the position or the stated id of the incoming one."""
        at_position = self._by_position.get((incoming.source_id, incoming.position))
        longest = incoming.ids[-1]
        if not incoming.stated:
            # A document with a stated id at this position has moved.
            return at_position if at_position and _is_derived(at_position.id, longest) else None
        names = (*incoming.ids, *incoming.former)
        for stored in (self._by_id[name] for name in names if name in self._by_id):
            if stored.source_id == incoming.source_id:
                return stored
        if at_position and at_position.id.startswith(f"{longest} ("):  # made by `free_id`
            return at_position
        return self._by_id.get(incoming.ids[0])

    def free_id(self, candidates: Sequence[str], key: int, present: str = "") -> str:
        """Return the first candidate that is unused or the `present` id, else one with the key."""
        own = f"{candidates[-1]} ({key})"
        free = (name for name in (*candidates, own) if name == present or name not in self._by_id)
        return next(free)

    def new_key(self) -> int:
        return next(self._new_keys)

    def put(self, row: DocumentRow) -> None:
        """Record a document that this batch adds."""
        self._by_id[row.id] = row
        self._by_position[row.source_id, row.position] = row


def _is_derived(name: str, longest: str) -> bool:
    """Tell an id derived from a path, perhaps from an inner folder, from a stated one."""
    file = longest.rsplit("/", 1)[-1]
    return name.startswith(longest) or (longest.endswith(name) and name.endswith(file))


_LISTED = 1000
_STORED = 100


class FailureLog:
    """Separates new failures from known ones, and stores them.

    Failures under other circumstances, or of another version of the program, are tried again.
    """

    def __init__(
        self, store: Store, report: IngestReport, *circumstances: object, retry: bool = False
    ) -> None:
        with store.reading() as snapshot:
            self._stored = snapshot.sources.failed()
        self._report = report
        self._retry = retry
        self._read_options = " ".join(map(str, (VERSION, *circumstances)))
        self._open: dict[str, list[Trouble]] = {}
        self._numbers: dict[str, int] = {}
        self._passing: set[str] = set()
        self._ended: dict[str, DiscoveredFile | None] = {}

    @property
    def pending(self) -> int:
        """Number of files that have ended since the last `save`."""
        return len(self._ended)

    def is_settled(self, file: DiscoveredFile) -> bool:
        """Tell whether a file failed before and would fail again in the same way."""
        known = self._stored.get(file.path)
        return known is not None and file.is_as(known) and known.read_options == self._read_options

    def repeat(self, file: DiscoveredFile) -> None:
        """Count the failures of a file that is not tried again."""
        known = self._stored[file.path]
        self._report.known_failures.extend(known.troubles)
        self._report.unlisted += known.number - len(known.troubles)

    def note(self, trouble: Trouble, *, passing: bool = False) -> None:
        """Record a failure; a passing one lets the next run try its file again."""
        path = trouble.path
        if passing:
            self._passing.add(path)
        number = self._numbers[path] = self._numbers.get(path, 0) + 1
        whole = not trouble.where  # a problem of the whole file is always listed
        if number <= _STORED or whole:
            self._open.setdefault(path, []).append(trouble)
        if number > _LISTED and not whole:
            self._report.unlisted += 1
        elif self._is_known(trouble):
            self._report.known_failures.append(trouble)
        else:
            self._report.failures.append(trouble)

    def end(self, path: str, file: DiscoveredFile | None = None) -> None:
        """Record the end of a file; None for a path without one."""
        if path in self._open or path in self._stored:
            self._ended[path] = file

    def save(self, transaction: Transaction) -> None:
        """Store the failures of files that have ended."""
        ended = [self._failed(path, file) for path, file in self._ended.items()]
        transaction.sources.save_failed([file for file in ended if file.number])
        transaction.sources.forget_failed(file.path for file in ended if not file.number)
        self._ended.clear()

    def sweep(self, store: Store) -> None:
        """Forget the failures of files that are gone."""
        gone = [path for path in self._stored if is_missing(path)]
        if gone:
            with store.writing() as transaction:
                transaction.sources.forget_failed(gone)

    def _is_known(self, trouble: Trouble) -> bool:
        known = self._stored.get(trouble.path)
        if known is None or self._retry:
            return False
        return known.number > len(known.troubles) or trouble in known.troubles

    def _failed(self, path: str, file: DiscoveredFile | None) -> FailedFile:
        """Return the record of a file and remove it here."""
        lasting = file is not None and path not in self._passing
        size, mtime_ns = (file.size, file.mtime_ns) if file and lasting else (UNFINISHED,) * 2
        troubles = tuple(self._open.pop(path, ()))
        number = self._numbers.pop(path, 0)
        changed = file.ctime_ns if file else 0
        return FailedFile(path, size, mtime_ns, self._read_options, troubles, number, changed)
