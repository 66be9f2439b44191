"""Front matter: the YAML block between two lines of dashes at the head of a text file."""

from __future__ import annotations

import re
from typing import Any

from lpisearch.records import Problem

MAX_CHARACTERS = 64 * 1024
"""A longer block is no front matter."""


def split_front_matter(text: str) -> tuple[dict[str, Any], str, list[Problem]]:
    """Return the fields, the text after them, and warnings.

    A block that is not valid YAML gives a warning and stays in the text. One that is valid but
    no mapping is ordinary text between two rules.
    """
    opening = _OPENING.match(text)
    if not opening:
        return {}, text, []
    closing = _CLOSING.search(text, opening.end(), opening.end() + MAX_CHARACTERS)
    if not closing:
        too_long = _CLOSING.search(text, opening.end() + MAX_CHARACTERS)
        reason = f"front matter over {MAX_CHARACTERS // 1024} KiB is read as text"
        return {}, text, [Problem(reason, warning=True)] if too_long else []
    try:
        fields = _parse(text[opening.end() : closing.start()])
    except _FAULTS as error:
        reason = f"front matter is read as text: {_first_line(error)}"
        return {}, text, [Problem(reason, warning=True)]
    if not isinstance(fields, dict):
        return {}, text, []
    return {str(name): value for name, value in fields.items()}, text[closing.end() :], []


_MOST_BRACKETS = 1000
_LONGEST_REASON = 200
_OPENING = re.compile(r"---[ \t]*\n")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.MULTILINE)
# PyYAML lets these through for values such as “!!int ''” or 2024-13-45; its own error is a
# ValueError here, see _parse.
_FAULTS = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError)


def _parse(block: str) -> Any:
    import yaml

    if block.count("[") + block.count("{") > _MOST_BRACKETS:
        # PyYAML takes quadratic time for brackets within brackets.
        raise ValueError("too many brackets")
    try:
        # An alias lets a few lines stand for a billion values.
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(block)):
            raise ValueError("YAML aliases are not allowed")
        return yaml.safe_load(block)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" in line {mark.line + 2}" if mark else ""
        raise ValueError(f"not valid YAML{place}: {getattr(error, 'problem', error)}") from error


def _first_line(error: BaseException) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return str(error).split("\n")[0][:_LONGEST_REASON]
