"""List, show, label, delete and export documents; predicted labels; status, names."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from glob import escape
from io import TextIOWrapper
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from lpisearch.errors import BadOption, DocumentNotFound, LibraryUnwritable
from lpisearch.files import mode_of, refuse_others, whole_file
from lpisearch.index.directory import index_summaries
from lpisearch.location import Location, is_own_path
from lpisearch.messages import nearest, printable
from lpisearch.model.codec import json_text, to_json
from lpisearch.model.documents import (
    Document,
    Entry,
    Filter,
    LabelReport,
    PredictionReport,
    labels_note,
)
from lpisearch.options import ENTRY_SORTS, ClassifyOptions
from lpisearch.storage import open_store, writer_lock
from lpisearch.storage.metadata import TOKENISER
from lpisearch.storage.reading import chunks
from lpisearch.text.languages import RULES_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lpisearch.model.answers import Classification, LabelShare
    from lpisearch.search.classification import TextClassifier
    from lpisearch.search.session import Session
    from lpisearch.storage.store import ReadTransaction, Transaction


EVERY = Filter()
_REPORT_EVERY = 1000
_WAIT_SECONDS = 30.0
# The beginning of each line of an export, unlike other JSON Lines.
_EXPORTED = re.compile(rb'\{"id": "(?:[^"\\]|\\.)*", "title": "')


def list_documents(
    session: Session,
    wanted: Filter = EVERY,
    limit: int = -1,
    offset: int = 0,
    sort: str = ENTRY_SORTS[0],
) -> tuple[list[Entry], int]:
    """Return a page of the listing, and the total number of documents."""
    if sort not in ENTRY_SORTS:
        hint = nearest(sort, ENTRY_SORTS)
        raise BadOption("sort", f"unknown sort order “{sort}”{hint}", ENTRY_SORTS)
    with session.reading() as snapshot:
        entries = snapshot.corpus.entries(wanted, limit, offset, sort)
        return entries, snapshot.documents.count_and_sum(wanted)[0]


def every_document(session: Session) -> Iterator[Document]:
    """Yield all documents in the order of ingest."""
    with session.reading() as snapshot:
        yield from snapshot.corpus.stream(EVERY)


def show_document(session: Session, name: str) -> Document:
    """Return a document by its id or the path of its file."""
    with session.reading() as snapshot:
        return snapshot.corpus.load([snapshot.documents.only(name)])[0]


def delete_documents(
    library: Location,
    names: Sequence[str],
    where: Filter = EVERY,
    on_note: Callable[[str], None] = lambda _note: None,
    wait_seconds: float = _WAIT_SECONDS,
) -> int:
    """Delete documents, by name or by a filter, and all that belongs to them, in one transaction.

    `on_note` is told of labels given by hand that are removed with them.
    """
    if names and where != EVERY:
        raise BadOption("documents", "give ids or filters, not both")
    if not names and where == EVERY:
        return 0
    where = replace(where, exact=True)
    with _writing(library, "delete", wait_seconds) as transaction:
        row_ids = {transaction.documents.only(name) for name in names}
        row_ids |= transaction.corpus.content_hashes(where).keys() if not names else set()
        edits = transaction.labels.by_hand(row_ids)
        transaction.changes.delete(row_ids)
    if edits:
        on_note(labels_note(edits))
    return len(row_ids)


def export_documents(
    session: Session,
    target: Path | IO[str],
    wanted: Filter = EVERY,
    *,
    force: bool = False,
    on_stage: Callable[[str], None] = lambda _name: None,
) -> int:
    """Write documents as JSON Lines, which an ingest turns into the same documents again.

    A file appears atomically. `on_stage` is called from time to time with a count.
    """
    if isinstance(target, Path):
        if is_own_path(target, session.path):
            raise BadOption("target", f"{target} is one of the library's own files")
        if not force:
            refuse_others(target, "an export", lambda head: _EXPORTED.match(head) is not None)
    number = 0
    with (
        session.reading() as snapshot,
        _whole_file(target, session.path) if isinstance(target, Path) else nullcontext(target)
        as stream,
    ):  # fmt: skip
        for number, document in enumerate(snapshot.corpus.stream(wanted), start=1):
            stream.write(json_text(to_json(document)) + "\n")
            if number % _REPORT_EVERY == 0:
                on_stage(f"{number:,} documents written")
    return number


@contextmanager
def _writing(
    library: Location, verb: str, wait_seconds: float = _WAIT_SECONDS
) -> Iterator[Transaction]:
    """Open the one write transaction of a verb."""
    with (
        open_store(library, writable=True) as store,
        writer_lock(library, verb, wait_seconds),
        store.writing() as transaction,
    ):
        yield transaction


@contextmanager
def _whole_file(target: Path, library: Location) -> Iterator[IO[str]]:
    """Yield a stream to a file that appears atomically, with at most the library's permissions."""
    if target.is_dir():
        raise LibraryUnwritable(target, "it is a folder")
    try:
        with whole_file(target, mode_of(library)) as stream:
            text = TextIOWrapper(stream, encoding="utf-8", newline="\n")
            yield text
            text.detach()  # flushes, and leaves the stream open to be synced
    except OSError as error:
        raise LibraryUnwritable(target, error.strerror or str(error)) from error


def library_status(session: Session) -> dict[str, Any]:
    """Return counts of documents, labels, splits and sources, and the size on disk."""
    with session.reading() as snapshot:
        tokeniser = snapshot.settings.get(TOKENISER)
        return {
            "library": str(session.path),
            "documents": snapshot.documents.count_and_sum(Filter())[0],
            "labels": snapshot.labels.counts(),
            "predicted": snapshot.labels.predicted_counts(),
            "splits": snapshot.labels.split_counts(),
            "sources": len(snapshot.sources.known()),
            "unfinished": snapshot.sources.unfinished(),
            "language": (tokeniser.get("main") or tokeniser["language"]) if tokeniser else None,
            "languages": snapshot.documents.languages(),
            "word_rules": tokeniser["version"] if tokeniser else None,
            "newest_word_rules": RULES_VERSION,
            "size_bytes": session.store.size_bytes(),
            "schema": snapshot.revision(),
            "indexes": index_summaries(session.path, snapshot),
        }


def names_that_begin(session: Session, kind: str, beginning: str, most: int) -> list[str]:
    """Return names of a kind ("label", "index", "document") with a prefix, in order."""
    with session.reading() as snapshot:
        if kind == "label":
            names = snapshot.labels.names()
        elif kind == "index":
            names = [entry.name for entry in snapshot.indexes.entries()]
        else:
            where = Filter(path=f"{escape(beginning)}*")
            names = [entry.id for entry in snapshot.corpus.entries(where, most, 0)]
    return [name for name in names if name.startswith(beginning)][:most]


def label_documents(
    library: Location,
    names: Sequence[str],
    where: Filter,
    *,
    add: Sequence[str],
    remove: Sequence[str],
) -> LabelReport:
    """Add and remove labels of documents, all in one transaction."""
    to_add, to_remove = _checked("add", add), _checked("remove", remove)
    if not to_add and not to_remove:
        raise BadOption(("add", "remove"), "give at least one label")
    if both := set(to_add) & set(to_remove):
        raise BadOption(("add", "remove"), f"“{both.pop()}” cannot be both added and removed")
    if not names and where == EVERY:
        raise BadOption("documents", "give document ids, paths or filters")
    with _writing(library, "label") as transaction:
        keys = select_documents(transaction, names, where)
        added, removed = transaction.labels.edit(keys, to_add, to_remove)
        return LabelReport(len(keys), added, removed)


def select_documents(snapshot: ReadTransaction, names: Sequence[str], where: Filter) -> list[int]:
    """Return the keys of documents by ids or paths, or by a filter.

    Not by both: a filter would silently skip some of the named documents.
    """
    if names and where != EVERY:
        raise BadOption("documents", "give ids or filters, not both")
    if not names:
        return list(snapshot.corpus.content_hashes(where))
    keys: dict[int, None] = {}
    for name in names:
        matching = snapshot.documents.find(name)
        if not matching:
            raise DocumentNotFound(name)
        keys |= dict.fromkeys(matching)
    return sorted(keys)


def _checked(option: str, labels: Sequence[str]) -> list[str]:
    """Return labels without surrounding white space, each once."""
    stripped = dict.fromkeys(label.strip() for label in labels)
    for label in stripped:
        if not label:
            raise BadOption(option, "a label cannot be empty")
        if not label.isprintable():
            raise BadOption(option, f"“{printable(label)}” contains invisible characters")
    return list(stripped)


_AT_ONCE = 1000


def predict_labels(
    session: Session,
    names: Sequence[str],
    where: Filter,
    options: ClassifyOptions,
    *,
    labelled: bool = False,
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> PredictionReport:
    """Predict labels of documents from those of the others, and store them.

    A document with labels is skipped unless `labelled`. Earlier predictions for the same documents
    are replaced. A label that a document has, or that people removed from it, is not predicted.
    """
    from lpisearch.search.classification import TextClassifier

    classifier = TextClassifier(session, options)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    label_counts: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    predicted = 0
    with _writing(session.path, "classify") as transaction:
        keys = select_documents(transaction, names, where)
        labels = transaction.corpus.labels(where)
        if not labelled:
            keys = [key for key in keys if key not in labels]
        for done, some in enumerate(chunks(keys, _AT_ONCE)):
            on_progress(done * _AT_ONCE, len(keys))
            results = dict(_classify(transaction, classifier, some))
            rejected = transaction.labels.rejected(some)
            new = {
                key: _new_labels(result, {*labels.get(key, ()), *rejected.get(key, ())})
                for key, result in results.items()
            }
            transaction.labels.predict(new, classifier.classifier, now)
            outcomes.update(map(_outcome, results.values()))
            predicted += sum(map(bool, new.values()))
            label_counts.update(share.label for shares in new.values() for share in shares)
    return PredictionReport(
        documents=len(keys),
        predicted=predicted,
        labels=dict(label_counts.most_common()),
        classifier=classifier.classifier,
        none_of_these=outcomes["none"],
        unknown=outcomes["unknown"],
    )


def forget_predicted(library: Location, names: Sequence[str], where: Filter) -> int:
    """Remove the predicted labels of documents; return how many documents had any."""
    with _writing(library, "classify") as transaction:
        return transaction.labels.forget_predicted(select_documents(transaction, names, where))


def _classify(
    transaction: Transaction, classifier: TextClassifier, keys: Sequence[int]
) -> Iterator[tuple[int, Classification]]:
    """Classify documents, by their stored tokens if the index has the same tokeniser."""
    if transaction.settings.get(TOKENISER) == classifier.tokeniser:
        yield from zip(keys, classifier.stored(transaction.documents.tokens(keys)), strict=True)
        return
    for key, document in zip(keys, transaction.corpus.load(keys), strict=True):
        yield key, classifier.document("", document)


def _new_labels(result: Classification, settled: set[str]) -> list[LabelShare]:
    decided = set(result.decided) - settled
    return [share for share in result.labels if share.label in decided]


def _outcome(result: Classification) -> str:
    if result.none_of_these:
        return "none"
    return "known" if result.labels else "unknown"
