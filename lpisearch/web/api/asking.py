"""The parameters of a search and of a filter, and what they mean as options."""

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
    Param("predicted", "Documents for which any of these labels was predicted", many=True),
    Param("path", "A folder or a glob over path or id", default=""),
    Param("split", "Documents of this split", default=""),
    Param("since", "Dated on or after: 2024, 2024-05 or 2024-05-31", default=""),
    Param("until", "Dated on or before", default=""),
    Param("media_type", "Of this media type", default=""),
    Param("where", "KEY=VALUE of the metadata, each of which must hold", many=True),
)
INDEX = Param("index", "The name of the index", default="default")
_RANKING = (
    Param("by", "What ranks the documents", default="hybrid", choices=_WAYS),
    Param("sort", "The order of the best hits", default="relevance", choices=SORTS),
    Param("k", "How many hits", "integer", 10, least=0, most=_LIMITS.hits),
    Param("offset", "How many to pass over", "integer", 0, least=0, most=_LIMITS.depth),
    Param("min_score", "Leave out hits below it", "number"),
    Param("semantic_weight", "How much places count beside words", "number", least=0, most=1e6),
    Param("collapse", "Show one of several that are nearly the same", "boolean", default=False),
    Param("explain", "Say of each hit which words make it near", "boolean", default=False),
    Param("facets", "Count all that may be found", "boolean", default=False),
    INDEX,
)
QUESTION = Param("q", "The question", default="", longest=_LIMITS.query_characters)
FEEDBACK = (
    Param("like", "The question moves towards this document", many=True),
    Param("unlike", "The question moves away from this document", many=True),
)
SEARCH = (QUESTION, *FEEDBACK, *_RANKING, *FILTER)
SIMILAR = (*_RANKING, *FILTER)
LISTING = (
    Param("limit", "How many documents", "integer", 50, least=0, most=1000),
    Param("offset", "How many to pass over", "integer", 0, least=0),
    Param("sort", "The order", default="added", choices=ENTRY_SORTS),
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
