"""When an index should be built anew, and by which command."""

from __future__ import annotations

import shlex
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from lpisearch.records import Filter
from lpisearch.settings import IndexOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lpisearch.indexes.manifest import Manifest
    from lpisearch.storage.sqlite.indexes import IndexEntry

# A rebuild is due when a fifth of the documents, or a tenth more of the words, are new to the map.
_DUE_SHARE = 0.2
_DUE_UNKNOWN = 0.1
_DUE_DOCUMENTS = 20
_NOT_OF_THE_INDEX = ("where", "wait_seconds")


def due_for_rebuild(manifest: Manifest, tokeniser: Mapping[str, Any]) -> str:
    """Say why an index should be built anew, or "".

    Parameters
    ----------
    manifest
        Of the index.
    tokeniser
        Which now makes the tokens of the library.
    """
    if not same_tokens(manifest, tokeniser):
        return "its words were made by other rules, or in another language, than the library's"
    folded, built = manifest.folded, manifest.result
    documents = folded["documents"]
    if documents >= max(_DUE_DOCUMENTS, _DUE_SHARE * built["documents"]):
        return (
            f"{documents:,} documents came or changed after it was built "
            f"from {built['documents']:,}"
        )
    unknown = folded["unknown"] / max(folded["words"], 1)
    if documents >= _DUE_DOCUMENTS and unknown >= built["unknown_rate"] + _DUE_UNKNOWN:
        return f"{unknown:.0%} of the words in newer documents are unknown to it"
    return ""


def same_tokens(manifest: Manifest, tokeniser: Mapping[str, Any]) -> bool:
    """Tell whether the tokens of the library are still made as when an index was built."""
    return manifest.tokeniser == dict(tokeniser)


def rebuild_command(entry: IndexEntry) -> str:
    """Return the command that builds an index as it was asked for."""
    return shlex.join(["lpisearch", "index", *_words(entry)])


def filter_of(entry: IndexEntry) -> Filter:
    """Return which documents an index covers."""
    where = entry.parameters.get("where", {})
    return Filter(tuple(where.get("labels", ())), where.get("path", ""), where.get("split", ""))


def _words(entry: IndexEntry) -> Iterator[str]:
    for option in fields(IndexOptions):
        if option.name in _NOT_OF_THE_INDEX:
            continue
        value = entry.parameters.get(option.name, option.default)
        if value != option.default:
            yield from (f"--{option.name}", str(value))
    where = filter_of(entry)
    for label in where.labels:
        yield from ("--where", f"label={label}")
    for name, pattern in (("path", where.path), ("split", where.split)):
        if pattern:
            yield from ("--where", f"{name}={pattern}")
