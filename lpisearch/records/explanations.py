"""Explain a cosine as an exact sum over words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


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
