"""Shard endpoints, called by the server in front of the shards."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from lpisearch.records import Filter
from lpisearch.settings.asked import Asked as Question
from lpisearch.settings.serving import ServeLimits
from lpisearch.web.api.table import Endpoint
from lpisearch.web.problems import Refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from lpisearch.web.api.table import Asked

# The last page, and what is looked at beyond it where near-duplicates are passed over.
_MOST = 5 * ServeLimits().depth


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing needs to be said."""


@dataclass(frozen=True, slots=True)
class OfDocument:
    """A document of the shard by its name, or any other by its text."""

    name: str = ""
    title: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class ToBegin:
    """A question."""

    asked: Question = field(default_factory=Question)


@dataclass(frozen=True, slots=True)
class ToStep:
    """The name of a conversation, and what all shards have said."""

    name: str
    heard: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToSayBest:
    """How many of the best are wanted."""

    name: str
    most: int


@dataclass(frozen=True, slots=True)
class ToFinish:
    """What is shown, and scores of all shards with which those of this one are compared."""

    name: str
    places: tuple[int, ...] = ()
    bm25: tuple[float, ...] = ()
    cosines: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class ToReason:
    """Of which document it is to be said why it stands where it does."""

    name: str
    document: str


@dataclass(frozen=True, slots=True)
class ToTally:
    """What is counted: that of a conversation, or what passes a filter; below which folder."""

    name: str = ""
    where: Filter | None = None
    common: str | None = None


@dataclass(frozen=True, slots=True)
class ToKnow:
    """Which labels are asked for."""

    where: Filter = field(default_factory=Filter)


_ROWS: tuple[tuple[str, type, str], ...] = (
    ("state", Nothing, "Return the state token of a shard"),
    ("tokens", OfDocument, "Return the tokens of a document"),
    ("begin", ToBegin, "Start a query"),
    ("step", ToStep, "Continue a query with the results of all shards"),
    ("best", ToSayBest, "Return more top documents"),
    ("finish", ToFinish, "Return full results"),
    ("reason", ToReason, "Explain why a document ranks where it does"),
    ("tally", ToTally, "Count documents in this shard"),
    ("known", ToKnow, "Count the labels of a shard"),
)


def _asks(verb: str) -> Callable[[Asked], Any]:
    """Return what calls a method of the shard with the fields of a body."""

    def ask(asked: Asked) -> Any:
        _check(asked.body)
        given = {each.name: getattr(asked.body, each.name) for each in fields(asked.body)}
        return getattr(asked.library.as_shard(), verb)(**given)

    return ask


def _check(body: Any) -> None:
    """Refuse to name more documents than the server in front may show.

    Raises
    ------
    Refused
    """
    most = 0
    if isinstance(body, ToBegin):
        most = body.asked.options.k + body.asked.options.offset
    elif isinstance(body, ToSayBest):
        most = body.most
    if not 0 <= most <= _MOST:
        raise Refused(422, f"Ask for 0 to {_MOST:,} documents at a time.")


ENDPOINTS = tuple(
    Endpoint(
        *("POST", f"/shard/{verb}", f"shard{verb.capitalize()}", _asks(verb), means),
        {"type": "object"},
        body=kind,
    )
    for verb, kind, means in _ROWS
)
