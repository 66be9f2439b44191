from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import lpisearch
from lpisearch.index.build import build_index
from lpisearch.index.directory import due_for_rebuild
from lpisearch.location import index_folder
from lpisearch.model.documents import Filter
from lpisearch.model.reports import BuiltIndex
from lpisearch.options import IndexOptions, IndexSpec

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lpisearch.model.documents import Finding

    Records = list[dict[str, Any]]
    Put = Callable[..., Any]
    State = Callable[..., Any]


@pytest.fixture
def built(index_shelf: Callable[..., Path]) -> Path:
    """Return the folder of an index of the records."""
    (folder,) = index_folder(index_shelf(method="lsi", dims=4)).iterdir()
    return folder


@pytest.fixture
def state(library: Path) -> Callable[[], dict[str, Any]]:
    """Return a reader of what `status` says of the only index."""

    def read() -> dict[str, Any]:
        (index,) = lpisearch.open(library).status()["indexes"]
        found: dict[str, Any] = index
        return found

    return read


@pytest.fixture
def finding(library: Path) -> Callable[[], Finding]:
    """Return a reader of what `doctor` says of the only index."""

    def read() -> Finding:
        (one,) = [
            one for one in lpisearch.open(library).examine() if one.check.startswith("index “")
        ]
        return one

    return read


def test_a_new_index_is_ready(built: Path, state: State, finding: Callable[..., Finding]) -> None:
    found = state()
    assert (found["name"], found["method"], found["state"]) == ("default", "lsi", "ready")
    assert (found["documents"], found["built_from"], found["dims"]) == (40, 40, 4)
    assert found["folded_in"] == {"documents": 0, "words": 0, "unknown": 0}
    assert (found["rebuild"], found["folder"]) == ("", str(built))
    assert found["rebuild_command"] == 'library.index(method="lsi", dims=4)'
    assert (finding().ok, finding().next_step) == (True, "")


@pytest.mark.usefixtures("built")
def test_deleted_documents_leave_it_behind_but_sound(
    library: Path, put: Put, state: State, finding: Callable[..., Finding]
) -> None:
    """A deletion is no damage, and no reason to rebuild: the next ingest brings it in step."""
    lpisearch.open(library).delete("sea/0", "sky/2")
    assert (state()["state"], state()["rebuild"], state()["documents"]) == ("behind", "", 40)
    assert (finding().ok, finding().detail) == (True, "out of date")
    assert "ingest" in finding().next_step
    put([{"id": "new", "text": "boat"}], name="new")
    assert (state()["state"], state()["documents"]) == ("ready", 39)


@pytest.mark.usefixtures("built")
def test_a_rebuild_is_due_when_many_documents_are_new(put: Put, state: State) -> None:
    new = [{"id": f"new/{n}", "text": f"boat star cake chord {n}"} for n in range(20)]
    put(new[:19], name="new")
    assert state()["rebuild"] == ""
    put(new, name="new")
    found = state()
    assert found["state"] == "rebuild due"
    assert (found["built_from"], found["folded_in"]["documents"]) == (40, 20)
    assert found["rebuild"] == "20 documents were added or changed since it was built from 40"


_TOKENISER = {"language": "english"}


@pytest.mark.parametrize(
    ("built_from", "folded", "unknown", "due"),
    [
        (40, 19, 1.0, ""),
        (40, 20, 0.0, "were added or changed"),
        (1000, 20, 0.1, ""),
        (1000, 20, 0.25, "25% of the words in newer documents are not in it"),
        (1000, 19, 0.25, ""),
        (1000, 199, 0.1, ""),
        (1000, 200, 0.1, "200 documents were added or changed"),
        (1000, 0, 0.0, ""),
    ],
)
def test_the_rule_for_a_rebuild(built_from: int, folded: int, unknown: float, due: str) -> None:
    from lpisearch.index.format import Manifest

    manifest = Manifest(
        spec=IndexSpec(method="lsi"),
        tokeniser=_TOKENISER,
        weighting={},
        result=BuiltIndex(documents=built_from, unknown_rate=0.125),
        folded={"documents": folded, "words": 1000, "unknown": int(unknown * 1000)},
        fingerprint="",
        versions={},
        created="",
    )
    said = due_for_rebuild(manifest, _TOKENISER)
    assert due in said
    assert bool(due) == bool(said)
    assert "another language" in due_for_rebuild(manifest, {"language": "german"})


_CHEAPLY_SEEN: dict[str, Callable[[Path], object]] = {
    "folder missing": lambda folder: folder.rename(folder.with_name("elsewhere")),
    "array missing": lambda folder: (folder / "loadings.npy").unlink(),
    "array cut short": lambda folder: os.truncate(folder / "vectors.npy", 200),
    "manifest missing": lambda folder: (folder / "manifest.json").unlink(),
    "manifest changed": lambda folder: (folder / "manifest.json").write_text(
        (folder / "manifest.json").read_text().replace('"dims": 4', '"dims": 5')
    ),
    "newer format": lambda folder: (folder / "manifest.json").write_text('{"format": 99}'),
}


@pytest.mark.parametrize("kind", _CHEAPLY_SEEN)
def test_damage_that_status_sees(
    built: Path, state: State, finding: Callable[..., Finding], kind: str
) -> None:
    _CHEAPLY_SEEN[kind](built)
    found = state()
    assert found["state"] == "damaged"
    assert found["rebuild"] == finding().detail
    assert str(built) in found["rebuild"]
    assert not finding().ok
    assert found["rebuild_command"] == finding().next_step == 'library.index(method="lsi", dims=4)'


def test_a_flipped_byte_is_seen_by_doctor(built: Path, finding: Callable[..., Finding]) -> None:
    path = built / "loadings.npy"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert (finding().ok, finding().next_step) == (False, 'library.index(method="lsi", dims=4)')
    assert "loadings.npy is corrupt" in finding().detail


@pytest.mark.usefixtures("shelf")
def test_an_index_of_some_documents_looks_at_those(library: Path, put: Put) -> None:
    build_index(library, IndexOptions(method="lsi", dims=4, where=Filter(labels=("sea",))))
    opened = lpisearch.open(library)
    opened.delete("sky/2")
    assert opened.status()["indexes"][0]["state"] == "ready"
    opened.delete("sea/0")
    assert opened.status()["indexes"][0]["state"] == "behind"
    put([{"id": "new", "text": "boat"}], name="new")
    assert opened.status()["indexes"][0]["state"] == "ready"


@pytest.mark.usefixtures("built")
def test_status_needs_no_numbers(library: Path) -> None:
    program = (
        "import sys, lpisearch; library = lpisearch.open(sys.argv[1]); "
        "assert library.status()['indexes'][0]['state'] == 'ready'; "
        "heavy = {'numpy', 'scipy', 'sklearn', 'alembic'} & set(sys.modules); "
        "sys.exit(', '.join(heavy) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, library], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
