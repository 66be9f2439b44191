"""Look for damage in a library, and mend what the documents allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.errors import LibraryDamaged
from lpisearch.indexes.state import index_findings
from lpisearch.ingest.tokeniser import library_tokeniser
from lpisearch.maintenance.tokens import make_tokens
from lpisearch.messages import call
from lpisearch.records import Finding
from lpisearch.storage import TOKENISER, damaged, open_store, writer_lock
from lpisearch.terms.languages import TokeniserSettings

if TYPE_CHECKING:
    from pathlib import Path

    from lpisearch.storage import Snapshot, Transaction


def examine(library: Path, *, repair: bool = False, wait_seconds: float = 30.0) -> list[Finding]:
    """Look for damage; with `repair`, first mend what can be mended from the documents."""
    try:
        with open_store(library, writable=True) as store:
            if repair:
                with (
                    writer_lock(library, "examine", wait_seconds),
                    store.writing() as transaction,
                ):
                    _repair(transaction)
            with store.writing() as transaction:
                found = [*transaction.health.findings(), _tokeniser_finding(transaction)]
                found.extend(index_findings(library, transaction))
                transaction.rollback()
    except LibraryDamaged as damage:
        return [damaged(damage.what)]
    return found


def _repair(transaction: Transaction) -> None:
    transaction.health.repair()
    tokeniser = library_tokeniser(transaction)
    make_tokens(transaction, tokeniser, transaction.health.untokenised())


def _tokeniser_finding(snapshot: Snapshot) -> Finding:
    check = "tokeniser"
    stored = snapshot.settings.get(TOKENISER)
    if stored is None or TokeniserSettings.from_dict(stored).stems_alike:
        return Finding(check, ok=True, detail="as it made the tokens")
    return Finding(
        check,
        ok=True,
        detail=f"the tokens were made by {stored['stemmer']}, another version",
        next_step=call("retokenise"),
    )
