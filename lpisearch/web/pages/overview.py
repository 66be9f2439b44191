"""Topics, labels and classify pages."""

from __future__ import annotations

import tempfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from lpisearch.errors import LpiSearchError
from lpisearch.web.pages import pieces
from lpisearch.web.pages.drawn import topics
from lpisearch.web.pages.rendering import apology, render
from lpisearch.web.state import state_of

if TYPE_CHECKING:
    from starlette.datastructures import UploadFile
    from starlette.requests import Request
    from starlette.responses import Response

    from lpisearch.library import Library
    from lpisearch.records import Classification

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
    bars = pieces.shares([count for _, count, _ in rows])
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
    bars = pieces.shares([1.0, *(each.share for each in found)])[1:]
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
