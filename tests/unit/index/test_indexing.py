from __future__ import annotations

import multiprocessing
import sqlite3
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import lpisearch
from lpisearch.cli.output import render_message
from lpisearch.errors import (
    BadOption,
    IndexDamaged,
    IndexNotFound,
    IndexUnwritable,
    LibraryLocked,
    NothingToIndex,
)
from lpisearch.index import format as index_format
from lpisearch.index import format as store
from lpisearch.index.build import build_index
from lpisearch.index.format import Manifest
from lpisearch.index.pipeline import fit_subspace
from lpisearch.model.documents import Filter
from lpisearch.options import IndexOptions, IndexSpec
from lpisearch.storage import writer_lock
from tests.indexing import open_index

if TYPE_CHECKING:
    from collections.abc import Callable

    from lpisearch.index.subspace import SubspaceIndex
    from lpisearch.model.reports import IndexReport

    Sql = Callable[..., list[Any]]
    Build = Callable[..., IndexReport]
    Put = Callable[..., Any]

METHODS = ("rlpi", "olpi", "lpi", "lsi")
WEIGHTINGS = ("tf", "tfidf", "log-tfidf", "bm25")


@pytest.fixture
def build(library: Path) -> Callable[..., IndexReport]:
    """Return `build_index` of the library; options are given by name."""
    return lambda **options: build_index(library, IndexOptions(**options))


def _counts(index: SubspaceIndex, texts: list[str]) -> Any:
    from lpisearch.text.vocabulary import count_terms

    return count_terms([texts], index.vocabulary).matrix


def _tokens(sql: Sql) -> list[str]:
    stored = "SELECT plain_tokens(tokens) FROM document_tokens ORDER BY document_id"
    return [row[0] for row in sql(stored)]


def _sums(report: IndexReport) -> dict[str, str]:
    manifest = Manifest.read(Path(report.folder))
    return {name: facts.sha256 for name, facts in manifest.arrays.items()}


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize("method", METHODS)
def test_the_report_and_the_manifest_say_what_was_built(
    build: Build, library: Path, method: str
) -> None:
    asked: dict[str, Any] = {"method": method, "dims": 5, "seed": 7, "neighbours": 5}
    report = build(**asked)
    assert (report.name, report.method, report.dims) == ("default", method, 5)
    assert (report.documents, report.unknown_rate) == (40, 0.0)
    assert report.terms == 48 + 10
    assert (report.components is None) == (method == "lsi")
    assert (report.alpha is None) == (method != "rlpi")
    assert {"counting terms", "projecting", "writing"} <= set(report.seconds)
    assert all(seconds >= 0 for seconds in report.seconds.values())
    assert report.peak_mb > 20
    folder = Path(report.folder)
    assert report.size_bytes == sum(path.stat().st_size for path in folder.iterdir())

    manifest = open_index(library).manifest
    assert manifest.spec == IndexSpec(**asked)
    assert manifest.tokeniser["language"] == "auto"
    assert set(manifest.versions) >= {"lpisearch", "numpy", "scipy", "scikit-learn"}
    assert manifest.weighting["name"] == "log-tfidf"
    assert manifest.folded == {"documents": 0, "words": 0, "unknown": 0}
    assert set(manifest.arrays) == {path.stem for path in folder.glob("*.npy")}


@pytest.mark.parametrize("method", METHODS)
def test_the_sample_corpus(build: Build, own_sample: Path, method: str) -> None:
    report = build(method=method, dims=None)
    index = open_index(own_sample)
    with closing(sqlite3.connect(own_sample)) as snapshot:
        rows = snapshot.execute(
            "SELECT document_id, name FROM labels ORDER BY document_id, position DESC"
        )
        topic = dict(rows.fetchall())
    rows_with_topic = [row in topic for row in index.contents]
    names = np.array([topic.get(row, "") for row in index.contents])
    cosines = index.vectors @ index.vectors.T
    np.fill_diagonal(cosines, -2)
    nearest = cosines.argmax(axis=1)
    same = (names[nearest] == names)[rows_with_topic].mean()
    assert report.documents == len(names) > 200
    assert same > 0.6


def _build_all(library: Path) -> None:
    for method in METHODS:
        build_index(library, IndexOptions(method=method, name=f"{method}-3"))


@pytest.mark.usefixtures("shelf")
def test_equal_builds_are_equal_bit_by_bit(build: Build, library: Path) -> None:
    first = {method: _sums(build(method=method, name=f"{method}-1")) for method in METHODS}
    assert {method: _sums(build(method=method, name=f"{method}-2")) for method in METHODS} == first
    process = multiprocessing.get_context("spawn").Process(target=_build_all, args=(library,))
    process.start()
    process.join()
    assert process.exitcode == 0
    for method in METHODS:
        third = open_index(library, f"{method}-3").manifest
        assert {name: facts.sha256 for name, facts in third.arrays.items()} == first[method]


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("method", METHODS)
def test_documents_lie_where_they_would_be_projected(
    build: Build, library: Path, sql: Sql, method: str, weighting: str
) -> None:
    build(method=method, weighting=weighting, dims=6)
    index = open_index(library)
    keys = [row[0] for row in sql("SELECT id FROM documents ORDER BY id")]
    hashes = [row[0] for row in sql("SELECT content_hash FROM documents ORDER BY id")]
    assert index.arrays["document_rows"].tolist() == keys
    assert index.contents == dict(zip(keys, hashes, strict=True))
    assert index.vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(index.vectors, axis=1), 1, rtol=1e-6)

    texts = _tokens(sql)
    projected = index.project(_counts(index, texts))
    np.testing.assert_allclose(projected, index.vectors, atol=2e-6)
    for text, vector in zip(texts[:5], index.vectors, strict=False):
        term_counts = index.vocabulary.count(text.split())
        weights = index.weighting.weigh_query(term_counts.indices, term_counts.counts)
        place = (weights @ index.arrays["loadings"][term_counts.indices]) * index.arrays["scales"]
        np.testing.assert_allclose(place / np.linalg.norm(place), vector, atol=2e-6)


def test_documents_without_known_words_have_zero_rows(
    put: Put, records: list[dict[str, Any]], build: Build, library: Path
) -> None:
    empty = [{"id": "stop", "text": "the and of"}, {"id": "signs", "text": "!!! ??? …"}]
    put([*empty, *records])
    for method in METHODS:
        assert build(method=method).documents == 42
        index = open_index(library)
        assert not index.vectors[:2].any()
        np.testing.assert_allclose(np.linalg.norm(index.vectors[2:], axis=1), 1, rtol=1e-6)
        assert not index.project(_counts(index, ["", "xyzzy"])).any()


@pytest.mark.usefixtures("shelf")
def test_several_indexes_lie_beside_each_other(
    build: Build, library: Path, sound: Callable[..., None]
) -> None:
    folders = {name: build(name=name, method="lsi").folder for name in ("default", "Ähre.2-b")}
    again = build(method="lsi", dims=3).folder
    assert again != folders["default"]
    left = {str(path) for path in Path(again).parent.iterdir()}
    assert left == {again, folders["Ähre.2-b"]}
    assert open_index(library).vectors.shape[1] == 3
    assert open_index(library, "Ähre.2-b").manifest.name == "Ähre.2-b"
    sound()
    with pytest.raises(IndexNotFound, match="it has: default, Ähre") as caught:
        open_index(library, "nothing")
    assert caught.value.next_step == 'library.index(name="nothing")'


def test_libraries_of_one_name_share_no_folder(
    tmp_path: Path, put: Put, records: list[dict[str, Any]]
) -> None:
    libraries = [tmp_path / name for name in ("notes.db", "notes.sqlite", "notes", "notes.old.db")]
    for library in libraries:
        put(records, into=library)
        build_index(library, IndexOptions(method="lsi"))
    assert len({open_index(library).vectors.tobytes() for library in libraries}) == 1


_SUBSETS = [
    (Filter(labels=("sea",)), 10),
    (Filter(labels=("sea", "sky")), 20),
    (Filter(path="music/*"), 10),
    (Filter(split="train"), 32),
    (Filter(labels=("sea", "sky"), path="s*", split="test"), 4),
]


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize(("where", "number"), _SUBSETS)
def test_an_index_of_some_documents(
    build: Build, library: Path, sql: Sql, where: Filter, number: int
) -> None:
    assert build(method="lsi", where=where, dims=2).documents == number
    rows = dict(sql("SELECT id, external_id FROM documents"))
    names = {rows[row] for row in open_index(library).contents}
    assert len(names) == number
    assert all(name.split("/")[0] in (where.labels or name) for name in names)


@pytest.mark.usefixtures("shelf")
def test_labels_make_a_dimension_fewer_than_classes(build: Build, library: Path) -> None:
    report = build(labels="use", alpha=0.001)
    assert (report.dims, report.components) == (3, 4)
    vectors = open_index(library).vectors
    cosines = np.array([vectors[at::4] @ vectors[at::4].T for at in range(4)])
    assert cosines.min() > 0.99
    assert build(labels="ignore", neighbours=5, dims=9).dims == 9


def test_labels_belong_to_their_documents(
    put: Put, records: list[dict[str, Any]], build: Build, library: Path
) -> None:
    put([record | {"labels": ["few" if at < 13 else "many"]} for at, record in enumerate(records)])
    assert build(labels="use", alpha=0.001).dims == 1
    place = open_index(library).vectors[:, 0]
    assert set(place[:13]) == {-place[13]}
    assert len(set(place[13:])) == 1


@pytest.mark.parametrize("method", ["rlpi", "olpi", "lpi"])
def test_labels_for_some_and_several_labels(
    put: Put, records: list[dict[str, Any]], build: Build, library: Path, method: str
) -> None:
    some = [
        record | {"labels": [[], ["wet", "blue"], ["wet"]][at % 3]}
        for at, record in enumerate(records)
    ]
    put(some)
    plain = build(method=method, dims=4, neighbours=5, name="plain")
    used = build(method=method, dims=4, neighbours=5, labels="use")
    assert used.documents == plain.documents == 40
    vectors = open_index(library).vectors
    assert not np.allclose(vectors, open_index(library, "plain").vectors)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-6)


@pytest.mark.usefixtures("shelf")
def test_from_python(library: Path) -> None:
    """`lpisearch.open(path).index(method=…)` builds, and tells each stage as it begins."""
    told: list[str] = []
    report = lpisearch.open(library).index(method="rlpi", on_stage=told.append)
    assert list(report.seconds) == told
    assert report.method == "rlpi"
    assert open_index(library).vectors.shape == (40, report.dims)


@pytest.mark.usefixtures("shelf")
def test_others_write_while_an_index_is_worked_out(
    build: Build, library: Path, monkeypatch: pytest.MonkeyPatch, put: Put
) -> None:
    def fit_and_write(*arguments: Any) -> Any:
        fitted = fit_subspace(*arguments)
        assert put([{"id": "new", "text": "ship boat"}], name="new", wait_seconds=0).added == 1
        return fitted

    monkeypatch.setattr("lpisearch.index.build.fit_subspace", fit_and_write)
    assert build(method="lsi").documents == 40
    opened = lpisearch.open(library)
    assert opened.status()["indexes"][0]["state"] == "behind"
    put([{"id": "newer", "text": "moon star"}], name="newer")
    index = opened.status()["indexes"][0]
    assert (index["state"], index["documents"], index["built_from"]) == ("ready", 42, 40)


@pytest.mark.usefixtures("shelf")
def test_a_writer_is_waited_for_and_named(
    build: Build, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is computed."""
    before = build(method="lsi")
    monkeypatch.setattr("lpisearch.index.build.fit_subspace", None)
    with (
        writer_lock(library, "ingest", 0),
        pytest.raises(LibraryLocked, match="lpisearch ingest"),
    ):
        build(method="lsi", dims=2, wait_seconds=0.1)
    assert open_index(library).vectors.shape[1] == before.dims


@pytest.mark.usefixtures("shelf")
def test_a_computed_index_waits_for_a_later_writer(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lpisearch.index.build._PATIENCE_SECONDS", 0.1)
    stages: list[str] = []
    with ExitStack() as lock:

        def fit_and_lock(*arguments: Any) -> Any:
            lock.enter_context(writer_lock(library, "ingest", 0))
            return fit_subspace(*arguments)

        def release(stage: str) -> None:
            stages.append(stage)
            if sum(one.startswith("waiting for lpisearch ingest") for one in stages) == 2:
                lock.close()

        monkeypatch.setattr("lpisearch.index.build.fit_subspace", fit_and_lock)
        options = IndexOptions(method="lsi", dims=2, wait_seconds=0)
        assert lpisearch.open(library).index(options=options, on_stage=release).documents == 40
    assert sum(one.startswith("waiting") for one in stages) == 2


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize("where", ["save", "rename", "link"])
def test_an_error_while_publishing_leaves_the_old_index(
    build: Build,
    library: Path,
    monkeypatch: pytest.MonkeyPatch,
    sound: Callable[..., None],
    where: str,
) -> None:
    before = build(method="lsi")

    def fail(*_values: object, **_options: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        target: tuple[Any, str] = {
            "save": (np, "save"),
            "rename": (Path, "rename"),
            "link": (store, "sync_folder"),
        }[where]
        patch.setattr(*target, fail)
        with pytest.raises(IndexUnwritable, match="No space left"):
            build(method="lsi", dims=2)
    assert open_index(library).vectors.shape[1] == before.dims
    sound()
    build(method="lsi", dims=2)
    assert len(list(Path(before.folder).parent.iterdir())) == 1


@pytest.mark.usefixtures("shelf")
def test_a_reader_that_loses_its_folder_takes_the_new_one(
    build: Build, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(method="lsi")
    opens = index_format.open_verified

    def rebuilt(folder: Path) -> Any:
        monkeypatch.undo()
        build(method="lsi", dims=2)
        return opens(folder)

    monkeypatch.setattr(index_format, "open_verified", rebuilt)
    assert open_index(library).vectors.shape[1] == 2


@pytest.mark.usefixtures("shelf")
def test_a_damaged_index_names_the_command_that_builds_it(build: Build, library: Path) -> None:
    where = Filter(labels=("sea", "sky"), path="s* *", split="train")
    options = {"name": "wet", "method": "lsi", "dims": 2, "seed": 3, "where": where}
    with pytest.raises(NothingToIndex):
        build(**options)
    where = replace(where, path="s*")
    report = build(**options | {"where": where})
    (Path(report.folder) / "vectors.npy").unlink()
    with pytest.raises(IndexDamaged, match=r"vectors\.npy is missing") as caught:
        open_index(library, "wet")
    assert caught.value.next_step == (
        'library.index(name="wet", method="lsi", dims=2, seed=3, '
        "where=Filter(labels=('sea', 'sky'), path=\"s*\", split=\"train\"))"
    )
    assert render_message(caught.value.next_step) == (
        "lpisearch index --name wet --method lsi --dims 2 --seed 3 "
        "--where label=sea --where label=sky --where 'path=s*' --where split=train"
    )


_BAD_OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"method": "rlpj"}, "did you mean rlpi"),
    ({"method": "LSI"}, "did you mean lsi"),
    ({"method": ""}, "unknown method"),
    ({"dims": 0}, "must be at least 1"),
    ({"dims": -3}, "must be at least 1"),
    ({"dims": 40}, "need more than 40 documents"),
    ({"dims": 10**30}, "need more than 40 documents"),
    ({"alpha": -0.1}, "must be between 0 and"),
    ({"alpha": float("nan")}, "must be between 0 and"),
    ({"alpha": float("inf")}, "must be between 0 and"),
    ({"alpha": 1e31}, "must be between 0 and 1e"),
    ({"alpha": 1.0, "method": "lsi"}, "does not use alpha"),
    ({"neighbours": 0}, "must be at least 1"),
    ({"neighbours": -1}, "must be at least 1"),
    ({"weighting": "tfidff"}, "did you mean tfidf"),
    ({"weighting": ""}, "unknown"),
    ({"labels": "yes"}, "unknown value"),
    ({"labels": "use", "method": "lsi"}, "does not use labels"),
    ({"seed": -1}, "must be between 0"),
    ({"seed": 2**32}, "must be between 0"),
    ({"name": ""}, "may contain only letters"),
    ({"name": "../up"}, "may contain only letters"),
    ({"name": "a b"}, "may contain only letters"),
    ({"name": "a\n"}, "may contain only letters"),
    ({"name": "-a"}, "may contain only letters"),
    ({"name": "ä" * 60}, "longer than 100 bytes"),
]


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize(("options", "message"), _BAD_OPTIONS)
def test_bad_options(build: Build, library: Path, options: dict[str, Any], message: str) -> None:
    """A value that cannot work is refused before anything is read, and nothing is written."""
    with pytest.raises(BadOption, match=message) as caught:
        build(**options)
    assert caught.value.exit_status == 2
    assert not library.with_suffix(".index").exists()


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize(
    "options",
    [
        {"neighbours": 39},
        {"neighbours": 10**12},
        {"dims": 39},
        {"alpha": 0.0},
        {"alpha": 1e-300},
        {"alpha": 1e30},
        {"seed": 2**32 - 1},
        {"name": "x" * 100},
        {"method": "olpi", "dims": 39},
        {"method": "olpi", "neighbours": 10**12},
        {"method": "lpi", "neighbours": 1},
    ],
    ids=str,
)
def test_options_at_their_limits(build: Build, library: Path, options: dict[str, Any]) -> None:
    report = build(**options)
    vectors = open_index(library, report.name).vectors
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-6)


_POOR: dict[str, tuple[list[dict[str, Any]], str]] = {
    "no documents": ([], "The library has no documents"),
    "one document": ([{"id": "a", "text": "ship"}], "has only one document"),
    "no words": ([{"id": n, "text": "!!! 12-?"[:3]} for n in "abc"], "contains words to index"),
    "stop words": ([{"id": n, "text": "the and of"} for n in "abc"], "contains words to index"),
    "unknown script": (
        [{"id": n, "text": "\U00013000\ue000\U000f0000"[at:]} for at, n in enumerate("ab")],
        "",
    ),
    "all the same": (
        [{"id": n, "text": "ship boat sail"} for n in "abcdef"],
        "cannot be distinguished",
    ),
    "one word each": ([{"id": n, "text": f"word{n}"} for n in "abcdef"], ""),
    "two documents": ([{"id": "a", "text": "ship boat"}, {"id": "b", "text": "boat cake"}], ""),
    "one with words": ([{"id": "a", "text": "ship boat"}, {"id": "b", "text": "!"}], ""),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", _POOR)
def test_poor_libraries(put: Put, build: Build, library: Path, kind: str, method: str) -> None:
    """A library that gives no subspace says so; otherwise the index is sound."""
    texts, message = _POOR[kind]
    put(texts)
    stated = None
    try:
        build(method=method)
    except NothingToIndex as error:
        stated = error
    if stated is not None:
        assert message in stated.what
        assert stated.next_step
        assert not library.with_suffix(".index").exists()
        return
    vectors = open_index(library).vectors
    if kind == "all the same":  # one point is a true answer
        np.testing.assert_allclose(vectors @ vectors.T, 1, rtol=1e-6)
    else:
        assert not message
    lengths = np.linalg.norm(vectors, axis=1)
    assert np.all((np.abs(lengths - 1) < 1e-5) | (lengths == 0))


@pytest.mark.usefixtures("shelf")
def test_filters_that_leave_too_little(build: Build) -> None:
    with pytest.raises(NothingToIndex, match="No document matches where"):
        build(where=Filter(labels=("land",)))
    with pytest.raises(NothingToIndex, match="Only one document matches where"):
        build(where=Filter(path="sea/0"))


def test_labels_where_there_are_none(put: Put, records: list[dict[str, Any]], build: Build) -> None:
    put([record | {"labels": []} for record in records], labels="none")
    with pytest.raises(BadOption, match="no document has a label"):
        build(labels="use")
    put([record | {"labels": ["all"]} for record in records])
    with pytest.raises(NothingToIndex, match="same label"):
        build(labels="use")
