"""What queries return: answers, explanations, facets, topics, maps and dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, overload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lpisearch.model.documents import PredictedLabel, Section


@dataclass(frozen=True, slots=True)
class Passage:
    """Part of a text that shows why a document is a result.

    Attributes
    ----------
    text
        On one line, with "…" where it was cut.
    marks
        (start, end) of the matching words in `text`.
    start, end
        The position in the text of the document.
    section
        The last section that begins before the first mark, if there are sections.
    page
        The name of the page, or "".
    """

    text: str
    marks: tuple[tuple[int, int], ...] = ()
    start: int = 0
    end: int = 0
    section: Section | None = None
    page: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    """A result: one document of an answer.

    Attributes
    ----------
    rank
        From 1.
    id, title, labels, path, date
        Of the document.
    score
        By which the answer is ranked: the fused score, the cosine, or BM25.
    cosine, bm25
        The score of each leg, None if it was not computed; BM25 is 0 if no word matches.
    cosine_rank, bm25_rank
        The rank by each leg alone, if it has one.
    passages
        One of a short document, one to three of a long one, best first. The scores of a long
        document are those of its first passage.
    explanation
        The terms of its cosine, if requested; of a long document, of its best passage.
    predicted
        Predicted labels, most probable first.
    file_date
        When its file was last changed, if the document states no date.
    alike
        How many other documents that match are nearly the same text, and are not shown.
    versions
        How many other documents that match are versions in other languages, and are not shown.
    demoted
        Why the document counts half: its kind ("licence", "changes", "generated"), or "language";
        "" for most.
    encoder
        What the user's own encoder adds to the score, if it does; no words explain it.
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
    file_date: str = ""
    alike: int = 0
    versions: int = 0
    demoted: str = ""
    encoder: Leg | None = None

    @property
    def snippet(self) -> Passage:
        """The best passage."""
        return self.passages[0] if self.passages else Passage("")

    def row(self) -> dict[str, Any]:
        """Return the hit as plain values, with its best passage."""
        plain = ("rank", "id", "title", "path", "date", "file_date", "score", "cosine", "bm25")
        best = self.snippet
        return {name: getattr(self, name) for name in plain} | {
            "labels": list(self.labels),
            "passage": best.text,
            "page": best.page,
            "section": best.section.name if best.section else "",
            "start": best.start,
            "end": best.end,
        }


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A word that no document contains, and the nearest words that some do, best first."""

    word: str
    nearest: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer(Sequence[Hit]):
    """The results of a query: a sequence of hits.

    Attributes
    ----------
    hits
        Best first.
    by
        The ranking mode: "hybrid", "semantic" or "lexical".
    notes
        For the user: there is no index, a word is unknown, the index is out of date.
    suggestions
        For each word that no document contains.
    facets
        Counts over all matching documents, if requested.
    corrected
        The query that was searched for, where words of the given one are misspelt; else "".
    hidden
        How many of these are not shown on any page because one before is nearly the same text.
    total
        The number of results on all pages.
    next
        The `offset` of the next page; None on the last.
    """

    hits: tuple[Hit, ...]
    by: str
    notes: tuple[str, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    facets: Facets | None = None
    corrected: str = ""
    hidden: int = 0
    total: int = 0
    next: int | None = None

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, at: int) -> Hit: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, at: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[at]

    def rows(self) -> list[dict[str, Any]]:
        """Return the hits as dicts of plain values, each with its best passage.

        `pandas.DataFrame(answer.rows())` and `polars.DataFrame(answer.rows())` are tables of them.
        """
        return [hit.row() for hit in self.hits]

    def _repr_html_(self) -> str:
        from lpisearch.model.report_text import answer_html

        return answer_html(self)


Run = tuple[str, list[tuple[str, float]]]
"""A query's id, and the ids of documents with their scores, best first."""


@dataclass(frozen=True, slots=True)
class LabelShare:
    """A label and its probability; the shares of all labels sum to 1."""

    label: str
    share: float


@dataclass(frozen=True, slots=True)
class Classification:
    """The labels of a text.

    Attributes
    ----------
    input
        The text, or the file and the document in it.
    labels
        Most probable first; empty if there is no answer.
    note
        Why there is no answer.
    failed
        Whether the input could not be read.
    none_of_these
        Whether the shares of the labels to be decided sum to less than the requested confidence.
    decided
        The labels to assign, best first: one, or several where documents have several.
    """

    input: str
    labels: tuple[LabelShare, ...] = ()
    note: str = ""
    failed: bool = False
    none_of_these: bool = False
    decided: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicDocument:
    """A typical document of a topic, and its cosine with the centre."""

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
        The number of its documents.
    terms
        Words that distinguish it from the rest of the library.
    documents
        Typical ones, nearest to the centre first.
    labels
        The share of its labelled documents that has each label, largest first; a document counts
        for each of its labels.
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
        The number of documents, those in no topic included: of no known word, or furniture
        (licences, change logs, generated files).
    unplaced
        The number of documents without a word in the index.
    chosen
        Whether the number of topics was chosen from the spectrum.
    purity, nmi
        Over documents with one label, None without any: the share with the commonest label of
        their topic; the mutual information of topics and labels over the larger entropy.
    """

    topics: tuple[Topic, ...]
    documents: int
    unplaced: int
    chosen: bool
    purity: float | None = None
    nmi: float | None = None

    def _repr_html_(self) -> str:
        from lpisearch.model.report_text import topics_html

        return topics_html(self)


@dataclass(frozen=True, slots=True)
class Pair:
    """A term of the query, one of the document, and what both add to the cosine."""

    query_term: str
    document_term: str
    contribution: float


@dataclass(frozen=True, slots=True)
class SharedTopic:
    """A dimension in which query and document lie on the same side."""

    dimension: int  # from 0
    contribution: float  # to the cosine
    terms: tuple[str, ...]  # stems, characteristic of that side


@dataclass(frozen=True, slots=True)
class Explanation:
    """The terms of a cosine.

    Attributes
    ----------
    cosine
        Of the vectors of query and document; 0 if either has no known word.
    total
        The sum over all pairs of terms: the cosine, but for rounding.
    pairs
        The largest contributions, positive or negative.
    by_query_term
        The contribution of each term of the query, largest first; the sum is the cosine.
    topics
        Dimensions that contribute most.
    weights
        How rare each word of the query is, in the library and in its language, rarest first: what
        it counts for BM25.
    """

    cosine: float
    total: float
    pairs: tuple[Pair, ...] = ()
    by_query_term: tuple[tuple[str, float], ...] = ()
    topics: tuple[SharedTopic, ...] = ()
    weights: tuple[tuple[str, float], ...] = ()

    def worded(
        self, query_forms: Mapping[str, str], document_forms: Mapping[str, str]
    ) -> Explanation:
        """Return the explanation with stems as the query and the document write them."""
        both = {**query_forms, **document_forms}
        return replace(
            self,
            pairs=tuple(
                replace(
                    pair,
                    query_term=query_forms.get(pair.query_term, pair.query_term),
                    document_term=document_forms.get(pair.document_term, pair.document_term),
                )
                for pair in self.pairs
            ),
            by_query_term=tuple((query_forms.get(s, s), share) for s, share in self.by_query_term),
            weights=tuple((query_forms.get(s, s), weight) for s, weight in self.weights),
            topics=tuple(
                replace(topic, terms=tuple(both.get(term, term) for term in topic.terms))
                for topic in self.topics
            ),
        )


@dataclass(frozen=True, slots=True)
class FacetValue:
    """A value, and the number of documents that have it.

    Attributes
    ----------
    value
        For a filter: a label, a split, a folder, a media type, or a date such as "2024" or
        "2024-05", which is both `since` and `until`.
    name
        For people.
    count
        Of documents.
    """

    value: str
    name: str
    count: int


@dataclass(frozen=True, slots=True)
class Facets:
    """Counts of all documents that match a query or a filter.

    Attributes
    ----------
    total
        The number of documents.
    labels, predicted, splits, formats, languages, senders
        Most frequent first. A facet of which the filter names values is counted without them.
        Documents have languages if each has its own.
    folders
        The folders (or files of many documents) directly below their common folder; if the filter
        names folders, those next to these.
    subfolders
        If the filter names folders, what is directly below them.
    dates
        Chronological, without gaps: years, months or days, whichever make a readable histogram.
    period
        "year", "month", "day", or "" without a date.
    undated
        The number of documents without a date, also of their file.
    """

    total: int
    labels: tuple[FacetValue, ...] = ()
    predicted: tuple[FacetValue, ...] = ()
    splits: tuple[FacetValue, ...] = ()
    folders: tuple[FacetValue, ...] = ()
    formats: tuple[FacetValue, ...] = ()
    dates: tuple[FacetValue, ...] = ()
    period: str = ""
    undated: int = 0
    languages: tuple[FacetValue, ...] = ()
    senders: tuple[FacetValue, ...] = ()
    subfolders: tuple[FacetValue, ...] = ()


NO_TOPIC = -1
NO_LABEL = -1


# Maps are compared by identity: arrays have no single truth value.
@dataclass(frozen=True, eq=False, slots=True)
class DocumentMap:
    """All documents of an index as points in a plane; equal fingerprints mean equal points."""

    ids: tuple[str, ...]
    titles: tuple[str, ...]
    places: NDArray[np.float32]  # documents x 2, centred, within ±1
    topics: NDArray[np.int32]  # into `report.topics`, or `NO_TOPIC`
    labels: NDArray[np.int32]  # the first label of each document in `label_names`, or `NO_LABEL`
    label_names: tuple[str, ...]  # most frequent first
    report: TopicReport
    projection: str  # "neighbours" or "plane"
    rule: str  # the projection in one sentence
    unplaced: int  # documents without a word in the index, which have no point
    fingerprint: str = ""


class Mark(NamedTuple):
    """A word of a text that is related to a query."""

    start: int
    end: int
    near: float = 0.0  # 0 for words of the query; for near words, their share of the cosine


@dataclass(frozen=True, slots=True)
class Leg:
    """One part of a hybrid score.

    It is "words" (BM25), "title" and "path" (words of the query there), "near" (words that stand
    near each other), "place" (the cosine in the subspace), "feedback" (terms of the first
    documents), "whole" (the score of a long document as a whole; the others are of its best
    passage), "compounds" (words of the query that are joined without a space) or "encoder" (the
    cosine by the user's own encoder, which no words explain).
    """

    name: str
    value: float | None  # BM25 or the cosine; None if there is no readable score
    points: float  # in hybrid mode standard deviations above the mean, bounded; else the value
    weight: float
    share: float  # of the score: points times weight


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a document ranks where it does: the shares of the legs sum to the score."""

    id: str
    by: str
    score: float
    legs: tuple[Leg, ...]
    explanation: Explanation | None = None  # None where the model of the index is not linear


@dataclass(frozen=True, slots=True)
class DimensionWord:
    """A word of a dimension, and its signed loading."""

    word: str
    weight: float


@dataclass(frozen=True, slots=True)
class DimensionDocument:
    """A document near an end of a dimension, and its cosine with the axis."""

    id: str
    title: str
    cosine: float


@dataclass(frozen=True, slots=True)
class Dimension:
    """One dimension, and its two ends.

    Attributes
    ----------
    number
        From 1, largest eigenvalue first.
    eigenvalue
        Of the graph; of SPCA, the variance.
    words
        The number of words with a loading.
    above, below
        Words with positive and with negative loadings, strongest first.
    documents_above, documents_below
        Typical documents of each end, nearest first.
    """

    number: int
    eigenvalue: float
    words: int
    above: tuple[DimensionWord, ...]
    below: tuple[DimensionWord, ...]
    documents_above: tuple[DimensionDocument, ...]
    documents_below: tuple[DimensionDocument, ...]


@dataclass(frozen=True, slots=True)
class DimensionReport:
    """The dimensions of a sparse model of the library.

    Attributes
    ----------
    method
        That learned the model.
    index
        The name of the stored index, or "" if the model was learned for this report.
    documents, terms
        The size of the training data.
    dimensions
        Largest eigenvalue first.
    """

    method: str
    index: str
    documents: int
    terms: int
    dimensions: tuple[Dimension, ...]

    def _repr_html_(self) -> str:
        from lpisearch.model.report_text import dimensions_html

        return dimensions_html(self)
