"""Patterns of a `.gitignore`, matched in linear time: they may come from strangers.

Lines come in, a verdict on a path comes out. The language is that of git: the last pattern that
matches decides, "!" takes back, a slash within ties a pattern to its folder, a slash at the end
means folders alone, "**" stands for any folders.
"""

from __future__ import annotations

import fnmatch
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_Segment = re.Pattern[str] | None  # None stands for "**"
_ESCAPED = re.compile(r"\\(.)")


@dataclass(frozen=True, slots=True)
class _Pattern:
    """One line."""

    segments: tuple[_Segment, ...]
    tied: bool
    folders_alone: bool
    excludes: bool

    @classmethod
    def of(cls, line: str) -> Self | None:
        """Read a line; None for a comment, a blank or what can match nothing."""
        line = _without_trailing_spaces(line.rstrip("\r\n"))
        excludes = not line.startswith("!")
        line = line if excludes else line[1:]
        folders_alone = line.endswith("/")
        line = line.rstrip("/") if folders_alone else line
        if not line or (excludes and line.startswith("#")):
            return None
        tied = "/" in line
        segments = [_segment(part) for part in line.removeprefix("/").split("/")]
        return cls(tuple(segments), tied, folders_alone, excludes)

    def matches(self, parts: Sequence[str], *, is_folder: bool) -> bool:
        if self.folders_alone and not is_folder:
            return False
        if not self.tied:
            return self.segments[0] is None or bool(self.segments[0].match(parts[-1]))
        return _match(self.segments, parts)


@dataclass(frozen=True, slots=True)
class IgnorePatterns:
    """The patterns of one file, or of an option, and the folder that they speak of.

    Attributes
    ----------
    folder
        Absolute; paths are matched as they are below it.
    """

    folder: str
    _patterns: tuple[_Pattern, ...]

    @classmethod
    def of(cls, folder: str, lines: Iterable[str]) -> Self:
        """Read lines; the last is asked first."""
        patterns = [pattern for line in lines if (pattern := _Pattern.of(line))]
        return cls(folder, tuple(reversed(patterns)))

    def verdict(self, path: str, *, is_folder: bool) -> bool | None:
        """Return whether a path is excluded; None if no pattern speaks of it."""
        parts = path[len(self.folder) :].strip(os.sep).split(os.sep)
        for pattern in self._patterns:
            if pattern.matches(parts, is_folder=is_folder):
                return pattern.excludes
        return None


def _without_trailing_spaces(line: str) -> str:
    """Take off the spaces at the end, but for one with a backslash before it."""
    bare = line.rstrip(" ")
    return f"{bare} " if bare.endswith("\\") and len(bare) < len(line) else bare


def _segment(text: str) -> _Segment:
    if text == "**":
        return None
    # `fnmatch` makes expressions without backtracking, but knows no backslash.
    text = text.replace("[^", "[!")
    return re.compile(fnmatch.translate(_ESCAPED.sub(r"[\1]", text)))


def _match(segments: Sequence[_Segment], parts: Sequence[str]) -> bool:
    """Match all parts of a path: after each segment, which numbers of parts may be used up."""
    reached = {0}
    for at, segment in enumerate(segments):
        if segment is None:
            # At the end "**" means what is in the folder, elsewhere also no folder at all.
            least = min(reached, default=len(parts)) + (at == len(segments) - 1)
            reached = set(range(least, len(parts) + 1))
        else:
            reached = {
                used + 1 for used in reached if used < len(parts) and segment.match(parts[used])
            }
    return len(parts) in reached
