"""Check a library for damage and repair what can be rebuilt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lpisearch.errors import LibraryDamaged
from lpisearch.indexes.state import index_findings
from lpisearch.ingest.tokeniser import library_tokeniser
from lpisearch.maintenance.restoring import restore_documents
from lpisearch.maintenance.tokens import make_tokens
from lpisearch.messages import Message, call
from lpisearch.records import Finding
from lpisearch.storage import TOKENISER, damaged, open_store, writer_lock
from lpisearch.terms.languages import TokeniserSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from lpisearch.places import Place
    from lpisearch.records import DamagedDocument
    from lpisearch.storage import Snapshot, Transaction


def examine(
    library: Place,
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


def _more_findings(library: Place, snapshot: Snapshot) -> list[Finding]:
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
    damaged_keys = {each.place.key for each in lost}
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
    name, path = document.place.id, document.path
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


def _tokeniser_finding(snapshot: Snapshot) -> Finding:
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
