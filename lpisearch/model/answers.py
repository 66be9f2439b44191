"""Hit, Answer, Explanation, Facets, Topic, DocumentMap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, overload

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from lpisearch.model.documents import PredictedLabel, Section


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


@dataclass(frozen=True, slots=True)
class Pair:
    """A term of the query and one of the document; what the two add to the cosine."""

    query_term: str
    document_term: str
    contribution: float


@dataclass(frozen=True, slots=True)
class SharedTopic:
    """A dimension in which query and document lie on the same side.

    Attributes
    ----------
    dimension
        From 0.
    contribution
        What it adds to the cosine.
    terms
        Characteristic of that side of the dimension, as stems.
    """

    dimension: int
    contribution: float
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """A cosine, taken apart.

    Attributes
    ----------
    cosine
        Of the query's and the document's vectors; 0 if either has no known word.
    total
        The sum over all pairs of terms. It equals the cosine but for rounding.
    pairs
        Those that matter most, the largest contribution first, whether for or against.
    by_query_term
        What each term of the query adds, the largest first. The sum is the cosine.
    topics
        Dimensions that add most.
    """

    cosine: float
    total: float
    pairs: tuple[Pair, ...] = ()
    by_query_term: tuple[tuple[str, float], ...] = ()
    topics: tuple[SharedTopic, ...] = ()

    def worded(
        self, query_forms: Mapping[str, str], document_forms: Mapping[str, str]
    ) -> Explanation:
        """Return the explanation in words: stems as the query and the document write them."""
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
            topics=tuple(
                replace(topic, terms=tuple(both.get(term, term) for term in topic.terms))
                for topic in self.topics
            ),
        )


@dataclass(frozen=True, slots=True)
class FacetValue:
    """One value, and how many documents have it.

    Attributes
    ----------
    value
        What a filter takes: a label, a split, a folder, a media type, or a date such as "2024" or
        "2024-05", which is both `since` and `until`.
    name
        What a person reads.
    count
        Of documents.
    """

    value: str
    name: str
    count: int


@dataclass(frozen=True, slots=True)
class Facets:
    """The documents of an answer, all that may be found by paging through it, counted.

    Attributes
    ----------
    total
        How many there are.
    labels, predicted, splits, formats
        Most frequent first, as many as were asked for.
    folders
        The folders (or files of many documents) next below the one that they all lie in.
    dates
        In the order of time, without gaps: years, months or days, whichever makes a histogram that
        can be read.
    period
        Which: "year", "month", "day"; "" without a date.
    undated
        How many have no date.
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


NO_TOPIC = -1
NO_LABEL = -1


# Arrays have no single truth value, so that two maps are compared by what they are: objects.
@dataclass(frozen=True, eq=False, slots=True)
class DocumentMap:
    """All documents of an index as points in a plane.

    Attributes
    ----------
    ids, titles
        Of the documents that have a place.
    places
        A point for each (documents x 2), float32; the middle of all is 0, and none is farther
        than 1 from it in either direction.
    topics
        Which topic each is in: its place in `report.topics`, or `NO_TOPIC`.
    labels
        The first label of each: its place in `label_names`, or `NO_LABEL`.
    label_names
        Of all labels, the most frequent first.
    report
        The topics.
    projection
        "neighbours" or "plane".
    rule
        What the projection does, in a sentence.
    unplaced
        How many documents have no word that the index knows, and are not on the map.
    fingerprint
        Of what the places were made from: equal ones have equal places.
    """

    ids: tuple[str, ...]
    titles: tuple[str, ...]
    places: NDArray[np.float32]
    topics: NDArray[np.int32]
    labels: NDArray[np.int32]
    label_names: tuple[str, ...]
    report: TopicReport
    projection: str
    rule: str
    unplaced: int
    fingerprint: str = ""


class Mark(NamedTuple):
    """A word of a text that has to do with a query.

    Attributes
    ----------
    start, end
        Where it is in the text.
    near
        0 for a word of the query; for a word that is near in meaning, what all its occurrences
        add to the cosine of the query and the text.
    """

    start: int
    end: int
    near: float = 0.0


@dataclass(frozen=True, slots=True)
class Leg:
    """What one part of the ranking gave a document.

    Attributes
    ----------
    name
        "words" (BM25), "place" (the cosine in the subspace), "feedback" (the words of the
        documents that come first) or "whole" (of a long document: what it has beside its best
        passage).
    value
        The part's own score: BM25, the cosine; None where it has none that a person can read.
    points
        What is weighed. In a hybrid ranking, by how many standard deviations the value is above
        the mean of all documents, bounded as the ranking bounds it; else the value itself.
    weight
        How much a point counts.
    share
        What it adds to the score: the two multiplied.
    """

    name: str
    value: float | None
    points: float
    weight: float
    share: float


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a document stands where it does in an answer.

    Attributes
    ----------
    id, by, score
        Of the document; how the question was answered; what the ranking is by.
    legs
        Their shares sum to the score.
    explanation
        The cosine taken apart; None where the map of the index is not linear.
    """

    id: str
    by: str
    score: float
    legs: tuple[Leg, ...]
    explanation: Explanation | None = None


@dataclass(frozen=True, slots=True)
class DimensionWord:
    """A word of a dimension, and its loading there: above 0 at one end, below at the other."""

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
    """One dimension, and what lies at its two ends.

    Attributes
    ----------
    number
        From 1, largest eigenvalue first.
    eigenvalue
        Of the graph; of SPCA, the variance.
    words
        How many words have a loading in it.
    above, below
        Words with a positive and with a negative loading, strongest first.
    documents_above, documents_below
        Typical documents of either end, nearest to it first.
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
    """The dimensions of a sparse map of the library.

    Attributes
    ----------
    method
        What learned it.
    index
        The name of the stored index; "" if the map was learned for this report alone.
    documents, terms
        How many of each it was learned from.
    dimensions
        Largest eigenvalue first.
    """

    method: str
    index: str
    documents: int
    terms: int
    dimensions: tuple[Dimension, ...]
