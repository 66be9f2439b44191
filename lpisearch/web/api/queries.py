"""Search, similar documents, facets, topics and classification."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lpisearch.model.answers import Mark
from lpisearch.model.codec import RankedRun
from lpisearch.model.documents import Document
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
from lpisearch.web.uploads import named_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lpisearch.model.answers import (
        Answer,
        Classification,
        DocumentMap,
        Facets,
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
