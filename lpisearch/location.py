"""Where a library is: a file or the address of a server; and the paths of its files."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from glob import escape
from hashlib import blake2b
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote

_SCHEMES = ("postgresql://", "postgres://")
# A text like an address is never a file name: it may contain a password.
_MEANT = re.compile(r"([a-z][a-z0-9+.-]*://|postgres(?:ql)?:)(.*)", re.IGNORECASE | re.DOTALL)
_SEARCH_PATH = ("search_path=", "search_path%3d")


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a library in PostgreSQL; its text omits the password.

    `url` is `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`, as typed.
    """

    url: str = field(repr=False)

    def __str__(self) -> str:
        meant = _MEANT.fullmatch(self.url)
        scheme, rest = meant.groups() if meant else ("", self.url)
        # A password may contain any character, encoded or not.
        person, at, host = rest.rpartition("@")
        where, mark, query = host.partition("?")
        parameters = "&".join(map(_without_secret, query.split("&")))
        return f"{scheme}{person.partition(':')[0]}{at}{where}{mark}{parameters}"

    def __repr__(self) -> str:
        return f"Address({str(self)!r})"

    @property
    def is_understood(self) -> bool:
        """Whether it has the scheme of PostgreSQL."""
        return self.url.startswith(_SCHEMES)

    @property
    def name(self) -> str:
        """The name of the database, and of the schema if there is one."""
        host = self.url.partition("://")[2].rpartition("@")[2]
        database = host.partition("?")[0].partition("/")[2].partition("#")[0]
        return ".".join(filter(None, (database, self._schema))) or "postgresql"

    @property
    def _schema(self) -> str:
        """The schema in `search_path`, or ""."""
        query = self.url.partition("?")[2]
        for written in _SEARCH_PATH:
            at = query.lower().find(written)
            if at >= 0:
                named = query[at + len(written) :].partition("&")[0].replace("%20", " ")
                return named.partition(" ")[0]
        return ""

    @property
    def secrets(self) -> set[str]:
        """Its passwords, encoded and not, for removal from messages of other programs."""
        written = {self.url.partition("://")[2].rpartition("@")[0].partition(":")[2]}
        for parameter in self.url.partition("?")[2].split("&"):
            name, _, value = parameter.partition("=")
            written |= {value} if _is_secret(name) else set()
        return {text for one in written for text in (one, unquote(one)) if text}

    @property
    def key(self) -> str:
        """A name for local files about the library: a hash of the address without password."""
        return blake2b(str(self).encode(errors="surrogatepass"), digest_size=8).hexdigest()

    def absolute(self) -> Address:
        """Return the address, which does not depend on the current folder."""
        return self


Location: TypeAlias = Path | Address


def parse_location(named: str | os.PathLike[str] | Address) -> Location:
    """Return the location that a text or a path names."""
    if isinstance(named, Address):
        return named
    if isinstance(named, str) and (meant := _MEANT.fullmatch(named)):
        scheme, rest = meant.groups()
        return Address(f"{scheme.lower()}{rest}")
    return Path(named)


def _without_secret(parameter: str) -> str:
    """Return a parameter of an address, with a password masked."""
    name, equals, _ = parameter.partition("=")
    return f"{name}{equals}***" if _is_secret(name) and equals else parameter


def _is_secret(name: str) -> bool:
    return "pass" in name.lower() and name.lower() != "passfile"


FILE_BESIDE = "lpisearch.toml"
"""The settings of the libraries in a folder."""
_ENDINGS = ("-wal", "-shm", "-journal", ".lock", ".partial")


def shipped_folder(name: str) -> Path:
    """Return a folder that is shipped in the package, or next to it in a checkout."""
    package = Path(__file__).parent
    installed = package / f"_{name}"
    return installed if installed.is_dir() else package.parent / name


def real_path(library: Path) -> Path:
    """Return the path of a library with links resolved, so that all its names share lock and index.

    Two hard links are two real paths; such a library is not written.
    """
    return Path(os.path.realpath(library))


def index_folder(library: Path) -> Path:
    """Return the folder of a library's indexes; two libraries never share one."""
    library = real_path(library)
    if library.suffix == ".db":
        return library.with_suffix(".index")
    return library.with_name(f"{library.name}-index")


def own_paths(library: Path) -> list[Path]:
    """Return the paths of a library's files under its name, existing or not."""
    beside = [library.with_name(f"{library.name}{ending}") for ending in _ENDINGS]
    settings = library.with_name(FILE_BESIDE)
    copies = library.parent.glob(f"{escape(library.name)}.before-*")
    return [library, *beside, index_folder(library), settings, *copies]


def is_own_path(target: Path, library: Location) -> bool:
    """Tell whether a path belongs to a library's files or indexes, existing or not."""
    if isinstance(library, Address):
        return False
    place = real_path(target)
    real = real_path(library)
    if place in own_paths(real) or place.is_relative_to(index_folder(library)):
        return True
    return target.exists() and library.exists() and target.samefile(library)
