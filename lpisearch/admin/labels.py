"""Manual and predicted labels."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from lpisearch.errors import BadOption, DocumentNotFound
from lpisearch.messages import printable
from lpisearch.model.documents import Filter, LabelReport, PredictionReport
from lpisearch.search.classification import TextClassifier
from lpisearch.storage import open_store, writer_lock
from lpisearch.storage.metadata import TOKENISER
from lpisearch.storage.reading import chunks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lpisearch.location import Location
    from lpisearch.model.answers import Classification, LabelShare
    from lpisearch.options import ClassifyOptions
    from lpisearch.search.session import Session
    from lpisearch.storage.store import ReadTransaction, Transaction


EVERY = Filter()


def label_documents(
    library: Location,
    names: Sequence[str],
    where: Filter,
    *,
    add: Sequence[str],
    remove: Sequence[str],
    wait_seconds: float = 30.0,
) -> LabelReport:
    """Add and remove labels of documents, all in one transaction."""
    to_add, to_remove = _checked("add", add), _checked("remove", remove)
    if not to_add and not to_remove:
        raise BadOption(("add", "remove"), "give at least one label")
    if both := set(to_add) & set(to_remove):
        raise BadOption(("add", "remove"), f"“{both.pop()}” cannot be both added and removed")
    if not names and where == EVERY:
        raise BadOption("documents", "give document ids, paths or filters")
    with (
        open_store(library, writable=True) as store,
        writer_lock(library, "label", wait_seconds),
        store.writing() as transaction,
    ):
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
    wait_seconds: float = 30.0,
) -> PredictionReport:
    """Predict labels of documents from those of the others, and store them.

    A document with labels is skipped unless `labelled`. Earlier predictions for the same documents
    are replaced. A label that a document has, or that people removed from it, is not predicted.
    """
    classifier = TextClassifier(session, options)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    label_counts: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    predicted = 0
    with (
        open_store(session.path, writable=True) as store,
        writer_lock(session.path, "classify", wait_seconds),
        store.writing() as transaction,
    ):
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


def forget_predicted(
    library: Location, names: Sequence[str], where: Filter, wait_seconds: float = 30.0
) -> int:
    """Remove the predicted labels of documents; return how many documents had any."""
    with (
        open_store(library, writable=True) as store,
        writer_lock(library, "classify", wait_seconds),
        store.writing() as transaction,
    ):
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
