"""`lpisearch status`: contents and state of a library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lpisearch.indexes.state import index_summaries
from lpisearch.records import Filter
from lpisearch.storage import TOKENISER

if TYPE_CHECKING:
    from lpisearch.indexes.session import Session


def library_status(session: Session) -> dict[str, Any]:
    """Return counts of documents, labels, splits and sources, and the size on disk."""
    with session.reading() as snapshot:
        tokeniser = snapshot.settings.get(TOKENISER)
        return {
            "library": str(session.path),
            "documents": snapshot.documents.count(Filter()),
            "labels": snapshot.labels.counts(),
            "predicted": snapshot.labels.predicted_counts(),
            "splits": snapshot.labels.split_counts(),
            "sources": len(snapshot.sources.known()),
            "unfinished": snapshot.sources.unfinished(),
            "language": tokeniser["language"] if tokeniser else None,
            "size_bytes": session.store.size_bytes(),
            "schema": snapshot.revision(),
            "indexes": index_summaries(session.path, snapshot),
        }
