"""Transport: HTTP connections, one per thread, and the errors of a server."""

from __future__ import annotations

import json
import threading
import time
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import urlencode, urlsplit

from lpisearch import errors
from lpisearch.errors import BadOption, LpiSearchError, ServerRefused, ServerUnreachable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


_PREFIX = "/api/v1"
_KIND = "urn:lpisearch:"
_WHEN_CLOSED = (ConnectionError, HTTPException)
_FIRST_REFUSAL = 400
_IDLE_SECONDS = 30
_LONGEST_ERROR = 500
_DEFAULT_STATUS = 500


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
        response = self._send(method, _address(path, params), body, file)
        content = response.read()
        return json.loads(content) if content else None

    def lines(self, path: str, params: Mapping[str, Any] | None = None) -> Iterator[str]:
        """Yield the lines of an answer as they arrive, over a separate connection."""
        connection = self._connect(None)
        try:
            connection.request("GET", _address(path, params), headers=self._headers())
            response = connection.getresponse()
            _raise_refusal(response)
            for line in response:
                yield line.decode().rstrip("\n")
        except (OSError, HTTPException) as error:
            raise ServerUnreachable(self.url, _reason(error)) from error
        finally:
            connection.close()

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
        _raise_refusal(response)
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
        return connection.getresponse()

    def _connect(self, seconds: float | None) -> HTTPConnection:
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


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _raise_refusal(response: HTTPResponse) -> None:
    if response.status < _FIRST_REFUSAL:
        return
    content = response.read()
    try:
        problem = json.loads(content)
    except ValueError:
        problem = {"detail": content[:_LONGEST_ERROR].decode("utf-8", "replace").strip()}
    raise error_of({"status": response.status, **problem})


def error_of(problem: Mapping[str, Any]) -> LpiSearchError:
    """Return the error that a problem (RFC 9457) stands for: the library's, or a refusal."""
    what, next_step = str(problem.get("detail", "")), str(problem.get("next", ""))
    kind = str(problem.get("type", ""))
    name = "".join(part.capitalize() for part in kind.removeprefix(_KIND).split("-"))
    known = getattr(errors, name, None) if kind.startswith(_KIND) else None
    if not (isinstance(known, type) and issubclass(known, LpiSearchError)):
        fields = tuple(str(error["field"]) for error in problem.get("errors", ()))
        if fields:
            known, problem = BadOption, {**problem, "fields": fields}
        else:
            return ServerRefused(int(problem.get("status", _DEFAULT_STATUS)), what, next_step)
    made = known.__new__(known)  # its own constructor takes what the text was made from
    LpiSearchError.__init__(made, what, next_step)
    if isinstance(made, BadOption):
        made.fields = tuple(problem.get("fields", ()))
    return made
