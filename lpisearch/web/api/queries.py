"""Search, similar documents, facets, topics and classification."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lpisearch.model.codec import RankedRun
from lpisearch.model.documents import Document
from lpisearch.options import ClassifyOptions, SearchOptions, ServeLimits, TopicOptions
from lpisearch.web.api.endpoint import (
    FILE,
    FILTER,
    SEARCH,
    SIMILAR,
    Param,
    Router,
    filter_of,
    options_of,
    params_of,
)
from lpisearch.web.problems import Refusal
from lpisearch.web.uploads import named_file

if TYPE_CHECKING:
    from lpisearch.model.answers import (
        Answer,
        Classification,
        DocumentMap,
        Facets,
        Mark,
        Reason,
        TopicReport,
    )
    from lpisearch.web.api.endpoint import ApiRequest


_LIMITS = ServeLimits()
_MOST_TEXT, _MOST_QUERIES = _LIMITS.text_characters, 1000
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
ENDPOINTS = Router()


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
class MarkRequest:
    """A query, and texts in which its words are marked."""

    text: str
    parts: tuple[str, ...]
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


@ENDPOINTS.add("GET", "/search", SEARCH, is_cached=True)
def search(request: ApiRequest) -> Answer:
    """Search documents."""
    values = request.values
    feedback = {"like": values["like"], "unlike": values["unlike"]}
    return request.library.search(values["q"], options=options_of(values), **feedback)


@ENDPOINTS.add("GET", "/reason", (_ID, *SEARCH), is_cached=True)
def reason(request: ApiRequest) -> Reason:
    """Explain why a document ranks where it does."""
    values = request.values
    feedback = {"like": values["like"], "unlike": values["unlike"]}
    options = options_of(values)
    return request.library.reason(values["q"], values["id"], options=options, **feedback)


@ENDPOINTS.add("POST", "/marks", body=MarkRequest)
def marks(request: ApiRequest) -> Marks:
    """Mark query words and related words in texts."""
    body: MarkRequest = request.body
    _check_length("".join(body.parts))
    return Marks(request.library.marks(body.text, *body.parts, options=body.options))


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


@ENDPOINTS.add("POST", "/batch", body=BatchRequest)
def batch(request: ApiRequest) -> Runs:
    """Run many queries, taken literally."""
    body: BatchRequest = request.body
    if len(body.queries) > _MOST_QUERIES:
        raise Refusal(413, f"At most {_MOST_QUERIES} queries.")
    if max(body.options.k, body.options.offset) > _LIMITS.depth:
        raise Refusal(422, f"k and offset are at most {_LIMITS.depth:,}.")
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


@ENDPOINTS.add("POST", "/classify", body=ClassifyRequest)
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
    with named_file(request.file, values.pop("name")) as file:
        judged = request.library.classify(file, **values)
        return replace(judged, input=judged.input.replace(f"{file.parent}/", ""))


def _check_length(text: str) -> None:
    if len(text) > _MOST_TEXT:
        raise Refusal(413, f"Text is limited to {_MOST_TEXT:,} characters.")
