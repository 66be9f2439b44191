"""Find the files that arguments mean, on this machine or at addresses (s3://…, https://…)."""

from __future__ import annotations

import errno
import glob
import os
import re
import stat
import time
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lpisearch.errors import LpiSearchError, NothingThere, PackageMissing
from lpisearch.files import read_limits, refuse_outside
from lpisearch.ingest.ignore import Exclusion, IgnorePatterns, OwnFiles
from lpisearch.messages import printable, system_reason
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
    location: str = ""  # of the bytes, if not at `path` (standard input, an address with its key)
    ctime_ns: int = 0  # unknown; of an address, a digest of what its store calls ETag

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
        paths: list[str] = []
        for argument in arguments:
            if is_address(argument):
                yield from self._addressed(argument)
            else:
                paths.append(argument)
        targets = [target for path in paths for target in expand(path)]
        self._named = {target.path for target in targets}
        self._walked += [target.path for target in targets if os.path.isdir(target.path)]
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

    def _addressed(self, address: str) -> Iterator[DiscoveredFile]:
        """Yield the objects at an address: one, or all whose names begin with it as a folder."""
        if read_limits().within:
            raise NothingThere(public_address(address))
        with _stated(address):
            found, root = _listed(address)
        if is_single := found.keys() == {root}:
            root = root.rpartition("/")[0]
        root = _identity(root).rstrip("/")
        if not is_single:
            self._walked.append(root)
        exclude = IgnorePatterns.of(root, self.options.exclude)
        for location, facts in sorted(found.items()):
            path = _identity(location)
            parts = path.removeprefix(root).strip("/").split("/")
            hidden = any(part.startswith(".") for part in parts) and not self.options.hidden
            if not is_single and (hidden or exclude.verdict(path, is_folder=False)):
                self.left_out["hidden" if hidden else "exclude"] += 1
            elif path not in self._files:
                self._files.add(path)
                size, mtime_ns, ctime_ns = _facts_of(facts)
                yield DiscoveredFile(path, root, size, mtime_ns, is_single, location, ctime_ns)

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
            if inner.is_simple and _is_plain(entry):
                if self._is_text(entry.path):
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


_ADDRESS = re.compile(r"(?:s3a?|gs|gcs|abfss?|az|hdfs|https?|memory)://")
_ANY_ADDRESS = re.compile(r"\w[\w+.-]{0,20}://[^\s'\"]+")
_PASSWORD, _SIGNATURE = re.compile(r"(?<=://)[^/?#]*@"), re.compile(r"[?#].*", re.DOTALL)
_MODIFIED = ("LastModified", "last_modified", "mtime", "updated", "created", "Last-Modified")
_ETAGS = ("ETag", "etag", "md5Hash", "content_md5")


def is_address(path: str) -> bool:
    """Tell whether a path is an address that fsspec reads."""
    return _ADDRESS.match(path) is not None


def public_address(address: str) -> str:
    """Return an address without a password or what signs it."""
    return _SIGNATURE.sub("", _PASSWORD.sub("", address))


def _identity(location: str) -> str:
    """Return what an object is known by; "?" and "#" may be in its name, but not over HTTP."""
    if location.startswith("http"):
        return public_address(location)
    return _PASSWORD.sub("", location)


def download(address: str, target: Path) -> None:
    """Write the object at an address to a file; whatever its store raises becomes OSError."""
    from fsspec.core import url_to_fs

    try:
        store, path = url_to_fs(address)
        store.get_file(path, str(target))
    except Exception as error:
        number = error.errno if isinstance(error, OSError) else None
        if number is None and isinstance(error, FileNotFoundError | PermissionError):
            raise
        raise OSError(number or errno.EIO, _reason(address, error)) from error


def _listed(address: str) -> tuple[dict[str, Mapping[str, Any]], str]:
    """Return the objects at an address with the facts of their store, and its usual form."""
    from fsspec.core import url_to_fs

    store, path = url_to_fs(address)
    usual = str(store.unstrip_protocol(path))
    if store.isfile(path):
        return {usual: store.info(path)}, usual
    found = store.find(path, detail=True)
    if not found:
        raise FileNotFoundError
    return {store.unstrip_protocol(name): facts for name, facts in found.items()}, usual


def _facts_of(facts: Mapping[str, Any]) -> tuple[int, int, int]:
    """Return size, time and a digest of the ETag; without both, it is as if it changed now."""
    etag = next((str(facts[name]) for name in _ETAGS if facts.get(name)), "")
    digest = int.from_bytes(blake2b(etag.encode(), digest_size=7).digest()) if etag else 0
    modified = next((facts[name] for name in _MODIFIED if facts.get(name)), None)
    if isinstance(modified, str):
        with suppress(ValueError):
            read = parsedate_to_datetime if "," in modified else datetime.fromisoformat
            modified = read(modified)
    if isinstance(modified, datetime):
        modified = modified.timestamp()
    if not isinstance(modified, int | float):
        modified = 0 if digest else time.time()
    return int(facts.get("size") or 0), int(modified * 1e9), digest


@contextmanager
def _stated(address: str) -> Iterator[None]:
    """Turn what a store raises into our own errors, which show no password."""
    shown = public_address(address)
    try:
        yield
    except ImportError as error:  # fsspec says what to install
        if error.name in {"fsspec", "fsspec.core"}:
            raise PackageMissing(f"An address such as {shown}", "fsspec", "remote") from error
        raise AddressUnreadable(shown, _reason(address, error), "install that package") from error
    except FileNotFoundError as error:
        raise NothingThere(shown) from error
    except Exception as error:  # whatever the package of a store raises
        raise AddressUnreadable(shown, _reason(address, error)) from error


def _reason(address: str, error: Exception) -> str:
    """Return what a store says, without secrets; it may write an address in another way."""
    said = error.strerror if isinstance(error, OSError) else None
    text = str(said or f"{type(error).__name__}: {error}").replace(address, public_address(address))
    return _ANY_ADDRESS.sub(lambda found: public_address(found[0]), text)


class AddressUnreadable(LpiSearchError):
    """The objects at an address cannot be listed."""

    def __init__(
        self, shown: str, reason: str, next_step: str = "check the address and your credentials"
    ) -> None:
        super().__init__(f"{shown}: cannot be listed ({printable(reason)}).", next_step)


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
