"""Settings files: their keys, and how they are found, read, checked and written.

The file next to the library overrides the user's own; options of a call override both. Each value
is read with the file and the line that set it.
"""

from __future__ import annotations

import math
import os
import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lpisearch.errors import BadOption, BadPreference, LpiSearchError, PreferencesUnwritable
from lpisearch.files import whole_file
from lpisearch.location import FILE_BESIDE, Address, Location, parse_location
from lpisearch.messages import nearest, system_reason
from lpisearch.model.fields import fields_of
from lpisearch.options import IndexOptions, IngestOptions, SearchOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tomlkit import TOMLDocument


_OWN_FILE = "config.toml"
_PROGRAM = "lpisearch"
_WHOLE, _NUMBER, _TEXT, _PATH, _LIST = "a whole number", "a number", "a text", "a path", "a list"
_AUTO = "auto"
_TABLE = re.compile(r"\s*\[([^\]]*)\]\s*(#.*)?$")


@dataclass(frozen=True, slots=True)
class Key:
    """A setting: the kind of its value, and its default as it would be written."""

    kind: str
    default: Any
    help: str
    auto: bool = False  # whether it may be "auto"
    choices: tuple[str, ...] = ()
    # Only the user's own file may set it: a path or a command that came with somebody's library
    # must not be followed.
    own: bool = False


_TYPES = {"int": _WHOLE, "float": _NUMBER, "Path": _PATH}


def keys_of(options: type, table: str = "") -> dict[str, Key]:
    """Return the keys of the options of a dataclass that a settings file may set."""
    return {
        table + one.name: Key(
            _LIST if one.many else _TYPES.get(one.kind, _TEXT),
            _AUTO if one.info.form == _AUTO else list(one.default) if one.many else one.default,
            one.summary,
            auto=one.info.form == _AUTO,
            choices=one.info.choices,
        )
        for one in fields_of(options)
        if one.info.setting
    }


KEYS: Mapping[str, Key] = {
    "library": Key(_PATH, "lpisearch.db", "Default library.", own=True),
    "opener": Key(
        _TEXT, "", "Command that opens a result; {file} and {page} are filled in.", own=True
    ),
    "auto_index": Key(
        _TEXT, "yes", "Whether an ingest also builds the index.", choices=("yes", "no")
    ),
    "encoder": Key(
        _TEXT,
        "",
        "Your encoder: its name, MODULE:NAME, an address of embeddings or a file of word vectors.",
        own=True,
    ),
    **keys_of(SearchOptions),
    **keys_of(IngestOptions),
    **keys_of(IndexOptions, "index."),
}


@dataclass(frozen=True, slots=True)
class Preference:
    """A value, and where it is set."""

    value: Any
    file: Path
    line: int | None = None

    @property
    def origin(self) -> str:
        """The file, and the line if it is known."""
        return f"{self.file}, line {self.line}" if self.line else str(self.file)


@dataclass(frozen=True, slots=True)
class Preferences:
    """The values that files set, by key; those of the user's own file come first."""

    values: Mapping[str, tuple[Preference, ...]] = field(default_factory=dict)

    def get(self, key: str) -> Preference | None:
        """Return the value of a key that takes precedence; None if it is not set."""
        return self.values[key][-1] if key in self.values else None

    def all_of(self, key: str) -> list[Any]:
        """Return the members of a list from all files."""
        return [member for preference in self.values.get(key, ()) for member in preference.value]


def own_file() -> Path:
    """Return where the user's own file is, or would be."""
    from platformdirs import user_config_path

    return user_config_path(_PROGRAM, appauthor=False) / _OWN_FILE


def file_beside(library: Location) -> Path:
    """Return where the file next to a library is, or would be; a server has no folder for one."""
    if isinstance(library, Address):
        raise LpiSearchError(
            f"{library} has no folder for a settings file.", "set it in your user config file"
        )
    return library.parent / FILE_BESIDE


def read_preferences(library: Location | None = None) -> Preferences:
    """Read the user's own file, and the one next to a library; an invalid file is refused."""
    values: dict[str, tuple[Preference, ...]] = {}
    files = [(own_file(), True)]
    if library is not None and not isinstance(library, Address):
        files.append((file_beside(library), False))
    for path, own in files:
        for key, preference in _read(path, own=own):
            values[key] = (*values.get(key, ()), preference)
    return Preferences(values)


def default_library() -> Preference | None:
    """Return the default library that the user has set; None if there is none."""
    preference = read_preferences().get("library")
    if preference is None:
        return None
    location = parse_location(preference.value)
    if isinstance(location, Path):
        location = preference.file.parent / location.expanduser()
    return Preference(location, preference.file, preference.line)


def own_encoder() -> str | None:
    """Return the encoder that the user has set; None if there is none."""
    preference = read_preferences().get("encoder")
    return str(preference.value) if preference is not None and preference.value else None


def check_value(
    key: str, value: Any, file: Path, line: int | None = None, *, own: bool = True
) -> None:
    """Refuse an unknown key, an invalid value, or a key that only the user's own file may set."""
    known = KEYS.get(key)
    if known is None:
        raise BadPreference(file, line, f"unknown setting “{key}”{nearest(key, KEYS)}", KEYS)
    if known.own and not own:
        reason = f"“{key}” is a user setting; put it in {own_file()}"
        raise BadPreference(file, line, reason)
    if (known.auto and value == _AUTO) or _is_a(known.kind, value):
        if known.choices and value not in known.choices:
            raise BadPreference(file, line, f"invalid value “{value}” for “{key}”", known.choices)
        return
    kind = f"{_AUTO} or {known.kind}" if known.auto else known.kind
    raise BadPreference(file, line, f"“{key}” must be {kind}, not {value!r}")


def _is_a(kind: str, value: Any) -> bool:
    if kind == _LIST:
        return isinstance(value, list) and all(isinstance(member, str) for member in value)
    if kind in {_TEXT, _PATH}:
        return isinstance(value, str) and bool(value)
    if isinstance(value, bool):
        return False
    if kind == _WHOLE:
        return isinstance(value, int) and value >= 0
    return isinstance(value, (int, float)) and math.isfinite(value) and value >= 0


def _read(path: Path, *, own: bool) -> Iterator[tuple[str, Preference]]:
    try:
        text = path.read_bytes().decode()
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise BadPreference(path, None, system_reason(error)) from error
    except UnicodeDecodeError as error:
        raise BadPreference(path, None, "not valid UTF-8") from error
    for key, value in _flat(_parsed(path, text)):
        line = _line_of(key, text)
        check_value(key, value, path, line, own=own)
        yield key, Preference(value, path, line)


def _parsed(path: Path, text: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadPreference(path, None, f"not valid TOML: {error}") from error


def _flat(values: Mapping[str, Any], table: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict) and f"{table}{name}" not in KEYS:
            yield from _flat(value, f"{table}{name}.")
        else:
            yield f"{table}{name}", value


def _line_of(key: str, text: str) -> int | None:
    """Return the line that sets a key; None where it is written in another way than usual."""
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if heading := _TABLE.match(line):
            table = f"{heading[1].strip()}."
        name = line.partition("=")[0].strip().replace('"', "")
        if name and table + name == key:
            return number
    return None


_HEAD = "# lpisearch settings\n\n"


def set_preference(file: Path, key: str, words: Sequence[str], *, own: bool = True) -> Any:
    """Set a key in a file, which is created if need be; return the value as it was written."""
    value = _typed(key, words, own=own)
    document = _read_document(file)
    *tables, name = key.split(".")
    table: Any = document
    for part in tables:
        table = table.setdefault(part, {})
    table[name] = value
    _write(file, document)
    return value


def unset_preference(file: Path, key: str) -> bool:
    """Remove a key; tell whether it was set."""
    _check_key(key)
    document = _read_document(file)
    *tables, name = key.split(".")
    table: Any = document
    for part in tables:
        table = table.get(part, {})
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
    """Return the value that words mean for a key."""
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
    if KEYS[key].kind == _PATH:
        location = parse_location(text)
        if isinstance(location, Path):  # it applies in any folder
            return os.path.abspath(location.expanduser())  # noqa: PTH100 (links stay)
        if location.secrets:
            raise BadOption("value", "do not store passwords in a config file; use ~/.pgpass")
    for kind in (int, float):
        if "number" in KEYS[key].kind:
            with suppress(ValueError):
                return kind(text)
    return text


def _read_document(file: Path) -> TOMLDocument:
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
