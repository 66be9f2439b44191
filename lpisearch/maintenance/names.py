"""Complete names of labels, indexes and documents by prefix."""

from __future__ import annotations

from glob import escape
from typing import TYPE_CHECKING

from lpisearch.records import Filter

if TYPE_CHECKING:
    from lpisearch.indexes.session import Session


def names_that_begin(session: Session, kind: str, beginning: str, most: int) -> list[str]:
    """Return names of one kind ("label", "index", "document") that begin so, in order."""
    with session.reading() as snapshot:
        if kind == "label":
            names = snapshot.labels.names()
        elif kind == "index":
            names = [entry.name for entry in snapshot.indexes.entries()]
        else:
            wanted = Filter(path=f"{escape(beginning)}*")
            names = [entry.id for entry in snapshot.documents.entries(wanted, most, 0)]
    return [name for name in names if name.startswith(beginning)][:most]
