from __future__ import annotations

import multiprocessing
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import lpisearch
from lpisearch.errors import NothingToIndex
from lpisearch.index import format as index_format
from lpisearch.index import pipeline, plan
from lpisearch.index.build import build_index
from lpisearch.index.format import open_folder
from lpisearch.index.subspace import scaled_rows
from lpisearch.numeric.rows import SparseRows
from lpisearch.options import IndexOptions
from tests.indexing import open_index

if TYPE_CHECKING:
    from collections.abc import Callable

    from lpisearch.index.subspace import SubspaceIndex
    from lpisearch.model.reports import IndexReport

    Stopped = Callable[[], Path]

pytestmark = pytest.mark.usefixtures("shelf")
OPTIONS = IndexOptions(dims=6, neighbours=5)
STEPS = [
    "counting terms",
    "writing postings",
    "map",
    "embedding documents",
    "labels",
    "calibration",
]


@pytest.fixture
def in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every build kept in files, in blocks of a few documents."""
    monkeypatch.setattr(plan, "FILES_FROM", 1)
    monkeypatch.setattr("lpisearch.index.inversion.BLOCK_ROWS", 7)


def _arrays(index: SubspaceIndex) -> dict[str, Any]:
    return {name: np.array(array) for name, array in index.arrays.items()}


@pytest.mark.parametrize("files_from", [1, 1000], ids=["files", "memory"])
def test_places_of_a_large_library_are_packed(
    library: Path, monkeypatch: pytest.MonkeyPatch, files_from: int
) -> None:
    build_index(library, OPTIONS)
    before = open_index(library).vectors
    monkeypatch.setattr(plan, "FILES_FROM", files_from)
    monkeypatch.setattr("lpisearch.index.subspace.PACKED_FROM", 10)
    build_index(library, OPTIONS)
    packed = open_index(library)
    assert packed.packed_vectors.codes.dtype == np.int16
    assert not {"unpacked_places"} & packed.arrays.keys()
    np.testing.assert_allclose(packed.vectors, before, atol=1e-4)
    assert packed.manifest.format == 4
    assert packed.packed_loadings.codes.dtype == np.int8
    assert lpisearch.open(library).search("ship", k=3).hits


def test_packed_loadings_place_explain_and_name_as_plain_ones(
    library: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    build_index(library, OPTIONS)
    plain = open_index(library)
    monkeypatch.setattr("lpisearch.index.subspace.PACKED_FROM", 10)
    build_index(library, OPTIONS)
    packed = open_index(library)
    every = slice(None)
    loadings = plain.packed_loadings.at(every)
    np.testing.assert_allclose(packed.packed_loadings.at(every), loadings, atol=2e-2)
    columns = np.arange(plain.n_terms, dtype=np.int32)
    one = SparseRows.of_query(columns[:5], np.ones(5, np.float32), plain.n_terms)
    np.testing.assert_allclose(packed.project_weights(one), plain.project_weights(one), atol=2e-2)
    note = tmp_path / "new.txt"
    note.write_text("The ship sails to the harbour with bread and coffee.\n")
    with lpisearch.open(library) as opened:
        (hit, *_) = opened.search("ship", by="semantic", explain=True)
        assert hit.explanation is not None
        assert hit.explanation.total == pytest.approx(hit.explanation.cosine, abs=1e-6)
        assert hit.cosine == pytest.approx(hit.explanation.cosine, abs=1e-3)
        opened.ingest(note)
        assert "new.txt" in {hit.id for hit in opened.search("ship bread coffee", k=5)}


@pytest.mark.parametrize(
    "options",
    [{}, {"method": "lsi"}, {"labels": "use"}, {"method": "eigenmaps"}, {"weighting": "bm25"}],
    ids=lambda options: "-".join(map(str, options.values())) or "rlpi",
)
def test_files_and_memory_give_the_same_index(
    library: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    wanted = replace(OPTIONS, **options)
    monkeypatch.setattr("lpisearch.index.inversion.BLOCK_ROWS", 7)
    in_memory = build_index(library, wanted)
    before = _arrays(open_index(library))
    monkeypatch.setattr(plan, "FILES_FROM", 1)
    in_files = build_index(library, wanted)
    after = _arrays(open_index(library))
    assert before.keys() == after.keys()
    for name, array in before.items():
        np.testing.assert_array_equal(array, after[name], err_msg=name)
    assert in_files.calibration == in_memory.calibration
    assert in_files.classifier == in_memory.classifier
    assert not list(library.parent.glob("*.index/.*unfinished*"))


@pytest.mark.usefixtures("in_files")
@pytest.mark.parametrize("last", STEPS[:-1])
def test_a_killed_build_goes_on(library: Path, last: str) -> None:
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_build_and_die, args=(library, last))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert list(library.parent.glob("*.index/.default.unfinished/*/step.json"))
    report = build_index(library, OPTIONS)
    assert report.resumed == STEPS[: STEPS.index(last) + 1]
    assert "resuming an earlier run" in report.seconds
    found = _arrays(open_index(library))
    again = build_index(library, OPTIONS)
    assert again.resumed == []
    for name, array in _arrays(open_index(library)).items():
        np.testing.assert_array_equal(array, found[name], err_msg=name)


def _build_and_die(library: Path, last: str) -> None:
    """Build as the tests do, and be killed when a step is finished."""
    from lpisearch.index import checkpoint, inversion

    plan.FILES_FROM = 1
    vars(inversion)["BLOCK_ROWS"] = 7
    finish = checkpoint._finish_step

    def finish_and_die(folder: Path, facts: dict[str, Any], mode: int) -> None:
        finish(folder, facts, mode)
        if folder.name == last.replace(" ", "-"):
            os.kill(os.getpid(), signal.SIGKILL)

    checkpoint._finish_step = finish_and_die
    build_index(library, OPTIONS)


@pytest.fixture
def stopped(library: Path, monkeypatch: pytest.MonkeyPatch, in_files: None) -> Callable[[], Path]:
    """Return what ends a build before its vectors are placed; it gives the folder of its steps."""
    del in_files

    def stop() -> Path:
        with monkeypatch.context() as patch:
            patch.setattr(pipeline, "scaled_rows", _interrupt)
            with pytest.raises(KeyboardInterrupt):
                build_index(library, OPTIONS)
        (folder,) = library.parent.glob("*.index/.default.unfinished")
        return folder

    return stop


def _interrupt(*_values: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("damage", ["cut", "changed", "gone"])
def test_damaged_steps_are_worked_out_anew(stopped: Stopped, library: Path, damage: str) -> None:
    path = stopped() / "writing-postings" / "posting_places.npy"
    if damage == "gone":
        path.unlink()
    else:
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content[:-4] if damage == "cut" else content)
    report = build_index(library, OPTIONS)
    assert report.resumed == ["counting terms", "map"]


def test_other_options_begin_anew(stopped: Stopped, library: Path) -> None:
    stopped()
    assert build_index(library, replace(OPTIONS, seed=1)).resumed == []


def test_other_documents_begin_anew(
    stopped: Stopped, library: Path, put: Callable[..., Any]
) -> None:
    stopped()
    put([{"id": "new", "text": "ship boat"}], name="new")
    report = build_index(library, OPTIONS)
    assert (report.resumed, report.documents) == ([], 41)


@pytest.mark.usefixtures("in_files")
def test_two_builds_at_once_do_not_meet(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner: list[IndexReport] = []
    scaled = scaled_rows

    def build_meanwhile(places: Any, scales: Any) -> Any:
        if not inner:
            monkeypatch.setattr(pipeline, "scaled_rows", scaled)
            inner.append(build_index(library, OPTIONS))
        return scaled(places, scales)

    monkeypatch.setattr(pipeline, "scaled_rows", build_meanwhile)
    outer = build_index(library, OPTIONS)
    assert outer.documents == inner[0].documents
    assert not list(library.parent.glob("*.index/.*unfinished*"))


@pytest.mark.usefixtures("in_files")
def test_nothing_stays_of_a_build_that_cannot_be(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "scaled_rows", lambda places, _scales: np.zeros_like(places))
    with pytest.raises(NothingToIndex):
        build_index(library, OPTIONS)
    assert not list(library.parent.glob("*.index/.*unfinished*"))


@pytest.mark.parametrize("labels", ["ignore", "use"])
def test_a_sample_places_all_documents(
    library: Path, monkeypatch: pytest.MonkeyPatch, labels: str
) -> None:
    monkeypatch.setattr("lpisearch.index.projection.LEAST_LEADERS", 2)
    monkeypatch.setattr("lpisearch.index.projection.LEAST_OF_A_LABEL", 1)
    monkeypatch.setattr("lpisearch.index.build.plan_index", _plan_of_few)
    report = build_index(library, replace(OPTIONS, dims=3, labels=labels))
    assert report.learned_from < report.documents == 40
    index = open_index(library)
    lengths = np.linalg.norm(index.vectors, axis=1)
    np.testing.assert_allclose(lengths, 1, rtol=1e-5)


def _plan_of_few(library: Path, options: IndexOptions) -> Any:
    return replace(plan.plan_index(library, options), learned_from=10, in_files=True)


def test_what_a_pruned_graph_keeps_is_said(library: Path) -> None:
    exact = build_index(library, OPTIONS).graph_recall
    assert exact == {"edges": 1.0, "weight": 1.0, "sample": 0}
    kept = build_index(library, replace(OPTIONS, graph="pruned")).graph_recall
    assert kept is not None
    assert kept["sample"] == 40
    assert kept["weight"] > 0.9


def test_a_build_in_files_is_not_read_again(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "FILES_FROM", 1)
    folder = Path(build_index(library, OPTIONS).folder)
    compared: list[bool] = []

    def watched(where: Path, *, verify: bool) -> Any:
        compared.append(verify)
        return open_folder(where, verify=verify)

    monkeypatch.setattr(index_format, "open_folder", watched)
    index_format.open_verified(folder)
    assert compared == [False]
