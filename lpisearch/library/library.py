"""A local library."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.library.asking import Asking
from lpisearch.library.choices import default_path
from lpisearch.library.holding import Holding
from lpisearch.library.keeping import Keeping
from lpisearch.library.working import Working
from lpisearch.places import place_of

if TYPE_CHECKING:
    import os

    from lpisearch.places import Address


class Library(Asking, Working, Holding, Keeping):
    """An open library of documents.

    Database, tokenisers and indexes are opened when they are first needed, shared by all methods,
    and released by `close` or at the end of a `with` block. Another process may write meanwhile:
    every answer is of one state of the library, and an index that was built anew is taken up.

    Several threads may use one library at the same time. Writers (`ingest`, `index`, `delete`)
    wait for each other, readers wait for nobody.

    Parameters
    ----------
    path
        The database file, or the address of a database. Neither needs to hold anything before the
        first `ingest`.
    """

    def __repr__(self) -> str:
        return f"Library({str(self.path)!r})"


def open_library(path: str | os.PathLike[str] | Address | None = None) -> Library:
    """Open a library of documents; the first `ingest` makes it.

    Parameters
    ----------
    path
        The database file, or the address of a database (`postgresql://USER@HOST/DATABASE`); that of
        `default_path` if not given.

    Examples
    --------
    >>> import lpisearch
    >>> with lpisearch.open("notes.db") as library:
    ...     library.path.name
    'notes.db'
    """
    return Library(default_path() if path is None else place_of(path))
