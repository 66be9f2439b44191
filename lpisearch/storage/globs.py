"""Match paths by glob or folder in linear time.

`*` stands for anything, a slash too, `?` for one character, `[a-z]` for one of some and `[^a-z]` or
`[!a-z]` for one of the others. A folder stands for all that is below it.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_STARS = re.compile(r"\*+")
_PARTS = re.compile(r"\*+|\[(?P<other>[!^]?)(?P<some>\]?[^\]]*)\]")
_NOTHING, _BELOW = "(?!)", "(?:/.*)?"
_LONGEST_PATH = 1 << 13
_NEVER = "(?!.*)x"


@lru_cache(maxsize=64)
def glob_of(pattern: str) -> Glob:
    """Return a pattern, ready to be compared with many paths."""
    return Glob(_slashes(pattern))


@dataclass(eq=False)
class Glob:
    """Which paths a pattern means."""

    pattern: str

    def __post_init__(self) -> None:
        self.folder = self.pattern.rstrip("/").removeprefix("./")
        self._parts = list(_parts_of(self.folder))
        # What is too short to be meant needs no expression, which may be as long as the pattern.
        self.least = sum(part != "*" for part in self._parts)
        self._expression: re.Pattern[str] | None = None

    def means(self, path: str) -> bool:
        """Tell whether a path is one that the pattern means, or below one."""
        path = _slashes(path)
        if path == self.folder or path.startswith(f"{self.folder}/"):
            return True  # also where its name has the signs of a pattern
        if len(path) < self.least:
            return False
        if self._expression is None:
            self._expression = re.compile(_expression(self._parts), re.DOTALL)
        return self._expression.fullmatch(path) is not None

    def posix(self) -> str:
        """Return the expression for PostgreSQL; nothing matches one for what is beyond any path."""
        if self.least > _LONGEST_PATH or _NOTHING in self._parts:
            return _NEVER
        return "^" + "".join(".*" if part == "*" else part for part in self._parts) + "(?:/.*)?$"


def _slashes(path: str) -> str:
    return path if os.sep == "/" else path.replace(os.sep, "/")


def _parts_of(pattern: str) -> Iterator[str]:
    """Yield each part as an expression, stars as one "*"."""
    closed = pattern.rfind("]")
    at = 0
    while at < len(pattern):
        # Behind the last bracket none is closed: to look for one each time would take for ever.
        part = _PARTS.match(pattern, at) if at < closed else _STARS.match(pattern, at)
        if part is None:
            yield "." if pattern[at] == "?" else re.escape(pattern[at])
            at += 1
        else:
            yield "*" if part[0][0] == "*" else _one_of(part["some"], other=bool(part["other"]))
            at = part.end()


def _one_of(signs: str, *, other: bool) -> str:
    """Return the expression of one character of those in brackets, or of all others."""
    ranges = re.findall(r"(.)-(.)|(.)", signs, re.DOTALL)
    shown = "".join(
        f"{re.escape(first)}-{re.escape(last)}" if not single else re.escape(single)
        for first, last, single in ranges
        if single or first <= last
    )
    if not shown:
        return "." if other else _NOTHING
    return f"[{'^' if other else ''}{shown}]"


def _expression(parts: list[str]) -> str:
    """Join the parts; what stands between two stars is taken where it first occurs.

    To come back and take it later can never help, and would cost a power of the stars.
    """
    pieces = [""]
    for part in parts:
        if part == "*":
            pieces.append("")
        else:
            pieces[-1] += part
    first, *rest = pieces
    if not rest:
        return first + _BELOW
    *between, last = rest
    return first + "".join(f"(?>.*?{each})" for each in between) + ".*" + last + _BELOW
