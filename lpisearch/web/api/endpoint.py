"""Endpoints and their parameters, which validate requests and describe the API."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from lpisearch.model.codec import LARGEST
from lpisearch.model.documents import Filter, read_conditions
from lpisearch.model.fields import fields_of
from lpisearch.options import ENTRY_SORTS, SearchOptions, ServeLimits
from lpisearch.web.problems import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from starlette.datastructures import QueryParams

    from lpisearch.library import Library
    from lpisearch.web.state import WebState


T = TypeVar("T")
FILE = "file"
"""The body of an endpoint that takes bytes."""
BYTES = {"type": "string", "format": "binary"}
"""The schema of bytes."""


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of the path or the query."""

    name: str
    means: str  # one sentence without a full stop
    kind: str = "string"  # or "integer", "number", "boolean"
    default: Any = None
    required: bool = False
    many: bool = False  # it may be repeated
    choices: tuple[str, ...] = ()  # () allows any
    least: float | None = None
    most: float | None = None
    longest: int = 1000  # of a text, in characters
    in_path: bool = False
    older: str = ""  # an earlier name, which is read too
    example: Any = None


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A parsed request.

    Attributes
    ----------
    values
        The parameters by name, validated.
    body
        Of the type that the endpoint takes, or None.
    file
        The bytes that were sent instead of JSON, on disk as long as the request lasts.
    python
        Whether messages name calls as Python does.
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
    """A JSON response with a status and headers."""

    value: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An operation of the API.

    Attributes
    ----------
    method, path
        Of HTTP; the path is below `/api/v1`.
    call
        Returns the response in a thread: a record, a JSON value, a `Reply` or a `Response`. Its
        docstring is the operation's summary.
    params
        Of the path and the query.
    body
        The type of the JSON body, `FILE` for bytes, or None.
    answer
        The schema of the response, or its name; by default that of the type returned.
    status
        Of a success.
    writes
        Whether it is refused by a read-only server.
    is_cached
        Whether the response depends on parameters and the state of the library alone: then it has
        an ETag and is cached.
    media_type
        Of the response.
    tag
        The group of operations that it is listed in; "" for one that only our own client calls.
    example
        A body, as JSON.
    """

    method: str
    path: str
    call: Callable[[ApiRequest], Any]
    params: tuple[Param, ...] = ()
    body: Any = None
    answer: str | Mapping[str, Any] | None = None
    status: int = 200
    writes: bool = False
    is_cached: bool = False
    media_type: str = "application/json"
    tag: str = ""
    example: Any = None

    @property
    def changes(self) -> bool:
        """Whether it changes the library or its jobs."""
        return self.writes or (self.path.startswith("/jobs") and self.method != "GET")

    @property
    def name(self) -> str:
        """The operation's id: the name of the function in camel case."""
        first, *others = self.call.__name__.strip("_").split("_")
        return first + "".join(map(str.capitalize, others))

    @property
    def summary(self) -> str:
        """One sentence without a full stop."""
        return (self.call.__doc__ or "").split("\n", 1)[0].removesuffix(".")


class Router(list[Endpoint]):
    """The endpoints of a module, each added by decorating its function."""

    def __init__(self, tag: str) -> None:
        super().__init__()
        self._tag = tag

    def add(
        self, method: str, path: str, params: tuple[Param, ...] = (), **details: Any
    ) -> Callable[[T], T]:
        """Add the decorated function; `details` are further fields of its `Endpoint`."""

        def decorate(call: Any) -> Any:
            self.append(Endpoint(method, path, call, params, **{"tag": self._tag} | details))
            return call

        return decorate


_INTEGER = re.compile(r"[+-]?\d{1,16}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})([eE][+-]?\d{1,3})?", re.ASCII)
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
MOST_VALUES = 1000


def read_params(
    params: Sequence[Param], query: QueryParams, in_path: dict[str, str]
) -> dict[str, Any]:
    """Return the values or defaults of parameters; a `Refusal` lists all errors."""
    known = {name for param in params for name in (param.name, param.older)}
    wrong = [_error(name, "is unknown") for name in query if name not in known]
    values = {}
    for param in params:
        texts = [in_path[param.name]] if param.in_path else query.getlist(param.name)
        texts += query.getlist(param.older) if param.older else []
        try:
            values[param.name] = _value(param, texts)
        except ValueError as error:
            wrong.append(_error(param.name, str(error)))
    if wrong:
        detail = "; ".join(f"{one['field']} {one['reason']}" for one in wrong)
        raise Refusal(422, f"{detail}.", errors=wrong)
    return values


def described(param: Param) -> dict[str, Any]:
    """Return the OpenAPI description of a parameter."""
    one: dict[str, Any] = {"type": param.kind}
    if param.choices:
        one["enum"] = list(param.choices)
    elif param.kind == "string":
        one["maxLength"] = param.longest
    if param.kind in {"integer", "number"}:
        one |= {} if param.least is None else {"minimum": param.least}
        most = LARGEST if param.most is None and param.kind == "integer" else param.most
        one |= {} if most is None else {"maximum": most}
    if param.default is not None and not param.many:
        one["default"] = param.default
    many = {"type": "array", "items": one, "maxItems": MOST_VALUES}
    example = {} if param.example is None else {"example": param.example}
    return example | {
        "name": param.name,
        "in": "path" if param.in_path else "query",
        "required": param.required or param.in_path,
        "description": f"{param.means}.",
        "schema": many if param.many else one,
    }


def _error(name: str, reason: str) -> dict[str, str]:
    return {"field": name[:100], "reason": reason}


def _value(param: Param, texts: list[str]) -> Any:
    if not texts:
        if param.required:
            raise ValueError("is missing")
        return () if param.many else param.default
    if param.many:
        if len(texts) > MOST_VALUES:
            raise ValueError(f"is given more than {MOST_VALUES:,} times")
        return tuple(_one(param, text) for text in texts)
    if len(texts) > 1:
        raise ValueError("is given more than once")
    return _one(param, texts[0])


def _one(param: Param, text: str) -> Any:
    if param.kind == "string":
        return _text(param, text)
    if param.kind == "boolean":
        if text.lower() not in _BOOLEANS:
            raise ValueError("must be true or false")
        return _BOOLEANS[text.lower()]
    if param.kind == "integer":
        if not _INTEGER.fullmatch(text):
            raise ValueError("must be a whole number")
        return _bounded(param, int(text))
    if not _NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        raise ValueError("must be a number")
    return _bounded(param, float(text))


def _text(param: Param, text: str) -> str:
    if param.choices and text not in param.choices:
        raise ValueError(f"must be one of: {', '.join(param.choices)}")
    if len(text) > param.longest:
        raise ValueError(f"is longer than {param.longest:,} characters")
    return text


def _bounded(param: Param, number: float) -> float:
    if param.least is not None and number < param.least:
        raise ValueError(f"must be at least {param.least:g}")
    most = param.most if param.most is not None or param.kind != "integer" else LARGEST
    if most is not None and number > most:
        raise ValueError(f"must be at most {most:,g}")
    return number


_LIMITS = ServeLimits()
_KINDS = {"int": "integer", "float": "number", "bool": "boolean"}


def params_of(
    options: type, bounds: Mapping[str, tuple[float | None, float | None]] | None = None
) -> tuple[Param, ...]:
    """Return the options of a dataclass as parameters; `bounds` are ranges of the API alone."""
    bounds = bounds or {}
    return tuple(
        Param(
            name="limit" if one.name == "k" else one.public_name,
            older="k" if one.name == "k" else "",
            example=_EXAMPLES.get(one.public_name),
            means=one.summary.removesuffix("."),
            kind=_KINDS.get(one.kind, "string"),
            default=None if one.many else one.default,
            many=one.many,
            choices=one.info.choices,
            least=bounds.get(one.name, (one.info.minimum,))[0],
            most=bounds.get(one.name, (None, one.info.maximum))[1],
        )
        for one in fields_of(options)
    )


_EXAMPLES = {
    "label": ["invoice"],
    "folder": ["letters"],
    "format": ["pdf"],
    "language": ["german"],
    "since": "2024-05",
    "by": "hybrid",
}
UNITS = Param(
    "units",
    "What marks count: Unicode code points, as Python does, or UTF-16 code units, as JavaScript, "
    "Java and C# do",
    default="codepoints",
    choices=("codepoints", "utf16"),
)
FILTER = params_of(Filter)
_BOUNDS = {"k": (0, _LIMITS.hits), "offset": (0, _LIMITS.depth), "semantic_weight": (0, 1e6)}
SIMILAR = params_of(SearchOptions, _BOUNDS)
INDEX = next(param for param in SIMILAR if param.name == "index")
QUESTION = Param(
    *("q", "The query; it may only be left out if like is given"),
    default="",
    longest=_LIMITS.query_characters,
    example="why does my bread stay flat",
)
_SEVERAL = ("folders", "formats", "languages", "senders")
FEEDBACK = (
    Param("like", "Prefer documents like this one", many=True),
    Param("unlike", "Avoid documents like this one", many=True),
)
SEARCH = (QUESTION, *FEEDBACK, *SIMILAR)
LISTING = (
    Param("limit", "Number of documents", "integer", 50, least=0, most=1000),
    Param("offset", "Number to skip", "integer", 0, least=0),
    Param("sort", "Sort order", default="added", choices=ENTRY_SORTS),
    *FILTER,
)


def filter_of(values: Mapping[str, Any]) -> Filter:
    """Return the filter of parameters; raise `BadOption` if it is invalid."""
    once = ("path", "split", "since", "until", "media_type", "undated")
    several = {name: values[name.removesuffix("s")] for name in _SEVERAL}
    where = read_conditions(values["where"])
    typed = {name: values[name] for name in once if values[name]}
    labels = (*where.labels, *values["label"])
    predicted = (*where.predicted, *values["predicted"])
    return replace(where, labels=labels, predicted=predicted, **typed, **several)


def options_of(values: Mapping[str, Any]) -> SearchOptions:
    """Return the search options of parameters; raise `BadOption` if they are invalid."""
    known = {**values, "k": values["limit"]}
    plain = {one.name: known[one.name] for one in fields(SearchOptions) if one.name != "where"}
    return SearchOptions(where=filter_of(values), **plain)
