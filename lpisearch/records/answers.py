"""Results of search, classification and topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    from lpisearch.records.documents import Section
    from lpisearch.records.explanations import Explanation
    from lpisearch.records.facets import Facets
    from lpisearch.records.labels import PredictedLabel


@dataclass(frozen=True, slots=True)
class Passage:
    """Part of a text that shows why a document was found.

    Attributes
    ----------
    text
        On one line; "…" where it was cut.
    marks
        (start, end) of the words that match, within `text`.
    start, end
        Where it is in the text of the document.
    section
        In which it stands: the last that begins before its first mark; None where the document
        has no sections.
    page
        The page, by what it is called; "" where the document has none.
    """

    text: str
    marks: tuple[tuple[int, int], ...] = ()
    start: int = 0
    end: int = 0
    section: Section | None = None
    page: str = ""


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
    passages
        What to show of it, best first: one of a short document, one to three of a long one. The
        scores of a long document are those of the first.
    explanation
        Its cosine taken apart, where that was asked; of a long document, that of its best passage.
    predicted
        Labels that were predicted for it, most probable first.
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
    passages: tuple[Passage, ...] = ()
    explanation: Explanation | None = None
    predicted: tuple[PredictedLabel, ...] = ()

    @property
    def snippet(self) -> Passage:
        """The best passage."""
        return self.passages[0] if self.passages else Passage("")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A word that no document has, and the nearest that some have, best first."""

    word: str
    nearest: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer(Sequence[Hit]):
    """What a query gave: a sequence of hits, with what is to be known of them.

    Attributes
    ----------
    hits
        Best first.
    by
        How it was answered: "hybrid", "semantic" or "lexical".
    notes
        What the user should know: no index yet, unknown words, an index that is behind.
    suggestions
        For each word that no document has.
    facets
        What all that may be found consists of, where that was asked for.
    """

    hits: tuple[Hit, ...]
    by: str
    notes: tuple[str, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    facets: Facets | None = None

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, at: int) -> Hit: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, at: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[at]


Run = tuple[str, list[tuple[str, float]]]
"""A query's id, and the ids of documents with their scores, best first."""


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
    none_of_these
        Whether no label is probable enough: those that would be taken have together a smaller
        share than the confidence that was asked for.
    decided
        The labels that are taken, best first: one, or several where documents have several.
    """

    input: str
    labels: tuple[LabelShare, ...] = ()
    note: str = ""
    failed: bool = False
    none_of_these: bool = False
    decided: tuple[str, ...] = ()


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
