"""Endpoint definitions, from which routes and the API description are generated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from lpisearch.library import Library
    from lpisearch.web.state import WebState

KINDS = ("string", "integer", "number", "boolean")


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of the address.

    Attributes
    ----------
    name
        As it is written.
    means
        One sentence without a full stop.
    kind
        One of `KINDS`.
    default
        Where it is not given.
    required, many
        Whether it must be given, and whether it may be several times.
    choices
        All that it can be; () for anything.
    least, most
        Of a number.
    longest
        Characters of a text.
    in_path
        Whether it is a part of the path.
    """

    name: str
    means: str
    kind: str = "string"
    default: Any = None
    required: bool = False
    many: bool = False
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    longest: int = 1000
    in_path: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, read.

    Attributes
    ----------
    state
        What all requests share.
    values
        The parameters by name, each checked.
    body
        Of the kind that the endpoint takes; None without one.
    file
        What was sent in place of JSON, on disk for as long as the request lasts.
    python
        Whether calls are to be said as Python has them.
    """

    state: WebState
    values: Mapping[str, Any]
    body: Any = None
    file: Path | None = None
    python: bool = False

    @property
    def library(self) -> Library:
        """The library."""
        return self.state.library


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that is more than JSON with status 200."""

    value: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One thing that can be asked.

    Attributes
    ----------
    method, path
        Of HTTP; the path below `/api/v1`.
    name
        Unlike any other: the operation's id.
    call
        What answers; it may take its time, in a thread.
    means
        One sentence without a full stop.
    answer
        A JSON Schema of what is answered, or the name of one in `schemas.SCHEMAS`.
    params
        In the address.
    body
        The kind of the JSON that is taken (`records.forms`), "file" for bytes; None for nothing.
    status
        Where all goes well.
    writes
        Whether it changes anything: then it is refused where the server is read-only.
    lasts
        Whether the answer is the same for as long as the library is: then it has an ETag, and is
        kept.
    media_type
        Of the answer.
    """

    method: str
    path: str
    name: str
    call: Callable[[Asked], Any]
    means: str
    answer: str | Mapping[str, Any]
    params: tuple[Param, ...] = ()
    body: Any = None
    status: int = 200
    writes: bool = False
    lasts: bool = False
    media_type: str = "application/json"
