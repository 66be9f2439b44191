"""Search, similar, facets, topics, classify."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lpisearch.model.codec import (
    answer_record,
    classification_record,
    facets_record,
    map_record,
    reason_record,
    run_record,
    topics_record,
)
from lpisearch.model.documents import Document
from lpisearch.options import ClassifyOptions, SearchOptions, ServeLimits, TopicOptions
from lpisearch.web.api.endpoint import (
    FILTER,
    SEARCH,
    SIMILAR,
    Endpoint,
    Param,
    filter_of,
    options_of,
    params_of,
)
from lpisearch.web.problems import Refusal

if TYPE_CHECKING:
    from lpisearch.web.api.endpoint import ApiRequest


_LIMITS = ServeLimits()
_MOST_TEXT, _MOST_QUERIES = _LIMITS.text_characters, 1000
_ID = Param("id", "Document id or path", required=True)


@dataclass(frozen=True, slots=True)
class Text:
    """A document that is in no library."""

    text: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Query:
    """One question of many."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class MarkRequest:
    """A question, and texts in which its words are looked for."""

    text: str
    parts: tuple[str, ...]
    options: SearchOptions = field(default_factory=SearchOptions)


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """Many questions, and how each is to be answered."""

    queries: tuple[Query, ...]
    options: SearchOptions = field(default_factory=SearchOptions)


@dataclass(frozen=True, slots=True)
class ClassifyRequest:
    """A text to be judged, and how; the fields are those of `Library.classify`."""

    text: str
    k: int = 5
    classifier: str = "auto"
    index: str = "default"
    confidence: float = 0.5


def search(request: ApiRequest) -> dict[str, Any]:
    """Find documents."""
    values = request.values
    feedback = {"like": values["like"], "unlike": values["unlike"]}
    answer = request.library.search(values["q"], options=options_of(values), **feedback)
    return answer_record(answer)


def reason(request: ApiRequest) -> dict[str, Any]:
    """Say why a search finds a document where it does."""
    values = request.values
    feedback = {"like": values["like"], "unlike": values["unlike"]}
    options = options_of(values)
    return reason_record(
        request.library.reason(values["q"], values["id"], options=options, **feedback)
    )


def marks(request: ApiRequest) -> dict[str, Any]:
    """Find the words of a question, and near words, in texts."""
    body: MarkRequest = request.body
    _check_length("".join(body.parts))
    found = request.library.marks(body.text, *body.parts, options=body.options)
    return {"marks": [[mark._asdict() for mark in some] for some in found]}


def drawn(request: ApiRequest) -> dict[str, Any]:
    """Place all documents in a plane."""
    return map_record(request.library.map(**request.values))


def similar(request: ApiRequest) -> dict[str, Any]:
    """Find what is like a document of the library."""
    options = options_of(request.values)
    return answer_record(
        request.library.similar(request.values["id"], options=options, files=False)
    )


def similar_to_text(request: ApiRequest) -> dict[str, Any]:
    """Find what is like a text."""
    _check_length(request.body.text)
    document = Document(title=request.body.title, text=request.body.text)
    return answer_record(request.library.similar(document, options=options_of(request.values)))


def similar_to_file(request: ApiRequest) -> dict[str, Any]:
    """Find what is like the first document of a file."""
    from lpisearch.web.uploads import named_file

    with named_file(request.file, request.values["name"]) as file:
        return answer_record(request.library.similar(file, options=options_of(request.values)))


def batch(request: ApiRequest) -> dict[str, Any]:
    """Answer many questions."""
    body: BatchRequest = request.body
    if len(body.queries) > _MOST_QUERIES:
        raise Refusal(413, f"At most {_MOST_QUERIES} queries.")
    if body.options.k > _LIMITS.depth or body.options.offset > _LIMITS.depth:
        raise Refusal(422, f"k and offset are at most {_LIMITS.depth:,}.")
    notes: list[str] = []
    asking = ((query.id, query.text[: _LIMITS.query_characters]) for query in body.queries)
    runs = request.library.batch(asking, options=body.options, on_note=notes.append)
    return {"runs": [run_record(run) for run in runs], "notes": notes}


def facets(request: ApiRequest) -> dict[str, Any]:
    """Count documents."""
    return facets_record(request.library.facets(filter_of(request.values)))


def topics(request: ApiRequest) -> dict[str, Any]:
    """Find topics."""
    return topics_record(request.library.topics(**request.values))


def classify(request: ApiRequest) -> dict[str, Any]:
    """Judge a text."""
    body: ClassifyRequest = request.body
    _check_length(body.text)
    judged = request.library.classify(
        body.text,
        k=body.k,
        classifier=body.classifier,
        index=body.index,
        confidence=body.confidence,
    )
    return classification_record(judged)


def classify_file(request: ApiRequest) -> dict[str, Any]:
    """Judge the first document of a file."""
    from lpisearch.web.uploads import named_file

    values = dict(request.values)
    with named_file(request.file, values.pop("name")) as file:
        said = classification_record(request.library.classify(file, **values))
        return said | {"input": said["input"].replace(f"{file.parent}/", "")}


def _check_length(text: str) -> None:
    if len(text) > _MOST_TEXT:
        raise Refusal(413, f"Text is limited to {_MOST_TEXT:,} characters.")


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
ENDPOINTS = (
    Endpoint("GET", "/search", "search", search, "Search documents", "Answer", SEARCH, lasts=True),
    Endpoint(
        *("GET", "/reason", "reason", reason, "Explain why a document ranks where it does"),
        *("Reason", (_ID, *SEARCH)),
        lasts=True,
    ),
    Endpoint(
        *(
            "POST",
            "/marks",
            "marks",
            marks,
            "Mark query words and related words in texts",
        ),
        *("Marks", (), MarkRequest),
    ),
    Endpoint(
        *("GET", "/map", "map", drawn, "Map all documents in two dimensions", "DocumentMap", _MAP),
        lasts=True,
    ),
    Endpoint(
        *("GET", "/similar", "similar", similar, "Find documents similar to a document", "Answer"),
        (_ID, *SIMILAR),
        lasts=True,
    ),
    Endpoint(
        *("POST", "/similar", "similarToText", similar_to_text),
        *("Find documents similar to a text", "Answer", SIMILAR, Text),
    ),
    Endpoint(
        *("POST", "/similar/file", "similarToFile", similar_to_file),
        *("Find documents similar to a file", "Answer", (_NAME, *SIMILAR), "file"),
    ),
    Endpoint(
        *("POST", "/batch", "batch", batch, "Run many queries, taken literally"),
        *("Runs", (), BatchRequest),
    ),
    Endpoint(
        *("GET", "/facets", "facets", facets, "Count documents", "Facets", FILTER), lasts=True
    ),
    Endpoint(
        *("GET", "/topics", "topics", topics, "Find topics", "TopicReport"),
        _TOPICS,
        lasts=True,
    ),
    Endpoint(
        *("POST", "/classify", "classify", classify, "Classify a text"),
        *("Classification", (), ClassifyRequest),
    ),
    Endpoint(
        *("POST", "/classify/file", "classifyFile", classify_file, "Classify a file"),
        *("Classification", _JUDGING, "file"),
    ),
)
