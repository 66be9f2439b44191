"""A search in the form of vector stores, which chat programs know.

The id of a store is the name of an index. Filters are those of a search, by the keys `label`,
`path`, `split`, `date`, `media_type` and those of the metadata. There is no endpoint for
embeddings: the vectors of an index belong to its library, and mean nothing elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from lpisearch.model.documents import Filter
from lpisearch.options import SearchOptions
from lpisearch.web.api.endpoint import Param, Router
from lpisearch.web.problems import Refusal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lpisearch.model.answers import Hit
    from lpisearch.web.api.endpoint import ApiRequest


_MOST = 50  # as the form has it
_DEEPEST = 5  # filters in filters
_THRESHOLD = "score_threshold"
# By key and operator: the condition of a filter.
_CONDITIONS = {
    ("label", "eq"): "labels",
    ("label", "in"): "labels",
    ("path", "eq"): "path",
    ("split", "eq"): "split",
    ("media_type", "eq"): "media_type",
    ("date", "gte"): "since",
    ("date", "lte"): "until",
}
_KEYS = {key for key, _ in _CONDITIONS}
ENDPOINTS = Router("Search")


@dataclass(frozen=True, slots=True)
class VectorStoreRequest:
    """A query, and how it is answered; queries are never rewritten."""

    query: str | tuple[str, ...]
    max_num_results: int = 10
    filters: dict[str, Any] | None = None
    ranking_options: dict[str, Any] | None = None
    rewrite_query: bool = False


@dataclass(frozen=True, slots=True)
class VectorStoreText:
    """A passage."""

    text: str
    type: str = "text"


@dataclass(frozen=True, slots=True)
class VectorStoreResult:
    """A document with its best passages; `file_id` is its id."""

    file_id: str
    filename: str
    score: float
    attributes: dict[str, str | float | bool]
    content: list[VectorStoreText]


@dataclass(frozen=True, slots=True)
class VectorStorePage:
    """The results; there is one page."""

    search_query: list[str]
    data: list[VectorStoreResult]
    object: str = "vector_store.search_results.page"
    has_more: bool = False
    next_page: str | None = field(default=None)


@ENDPOINTS.add(
    *("POST", "/vector_stores/{id}/search"),
    (Param("id", "Index name", in_path=True),),
    body=VectorStoreRequest,
)
def search_vector_store(request: ApiRequest) -> VectorStorePage:
    """Search in the form of a vector store."""
    body: VectorStoreRequest = request.body
    if not 1 <= body.max_num_results <= _MOST:
        raise Refusal(422, f"max_num_results must be 1 to {_MOST}.")
    queries = [body.query] if isinstance(body.query, str) else [*body.query]
    threshold = (body.ranking_options or {}).get(_THRESHOLD)
    if threshold is not None and (
        isinstance(threshold, bool) or not isinstance(threshold, (int, float))
    ):
        raise Refusal(422, f"{_THRESHOLD} must be a number.")
    options = SearchOptions(
        k=body.max_num_results + 1,
        index=request.values["id"],
        where=_where(body.filters) if body.filters else Filter(),
        min_score=threshold or None,  # chat programs send 0 for none; scores may be below it
    )
    text = " ".join(queries)[: request.state.settings.limits.query_characters]
    hits = request.library.search(text, options=options).hits
    shown = [_result(hit) for hit in hits[: body.max_num_results]]
    return VectorStorePage(queries, shown, has_more=len(hits) > len(shown))


def _result(hit: Hit) -> VectorStoreResult:
    passage = hit.snippet
    named = {
        "title": hit.title,
        "path": hit.path,
        "date": hit.date,
        "labels": ", ".join(hit.labels),
        "page": passage.page,
        "section": passage.section.name if passage.section else "",
    }
    attributes: dict[str, str | float | bool] = {key: text for key, text in named.items() if text}
    content = [VectorStoreText(one.text) for one in hit.passages]
    filename = PurePath(hit.path).name or hit.title or hit.id
    return VectorStoreResult(hit.id, filename, hit.score, attributes, content)


def _where(given: Mapping[str, Any], depth: int = 0) -> Filter:
    """Return the filter that a comparison, or several joined by "and" or "or", mean."""
    kind, inner = given.get("type"), given.get("filters")
    if kind in {"and", "or"} and isinstance(inner, list) and depth < _DEEPEST:
        if not all(isinstance(one, dict) for one in inner):
            raise Refusal(422, "filters: each filter must be an object.")
        return _joined([_where(one, depth + 1) for one in inner], is_any=kind == "or")
    key, value = given.get("key"), given.get("value")
    values = value if isinstance(value, list) else [value]
    if not isinstance(key, str) or not values or not all(isinstance(one, str) for one in values):
        raise Refusal(422, "filters: give type, key, and a text as value.")
    if key not in _KEYS and kind == "eq" and len(values) == 1:
        return Filter(metadata=((key, str(values[0])),))
    name = _CONDITIONS.get((key, str(kind)))
    if name is None or (len(values) > 1 and name != "labels"):
        known = ", ".join(f"{one} {operator}" for one, operator in _CONDITIONS)
        raise Refusal(422, f"filters: use {known}, or eq of a key of the metadata.")
    condition: dict[str, Any] = {name: tuple(values) if name == "labels" else values[0]}
    return Filter(**condition)


def _joined(filters: Sequence[Filter], *, is_any: bool) -> Filter:
    """Return the conditions of all; "or" joins labels alone, and one label is enough."""
    if is_any and any(replace(one, labels=()) != Filter() for one in filters):
        raise Refusal(422, "filters: or joins labels alone.")
    whole = Filter()
    for one in filters:
        given = {
            name: getattr(one, name)
            for name in ("path", "split", "since", "until", "media_type")
            if getattr(one, name)
        }
        if any(getattr(whole, name) for name in given) or (
            whole.labels and one.labels and not is_any
        ):
            raise Refusal(422, "filters: one condition of a kind is allowed.")
        metadata = (*whole.metadata, *one.metadata)
        whole = replace(whole, **given, labels=(*whole.labels, *one.labels), metadata=metadata)
    return whole
