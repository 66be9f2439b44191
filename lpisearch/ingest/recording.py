"""Store extracted documents in batches and count the outcomes."""

from __future__ import annotations

import os
import time
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from lpisearch.ingest.batches import BatchWriter, Incoming
from lpisearch.ingest.failing import FailureLog
from lpisearch.ingest.naming import FileNames
from lpisearch.readers.limits import MOST_PROBLEMS
from lpisearch.records import UNFINISHED, IngestReport, Source, Trouble

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lpisearch.ingest.batches import Written
    from lpisearch.ingest.discovery import FoundFile
    from lpisearch.ingest.naming import LabelRules
    from lpisearch.ingest.tokeniser import Tokenising
    from lpisearch.records import Document
    from lpisearch.settings import IngestOptions
    from lpisearch.storage import Store, Transaction

_BATCH_CHARACTERS = 4_000_000
_BATCH_SECONDS = 2.0


class Recorder:
    """Writes documents a batch at a time; each batch is one transaction.

    Parameters
    ----------
    store
        The library, open to be written; the caller holds the writer lock.
    label_rules
        Gives each document its labels and split.
    tokenise
        Gives the tokens to store of a document.
    options
        Whether documents that are gone from a changed file are removed, how many one transaction
        may hold, and whether one stated id is one document whichever files state it.
    """

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

    def expect(self, files: Iterable[FoundFile]) -> None:
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

    def source(self, file: FoundFile, reader_name: str) -> Source:
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

    def end(self, source: Source, file: FoundFile, *, clean: bool) -> None:
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


def root_of(file: FoundFile, known: Source | None) -> str:
    """Return the folder that names a file: the outer one, if it was found under two."""
    if known and f"{file.root}{os.sep}".startswith(f"{known.root}{os.sep}"):
        return known.root
    return file.root
