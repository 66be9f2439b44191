"""Reject strings that SQLite truncates or PostgreSQL refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lpisearch.records import DocumentWrite


def refuse_unstorable(writes: Iterable[DocumentWrite]) -> None:
    """Refuse documents with a NUL; half of a surrogate pair fails as it is encoded.

    Readers remove both, so that no document of a user comes to this.

    Raises
    ------
    ValueError
    """
    for place, path, document, tokens in writes:
        strings = (place.id, path, document.title, document.text, tokens, *document.labels)
        if any("\0" in string for string in strings):
            raise ValueError(f"a NUL in the document {place.id!r}")
