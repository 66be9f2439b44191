"""Library locations: a file or a server database, shown without passwords."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote

if TYPE_CHECKING:
    import os

_SCHEMES = ("postgresql://", "postgres://")
# What was meant for an address is never taken for a file: it may hold a password.
_MEANT = re.compile(r"([a-z][a-z0-9+.-]*://|postgres(?:ql)?:)(.*)", re.IGNORECASE | re.DOTALL)
_SEARCH_PATH = ("search_path=", "search_path%3d")


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a library in PostgreSQL; as a text it is without its password.

    Attributes
    ----------
    url
        As it was given, `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`, for those who connect.
    """

    url: str = field(repr=False)

    def __str__(self) -> str:
        meant = _MEANT.fullmatch(self.url)
        scheme, rest = meant.groups() if meant else ("", self.url)
        # All before the last “@”: a password may hold any sign, encoded or not.
        person, at, host = rest.rpartition("@")
        where, mark, query = host.partition("?")
        said = "&".join(map(_without_secret, query.split("&")))
        return f"{scheme}{person.partition(':')[0]}{at}{where}{mark}{said}"

    def __repr__(self) -> str:
        return f"Address({str(self)!r})"

    @property
    def is_understood(self) -> bool:
        """Whether it begins as an address of PostgreSQL does."""
        return self.url.startswith(_SCHEMES)

    @property
    def name(self) -> str:
        """The name of the database, and of the schema if one is given."""
        host = self.url.partition("://")[2].rpartition("@")[2]
        database = host.partition("?")[0].partition("/")[2].partition("#")[0]
        return ".".join(each for each in (database, self._schema) if each) or "postgresql"

    @property
    def _schema(self) -> str:
        """The schema that is named by `search_path`, or ""."""
        query = self.url.partition("?")[2]
        for written in _SEARCH_PATH:
            at = query.lower().find(written)
            if at >= 0:
                named = query[at + len(written) :].partition("&")[0].replace("%20", " ")
                return named.partition(" ")[0]
        return ""

    @property
    def secrets(self) -> set[str]:
        """The passwords in it, encoded and not, to be taken out of what others say."""
        written = {self.url.partition("://")[2].rpartition("@")[0].partition(":")[2]}
        for parameter in self.url.partition("?")[2].split("&"):
            name, _, value = parameter.partition("=")
            written |= {value} if _is_secret(name) else set()
        return {each for one in written for each in (one, unquote(one)) if each}

    @property
    def key(self) -> str:
        """A name for what this machine keeps of the library: of the address without password."""
        return blake2b(str(self).encode(errors="surrogatepass"), digest_size=8).hexdigest()

    def absolute(self) -> Address:
        """Return the same: it means the same from every folder."""
        return self


Place: TypeAlias = Path | Address


def place_of(named: str | os.PathLike[str] | Address) -> Place:
    """Return the place that a text or a path means."""
    if isinstance(named, Address):
        return named
    if isinstance(named, str) and (meant := _MEANT.fullmatch(named)):
        scheme, rest = meant.groups()
        return Address(f"{scheme.lower()}{rest}")
    return Path(named)


def _without_secret(parameter: str) -> str:
    """Return a parameter of an address, but not its value if that is a password."""
    name, equals, _ = parameter.partition("=")
    return f"{name}{equals}***" if _is_secret(name) and equals else parameter


def _is_secret(name: str) -> bool:
    return "pass" in name.lower() and name.lower() != "passfile"
