"""Edit config files one key at a time, keeping comments."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lpisearch.errors import BadOption, BadPreference, PreferencesUnwritable
from lpisearch.files import whole_file
from lpisearch.places import place_of
from lpisearch.settings.preferences import KEYS, check_value
from lpisearch.wording import nearest, system_reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tomlkit import TOMLDocument

_HEAD = "# lpisearch settings\n\n"


def set_preference(file: Path, key: str, words: Sequence[str], *, own: bool = True) -> Any:
    """Set a key to what was typed; return it as it was written.

    Parameters
    ----------
    file
        Of settings; made if there is none.
    key, words
        What is set, and to what.
    own
        Whether the file is the person's own.

    Raises
    ------
    BadOption
        There is no such key, or it cannot have the value.
    BadPreference, PreferencesUnwritable
        The file cannot be understood, or written.
    """
    value = _typed(key, words, own=own)
    document = _opened(file)
    *tables, name = key.split(".")
    table: Any = document
    for each in tables:
        table = table.setdefault(each, {})
    table[name] = value
    _write(file, document)
    return value


def unset_preference(file: Path, key: str) -> bool:
    """Remove a key; tell whether it was there.

    Raises
    ------
    BadOption, BadPreference, PreferencesUnwritable
    """
    _check_key(key)
    document = _opened(file)
    *tables, name = key.split(".")
    table: Any = document
    for each in tables:
        table = table.get(each, {})
    if name not in table:
        return False
    del table[name]
    if tables and not table:
        del document[tables[0]]
    _write(file, document)
    return True


def _check_key(key: str) -> None:
    if key not in KEYS:
        raise BadOption("key", f"unknown setting “{key}”{nearest(key, KEYS)}", KEYS)


def _typed(key: str, words: Sequence[str], *, own: bool) -> Any:
    """Return the value that words mean for a key.

    Raises
    ------
    BadOption
    """
    _check_key(key)
    value = list(words) if isinstance(KEYS[key].default, list) else _single(key, words)
    try:
        check_value(key, value, Path(), own=own)
    except BadPreference as error:
        reason = error.what.partition(": ")[2].removesuffix(".")
        raise BadOption("value", reason, KEYS[key].choices) from None
    return value


def _single(key: str, words: Sequence[str]) -> Any:
    if len(words) != 1:
        raise BadOption("value", f"“{key}” takes one value")
    text = words[0]
    if KEYS[key].kind == "a path":
        place = place_of(text)
        if isinstance(place, Path):  # it is meant from any folder
            return os.path.abspath(place.expanduser())  # noqa: PTH100 (links stay)
        if place.secrets:
            raise BadOption("value", "do not store passwords in a config file; use ~/.pgpass")
    for kind in (int, float):
        if "number" in KEYS[key].kind:
            with suppress(ValueError):
                return kind(text)
    return text


def _opened(file: Path) -> TOMLDocument:
    import tomlkit
    from tomlkit.exceptions import ParseError

    try:
        return tomlkit.parse(file.read_bytes().decode())
    except FileNotFoundError:
        return tomlkit.parse(_HEAD)
    except (ParseError, UnicodeDecodeError) as error:
        raise BadPreference(file, None, f"not valid TOML: {error}") from error
    except OSError as error:
        raise PreferencesUnwritable(file, system_reason(error)) from error


def _write(file: Path, document: TOMLDocument) -> None:
    """Write the file whole or not at all; a link to it stays a link."""
    target = Path(os.path.realpath(file))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(target) as stream:
            stream.write(document.as_string().encode())
    except OSError as error:
        raise PreferencesUnwritable(file, system_reason(error)) from error
