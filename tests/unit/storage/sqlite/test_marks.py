"""The mark of a state in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.records import Filter
from lpisearch.storage import create_store

if TYPE_CHECKING:
    from pathlib import Path

    from lpisearch.storage import Store


def _mark(store: Store) -> str:
    with store.reading() as snapshot:
        return snapshot.state()


def test_only_what_is_kept_changes_the_mark(tmp_path: Path) -> None:
    """A transaction that is undone, or that writes nothing, leaves the mark as it was."""
    with create_store(tmp_path / "library.db") as store:
        before = _mark(store)
        with store.writing() as transaction:
            transaction.settings.set("name", {"value": 1})
            transaction.rollback()
        assert _mark(store) == before
        with store.writing() as transaction:
            transaction.documents.count(Filter())
        assert _mark(store) == before
        with store.writing() as transaction:
            transaction.settings.set("name", {"value": 1})
        assert _mark(store) != before
