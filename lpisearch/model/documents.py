"""Documents, their sections and labels, filters, and what the store and an ingest pass around.

Every document has a key, a number that it keeps as long as it is in the library; keys ascend in
the order of first ingest.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from lpisearch.messages import counted, some
from lpisearch.model.document_filter import Filter as Filter  # noqa: PLC0414 (re-exported)
from lpisearch.model.document_filter import as_conditions as as_conditions  # noqa: PLC0414
from lpisearch.model.document_filter import read_conditions as read_conditions  # noqa: PLC0414

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


SECTION_KINDS = ("page", "chapter", "heading", "slide", "sheet")


# A named tuple, since a book has thousands.
class Section(NamedTuple):
    """A part of a document, up to the start of the next one.

    Attributes
    ----------
    start
        Offset of its first character in the text.
    kind
        One of `SECTION_KINDS`.
    name
        For people: "12" for a page, "Results" for a heading.
    """

    start: int
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Document:
    """One document, as a reader returns it.

    Attributes
    ----------
    title, text
        Plain text; either may be empty.
    id
        The id in the source (a JSON field, a column); if None, the ingest derives one from the
        path.
    labels
        In the order of the source, each once.
    split
        "train", "test", another word of the source, or "".
    date
        An ISO 8601 date or date-time, or "".
    path
        The original path, if the source states one, as an exported library does.
    media_type
        Of the source, such as "application/pdf".
    metadata
        Further JSON values of the source.
    sections
        Pages, chapters, headings, slides or sheets, in ascending order.
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


# Elements of a web page that are shown: with a line of their own, and within a line.
BLOCKS = frozenset((
    "article", "blockquote", "caption", "dd", "div", "dl", "dt", "figcaption", "figure", "h1", "h2",
    "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "section", "table", "tbody", "td",
    "tfoot", "th", "thead", "tr", "ul",
))  # fmt: skip
INLINE = frozenset((
    "a", "abbr", "b", "br", "cite", "code", "del", "dfn", "em", "i", "ins", "kbd", "q", "s", "samp",
    "small", "span", "strong", "sub", "sup", "tt", "u", "var", "wbr",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Original:
    """How a file looks: a page of a PDF as an image, or the elements of a web page.

    Attributes
    ----------
    page, pages
        The number of the page, and of all pages; 0 for a web page.
    width, height
        Of the image, in pixels.
    image
        The page as PNG.
    text
        The text of the page.
    boxes
        Left, top, right and bottom of each character of the text, in pixels of the image.
    elements
        Pairs: ("", text), (tag, address or width) for the beginning of an element, and ("/tag", "")
        for its end; of `BLOCKS` and `INLINE` alone.
    """

    page: int = 0
    pages: int = 0
    width: int = 0
    height: int = 0
    image: bytes = field(default=b"", repr=False)
    text: str = ""
    boxes: tuple[tuple[int, int, int, int], ...] = field(default=(), repr=False)
    elements: tuple[tuple[str, str], ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Problem:
    """A record of a source that could not be read, or a warning about one that was."""

    reason: str  # without a full stop: "not valid JSON: …"
    where: str = ""  # in the source: "line 5000", "message 3"; "" for the whole file
    warning: bool = False  # the document was read
    passing: bool = False  # another try may succeed, though the file is the same


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
class Finding:
    """The result of one check of `lpisearch doctor`.

    Attributes
    ----------
    check
        What was checked, in a few words.
    ok
        Whether all is well.
    detail
        The result.
    next_step
        What to do about it, or "".
    """

    check: str
    ok: bool
    detail: str
    next_step: str = ""


@dataclass(frozen=True, slots=True)
class Trouble:
    """A file, or a record of it, that could not be read, or a warning about one that was."""

    path: str
    reason: str  # without a full stop
    where: str = ""  # in the file


@dataclass(slots=True)
class IngestReport:
    """The result of an ingest. The counts are of documents.

    Attributes
    ----------
    added, updated, unchanged, moved, removed
        Documents by outcome; `moved` with their files, labels and rows of indexes included.
    missing
        Documents whose file, or whose record in it, is gone; they stay without `--prune`.
    empty
        Files without a byte, or with white space alone.
    skipped
        Files of unknown formats in folders, by suffix.
    left_out
        Excluded files and folders by reason: "exclude", "lpisearchignore", "gitignore", "hidden",
        "packages", "caches", "links".
    failures, warnings
        What could not be read, and what was read with a warning.
    known_failures
        Failures of an earlier run in unchanged files.
    unlisted
        The number of further failures, in files with very many.
    notes
        For the user, such as the detected language.
    labels_removed
        Labels given by hand that were removed with their documents, by id: "+added", "-rejected".
    index_notes
        Why an index could not be updated.
    seconds
        The duration.
    """

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    moved: int = 0
    removed: int = 0
    missing: int = 0
    empty: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    failures: list[Trouble] = field(default_factory=list)
    warnings: list[Trouble] = field(default_factory=list)
    known_failures: list[Trouble] = field(default_factory=list)
    unlisted: int = 0
    notes: list[str] = field(default_factory=list)
    labels_removed: dict[str, list[str]] = field(default_factory=dict)
    index_notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def failed(self) -> int:
        """The number of files and records that could not be read, now or in an earlier run."""
        return len(self.failures) + len(self.known_failures) + self.unlisted

    def _repr_html_(self) -> str:
        from lpisearch.model.report_text import record_html

        return record_html(self)


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of an ingest, in documents and in bytes of files."""

    documents: int
    done: int
    total: int


PART = "part"  # in the metadata of a document inside a file: where, such as "/report.pdf"
UNFINISHED = -1


# Named tuples where there are many at a time: they are created several times faster.
class Details(NamedTuple):
    """What a result shows of a document; `text` is its beginning."""

    id: str
    title: str
    labels: tuple[str, ...]
    path: str
    date: str
    text: str
    predicted: tuple[PredictedLabel, ...] = ()
    language: str = ""
    file_date: str = ""


class TokenShard(NamedTuple):
    """Documents in the order of their keys: keys, content hashes, and joined tokens."""

    keys: list[int]
    hashes: list[bytes]
    tokens: list[str]


def labels_note(edits: Mapping[str, Sequence[str]]) -> str:
    """Say which removed documents had labels given by hand.

    >>> labels_note({"a.txt": ["+sea", "-draft"]})
    '1 removed document had labels given by hand: a.txt (+sea -draft)'
    """
    named = [f"{name} ({' '.join(labels)})" for name, labels in edits.items()]
    return f"{counted(len(edits), 'removed document')} had labels given by hand: {some(named)}"


class DocumentRow(NamedTuple):
    """A stored document; `position` is its number in the source, negative if it is gone there."""

    key: int
    id: str
    source_id: int
    position: int
    content_hash: bytes


class DamagedDocument(NamedTuple):
    """A corrupt document, and what is readable of its origin.

    `found` is the hash of its present content, `b""` if that is unreadable; `is_named` tells
    whether its id and row are intact.
    """

    row: DocumentRow
    path: str
    root: str
    format: str
    split: str
    labels: tuple[str, ...]
    found: bytes
    is_named: bool


LANGUAGE_CODES = {
    "ar": "arabic", "hy": "armenian", "eu": "basque", "ca": "catalan", "cs": "czech",
    "da": "danish", "nl": "dutch", "en": "english", "eo": "esperanto", "et": "estonian",
    "fi": "finnish", "fr": "french", "de": "german", "el": "greek", "hi": "hindi",
    "hu": "hungarian", "id": "indonesian", "ga": "irish", "it": "italian", "lt": "lithuanian",
    "ne": "nepali", "no": "norwegian", "nb": "norwegian", "fa": "persian", "pl": "polish",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "st": "sesotho",
    "es": "spanish", "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
LICENCE, CHANGES, GENERATED = "licence", "changes", "generated"
"""The kinds of documents that few look for."""


class Traits(NamedTuple):
    """What the program found out about a document.

    Attributes
    ----------
    language
        Of its text, such as "german"; "" for that of the library.
    kind
        `LICENCE`, `CHANGES` (a change log) or `GENERATED`; "" for all others.
    reason
        Why it is of this kind.
    """

    language: str = ""
    kind: str = ""
    reason: str = ""


class DocumentWrite(NamedTuple):
    """A document to be stored, its row, its file, and its tokens joined by spaces."""

    row: DocumentRow
    path: str
    document: Document
    tokens: str = ""
    traits: Traits = Traits()


@dataclass(frozen=True, slots=True)
class FailedFile:
    """A file with failures, as it was then.

    Size and time are `UNFINISHED` if another try may succeed, though the file is the same.
    """

    path: str  # absolute
    size: int
    mtime_ns: int
    read_options: str  # a fingerprint
    troubles: tuple[Trouble, ...]  # the first ones
    number: int  # of all troubles
    ctime_ns: int = 0  # unknown


@dataclass(frozen=True, slots=True)
class Source:
    """A file, as it was when it was read.

    Size and time are `UNFINISHED` until it has been read to its end without a failure.
    """

    id: int
    path: str  # absolute
    root: str  # the folder whose relative paths are the ids of documents
    format: str  # the name of the reader
    size: int
    mtime_ns: int
    read_options: str  # a fingerprint
    ctime_ns: int = 0  # of the last change of its state, which no program can set; 0 is unknown
    documents: int = 0  # in the library
    gone: int = 0  # of these, those that are no longer in the file


class PredictedLabel(NamedTuple):
    """A label that a classifier predicted; it is stored apart from labels given by people.

    Attributes
    ----------
    label
        Its name.
    confidence
        Its share of the probability of all labels.
    classifier
        The name of the classifier.
    """

    label: str
    confidence: float
    classifier: str


@dataclass(frozen=True, slots=True)
class LabelReport:
    """The result of a change of labels.

    Attributes
    ----------
    documents
        The number of selected documents.
    added, removed
        The numbers of labels that they gained and lost.
    """

    documents: int
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class PredictionReport:
    """The result of predicting labels.

    Attributes
    ----------
    documents
        The number of classified documents.
    predicted
        The number of those with at least one label.
    labels
        The number of documents by label.
    classifier
        The name of the classifier.
    none_of_these, unknown
        The numbers of documents without a sufficiently probable label, and without an
        informative word.
    """

    documents: int
    predicted: int
    labels: dict[str, int]
    classifier: str
    none_of_these: int = 0
    unknown: int = 0
