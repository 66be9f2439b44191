"""Where the folders of a library's indexes are: beside its file, in a shared one, or in a cache.

Those of a library in a file lie beside it. Those of a database lie in a folder that its users
share, or in the database itself: each machine then fetches an index once, compares it with its
checksums, and keeps it in a cache. The name of a folder holds a digest of all that is in it, so one
that is there is the one that is meant.
"""

from __future__ import annotations

import os
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lpisearch.errors import BadOption, IndexDamaged, IndexUnwritable
from lpisearch.files import FOR_ME_ALONE, create, folder_mode, mode_of, sync_folder
from lpisearch.places import Address
from lpisearch.settings import index_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lpisearch.places import Place
    from lpisearch.storage import IndexEntry, Snapshot, Transaction

IN_DATABASE = "db"
"""What is said for the database itself, in place of a folder."""
INDEX_STORE = "index_store"
_VARIABLE = "LPISEARCH_INDEX_STORE"
_PARTIAL = ".partial-"


@dataclass(frozen=True, slots=True)
class IndexPlace:
    """Where the indexes of a library are on this machine.

    Attributes
    ----------
    folder
        That holds all of them.
    is_cache
        Whether they are in the database, and the folder has those that were fetched.
    mode
        Of new files.
    """

    folder: Path
    is_cache: bool
    mode: int

    @classmethod
    def of(cls, library: Place, snapshot: Snapshot) -> IndexPlace:
        """Return the place that was chosen for a library; in the database, if none was."""
        if not isinstance(library, Address):
            return cls(index_folder(library), is_cache=False, mode=mode_of(library))
        chosen: Mapping[str, Any] = snapshot.settings.get(INDEX_STORE) or {}
        name = str(chosen.get("name") or library.key)
        shared = os.environ.get(_VARIABLE) or str(chosen.get("folder") or "")
        if shared and shared != IN_DATABASE:
            return cls(Path(shared) / name, is_cache=False, mode=0o644)
        from platformdirs import user_cache_path

        cache = user_cache_path("lpisearch", appauthor=False)
        return cls(cache / "indexes" / name, is_cache=True, mode=FOR_ME_ALONE)

    def local(self, entry: IndexEntry) -> Path:
        """Return where the folder of an index is, or would be."""
        return self.folder / entry.folder

    def fetched(self, snapshot: Snapshot, entry: IndexEntry) -> Path:
        """Return the folder of an index, brought here first if it is in the database.

        Raises
        ------
        IndexUnwritable, IndexDamaged
        """
        target = self.local(entry)
        if self.is_cache and not target.is_dir():
            try:
                self._fetch(snapshot, entry, target)
            except OSError as error:
                raise IndexUnwritable(self.folder, error.strerror or str(error)) from error
        return target

    def keep(self, transaction: Transaction, folder: Path, used: set[str]) -> None:
        """Put a folder, just written here, into the database, if that is the place."""
        from lpisearch.indexes.verification import FILE as VERIFIED

        files = transaction.index_files
        if files is not None:
            if self.is_cache:
                written = [path for path in folder.iterdir() if path.name != VERIFIED]
                files.write(folder.name, sorted(written))
            files.sweep(used if self.is_cache else ())

    def _fetch(self, snapshot: Snapshot, entry: IndexEntry, target: Path) -> None:
        files = snapshot.index_files
        names = files.names(entry.folder) if files is not None else []
        if files is None or not names:
            raise IndexDamaged(target, "the database has no files of it")
        self.folder.mkdir(folder_mode(self.mode), parents=True, exist_ok=True)
        partial = self.folder / f"{_PARTIAL}{secrets.token_hex(6)}"
        whole = partial / target.name  # the name is compared with what is in it
        whole.mkdir(folder_mode(self.mode), parents=True)
        try:
            for name in names:
                with create(whole / Path(name).name, self.mode) as stream:
                    stream.writelines(files.read(entry.folder, name))
            from lpisearch.indexes.folder import open_folder
            from lpisearch.indexes.verification import note_written

            open_folder(whole)
            note_written(whole)
            if not target.is_dir():  # else another process was quicker
                whole.rename(target)
            sync_folder(self.folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def choose_place(library: Place, transaction: Transaction, chosen: str) -> None:
    """Note where the indexes of a library are to be: a folder, or "db".

    Raises
    ------
    BadOption
        The library is a file, beside which they are.
    """
    if not isinstance(library, Address):
        raise BadOption("index_store", "the indexes of a library in a file lie beside it")
    before = transaction.settings.get(INDEX_STORE) or {}
    folder = "" if chosen == IN_DATABASE else os.path.abspath(Path(chosen).expanduser())  # noqa: PTH100 (links stay)
    # The same name for every machine, however each of them writes the address.
    name = before.get("name") or f"{library.name}-{secrets.token_hex(4)}"
    transaction.settings.set(INDEX_STORE, {"name": name, "folder": folder})
