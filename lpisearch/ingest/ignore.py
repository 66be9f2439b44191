"""Ignore patterns, excluded folders, own files.

Asked in this order, the first that has a word decides: the globs of the option `exclude`, the
`.lpisearchignore` files from the innermost folder out, then what is hidden or made by machines,
then the `.gitignore` files. So a `!pattern` in `.lpisearchignore` brings back what is left out
by rule.

Lines come in, a verdict on a path comes out. The language is that of git: the last pattern that
matches decides, "!" takes back, a slash within ties a pattern to its folder, a slash at the end
means folders alone, "**" stands for any folders.
"""

from __future__ import annotations

import fnmatch
import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from lpisearch.location import Address, own_paths, real_path
from lpisearch.options import MEBIBYTE, FindOptions
from lpisearch.storage import OWN_HEAD_BYTES, is_own_content

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from lpisearch.location import Location


GIT, OWN = ".gitignore", ".lpisearchignore"
_LARGEST = MEBIBYTE
_PACKAGES = {"node_modules", "bower_components"}
_CACHES = {"__pycache__"}
_CACHE_TAG = "CACHEDIR.TAG"
_CACHE_SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55"
_ENVIRONMENT = "pyvenv.cfg"


@dataclass(frozen=True, slots=True)
class Exclusion:
    """What holds in one folder: the rules that were given, and those of the folders around it.

    Attributes
    ----------
    options
        What was asked for.
    exclude
        The globs of the option.
    own, git
        The files of patterns that hold here, the innermost first.
    """

    options: FindOptions
    exclude: IgnorePatterns
    own: tuple[IgnorePatterns, ...] = field(default=())
    git: tuple[IgnorePatterns, ...] = field(default=())

    @classmethod
    def at(cls, root: str, options: FindOptions) -> Self:
        """Return what holds around a folder that was named.

        Patterns of the folders around it count, `.gitignore` as far as the repository goes; but
        a folder that they leave out was named all the same, so that they do not count within.
        """
        outside = cls(options, IgnorePatterns.of(root, options.exclude))
        found = outside
        top = _repository(root)
        for parent in reversed(Path(root).parents):
            in_repository = top is not None and parent.is_relative_to(top)
            found = found.within(str(parent), (GIT, OWN) if in_repository else (OWN,))
        return outside if found.reason(root, is_folder=True, usual=False) else found

    def within(self, folder: str, names: Collection[str]) -> Self:
        """Return what holds in a folder, given the names of what is in it."""
        if self.options.no_ignore:
            return self
        own = (*_patterns(folder, OWN, names), *self.own)
        git = (*_patterns(folder, GIT, names), *self.git)
        return self if (own, git) == (self.own, self.git) else replace(self, own=own, git=git)

    def reason(self, path: str, *, is_folder: bool, usual: bool = True) -> str:
        """Return why a path is left out (a key of `IngestReport.left_out`), or ""."""
        if self.exclude.verdict(path, is_folder=is_folder):
            return "exclude"
        stated = _first(self.own, path, is_folder=is_folder)
        if stated is not None:
            return "lpisearchignore" if stated else ""
        if usual and (known := self._usual(os.path.basename(path), is_folder=is_folder)):
            return known
        return "gitignore" if _first(self.git, path, is_folder=is_folder) else ""

    def within_reason(self, folder: str, names: Collection[str]) -> str:
        """Return why a folder is left out for what is in it, or ""."""
        if self.options.no_ignore:
            return ""
        if _ENVIRONMENT in names:
            return "packages"
        return "caches" if _CACHE_TAG in names and _is_tagged(folder) else ""

    def _usual(self, name: str, *, is_folder: bool) -> str:
        if name.startswith(".") and not self.options.hidden:
            return "hidden"
        if self.options.no_ignore or not is_folder:
            return ""
        return "packages" if name in _PACKAGES else "caches" if name in _CACHES else ""


def _repository(root: str) -> Path | None:
    """Return the top folder of the repository that a folder is in."""
    folder = Path(root)
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)


def _first(files: tuple[IgnorePatterns, ...], path: str, *, is_folder: bool) -> bool | None:
    verdicts = (each.verdict(path, is_folder=is_folder) for each in files)
    return next((verdict for verdict in verdicts if verdict is not None), None)


def _patterns(folder: str, name: str, names: Collection[str]) -> list[IgnorePatterns]:
    """Read one file of patterns; one that is too large, or cannot be read, has none."""
    if name not in names:
        return []
    try:
        with open(os.path.join(folder, name), "rb") as stream:
            data = stream.read(_LARGEST)
    except OSError:
        return []
    return [IgnorePatterns.of(folder, data.decode("utf-8-sig", "replace").split("\n"))]


def _is_tagged(folder: str) -> bool:
    """Tell whether a folder says of itself that it is a cache (bford.info/cachedir)."""
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


@dataclass(frozen=True, slots=True)
class OwnFiles:
    """The files of one library, known by name and, through links and other names, by identity."""

    _names: frozenset[str] = frozenset()
    _identities: frozenset[tuple[int, int]] = field(default=frozenset())

    @classmethod
    def of(cls, library: Location, others: Iterable[Path] = ()) -> Self:
        """Find the files of a library; `others` are not to be ingested either."""
        called = (
            {} if isinstance(library, Address) else dict.fromkeys((library, real_path(library)))
        )
        own = (path for name in called for path in own_paths(name))
        paths = [os.path.abspath(path) for path in (*own, *others)]
        found = [os.stat(path) for path in paths if os.path.exists(path)]
        return cls(frozenset(paths), frozenset((one.st_dev, one.st_ino) for one in found))

    def has(self, path: str, facts: os.stat_result) -> bool:
        """Tell whether a file or folder is one of them."""
        return path in self._names or (facts.st_dev, facts.st_ino) in self._identities


def is_own_file(path: Path) -> bool:
    """Tell from its content whether a file is a library, a copy of one, or the lock of one."""
    with path.open("rb") as stream:
        return is_own_content(stream.read(OWN_HEAD_BYTES))
