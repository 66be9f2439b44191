"""Tools of assistants: their names, arguments and answers, as clients are told of them.

A tool's arguments are a dataclass, of which its JSON Schema is made; `agents.calls` answers. Each
word counts: a client sends all definitions to its model with every conversation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lpisearch.errors import BadOption
from lpisearch.messages import printable
from lpisearch.model.fields import OptionField, described, fields_of, option

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


USUAL_TOKENS, FEWEST_TOKENS, MOST_TOKENS = 1500, 100, 20_000
_MOST_RESULTS = 50
_MOST_TEXT = 1_000_000
_LONGEST_NAME, _LONGEST_NUMBER = 100, 20  # characters


def _budget() -> Any:
    return option(
        USUAL_TOKENS, "Size limit of the answer", minimum=FEWEST_TOKENS, maximum=MOST_TOKENS
    )


def _library() -> Any:
    return option("", "", names="libraries")


@dataclass(frozen=True, slots=True)
class SearchArguments:
    """What to search for, and where."""

    query: str = field(
        metadata=described('Question or words; "a phrase" must occur, -word must not')
    )
    k: int = option(5, "Number of results", minimum=1, maximum=_MOST_RESULTS)
    label: str = option("", "")
    path: str = option("", "Folder or glob")
    since: str = option("", "Date such as 2024-05")
    library: str = _library()
    budget_tokens: int = _budget()


@dataclass(frozen=True, slots=True)
class FetchArguments:
    """Which document, and which part of it."""

    id: str = field(metadata=described("Of a search result"))
    page: str = option("", "")
    section: str = option("", "")
    start: int = option(0, "Character to start at", minimum=0)
    budget_tokens: int = _budget()


@dataclass(frozen=True, slots=True)
class SimilarArguments:
    """A document of the library, or a text."""

    id: str = option("", "")
    text: str = option("", "")
    k: int = option(5, "", minimum=1, maximum=_MOST_RESULTS)
    library: str = _library()
    budget_tokens: int = _budget()


@dataclass(frozen=True, slots=True)
class OverviewArguments:
    """Which library."""

    library: str = _library()
    budget_tokens: int = _budget()


@dataclass(frozen=True, slots=True)
class ClassifyArguments:
    """A text."""

    text: str = field(metadata=described(""))
    library: str = _library()


@dataclass(frozen=True, slots=True)
class IngestArguments:
    """A file or folder."""

    path: str = field(metadata=described("File or folder below an allowed folder"))
    library: str = _library()


@dataclass(frozen=True, slots=True)
class LabelArguments:
    """A document, and labels to add and to remove."""

    id: str = field(metadata=described("Document"))
    add: tuple[str, ...] = option((), "")
    remove: tuple[str, ...] = option((), "")


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: its name, its purpose, its arguments, and the keys of its answer with their types.

    Keys that begin with a question mark may be missing; `items` describes those of a list.
    """

    name: str
    purpose: str
    arguments: type
    keys: str
    items: str = ""
    writes: bool = False
    destroys: bool = False

    def definition(self, libraries: Sequence[str]) -> dict[str, Any]:
        """Return what a client is told, with the names of several libraries."""
        options = fields_of(self.arguments)
        known = [one for one in options if one.info.names != "libraries" or len(libraries) > 1]
        required = _required(options)
        hints = {"readOnlyHint": not self.writes, "openWorldHint": False}
        return {
            "name": self.name,
            "description": self.purpose,
            "inputSchema": {
                "type": "object",
                "properties": {one.name: _schema(one, libraries) for one in known},
                **({"required": required} if required else {}),
            },
            "outputSchema": _object(self.keys, self.items),
            "annotations": hints | ({"destructiveHint": self.destroys} if self.writes else {}),
        }


_FOUND = "results:array ?notes:array ?truncated:boolean ?more:string"
TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            "search",
            "Search documents by meaning and words. Returns the best passages.",
            SearchArguments,
            _FOUND,
            "id:string title:string url:string path:string ?page:string ?section:string "
            "start:integer end:integer score:number passage:string",
        ),
        Tool(
            "fetch",
            "Read a document, or its page, section or rest. Go on with start=next.",
            FetchArguments,
            "id:string title:string url:string text:string start:integer end:integer "
            "characters:integer truncated:boolean ?next:integer ?metadata:object",
        ),
        Tool("similar", "Find documents like one (id), or like a text.", SimilarArguments, _FOUND),
        Tool(
            "overview",
            "What the library is about: counts, formats, labels, topics, languages, dates.",
            OverviewArguments,
            "libraries:array ?truncated:boolean",
        ),
        Tool(
            "classify",
            "Predict labels of a text, as the library's labelled documents suggest.",
            ClassifyArguments,
            "labels:array decided:array ?note:string",
        ),
        Tool(
            "ingest",
            "Add or update the documents of a file or folder.",
            IngestArguments,
            "added:integer updated:integer unchanged:integer removed:integer failed:integer "
            "?failures:array ?notes:array",
            writes=True,
        ),
        Tool(
            "label",
            "Add and remove labels of a document, by hand.",
            LabelArguments,
            "documents:integer added:integer removed:integer",
            writes=True,
            destroys=True,
        ),
    )
}


def _required(options: Sequence[OptionField]) -> list[str]:
    return [one.name for one in options if one.default is None]


def _schema(one: OptionField, libraries: Sequence[str]) -> dict[str, Any]:
    kind: dict[str, Any] = {"type": {"int": "integer"}.get(one.kind, "string")}
    if one.info.names == "libraries":
        return kind | {"enum": [*libraries]}
    if one.many:
        kind = {"type": "array", "items": kind}
    if one.info.help:
        kind["description"] = one.info.help
    return kind | ({"default": one.default} if one.kind == "int" and one.default else {})


def _object(keys: str, items: str = "") -> dict[str, Any]:
    """Return the schema of an object; the first array has the `items`."""
    pairs = [key.split(":") for key in keys.split()]
    made: dict[str, Any] = {name.lstrip("?"): {"type": kind} for name, kind in pairs}
    if items:
        made[pairs[0][0]]["items"] = _object(items)
    required = [name for name, _ in pairs if not name.startswith("?")]
    return {"type": "object", "properties": made, "required": required}


def read_arguments(kind: type, arguments: Mapping[str, Any]) -> Any:
    """Return the arguments of a tool; null is none, and a number may be written as text."""
    options = {one.name: one for one in fields_of(kind)}
    unknown = [name for name in arguments if name not in options]
    if unknown:
        raise BadOption(
            "arguments", f"there is no “{printable(unknown[0])[:_LONGEST_NAME]}”", options
        )
    given = {name: value for name, value in arguments.items() if value is not None}
    missing = [name for name in _required([*options.values()]) if name not in given]
    if missing:
        raise BadOption(missing[0], "is missing")
    return kind(**{name: _value(options[name], value) for name, value in given.items()})


def _value(one: OptionField, value: Any) -> Any:
    if one.many:
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
            raise BadOption(one.name, "must be a list of texts")
        return tuple(map(_sound, values))
    if one.kind == "int":
        return _number(one, value)
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise BadOption(one.name, "must be a text")
    return _sound(str(value))


def _number(one: OptionField, value: Any) -> int:
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < _LONGEST_NUMBER:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadOption(one.name, "must be a whole number")
    least, most = int(one.info.minimum or 0), one.info.maximum
    if value < least or (most is not None and value > most):
        bounds = f"{least} or more" if most is None else f"{least} to {int(most)}"
        raise BadOption(one.name, f"must be {bounds}")
    return value


def _sound(text: str) -> str:
    """Return a text without halves of surrogate pairs; one that is too long is refused."""
    if len(text) > _MOST_TEXT:
        raise BadOption("arguments", f"a text may have {_MOST_TEXT:,} characters at most")
    return text.encode("utf-8", "replace").decode()
