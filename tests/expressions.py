"""Every regular expression of the package, and text that is made to stall it.

`compiled_expressions` imports all modules and gathers what they hold. `hostile_units` takes an
expression apart and gives, for each, the pieces of text that may bring it to try the same place
again and again: what matches its beginning, up to each of its parts, and what goes on from there.
"""

import ast
import importlib
import inspect
import pkgutil
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import regex

import lpisearch

FRAMEWORKS = re.compile(r"lpisearch\.(terrier|retrievers\.\w+)")
"""Modules that import what only `make test-integrations` installs."""
_MOST_UNITS = 80
_FILLERS = ("a", " ", "\n", "1", "é", "\t", "A", "-")


def compiled_expressions() -> dict[str, Any]:
    """Return every expression that a module of the package holds, by the name it has there."""
    found: dict[str, Any] = {}
    for module in pkgutil.walk_packages(lpisearch.__path__, "lpisearch."):
        if not module.name.endswith("__main__") and not FRAMEWORKS.fullmatch(module.name):
            for name, value in vars(importlib.import_module(module.name)).items():
                found |= {f"{module.name}.{where}": each for where, each in _within(name, value)}
    return found


def inline_expressions() -> tuple[dict[str, Any], set[str]]:
    """Return the expressions written within functions, and the functions that make some.

    The first are by module and line; what is made of what a person or a file says has no text
    that could be read here.
    """
    written: dict[str, Any] = {}
    made: set[str] = set()
    for module in pkgutil.walk_packages(lpisearch.__path__, "lpisearch."):
        path = Path(str(module.module_finder.path), f"{module.name.rpartition('.')[2]}.py")  # type: ignore[union-attr]
        if path.exists():
            for function, call in _calls_within(ast.parse(path.read_bytes())):
                pattern = call.args[0] if call.args else None
                if isinstance(pattern, ast.Constant):
                    written[f"{module.name}:{call.lineno}"] = re.compile(pattern.value)
                else:
                    made.add(f"{module.name}.{function}")
    return written, made


def _calls_within(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """Yield the calls of `re` and `regex` within functions, each with the function's name."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if (
                    isinstance(node, ast.Call)
                    and isinstance(called := node.func, ast.Attribute)
                    and isinstance(called.value, ast.Name)
                    and called.value.id in {"re", "regex"}
                    and called.attr != "escape"
                ):
                    yield function.name, node


def _within(name: str, value: object) -> Iterator[tuple[str, Any]]:
    """Look into a value of a module: an expression, a group of some, what makes some once."""
    if isinstance(value, (re.Pattern, regex.Pattern)):
        yield name, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _within(f"{name}[{key!r}]", each)
    elif isinstance(value, (tuple, list)):
        for number, each in enumerate(value):
            yield from _within(f"{name}[{number}]", each)
    elif hasattr(value, "cache_info") and name in MADE_ONCE:
        yield from _within(f"{name}()", value())  # type: ignore[operator]


MADE_ONCE = ("_patterns", "_marks")
"""Functions without arguments that compile when they are first called."""


def way_of_use(name: str, expression: Any) -> Callable[[str], object]:
    """Return how the package uses an expression: at the beginning of a text alone, or all over."""
    room = name[: name.find("._") if "._" in name else name.rindex(".")]
    module = importlib.import_module(room)
    own = re.escape(name.removeprefix(f"{room}."))
    used = set(re.findall(rf"(?<!\w){own}\.(\w+)\(", inspect.getsource(module)))
    if used and used <= {"match", "fullmatch"}:
        return getattr(expression, used.pop())  # type: ignore[no-any-return]
    return lambda text: deque(expression.finditer(text), maxlen=0)


def hostile_units(expression: Any) -> list[tuple[str, str]]:
    """Return pairs (beginning, repeated piece) that are made for an expression."""
    if isinstance(expression, re.Pattern):
        samples = _samples(re._parser.parse(expression.pattern))  # type: ignore[attr-defined]
    else:  # of the syntax that only `regex` has
        samples = ["\u0301", "中", "ก", "'", "\u00ad", "a'", "é", "が"]
    pieces = dict.fromkeys((*samples, *_FILLERS))
    units = [("", piece) for piece in pieces]
    units += [(piece, filler) for piece in samples for filler in _single(samples)]
    units += [("", piece + filler) for piece in samples for filler in _single(samples)]
    return list(islice(dict.fromkeys(units), _MOST_UNITS))


def _single(samples: Iterable[str]) -> list[str]:
    return list(dict.fromkeys([*(each[-1] for each in samples if each), *_FILLERS]))[:14]


def _samples(parts: Iterable[Any]) -> list[str]:
    """Return what matches the first part, the first two, … and the same of what is nested."""
    found: list[str] = []
    begun = ""
    for kind, detail in parts:
        inner = [_samples(each) for each in _nested(kind, detail)]
        for samples in inner:
            found += [begun + sample for sample in samples]
        begun += inner[0][-1] if inner and inner[0] else _one(kind, detail)
        found.append(begun)
    return [each for each in dict.fromkeys(found) if each]


def _nested(kind: Any, detail: Any) -> list[Any]:
    match str(kind):
        case "SUBPATTERN":
            return [detail[-1]]
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            return [detail[2]]
        case "BRANCH":
            return list(detail[1])
        case "ATOMIC_GROUP":
            return [detail]
        case "ASSERT":
            return [detail[1]]
    return []


_CATEGORIES = {"CATEGORY_DIGIT": "1", "CATEGORY_SPACE": " ", "CATEGORY_WORD": "a"}


def _one(kind: Any, detail: Any) -> str:
    """Return one character that a part takes, or ""."""
    match str(kind):
        case "LITERAL":
            return chr(detail)
        case "NOT_LITERAL":
            return "a" if detail != ord("a") else "b"
        case "ANY":
            return "a"
        case "IN":
            return _of_set(detail)
    return ""


def _of_set(members: list[Any]) -> str:
    name, value = members[0]
    if str(name) == "NEGATE":
        return _outside(members[1:])
    if str(name) == "RANGE":
        return chr(value[0])
    return _CATEGORIES.get(str(value), "-") if str(name) == "CATEGORY" else chr(value)


def _outside(members: list[Any]) -> str:
    taken = {chr(value) for name, value in members if str(name) == "LITERAL"}
    return next(each for each in "a1é-" if each not in taken)
