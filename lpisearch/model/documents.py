"""Document, Section, Filter and conditions, stored rows, labels.

Every document has a key: a number that it keeps as long as it is in the library. Keys ascend in
the order in which documents first came.

Any other key is a field of the metadata. A field that is called like one of the conditions, or
that has an equals sign in its name, stands in quotation marks, as in JSON: `"path"=x`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from lpisearch.errors import BadOption
from lpisearch.model.fields import option

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


_FILTERS = "Filters"  # heading of the help
SECTION_KINDS = ("page", "chapter", "heading", "slide", "sheet")


# A named tuple, since a book has thousands.
class Section(NamedTuple):
    """Where a part of a document begins; it reaches to where the next one begins.

    Attributes
    ----------
    start
        Offset of its first character in the text.
    kind
        One of `SECTION_KINDS`.
    name
        What a person calls it: "12" for a page, "Results" for a heading.
    """

    start: int
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Document:
    """One document as a reader found it.

    Attributes
    ----------
    title, text
        Plain text. Either may be empty.
    id
        The identity the source itself states (a JSON field, a column), else None: the
        workflow then derives one from the path.
    labels
        Topics, in the order of the source, each once.
    split
        "train", "test", another word of the source, or "".
    date
        ISO 8601 date or date-time, or "".
    path
        Where the document first came from, if the source says so (an exported library does).
    media_type
        Of the document before its text was extracted, e.g. "application/pdf".
    metadata
        Anything else that the source states: JSON values only.
    sections
        Pages, chapters, headings, slides or sheets, in ascending order of where they begin.
    """

    title: str
    text: str
    id: str | None = None
    labels: tuple[str, ...] = ()
    split: str = ""
    date: str = ""
    path: str = ""
    media_type: str = "text/plain"
    metadata: Mapping[str, Any] = field(default_factory=dict)
    sections: tuple[Section, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """One record of a source that could not be read, or something worth a warning.

    Attributes
    ----------
    reason
        A short sentence without a full stop: "not valid JSON: …".
    where
        The place within the source: "line 5000", "message 3", or "" for the whole file.
    warning
        True when the document was read all the same.
    passing
        True when another try may end otherwise, though the file is the same.
    """

    reason: str
    where: str = ""
    warning: bool = False
    passing: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """One document in a listing: everything but its text and metadata."""

    id: str
    title: str
    labels: tuple[str, ...]
    split: str
    date: str
    path: str
    media_type: str
    predicted: tuple[PredictedLabel, ...] = ()


@dataclass(frozen=True, slots=True)
class Filter:
    """Which documents match: those that meet every condition.

    Attributes
    ----------
    labels, predicted
        Any of these labels, given by people or predicted by a classifier.
    path
        A folder or a glob over the path or the id, such as "code docs" or "*/letters/*": the
        documents that it matches and all below it.
    split
        This split.
    since, until
        Dated on or after, on or before: ISO dates, or the beginning of one ("2024", "2024-05").
        A document without a date matches neither.
    metadata
        (key, value) pairs, all of which its metadata must contain.
    here
        The folder that a relative `path` may also start from; "" for none.
    media_type
        This media type, such as "application/pdf".
    """

    labels: tuple[str, ...] = option(
        (),
        "Only documents with this label (repeatable).",
        summary="Documents with any of these labels.",
        name="label",
        metavar="LABEL",
        names="labels",
        panel=_FILTERS,
    )
    path: str = option(
        "",
        "Only documents under this folder or matching this glob (path or id).",
        summary="Folder, or glob matched against path or id.",
        metavar="FOLDER|GLOB",
        form="path",
        panel=_FILTERS,
    )
    split: str = option(
        "",
        "Only documents in this split (train or test set).",
        summary="Documents in this split.",
        metavar="NAME",
        panel=_FILTERS,
    )
    since: str = option(
        "",
        "Only documents dated on or after DATE, such as 2024-05.",
        summary="Dated on or after: 2024, 2024-05 or 2024-05-31.",
        metavar="DATE",
        panel=_FILTERS,
    )
    until: str = option(
        "",
        "Only documents dated on or before DATE.",
        summary="Dated on or before.",
        metavar="DATE",
        panel=_FILTERS,
    )
    metadata: tuple[tuple[str, str], ...] = option(
        (),
        "Only documents with this metadata (repeatable).",
        summary="Metadata as KEY=VALUE; all must match.",
        name="where",
        metavar="KEY=VALUE",
        form="metadata",
        panel=_FILTERS,
    )
    here: str = ""
    predicted: tuple[str, ...] = option(
        (),
        "Only documents with this predicted label; with --label, either may match (repeatable).",
        summary="Documents with any of these predicted labels.",
        metavar="LABEL",
        panel=_FILTERS,
        after="labels",
    )
    media_type: str = option("", "Documents of this media type.", typed=False)

    def as_dict(self) -> dict[str, Any]:
        """Return it as a JSON value."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        pairs = [list(pair) for pair in self.metadata]
        labels = {"labels": list(self.labels), "predicted": list(self.predicted)}
        return values | labels | {"metadata": pairs}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Filter:
        """Read it from a JSON value; conditions that are not known here are passed over."""
        known = {each.name: values[each.name] for each in fields(cls) if each.name in values}
        for name in ("labels", "predicted"):
            known[name] = tuple(known.get(name, ()))
        metadata = tuple((key, value) for key, value in known.pop("metadata", ()))
        return cls(metadata=metadata, **known)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that `lpisearch doctor` looked at.

    Attributes
    ----------
    check
        What was looked at, in a few words.
    ok
        Whether all is well.
    detail
        What was found.
    next_step
        What to do about it; "" where nothing need be done.
    """

    check: str
    ok: bool
    detail: str
    next_step: str = ""


@dataclass(frozen=True, slots=True)
class Trouble:
    """A file, or a record of it, that could not be read; or a warning about one that was.

    Attributes
    ----------
    path
        The file.
    reason
        A short sentence without a full stop.
    where
        The place within the file, or "".
    """

    path: str
    reason: str
    where: str = ""


@dataclass(slots=True)
class IngestReport:
    """What an ingest did. The counts are of documents.

    Attributes
    ----------
    added, updated, unchanged, removed
        Documents by what became of them.
    missing
        Documents whose file, or whose record in it, is gone; they stay without `--prune`.
    skipped
        Files in folders that are of no known format, by suffix.
    left_out
        Files and folders that were not looked into, by reason: "exclude", "lpisearchignore",
        "gitignore", "hidden", "packages", "caches", "links".
    failures, warnings
        What could not be read, and what was read with a remark.
    known_failures
        What failed in an earlier run, and fails still.
    unlisted
        How many more failures there were in files that have very many.
    notes
        What else the user should know: the language that was found.
    index_notes
        Why an index could not take in the new documents.
    seconds
        How long it took.
    """

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    missing: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    failures: list[Trouble] = field(default_factory=list)
    warnings: list[Trouble] = field(default_factory=list)
    known_failures: list[Trouble] = field(default_factory=list)
    unlisted: int = 0
    notes: list[str] = field(default_factory=list)
    index_notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def failed(self) -> int:
        """How many files and records could not be read, now or in an earlier run."""
        return len(self.failures) + len(self.known_failures) + self.unlisted


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come, for a progress bar.

    Attributes
    ----------
    documents
        Seen so far.
    done, total
        Bytes of files.
    """

    documents: int
    done: int
    total: int


UNFINISHED = -1


# Named tuples where there are many at a time: they are made several times as fast.
class Details(NamedTuple):
    """What is shown of a document; `text` is its beginning, as far as was asked for."""

    id: str
    title: str
    labels: tuple[str, ...]
    path: str
    date: str
    text: str
    content_hash: bytes
    predicted: tuple[PredictedLabel, ...] = ()


class TokenShard(NamedTuple):
    """Some documents in the order of their keys: keys, content hashes, and joined tokens."""

    keys: list[int]
    hashes: list[bytes]
    tokens: list[str]


class DocumentRow(NamedTuple):
    """Where a document is: its key, id, source, number within the source, and content.

    `position` is below zero if the record is gone from its file.
    """

    key: int
    id: str
    source_id: int
    position: int
    content_hash: bytes


class DamagedDocument(NamedTuple):
    """A document that is not as it was written, and what can be read of where it came from.

    `found` is the content hash of what is there of it, `b""` if that is unreadable; `is_named`
    tells whether its id and its place are as they were written.
    """

    row: DocumentRow
    path: str
    root: str
    format: str
    split: str
    labels: tuple[str, ...]
    found: bytes
    is_named: bool


class DocumentWrite(NamedTuple):
    """A document, the place that it gets or keeps, its file, and its tokens joined by spaces."""

    row: DocumentRow
    path: str
    document: Document
    tokens: str = ""


@dataclass(frozen=True, slots=True)
class FailedFile:
    """A file that could not be read to its end without a failure, as it was then.

    Attributes
    ----------
    path
        Absolute.
    size, mtime_ns
        Of the file; `UNFINISHED` where another try may end otherwise, though nothing changed.
    read_options
        A fingerprint of what it was read with.
    troubles
        What failed, or the first part of it.
    number
        How many failures there were.
    """

    path: str
    size: int
    mtime_ns: int
    read_options: str
    troubles: tuple[Trouble, ...]
    number: int


@dataclass(frozen=True, slots=True)
class Source:
    """One file, as it was when it was read.

    Attributes
    ----------
    id
        Its key in the library.
    path, root
        Absolute path, and the folder whose relative paths name its documents.
    format
        The reader's name.
    size, mtime_ns
        Of the file; `UNFINISHED` until it has been read to its end without a failure.
    read_options
        A fingerprint of the options that shaped its documents.
    documents, gone
        How many documents the library has from it, and how many of these it no longer has.
    """

    id: int
    path: str
    root: str
    format: str
    size: int
    mtime_ns: int
    read_options: str
    documents: int = 0
    gone: int = 0


class PredictedLabel(NamedTuple):
    """A label that a classifier gave a document, kept apart from those that people gave.

    Attributes
    ----------
    label
        Its name.
    confidence
        How probable it was: its share of all labels.
    classifier
        Which one said so.
    """

    label: str
    confidence: float
    classifier: str


@dataclass(frozen=True, slots=True)
class LabelReport:
    """What became of the labels of documents.

    Attributes
    ----------
    documents
        How many were meant.
    added, removed
        Labels that they have now and had not, and the other way round.
    """

    documents: int
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class PredictionReport:
    """What a classifier said of documents, and was kept.

    Attributes
    ----------
    documents
        How many were judged.
    predicted
        How many of them got a label or more.
    labels
        How many documents got each label, by name.
    classifier
        By which they were judged.
    none_of_these, unknown
        Documents for which no label was probable enough, and those without a word that says
        anything about any.
    """

    documents: int
    predicted: int
    labels: dict[str, int]
    classifier: str
    none_of_these: int = 0
    unknown: int = 0


_ONCE = ("path", "split", "since", "until", "media_type")
_ANY = {"label": "labels", "predicted": "predicted"}
_KNOWN = (*_ANY, *_ONCE)
_QUOTE = '"'


def read_conditions(words: Iterable[str]) -> Filter:
    """Read `label=…`, `path=…` and the other fields of a filter by name, and `FIELD=…`.

    Several labels mean any of them, given or predicted; of the others, all must hold.

    Raises
    ------
    BadOption
    """
    labels: dict[str, list[str]] = {name: [] for name in _ANY.values()}
    once: dict[str, str] = {}
    metadata: list[tuple[str, str]] = []
    for word in words:
        key, value = read_condition(word)
        if word.startswith(_QUOTE) or key not in _KNOWN:
            metadata.append((key, value))
        elif not value:
            raise BadOption("where", f"{key}= has no value")
        elif key in _ANY:
            labels[_ANY[key]].append(value)
        elif key in once:
            raise BadOption("where", f"{key} is given more than once")
        else:
            once[key] = value
    return Filter(
        labels=tuple(labels["labels"]),
        predicted=tuple(labels["predicted"]),
        metadata=tuple(metadata),
        **once,
    )


def read_condition(word: str) -> tuple[str, str]:
    """Part `KEY=VALUE`; a key in quotation marks is read as JSON.

    Raises
    ------
    BadOption
    """
    key, end = _quoted(word)
    if end and word[end : end + 1] == "=":
        return key, word[end + 1 :]
    key, equals, value = word.partition("=")
    if not equals or not key:
        raise BadOption("where", f"“{word}” is not KEY=VALUE")
    return key, value


def as_conditions(where: Filter) -> Iterator[str]:
    """Yield the words that `read_conditions` reads as the same filter."""
    for key, name in _ANY.items():
        for label in getattr(where, name):
            yield f"{key}={label}"
    for key in _ONCE:
        if value := getattr(where, key):
            yield f"{key}={value}"
    for key, value in where.metadata:
        plain = key and key not in _KNOWN and "=" not in key and not key.startswith(_QUOTE)
        yield f"{key if plain else json.dumps(key, ensure_ascii=False)}={value}"


def _quoted(word: str) -> tuple[str, int]:
    """Return the text in quotation marks at the beginning, and where it ends; 0 without one."""
    if not word.startswith(_QUOTE):
        return "", 0
    try:
        text, end = json.JSONDecoder().raw_decode(word)
    except ValueError:
        return "", 0
    return str(text), end
