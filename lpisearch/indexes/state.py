"""Index state for `status` and `doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lpisearch.errors import IndexUnreadable, SubspaceError
from lpisearch.indexes.places import IndexPlace
from lpisearch.indexes.rebuild import due_for_rebuild, rebuild_command, rebuild_note
from lpisearch.messages import Message, call
from lpisearch.records import Finding
from lpisearch.storage import TOKENISER

if TYPE_CHECKING:
    from pathlib import Path

    from lpisearch.indexes.manifest import Manifest
    from lpisearch.places import Place
    from lpisearch.storage import IndexEntry, Snapshot


def index_summaries(library: Place, snapshot: Snapshot) -> list[dict[str, Any]]:
    """Return what is to be said of each index: its size, its state, whether a rebuild is due."""
    return [_summary(library, snapshot, entry) for entry in snapshot.indexes.entries()]


def index_findings(library: Place, snapshot: Snapshot) -> list[Finding]:
    """Check that the arrays of each index are as they were written."""
    from lpisearch.indexes.folder import open_folder

    findings = []
    for entry in snapshot.indexes.entries():
        check = f"index “{entry.name}”"
        try:
            folder = IndexPlace.of(library, snapshot).fetched(snapshot, entry)
            manifest, _ = open_folder(folder)
        except SubspaceError as error:
            # What the system does not let us read may be whole: to build it anew is no help.
            refused = isinstance(error, IndexUnreadable)
            step = error.next_step if refused else rebuild_command(entry.spec)
            findings.append(Finding(check, ok=False, detail=error.what, next_step=step))
            continue
        finding = Finding(check, ok=True, detail=f"{manifest.method}, intact")
        if not _is_current(snapshot, entry):
            finding = Finding(
                check, ok=True, detail="out of date", next_step=call("ingest", "PATH")
            )
        findings.append(finding)
    return findings


def _summary(library: Place, snapshot: Snapshot, entry: IndexEntry) -> dict[str, Any]:
    from lpisearch.indexes.manifest import Manifest, check_sizes

    place = IndexPlace.of(library, snapshot)
    folder = place.local(entry)
    summary: dict[str, Any] = {
        "name": entry.name,
        "method": entry.method,
        "created": entry.created_at,
        "folder": str(folder),
        "rebuild_command": rebuild_command(entry.spec),
    }
    if place.is_cache and not folder.is_dir():
        said = f"“{entry.name}” is in the database; the first search downloads it"
        return summary | {"state": "not here yet", "rebuild": "", "note": said}
    try:
        manifest = Manifest.read(folder)
        check_sizes(folder, manifest)  # `doctor` compares every byte
    except IndexUnreadable as error:
        return summary | {"state": "unreadable", "rebuild": "", "note": error.message}
    except SubspaceError as error:
        damage = rebuild_note(entry.name, error.what, summary["rebuild_command"])
        return summary | {"state": "damaged", "rebuild": error.what, "note": damage}
    due = due_for_rebuild(manifest, snapshot.settings.get(TOKENISER) or {})
    due = due or _why_passages(manifest, folder)
    state, note = _state(entry, due, is_current=_is_current(snapshot, entry))
    facts = {
        "documents": manifest.arrays["document_rows"].shape[0],
        "built_from": manifest.result.documents,
        "folded_in": manifest.folded,
        "calibration": manifest.calibration,
        "passages": manifest.passages,
    }
    state_facts = {"state": state, "rebuild": due, "note": note}
    return summary | state_facts | manifest.result.as_dict() | facts


def _state(entry: IndexEntry, due: str, *, is_current: bool) -> tuple[str, str]:
    """Return a word for the state of an index, and what to do about it."""
    if due:
        return "rebuild due", rebuild_note(entry.name, due, rebuild_command(entry.spec))
    if is_current:
        return "ready", ""
    said = f"“{entry.name}” is out of date; the next ingest updates it: "
    return "behind", Message(said, call("ingest", "PATH"))


def _why_passages(manifest: Manifest, folder: Path) -> str:
    """Say what a rebuild brings to an index of an earlier program, or ""."""
    if manifest.passages is not None:
        return ""
    import numpy as np

    from lpisearch.terms.cutting import LONG_DOCUMENT

    try:
        lengths = np.load(folder / "document_lengths.npy", mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError):
        return ""  # of a program so old that it cannot be opened anyway
    long = int(np.count_nonzero(lengths >= LONG_DOCUMENT))
    if not long:
        return ""
    return f"it cannot search within long documents ({long:,}) by page or section"


def _is_current(snapshot: Snapshot, entry: IndexEntry) -> bool:
    """Whether the index covers the documents exactly as they are."""
    return snapshot.corpus.fingerprint(entry.spec.where) == entry.fingerprint
