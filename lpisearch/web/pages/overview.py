"""Map, topics, labels, classify."""

from __future__ import annotations

import tempfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from lpisearch.errors import LpiSearchError
from lpisearch.messages import printable
from lpisearch.options import SearchOptions
from lpisearch.web.pages import templates
from lpisearch.web.pages.templates import (
    PROJECTIONS,
    apology,
    colours,
    drawn,
    render,
    render_message,
    topics,
)
from lpisearch.web.state import state_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.datastructures import UploadFile
    from starlette.requests import Request

    from lpisearch.library import Library
    from lpisearch.model.answers import Classification
    from lpisearch.web.pages.templates import Drawn


_MOST_TOPICS = 200
_SHOWN_LABELS = 8
_LONGEST_NAME = 120


def topics_page(request: Request) -> Response:
    """Show the topics with their words and typical documents."""
    number = request.query_params.get("n", "")
    is_number = number.isascii() and number.isdigit() and len(number) < len("1000")
    wanted = min(max(int(number), 1), _MOST_TOPICS) if is_number else None
    try:
        report = topics(state_of(request), wanted)
    except LpiSearchError as error:
        return apology(request, error)
    largest = max((topic.size for topic in report.topics), default=1)
    return render(request, "topics.html", report=report, number=wanted, largest=largest)


def labels_page(request: Request) -> Response:
    """Show the labels, given and predicted, with how many documents have each."""
    try:
        status = state_of(request).library.status()
    except LpiSearchError as error:
        return apology(request, error)
    given, predicted = status["labels"], status["predicted"]
    names = sorted({*given, *predicted}, key=lambda name: (-given.get(name, 0), name))
    rows = [(name, given.get(name, 0), predicted.get(name, 0)) for name in names]
    bars = templates.shares([count for _, count, _ in rows])
    return render(
        request,
        "labels.html",
        rows=list(zip(rows, bars, strict=True)),
        has_predicted=any(predicted.values()),
        splits=status["splits"],
        documents=status["documents"],
    )


def classify_page(request: Request) -> Response:
    """Show the form."""
    return _classify_page(request, "", None, None)


async def classify(request: Request) -> Response:
    """Judge a text that was pasted, or a file."""
    limits = state_of(request).settings.limits
    async with request.form(max_files=1) as form:
        text, sent = str(form.get("text", ""))[: limits.text_characters], form.get("file")
        name = getattr(sent, "filename", "")
        content = await _content(sent, limits.upload_bytes) if name else None
    library = state_of(request).library

    def answer() -> Response:
        try:
            judged = _judged(library, text, name, content)
        except LpiSearchError as error:
            return _classify_page(request, text, None, error)
        return _classify_page(request, text, judged, None)

    return await run_in_threadpool(answer)


async def _content(sent: UploadFile | Any, most: int) -> bytes:
    content: bytes = await sent.read(most)
    return content


def _judged(library: Library, text: str, name: str, content: bytes | None) -> Classification | None:
    if content is None:
        return library.classify(text, k=_SHOWN_LABELS) if text.strip() else None
    plain = PurePosixPath(name.replace("\\", "/")).name[-_LONGEST_NAME:]
    safe = "".join(sign for sign in plain if sign.isprintable()).lstrip(".~") or "text.txt"
    with tempfile.TemporaryDirectory(prefix="lpisearch-file-") as folder:
        path = Path(folder) / safe
        path.write_bytes(content)
        return library.classify(path, k=_SHOWN_LABELS)


def _classify_page(
    request: Request, text: str, judged: Classification | None, trouble: LpiSearchError | None
) -> Response:
    found = () if judged is None else judged.labels
    bars = templates.shares([1.0, *(each.share for each in found)])[1:]
    return render(
        request,
        "classify.html",
        text=text,
        judged=judged,
        rows=list(zip(found, bars, strict=True)),
        trouble=trouble,
    )


def help_page(request: Request) -> Response:
    """Show how a question may be written, and the keys."""
    return render(request, "help.html")


_LARGEST = 65535
_MOST_TITLES = 300
_MOST_LIT = 500
_THUMBNAIL = 2500


def map_page(request: Request) -> Response:
    """Show the page; its script asks for the points."""
    asked = request.query_params
    return render(
        request,
        "map.html",
        projection=_projection(asked),
        projections=PROJECTIONS,
        number=_number(asked),
        q=asked.get("q", "")[:10_000],
        name=asked.get("id", ""),
        colour="label" if asked.get("colour") == "label" else "topic",
    )


def map_data(request: Request) -> Response:
    """Return what the points mean: topics, labels, the rule of the projection."""
    try:
        found = _drawn(request)
    except LpiSearchError as error:
        return JSONResponse({"trouble": render_message(error.message)}, status_code=409)
    own = found.map
    chosen = request.query_params.get("id", "")
    given = colours(state_of(request))
    return JSONResponse(
        {
            "documents": len(own.ids),
            "unplaced": own.unplaced,
            "rule": own.rule,
            "chosen": found.number_of.get(chosen),
            "topics": [
                {"name": printable(", ".join(each.terms[:3])), "size": each.size}
                for each in own.report.topics
            ],
            "labels": [
                {"name": printable(name), "colour": given.get(name, at)}
                for at, name in enumerate(own.label_names)
            ],
        },
        headers={"Cache-Control": "no-store"},
    )


def map_points(request: Request) -> Response:
    """Return the points: four 16-bit numbers for each, little-endian.

    They are x and y from 0 to 65,535, then the topic and the label, 0 for none, else one more
    than the place in the lists of `map_data`.
    """
    try:
        own = _drawn(request).map
    except LpiSearchError as error:
        return apology(request, error)
    points = np.empty((len(own.ids), 4), "<u2")
    points[:, :2] = np.round((own.places + 1) * (_LARGEST / 2)).clip(0, _LARGEST)
    points[:, 2] = own.topics + 1
    points[:, 3] = np.minimum(own.labels + 1, _LARGEST)
    return Response(
        points.tobytes(),
        media_type="application/octet-stream",
        headers={"Cache-Control": "no-store"},
    )


def map_documents(request: Request) -> Response:
    """Return id and title of some points, by their numbers."""
    try:
        own = _drawn(request).map
    except LpiSearchError as error:
        return apology(request, error)
    words = request.query_params.get("at", "").split(",")[:_MOST_TITLES]
    numbers = [int(word) for word in words if word.isascii() and word.isdigit() and len(word) < 10]  # noqa: PLR2004
    there = [number for number in numbers if number < len(own.ids)]
    said = [
        {"at": number, "id": own.ids[number], "title": printable(own.titles[number])}
        for number in there
    ]
    return JSONResponse(said, headers={"Cache-Control": "no-store"})


def map_lit(request: Request) -> Response:
    """Return the numbers of the points that a question finds, best first."""
    query = request.query_params.get("q", "")[:10_000]
    try:
        found = _drawn(request)
        options = SearchOptions(k=_MOST_LIT)
        hits = state_of(request).library.search(query, options=options) if query.strip() else ()
    except LpiSearchError as error:
        return JSONResponse({"trouble": render_message(error.message), "lit": []})
    lit = [found.number_of[hit.id] for hit in hits if hit.id in found.number_of]
    return JSONResponse({"lit": lit}, headers={"Cache-Control": "no-store"})


def map_place(request: Request) -> Response:
    """Return a small picture of the map with one document on it, as part of a page."""
    name = request.query_params.get("id", "")
    try:
        found = drawn(state_of(request))
    except LpiSearchError as error:
        return apology(request, error)
    number = found.number_of.get(name)
    step = max(len(found.map.ids) // _THUMBNAIL, 1)
    return render(
        request,
        "map_place.html",
        name=name,
        points=_dots(found, step),
        here=None if number is None else _dot(found, number),
        topic=_topic_of(found, name),
    )


def _dots(found: Drawn, step: int) -> list[tuple[float, float]]:
    return [_dot(found, at) for at in range(0, len(found.map.ids), step)]


def _dot(found: Drawn, number: int) -> tuple[float, float]:
    x, y = found.map.places[number].tolist()
    return round(100 + 96 * x, 1), round(100 - 96 * y, 1)


def _topic_of(found: Drawn, name: str) -> Any:
    place = found.topic_of(name)
    return None if place is None else found.map.report.topics[place]


def _drawn(request: Request) -> Drawn:
    asked = request.query_params
    return drawn(state_of(request), _projection(asked), _number(asked))


def _projection(asked: Mapping[str, str]) -> str:
    wanted = asked.get("projection", "")
    return wanted if wanted in PROJECTIONS else PROJECTIONS[0]


def _number(asked: Mapping[str, str]) -> int | None:
    number = asked.get("topics", "")
    is_number = number.isascii() and number.isdigit() and len(number) < len("1000")
    return min(max(int(number), 1), _MOST_TOPICS) if is_number else None
