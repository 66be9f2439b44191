"""The values that cross from room to room. None knows where it came from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


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
    """

    reason: str
    where: str = ""
    warning: bool = False


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


@dataclass(frozen=True, slots=True)
class Filter:
    """Which documents are meant: those that pass every condition given.

    Attributes
    ----------
    labels
        Any of these labels.
    path
        A glob over the path or the id, such as "*/letters/*".
    split
        This split.
    since, until
        Dated on or after, on or before: ISO dates, or the beginning of one ("2024", "2024-05").
        A document without a date of its own passes neither.
    metadata
        (key, value) pairs, all of which its metadata must have.
    """

    labels: tuple[str, ...] = ()
    path: str = ""
    split: str = ""
    since: str = ""
    until: str = ""
    metadata: tuple[tuple[str, str], ...] = ()


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
    """What an ingest did. The counts are of documents; `failures` has one entry for each.

    Attributes
    ----------
    added, updated, unchanged, removed
        Documents by what became of them.
    missing
        Documents whose file, or whose record in it, is gone; they stay without `--prune`.
    skipped
        Files in folders that are of no known format, by suffix.
    failures, warnings
        What could not be read, and what was read with a remark.
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
    failures: list[Trouble] = field(default_factory=list)
    warnings: list[Trouble] = field(default_factory=list)
    index_notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def failed(self) -> int:
        """How many files and records could not be read."""
        return len(self.failures)


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


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """What building an index will take, before it begins.

    Attributes
    ----------
    documents, words
        How many there are.
    terms
        At most so many become columns of the matrix.
    memory_mb, seconds
        Estimates, from the words and the method.
    """

    documents: int
    words: int
    terms: int
    memory_mb: float
    seconds: float


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What building an index gave.

    Attributes
    ----------
    name, method
        As asked for.
    dims, alpha
        As chosen; alpha is None for a method that has none.
    documents, terms
        The size of the matrix.
    components, isolated
        Connected parts of the graph, and documents without a neighbour; None without a graph.
    unknown_rate
        Share of the corpus' words that are not in the vocabulary, being too rare.
    seconds
        By stage.
    peak_mb
        The most memory that the process has held.
    size_bytes
        Of the folder.
    folder
        Where the arrays are.
    classifier
        What was learned from the labels (see `lpisearch.workflows.training.Learned`); None
        without labels.
    """

    name: str
    method: str
    dims: int
    alpha: float | None
    documents: int
    terms: int
    components: int | None
    isolated: int | None
    unknown_rate: float
    seconds: dict[str, float]
    peak_mb: float
    size_bytes: int
    folder: str
    classifier: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """Part of a text that shows why a document was found.

    Attributes
    ----------
    text
        On one line; "…" where it was cut.
    marks
        (start, end) of the words that match, within `text`.
    """

    text: str
    marks: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """One document that was found.

    Attributes
    ----------
    rank
        From 1.
    id, title, labels, path, date
        Of the document.
    score
        What the ranking is by: the fused score, the cosine, or BM25.
    cosine, bm25
        Each leg's score; None if the leg was not asked. BM25 is 0 where no word matches.
    cosine_rank, bm25_rank
        The place that each leg alone would give it; None if the leg has no such place.
    snippet
        The passage to show.
    """

    rank: int
    id: str
    title: str
    labels: tuple[str, ...]
    path: str
    date: str
    score: float
    cosine: float | None = None
    bm25: float | None = None
    cosine_rank: int | None = None
    bm25_rank: int | None = None
    snippet: Passage = field(default_factory=lambda: Passage(""))


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query gave.

    Attributes
    ----------
    hits
        Best first.
    by
        How it was answered: "hybrid", "semantic" or "lexical".
    notes
        What the user should know: no index yet, unknown words, an index that is behind.
    """

    hits: tuple[Hit, ...]
    by: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LabelShare:
    """A label, and how probable it is: the shares of all labels sum to 1."""

    label: str
    share: float


@dataclass(frozen=True, slots=True)
class Classification:
    """What a text was judged to be.

    Attributes
    ----------
    input
        The text, or the file and the document in it.
    labels
        Most probable first; empty where there is no answer.
    note
        Why there is no answer.
    failed
        Whether the input could not be read.
    """

    input: str
    labels: tuple[LabelShare, ...] = ()
    note: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class TopicDocument:
    """A document that is typical of a topic, and its cosine with the centre."""

    id: str
    title: str
    cosine: float


@dataclass(frozen=True, slots=True)
class Topic:
    """One cluster of the library.

    Attributes
    ----------
    number
        From 1, largest cluster first.
    size
        How many documents are in it.
    terms
        Words that stand out against the rest of the library.
    documents
        The typical ones, nearest to the centre first.
    labels
        What share of its labelled documents has each label, largest first; a document with
        several labels has each of them.
    """

    number: int
    size: int
    terms: tuple[str, ...]
    documents: tuple[TopicDocument, ...]
    labels: tuple[LabelShare, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicReport:
    """The topics of a library.

    Attributes
    ----------
    topics
        Largest first.
    documents
        How many there are, those in no topic too.
    unplaced
        How many have no word that the index knows.
    chosen
        Whether the number of topics was read off the spectrum.
    purity, nmi
        Against the labels, over documents that have just one: the share that has the
        commonest label of its topic; mutual information over the larger entropy. None without
        labels.
    """

    topics: tuple[Topic, ...]
    documents: int
    unplaced: int
    chosen: bool
    purity: float | None = None
    nmi: float | None = None
