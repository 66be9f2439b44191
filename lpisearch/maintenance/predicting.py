"""Save and remove predicted labels of documents."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from lpisearch.maintenance.labels import meant_documents
from lpisearch.records import LabelShare, PredictionReport
from lpisearch.search.classifying import TextClassifier
from lpisearch.storage import TOKENISER, open_store, writer_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lpisearch.indexes.session import Session
    from lpisearch.places import Place
    from lpisearch.records import Classification, Filter
    from lpisearch.settings import ClassifyOptions
    from lpisearch.storage import Transaction

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

    Raises
    ------
    BadOption, DocumentNotFound, ClassifierNotFound, IndexNotFound, LibraryError
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
    library: Place, names: Sequence[str], where: Filter, wait_seconds: float = 30.0
) -> int:
    """Remove what was predicted for documents; return for how many something was.

    Raises
    ------
    BadOption, DocumentNotFound, LibraryError
    """
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
