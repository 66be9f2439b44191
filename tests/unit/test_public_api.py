import inspect
import os
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

import lpisearch
from lpisearch.agents.tools import TOOLS
from lpisearch.cli.verbs import ALIASES
from lpisearch.config import KEYS
from lpisearch.web.api import described
from tests.unit.cli.test_every_verb import COMMANDS

_GOLDEN = Path(__file__).parents[1] / "golden"


def test_all_is_true() -> None:
    assert len(set(lpisearch.__all__)) == len(lpisearch.__all__)
    assert all(getattr(lpisearch, name) is not None for name in lpisearch.__all__)
    assert dir(lpisearch) == sorted([*lpisearch.__all__, "__version__"])


def test_every_public_name_is_documented() -> None:
    assert all((getattr(lpisearch, name).__doc__ or "").strip() for name in lpisearch.__all__)


def test_other_names_do_not_exist() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = lpisearch.nonsense


def test_a_change_of_the_api_is_seen() -> None:
    """The names, arguments, fields and methods are those listed; `LPISEARCH_WRITE_GOLDEN=1` lists.

    What is listed stays for all versions with the same first number.
    """
    _compare("api.txt", (line for name in sorted(lpisearch.__all__) for line in _lines(name)))


def test_a_change_of_options_and_of_operations_is_seen() -> None:
    """Commands, operations and tools with what they take, and the keys of settings."""
    _compare("options.txt", [*_commands(), *_operations(), *_tools(), *(f"key {k}" for k in KEYS)])


def _compare(name: str, lines: Iterable[str]) -> None:
    listed = "\n".join(lines) + "\n"
    if os.environ.get("LPISEARCH_WRITE_GOLDEN"):
        (_GOLDEN / name).write_text(listed, encoding="utf-8")
    assert listed == (_GOLDEN / name).read_text(encoding="utf-8")


def _commands() -> Iterator[str]:
    for verb, command in sorted(COMMANDS.items()):
        names = {each for one in command.params for each in (*one.opts, *one.secondary_opts)}
        yield " ".join([f"lpisearch {verb}:", *sorted(one for one in names if one[0] == "-")])
    yield from (f"lpisearch {name}: {' '.join(verb)}" for name, verb in sorted(ALIASES.items()))


def _operations() -> Iterator[str]:
    for path, methods in sorted(described()["paths"].items()):
        for method, operation in sorted(methods.items()):
            names = sorted(one["name"] for one in operation.get("parameters", []))
            yield " ".join([f"{method.upper()} {path}:", *names])


def _tools() -> Iterator[str]:
    for tool in TOOLS.values():
        definition = tool.definition(["library"])
        yield " ".join([f"tool {tool.name}:", *sorted(definition["inputSchema"]["properties"])])


def _lines(name: str) -> Iterator[str]:
    thing = getattr(lpisearch, name)
    if not inspect.isclass(thing):
        yield name + _arguments(thing)
        return
    parent = next(one.__name__ for one in thing.__mro__[1:] if not one.__name__.startswith("_"))
    yield f"class {name}({parent})"
    if issubclass(thing, Exception):
        return
    stored = [one.name for one in fields(thing)] if is_dataclass(thing) else []
    yield from (f"    {one}" for one in stored)
    if not stored and "__init__" in vars(thing):
        yield f"    __init__{_arguments(thing.__init__)}"
    for own, value in sorted(vars(thing).items()):
        if own.startswith("_") or own in stored:
            continue
        method = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if inspect.isfunction(method):
            yield f"    {own}{_arguments(method)}"
        elif isinstance(value, property) or not hasattr(value, "__get__"):
            yield f"    {own}"


def _arguments(function: Any) -> str:
    """Return the names of arguments, "=" behind those with a default."""
    marks = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}
    parts, starred = [], False
    for one in inspect.signature(function).parameters.values():
        if one.kind is one.KEYWORD_ONLY and not starred:
            parts.append("*")
        starred = starred or one.kind in {one.KEYWORD_ONLY, one.VAR_POSITIONAL}
        default = "" if one.default is one.empty else "="
        parts.append(f"{marks.get(one.kind.name, '')}{one.name}{default}")
    return f"({', '.join(parts)})"
