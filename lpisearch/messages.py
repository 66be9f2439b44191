"""Messages that each face renders, and the wording of numbers and names.

An error or a note may name a field ("dims") or the next call (`index`). Python shows `dims` and
`library.index()`, the command line `--dims` and `lpisearch index`. A `Message` contains both as
data; as a plain `str` it is Python's text.
"""

from __future__ import annotations

import json
import unicodedata
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


@dataclass(frozen=True, slots=True)
class Option:
    """A field by name, perhaps with a value: `train="none"`; capitals stand for any value."""

    name: str
    value: Any = None

    def __str__(self) -> str:
        return self.name if self.value is None else f"{self.name}={_literal(self.value)}"


@dataclass(frozen=True, slots=True)
class Call:
    """A call of `Library`: `library.index(name="one")`; or "open", "help" or a line of settings."""

    verb: str
    arguments: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()

    def __str__(self) -> str:
        if self.verb == "help":
            return f"help({'.'.join(('lpisearch.Library', *self.arguments))})"
        if self.verb == "settings":
            return f"{self.arguments[0]} = {_literal(self.arguments[1])} in the settings"
        inner = ", ".join([*map(_literal, self.arguments), *map(str, self.options)])
        return f"{'lpisearch' if self.verb == 'open' else 'library'}.{self.verb}({inner})"


Part: TypeAlias = str | Option | Call


class Message(str):
    """A text whose options and calls each face renders in its own way.

    >>> Message("No index yet. Next: ", Call("index", options=(Option("dims", 5),)))
    'No index yet. Next: library.index(dims=5)'
    """

    parts: tuple[Part, ...]
    __slots__ = ("parts",)

    def __new__(cls, *parts: Part) -> Self:  # noqa: D102 (described by the class)
        flat = tuple(_flat(parts))
        made = super().__new__(cls, "".join(map(str, flat)))
        made.parts = flat
        return made

    def render(self, word: Callable[[Option | Call], str]) -> str:
        """Return the text, with options and calls as `word` writes them."""
        return "".join(part if isinstance(part, str) else word(part) for part in self.parts)


def call(verb: str, *arguments: str, **options: Any) -> Message:
    """Return a message that consists of one call of the library."""
    return Message(Call(verb, arguments, tuple(Option(*option) for option in options.items())))


def as_options(value: Any) -> list[Option]:
    """Return the fields of a dataclass that differ from their defaults."""
    return [
        Option(field.name, getattr(value, field.name))
        for field in fields(value)
        if field.default is MISSING or getattr(value, field.name) != field.default
    ]


_OPTION = "option"


def as_plain(text: str) -> list[str | dict[str, Any]]:
    """Return a text without calls as JSON values, which `from_plain` reads."""
    parts = text.parts if isinstance(text, Message) else (text,)
    return [{_OPTION: part.name} if isinstance(part, Option) else str(part) for part in parts]


def from_plain(parts: list[str | dict[str, Any]]) -> Message:
    """Return the message of which `as_plain` made JSON values."""
    return Message(*(part if isinstance(part, str) else Option(part[_OPTION]) for part in parts))


def _flat(parts: tuple[Part, ...]) -> Iterator[Part]:
    for part in parts:
        if isinstance(part, Message):
            yield from part.parts
        else:
            yield part


def _literal(value: Any) -> str:
    """Return a value as Python code; of a dataclass only fields that differ from their defaults."""
    if isinstance(value, str):
        return value if value.isupper() else f'"{value}"'
    if is_dataclass(value):
        inner = ", ".join(map(str, as_options(value)))
        return f"{type(value).__name__}({inner})"
    return repr(value)


_NAMED = 5
_JOINERS = "\u200c\u200d"


def counted(number: int, thing: str, things: str = "") -> str:
    """Return a number with its noun: "1 class", "2 classes"."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def are(number: int, thing: str, things: str = "") -> str:
    """Return a number with its noun and verb: "1 document is", "2 documents are"."""
    return f"{counted(number, thing, things)} {'is' if number == 1 else 'are'}"


def have(number: int, thing: str, things: str = "") -> str:
    """Return a number with its noun and verb: "1 document has", "2 documents have"."""
    return f"{counted(number, thing, things)} {'has' if number == 1 else 'have'}"


def pace(done: int, total: int, seconds: float) -> str:
    """Return the speed and the remaining time; "" before the first part is done.

    >>> pace(10, 40, 20.0)
    '30/min, 1:00 left'
    """
    if not done or seconds <= 0:
        return ""
    minutes, rest = divmod(round((total - done) * seconds / done), 60)
    hours, minutes = divmod(minutes, 60)
    left = f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
    return f"{60 * done / seconds:,.0f}/min, {left} left"


def lasting(seconds: float) -> str:
    """Return a time as people write it.

    >>> lasting(0.62), lasting(5), lasting(130), lasting(4800)
    ('0.6 s', '5 s', '2 min 10 s', '1 h 20 min')
    """
    if seconds < 9.95 and seconds != round(seconds):  # noqa: PLR2004 (one decimal place)
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:  # noqa: PLR2004 (minutes of an hour)
        hours, minutes = divmod(minutes, 60)
        return f"{hours:,} h {minutes} min" if minutes else f"{hours:,} h"
    if not minutes:
        return f"{rest} s"
    return f"{minutes} min {rest} s" if rest and minutes < 10 else f"{minutes} min"  # noqa: PLR2004


def quoted(names: Sequence[str]) -> str:
    """List names in quotation marks, without control characters."""
    return ", ".join(f"“{printable(name)}”" for name in names)


def some(names: Sequence[str]) -> str:
    """List the first few names."""
    listed = ", ".join(printable(name) for name in names[:_NAMED])
    return listed + (", …" if len(names) > _NAMED else "")


def printable(text: str, *, lines: bool = False) -> str:
    """Return a text without characters that a terminal or a browser would obey.

    Every face calls it for texts of documents, of the system and of users, so that none can
    control a terminal or appear in another order than it is written. With `lines`, line ends and
    tabs stay; otherwise the text becomes one line.
    """
    if text.isprintable():
        return text
    if lines:
        text = text.replace("\r\n", "\n")
    hidden = _hidden(text).difference("\n\t" if lines else "")
    return text.translate({ord(sign): _printable_character(sign) for sign in hidden})


def escaped_json(text: str) -> str:
    r"""Write characters of a JSON text that `printable` would remove as \uXXXX, an equal text."""
    hidden = _hidden(text).difference("\n", _JOINERS)
    if not hidden:
        return text
    return text.translate({ord(sign): json.dumps(sign)[1:-1] for sign in hidden})


def nearest(word: str, choices: Iterable[str], most: int = 1) -> str:
    """Suggest choices that are spelled like a word: " (did you mean rlpi?)", or ""."""
    from difflib import get_close_matches

    spelled = {choice.casefold(): choice for choice in choices}
    close = get_close_matches(word.casefold(), spelled, most)
    named = " or ".join(printable(spelled[one]) for one in close)
    return f" (did you mean {named}?)" if named else ""


def system_reason(error: OSError) -> str:
    """Return in plain words why the system refused a file."""
    known: dict[type[OSError], str] = {
        FileNotFoundError: "no such file (deleted, or a broken link)",
        PermissionError: "permission denied",
    }
    return known.get(type(error), error.strerror or str(error))


def _hidden(text: str) -> set[str]:
    """Return the characters of a text that are not shown; a long text has few different ones."""
    return {sign for sign in set(text) if not sign.isprintable()}


def _printable_character(character: str) -> str:
    if character.isprintable():
        return character
    if character.isspace():
        return " "
    # Joiners shape Indic scripts and emoji; other marks without shape may reverse what follows.
    if character in _JOINERS:
        return character
    return "" if unicodedata.category(character) == "Cf" else "\ufffd"
