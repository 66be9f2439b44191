"""Ignore patterns, excluded folders, the library's own files.

The first of these that applies decides: the globs of the option `exclude`; `.lpisearchignore` files
from the innermost folder outwards; hidden and machine-made files; `.gitignore` files. So a
`!pattern` in `.lpisearchignore` includes what the later rules exclude.

The pattern language is git's: the last matching pattern decides, "!" negates, a slash inside
anchors a pattern to its folder, a trailing slash restricts it to folders, and "**" matches any
folders.
"""

from __future__ import annotations

import fnmatch
import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from lpisearch.index.format import MANIFEST_FILE, is_folder_name
from lpisearch.location import Address, Location, own_paths, real_path
from lpisearch.options import MEBIBYTE, FindOptions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence


GIT, OWN = ".gitignore", ".lpisearchignore"
_LARGEST = MEBIBYTE
_PACKAGES = {"node_modules", "bower_components"}
_CACHES = {"__pycache__"}
_CACHE_TAG = "CACHEDIR.TAG"
_CACHE_SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55"
_ENVIRONMENT = "pyvenv.cfg"


@dataclass(frozen=True, slots=True)
class Exclusion:
    """The rules that apply in one folder."""

    options: FindOptions
    exclude: IgnorePatterns  # the globs of the option
    own: tuple[IgnorePatterns, ...] = field(default=())  # innermost first
    git: tuple[IgnorePatterns, ...] = field(default=())  # innermost first

    @property
    def is_simple(self) -> bool:
        """Whether there are no patterns."""
        return not (self.options.exclude or self.own or self.git)

    @classmethod
    def at(cls, root: str, options: FindOptions) -> Self:
        """Return the rules around a folder that the user named.

        Patterns of its parents apply, `.gitignore` only within the repository. If they exclude the
        folder itself, naming it overrides them.
        """
        no_patterns = cls(options, IgnorePatterns.of(root, options.exclude))
        rules = no_patterns
        folders = (Path(root), *Path(root).parents)
        top = next((folder for folder in folders if (folder / ".git").exists()), None)
        for parent in reversed(Path(root).parents):
            in_repository = top is not None and parent.is_relative_to(top)
            rules = rules.within(str(parent), (GIT, OWN) if in_repository else (OWN,))
        return no_patterns if rules.reason(root, is_folder=True, usual=False) else rules

    def within(self, folder: str, names: Collection[str]) -> Self:
        """Return the rules of a folder, given the names of its entries."""
        if self.options.no_ignore:
            return self
        own = (*_patterns(folder, OWN, names), *self.own)
        git = (*_patterns(folder, GIT, names), *self.git)
        return self if (own, git) == (self.own, self.git) else replace(self, own=own, git=git)

    def reason(self, path: str, *, is_folder: bool, usual: bool = True) -> str:
        """Return why a path is excluded (a key of `IngestReport.left_out`), or ""."""
        if self.exclude.verdict(path, is_folder=is_folder):
            return "exclude"
        own = _first(self.own, path, is_folder=is_folder)
        if own is not None:
            return "lpisearchignore" if own else ""
        if usual and (reason := self._usual(os.path.basename(path), is_folder=is_folder)):
            return reason
        return "gitignore" if _first(self.git, path, is_folder=is_folder) else ""

    def within_reason(self, folder: str, names: Collection[str]) -> str:
        """Return why a folder is excluded because of its content, or ""."""
        if self.options.no_ignore:
            return ""
        if _ENVIRONMENT in names:
            return "packages"
        if MANIFEST_FILE in names and is_folder_name(os.path.basename(folder)):
            return "caches"  # an index, of whatever library
        return "caches" if _CACHE_TAG in names and _is_tagged(folder) else ""

    def _usual(self, name: str, *, is_folder: bool) -> str:
        if name.startswith(".") and not self.options.hidden:
            return "hidden"
        if self.options.no_ignore or not is_folder:
            return ""
        return "packages" if name in _PACKAGES else "caches" if name in _CACHES else ""


def _first(files: tuple[IgnorePatterns, ...], path: str, *, is_folder: bool) -> bool | None:
    verdicts = (patterns.verdict(path, is_folder=is_folder) for patterns in files)
    return next((verdict for verdict in verdicts if verdict is not None), None)


def _patterns(folder: str, name: str, names: Collection[str]) -> list[IgnorePatterns]:
    """Read a pattern file; one that is too large or unreadable has no patterns."""
    if name not in names:
        return []
    try:
        with open(os.path.join(folder, name), "rb") as stream:
            data = stream.read(_LARGEST)
    except OSError:
        return []
    return [IgnorePatterns.of(folder, data.decode("utf-8-sig", "replace").split("\n"))]


def _is_tagged(folder: str) -> bool:
    """Tell whether a folder is tagged as a cache (bford.info/cachedir)."""
    try:
        with open(os.path.join(folder, _CACHE_TAG), "rb") as stream:
            return stream.read(len(_CACHE_SIGNATURE)) == _CACHE_SIGNATURE
    except OSError:
        return False


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
        """Parse a line; None for a comment, a blank line or an empty pattern."""
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
    """The patterns of one file or option."""

    folder: str  # absolute; paths are matched relative to it
    _patterns: tuple[_Pattern, ...]

    @classmethod
    def of(cls, folder: str, lines: Iterable[str]) -> Self:
        """Parse lines; the last has precedence."""
        patterns = [pattern for line in lines if (pattern := _Pattern.of(line))]
        return cls(folder, tuple(reversed(patterns)))

    def verdict(self, path: str, *, is_folder: bool) -> bool | None:
        """Return whether a path is excluded; None if no pattern matches."""
        parts = path[len(self.folder) :].strip(os.sep).split(os.sep)
        for pattern in self._patterns:
            if pattern.matches(parts, is_folder=is_folder):
                return pattern.excludes
        return None


def _without_trailing_spaces(line: str) -> str:
    """Remove trailing spaces, but not one after a backslash."""
    bare = line.rstrip(" ")
    return f"{bare} " if bare.endswith("\\") and len(bare) < len(line) else bare


def _segment(text: str) -> _Segment:
    if text == "**":
        return None
    # `fnmatch` makes expressions without backtracking, but knows no backslash.
    text = text.replace("[^", "[!")
    return re.compile(fnmatch.translate(_ESCAPED.sub(r"[\1]", text)))


def _match(segments: Sequence[_Segment], parts: Sequence[str]) -> bool:
    """Match all parts of a path; `reached` has the numbers of parts consumed so far."""
    reached = {0}
    for at, segment in enumerate(segments):
        if segment is None:
            # A final "**" matches the content of the folder; elsewhere also no folder at all.
            least = min(reached, default=len(parts)) + (at == len(segments) - 1)
            reached = set(range(least, len(parts) + 1))
        else:
            reached = {
                used + 1 for used in reached if used < len(parts) and segment.match(parts[used])
            }
    return len(parts) in reached


@dataclass(frozen=True, slots=True)
class OwnFiles:
    """The files of a library, known by name and, for links, by identity."""

    _names: frozenset[str] = frozenset()
    _identities: frozenset[tuple[int, int]] = field(default=frozenset())

    @classmethod
    def of(cls, library: Location, others: Iterable[Path] = ()) -> Self:
        """Collect the files of a library and others that must not be ingested."""
        names = () if isinstance(library, Address) else {library, real_path(library)}
        own = (path for name in names for path in own_paths(name))
        paths = [os.path.abspath(path) for path in (*own, *others)]
        facts = [os.stat(path) for path in paths if os.path.exists(path)]
        return cls(frozenset(paths), frozenset((one.st_dev, one.st_ino) for one in facts))

    def has(self, path: str, facts: os.stat_result) -> bool:
        """Tell whether a file or folder is one of them."""
        return path in self._names or (facts.st_dev, facts.st_ino) in self._identities
