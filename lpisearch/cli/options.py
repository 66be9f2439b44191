"""Parameters of verbs from the fields of options, the texts that are typed for them, completion.

Completion runs at every press of a key: it imports only what it needs, and an error proposes
nothing.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, is_dataclass
from inspect import Parameter, Signature, signature
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args, get_type_hints

import typer

from lpisearch.errors import BadOption
from lpisearch.library import graph_names, method_names, pairs_of
from lpisearch.model.fields import OptionField, Options, build, fields_of

if TYPE_CHECKING:
    from lpisearch.config import Preferences
    from lpisearch.model.documents import Filter

_MOST_NAMES = 100
_MOST_NUMBERS = 10_000
_UNITS = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_TYPES = {"int": int, "float": float, "bool": bool, "Path": Path}
_NAMES: Mapping[str, Callable[[], list[str]]] = {"methods": method_names, "graphs": graph_names}
_KINDS = {"labels": "label", "indexes": "index", "documents": "document"}


# Parameters.


@dataclass(frozen=True, slots=True)
class _Selection:
    """The options of a dataclass that a verb has: all with these names, or all others."""

    names: Collection[str]
    has: bool


def only(*names: str) -> _Selection:
    """Annotate options of which a verb has only some."""
    return _Selection(names, has=True)


def without(*names: str) -> _Selection:
    """Annotate options of which a verb lacks some."""
    return _Selection(names, has=False)


def accepts(*order: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a verb a parameter for each option of the dataclasses among its parameters.

    The verb is called with the objects. Its own parameter replaces an option of the same name. The
    help shows each parameter named in `order` after the one before it.
    """

    def decorate(verb: Callable[..., Any]) -> Callable[..., Any]:
        hints = get_type_hints(verb, include_extras=True)
        own = signature(verb).parameters
        parameters: dict[str, Parameter] = {}
        made: dict[str, tuple[type, list[OptionField]]] = {}
        for parameter in own.values():
            kind, selection = _options_of(hints[parameter.name])
            if kind is None:
                parameters[parameter.name] = parameter.replace(
                    annotation=hints[parameter.name], kind=Parameter.KEYWORD_ONLY
                )
                continue
            options = [
                one
                for one in fields_of(kind)
                if one.info.typed
                and one.name not in own
                and (selection is None or (one.name in selection.names) == selection.has)
            ]
            made[parameter.name] = kind, options
            parameters |= {one.name: _parameter(one) for one in options}

        def run(**values: Any) -> Any:
            for name, (kind, options) in made.items():
                values[name] = _made(kind, options, values)
            return verb(**{name: values[name] for name in own})

        run.__signature__ = Signature(_ordered(parameters, order))  # type: ignore[attr-defined]
        run.__name__, run.__doc__, run.__module__ = verb.__name__, verb.__doc__, verb.__module__
        return run

    return decorate


def _options_of(hint: Any) -> tuple[type | None, _Selection | None]:
    kind, *rest = get_args(hint) if hasattr(hint, "__metadata__") else (hint,)
    if not (isinstance(kind, type) and is_dataclass(kind)):
        return None, None
    return kind, rest[0] if rest else None


def _ordered(parameters: Mapping[str, Parameter], order: tuple[str, ...]) -> list[Parameter]:
    names = list(parameters)
    for before, name in pairwise(order):
        names.remove(name)
        names.insert(names.index(before) + 1, name)
    return [parameters[name] for name in names]


def _made(kind: type, options: list[OptionField], values: Mapping[str, Any]) -> Any:
    read: dict[str, Any] = {}
    for one in options:
        value = _form(one).read(one, values[one.name])
        read |= value if isinstance(value, _Fields) else {one.name: value}
    return build(kind, read)


def _parameter(one: OptionField) -> Parameter:
    """Return the Typer parameter of an option."""
    info, form = one.info, _form(one)
    declared: Any = typer.Option(
        *one.flags,
        help=_help(one),
        metavar=info.metavar or "|".join(info.choices) or None,
        min=info.minimum,
        max=info.maximum,
        envvar=info.envvar or None,
        rich_help_panel=info.panel or None,
        hidden=info.advanced,
        autocompletion=_completion(one),
    )
    return Parameter(
        one.name,
        Parameter.KEYWORD_ONLY,
        default=form.written(one.default),
        annotation=Annotated[form.typed(one), declared],
    )


def _help(one: OptionField) -> str:
    if one.info.names not in _NAMES:
        return one.info.help
    *others, last = names = _NAMES[one.info.names]()
    return one.info.help.format(
        names=", ".join(names), alternatives=f"{', '.join(others)} or {last}"
    )


def preferred(kind: type[Options], preferences: Preferences, table: str) -> Options:
    """Make options from the settings; the others have their defaults."""
    read: dict[str, Any] = {}
    for one in fields_of(kind):
        chosen = preferences.get(f"{table}{one.name}") if one.info.setting else None
        if chosen is not None:
            value = str(chosen.value) if one.info.form else chosen.value
            read[one.name] = _form(one).read(one, value)
    return build(kind, read)


# Completion.


def _completion(one: OptionField) -> Callable[..., list[str]] | None:
    if one.info.names in _KINDS:
        return names_of(_KINDS[one.info.names])
    if one.info.names:
        return _beginning(_NAMES[one.info.names])
    return _beginning(lambda: one.info.choices) if one.info.choices else None


def _beginning(names: Callable[[], Collection[str]]) -> Callable[[str], list[str]]:
    def propose(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return propose


def names_of(kind: str) -> Callable[[typer.Context, str], list[str]]:
    """Return what proposes the labels, indexes or documents of the library."""

    def propose(context: typer.Context, incomplete: str) -> list[str]:
        from lpisearch.cli.commands import Invocation

        invocation = context.obj if isinstance(context.obj, Invocation) else Invocation(None)
        try:
            names: list[str] = invocation.library.names(kind, incomplete, _MOST_NAMES)
        except Exception:  # noqa: BLE001 (a shell that completes shows no errors)
            return []
        return names

    return propose


labels, documents = names_of("label"), names_of("document")


def labelled(context: typer.Context, incomplete: str) -> list[str]:
    """Propose documents; after a plus or a minus, labels."""
    sign = incomplete[:1]
    if sign in {"+", "-"}:
        return [f"{sign}{name}" for name in labels(context, incomplete[1:])]
    return documents(context, incomplete)


def keys(incomplete: str) -> list[str]:
    """Propose settings."""
    from lpisearch.config import KEYS

    return [name for name in KEYS if name.startswith(incomplete)]


# Texts and the values that they mean.


class _Fields(dict[str, Any]):
    """The values of several fields that one text sets."""


class _Form(NamedTuple):
    """How a value is typed: what reads it, its type for Typer, and how a default is written."""

    read: Callable[[OptionField, Any], Any]
    typed: Callable[[OptionField], Any] = lambda _: str
    written: Callable[[Any], Any] = lambda default: default


def _plain(one: OptionField) -> Any:
    kind: Any = _TYPES.get(one.kind, str)
    if one.many:
        return list[kind] | None
    return kind if one.default is not None else kind | None


def names(text: str) -> tuple[str, ...]:
    """Read names with commas between them."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _number(one: OptionField, text: str) -> float | None:
    """Read a number, or None for "auto"."""
    if text == "auto":
        return None
    try:
        return float(text) if one.kind == "float" else int(text)
    except ValueError:
        raise BadOption(one.name, f"must be auto or a number, not “{text}”") from None


def read_settings(pairs: list[str] | None) -> dict[str, str]:
    """Read NAME=VALUE pairs; the method checks their values."""
    settings: dict[str, str] = {}
    for text in pairs or []:
        name, sign, value = (part.strip() for part in text.partition("="))
        if not (name and sign and value):
            raise BadOption("settings", f"“{text}” is not NAME=VALUE, such as cardinality=50")
        if name in settings:
            raise BadOption("settings", f"{name} is set twice")
        settings[name] = value
    return settings


def _bytes(one: OptionField, text: str | None) -> int | None:
    """Read a size such as 4G, 500M or 1.5g."""
    if text is None:
        return None
    number, unit = text[:-1], text[-1:].upper()
    try:
        size = float(number) * _UNITS[unit]
    except (ValueError, KeyError):
        size = -1.0
    if not 0 < size < math.inf:
        raise BadOption(one.name, f"“{text}” is not a size such as 500M or 4G")
    return int(size)


def shares(field: str, text: str) -> tuple[float, ...]:
    """Read shares, as 5% or as .05."""
    read = []
    for name in names(text):
        try:
            read.append(_share(name))
        except ValueError:
            raise BadOption(field, f"“{name}” is not a fraction (write 5% or .05)") from None
    return tuple(dict.fromkeys(read))


def numbers(field: str, text: str, *, everything: str = "") -> tuple[int, ...]:
    """Read whole numbers and ranges: 2..10,30; `everything` stands for 0."""
    read: list[int] = []
    for name in names(text):
        if everything and name == everything:
            read.append(0)
            continue
        first, dots, last = name.partition("..")
        try:
            least, most = _positive(first), _positive(last if dots else first)
        except ValueError:
            raise BadOption(field, f"“{name}” is not a number or a range such as 2..10") from None
        if most < least:
            raise BadOption(field, f"the range “{name}” ends before it starts")
        if most - least >= _MOST_NUMBERS:
            raise BadOption(field, f"the range “{name}” has more than {_MOST_NUMBERS:,} values")
        read += range(least, most + 1)
    return tuple(dict.fromkeys(read))


def values(field: str, text: str, *, words: bool = False) -> tuple[float | str, ...]:
    """Read numbers, shares and ranges of whole numbers; with `words`, words too."""
    read: list[float | str] = []
    for name in names(text):
        if ".." in name:
            read += numbers(field, name)
            continue
        try:
            read.append(_share(name))
        except ValueError:
            if not words:
                raise BadOption(field, f"“{name}” is not a number") from None
            read.append(name)
    return tuple(dict.fromkeys(read))


def _bounds(one: OptionField, text: str) -> tuple[int, int]:
    """Read two whole numbers, as 250..800."""
    first, _, last = text.partition("..")
    try:
        least, most = int(first), int(last)
    except ValueError:
        raise BadOption(one.name, f"“{text}” is not a range such as 250..800") from None
    if not 2 <= least <= most:  # noqa: PLR2004 (a pair takes two documents)
        raise BadOption(one.name, f"“{text}” is not a range that starts at 2 or more")
    return least, most


def _share(text: str) -> float:
    """Read a finite number; a percent sign divides by 100, without a trace of binary rounding."""
    value = float(text.removesuffix("%"))
    if not math.isfinite(value):
        raise ValueError(text)
    return round(value / 100, 12) if text.endswith("%") else value


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def _words(_one: OptionField, text: str) -> _Fields:
    """Read words, or a number of the most frequent ones."""
    if text.isdecimal() and int(text) > 0:
        return _Fields(most_frequent=int(text))
    return _Fields(words=names(text))


def _current_folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 (a filter has a string)
    except OSError:  # it was removed meanwhile
        return ""


def _conditions(_one: OptionField, words: list[str] | None) -> Filter:
    from lpisearch.model.documents import read_conditions

    return read_conditions(words or [])


def _metadata(_one: OptionField, words: list[str] | None) -> tuple[tuple[str, str], ...]:
    from lpisearch.model.document_filter import read_condition

    return tuple(read_condition(word) for word in words or ())


def _pairs(_one: OptionField, path: Path | None) -> tuple[tuple[str, str, str], ...]:
    return () if path is None else pairs_of(path)


def _form(one: OptionField) -> _Form:
    return _FORMS[one.info.form]


_MEBIBYTE = 1024 * 1024
_FORMS: Mapping[str, _Form] = {
    "": _Form(
        lambda one, value: tuple(value or ()) if one.many else value,
        _plain,
        lambda default: None if default == () else default,
    ),
    "auto": _Form(_number, written=lambda default: "auto" if default is None else str(default)),
    "conditions": _Form(_conditions, lambda _: list[str] | None, lambda _: None),
    "mebibytes": _Form(
        lambda _, number: number * _MEBIBYTE, _plain, lambda default: default // _MEBIBYTE
    ),
    "metadata": _Form(_metadata, lambda _: list[str] | None, lambda _: None),
    "names": _Form(lambda _, text: names(text), written=",".join),
    "numbers": _Form(
        lambda one, text: numbers(one.name, text, everything="all"),
        written=lambda default: ",".join(str(number or "all") for number in default),
    ),
    "pairs": _Form(_pairs, lambda _: Path | None, lambda _: None),
    "path": _Form(lambda _, text: _Fields(path=text, here=_current_folder() if text else "")),
    "range": _Form(_bounds, written=lambda default: "..".join(map(str, default))),
    "settings": _Form(
        lambda _, pairs: read_settings(pairs), lambda _: list[str] | None, lambda _: None
    ),
    "shares": _Form(
        lambda one, text: shares(one.name, text),
        written=lambda default: ",".join(map(str, default)),
    ),
    "size": _Form(_bytes, lambda _: str | None),
    "words": _Form(_words, written=",".join),
}
