"""Result counts by label, split, folder, format and date."""

from __future__ import annotations

from dataclasses import dataclass


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
