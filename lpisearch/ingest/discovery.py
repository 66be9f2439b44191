"""Find the files that arguments mean."""

from __future__ import annotations

import glob
import os
import stat
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lpisearch.errors import LpiSearchError, NothingThere
from lpisearch.files import refuse_outside
from lpisearch.ingest.ignore import Exclusion, OwnFiles
from lpisearch.messages import system_reason
from lpisearch.model.documents import FailedFile, Source, Trouble
from lpisearch.options import FindOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


@dataclass(frozen=True, slots=True)
class DiscoveredFile:
    """A file to ingest."""

    path: str  # absolute: the identity of the source
    root: str  # the folder from which its documents are named and labelled
    size: int
    mtime_ns: int
    named: bool = False  # by the user, so it must not be skipped silently
    location: str = ""  # of the bytes, if not at `path` (standard input)
    ctime_ns: int = 0  # unknown

    def is_as(self, known: Source | FailedFile) -> bool:
        """Tell whether size and times are those of an earlier reading."""
        is_unknown = 0 in (known.ctime_ns, self.ctime_ns)
        times = (known.size, known.mtime_ns) == (self.size, self.mtime_ns)
        return times and (is_unknown or known.ctime_ns == self.ctime_ns)


@dataclass(slots=True)
class Discovery:
    """Walks files, folders and globs in a fixed order, each file once.

    A file in two of the folders is named from the outer one, whatever the order of arguments.
    """

    own: OwnFiles = field(default_factory=OwnFiles)
    options: FindOptions = field(default_factory=FindOptions)
    troubles: list[Trouble] = field(default_factory=list)
    unlisted: list[str] = field(default_factory=list)  # folders that could not be listed
    removed: list[str] = field(default_factory=list)  # named files and folders that are gone
    # Number of excluded files and folders by reason: "exclude", "lpisearchignore", "gitignore",
    # "hidden", "packages", "caches", "links".
    left_out: Counter[str] = field(default_factory=Counter)
    _named: set[str] = field(default_factory=set)
    _walked: list[str] = field(default_factory=list)
    _files: set[str] = field(default_factory=set)
    _folders: set[tuple[int, int]] = field(default_factory=set)

    def files(self, arguments: Iterable[str]) -> Iterator[DiscoveredFile]:
        """Yield the files that the arguments mean."""
        targets = [target for argument in arguments for target in expand(argument)]
        self._named = {target.path for target in targets}
        self._walked = [target.path for target in targets if os.path.isdir(target.path)]
        for path, root in targets:
            if not self._is_text(path):
                continue
            outer = self._outermost(root)
            rules = Exclusion.at(root, self.options)
            if os.path.isdir(path):
                yield from self._walk(path, outer, rules)
            elif rules.exclude.verdict(path, is_folder=False):
                self.left_out["exclude"] += 1
            else:
                yield from self._file(path, outer)

    def gone(self, known: Mapping[str, Source]) -> list[Source]:
        """Return the known sources in the walked folders whose files no longer exist."""
        return [
            source
            for path, source in known.items()
            if path not in self._files
            and (
                path in self.removed
                or any(is_under(path, folder) for folder in (*self._walked, *self.removed))
            )
            and not any(is_under(path, folder) for folder in self.unlisted)
            and not os.path.lexists(path)
        ]

    def _outermost(self, root: str) -> str:
        """Return the outermost of the named folders that contains a root."""
        around = (folder for folder in self._walked if is_under(root, folder))
        return min(around, key=len, default=root)

    def _walk(self, folder: str, root: str, rules: Exclusion) -> Iterator[DiscoveredFile]:
        """Walk a folder with an explicit stack: it may be nested deeper than Python's."""
        pending = [self._entries(folder, rules)]
        while pending:
            entry = next(pending[-1], None)
            if entry is None:
                pending.pop()
            elif (inner := entry[1]) is not None:
                pending.append(self._entries(entry[0], inner))
            else:
                yield from self._file(entry[0], root)

    def _entries(self, folder: str, rules: Exclusion) -> Iterator[tuple[str, Exclusion | None]]:
        """Yield the entries of a folder that are not excluded; folders with their rules."""
        entries = self._list(folder)
        names = {entry.name for entry in entries}
        if folder not in self._named and (reason := rules.within_reason(folder, names)):
            self.left_out[reason] += 1
            return
        inner = rules.within(folder, names)
        for entry in entries:
            if inner.is_simple and _is_plain(entry) and self._is_text(entry.path):
                yield entry.path, None
                continue
            try:
                reason = self._reason(entry, inner)
                is_folder = not reason and entry.is_dir()
            except OSError as error:
                self._note(entry.path, error)
                continue
            if reason:
                self.left_out[reason] += 1
            elif self._is_text(entry.path):
                yield entry.path, inner if is_folder else None

    def _reason(self, entry: os.DirEntry[str], rules: Exclusion) -> str:
        """Return why an entry is excluded, or ""; named entries never are."""
        if entry.path in self._named:
            return ""
        reason = rules.reason(entry.path, is_folder=entry.is_dir(follow_symlinks=False))
        if not reason and entry.is_symlink() and not self.options.follow_links:
            return "links"
        return reason

    def _list(self, folder: str) -> list[os.DirEntry[str]]:
        """List a folder once, however many links lead to it."""
        try:
            facts = os.stat(folder)
            if (facts.st_dev, facts.st_ino) in self._folders or self.own.has(folder, facts):
                return []
            refuse_outside(folder)
            self._folders.add((facts.st_dev, facts.st_ino))
            with os.scandir(folder) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            self._note(folder, error)
            self.unlisted.append(folder)
            return []

    def _file(self, path: str, root: str) -> Iterator[DiscoveredFile]:
        if path in self._files:
            return
        self._files.add(path)
        named = path in self._named
        try:
            facts = os.stat(path)
        except OSError as error:
            self._note(path, error)
            return
        if self.own.has(path, facts):
            if named:
                self.troubles.append(Trouble(path, "it belongs to the library itself"))
        elif stat.S_ISREG(facts.st_mode):
            size, mtime_ns, ctime_ns = facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns
            yield DiscoveredFile(path, root, size, mtime_ns, named, ctime_ns=ctime_ns)
        elif named:
            self.troubles.append(Trouble(path, "not a regular file; pipe it in instead: … -"))

    def _is_text(self, path: str) -> bool:
        """Refuse names that are not UTF-8: the library could not store them."""
        try:
            path.encode()
        except UnicodeEncodeError:
            shown = os.fsencode(path).decode(errors="backslashreplace")
            self.troubles.append(Trouble(shown, "its name is not UTF-8; rename it to ingest it"))
            return False
        return True

    def _note(self, path: str, error: OSError) -> None:
        self.troubles.append(Trouble(path, system_reason(error)))


def _is_plain(entry: os.DirEntry[str]) -> bool:
    """Tell whether an entry is a file that nothing but a pattern excludes."""
    try:
        return not entry.name.startswith(".") and entry.is_file(follow_symlinks=False)
    except OSError:
        return False


class TooDeep(LpiSearchError):
    """A glob matches folders nested too deeply."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Folders are nested too deeply: {name}.", "give the folder directly")


_LONGEST = 4096  # characters of a path on any system
_SHOWN = 60


class Target(NamedTuple):
    """A file or folder that the user named: absolute, and the folder from which ids start."""

    path: str
    root: str


def expand(argument: str) -> list[Target]:
    """Return the absolute paths that an argument means, each with its root folder."""
    if not argument:  # an unset variable of the shell must not mean the current folder
        raise NothingThere("an empty PATH")
    if len(argument) > _LONGEST:
        raise NothingThere(f"{argument[:_SHOWN]}…, a PATH of {len(argument):,} characters")
    name = os.path.abspath(Path(argument).expanduser())
    if os.path.isdir(name):
        return [Target(name, name)]
    if os.path.lexists(name):
        return [Target(name, os.path.dirname(name))]
    try:
        paths = sorted(glob.glob(name, recursive=True))
    except RecursionError as error:
        raise TooDeep(argument) from error
    if not paths:
        raise NothingThere(argument)
    parts = Path(name).parts
    fixed = next((i for i, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    root = str(Path(*parts[:fixed]))
    return [Target(path, root) for path in paths]


def is_under(path: str, folder: str) -> bool:
    """Tell whether a path lies within a folder."""
    return path.startswith(os.path.join(folder, ""))
