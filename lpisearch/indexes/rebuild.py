"""Decide when an index needs a rebuild, and with which call."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from lpisearch.messages import Message, call
from lpisearch.settings import IndexSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lpisearch.indexes.manifest import Manifest

# A rebuild is due when a fifth of the documents, or a tenth more of the words, are new to the map.
_DUE_SHARE = 0.2
_DUE_UNKNOWN = 0.1
_DUE_DOCUMENTS = 20


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
        return (
            "it was built with different word rules or another language than the library uses now"
        )
    folded, built = manifest.folded, manifest.result
    documents = folded["documents"]
    if documents >= max(_DUE_DOCUMENTS, _DUE_SHARE * built.documents):
        return (
            f"{documents:,} documents were added or changed since it was built from "
            f"{built.documents:,}"
        )
    unknown = folded["unknown"] / max(folded["words"], 1)
    if documents >= _DUE_DOCUMENTS and unknown >= built.unknown_rate + _DUE_UNKNOWN:
        return f"{unknown:.0%} of the words in newer documents are not in it"
    return ""


def rebuild_note(name: str, reason: str, command: Message) -> Message:
    """Return what an ingest and a look at the library say of an index that is due."""
    return Message(
        f"The index “{name}” should be rebuilt: {reason.removesuffix('.')}. Next: ", command
    )


def same_tokens(manifest: Manifest, tokeniser: Mapping[str, Any]) -> bool:
    """Tell whether the tokens of the library are still made as when an index was built."""
    return manifest.tokeniser == dict(tokeniser)


def rebuild_command(spec: IndexSpec) -> Message:
    """Return the call that builds an index as it was asked for.

    What is as it is without being asked for is left out.
    """
    usual = IndexSpec()
    names = [one.name for one in fields(IndexSpec) if one.name != "where"]
    chosen = {name: getattr(spec, name) for name in (*names, "where")}
    asked = {name: value for name, value in chosen.items() if value != getattr(usual, name)}
    if "pairs" in asked:
        asked["pairs"] = "FILE"
    return call("index", **asked)
