"""Pages of topics, labels and the map, the form for classification, and the help."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from lpisearch.errors import LpiSearchError
from lpisearch.messages import counted, printable
from lpisearch.model.document_filter import Filter
from lpisearch.options import SearchOptions
from lpisearch.web.pages import templates
from lpisearch.web.pages.templates import (
    COLOUR_NAMES,
    LABEL_COLOURS,
    PROJECTIONS,
    back_to,
    colours,
    computed,
    drawn,
    map_key,
    preserve,
    preserved,
    read_number,
    refuse_read_only,
    render,
    render_message,
    topics,
)
from lpisearch.web.problems import Refusal
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
    number = read_number(request.query_params.get("n", ""), _MOST_TOPICS)
    shared = state_of(request)
    if not computed(shared, "topics", ("topics", number), lambda: topics(shared, number)):
        text = f"Finding topics among {counted(len(shared.library), 'document')} …"
        return render(request, "waiting.html", title="Topics", text=text, status=202)
    report = topics(shared, number)
    largest = max((topic.size for topic in report.topics), default=1)
    return render(request, "topics.html", report=report, number=number, largest=largest)


def labels_page(request: Request) -> Response:
    """Show the labels and predicted labels with their numbers of documents."""
    status = state_of(request).library.status()
    labels, predicted = status["labels"], status["predicted"]
    names = sorted({*labels, *predicted}, key=lambda name: (-labels.get(name, 0), name))
    rows = [(name, labels.get(name, 0), predicted.get(name, 0)) for name in names]
    bars = templates.shares([count for _, count, _ in rows])
    return render(
        request,
        "labels.html",
        rows=list(zip(rows, bars, strict=True)),
        has_predicted=any(predicted.values()),
        splits=status["splits"],
        documents=status["documents"],
        colour_names=COLOUR_NAMES,
    )


async def change_label(request: Request) -> Response:
    """Rename a label, which joins the one that has its new name; or choose its colour."""
    refuse_read_only(request)
    async with request.form() as form:
        old, new = str(form.get("label", "")), str(form.get("to", "")).strip()
        colour = str(form.get("colour", ""))
    shared = state_of(request)
    if not new:
        raise Refusal(422, "Give a name.")
    if colour and colour not in map(str, range(len(COLOUR_NAMES))):
        raise Refusal(422, "There is no such colour.")
    before = str(colours(shared).get(old))
    if old != new:
        where = Filter(labels=(old,))
        change = partial(shared.library.label, where=where, add=(new,), remove=(old,))
        await run_in_threadpool(change)
    chosen = preserved(shared, LABEL_COLOURS)
    own = {new: colour} if colour and colour != before else {}
    if old in chosen and old != new:
        own = {new: chosen.pop(old)} | chosen | own
    if own:
        await run_in_threadpool(preserve, shared, LABEL_COLOURS, chosen | own)
    return back_to("/labels")


def classify_page(request: Request) -> Response:
    """Show the form."""
    return _classify_page(request, "", None, None)


async def classify(request: Request) -> Response:
    """Classify a text or a file."""
    shared = state_of(request)
    library, limits = shared.library, shared.settings.limits

    def answer() -> Response:
        try:
            judged = _judged(library, text, name, content)
        except LpiSearchError as error:
            return _classify_page(request, text, None, error)
        return _classify_page(request, text, judged, None)

    with shared.file_place():
        async with request.form(max_files=1) as form:
            text, sent = str(form.get("text", ""))[: limits.text_characters], form.get("file")
            name = getattr(sent, "filename", "")
            content = await cast("UploadFile", sent).read(limits.upload_bytes) if name else None
        return await (shared.in_thread(answer) if content is None else shared.with_file(answer))


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
    labels = () if judged is None else judged.labels
    bars = templates.shares([1.0, *(label.share for label in labels)])[1:]
    return render(
        request,
        "classify.html",
        text=text,
        judged=judged,
        rows=list(zip(labels, bars, strict=True)),
        trouble=trouble,
    )


def help_page(request: Request) -> Response:
    """Show the syntax of queries, and the keys."""
    return render(request, "help.html")


_LARGEST = 65535
_MOST_TITLES = 300
_MOST_LIT = 500
_THUMBNAIL = 2500
_UNCACHED = {"Cache-Control": "no-store"}


def map_page(request: Request) -> Response:
    """Show the map, whose script requests the points."""
    params = request.query_params
    return render(
        request,
        "map.html",
        projection=_projection(params),
        projections=PROJECTIONS,
        number=read_number(params.get("topics", ""), _MOST_TOPICS),
        q=params.get("q", "")[:10_000],
        name=params.get("id", ""),
        colour="label" if params.get("colour") == "label" else "topic",
    )


def map_data(request: Request) -> Response:
    """Return topics, labels and the rule of the projection."""
    try:
        shared, chosen_map = state_of(request), _map_of(request)
        if not computed(shared, "map", map_key(*chosen_map), lambda: drawn(shared, *chosen_map)):
            text = f"Drawing a map of {counted(len(shared.library), 'document')} …"
            return JSONResponse({"waits": text}, status_code=202, headers=_UNCACHED)
        drawing = _drawn(request)
    except LpiSearchError as error:
        return JSONResponse({"trouble": render_message(error.message)}, headers=_UNCACHED)
    own = drawing.map
    chosen = request.query_params.get("id", "")
    colour_of = colours(state_of(request))
    return JSONResponse(
        {
            "documents": len(own.ids),
            "unplaced": own.unplaced,
            "rule": own.rule,
            "chosen": drawing.number_of.get(chosen),
            "topics": [
                {"name": printable(", ".join(topic.terms[:3])), "size": topic.size}
                for topic in own.report.topics
            ],
            "labels": [
                {"name": printable(name), "colour": colour_of.get(name, at)}
                for at, name in enumerate(own.label_names)
            ],
        },
        headers=_UNCACHED,
    )


def map_points(request: Request) -> Response:
    """Return the points: four 16-bit numbers for each, little-endian.

    They are x and y from 0 to 65,535, the topic and the label: 0 for none, otherwise one more than
    the position in the lists of `map_data`.
    """
    own = _drawn(request).map
    points = np.empty((len(own.ids), 4), "<u2")
    points[:, :2] = np.round((own.places + 1) * (_LARGEST / 2)).clip(0, _LARGEST)
    points[:, 2] = own.topics + 1
    points[:, 3] = np.minimum(own.labels + 1, _LARGEST)
    return Response(
        points.tobytes(),
        media_type="application/octet-stream",
        headers=_UNCACHED,
    )


def map_documents(request: Request) -> Response:
    """Return the ids and titles of points by their numbers."""
    own = _drawn(request).map
    words = request.query_params.get("at", "").split(",")[:_MOST_TITLES]
    numbers = [int(word) for word in words if word.isascii() and word.isdigit() and len(word) < 10]  # noqa: PLR2004
    documents = [
        {"at": number, "id": own.ids[number], "title": printable(own.titles[number])}
        for number in numbers
        if number < len(own.ids)
    ]
    return JSONResponse(documents, headers=_UNCACHED)


def map_lit(request: Request) -> Response:
    """Return the numbers of the points of search results, best first."""
    query = request.query_params.get("q", "")[:10_000]
    try:
        drawing = _drawn(request)
        options = SearchOptions(k=_MOST_LIT)
        hits = state_of(request).library.search(query, options=options) if query.strip() else ()
    except LpiSearchError as error:
        return JSONResponse({"trouble": render_message(error.message), "lit": []})
    lit = [drawing.number_of[hit.id] for hit in hits if hit.id in drawing.number_of]
    return JSONResponse({"lit": lit}, headers=_UNCACHED)


def map_document(request: Request) -> Response:
    """Show a thumbnail of the map with one document on it, as part of a page."""
    name = request.query_params.get("id", "")
    shared = state_of(request)
    nothing: dict[str, Any] = {"name": name, "points": (), "here": None, "topic": None}
    try:
        if not computed(shared, "map", map_key(), lambda: drawn(shared)):
            return render(request, "map_place.html", trouble="", **nothing)
        drawing = drawn(shared)
    except LpiSearchError as error:
        return render(request, "map_place.html", trouble=render_message(error.what), **nothing)
    number = drawing.number_of.get(name)
    step = max(len(drawing.map.ids) // _THUMBNAIL, 1)
    return render(
        request,
        "map_place.html",
        name=name,
        trouble="",
        points=[_dot(drawing, at) for at in range(0, len(drawing.map.ids), step)],
        here=None if number is None else _dot(drawing, number),
        topic=drawing.topic_of(name),
    )


def _dot(drawing: Drawn, number: int) -> tuple[float, float]:
    x, y = drawing.map.places[number].tolist()
    return round(100 + 96 * x, 1), round(100 - 96 * y, 1)


def _map_of(request: Request) -> tuple[str, int | None]:
    params = request.query_params
    return _projection(params), read_number(params.get("topics", ""), _MOST_TOPICS)


def _drawn(request: Request) -> Drawn:
    return drawn(state_of(request), *_map_of(request))


def _projection(params: Mapping[str, str]) -> str:
    name = params.get("projection", "")
    return name if name in PROJECTIONS else PROJECTIONS[0]
