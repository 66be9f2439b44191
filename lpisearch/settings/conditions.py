"""Convert filters to and from KEY=VALUE text, such as `label=sea`.

Any other key is a field of the metadata. A field that is called like one of the conditions, or
that has an equals sign in its name, stands in quotation marks, as in JSON: `"path"=x`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from lpisearch.errors import BadOption
from lpisearch.records import Filter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ONCE = ("path", "split", "since", "until", "media_type")
_ANY = {"label": "labels", "predicted": "predicted"}
_KNOWN = (*_ANY, *_ONCE)
_QUOTE = '"'


def read_conditions(words: Iterable[str]) -> Filter:
    """Read `label=…`, `path=…` and the other fields of a filter by name, and `FIELD=…`.

    Several labels mean any of them, given or predicted; of the others, all must hold.

    Raises
    ------
    BadOption
    """
    labels: dict[str, list[str]] = {name: [] for name in _ANY.values()}
    once: dict[str, str] = {}
    metadata: list[tuple[str, str]] = []
    for word in words:
        key, value = read_condition(word)
        if word.startswith(_QUOTE) or key not in _KNOWN:
            metadata.append((key, value))
        elif not value:
            raise BadOption("where", f"{key}= has no value")
        elif key in _ANY:
            labels[_ANY[key]].append(value)
        elif key in once:
            raise BadOption("where", f"{key} is given more than once")
        else:
            once[key] = value
    return Filter(
        labels=tuple(labels["labels"]),
        predicted=tuple(labels["predicted"]),
        metadata=tuple(metadata),
        **once,
    )


def read_condition(word: str) -> tuple[str, str]:
    """Part `KEY=VALUE`; a key in quotation marks is read as JSON.

    Raises
    ------
    BadOption
    """
    key, end = _quoted(word)
    if end and word[end : end + 1] == "=":
        return key, word[end + 1 :]
    key, equals, value = word.partition("=")
    if not equals or not key:
        raise BadOption("where", f"“{word}” is not KEY=VALUE")
    return key, value


def as_conditions(where: Filter) -> Iterator[str]:
    """Yield the words that `read_conditions` reads as the same filter."""
    for key, name in _ANY.items():
        for label in getattr(where, name):
            yield f"{key}={label}"
    for key in _ONCE:
        if value := getattr(where, key):
            yield f"{key}={value}"
    for key, value in where.metadata:
        plain = key and key not in _KNOWN and "=" not in key and not key.startswith(_QUOTE)
        yield f"{key if plain else json.dumps(key, ensure_ascii=False)}={value}"


def _quoted(word: str) -> tuple[str, int]:
    """Return the text in quotation marks at the beginning, and where it ends; 0 without one."""
    if not word.startswith(_QUOTE):
        return "", 0
    try:
        text, end = json.JSONDecoder().raw_decode(word)
    except ValueError:
        return "", 0
    return str(text), end
