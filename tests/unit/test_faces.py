"""What the rooms below the command line say: fields and calls, never flags and shell commands."""

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from inspect import signature
from pathlib import Path
from typing import get_type_hints

import lpisearch
from lpisearch import options
from lpisearch.cli.output import flag
from lpisearch.cli.verbs import VERBS
from lpisearch.library import Library
from lpisearch.model.documents import Filter
from lpisearch.options import OPTION_CLASSES, IndexFields, IndexOptions, SweepOptions

_PACKAGE = Path(lpisearch.__file__).parent
_REFERENCE = (_PACKAGE.parent / "docs" / "cli.md").read_text(encoding="utf-8")
_OF_THE_SHELL = re.compile(rf"\blpisearch ({'|'.join(VERBS)}|\{{)|--\w|^-\w$")

# What looks like the command line's words below it, and why it is none.
_ALLOWED = {
    ("errors.py", "pip install --upgrade lpisearch"): "a program that is not ours",
    ("readers/isolation.py", "-m"): "Python's own",
    ("readers/isolation.py", "-P"): "Python's own",
    ("storage/sqlite/lock.py", "lpisearch {purpose}"): "the name of the program that holds a lock",
    ("evaluation/page.py", "--ink"): "variables of CSS",
    ("readers/pdf.py", "-l"): "an option of tesseract",
    ("readers/legacy_office.py", "-m"): "an option of antiword",
    ("readers/legacy_office.py", "-w"): "an option of antiword and of catdoc",
    ("readers/legacy_office.py", "-d"): "an option of catdoc",
    ("readers/legacy_office.py", "-q"): "an option of xls2csv",
    ("readers/legacy_office.py", "-c"): "an option of xls2csv",
}

# Options declare the help of a face; viewers open files for a person at this machine's terminal.
_FACES = ("cli/", "web/", "agents/", "options.py", "viewers.py", "model/document_filter.py")

# Fields that Python alone has.
_PYTHON_ONLY = {
    "projection",  # of the map, which no terminal draws
    *("k1", "b", "what", "wanted", "tokeniser", "stop words"),
    *("min_df", "max_df", "max_terms"),
}

# What is set for good; Python's way is to write the file.
_SETTINGS = {"key", "value"}

# Calls that are not methods of `Library`.
_OTHER_CALLS = {"open", "help", "settings"}


def _trees() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(_PACKAGE.rglob("*.py")):
        name = path.relative_to(_PACKAGE).as_posix()
        if not name.startswith(_FACES):
            yield name, ast.parse(path.read_text(encoding="utf-8"))


def _strings(tree: ast.Module) -> Iterator[str]:
    """Yield all strings but the docstrings."""
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.value


def _calls(function: str) -> Iterator[ast.Call]:
    for _, tree in _trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == function:
                yield node


def _first_arguments(function: str) -> Iterator[ast.expr]:
    return (node.args[0] for node in _calls(function) if node.args)


def test_no_shell_words_below_the_command_line() -> None:
    """No string below the faces holds a flag or a command; each exception has its reason."""
    said = {
        (name, text)
        for name, tree in _trees()
        for text in _strings(tree)
        if _OF_THE_SHELL.search(text)
    }
    used = {
        (name, part)
        for name, text in said
        for room, part in _ALLOWED
        if room == name and part in text
    }
    surplus = {
        (name, text)
        for name, text in said
        if not any(room == name and part in text for room, part in used)
    }
    assert surplus == set()
    assert used == set(_ALLOWED)


def test_every_field_is_an_option() -> None:
    fields = {
        node.value
        for function in ("BadOption", "Option")
        for first in _first_arguments(function)
        for node in ast.walk(first)
        if isinstance(node, ast.Constant)
    }
    assert len(fields) > 30
    unknown = {name for name in fields - _PYTHON_ONLY if not _is_documented(flag(str(name)))}
    assert unknown == set()


def test_every_call_is_a_method_of_the_library() -> None:
    verbs = {first.value for first in _first_arguments("call") if isinstance(first, ast.Constant)}
    assert {"index", "ingest", "entries"} < verbs
    assert {verb for verb in verbs - _OTHER_CALLS if not hasattr(Library, str(verb))} == set()


def test_every_call_can_be_made_as_it_is_said() -> None:
    calls = [node for node in _calls("call") if isinstance(node.args[0], ast.Constant)]
    assert len(calls) > 20
    refused = set()
    for node in calls:
        verb = str(ast.literal_eval(node.args[0]))
        if verb in _OTHER_CALLS:
            continue
        given = {word.arg for word in node.keywords if word.arg is not None}
        taken = signature(getattr(Library, verb))
        try:
            taken.bind("the library", *node.args[1:], **dict.fromkeys(given))
        except TypeError as error:
            refused.add(f"{verb}: {error}")
        named = [one for one in taken.parameters.values() if one.kind is one.VAR_KEYWORD]
        for one in named:
            fields_by_name = getattr(options, str(one.annotation)[len("Unpack[") : -1])
            refused |= given - set(fields_by_name.__annotations__) - set(taken.parameters)
    assert refused == set()


def test_an_index_takes_all_its_options_by_name() -> None:
    named = get_type_hints(IndexFields)
    assert {"method": str} | named == get_type_hints(IndexOptions)


def test_every_field_is_named_so_in_python() -> None:
    known = {one.name for kind in (*OPTION_CLASSES, SweepOptions, Filter) for one in fields(kind)}
    methods = [getattr(Library, name) for name in dir(Library) if name[0] != "_"]
    methods = [each for each in methods if callable(each)]
    known |= {name for method in methods for name in signature(method).parameters}
    said = {
        node.value
        for function in ("BadOption", "Option")
        for first in _first_arguments(function)
        for node in ast.walk(first)
        if isinstance(node, ast.Constant)
    }
    assert said - known - _PYTHON_ONLY - _SETTINGS == set()


def _is_documented(name: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", _REFERENCE) is not None
