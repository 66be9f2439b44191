"""Classification: labels predicted for texts and documents."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from lpisearch.classifiers.classifier import (
    AUTO,
    CLASSIFIERS,
    NO_FURTHER,
    Classifier,
    decided_labels,
)
from lpisearch.errors import BadOption, ClassifierNotFound
from lpisearch.index.directory import rebuild_command
from lpisearch.messages import Message, Option, call, nearest
from lpisearch.model.answers import Classification, LabelShare
from lpisearch.options import ClassifyOptions, IndexSpec
from lpisearch.text.tokeniser import document_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from lpisearch.index.subspace import SubspaceIndex
    from lpisearch.model.documents import Document
    from lpisearch.search.session import Session


NONE = "none"
AT_ONCE = 64
"""The number of documents that are classified together, in memory."""
_DEFAULTS = ClassifyOptions()


class TextClassifier:
    """Predicts labels by what an index has learned.

    `classifier` is the name of the one in use, `tokeniser` the settings of the index's tokeniser.
    """

    def __init__(self, session: Session, options: ClassifyOptions = _DEFAULTS) -> None:
        _check(options)
        self._options = options
        self._index = session.index(options.index)
        self._classifier = _classifier(self._index, options.classifier)
        self._tokeniser = session.tokeniser_of(self._index)
        self.tokeniser = self._index.manifest.tokeniser
        chosen = self._classifier.chosen
        self.classifier = chosen if options.classifier == AUTO else options.classifier
        self._further = self._classifier.further.get(self.classifier, NO_FURTHER)

    def documents(
        self, read: Iterable[tuple[str, Document | None, str]]
    ) -> Iterator[Classification]:
        """Classify documents, given by name, with the reason if one could not be read."""
        remaining = iter(read)
        while some := list(islice(remaining, AT_ONCE)):
            tokens = [
                (name, document_tokens(self._tokeniser, document).split())
                for name, document, _ in some
                if document is not None
            ]
            results = iter(self._classify(tokens))
            for name, document, reason in some:
                failed = Classification(name, note=reason, failed=True)
                yield failed if document is None else next(results)

    def text(self, text: str) -> Classification:
        """Classify one text."""
        return self._classify([(text, self._tokeniser.of_text(text).tokens(text))])[0]

    def document(self, name: str, document: Document) -> Classification:
        """Classify a document that is not in the library."""
        return self._classify([(name, document_tokens(self._tokeniser, document).split())])[0]

    def stored(self, tokens: Sequence[str]) -> list[Classification]:
        """Classify documents by their tokens, which the tokeniser of the index made."""
        return self._classify([("", text.split()) for text in tokens])

    def _classify(self, texts: Sequence[tuple[str, list[str]]]) -> list[Classification]:
        """Classify texts by their tokens, each given with its name."""
        counted = [self._index.vocabulary.count(tokens) for _, tokens in texts]
        known = [at for at, counts in enumerate(counted) if len(counts.indices)]
        rows = [
            (counts.indices, self._index.weighting.weigh_query(counts.indices, counts.counts))
            for counts in map(counted.__getitem__, known)
        ]
        by = self._options.classifier
        shares = dict(zip(known, self._classifier.shares(rows, by) if rows else (), strict=True))
        return [
            self._result(name, shares.get(at), _why_not(tokens, is_known=at in shares))
            for at, (name, tokens) in enumerate(texts)
        ]

    def _result(
        self, name: str, shares: NDArray[np.float64] | None, why_not: str
    ) -> Classification:
        if shares is None:
            return Classification(name, note=why_not)
        order = (-shares).argsort(kind="stable")
        sure = decided_labels(shares, self._further)
        labels = self._classifier.labels
        unsure = bool(shares[sure].sum() < self._options.confidence)
        best = order[: max(self._options.k, len(sure))]
        return Classification(
            name,
            tuple(LabelShare(labels[one], float(shares[one])) for one in best),
            none_of_these=unsure,
            decided=() if unsure else tuple(labels[one] for one in sure),
        )


def _why_not(tokens: Sequence[str], *, is_known: bool) -> str:
    if not tokens:
        return "the text has no words"
    if not is_known:
        return "none of its words is in the index"
    return "its words do not point to any label"


def _check(options: ClassifyOptions) -> None:
    known = (AUTO, *CLASSIFIERS)
    if options.classifier not in known:
        hint = nearest(options.classifier, known)
        raise BadOption("classifier", f"unknown classifier “{options.classifier}”{hint}", known)
    if not 0 <= options.confidence <= 1:
        raise BadOption("confidence", f"must be between 0 and 1, not {options.confidence}")
    if options.k < 1:
        raise BadOption("k", f"must be at least 1, not {options.k}")


def _classifier(index: SubspaceIndex, by: str) -> Classifier:
    """Return the classifier of an index, or raise why it has none."""
    manifest = index.manifest
    name = manifest.name
    rebuild = rebuild_command(replace(manifest.spec, train=IndexSpec().train))
    if manifest.spec.train == NONE:
        raise ClassifierNotFound(
            Message(f"The index “{name}” was built with ", Option("train", NONE), "."), rebuild
        )
    facts = manifest.result.classifier
    if facts is None:
        raise ClassifierNotFound(
            f"The index “{name}” was built without labels, so it cannot classify.",
            Message(
                call("ingest", "PATH", labels="folder"),
                "  (if the documents have no labels), then ",
                rebuild,
            ),
        )
    if "reason" in facts:
        raise ClassifierNotFound(
            f"The index “{name}” could not learn the labels: {facts['reason']}.",
            Message(call("status"), "  (lists the labels); then ", rebuild),
        )
    classifier = Classifier.from_index(index.arrays, facts)
    if by != AUTO and by not in classifier.weights:
        raise ClassifierNotFound(
            f"The index “{name}” has no {by} classifier: it would be too large, or the "
            "index is too old.",
            Message(call("classify", "TEXT", classifier=AUTO), "  or  ", rebuild),
        )
    return classifier
