"""The index of a library beside the baselines, and evaluations without a word."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from lpisearch.errors import BadOption, IndexDamaged, IndexNotFound, LibraryError, NothingToEvaluate
from lpisearch.evaluation.collection import library_state
from lpisearch.library import Library
from lpisearch.location import index_folder
from lpisearch.model.documents import Filter
from lpisearch.options import (
    CategoriesOptions,
    EvaluateOptions,
    IndexOptions,
    RetrievalOptions,
    SimilarityOptions,
)
from lpisearch.search.session import Session
from tests.indexing import open_index

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Record = dict[str, Any]


@pytest.fixture
def indexed(index_shelf: Callable[..., Path]) -> Library:
    """Return a library of 40 labelled documents with an index."""
    return Library(index_shelf(method="rlpi", dims=6))


def _names(report: Any) -> list[str]:
    return [row["representation"] for row in report.tables[0].rows]


def _questions(folder: Path, queries: Sequence[str], qrels: Sequence[str]) -> RetrievalOptions:
    (folder / "q.tsv").write_text("".join(f"{line}\n" for line in queries))
    (folder / "r.txt").write_text("".join(f"{line}\n" for line in qrels))
    return RetrievalOptions(folder / "q.tsv", folder / "r.txt")


def test_the_index_in_use_is_compared(indexed: Library) -> None:
    report = indexed.evaluate("similarity")
    assert _names(report) == ["terms", "lsi", "rlpi"]
    assert report.tables[0].rows[2]["dims"] == open_index(indexed.path).vectors.shape[1]


@pytest.mark.parametrize("method", ["lsi", "spg", "plsi", "nmf", "eigenmaps", "krlpi"])
def test_an_index_of_any_method_is_compared(shelf: Path, method: str) -> None:
    library = Library(shelf)
    library.index(method, options=IndexOptions(dims=4))
    report = library.evaluate("similarity")
    assert _names(report)[-1] == method
    assert len(set(_names(report))) == len(_names(report))
    overview = library.evaluate(options=EvaluateOptions(methods=("terms", method)))
    assert _names(overview) == ["terms", method]


def test_an_index_that_learned_the_labels_says_so(shelf: Path) -> None:
    library = Library(shelf)
    library.index(options=IndexOptions(labels="use"))
    notes = library.evaluate("similarity").tables[0].notes
    assert "The index was trained on the labels it is compared with here." in notes


def test_documents_that_the_index_lacks(shelf: Path) -> None:
    library = Library(shelf)
    library.index("lsi", options=IndexOptions(dims=4, where=Filter(split="train")))
    table = library.evaluate("similarity").tables[0]
    assert {row["documents"] for row in table.rows} == {32}
    assert table.notes == ("8 documents are not in the index (skipped).",)


def test_an_index_of_other_documents(shelf: Path, sql: Callable[..., Any]) -> None:
    library = Library(shelf)
    library.index("lsi", options=IndexOptions(dims=4, where=Filter(split="train")))
    sql("DELETE FROM labels WHERE document_id IN (SELECT id FROM documents WHERE split = 'train')")
    with pytest.raises(NothingToEvaluate, match="None of the labelled documents"):
        library.evaluate("similarity")


def test_an_index_that_is_behind(
    indexed: Library, records: list[Record], sql: Callable[..., Any], tmp_path: Path
) -> None:
    sql("UPDATE documents SET content_hash = x'00' WHERE external_id = ?", records[3]["id"])
    sql("DELETE FROM documents WHERE external_id = ?", records[5]["id"])
    asked = _questions(tmp_path, ["1\tship"], ["1 0 sea/0 1"])
    for what, wanted in (("similarity", None), ("retrieval", asked)):
        notes = indexed.evaluate(what, wanted=wanted).tables[0].notes
        said = "out of date: documents were added, changed or removed. Next: library.index(dims=6)"
        assert any(said in note for note in notes)


def test_a_damaged_index_is_stated(indexed: Library, tmp_path: Path) -> None:
    assert isinstance(indexed.path, Path)
    (vectors,) = index_folder(indexed.path).glob("*/vectors.npy")
    vectors.write_bytes(vectors.read_bytes()[:-8])
    asked = _questions(tmp_path, ["1\tship"], ["1 0 sea/0 1"])
    for what, wanted in (("similarity", None), ("retrieval", asked), ("all", None)):
        with pytest.raises(IndexDamaged) as caught:
            indexed.evaluate(what, wanted=wanted)
        assert caught.value.next_step.startswith("library.index(")


def test_an_index_of_another_name(indexed: Library) -> None:
    indexed.index("olpi", options=IndexOptions(name="other", dims=3))
    report = indexed.evaluate("similarity", options=EvaluateOptions(index="other"))
    assert report.tables[0].rows[-1]["representation"] == "olpi"
    for what in ("similarity", "all"):
        with pytest.raises(IndexNotFound):
            indexed.evaluate(what, options=EvaluateOptions(index="nope"))


def test_without_an_index_the_baselines_remain(shelf: Path) -> None:
    assert _names(Library(shelf).evaluate("similarity")) == ["terms", "lsi"]
    assert _names(Library(shelf).evaluate()) == ["terms", "lsi", "rlpi"]


def test_an_overview_has_all_that_labels_allow(indexed: Library) -> None:
    report = indexed.evaluate()
    table = report.tables[0]
    assert _names(report) == ["terms", "lsi", "rlpi"]
    assert {"pairs_AP", "svm_accuracy", "cluster_NMI"} < set(table.columns)
    assert [one.name for one in report.tables[1:]] == [
        *("similarity", "classify", "worst_pairs", "cluster"),
        *(f"{part}_significance" for part in ("similarity", "classify", "cluster")),
    ]


def test_an_overview_with_queries(indexed: Library, tmp_path: Path) -> None:
    asked = _questions(tmp_path, ["1\tship"], ["1 0 sea/0 1"])
    report = indexed.evaluate(wanted=asked)
    assert "retrieval" in [table.name for table in report.tables]


def test_an_overview_of_queries_alone(
    put: Callable[..., Any], library: Path, tmp_path: Path
) -> None:
    put([{"id": str(number), "text": f"ship number {number}"} for number in range(6)])
    report = Library(library).evaluate(wanted=_questions(tmp_path, ["1\tship"], ["1 0 3 1"]))
    assert [table.name for table in report.tables][:2] == ["overview", "retrieval"]
    assert any(
        note.startswith("similarity: No document has a label") for note in report.tables[0].notes
    )
    with pytest.raises(NothingToEvaluate, match="No document has a label") as caught:
        Library(library).evaluate()
    assert 'labels="folder"' in caught.value.next_step


def test_an_overview_names_what_is_impossible(put: Callable[..., Any], library: Path) -> None:
    """Where one part cannot be, the others are measured, and the reason is a note."""
    put([{"id": str(n), "text": f"word{n} shared text", "labels": [f"l{n}"]} for n in range(8)])
    report = Library(library).evaluate(options=EvaluateOptions(methods=("terms",)))
    said = report.tables[0].notes
    assert any(note.startswith("similarity: No two documents") for note in said)
    assert any(note.startswith("classify: No class has more than one") for note in said)
    assert "cluster_AC" in report.tables[0].columns


def test_bad_queries_are_stated_before_the_long_part(indexed: Library, tmp_path: Path) -> None:
    begun: list[str] = []
    asked = _questions(tmp_path, ["1\tship"], ["1 0 sea/0 1", "1 0"])
    with pytest.raises(Exception, match="line 2"):
        indexed.evaluate(wanted=asked, on_cell=lambda name, _done, _total: begun.append(name))
    assert begun == []


def test_an_empty_or_missing_library(library: Path, records: list[Record], put: Any) -> None:
    with pytest.raises(LibraryError, match="No library"):
        Library(library).evaluate()
    put(records[:1])
    Library(library).delete(records[0]["id"])
    with pytest.raises(NothingToEvaluate, match="no documents"):
        Library(library).evaluate()
    text = library.with_name("text.db")
    text.write_text("only text, long enough to be looked at as a database" * 20)
    with pytest.raises(LibraryError):
        Library(text).evaluate("cluster")


def test_python_options_are_checked(indexed: Library) -> None:
    with pytest.raises(BadOption, match="unknown evaluation “speed”"):
        indexed.evaluate("speed")
    with pytest.raises(BadOption, match="needs CategoriesOptions"):
        indexed.evaluate("classify", wanted=SimilarityOptions())
    with pytest.raises(BadOption, match="needs RetrievalOptions"):
        indexed.evaluate("retrieval")
    with pytest.raises(BadOption, match="“all” cannot be swept"):
        indexed.evaluate("all", over=("dims", [2]))


def test_python_sweeps(indexed: Library) -> None:
    """A sweep from Python has its figures, and tells of its parts."""
    begun: list[str] = []
    report = indexed.evaluate(
        "classify",
        options=EvaluateOptions(methods=("terms", "lsi")),
        wanted=CategoriesOptions("field", classifiers=("knn",)),
        over=("dims", [2, 4]),
        on_cell=lambda name, _done, _total: begun.append(name),
    )
    assert [row["dims"] for row in report.tables[0].rows] == [None, 2, 4]
    assert len(begun) == 3
    assert len(report.figures) == 2


def test_the_state_of_a_library(
    indexed: Library, records: list[Record], put: Callable[..., Any]
) -> None:
    states = [library_state(Session(indexed.path))]
    assert library_state(Session(indexed.path)) == states[0]
    indexed.index("lsi")
    states.append(library_state(Session(indexed.path)))
    put([records[0] | {"labels": ["other"]}, *records[1:]])
    states.append(library_state(Session(indexed.path)))
    put([records[0] | {"text": "changed"}, *records[1:]])
    states.append(library_state(Session(indexed.path)))
    assert len(set(states)) == 4


def test_the_documents_of_a_library_are_in_no_order(
    indexed: Library, records: list[Record], put: Callable[..., Any], tmp_path: Path
) -> None:
    other = tmp_path / "other.db"
    put(records[::-1], into=other)
    options = EvaluateOptions(methods=("terms", "lsi"))
    found = [
        library.evaluate("similarity", options=options).tables[0].rows
        for library in (indexed, Library(other))
    ]
    for before, after in zip(*found, strict=True):
        np.testing.assert_allclose([float(before["AP"] or 0)], [float(after["AP"] or 0)], atol=2e-4)
