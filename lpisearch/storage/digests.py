"""Digests of documents, the same in every store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lpisearch.records import Document


_AT_ONCE = 10_000


def content_hash(document: Document) -> bytes:
    """Return a digest of all that is stored of a document."""
    facts: list[Any] = [
        document.labels,
        document.split,
        document.date,
        document.path,
        document.media_type,
        document.metadata,
        len(document.title),
    ]
    if document.sections:  # digests of documents without any are as they always were
        facts.append(document.sections)
    digest = blake2b(json.dumps(facts, sort_keys=True).encode(), digest_size=16)
    digest.update(document.title.encode())
    digest.update(document.text.encode())
    return digest.digest()


def fingerprint(hashes: Mapping[int, bytes] | Iterable[tuple[int, bytes]]) -> str:
    """Return a digest of documents by key and content: equal corpora have equal ones."""
    digest = blake2b(digest_size=16)
    remaining = iter(hashes.items() if isinstance(hashes, Mapping) else hashes)
    while some := list(islice(remaining, _AT_ONCE)):
        digest.update(
            b"".join(key.to_bytes(8, "little", signed=True) + content for key, content in some)
        )
    return digest.hexdigest()
