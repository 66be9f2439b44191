"""Messages that refer to options and calls, rendered differently by each interface.

An error or a note may name a field ("dims") or the call to make next (index it anew). Python says
`dims` and `library.index()`, the command line `--dims` and `lpisearch index`. A `Message` holds
both as data. As a plain `str` it is Python's text; another face asks for its own.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True, slots=True)
class Option:
    """A field by name, and perhaps a value for it: `train="none"`.

    A value in capitals, such as SECONDS, stands for one that the user knows.
    """

    name: str
    value: Any = None

    def __str__(self) -> str:
        return self.name if self.value is None else f"{self.name}={_literal(self.value)}"


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a method of `Library`: `library.index(name="one")`; or "open", "help", "settings".

    "settings" is no call in Python, but a line in a file.
    """

    verb: str
    arguments: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()

    def __str__(self) -> str:
        if self.verb == "help":
            return f"help({'.'.join(('lpisearch.Library', *self.arguments))})"
        if self.verb == "settings":
            return f"{self.arguments[0]} = {_literal(self.arguments[1])} in the settings"
        given = ", ".join([*map(_literal, self.arguments), *map(str, self.options)])
        return f"{'lpisearch' if self.verb == 'open' else 'library'}.{self.verb}({given})"


Part: TypeAlias = str | Option | Call


class Message(str):
    """A text of which each face says options and calls in its own words.

    Parameters
    ----------
    *parts
        In order: plain texts, options, calls and other messages.

    Examples
    --------
    >>> Message("No index yet. Next: ", Call("index", options=(Option("dims", 5),)))
    'No index yet. Next: library.index(dims=5)'
    """

    parts: tuple[Part, ...]
    __slots__ = ("parts",)

    def __new__(cls, *parts: Part) -> Self:  # noqa: D102 (the class says it)
        flat = tuple(_flat(parts))
        made = super().__new__(cls, "".join(map(str, flat)))
        made.parts = flat
        return made

    def said(self, word: Callable[[Option | Call], str]) -> str:
        """Return the text with options and calls as a face words them."""
        return "".join(part if isinstance(part, str) else word(part) for part in self.parts)


def call(verb: str, *arguments: str, **options: Any) -> Message:
    """Return the message that is one call of the library and nothing else."""
    return Message(Call(verb, arguments, tuple(Option(*option) for option in options.items())))


def as_options(value: Any) -> list[Option]:
    """Return what a dataclass says beyond its defaults, field by field."""
    return [
        Option(field.name, getattr(value, field.name))
        for field in fields(value)
        if field.default is MISSING or getattr(value, field.name) != field.default
    ]


_OPTION = "option"


def as_plain(text: str) -> list[str | dict[str, Any]]:
    """Return a text as JSON values, from which `from_plain` makes it again; it names no calls."""
    parts = text.parts if isinstance(text, Message) else (text,)
    return [{_OPTION: part.name} if isinstance(part, Option) else str(part) for part in parts]


def from_plain(parts: list[str | dict[str, Any]]) -> Message:
    """Return the message that `as_plain` wrote."""
    return Message(*(part if isinstance(part, str) else Option(part[_OPTION]) for part in parts))


def _flat(parts: tuple[Part, ...]) -> Iterator[Part]:
    for part in parts:
        if isinstance(part, Message):
            yield from part.parts
        else:
            yield part


def _literal(value: Any) -> str:
    """Write a value as Python code; of a dataclass only what differs from its defaults."""
    if isinstance(value, str):
        return value if value.isupper() else f'"{value}"'
    if is_dataclass(value):
        given = ", ".join(map(str, as_options(value)))
        return f"{type(value).__name__}({given})"
    return repr(value)
