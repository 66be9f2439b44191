"""Texts and files to labels: `lpisearch classify`, by the classifier that is part of the index."""

from __future__ import annotations

import difflib
import os
from pathlib import PurePath
from typing import TYPE_CHECKING

from lpisearch.database.indexes import IndexEntry
from lpisearch.errors import BadOption, ClassifierNotFound
from lpisearch.readers.registry import READERS
from lpisearch.readers.streams import EMPTY
from lpisearch.records import Classification, Document, LabelShare, Problem
from lpisearch.search.classification import CLASSIFIERS, Classifier
from lpisearch.settings import ClassifyOptions, ReadOptions
from lpisearch.terms.languages import TokeniserSettings
from lpisearch.terms.tokeniser import Tokeniser
from lpisearch.workflows.discovery import Discovery, NothingThere, expand
from lpisearch.workflows.extraction import extract
from lpisearch.workflows.indexing import open_index
from lpisearch.workflows.rebuild import rebuild_command
from lpisearch.workflows.stdin import spooled_input
from lpisearch.workflows.tokens import document_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from lpisearch.store.index import SubspaceIndex
    from lpisearch.store.manifest import Manifest
    from lpisearch.workflows.discovery import FoundFile
    from lpisearch.workflows.extraction import Extracted

STDIN = "-"
NONE = "none"
_DEFAULTS = ClassifyOptions()


def classify(
    library: Path, arguments: Sequence[str], options: ClassifyOptions = _DEFAULTS
) -> Iterator[Classification]:
    """Judge what the arguments mean: files that exist (and "-"), or else one text.

    Yields
    ------
    Classification
        One for the text, or one for each document of the files.

    Raises
    ------
    BadOption, IndexNotFound, ClassifierNotFound, NothingThere, SubspaceError, LibraryError
    """
    judge = Judge(library, options)
    if not _mean_files(arguments):
        yield judge.text(" ".join(arguments))
        return
    count = 0
    for count, each in enumerate(_of_files(judge, arguments), start=1):  # noqa: B007 (counted)
        yield each
    if not count:
        raise NothingThere(" ".join(arguments))


def _of_files(judge: Judge, arguments: Sequence[str]) -> Iterator[Classification]:
    discovery = Discovery(lambda _path: False)
    with spooled_input(arguments) as piped:
        found = discovery.files(path for path in arguments if path != STDIN)
        for extracted in extract([*piped, *found], ReadOptions()):
            yield from judge.file(extracted)
    for trouble in discovery.troubles:
        yield Classification(_shown(trouble.path), note=trouble.reason, failed=True)


class Judge:
    """Judges texts and files by the labels of a library.

    Parameters
    ----------
    library
        The database file.
    options
        By which classifier, and how many labels.
    """

    def __init__(self, library: Path, options: ClassifyOptions = _DEFAULTS) -> None:
        _check(options)
        self._options = options
        self._index = open_index(library, options.index)
        self._classifier = _classifier(self._index, options.by)
        self._tokeniser = Tokeniser(TokeniserSettings.from_dict(self._index.manifest.tokeniser))

    def text(self, text: str) -> Classification:
        """Judge one text."""
        return self._judge(text, self._tokeniser.tokens(text))

    def file(self, extracted: Extracted) -> Iterator[Classification]:
        """Judge each document of a file."""
        name = _name(extracted.file)
        if extracted.source is not None and extracted.reader is None:
            if extracted.file.named:  # of a folder, only what is known to be a document is read
                reason = "not a document that lpisearch can read" if extracted.file.size else EMPTY
                yield Classification(name, note=reason, failed=True)
            return
        many = extracted.reader is not None and extracted.reader.many
        for position, item in enumerate(_documents(extracted), start=1):
            if isinstance(item, Problem):
                where = f"{name}, {item.where}" if item.where else name
                yield Classification(where, note=item.reason, failed=True)
                continue
            shown = item.id or f"{name}#{position}" if many else name
            yield self._judge(shown, document_tokens(self._tokeniser, item).split())

    def _judge(self, name: str, tokens: list[str]) -> Classification:
        if not tokens:
            return Classification(name, note="the text has no words")
        counts = self._index.vocabulary.count(tokens)
        if not len(counts.indices):
            return Classification(name, note="the index knows none of its words")
        weights = self._index.weighting.weigh_query(counts.indices, counts.counts)
        shares = self._classifier.shares(counts.indices, weights, self._options.by)
        if shares is None:
            return Classification(name, note="its words say nothing about any label")
        best = (-shares).argsort(kind="stable")[: self._options.k]
        labels = self._classifier.labels
        return Classification(
            name, tuple(LabelShare(labels[each], float(shares[each])) for each in best)
        )


def _check(options: ClassifyOptions) -> None:
    if options.by not in CLASSIFIERS:
        near = difflib.get_close_matches(options.by.casefold(), CLASSIFIERS, 1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise BadOption("--classifier", f"there is no classifier “{options.by}”{hint}", CLASSIFIERS)
    if options.k < 1:
        raise BadOption("-k", f"{options.k} is not a number of labels")


def _classifier(index: SubspaceIndex, by: str) -> Classifier:
    """Take the classifier out of an index, or say why it has none."""
    manifest = index.manifest
    name, rebuild = manifest.name, _rebuild_command(manifest)
    if "classifier" not in manifest.result:
        what = f"The index “{name}” was written by an earlier lpisearch, without a classifier."
        raise ClassifierNotFound(what, rebuild)
    if manifest.parameters.get("train") == NONE:
        raise ClassifierNotFound(f"The index “{name}” was built with --train none.", rebuild)
    facts = manifest.result["classifier"]
    if facts is None:
        raise ClassifierNotFound(
            f"The index “{name}” was built without labels to classify by.",
            f"lpisearch ingest PATH --labels folder  (if documents lack labels), then {rebuild}",
        )
    if "reason" in facts:
        raise ClassifierNotFound(
            f"The index “{name}” could not learn the labels: {facts['reason']}.",
            f"lpisearch status  (shows the labels); then {rebuild}",
        )
    if by not in facts["temperatures"]:
        raise ClassifierNotFound(
            f"The index “{name}” has no {by}: it would take too long for so many documents.",
            "lpisearch classify --classifier centroid",
        )
    return Classifier.from_index(index.arrays, facts["temperatures"])


def _rebuild_command(manifest: Manifest) -> str:
    """Return the command that builds the index anew, this time with a classifier."""
    parameters = {name: value for name, value in manifest.parameters.items() if name != "train"}
    entry = IndexEntry(
        manifest.name, manifest.method, parameters, manifest.fingerprint, "", manifest.created
    )
    return rebuild_command(entry)


def _mean_files(arguments: Sequence[str]) -> bool:
    """Tell paths from words; words that look like the path of a file must be one."""
    named = [_is_there(argument) for argument in arguments]
    for argument, there in zip(arguments, named, strict=True):
        if not there and (any(named) or _looks_like_path(argument)):
            raise NothingThere(argument)
    return any(named)


def _is_there(argument: str) -> bool:
    if argument == STDIN or os.path.lexists(argument):
        return True
    try:
        return bool(argument) and not any(map(str.isspace, argument)) and bool(expand(argument))
    except (NothingThere, OSError, ValueError, RuntimeError):
        return False


def _looks_like_path(argument: str) -> bool:
    if not argument or any(map(str.isspace, argument)):
        return False
    return argument.startswith(("/", "./", "../", "~")) or (
        PurePath(argument).suffix.lower() in _SUFFIXES
    )


def _name(file: FoundFile) -> str:
    return STDIN if file.location else _shown(file.path)


def _shown(path: str) -> str:
    """Return a path as short as it can be typed here."""
    here = os.path.join(os.getcwd(), "")  # noqa: PTH118, PTH109 (paths are strings in discovery)
    return path.removeprefix(here)


def _documents(extracted: Extracted) -> Iterator[Document | Problem]:
    """Leave out remarks on documents that were read all the same."""
    for item in extracted.items:
        if not (isinstance(item, Problem) and item.warning):
            yield item


_SUFFIXES = {suffix for reader in READERS.values() for suffix in (*reader.suffixes, ".gz")}
