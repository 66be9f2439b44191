"""Add and remove labels by hand, overriding the source files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.errors import BadOption, DocumentNotFound
from lpisearch.records import Filter, LabelReport
from lpisearch.storage import open_store, writer_lock
from lpisearch.wording import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lpisearch.places import Place
    from lpisearch.storage import Snapshot

EVERY = Filter()


def label_documents(
    library: Place,
    names: Sequence[str],
    where: Filter,
    *,
    add: Sequence[str],
    remove: Sequence[str],
    wait_seconds: float = 30.0,
) -> LabelReport:
    """Give documents labels and take others away, of all documents or of none.

    Raises
    ------
    BadOption, DocumentNotFound, LibraryError
    """
    came, went = _checked("add", add), _checked("remove", remove)
    if not came and not went:
        raise BadOption(("add", "remove"), "give at least one label")
    if both := set(came) & set(went):
        raise BadOption(("add", "remove"), f"“{both.pop()}” cannot be both added and removed")
    if not names and where == EVERY:
        raise BadOption("documents", "give document ids, paths or filters")
    with (
        open_store(library, writable=True) as store,
        writer_lock(library, "label", wait_seconds),
        store.writing() as transaction,
    ):
        keys = meant_documents(transaction, names, where)
        added, removed = transaction.labels.edit(keys, came, went)
        return LabelReport(len(keys), added, removed)


def meant_documents(snapshot: Snapshot, names: Sequence[str], where: Filter) -> list[int]:
    """Return the keys of documents by id or path, of those that pass a filter.

    Raises
    ------
    DocumentNotFound
        A name means none.
    BadOption
        Names and a filter are given: a filter would silently leave some of the named ones out.
    """
    if names and where != EVERY:
        raise BadOption("documents", "give ids or filters, not both")
    if not names:
        return list(snapshot.corpus.content_hashes(where))
    keys: dict[int, None] = {}
    for name in names:
        found = snapshot.documents.find(name)
        if not found:
            raise DocumentNotFound(name)
        keys |= dict.fromkeys(found)
    return sorted(keys)


def _checked(option: str, labels: Sequence[str]) -> list[str]:
    """Return labels without white space around them, each once."""
    found = dict.fromkeys(label.strip() for label in labels)
    for label in found:
        if not label:
            raise BadOption(option, "a label cannot be empty")
        if not label.isprintable():
            raise BadOption(option, f"“{printable(label)}” contains invisible characters")
    return list(found)
