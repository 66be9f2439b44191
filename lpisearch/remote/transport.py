"""Transport: HTTP connections, one per thread, and the errors of a server."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager, suppress
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from socket import SHUT_RDWR
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from lpisearch import errors
from lpisearch.errors import (
    AnswerInvalid,
    BadOption,
    LpiSearchError,
    ServerRefused,
    ServerUnreachable,
)
from lpisearch.model.codec import BadForm, from_json
from lpisearch.model.documents import Filter, as_conditions
from lpisearch.options import SearchOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

T = TypeVar("T")

_PREFIX = "/api/v1"
_KIND = "urn:lpisearch:"
_WHEN_CLOSED = (ConnectionError, HTTPException)
_FIRST_REFUSAL = 400
_IDLE_SECONDS = 30
_SILENT_SECONDS = 60.0
_LONGEST_ERROR = 500
_PLAIN = ("path", "split", "since", "until", "media_type")
_PIECE = 1 << 16
_MOST_BYTES = 1 << 27
_TOO_LARGE = f"it has more than {_MOST_BYTES >> 20} MiB"
_NOT_UTF8 = "it is not UTF-8"
_DEFAULT_STATUS = 500
_REPORT_EVERY = 1000


class Transport:
    """Sends requests to a server; a refusal is the error that the library would raise.

    The URL is without the path of the API; a token, if there is one, is sent with each request.
    """

    def __init__(self, url: str, token: str, seconds: float) -> None:
        self.url = url.rstrip("/")
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ServerUnreachable(url, "the address must start with http:// or https://")
        self._parts = parts
        self._token, self._seconds = token, seconds
        self._own = threading.local()
        self._connections: set[HTTPConnection] = set()

    def close_all(self) -> None:
        """Close the connections of all threads, none of which is still in use."""
        for connection in list(self._connections):
            connection.close()
        self._connections.clear()

    def close(self) -> None:
        """Close the connection of this thread."""
        connection: HTTPConnection | None = getattr(self._own, "connection", None)
        if connection is not None:
            connection.close()
            self._connections.discard(connection)
            self._own.connection = None

    def get(self, path: str, params: Mapping[str, Any] | None = None) -> Any:
        """Return the JSON of a GET request."""
        return self.request("GET", path, params)

    def request(
        self,
        method: str,
        path: str,
        params: Mapping[str, Any] | None = None,
        body: Any = None,
        file: BinaryIO | None = None,
    ) -> Any:
        """Send a request, with JSON or a file as its body, and return JSON."""
        with self._in_time():
            response = self._send(method, _address(path, params), body, file)
            content = self._content(response)
        return self.parsed(content) if content else None

    def lines(self, path: str, params: Mapping[str, Any] | None = None) -> Iterator[str]:
        """Yield the lines of an answer as they arrive, over a separate connection.

        They may take as long as they like, but the server says every 15 s that it is still there.
        """
        connection = self._connect(max(self._seconds, _SILENT_SECONDS))
        try:
            connection.request("GET", _address(path, params), headers=self._headers())
            response = connection.getresponse()
            self._raise_refusal(response)
            while line := response.readline(_MOST_BYTES + 1):
                if len(line) > _MOST_BYTES:
                    raise AnswerInvalid(self.url, _TOO_LARGE)
                yield line.decode().rstrip("\n")
        except UnicodeDecodeError as error:
            raise AnswerInvalid(self.url, _NOT_UTF8) from error
        except (OSError, HTTPException) as error:
            raise ServerUnreachable(self.url, _reason(error)) from error
        finally:
            connection.close()

    def parsed(self, content: bytes | str) -> Any:
        """Return the JSON of an answer; a missing member of an object is a stated error."""
        try:
            return json.loads(content, object_hook=partial(_Object.of, self.url))
        except UnicodeDecodeError as error:
            raise AnswerInvalid(self.url, _NOT_UTF8) from error
        except RecursionError as error:
            raise AnswerInvalid(self.url, "it is nested too deeply") from error
        except ValueError as error:
            raise AnswerInvalid(self.url, "it is not JSON") from error

    def made(self, kind: type[T], value: Any) -> T:
        """Make a record, or a value of plain types, of the JSON of an answer."""
        try:
            return from_json(kind, value)
        except (BadForm, RecursionError) as error:
            raise AnswerInvalid(self.url, str(error)) from error

    def objects(self, value: Any) -> list[dict[str, Any]]:
        """Return a list of JSON objects of an answer, as which they are refused if they are not."""
        if isinstance(value, list) and all(isinstance(one, dict) for one in value):
            return value
        raise AnswerInvalid(self.url, "it is not of the expected kind")

    def _content(self, response: HTTPResponse) -> bytes:
        """Read an answer, up to a limit."""
        parts: list[bytes] = []
        size = 0
        try:
            while part := response.read(_PIECE):
                parts.append(part)
                size += len(part)
                if size > _MOST_BYTES:
                    break
        except (OSError, HTTPException, ValueError) as error:
            self.close()
            raise ServerUnreachable(self.url, _reason(error)) from error
        if size > _MOST_BYTES:
            self.close()
            raise AnswerInvalid(self.url, _TOO_LARGE)
        return b"".join(parts)

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        """Cut the connection of this thread if a whole answer takes too long, drop by drop."""
        late = threading.Event()
        own = self._own

        def cut(held: dict[str, Any]) -> None:
            late.set()
            if held.get("socket") is not None:
                with suppress(OSError):
                    held["socket"].shutdown(SHUT_RDWR)

        own.held = {}
        timer = threading.Timer(self._seconds, cut, [own.held])
        timer.daemon = True
        timer.start()
        try:
            yield
        except ServerUnreachable as error:
            if late.is_set():
                raise ServerUnreachable(self.url, self._too_late()) from error
            raise
        finally:
            timer.cancel()
        if late.is_set():  # an answer without a length just seems to end
            self.close()
            raise ServerUnreachable(self.url, self._too_late())

    def _too_late(self) -> str:
        return f"the answer took more than {self._seconds:g} s"

    def _raise_refusal(self, response: HTTPResponse) -> None:
        if response.status < _FIRST_REFUSAL:
            return
        content = self._content(response)
        problem: Any = None
        with suppress(AnswerInvalid):
            problem = self.parsed(content)
        if not isinstance(problem, dict):
            problem = {"detail": content[:_LONGEST_ERROR].decode("utf-8", "replace").strip()}
        raise error_of({**problem, "status": response.status})

    def _send(self, method: str, address: str, body: Any, file: BinaryIO | None) -> HTTPResponse:
        headers = self._headers()
        content: Any = None
        if file is not None:
            headers["Content-Type"], content = "application/octet-stream", file.read()
        elif body is not None:
            headers["Content-Type"], content = "application/json", json.dumps(body).encode()
        is_new = getattr(self._own, "connection", None) is None
        try:
            response = self._once(method, address, content, headers)
        except _WHEN_CLOSED as error:
            self.close()
            # The server may have closed an open connection in between; nothing was done then.
            if is_new or method != "GET":
                raise ServerUnreachable(self.url, _reason(error)) from error
            response = self._retry(method, address, content, headers)
        except OSError as error:
            self.close()
            raise ServerUnreachable(self.url, _reason(error)) from error
        self._raise_refusal(response)
        return response

    def _retry(self, *request: Any) -> HTTPResponse:
        try:
            return self._once(*request)
        except (OSError, HTTPException) as error:
            self.close()
            raise ServerUnreachable(self.url, _reason(error)) from error

    def _once(self, method: str, address: str, content: Any, headers: Any) -> HTTPResponse:
        if time.monotonic() - getattr(self._own, "used", 0.0) > _IDLE_SECONDS:
            self.close()  # before the server does, and a request is lost
        connection: HTTPConnection | None = getattr(self._own, "connection", None)
        if connection is None:
            connection = self._own.connection = self._connect(self._seconds)
            self._connections.add(connection)
        self._own.used = time.monotonic()
        connection.request(method, address, content, headers)
        self._own.held["socket"] = connection.sock
        return connection.getresponse()

    def _connect(self, seconds: float) -> HTTPConnection:
        kind = HTTPSConnection if self._parts.scheme == "https" else HTTPConnection
        return kind(self._parts.hostname or "", self._parts.port, timeout=seconds)

    def _headers(self) -> dict[str, str]:
        token = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        return {"Accept": "application/json", "Prefer": "words=python", **token}


def _address(path: str, params: Mapping[str, Any] | None) -> str:
    """Return the path with its parameters, without those that are None or empty."""
    known = {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in (params or {}).items()
        if value is not None and value not in ((), "")
    }
    query = urlencode(known, doseq=True, errors="replace")
    return f"{_PREFIX}{path}?{query}" if query else f"{_PREFIX}{path}"


def inside(path: str, name: str) -> str:
    """Return the path of one of the things at a path, by its name."""
    return f"{path}/{quote(name, safe='', errors='replace')}"


def counted_lines(lines: Iterator[str], on_stage: Callable[[str], None]) -> Iterator[str]:
    """Yield the lines of an export, and report their number now and then."""
    for number, line in enumerate(lines, start=1):
        yield line
        if number % _REPORT_EVERY == 0:
            on_stage(f"{number:,} documents written")


def filter_params(where: Filter | None) -> dict[str, Any]:
    """Return a filter as parameters."""
    where = where or Filter()
    params: dict[str, Any] = {
        "label": where.labels,
        "predicted": where.predicted,
        "where": tuple(as_conditions(Filter(metadata=where.metadata))),
    }
    return params | {name: getattr(where, name) for name in _PLAIN}


def search_params(options: SearchOptions) -> dict[str, Any]:
    """Return the options of a search as parameters."""
    plain = {name: getattr(options, name) for name in SearchOptions.__slots__ if name != "where"}
    return plain | filter_params(options.where)


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


class _Object(dict[str, Any]):
    """A JSON object of an answer, whose missing members are a stated error."""

    url = ""

    @classmethod
    def of(cls, url: str, values: dict[str, Any]) -> _Object:
        """Return the object of an answer of a server."""
        made = cls(values)
        made.url = url
        return made

    def __missing__(self, name: str) -> Any:
        raise AnswerInvalid(self.url, f"it has no “{name}”")


def error_of(problem: Mapping[str, Any]) -> LpiSearchError:
    """Return the error that a problem (RFC 9457) stands for: the library's, or a refusal."""
    what, next_step = str(problem.get("detail", "")), str(problem.get("next", ""))
    kind = str(problem.get("type", ""))
    name = "".join(part.capitalize() for part in kind.removeprefix(_KIND).split("-"))
    known = getattr(errors, name, None) if kind.startswith(_KIND) else None
    if not (isinstance(known, type) and issubclass(known, LpiSearchError)):
        listed = problem.get("errors", ())
        listed = listed if isinstance(listed, list) else []
        fields = tuple(
            str(one["field"]) for one in listed if isinstance(one, dict) and "field" in one
        )
        if fields:
            known, problem = BadOption, {**problem, "fields": fields}
        else:
            status = problem.get("status")
            return ServerRefused(
                status if isinstance(status, int) else _DEFAULT_STATUS, what, next_step
            )
    made = known.__new__(known)  # its own constructor takes what the text was made from
    LpiSearchError.__init__(made, what, next_step)
    if isinstance(made, BadOption):
        given = problem.get("fields", ())
        made.fields = tuple(map(str, given)) if isinstance(given, (list, tuple)) else ()
    return made
