"""From the PATHs of a command to the files that they mean."""

from __future__ import annotations

import glob
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lpisearch.errors import LpiSearchError
from lpisearch.records import Trouble
from lpisearch.wording import system_reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from lpisearch.records import Source


class NothingThere(LpiSearchError):
    """A PATH names no file, no folder, and matches nothing."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is nothing at {name}.", "check the path, or put quotes around it")


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file to ingest.

    Attributes
    ----------
    path
        Absolute: the identity of the source.
    root
        The folder from which its documents are named and labelled.
    size, mtime_ns
        As they are now.
    named
        The user named this very file, so it must not be passed over in silence.
    location
        Where the bytes are, if not at `path` (standard input).
    """

    path: str
    root: str
    size: int
    mtime_ns: int
    named: bool = False
    location: str = ""


@dataclass(slots=True)
class Discovery:
    """Walks files, folders and globs in a fixed order, each file once.

    Attributes
    ----------
    is_own
        Tells of a path that it belongs to the library itself.
    troubles
        What could not be looked into.
    blind
        Folders that could not be listed: nothing is known of what is in them.
    """

    is_own: Callable[[str], bool]
    troubles: list[Trouble] = field(default_factory=list)
    blind: list[str] = field(default_factory=list)
    _walked: list[str] = field(default_factory=list)
    _files: set[str] = field(default_factory=set)
    _folders: set[tuple[int, int]] = field(default_factory=set)

    def files(self, arguments: Iterable[str]) -> Iterator[FoundFile]:
        """Yield the files that the arguments mean."""
        for argument in arguments:
            for name, root in expand(argument):
                if not self._is_text(name):
                    continue
                if os.path.isdir(name):
                    self._walked.append(name)
                    yield from self._walk(name, root)
                else:
                    yield from self._file(name, root, named=True)

    def gone(self, known: Mapping[str, Source]) -> list[Source]:
        """Return the known sources in the walked folders whose files no longer exist."""
        return [
            source
            for path, source in known.items()
            if path not in self._files
            and _is_under(path, self._walked)
            and not _is_under(path, self.blind)
            and not os.path.lexists(path)
        ]

    def _walk(self, folder: str, root: str) -> Iterator[FoundFile]:
        entries = self._list(folder)
        for entry in entries:
            if entry.name.startswith(".") or self.is_own(entry.path):
                continue
            if not self._is_text(entry.path):
                continue
            try:
                is_folder = entry.is_dir()
            except OSError as error:
                self._note(entry.path, error)
                continue
            if is_folder:
                yield from self._walk(entry.path, root)
            else:
                yield from self._file(entry.path, root, named=False)

    def _list(self, folder: str) -> list[os.DirEntry[str]]:
        """List a folder once, however many links lead to it."""
        try:
            facts = os.stat(folder)
            if (facts.st_dev, facts.st_ino) in self._folders:
                return []
            self._folders.add((facts.st_dev, facts.st_ino))
            with os.scandir(folder) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            self._note(folder, error)
            self.blind.append(folder)
            return []

    def _file(self, path: str, root: str, *, named: bool) -> Iterator[FoundFile]:
        if path in self._files:
            return
        self._files.add(path)
        try:
            facts = os.stat(path)
        except OSError as error:
            self._note(path, error)
            return
        if stat.S_ISREG(facts.st_mode):
            yield FoundFile(path, root, facts.st_size, facts.st_mtime_ns, named)
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


def expand(argument: str) -> list[tuple[str, str]]:
    """Return the absolute paths that a PATH means, each with its root folder.

    Raises
    ------
    NothingThere
    """
    if not argument:  # an unset variable of the shell must not mean the current folder
        raise NothingThere("an empty PATH")
    name = os.path.abspath(Path(argument).expanduser())
    if os.path.isdir(name):
        return [(name, name)]
    if os.path.lexists(name):
        return [(name, os.path.dirname(name))]
    found = sorted(glob.glob(name, recursive=True))
    if not found:
        raise NothingThere(argument)
    root = _fixed_part(name)
    return [(path, root) for path in found]


def _is_under(path: str, folders: Iterable[str]) -> bool:
    return any(path.startswith(os.path.join(folder, "")) for folder in folders)


def _fixed_part(pattern: str) -> str:
    parts = Path(pattern).parts
    fixed = next((i for i, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    return str(Path(*parts[:fixed]))
