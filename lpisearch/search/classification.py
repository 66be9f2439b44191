"""Labels for texts and documents."""

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
from lpisearch.index.status import rebuild_command
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
"""Documents that are judged together; they are held in memory."""
_DEFAULTS = ClassifyOptions()


class TextClassifier:
    """Judges texts and files by the labels of a library.

    Parameters
    ----------
    session
        The library.
    options
        By which classifier, and how many labels.

    Attributes
    ----------
    classifier
        The name of the one that judges.
    tokeniser
        The settings of what made the words of the index.
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

    def each(self, read: Iterable[tuple[str, Document | None, str]]) -> Iterator[Classification]:
        """Judge documents that were read from somewhere, some at a time.

        Parameters
        ----------
        read
            The name of each, the document, and why there is none where it could not be read.
        """
        remaining = iter(read)
        while some := list(islice(remaining, AT_ONCE)):
            tokens = [
                (name, document_tokens(self._tokeniser, document).split())
                for name, document, _ in some
                if document is not None
            ]
            judged = iter(self._judge(tokens))
            for name, document, reason in some:
                failed = Classification(name, note=reason, failed=True)
                yield failed if document is None else next(judged)

    def text(self, text: str) -> Classification:
        """Judge one text."""
        return self._judge([(text, self._tokeniser.tokens(text))])[0]

    def document(self, name: str, document: Document) -> Classification:
        """Judge a document that was read from somewhere."""
        return self._judge([(name, document_tokens(self._tokeniser, document).split())])[0]

    def stored(self, tokens: Sequence[str]) -> list[Classification]:
        """Judge documents by their tokens, which the tokeniser of the index made."""
        return self._judge([("", each.split()) for each in tokens])

    def _judge(self, texts: Sequence[tuple[str, list[str]]]) -> list[Classification]:
        """Judge texts by their tokens, each given with its name."""
        counted = [self._index.vocabulary.count(tokens) for _, tokens in texts]
        known = [at for at, counts in enumerate(counted) if len(counts.indices)]
        rows = [
            (counts.indices, self._index.weighting.weigh_query(counts.indices, counts.counts))
            for counts in map(counted.__getitem__, known)
        ]
        by = self._options.classifier
        shares = dict(zip(known, self._classifier.shares(rows, by) if rows else (), strict=True))
        return [
            self._said(name, shares.get(at), _why_not(tokens, is_known=at in shares))
            for at, (name, tokens) in enumerate(texts)
        ]

    def _said(self, name: str, shares: NDArray[np.float64] | None, why_not: str) -> Classification:
        if shares is None:
            return Classification(name, note=why_not)
        order = (-shares).argsort(kind="stable")
        sure = decided_labels(shares, self._further)
        labels = self._classifier.labels
        unsure = bool(shares[sure].sum() < self._options.confidence)
        best = order[: max(self._options.k, len(sure))]
        return Classification(
            name,
            tuple(LabelShare(labels[each], float(shares[each])) for each in best),
            none_of_these=unsure,
            decided=() if unsure else tuple(labels[each] for each in sure),
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
    """Take the classifier out of an index, or say why it has none."""
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
