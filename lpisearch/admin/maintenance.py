"""Examine, repair, back up, upgrade, retokenise.

A document is restored if its file still contains content with the stored hash: then it is exactly
as it was, down to the last label. If the file is gone or has changed, nothing is guessed.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lpisearch import storage
from lpisearch.errors import BadOption, LibraryDamaged, LibraryNotFound, LpiSearchError
from lpisearch.files import sweep_copies
from lpisearch.index.directory import index_findings
from lpisearch.ingest.discovery import DiscoveredFile
from lpisearch.ingest.extraction import extract
from lpisearch.ingest.ingestion import library_tokeniser, make_tokens, store_settings, tokenised
from lpisearch.ingest.names import FileNames, LabelRules
from lpisearch.ingest.recorder import relative_path
from lpisearch.location import Location, is_own_path
from lpisearch.messages import Message, call
from lpisearch.model.documents import (
    DamagedDocument,
    Document,
    DocumentWrite,
    Finding,
    Problem,
    Traits,
)
from lpisearch.options import ReadOptions
from lpisearch.readers.registry import READERS
from lpisearch.storage import open_store, writer_lock
from lpisearch.storage.integrity import content_hash, damaged
from lpisearch.storage.metadata import TOKENISER
from lpisearch.text.languages import AUTO, RULES_VERSION, TokeniserSettings
from lpisearch.text.tokeniser import Tokeniser
from lpisearch.text.traits import Evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lpisearch.storage.store import ReadTransaction, Transaction


def examine(
    library: Location,
    *,
    repair: bool = False,
    wait_seconds: float = 30.0,
    on_stage: Callable[[str], None] = lambda _name: None,
) -> list[Finding]:
    """Check a library; with `repair`, first mend what the documents and their files allow."""
    mended: list[Finding] = []
    try:
        with open_store(library, writable=True) as store:
            if repair:
                with writer_lock(library, "examine", wait_seconds), store.writing() as transaction:
                    on_stage("mending")
                    mended = _repair(transaction)
            with store.writing() as transaction:
                on_stage("checking documents")
                findings = transaction.health.findings()
                on_stage("checking indexes")
                with suppress(ValueError):  # damaged cells, which are reported already
                    findings += [
                        _tokeniser_finding(transaction),
                        *index_findings(library, transaction),
                    ]
                transaction.rollback()
    except LibraryDamaged as damage:
        return [damaged(damage.what)]
    return [*findings, *mended]


def _repair(transaction: Transaction) -> list[Finding]:
    health = transaction.health
    lost_rows = health.repair()
    forgotten_indexes = health.repair_rows()
    tokeniser = library_tokeniser(transaction)
    restored, lost = restore_documents(transaction, tokeniser)
    health.give_up(lost)
    lost_keys = {document.row.key for document in lost}
    untokenised = [key for key in health.untokenised() if key not in lost_keys]
    transaction.changes.replace_tokens({}, dict.fromkeys(untokenised, Traits()))
    make_tokens(transaction, tokeniser, untokenised)
    findings = []
    if restored:
        were = "1 document was" if restored == 1 else f"{restored:,} documents were"
        findings.append(Finding("restored", ok=True, detail=f"{were} read again from disk"))
    findings += map(_lost, lost)
    for name in forgotten_indexes:
        step = call("index", name=name)
        findings.append(Finding(f"index “{name}”", ok=False, detail="lost", next_step=step))
    for noun, number in lost_rows.items():
        again = call("index") if noun == "indexes" else Message(call("ingest"), " the same paths")
        step = Message("restore a backup, or ", again)
        findings.append(Finding(noun, ok=False, detail=f"{number:,} lost", next_step=step))
    return findings


def _lost(document: DamagedDocument) -> Finding:
    """Return the finding about a document whose original content is not in its file."""
    name, path = document.row.id, document.path
    if Path(path).exists():
        reason, step = (
            "has changed since",
            Message("ingest the new version: ", call("ingest", path)),
        )
    else:
        reason, step = "no longer exists", Message("restore a backup, or ", call("delete", name))
    return Finding(f"document “{name}”", ok=False, detail=f"{path} {reason}", next_step=step)


def _tokeniser_finding(snapshot: ReadTransaction) -> Finding:
    check = "tokeniser"
    stored = snapshot.settings.get(TOKENISER)
    settings = TokeniserSettings.from_dict(stored or {})
    if not settings.stems_alike:
        detail = f"words were stored by another version, {settings.stemmer}"
    elif settings.version < RULES_VERSION:
        detail = f"words follow rules {settings.version}; this program has {RULES_VERSION}"
    else:
        return Finding(check, ok=True, detail="unchanged")
    return Finding(check, ok=True, detail=detail, next_step=call("retokenise"))


def restore_documents(
    transaction: Transaction, tokeniser: Tokeniser
) -> tuple[int, list[DamagedDocument]]:
    """Restore damaged documents from unchanged files; return their number and the others."""
    lost: list[DamagedDocument] = []
    restored: list[DocumentWrite] = []
    by_file: dict[tuple[str, str], list[DamagedDocument]] = {}
    for document in transaction.health.damaged_documents():
        by_file.setdefault((document.path, document.format), []).append(document)
    for (path, name), documents in by_file.items():
        for document, write in _originals(path, name, documents):
            if write is None:
                lost.append(document)
            else:
                restored.append(tokenised(write, tokeniser))
    transaction.changes.replace(restored, datetime.now(UTC).isoformat(timespec="seconds"))
    return len(restored), lost


def _originals(
    path: str, name: str, damaged: list[DamagedDocument]
) -> Iterator[tuple[DamagedDocument, DocumentWrite | None]]:
    """Find documents in a file by their positions, or anywhere if a position is damaged."""
    positions = {abs(document.row.position) for document in damaged}
    anywhere = not all(document.is_named for document in damaged)
    missing = damaged
    # Where labels come from folders, those that a record states are metadata.
    for labels, split in product(("stated", "folder"), repeat=2):
        options = ReadOptions(
            format=name if name in READERS else "auto", labels=labels, split=split
        )
        in_file = dict(_documents_of(path, options, None if anywhere else positions))
        still_missing = []
        for document in missing:
            candidates = [abs(document.row.position)] if document.is_named else list(in_file)
            writes = (_as_written(document, at, *in_file[at]) for at in candidates if at in in_file)
            if (write := next(filter(None, writes), None)) is None:
                still_missing.append(document)
            else:
                yield document, write
        missing = still_missing
        if not missing:
            return
    yield from ((document, None) for document in missing)


def _documents_of(
    path: str, options: ReadOptions, positions: set[int] | None
) -> Iterator[tuple[int, tuple[Document, bool]]]:
    """Yield documents of a file by position, each with whether the format may hold many."""
    try:
        facts = Path(path).stat()
    except (OSError, ValueError):
        return
    file = DiscoveredFile(
        path, str(Path(path).parent), facts.st_size, facts.st_mtime_ns, named=True
    )
    for extracted in extract([file], options):
        many = extracted.reader is not None and extracted.reader.many
        position = 0
        for item in extracted.items:
            if isinstance(item, Problem):
                position += not item.warning
                continue
            position += 1
            if positions is None or position in positions:
                yield position, (item, many)


def _as_written(
    damaged: DamagedDocument,
    position: int,
    document: Document,
    many: bool,  # noqa: FBT001 (a pair from the file)
) -> DocumentWrite | None:
    """Return the document as it was written; None if no hash proves it."""
    ids = _ids(damaged, document, position if many else None)
    hashed = [
        (content_hash(one), one, of_file) for one, of_file in _labelled(damaged, document, ids)
    ]
    proved = [one for one in hashed if one[0] == damaged.row.content_hash]
    # If none is, only the hash may be damaged: then everything else is as in the file.
    proved += [one for one in hashed if one[0] == damaged.found and one[2]]
    if not proved:
        return None
    digest, labelled, _ = proved[0]
    is_own = damaged.is_named or damaged.row.id in ids
    name = damaged.row.id if is_own else ids[0]
    row = damaged.row._replace(id=name, position=position, content_hash=digest)
    return DocumentWrite(row, damaged.path, labelled)


def _ids(damaged: DamagedDocument, document: Document, number: int | None) -> tuple[str, ...]:
    relative = relative_path(damaged.path, damaged.root)
    if document.id:
        return FileNames().stated(document.id, relative, damaged.root)
    return FileNames().derived(relative, damaged.root, number)


def _labelled(
    damaged: DamagedDocument, document: Document, ids: tuple[str, ...]
) -> Iterator[tuple[Document, bool]]:
    """Yield the document with the labels of the library, then with those of its file."""
    yield replace(document, labels=damaged.labels, split=damaged.split), False
    with suppress(LpiSearchError):
        relative = relative_path(damaged.path, damaged.root)
        for labels, split in product(("stated", "auto", "folder"), repeat=2):
            rules = LabelRules(ReadOptions(labels=labels, split=split))
            yield rules.apply(document, ids, relative), True


def upgrade_library(library: Location) -> dict[str, Any]:
    """Upgrade an older library to this version's schema."""
    if not storage.exists(library):
        raise LibraryNotFound(library)
    copy = storage.upgrade_store(library)
    return {
        "library": str(library),
        "schema": storage.schema_revision(),
        "copy": str(copy) if copy else None,
    }


def check_schema(library: Location) -> list[str]:
    """Return how the tables differ from the expected schema."""
    with storage.open_store(library):
        return storage.schema_differences(library)


def back_up_library(library: Location, target: Path | None = None) -> Path:
    """Copy a library in use to `target`, which must not exist.

    The default name has date and time; the file is next to the library or, for a server, in the
    current folder. The copy of a library on a server is an SQLite file.
    """
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


_LANGUAGE_SAMPLE = 1000


def retokenise(library: Location, language: str = "", wait_seconds: float = 30.0) -> int:
    """Tokenise all documents again in one transaction, perhaps in another language.

    With "auto" each document gets its own language. Without one, documents keep theirs.
    """
    with (
        open_store(library, writable=True) as store,
        writer_lock(library, "retokenise", wait_seconds),
        store.writing() as transaction,
    ):
        stored = transaction.settings.get(TOKENISER)
        keys = transaction.documents.keys()
        name = language or (stored["language"] if stored else AUTO)
        if name == AUTO:
            main = stored.get("main", "") if stored and not language else ""
            settings = TokeniserSettings.mixed(main or _main_language(transaction, keys))
        else:
            settings = TokeniserSettings.for_language(name)
        before = transaction.documents.languages()
        make_tokens(transaction, Tokeniser(settings), keys, detect=bool(language))
        is_redone = before != transaction.documents.languages()
        store_settings(transaction, settings, is_redone=is_redone)
        return len(keys)


def _main_language(transaction: Transaction, keys: list[int]) -> str:
    """Detect the language of most documents in up to 2,000 of them, evenly spread."""
    sample = keys[:: max(len(keys) // _LANGUAGE_SAMPLE, 1)]
    evidence = Evidence()
    evidence.add(
        f"{document.title}\n{document.text}" for document in transaction.corpus.load(sample)
    )
    return evidence.language
