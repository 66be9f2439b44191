"""Documents from readers, and ingest reports."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lpisearch.records.labels import PredictedLabel

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
    """Which documents are meant: those that pass every condition given.

    Attributes
    ----------
    labels, predicted
        Any of these labels, given by people or predicted by a classifier.
    path
        A folder or a glob over the path or the id, such as "code docs" or "*/letters/*": what it
        means, and all that is below.
    split
        This split.
    since, until
        Dated on or after, on or before: ISO dates, or the beginning of one ("2024", "2024-05").
        A document without a date of its own passes neither.
    metadata
        (key, value) pairs, all of which its metadata must have.
    media_type
        This media type, such as "application/pdf".
    here
        The folder from which `path` is seen too, if it is a relative one; "" for none.
    """

    labels: tuple[str, ...] = ()
    path: str = ""
    split: str = ""
    since: str = ""
    until: str = ""
    metadata: tuple[tuple[str, str], ...] = ()
    here: str = ""
    predicted: tuple[str, ...] = ()
    media_type: str = ""

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
