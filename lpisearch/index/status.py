"""The state of each index, and whether a rebuild is due."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from lpisearch.errors import IndexDamaged, IndexNotHere, IndexUnreadable, SubspaceError
from lpisearch.index.directory import IndexLocation
from lpisearch.messages import Message, call
from lpisearch.model.documents import Finding
from lpisearch.options import IndexSpec
from lpisearch.storage.metadata import TOKENISER, IndexEntry

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from lpisearch.index.format import Manifest
    from lpisearch.location import Location
    from lpisearch.storage.store import ReadTransaction


NOT_HERE = "not built here"
"""The state of an index whose folder is not next to the library."""


def index_summaries(library: Location, snapshot: ReadTransaction) -> list[dict[str, Any]]:
    """Return the size and state of each index, and whether a rebuild is due."""
    return [_summary(library, snapshot, entry) for entry in snapshot.indexes.entries()]


def index_findings(library: Location, snapshot: ReadTransaction) -> list[Finding]:
    """Verify the arrays of each index."""
    from lpisearch.index.format import open_folder

    findings = []
    for entry in snapshot.indexes.entries():
        check = f"index “{entry.name}”"
        try:
            folder = IndexLocation.of(library, snapshot).fetched(snapshot, entry)
            manifest, _ = open_folder(folder)
        except IndexNotHere:
            again = rebuild_command(entry.spec)
            findings.append(Finding(check, ok=True, detail=NOT_HERE, next_step=again))
            continue
        except SubspaceError as error:
            # A file that the system refuses to read may be intact: a rebuild would not help.
            refused = isinstance(error, IndexUnreadable)
            step = error.next_step if refused else rebuild_command(entry.spec)
            findings.append(Finding(check, ok=False, detail=error.what, next_step=step))
            continue
        detail = f"{manifest.method}, intact"
        if manifest.appended:
            detail += f", {manifest.appended:,} documents appended"
        finding = Finding(check, ok=True, detail=detail)
        if not _is_current(snapshot, entry):
            finding = Finding(
                check, ok=True, detail="out of date", next_step=call("ingest", "PATH")
            )
        findings.append(finding)
    return findings


def _summary(library: Location, snapshot: ReadTransaction, entry: IndexEntry) -> dict[str, Any]:
    from lpisearch.index.format import Manifest, check_sizes

    summary: dict[str, Any] = {
        "name": entry.name,
        "method": entry.method,
        "created": entry.created_at,
        "folder": "",
        "rebuild_command": rebuild_command(entry.spec),
    }
    try:
        place = IndexLocation.of(library, snapshot)
        folder = place.local(entry)
    except IndexDamaged as error:
        return summary | _damage(summary, error)
    summary["folder"] = str(folder)
    if place.is_cache and not folder.is_dir():
        note = f"“{entry.name}” is in the database; the first search downloads it"
        return summary | {"state": "not here yet", "rebuild": "", "note": note}
    try:
        manifest = Manifest.read(folder)
        check_sizes(folder, manifest)  # `doctor` compares every byte
    except IndexUnreadable as error:
        return summary | {"state": "unreadable", "rebuild": "", "note": error.message}
    except IndexNotHere as error:
        note = Message(error.what, " Next: ", summary["rebuild_command"])
        return summary | {"state": NOT_HERE, "rebuild": "", "note": note}
    except SubspaceError as error:
        return summary | _damage(summary, error)
    due = due_for_rebuild(manifest, snapshot.settings.get(TOKENISER) or {})
    due = due or _why_passages(manifest, folder)
    state, note = _state(entry, due, is_current=_is_current(snapshot, entry))
    facts = {
        "documents": manifest.arrays["document_rows"].shape[0] - manifest.removed,
        "built_from": manifest.result.documents,
        "folded_in": manifest.folded,
        "appended": manifest.appended,
        "removed": manifest.removed,
        "calibration": manifest.calibration,
        "passages": manifest.passages,
        "size_bytes": _sizes(folder),
    }
    state_facts = {"state": state, "rebuild": due, "note": note}
    return summary | state_facts | manifest.result.as_dict() | facts


def _sizes(folder: Path) -> dict[str, int]:
    """Return the bytes of an index by the first word of the names of its arrays, largest first."""
    sizes: Counter[str] = Counter()
    for path in folder.glob("*.npy"):
        sizes[path.stem.partition("_")[0]] += path.stat().st_size
    return dict(sizes.most_common())


def _damage(summary: dict[str, Any], error: SubspaceError) -> dict[str, Any]:
    note = rebuild_note(summary["name"], error.what, summary["rebuild_command"])
    return {"state": "damaged", "rebuild": error.what, "note": note}


def _state(entry: IndexEntry, due: str, *, is_current: bool) -> tuple[str, str]:
    """Return the state of an index, and what to do about it."""
    if due:
        return "rebuild due", rebuild_note(entry.name, due, rebuild_command(entry.spec))
    if is_current:
        return "ready", ""
    note = f"“{entry.name}” is out of date; the next ingest updates it: "
    return "behind", Message(note, call("ingest", "PATH"))


def _why_passages(manifest: Manifest, folder: Path) -> str:
    """Say what an index of an earlier program gains by a rebuild, or ""."""
    if manifest.passages is not None:
        return ""
    import numpy as np

    from lpisearch.text.spans import LONG_DOCUMENT

    try:
        lengths = np.load(folder / "document_lengths.npy", mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError):
        return ""  # of a version too old to be opened anyway
    long = int(np.count_nonzero(lengths >= LONG_DOCUMENT))
    if not long:
        return ""
    return f"it cannot search within long documents ({long:,}) by page or section"


def _is_current(snapshot: ReadTransaction, entry: IndexEntry) -> bool:
    """Tell whether the index covers the documents exactly as they are."""
    return snapshot.corpus.fingerprint(entry.spec.where) == entry.fingerprint


# A rebuild is due when a fifth of the documents, or a tenth more of the words, are new to it.
_DUE_SHARE = 0.2
_DUE_UNKNOWN = 0.1
_DUE_DOCUMENTS = 20


def due_for_rebuild(manifest: Manifest, tokeniser: Mapping[str, Any]) -> str:
    """Say why an index should be rebuilt, or ""; `tokeniser` has the library's settings now."""
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
    """Return the note on an index that should be rebuilt."""
    return Message(
        f"The index “{name}” should be rebuilt: {reason.removesuffix('.')}. Next: ", command
    )


def same_tokens(manifest: Manifest, tokeniser: Mapping[str, Any]) -> bool:
    """Tell whether the library is still tokenised as when an index was built."""
    return manifest.tokeniser == dict(tokeniser)


def rebuild_command(spec: IndexSpec) -> Message:
    """Return the call that rebuilds an index, without options that have their defaults."""
    defaults = IndexSpec()
    names = [one.name for one in fields(IndexSpec) if one.name != "where"]
    chosen = {name: getattr(spec, name) for name in (*names, "where")}
    changed = {name: value for name, value in chosen.items() if value != getattr(defaults, name)}
    if "pairs" in changed:
        changed["pairs"] = "FILE"
    return call("index", **changed)
