"""Render options and calls as command-line text: `--dims`, `lpisearch index --dims 5`.

Below this room an error names the field "dims" and the call `library.index(dims=5)` as data
(`lpisearch.messages`); here alone they become what is typed.
"""

from __future__ import annotations

import shlex
from dataclasses import is_dataclass
from typing import Any

from lpisearch.messages import Call, Message, Option, as_options

# A field is its option with dashes, but for these.
_FLAGS = {
    "k": "-k",
    "number": "-n",
    "wait_seconds": "--wait",
    "max_document_bytes": "--max-size",
    "measure": "MEASURE",
    "settings": "--set",
    "target": "FILE",
    "key": "KEY",
    "value": "VALUE",
}
_RANGES = {"subset_size"}  # written 50..500
_VERBS = {
    "entries": "docs list",
    "delete": "docs delete",
    "examine": "doctor",
    "back_up": "db backup",
    "retokenise": "db retokenise",
    "vector": "db vector",
}


def spoken(text: str) -> str:
    """Return a text as the command line says it."""
    return text.said(_word) if isinstance(text, Message) else text


def spoken_value(value: Any) -> Any:
    """Return a JSON value with every text in it as the command line says it."""
    if isinstance(value, str):
        return spoken(value)
    if isinstance(value, dict):
        return {name: spoken_value(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [spoken_value(each) for each in value]
    return value


def flag(field: str) -> str:
    """Return what is typed for a field: "subset_size" is --subset-size."""
    return _FLAGS.get(field, f"--{field.replace('_', '-')}")


def _word(part: Option | Call) -> str:
    return shlex.join(_option(part)) if isinstance(part, Option) else _command(part)


def _command(asked: Call) -> str:
    if asked.verb == "open":
        return f"lpisearch --db {' '.join(asked.arguments)} …"
    if asked.verb == "settings":
        return f"lpisearch config set {' '.join(asked.arguments)}"
    if asked.verb == "help":
        return " ".join(["lpisearch", *asked.arguments, "--help"])
    options = [word for option in asked.options for word in _option(option)]
    verb = _VERBS.get(asked.verb, asked.verb).split()
    return shlex.join(["lpisearch", *verb, *asked.arguments, *options])


def _option(option: Option) -> list[str]:
    from lpisearch.records import Filter
    from lpisearch.settings.conditions import as_conditions

    name, value = flag(option.name), option.value
    if isinstance(value, Filter):
        return [word for condition in as_conditions(value) for word in (name, condition)]
    if isinstance(value, dict):
        return [word for key, each in value.items() for word in (name, f"{key}={_plain(each)}")]
    if is_dataclass(value):
        return [word for each in as_options(value) for word in _option(each)]
    if isinstance(value, tuple):
        value = (".." if option.name in _RANGES else ",").join(map(str, value))
    return [name] if value is None or value is True else [name, str(value)]


def _plain(value: Any) -> str:
    """Write a setting as it is typed."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)
