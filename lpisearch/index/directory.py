"""The folders of indexes: next to a file, shared, or in the database; the state of each index.

Each machine fetches an index from the database once, verifies it, and keeps it in a cache. The name
of a folder contains a digest of its contents, so a folder that exists is the right one.

Others may write the database, so no text from it leads anywhere else: names are single components,
the cache is named by the address, files are those of the manifest, and a shared folder is written
only where a user of this program has marked it.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lpisearch.errors import (
    BadOption,
    IndexDamaged,
    IndexNotFound,
    IndexNotHere,
    IndexUnreadable,
    IndexUnwritable,
    SubspaceError,
)
from lpisearch.files import (
    FOR_ME_ALONE,
    create,
    folder_mode,
    mode_of,
    open_regular,
    sync_folder,
    whole_file,
)
from lpisearch.location import Address, Location, index_folder
from lpisearch.messages import Message, call
from lpisearch.model.documents import Finding
from lpisearch.options import IndexSpec
from lpisearch.storage.metadata import TOKENISER, IndexEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from lpisearch.index.format import Manifest
    from lpisearch.index.subspace import SubspaceIndex
    from lpisearch.storage.store import ReadTransaction, Store, Transaction


IN_DATABASE = "db"
"""Stands for the database itself, in place of a folder."""
INDEX_STORE = "index_store"
_VARIABLE = "LPISEARCH_INDEX_STORE"
_PARTIAL = ".partial-"
_PIECE = 1 << 20
_MARK = ".lpisearch"
"""The file that marks a shared folder as that of a library's indexes; it has their common name."""
_COMPONENT = re.compile(r"[^\W.][\w.-]{0,199}")


@dataclass(frozen=True, slots=True)
class IndexLocation:
    """Where the indexes of a library are on this machine.

    With `is_cache` they are in the database, and the folder has those that were fetched; with
    `is_of_server` other machines publish indexes, too. `mode` is that of new files.
    """

    folder: Path
    is_cache: bool
    mode: int
    is_of_server: bool = True

    @classmethod
    def of(cls, library: Location, snapshot: ReadTransaction) -> IndexLocation:
        """Return the location that was chosen for a library; by default the database."""
        if not isinstance(library, Address):
            beside = index_folder(library)
            return cls(beside, is_cache=False, mode=mode_of(library), is_of_server=False)
        return cls.chosen(library, snapshot.settings.get(INDEX_STORE) or {})

    @classmethod
    def chosen(cls, library: Address, choice: Mapping[str, Any]) -> IndexLocation:
        """Return the location that a setting stands for on this machine."""
        if shared := str(choice.get("folder") or ""):
            shared = os.environ.get(_VARIABLE) or shared  # under which it is seen here
            name = str(choice.get("name") or library.key)
            if not _COMPONENT.fullmatch(name):
                raise IndexDamaged(Path(shared), f"the library names it “{name}”")
            return cls(Path(shared) / name, is_cache=False, mode=0o644)
        from platformdirs import user_cache_path

        cache = user_cache_path("lpisearch", appauthor=False)
        return cls(cache / "indexes" / library.key, is_cache=True, mode=FOR_ME_ALONE)

    def local(self, entry: IndexEntry) -> Path:
        """Return where the folder of an index is, or would be."""
        from lpisearch.index.format import is_folder_name

        if not is_folder_name(entry.folder):
            raise IndexDamaged(self.folder, f"the library names its folder “{entry.folder}”")
        return self.folder / entry.folder

    def check_ours(self) -> None:
        """Refuse to write to a shared folder that is not marked, or that lies elsewhere."""
        if not self.is_shared:
            return
        with suppress(OSError), open_regular(self.folder / _MARK) as stream:
            if stream.read(_PIECE) == self.folder.name.encode() and _is_contained(self.folder):
                return
        error = IndexUnwritable(self.folder, f"it has no file {_MARK} of this library")
        error.next_step = call("index", index_store=str(self.folder.parent))
        raise error

    def mark(self) -> None:
        """Mark a shared folder that the user has named as that of the library's indexes."""
        if self.is_shared:
            with whole_file(self.folder / _MARK, self.mode) as stream:
                stream.write(self.folder.name.encode())

    @property
    def is_shared(self) -> bool:
        """Whether it is a folder that other machines may see."""
        return self.is_of_server and not self.is_cache

    def is_away(self, entry: IndexEntry) -> bool:
        """Tell whether another machine has published an index that is not here yet."""
        return self.is_of_server and not self.local(entry).is_dir()

    def fetched(self, snapshot: ReadTransaction, entry: IndexEntry) -> Path:
        """Return the folder of an index, fetched first if it is in the database."""
        target = self.local(entry)
        if self.is_cache and not target.is_dir():
            try:
                self._fetch(snapshot, entry, target)
            except OSError as error:
                raise IndexUnwritable(self.folder, error.strerror or str(error)) from error
        return target

    def keep(self, transaction: Transaction, folder: Path, used: set[str]) -> None:
        """Store a folder that was just written in the database, if indexes are there."""
        files = transaction.index_files
        if files is not None:
            if self.is_cache:
                files.write(folder.name, _files_of(folder))
            files.sweep(used if self.is_cache else ())

    def take(self, folder: Path) -> Path:
        """Copy a folder from another location; return where it is now."""
        target = self.folder / folder.name
        if not target.is_dir():
            try:
                self._bring(target, lambda name: _pieces(folder / name))
            except OSError as error:
                raise IndexUnwritable(self.folder, error.strerror or str(error)) from error
        return target

    def _fetch(self, snapshot: ReadTransaction, entry: IndexEntry, target: Path) -> None:
        files = snapshot.index_files
        if files is None or not files.names(entry.folder):
            raise IndexDamaged(target, "its files are missing from the database")
        self._bring(target, lambda name: files.read(entry.folder, name))

    def _bring(self, target: Path, read: Callable[[str], Iterable[bytes]]) -> None:
        """Write the files that a manifest names; their folder appears when all are verified."""
        from lpisearch.index.format import (
            MANIFEST_FILE,
            MOST_MANIFEST,
            Manifest,
            note_written,
            open_folder,
        )

        self.folder.mkdir(folder_mode(self.mode), parents=True, exist_ok=True)
        partial = self.folder / f"{_PARTIAL}{secrets.token_hex(6)}"
        whole = partial / target.name  # the name is compared with what is in it
        whole.mkdir(folder_mode(self.mode), parents=True)

        def write(name: str, most_bytes: int) -> None:
            with create(whole / name, self.mode) as stream:
                for piece in read(name):
                    if stream.tell() + len(piece) > most_bytes:
                        raise IndexDamaged(target, f"{name} is corrupt")
                    stream.write(piece)

        try:
            write(MANIFEST_FILE, MOST_MANIFEST)
            for name, facts in Manifest.read(whole).arrays.items():
                write(f"{name}.npy", facts.size)
            open_folder(whole)
            note_written(whole)
            if not target.is_dir():  # else another process was quicker
                whole.rename(target)
            sync_folder(self.folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def entry_named(transaction: ReadTransaction, name: str) -> IndexEntry | None:
    """Return the register's entry of an index; None if the library has no default index.

    Any other name that is not in the register is `IndexNotFound`.
    """
    entries = {entry.name: entry for entry in transaction.indexes.entries()}
    if name not in entries and name != IndexSpec().name:
        raise IndexNotFound(name, entries)
    return entries.get(name)


def choose_location(library: Location, store: Store, choice: str) -> None:
    """Move the indexes of a library in a database to a folder, or into the database ("db").

    Readers find them where they were until then. The caller holds the writer lock.
    """
    if not isinstance(library, Address):
        raise BadOption("index_store", "a library in a file keeps its indexes next to it")
    before = None
    with store.reading() as snapshot:
        with suppress(IndexDamaged):  # what a stranger named is not looked at
            before = IndexLocation.of(library, snapshot)
        noted = _choice(library, snapshot, choice)
        place = IndexLocation.chosen(library, noted)
        moved = _moved(snapshot, before, place)
    with store.writing(durable=True) as transaction:
        transaction.settings.set(INDEX_STORE, noted)
        for folder in moved:
            place.keep(transaction, folder, {other.name for other in moved})
    if before is None or place == before:
        return
    with suppress(IndexUnwritable, OSError):
        before.check_ours()
        for folder in moved:  # an open one stays until it is closed
            shutil.rmtree(before.folder / folder.name, ignore_errors=True)
        if {path.name for path in before.folder.iterdir()} == {_MARK}:
            (before.folder / _MARK).unlink()
        before.folder.rmdir()


def publish_index(
    library: Location,
    store: Store,
    index: SubspaceIndex,
    unchanged: dict[str, Path] | None = None,
    *,
    in_database: bool | None = None,
    rows: dict[str, NDArray[Any]] | None = None,
) -> Path:
    """Write an index folder and register it; the caller holds the writer lock.

    `rows` are appended to `unchanged` files. `in_database` writes the tables that the database
    searches, too; None if the index before has them.
    """
    from lpisearch.index.format import note_written, open_folder, publish, sweep

    manifest = index.manifest
    with store.reading() as snapshot:
        location = IndexLocation.of(library, snapshot)
    location.check_ours()
    folder = publish(location.folder, manifest, index.arrays, unchanged, location.mode, rows=rows)
    entry = IndexEntry(
        name=manifest.name,
        method=manifest.method,
        parameters=manifest.spec.as_dict(),
        fingerprint=manifest.fingerprint,
        folder=folder.name,
        created_at=manifest.created,
    )
    note_written(folder)  # for readers that open it as soon as it is registered
    # Durable: the old folder may go only when no power cut can bring its entry back.
    with store.writing(durable=True) as transaction:
        before = {entry.folder: entry.name for entry in transaction.indexes.entries()}
        transaction.indexes.save(entry)
        used = {entry.folder for entry in transaction.indexes.entries()}
        location.keep(transaction, folder, used)
        if (tables := transaction.search_tables) is not None:
            if in_database is None:
                own = [old for old, name in before.items() if name == entry.name]
                in_database = any(map(tables.exist, own))
            if in_database and not tables.exist(folder.name):
                from lpisearch.index.in_database import write_tables
                from lpisearch.index.subspace import SubspaceIndex

                whole = SubspaceIndex(*open_folder(folder, verify=False))
                write_tables(transaction, location, folder, whole)
            tables.sweep({*used, *before})
    sweep(location.folder, used)
    note_written(folder)  # the sweep changed the link counts of files shared with old folders
    return folder


def _choice(library: Address, snapshot: ReadTransaction, choice: str) -> dict[str, Any]:
    before = snapshot.settings.get(INDEX_STORE) or {}
    folder = "" if choice == IN_DATABASE else os.path.abspath(Path(choice).expanduser())  # noqa: PTH100 (links stay)
    # The same name for every machine, however each of them writes the address.
    name = str(before.get("name") or "")
    if not _COMPONENT.fullmatch(name):
        plain = re.sub(r"\W+", "_", library.name)[:100]
        name = f"{plain}-{secrets.token_hex(4)}"
    return {"name": name, "folder": folder}


def _moved(
    snapshot: ReadTransaction, before: IndexLocation | None, place: IndexLocation
) -> list[Path]:
    from lpisearch.index.format import check_writable

    check_writable(place.folder)
    try:
        place.folder.mkdir(folder_mode(place.mode), parents=True, exist_ok=True)
        place.mark()
    except OSError as error:
        raise IndexUnwritable(place.folder, error.strerror or str(error)) from error
    place.check_ours()
    moved: list[Path] = []
    if before is None or place == before:
        return moved
    for entry in snapshot.indexes.entries():
        try:
            folder = before.fetched(snapshot, entry)
            if folder.is_dir():  # else it is lost, as if its folder is not mounted
                moved.append(place.take(folder))
        except IndexUnwritable:
            raise
        except SubspaceError:  # it is damaged there, and would be here
            continue
    return moved


def _files_of(folder: Path) -> list[Path]:
    """Return the files of an index, without the note that applies to one machine alone."""
    from lpisearch.index.format import VERIFICATION_FILE as VERIFIED

    return sorted(path for path in folder.iterdir() if path.name != VERIFIED)


def _is_contained(folder: Path) -> bool:
    """Tell whether a folder is where its name says, not where a link leads."""
    return folder.resolve() == folder.parent.resolve() / folder.name


def _pieces(path: Path) -> Iterator[bytes]:
    with open_regular(path) as stream:
        while piece := stream.read(_PIECE):
            yield piece


NOT_HERE = "not built here"
"""The state of an index whose folder is not next to the library."""


def index_summaries(library: Location, snapshot: ReadTransaction) -> list[dict[str, Any]]:
    """Return the size and state of each index, and whether a rebuild is due."""
    return [_summary(library, snapshot, entry) for entry in snapshot.indexes.entries()]


def index_findings(library: Location, snapshot: ReadTransaction) -> list[Finding]:
    """Verify the arrays of each index."""
    from lpisearch.index.format import open_folder

    findings = []
    for entry in snapshot.indexes.entries():
        check = f"index “{entry.name}”"
        try:
            folder = IndexLocation.of(library, snapshot).fetched(snapshot, entry)
            manifest, _ = open_folder(folder)
        except IndexNotHere:
            again = rebuild_command(entry.spec)
            findings.append(Finding(check, ok=True, detail=NOT_HERE, next_step=again))
            continue
        except SubspaceError as error:
            # A file that the system refuses to read may be intact: a rebuild would not help.
            refused = isinstance(error, IndexUnreadable)
            step = error.next_step if refused else rebuild_command(entry.spec)
            findings.append(Finding(check, ok=False, detail=error.what, next_step=step))
            continue
        detail = f"{manifest.method}, intact"
        if manifest.appended:
            detail += f", {manifest.appended:,} documents appended"
        finding = Finding(check, ok=True, detail=detail)
        if not _is_current(snapshot, entry):
            finding = Finding(
                check, ok=True, detail="out of date", next_step=call("ingest", "PATH")
            )
        findings.append(finding)
    return findings


def _summary(library: Location, snapshot: ReadTransaction, entry: IndexEntry) -> dict[str, Any]:
    from lpisearch.index.format import Manifest, check_sizes

    summary: dict[str, Any] = {
        "name": entry.name,
        "method": entry.method,
        "created": entry.created_at,
        "folder": "",
        "rebuild_command": rebuild_command(entry.spec),
    }
    try:
        place = IndexLocation.of(library, snapshot)
        folder = place.local(entry)
    except IndexDamaged as error:
        return summary | _damage(summary, error)
    summary["folder"] = str(folder)
    if place.is_cache and not folder.is_dir():
        note = f"“{entry.name}” is in the database; the first search downloads it"
        return summary | {"state": "not here yet", "rebuild": "", "note": note}
    try:
        manifest = Manifest.read(folder)
        check_sizes(folder, manifest)  # `doctor` compares every byte
    except IndexUnreadable as error:
        return summary | {"state": "unreadable", "rebuild": "", "note": error.message}
    except IndexNotHere as error:
        note = Message(error.what, " Next: ", summary["rebuild_command"])
        return summary | {"state": NOT_HERE, "rebuild": "", "note": note}
    except SubspaceError as error:
        return summary | _damage(summary, error)
    due = due_for_rebuild(manifest, snapshot.settings.get(TOKENISER) or {})
    due = due or _why_passages(manifest, folder)
    state, note = _state(entry, due, is_current=_is_current(snapshot, entry))
    facts = {
        "documents": manifest.arrays["document_rows"].shape[0] - manifest.removed,
        "built_from": manifest.result.documents,
        "folded_in": manifest.folded,
        "appended": manifest.appended,
        "removed": manifest.removed,
        "calibration": manifest.calibration,
        "passages": manifest.passages,
        "size_bytes": _sizes(folder),
    }
    state_facts = {"state": state, "rebuild": due, "note": note}
    return summary | state_facts | manifest.result.as_dict() | facts


def _sizes(folder: Path) -> dict[str, int]:
    """Return the bytes of an index by the first word of the names of its arrays, largest first."""
    sizes: Counter[str] = Counter()
    for path in folder.glob("*.npy"):
        sizes[path.stem.partition("_")[0]] += path.stat().st_size
    return dict(sizes.most_common())


def _damage(summary: dict[str, Any], error: SubspaceError) -> dict[str, Any]:
    note = rebuild_note(summary["name"], error.what, summary["rebuild_command"])
    return {"state": "damaged", "rebuild": error.what, "note": note}


def _state(entry: IndexEntry, due: str, *, is_current: bool) -> tuple[str, str]:
    """Return the state of an index, and what to do about it."""
    if due:
        return "rebuild due", rebuild_note(entry.name, due, rebuild_command(entry.spec))
    if is_current:
        return "ready", ""
    note = f"“{entry.name}” is out of date; the next ingest updates it: "
    return "behind", Message(note, call("ingest", "PATH"))


def _why_passages(manifest: Manifest, folder: Path) -> str:
    """Say what an index of an earlier program gains by a rebuild, or ""."""
    if manifest.passages is not None:
        return ""
    import numpy as np

    from lpisearch.text.spans import LONG_DOCUMENT

    try:
        lengths = np.load(folder / "document_lengths.npy", mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError):
        return ""  # of a version too old to be opened anyway
    long = int(np.count_nonzero(lengths >= LONG_DOCUMENT))
    if not long:
        return ""
    return f"it cannot search within long documents ({long:,}) by page or section"


def _is_current(snapshot: ReadTransaction, entry: IndexEntry) -> bool:
    """Tell whether the index covers the documents exactly as they are."""
    return snapshot.corpus.fingerprint(entry.spec.where) == entry.fingerprint


# A rebuild is due when a fifth of the documents, or a tenth more of the words, are new to it.
_DUE_SHARE = 0.2
_DUE_UNKNOWN = 0.1
_DUE_DOCUMENTS = 20


def due_for_rebuild(manifest: Manifest, tokeniser: Mapping[str, Any]) -> str:
    """Say why an index should be rebuilt, or ""; `tokeniser` has the library's settings now."""
    if not same_tokens(manifest, tokeniser):
        return (
            "it was built with different word rules or another language than the library uses now"
        )
    folded, built = manifest.folded, manifest.result
    documents = folded["documents"]
    if documents >= max(_DUE_DOCUMENTS, _DUE_SHARE * built.documents):
        return (
            f"{documents:,} documents were added or changed since it was built from "
            f"{built.documents:,}"
        )
    unknown = folded["unknown"] / max(folded["words"], 1)
    if documents >= _DUE_DOCUMENTS and unknown >= built.unknown_rate + _DUE_UNKNOWN:
        return f"{unknown:.0%} of the words in newer documents are not in it"
    return ""


def rebuild_note(name: str, reason: str, command: Message) -> Message:
    """Return the note on an index that should be rebuilt."""
    return Message(
        f"The index “{name}” should be rebuilt: {reason.removesuffix('.')}. Next: ", command
    )


def same_tokens(manifest: Manifest, tokeniser: Mapping[str, Any]) -> bool:
    """Tell whether the library is still tokenised as when an index was built."""
    return manifest.tokeniser == dict(tokeniser)


def rebuild_command(spec: IndexSpec) -> Message:
    """Return the call that rebuilds an index, without options that have their defaults."""
    defaults = IndexSpec()
    names = [one.name for one in fields(IndexSpec) if one.name != "where"]
    chosen = {name: getattr(spec, name) for name in (*names, "where")}
    changed = {name: value for name, value in chosen.items() if value != getattr(defaults, name)}
    if "pairs" in changed:
        changed["pairs"] = "FILE"
    return call("index", **changed)
