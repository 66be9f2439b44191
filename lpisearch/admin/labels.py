"""Labels by hand and predicted."""

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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

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
    """Give documents labels and take others away, of all documents or of none."""
    came, went = _checked("add", add), _checked("remove", remove)
    if not came and not went:
        raise BadOption(("add", "remove"), "give at least one label")
    if both := set(came) & set(went):
        raise BadOption(("add", "remove"), f"“{both.pop()}” cannot be both added and removed")
    if not names and where == EVERY:
        raise BadOption("documents", "give document ids, paths or filters")
    with (
        open_store(library, writable=True) as store,
        writer_lock(library, "label", wait_seconds),
        store.writing() as transaction,
    ):
        keys = meant_documents(transaction, names, where)
        added, removed = transaction.labels.edit(keys, came, went)
        return LabelReport(len(keys), added, removed)


def meant_documents(snapshot: ReadTransaction, names: Sequence[str], where: Filter) -> list[int]:
    """Return the keys of documents by id or path, of those that pass a filter."""
    if names and where != EVERY:
        raise BadOption("documents", "give ids or filters, not both")
    if not names:
        return list(snapshot.corpus.content_hashes(where))
    keys: dict[int, None] = {}
    for name in names:
        found = snapshot.documents.find(name)
        if not found:
            raise DocumentNotFound(name)
        keys |= dict.fromkeys(found)
    return sorted(keys)


def _checked(option: str, labels: Sequence[str]) -> list[str]:
    """Return labels without white space around them, each once."""
    found = dict.fromkeys(label.strip() for label in labels)
    for label in found:
        if not label:
            raise BadOption(option, "a label cannot be empty")
        if not label.isprintable():
            raise BadOption(option, f"“{printable(label)}” contains invisible characters")
    return list(found)


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
    """Judge documents by the labels of the others, and keep what is said of them.

    A document that has labels is passed over, unless `labelled`. What was predicted before for
    the documents that are judged is replaced. A label that a document has, or that people took
    away from it, is not predicted.
    """
    judge = TextClassifier(session, options)
    with (
        open_store(session.path, writable=True) as store,
        writer_lock(session.path, "classify", wait_seconds),
        store.writing() as transaction,
    ):
        keys = meant_documents(transaction, names, where)
        given = transaction.labels.by_key(where)
        if not labelled:
            keys = [key for key in keys if key not in given]
        writing = _Writing(transaction, judge, given)
        for start in range(0, len(keys), _AT_ONCE):
            on_progress(start, len(keys))
            writing.judge_some(keys[start : start + _AT_ONCE])
    return PredictionReport(
        documents=len(keys),
        predicted=writing.outcome["predicted"],
        labels=dict(writing.said.most_common()),
        classifier=judge.classifier,
        none_of_these=writing.outcome["none"],
        unknown=writing.outcome["unknown"],
    )


class _Writing:
    """Judges documents and keeps what is said of them, and counts it."""

    def __init__(
        self, transaction: Transaction, judge: TextClassifier, given: Mapping[int, Sequence[str]]
    ) -> None:
        self._transaction = transaction
        self._judge = judge
        self._given = given
        self._now = datetime.now(UTC).isoformat(timespec="seconds")
        self.said: Counter[str] = Counter()
        self.outcome: Counter[str] = Counter()

    def judge_some(self, keys: Sequence[int]) -> None:
        """Judge documents; a label that is given or was taken away is not kept."""
        judged = dict(_judged(self._transaction, self._judge, keys))
        rejected = self._transaction.labels.rejected(keys)
        kept = {
            key: _kept(each, {*self._given.get(key, ()), *rejected.get(key, ())})
            for key, each in judged.items()
        }
        self.outcome.update(map(_outcome, judged.values()))
        self.outcome["predicted"] += sum(map(bool, kept.values()))
        self.said.update(share.label for shares in kept.values() for share in shares)
        self._transaction.labels.predict(kept, self._judge.classifier, self._now)


def forget_predicted(
    library: Location, names: Sequence[str], where: Filter, wait_seconds: float = 30.0
) -> int:
    """Remove what was predicted for documents; return for how many something was."""
    with (
        open_store(library, writable=True) as store,
        writer_lock(library, "classify", wait_seconds),
        store.writing() as transaction,
    ):
        return transaction.labels.forget_predicted(meant_documents(transaction, names, where))


def _judged(
    transaction: Transaction, judge: TextClassifier, keys: Sequence[int]
) -> Iterator[tuple[int, Classification]]:
    """Judge documents: by their stored tokens, unless the index was made of others."""
    if transaction.settings.get(TOKENISER) == judge.tokeniser:
        yield from zip(keys, judge.stored(transaction.corpus.tokens(keys)), strict=True)
        return
    for key, document in zip(keys, transaction.documents.load(keys), strict=True):
        yield key, judge.document("", document)


def _kept(judged: Classification, settled: set[str]) -> list[LabelShare]:
    decided = set(judged.decided) - settled
    return [share for share in judged.labels if share.label in decided]


def _outcome(judged: Classification) -> str:
    if judged.none_of_these:
        return "none"
    return "known" if judged.labels else "unknown"
