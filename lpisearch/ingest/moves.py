"""Files that moved or are gone: a new file with the text of a missing one continues its documents.

A file that is gone from where it was, and a new one of the same size, may be one file. The texts
of their documents are compared, each at its position; those that agree keep their keys, and with
them the labels given by hand, predicted labels, and rows of indexes. Their ids follow the new path.
"""

from __future__ import annotations

import glob
import os
from collections import Counter, defaultdict
from hashlib import blake2b
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from lpisearch.errors import GoneWithDocuments, NothingThere
from lpisearch.ingest.discovery import DiscoveredFile, expand, is_address, is_under
from lpisearch.messages import Message, call, counted
from lpisearch.model.documents import UNFINISHED, DocumentRow, Source
from lpisearch.readers.trec import is_collection
from lpisearch.storage import exists, open_store

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet

    from lpisearch.ingest.recorder import Incoming
    from lpisearch.location import Location
    from lpisearch.storage.store import Transaction


def gone_paths(library: Location, paths: Sequence[str], *, prune: bool) -> list[str]:
    """Return the arguments that are gone from disk but have documents in the library.

    Only with `prune`, which removes these documents; without it they are refused.
    """
    named = (
        path for path in paths if path != "-" and not is_collection(path) and not is_address(path)
    )
    absent = [path for path in named if not _is_there(path)]
    if not absent or not exists(library):
        return []
    with open_store(library) as store, store.reading() as snapshot:
        known = snapshot.sources.known().values()
    gone: list[str] = []
    for path in absent:
        name = os.path.abspath(Path(path).expanduser())
        documents = sum(
            one.documents for one in known if one.path == name or is_under(one.path, name)
        )
        if documents and not prune:
            raise GoneWithDocuments(path, counted(documents, "document"))
        if documents:
            gone.append(path)
    return gone


def _is_there(path: str) -> bool:
    try:
        return bool(expand(path))
    except NothingThere:
        return not path  # refused when files are looked for


class MissingFiles:
    """Known files that are gone from where they were, by size; and folders that are gone."""

    def __init__(self) -> None:
        self.folders: dict[int, str] = {}  # by source; only where its whole folder is gone
        self._by_size: defaultdict[int, list[Source]] = defaultdict(list)

    @classmethod
    def among(
        cls,
        known: Iterable[Source],
        files: Sequence[DiscoveredFile],
        elsewhere: AbstractSet[int],
    ) -> MissingFiles:
        """Look for the known files of this machine that are not among those of a run."""
        missing = cls()
        here = {file.path for file in files}
        sizes = {file.size for file in files}
        gone = _GoneFolders()
        for source in known:
            if source.path in here or source.id in elsewhere or not os.path.isabs(source.path):
                continue
            if folder := gone.around(source.path):
                missing.folders[source.id] = folder
            if source.size in sizes and source.documents and (folder or is_missing(source.path)):
                missing._by_size[source.size].append(source)
        return missing

    def origins(self, file: DiscoveredFile, known: Source | None) -> Sequence[Source]:
        """Return the missing files that a new one may have been: those of its size."""
        if known is not None and known.size != UNFINISHED:  # a killed run may have begun it
            return ()
        return self._by_size.get(file.size, ())

    def notes(self, known: Iterable[Source], told: AbstractSet[int]) -> list[str]:
        """Say which folders are gone, with the number of their documents, but for `told` files."""
        documents: Counter[str] = Counter()
        for source in known:
            if source.id in self.folders and source.id not in told:
                documents[self.folders[source.id]] += source.documents
        return [
            Message(
                f"{counted(number, 'document')} {'comes' if number == 1 else 'come'} from "
                f"{folder}, which is gone. If it moved, ingest it where it is now: documents keep "
                "their labels. To remove them: ",
                call("delete", path=glob.escape(folder)),
            )
            for folder, number in documents.items()
            if number
        ]


def is_missing(path: str) -> bool:
    """Tell whether nothing is at a path; one that cannot be looked up may exist."""
    if is_address(path):
        return False
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


class _GoneFolders:
    """Finds the outermost folder that is gone around a path; each folder is looked up once."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def around(self, path: str) -> str:
        """Return the outermost missing folder around a path, or ""."""
        folder = os.path.dirname(path)
        if folder == path:
            return ""
        if folder not in self._known:
            gone = is_missing(folder)
            self._known[folder] = (self.around(folder) or folder) if gone else ""
        return self._known[folder]


class MissingDocuments:
    """The stored documents of missing files that those of a batch may be, by position and text."""

    def __init__(self, transaction: Transaction, batch: Sequence[Incoming]) -> None:
        self._paths = {origin.id: origin.path for one in batch for origin in one.origins}
        places = {(origin.id, one.position) for one in batch for origin in one.origins}
        rows = transaction.changes.at((), sorted(places)) if places else []
        present = {row.key: row for row in rows if row.position > 0}
        self._rows: defaultdict[tuple[int, bytes], list[DocumentRow]] = defaultdict(list)
        for key, _title, text in transaction.documents.texts(present):
            self._rows[present[key].position, _digest(text)].append(present[key])

    def take(self, incoming: Incoming) -> DocumentRow | None:
        """Return the document that an incoming one was in its former file; each only once."""
        if not incoming.origins:
            return None
        rows = self._rows.get((incoming.position, _digest(incoming.document.text)), [])
        sources = {origin.id for origin in incoming.origins}
        alike = [row for row in rows if row.source_id in sources]
        if not alike:
            return None
        taken = min(alike, key=lambda row: _distance(self._paths[row.source_id], incoming.path))
        rows.remove(taken)
        return taken


def _distance(former: str, path: str) -> tuple[bool, int]:
    """Order former paths by what they share with a path: the name, then the folders before it."""
    ours, others = PurePath(path).parts, PurePath(former).parts
    pairs = zip(reversed(ours), reversed(others), strict=False)
    return ours[-1] != others[-1], -sum(one == other for one, other in pairs)


def _digest(text: str) -> bytes:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()
