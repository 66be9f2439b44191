"""Search and filter parameters, and their conversion to options."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lpisearch.settings import ENTRY_SORTS, SORTS, SearchOptions
from lpisearch.settings.conditions import read_conditions
from lpisearch.settings.serving import ServeLimits
from lpisearch.web.api.table import Param

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lpisearch.records import Filter

_LIMITS = ServeLimits()
_WAYS = ("hybrid", "semantic", "lexical")

FILTER = (
    Param("label", "Documents with any of these labels", many=True),
    Param("predicted", "Documents with any of these predicted labels", many=True),
    Param("path", "Folder, or glob matched against path or id", default=""),
    Param("split", "Documents in this split", default=""),
    Param("since", "Dated on or after: 2024, 2024-05 or 2024-05-31", default=""),
    Param("until", "Dated on or before", default=""),
    Param("media_type", "Documents of this media type", default=""),
    Param("where", "Metadata as KEY=VALUE; all must match", many=True),
)
INDEX = Param("index", "Name of the index", default="default")
_RANKING = (
    Param("by", "Ranking mode", default="hybrid", choices=_WAYS),
    Param("sort", "Sort order of the results", default="relevance", choices=SORTS),
    Param("k", "Number of results", "integer", 10, least=0, most=_LIMITS.hits),
    Param("offset", "Number to skip", "integer", 0, least=0, most=_LIMITS.depth),
    Param("min_score", "Minimum score", "number"),
    Param(
        "semantic_weight",
        "Weight of meaning against words in hybrid ranking",
        "number",
        least=0,
        most=1e6,
    ),
    Param("collapse", "Show only one of several near-duplicates", "boolean", default=False),
    Param("explain", "Explain which words make each result similar", "boolean", default=False),
    Param(
        "facets",
        "Include counts by label, date, folder, split and format",
        "boolean",
        default=False,
    ),
    INDEX,
)
QUESTION = Param("q", "The query", default="", longest=_LIMITS.query_characters)
FEEDBACK = (
    Param("like", "Prefer documents like this one", many=True),
    Param("unlike", "Avoid documents like this one", many=True),
)
SEARCH = (QUESTION, *FEEDBACK, *_RANKING, *FILTER)
SIMILAR = (*_RANKING, *FILTER)
LISTING = (
    Param("limit", "Number of documents", "integer", 50, least=0, most=1000),
    Param("offset", "Number to skip", "integer", 0, least=0),
    Param("sort", "Sort order", default="added", choices=ENTRY_SORTS),
    *FILTER,
)


def filter_of(values: Mapping[str, Any]) -> Filter:
    """Return the filter that parameters mean.

    Raises
    ------
    BadOption
    """
    once = ("path", "split", "since", "until", "media_type")
    wanted = read_conditions(values["where"])
    fields = {name: values[name] for name in once if values[name]}
    labels = (*wanted.labels, *values["label"])
    predicted = (*wanted.predicted, *values["predicted"])
    return replace(wanted, labels=labels, predicted=predicted, **fields)


def options_of(values: Mapping[str, Any]) -> SearchOptions:
    """Return the options of a search that parameters mean.

    Raises
    ------
    BadOption
    """
    plain = {param.name: values[param.name] for param in _RANKING}
    return SearchOptions(where=filter_of(values), **plain)
