"""The dimensions of a sparse model."""

from __future__ import annotations

from dataclasses import dataclass


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
