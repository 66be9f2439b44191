"""Texts and documents to labels: `lpisearch classify`, by the classifier in the index."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lpisearch.classifiers.classifier import AUTO, CLASSIFIERS, Classifier
from lpisearch.classifiers.deciding import NO_FURTHER, decided_labels
from lpisearch.errors import BadOption, ClassifierNotFound
from lpisearch.indexes.rebuild import rebuild_command
from lpisearch.messages import Message, Option, call
from lpisearch.records import Classification, LabelShare
from lpisearch.settings import ClassifyOptions, IndexSpec
from lpisearch.terms.documents import document_tokens
from lpisearch.wording import nearest

if TYPE_CHECKING:
    from lpisearch.indexes.index import SubspaceIndex
    from lpisearch.indexes.session import Session
    from lpisearch.records import Document

NONE = "none"
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

    def text(self, text: str) -> Classification:
        """Judge one text."""
        return self._judge(text, self._tokeniser.tokens(text))

    def document(self, name: str, document: Document) -> Classification:
        """Judge a document that was read from somewhere."""
        return self._judge(name, document_tokens(self._tokeniser, document).split())

    def stored(self, name: str, tokens: str) -> Classification:
        """Judge a document by its tokens, which the tokeniser of the index made."""
        return self._judge(name, tokens.split())

    def _judge(self, name: str, tokens: list[str]) -> Classification:
        if not tokens:
            return Classification(name, note="the text has no words")
        counts = self._index.vocabulary.count(tokens)
        if not len(counts.indices):
            return Classification(name, note="the index knows none of its words")
        weights = self._index.weighting.weigh_query(counts.indices, counts.counts)
        shares = self._classifier.shares(counts.indices, weights, self._options.classifier)
        if shares is None:
            return Classification(name, note="its words say nothing about any label")
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


def _check(options: ClassifyOptions) -> None:
    known = (AUTO, *CLASSIFIERS)
    if options.classifier not in known:
        hint = nearest(options.classifier, known)
        raise BadOption("classifier", f"there is no classifier “{options.classifier}”{hint}", known)
    if not 0 <= options.confidence <= 1:
        raise BadOption("confidence", f"{options.confidence} is not between 0 and 1")
    if options.k < 1:
        raise BadOption("k", f"{options.k} is not a number of labels")


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
            f"The index “{name}” was built without labels to classify by.",
            Message(
                call("ingest", "PATH", labels="folder"),
                "  (if documents lack labels), then ",
                rebuild,
            ),
        )
    if "reason" in facts:
        raise ClassifierNotFound(
            f"The index “{name}” could not learn the labels: {facts['reason']}.",
            Message(call("status"), "  (shows the labels); then ", rebuild),
        )
    classifier = Classifier.from_index(index.arrays, facts)
    if by != AUTO and by not in classifier.weights:
        raise ClassifierNotFound(
            f"The index “{name}” has no {by}: it would be too large, or was not yet known.",
            Message(call("classify", "TEXT", classifier=AUTO), "  or  ", rebuild),
        )
    return classifier
