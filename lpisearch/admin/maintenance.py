"""Examine, repair, copy, upgrade, tokenise again.

A document is restored where what its file has now has the very hash that was stored: then it is as
it was written, down to the last label. Where the file is gone or has changed, nothing is guessed.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lpisearch import storage
from lpisearch.errors import BadOption, LibraryDamaged, LibraryNotFound, LpiSearchError
from lpisearch.files import sweep_copies
from lpisearch.index.status import index_findings
from lpisearch.ingest.discovery import DiscoveredFile
from lpisearch.ingest.extraction import extract
from lpisearch.ingest.ingestion import AUTO, library_tokeniser
from lpisearch.ingest.names import FileNames, LabelRules
from lpisearch.ingest.recorder import relative_path
from lpisearch.location import is_own_path
from lpisearch.messages import Message, call
from lpisearch.model.documents import DocumentWrite, Finding, Problem
from lpisearch.options import ReadOptions
from lpisearch.readers.registry import READERS
from lpisearch.storage import open_store, writer_lock
from lpisearch.storage.integrity import content_hash, damaged
from lpisearch.storage.metadata import TOKENISER
from lpisearch.text.languages import Evidence, TokeniserSettings
from lpisearch.text.tokeniser import Tokeniser, document_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lpisearch.location import Location
    from lpisearch.model.documents import DamagedDocument, Document
    from lpisearch.storage.store import ReadTransaction, Transaction


def examine(
    library: Location,
    *,
    repair: bool = False,
    wait_seconds: float = 30.0,
    on_stage: Callable[[str], None] = lambda _name: None,
) -> list[Finding]:
    """Look for damage; with `repair`, first mend what the documents and their files allow.

    `on_stage` is called with the name of each stage as it begins.
    """
    mended: list[Finding] = []
    try:
        with open_store(library, writable=True) as store:
            if repair:
                with (
                    writer_lock(library, "examine", wait_seconds),
                    store.writing() as transaction,
                ):
                    on_stage("mending")
                    mended = _repair(transaction)
            with store.writing() as transaction:
                on_stage("checking documents")
                found = transaction.health.findings()
                on_stage("checking indexes")
                found = [*found, *_more_findings(library, transaction)]
                transaction.rollback()
    except LibraryDamaged as damage:
        return [damaged(damage.what)]
    return [*found, *mended]


def _more_findings(library: Location, snapshot: ReadTransaction) -> list[Finding]:
    """Look at what rests on rows that are as they were written."""
    try:
        return [_tokeniser_finding(snapshot), *index_findings(library, snapshot)]
    except ValueError:  # it has been found already
        return []


def _repair(transaction: Transaction) -> list[Finding]:
    health = transaction.health
    gone = health.repair()
    forgotten = health.repair_rows()
    tokeniser = library_tokeniser(transaction)
    restored, lost = restore_documents(transaction, tokeniser)
    health.give_up(lost)
    damaged_keys = {each.row.key for each in lost}
    untokenised = [key for key in health.untokenised() if key not in damaged_keys]
    make_tokens(transaction, tokeniser, untokenised)
    return [
        *_restored(restored),
        *(_lost(each) for each in lost),
        *(_forgotten(name) for name in forgotten),
        *(_gone(noun, number) for noun, number in gone.items()),
    ]


def _restored(number: int) -> list[Finding]:
    said = "1 document was" if number == 1 else f"{number:,} documents were"
    return [Finding("restored", ok=True, detail=f"{said} read again from disk")] if number else []


def _lost(document: DamagedDocument) -> Finding:
    """Say of a document that its file no longer has it as it was."""
    name, path = document.row.id, document.path
    if Path(path).exists():
        reason, step = (
            "has changed since",
            Message("ingest the new version: ", call("ingest", path)),
        )
    else:
        reason, step = "no longer exists", Message("restore a backup, or ", call("delete", name))
    return Finding(f"document “{name}”", ok=False, detail=f"{path} {reason}", next_step=step)


def _gone(noun: str, number: int) -> Finding:
    again = call("index") if noun == "indexes" else Message(call("ingest"), " the same paths")
    step = Message("restore a backup, or ", again)
    return Finding(noun, ok=False, detail=f"{number:,} lost", next_step=step)


def _forgotten(name: str) -> Finding:
    return Finding(f"index “{name}”", ok=False, detail="lost", next_step=call("index", name=name))


def _tokeniser_finding(snapshot: ReadTransaction) -> Finding:
    check = "tokeniser"
    stored = snapshot.settings.get(TOKENISER)
    if stored is None or TokeniserSettings.from_dict(stored).stems_alike:
        return Finding(check, ok=True, detail="unchanged")
    return Finding(
        check,
        ok=True,
        detail=f"words were stored by another version, {stored['stemmer']}",
        next_step=call("retokenise"),
    )


def restore_documents(
    transaction: Transaction, tokeniser: Tokeniser
) -> tuple[int, list[DamagedDocument]]:
    """Restore the damaged documents whose files still have them as they were."""
    lost: list[DamagedDocument] = []
    restored: list[DocumentWrite] = []
    by_file: dict[tuple[str, str], list[DamagedDocument]] = {}
    for each in transaction.health.damaged_documents():
        by_file.setdefault((each.path, each.format), []).append(each)
    for (path, name), rows in by_file.items():
        for each, write in _found_again(path, name, rows):
            if write is None:
                lost.append(each)
            else:
                restored.append(write._replace(tokens=document_tokens(tokeniser, write.document)))
    transaction.changes.replace(restored, datetime.now(UTC).isoformat(timespec="seconds"))
    return len(restored), lost


def _found_again(
    path: str, name: str, damaged: list[DamagedDocument]
) -> Iterator[tuple[DamagedDocument, DocumentWrite | None]]:
    """Look for the documents of a file at their places, or, where these are damaged, anywhere."""
    places = {abs(each.row.position) for each in damaged}
    anywhere = not all(each.is_named for each in damaged)
    there = dict(_documents_of(path, name, None if anywhere else places))
    for each in damaged:
        tried = [abs(each.row.position)] if each.is_named else list(there)
        found = (_as_written(each, at, *there[at]) for at in tried if at in there)
        yield each, next(filter(None, found), None)


def _documents_of(
    path: str, name: str, places: set[int] | None
) -> Iterator[tuple[int, tuple[Document, bool]]]:
    """Yield documents of a file by their places, with each whether the file may hold many."""
    try:
        facts = Path(path).stat()
    except (OSError, ValueError):
        return
    file = DiscoveredFile(
        path, str(Path(path).parent), facts.st_size, facts.st_mtime_ns, named=True
    )
    options = ReadOptions(format=name if name in READERS else "auto")
    for extracted in extract([file], options):
        many = extracted.reader is not None and extracted.reader.many
        position = 0
        for item in extracted.items:
            if isinstance(item, Problem):
                position += not item.warning
                continue
            position += 1
            if places is None or position in places:
                yield position, (item, many)


def _as_written(
    damaged: DamagedDocument,
    position: int,
    found: Document,
    many: bool,  # noqa: FBT001 (a pair from the file)
) -> DocumentWrite | None:
    """Return the document as it was written, or None if that cannot be proved by a hash."""
    ids = _ids(damaged, found, position if many else None)
    for labelled, is_of_file in _labelled(damaged, found, ids):
        digest = content_hash(labelled)
        # The hash itself may be what is damaged: then all else is as the file has it.
        if digest == damaged.row.content_hash or (is_of_file and digest == damaged.found):
            is_own = damaged.is_named or damaged.row.id in ids
            name = damaged.row.id if is_own else ids[0]
            place = damaged.row._replace(id=name, position=position, content_hash=digest)
            return DocumentWrite(place, damaged.path, labelled)
    return None


def _ids(damaged: DamagedDocument, found: Document, number: int | None) -> tuple[str, ...]:
    relative = relative_path(damaged.path, damaged.root)
    if found.id:
        return FileNames().stated(found.id, relative, damaged.root)
    return FileNames().derived(relative, damaged.root, number)


def _labelled(
    damaged: DamagedDocument, found: Document, ids: tuple[str, ...]
) -> Iterator[tuple[Document, bool]]:
    """Yield the document with the labels of the library, then with those that its file gives it."""
    yield replace(found, labels=damaged.labels, split=damaged.split), False
    with suppress(LpiSearchError):
        rules = LabelRules.of(ReadOptions())
        yield rules.apply(found, ids, relative_path(damaged.path, damaged.root)), True


def upgrade_library(library: Location) -> dict[str, Any]:
    """Bring an older library to this program's schema; a newer program does so by itself."""
    if not storage.exists(library):
        raise LibraryNotFound(library)
    copy = storage.upgrade_store(library)
    return {
        "library": str(library),
        "schema": storage.schema_revision(),
        "copy": str(copy) if copy else None,
    }


def check_schema(library: Location) -> list[str]:
    """Return how the tables differ from what this program expects."""
    with storage.open_store(library):
        return storage.schema_differences(library)


def back_up_library(library: Location, target: Path | None = None) -> Path:
    """Copy a library while it is in use."""
    with storage.open_store(library):
        pass
    stem, folder = library.name, Path()
    if isinstance(library, Path):
        stem, folder = library.stem, library.parent
    if target is None:
        sweep_copies(folder, stem)
        stamp = _local_time().strftime("%Y%m%d-%H%M%S")
        target = folder / f"{stem}-{stamp}.db"
    elif target.is_dir():
        target /= library.name if isinstance(library, Path) else f"{stem}.db"
    if target.exists():
        raise BadOption("target", f"{target} already exists; a backup never overwrites a file")
    if is_own_path(target, library):
        raise BadOption("target", f"{target} is one of the library's own files")
    return storage.back_up(library, target)


def _local_time() -> datetime:
    try:
        return datetime.now().astimezone()
    except ValueError:  # a time zone of more than a day, as TZ=UTC-25
        return datetime.now(UTC)


_AT_ONCE = 1000
_LANGUAGE_SAMPLE = 1000


def retokenise(library: Location, language: str = "", wait_seconds: float = 30.0) -> int:
    """Make the tokens of all documents anew, in one transaction, perhaps in another language.

    At "auto" the language is found in up to 2,000 documents, evenly spread.
    """
    with (
        open_store(library, writable=True) as store,
        writer_lock(library, "retokenise", wait_seconds),
        store.writing() as transaction,
    ):
        stored = transaction.settings.get(TOKENISER)
        every = transaction.documents.keys()
        name = language or (stored["language"] if stored else AUTO)
        if name == AUTO:
            name = _found_language(transaction, every)
        settings = TokeniserSettings.for_language(name)
        transaction.settings.set(TOKENISER, settings.as_dict())
        make_tokens(transaction, Tokeniser(settings), every)
        return len(every)


def make_tokens(transaction: Transaction, tokeniser: Tokeniser, keys: list[int]) -> None:
    """Make the tokens of some documents anew, by key."""
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
        loaded = zip(some, transaction.documents.load(some), strict=True)
        tokens = {key: document_tokens(tokeniser, document) for key, document in loaded}
        transaction.changes.replace_tokens(tokens)


def _found_language(snapshot: ReadTransaction, keys: list[int]) -> str:
    step = max(len(keys) // _LANGUAGE_SAMPLE, 1)
    evidence = Evidence()
    evidence.add(
        f"{document.title}\n{document.text}" for document in snapshot.documents.load(keys[::step])
    )
    return evidence.language
