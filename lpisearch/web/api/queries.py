"""Search, similar documents, facets, topics and classification.

Search also has the form of vector stores, which chat programs know. The id of a store is the name
of an index. Filters are those of a search, by the keys `label`, `path`, `split`, `date`,
`media_type` and those of the metadata. There is no endpoint for embeddings: the vectors of an index
belong to its library, and mean nothing elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from lpisearch.model.answers import Mark
from lpisearch.model.codec import RankedRun
from lpisearch.model.documents import Document, Filter
from lpisearch.options import ClassifyOptions, SearchOptions, ServeLimits, TopicOptions
from lpisearch.web.api.endpoint import (
    FILE,
    FILTER,
    SEARCH,
    SIMILAR,
    UNITS,
    Param,
    Router,
    filter_of,
    options_of,
    params_of,
)
from lpisearch.web.problems import Refusal
from lpisearch.web.state import named_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lpisearch.model.answers import (
        Answer,
        Classification,
        DocumentMap,
        Facets,
        Hit,
        Reason,
        TopicReport,
    )
    from lpisearch.web.api.endpoint import ApiRequest


_LIMITS = ServeLimits()
_MOST_TEXT, _MOST_QUERIES, _MOST_ANSWERS = _LIMITS.text_characters, 1000, 100
_UTF16, _LAST_OF_PLANE = "utf16", "\uffff"
_ID = Param("id", "Document id or path", required=True)
_NAME = Param("name", "File name; its extension sets the format", required=True)
_JUDGING = (_NAME, *params_of(ClassifyOptions, {"k": (0, 1000), "confidence": (0, 1)}))
_TOPICS = params_of(
    TopicOptions,
    {
        "number": (1, 1000),
        "terms": (0, 100),
        "documents": (0, 100),
        "seed": (0, 2**32 - 1),
    },
)
_MAP = (
    Param("projection", "Map layout", default="plane", choices=("plane", "neighbours")),
    *(param for param in _TOPICS if param.name in {"number", "seed", "index"}),
)
ENDPOINTS = Router("Search")


@dataclass(frozen=True, slots=True)
class TextRequest:
    """A document that is not in the library."""

    text: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class BatchQuery:
    """One query of a batch."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """Queries, and how each is answered."""

    queries: tuple[BatchQuery, ...]
    options: SearchOptions = field(default_factory=SearchOptions)


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """Queries, and how all are answered; `units` is what marks count."""

    queries: tuple[BatchQuery, ...]
    options: SearchOptions = field(default_factory=SearchOptions)
    units: str = "codepoints"


@dataclass(frozen=True, slots=True)
class Answers:
    """The answer to each query, by its id."""

    answers: dict[str, Answer]


@dataclass(frozen=True, slots=True)
class MarkRequest:
    """A query, and texts in which its words are marked; `units` is what marks count."""

    text: str
    parts: tuple[str, ...]
    units: str = "codepoints"
    options: SearchOptions = field(default_factory=SearchOptions)


@dataclass(frozen=True, slots=True)
class ClassifyRequest:
    """A text, and the arguments of `Library.classify`."""

    text: str
    k: int = 5
    classifier: str = "auto"
    index: str = "default"
    confidence: float = 0.5


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks of each text."""

    marks: list[tuple[Mark, ...]]


@dataclass(frozen=True, slots=True)
class Runs:
    """The results of a batch, with notes that concern all of it."""

    runs: list[RankedRun]
    notes: list[str]


@ENDPOINTS.add("GET", "/search", (*SEARCH, UNITS), is_cached=True)
def search(request: ApiRequest) -> Answer:
    """Search documents."""
    values = request.values
    is_empty = not values["q"].strip() and not values["like"]
    if is_empty and not request.python:  # our own client answers as `Library` does
        wrong = [{"field": "q", "reason": "is missing or empty"}]
        raise Refusal(422, "q is missing or empty.", errors=wrong)
    feedback = {"like": values["like"], "unlike": values["unlike"]}
    answer = request.library.search(values["q"], options=options_of(values), **feedback)
    return in_utf16(answer) if values["units"] == _UTF16 else answer


@ENDPOINTS.add(
    *("POST", "/search"),
    body=SearchRequest,
    example={
        "queries": [{"id": "1", "text": "bread stays flat"}, {"id": "2", "text": "chain slips"}],
        "options": {"k": 3},
    },
)
def search_each(request: ApiRequest) -> Answers:
    """Search for several queries at once."""
    body: SearchRequest = request.body
    if not 0 < len(body.queries) <= _MOST_ANSWERS:
        raise Refusal(422, f"Give 1 to {_MOST_ANSWERS} queries.")
    _check_page(body.options, _LIMITS.hits)
    library, options = request.library, body.options
    texts = [(one.id, one.text[: _LIMITS.query_characters]) for one in body.queries]
    answers = {name: library.search(text, options=options) for name, text in texts}
    in_units = in_utf16 if body.units == _UTF16 else (lambda answer: answer)
    return Answers({name: in_units(answer) for name, answer in answers.items()})


def in_utf16(answer: Answer) -> Answer:
    """Return an answer whose marks count UTF-16 code units; positions in documents stay."""
    return replace(
        answer,
        hits=tuple(
            replace(
                hit,
                passages=tuple(
                    replace(one, marks=tuple(_utf16(one.text, one.marks))) for one in hit.passages
                ),
            )
            for hit in answer.hits
        ),
    )


def _utf16(text: str, marks: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for start, end in marks:
        before = sum(sign > _LAST_OF_PLANE for sign in text[:start])
        yield start + before, end + before + sum(sign > _LAST_OF_PLANE for sign in text[start:end])


@ENDPOINTS.add("GET", "/reason", (_ID, *SEARCH), is_cached=True)
def reason(request: ApiRequest) -> Reason:
    """Explain why a document ranks where it does."""
    values = request.values
    feedback = {"like": values["like"], "unlike": values["unlike"]}
    options = options_of(values)
    return request.library.reason(values["q"], values["id"], options=options, **feedback)


@ENDPOINTS.add(
    *("POST", "/marks"),
    body=MarkRequest,
    example={"text": "old letters", "parts": ["A letter from home", "Nothing"]},
)
def marks(request: ApiRequest) -> Marks:
    """Mark query words and related words in texts."""
    body: MarkRequest = request.body
    _check_length("".join(body.parts))
    found = request.library.marks(body.text, *body.parts, options=body.options)
    if body.units == _UTF16:
        spans = (
            _utf16(part, ((one.start, one.end) for one in own))
            for part, own in zip(body.parts, found, strict=True)
        )
        found = [
            tuple(Mark(*span, one.near) for span, one in zip(each, own, strict=True))
            for each, own in zip(spans, found, strict=True)
        ]
    return Marks(found)


@ENDPOINTS.add("GET", "/map", _MAP, is_cached=True)
def map_(request: ApiRequest) -> DocumentMap:
    """Map all documents in two dimensions."""
    return request.library.map(**request.values)


@ENDPOINTS.add("GET", "/similar", (_ID, *SIMILAR), is_cached=True)
def similar(request: ApiRequest) -> Answer:
    """Find documents similar to a document."""
    name, options = request.values["id"], options_of(request.values)
    return request.library.similar(name, options=options, files=False)


@ENDPOINTS.add("POST", "/similar", SIMILAR, body=TextRequest)
def similar_to_text(request: ApiRequest) -> Answer:
    """Find documents similar to a text."""
    _check_length(request.body.text)
    document = Document(title=request.body.title, text=request.body.text)
    return request.library.similar(document, options=options_of(request.values))


@ENDPOINTS.add("POST", "/similar/file", (_NAME, *SIMILAR), body=FILE)
def similar_to_file(request: ApiRequest) -> Answer:
    """Find documents similar to a file."""
    with named_file(request.file, request.values["name"]) as file:
        return request.library.similar(file, options=options_of(request.values))


@ENDPOINTS.add(
    *("POST", "/batch"),
    body=BatchRequest,
    example={"queries": [{"id": "1", "text": "bread"}], "options": {"k": 100}},
)
def batch(request: ApiRequest) -> Runs:
    """Run many queries, taken literally."""
    body: BatchRequest = request.body
    if len(body.queries) > _MOST_QUERIES:
        raise Refusal(413, f"At most {_MOST_QUERIES} queries.")
    _check_page(body.options, _LIMITS.depth)
    notes: list[str] = []
    queries = ((query.id, query.text[: _LIMITS.query_characters]) for query in body.queries)
    runs = request.library.batch(queries, options=body.options, on_note=notes.append)
    return Runs([RankedRun.of(run) for run in runs], notes)


@ENDPOINTS.add("GET", "/facets", FILTER, is_cached=True)
def facets(request: ApiRequest) -> Facets:
    """Count documents."""
    return request.library.facets(filter_of(request.values))


@ENDPOINTS.add("GET", "/topics", _TOPICS, is_cached=True)
def topics(request: ApiRequest) -> TopicReport:
    """Find topics."""
    return request.library.topics(**request.values)


@ENDPOINTS.add(
    "POST", "/classify", body=ClassifyRequest, example={"text": "my chain slips", "k": 3}
)
def classify(request: ApiRequest) -> Classification:
    """Classify a text."""
    body: ClassifyRequest = request.body
    _check_length(body.text)
    return request.library.classify(
        body.text,
        k=body.k,
        classifier=body.classifier,
        index=body.index,
        confidence=body.confidence,
    )


@ENDPOINTS.add("POST", "/classify/file", _JUDGING, body=FILE)
def classify_file(request: ApiRequest) -> Classification:
    """Classify a file."""
    values = dict(request.values)
    values["k"] = values.pop("limit")
    with named_file(request.file, values.pop("name")) as file:
        judged = request.library.classify(file, **values)
        return replace(judged, input=judged.input.replace(f"{file.parent}/", ""))


def _check_page(options: SearchOptions, most: int) -> None:
    if options.k > most or options.offset > _LIMITS.depth:
        raise Refusal(422, f"k is at most {most:,}, offset at most {_LIMITS.depth:,}.")


def _check_length(text: str) -> None:
    if len(text) > _MOST_TEXT:
        raise Refusal(413, f"Text is limited to {_MOST_TEXT:,} characters.")


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
VECTOR_STORES = Router("Search")


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


@VECTOR_STORES.add(
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
