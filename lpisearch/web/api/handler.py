"""From requests to responses, and the events of jobs.

Endpoints run in a few threads, in the order of requests. Responses that depend on parameters and
the state of the library only have an ETag and are cached; with a current ETag, a request is
answered before anything is computed. Job events are `progress` and, last, `end`, each with the job
as JSON without its result; a stream needs no thread, and ends with the server.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import tempfile
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse

from lpisearch import __version__
from lpisearch.errors import LpiSearchError
from lpisearch.model.codec import BadForm, from_json, json_text, to_json
from lpisearch.web.api.endpoint import FILE, ApiRequest, Endpoint, Reply, read_params
from lpisearch.web.problems import Refusal, render_messages, wants_python
from lpisearch.web.security import READS_ONLY
from lpisearch.web.state import WebState, state_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from lpisearch.web.jobs import Job


_JSON = ("application/json", "")
_READ_ONLY = "This server is read-only."
_SURROGATES = ("\ud800", "\udfff")


def handler_of(endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    """Return the Starlette endpoint of an operation."""

    async def handle(request: Request) -> Response:
        state = state_of(request)
        if endpoint.writes and state.read_only:
            raise Refusal(403, _READ_ONLY)
        if endpoint.changes and request.scope.get(READS_ONLY):
            raise Refusal(403, "This token may only read.")
        in_path = {name: str(value) for name, value in request.path_params.items()}
        python = wants_python(request.headers)
        values = read_params(endpoint.params, request.query_params, in_path)
        if endpoint.body == FILE:
            with state.file_place():
                async with _spooled(request) as file:
                    sent = ApiRequest(state, values, file=file, python=python)
                    return await state.with_file(partial(_made, endpoint, sent))
        body = await _body(endpoint, request)
        parsed = ApiRequest(state, values, body, python=python)
        if endpoint.is_cached:
            return await _cached_response(endpoint, parsed, request.headers)
        return await state.in_thread(partial(_made, endpoint, parsed))

    handle.__name__ = endpoint.name
    return handle


def _made(endpoint: Endpoint, request: ApiRequest) -> Response:
    answer = endpoint.call(request)
    if isinstance(answer, Response):
        return answer
    reply = answer if isinstance(answer, Reply) else Reply(answer, endpoint.status)
    content = _encoded(reply.value, request)
    return Response(content, reply.status, dict(reply.headers), endpoint.media_type)


async def _cached_response(
    endpoint: Endpoint, request: ApiRequest, headers: Mapping[str, str]
) -> Response:
    """Return a cached response, or compute and cache it, once for concurrent requests."""
    state = request.state
    mark = await state.mark()
    etag = _etag(endpoint, request, mark)
    sent = {"ETag": etag, "Cache-Control": "private, no-cache", "Vary": "Prefer"}
    if _names(headers.get("if-none-match", ""), etag):
        return Response(status_code=304, headers=sent)
    make = partial(state.in_thread, partial(_whole, endpoint, request))
    content = await state.answers.get(etag, make)
    return Response(content, 200, sent, endpoint.media_type)


def _whole(endpoint: Endpoint, request: ApiRequest) -> bytes:
    return _encoded(endpoint.call(request), request)


def _encoded(value: Any, request: ApiRequest) -> bytes:
    return json_text(render_messages(to_json(value), python=request.python)).encode(
        "utf-8", "replace"
    )


def _etag(endpoint: Endpoint, request: ApiRequest, mark: str) -> str:
    """Return the ETag of a response: of the program, the state of the library, and the request."""
    known = [__version__, mark, endpoint.name, request.python, request.values]
    text = json.dumps(known, sort_keys=True)
    return f'"{hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]}"'


def _names(header: str, etag: str) -> bool:
    etags = {one.strip().removeprefix("W/") for one in header.split(",")}
    return bool(etags & {etag, "*"})


async def _body(endpoint: Endpoint, request: Request) -> Any:
    """Return the body as the type that the endpoint takes."""
    if endpoint.body is None:
        return None
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind not in _JSON:
        raise Refusal(415, "Send JSON, as application/json.")
    try:
        content = await request.body()
    except ClientDisconnect:
        raise Refusal(400, "The request body is incomplete.") from None
    try:
        value = json.loads(content or b"{}", parse_constant=_refuse_constant)
        _refuse_surrogates(value)
    except (ValueError, RecursionError) as error:
        raise Refusal(400, f"The body is not valid JSON: {str(error)[:200]}.") from None
    try:
        return from_json(endpoint.body, value, strict=True)
    except BadForm as error:
        wrong = [{"field": error.where, "reason": error.reason}]
        raise Refusal(422, f"{error}.", errors=wrong) from None


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a valid JSON number")


def _refuse_surrogates(value: Any) -> None:
    """Refuse lone surrogates, which JSON can encode and UTF-8 cannot."""
    first, last = _SURROGATES
    if isinstance(value, str):
        if any(first <= character <= last for character in value):
            raise ValueError("a string is not valid Unicode")
    elif isinstance(value, dict):
        for name, one in value.items():
            _refuse_surrogates(name)
            _refuse_surrogates(one)
    elif isinstance(value, list):
        for one in value:
            _refuse_surrogates(one)


@asynccontextmanager
async def _spooled(request: Request) -> AsyncIterator[Path]:
    """Write a body to a file that lasts as long as the request."""
    descriptor, name = tempfile.mkstemp(prefix="lpisearch-upload-")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            try:
                async for chunk in request.stream():
                    await asyncio.to_thread(stream.write, chunk)
            except ClientDisconnect:
                raise Refusal(400, "The request body is incomplete.") from None
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)  # noqa: ASYNC240 (one call of the system)


_LOOK_SECONDS = 0.1
_READ_LOOKS = 3  # at the record of a job of another process
_ALIVE_LOOKS = 150


async def job_events(request: Request) -> StreamingResponse:
    """Stream the progress of a job."""
    state = state_of(request)
    job = await state.recorded(partial(state.jobs.get, str(request.path_params["id"])))
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_events(state, job), headers=headers, media_type="text/event-stream")


async def _events(state: WebState, job: Job) -> AsyncIterator[str]:
    seen, quiet = -1, 0
    while True:
        if quiet % _READ_LOOKS == 0:
            with suppress(LpiSearchError):  # the database is away for now
                job = await state.recorded(partial(state.jobs.get, job.id))
        version, is_under_way = job.version, job.is_under_way
        if not is_under_way or state.jobs.is_closing:
            yield _event("end", job)
            return
        if version != seen:
            seen, quiet = version, 0
            yield _event("progress", job)
        quiet += 1
        if quiet % _ALIVE_LOOKS == 0:
            yield ": still here\n\n"
        await asyncio.sleep(_LOOK_SECONDS)


def _event(kind: str, job: Job) -> str:
    data = json_text(render_messages(job.record(brief=True), python=job.python))
    return f"id: {job.version}\nevent: {kind}\ndata: {data}\n\n"
