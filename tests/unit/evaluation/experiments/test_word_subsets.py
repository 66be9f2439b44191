from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any

import pytest

from lpisearch.errors import BadOption, NothingToEvaluate
from lpisearch.evaluation.cells import Cells
from lpisearch.evaluation.collection import EvaluationInput, library_collection
from lpisearch.evaluation.similarity import evaluate_similarity
from lpisearch.evaluation.splits import word_subsets
from lpisearch.options import EvaluateOptions, SimilarityOptions
from lpisearch.search.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lpisearch.model.reports import Report

    Make = Callable[..., EvaluationInput]

_OPTIONS = EvaluateOptions(methods=("terms", "lsi"), dims=3)


def _run(source: EvaluationInput, wanted: SimilarityOptions, dims: Any = (None,)) -> Report:
    return evaluate_similarity(source, _OPTIONS, wanted, Cells(), dims)


def test_a_subset_is_the_documents_that_hold_a_word(source: Make, counts: Any) -> None:
    report = _run(source(), SimilarityOptions(words=("term0", "term11")))
    means, subsets, _ = report.tables
    for name in ("terms", "lsi"):
        own = [row for row in subsets.rows if row["representation"] == name]
        assert [row["subset"] for row in own] == ["term0", "term11"]
        sizes = [int(counts[:, [column]].nnz) for column in (0, 11)]
        assert [row["documents"] for row in own] == sizes
        (mean,) = [row for row in means.rows if row["representation"] == name]
        assert mean["AP"] == pytest.approx(fmean(float(row["AP"] or 0) for row in own))
        assert mean["subsets"] == 2
    assert means.notes == (
        "Averages over 2 subsets, each made of the documents that contain one word.",
    )


def test_words_are_stemmed_as_the_library_stems(shelf: Path) -> None:
    collection = library_collection(Session(shelf))
    (plain,), _ = word_subsets(collection, SimilarityOptions(words=("story",)))
    (plural,), _ = word_subsets(collection, SimilarityOptions(words=("Stories",)))
    assert (plain[0], plural[0]) == ("story", "Stories")
    assert plain[1].keys == plural[1].keys


def test_unknown_words_are_all_named(source: Make, shelf: Path) -> None:
    with pytest.raises(BadOption, match="“nowhere”, “term99”"):
        _run(source(), SimilarityOptions(words=("term1", "nowhere", "term99")))
    in_library = EvaluationInput.open(Session(shelf), EvaluateOptions())
    with pytest.raises(BadOption, match="“zeppelin”, “\\[/b\\]”"):
        _run(in_library, SimilarityOptions(words=("zeppelin", "star", "[/b]")))


def test_the_most_frequent_words_within_bounds(source: Make, counts: Any) -> None:
    sizes = {f"term{column}": counts[:, [column]].nnz for column in range(40)}
    wanted = SimilarityOptions(most_frequent=3, subset_size=(5, 14))
    found = _run(source(), wanted).tables[1]
    expected = sorted((size for size in sizes.values() if 5 <= size <= 14), reverse=True)[:3]
    rows = [row for row in found.rows if row["representation"] == "terms"]
    assert [row["documents"] for row in rows] == expected
    with pytest.raises(
        NothingToEvaluate, match="No word occurs in 1,000 to 2,000 labelled documents"
    ):
        _run(source(), SimilarityOptions(most_frequent=3, subset_size=(1000, 2000)))


def test_a_subset_of_one_class_is_left_out(source: Make, counts: Any) -> None:
    changed = counts.toarray()
    changed[:, 39] = 0
    changed[:5, 39] = 1
    from scipy.sparse import csr_array

    alike = source(matrix=csr_array(changed))
    table = _run(alike, SimilarityOptions(words=("term39", "term0"))).tables[0]
    assert "Skipped, as the subset lacks related or unrelated pairs: term39." in table.notes
    with pytest.raises(NothingToEvaluate, match="None of these words"):
        _run(alike, SimilarityOptions(words=("term39",)))


def test_a_subset_without_a_pair_of_one_topic_is_left_out(source: Make, counts: Any) -> None:
    from scipy.sparse import csr_array

    changed = counts.toarray()
    changed[:, 39] = 0
    changed[[0, 12, 24], 39] = 1
    wanted = SimilarityOptions(words=("term39", "term0"))
    table = _run(source(matrix=csr_array(changed)), wanted).tables[0]
    assert "Skipped, as the subset lacks related or unrelated pairs: term39." in table.notes


def test_columns_of_a_matrix_are_named_by_number(source: Make) -> None:
    from dataclasses import replace

    documents = source()
    nameless = replace(documents, collection=replace(documents.collection, terms=()))
    subsets, _ = word_subsets(nameless.collection, SimilarityOptions(words=("0", "11")))
    assert [word for word, _ in subsets] == ["0", "11"]
    with pytest.raises(BadOption, match="“40”, “x”"):
        word_subsets(nameless.collection, SimilarityOptions(words=("1", "40", "x")))


def test_fewer_dimensions_are_the_first_of_more(source: Make) -> None:
    together = _run(source(), SimilarityOptions(), (2, 4)).tables[0].rows
    for dims in (2, 4):
        (alone,) = [
            row
            for row in _run(source(), SimilarityOptions(), (dims,)).tables[0].rows
            if row["representation"] == "lsi"
        ]
        (among,) = [
            row for row in together if (row["representation"], row["dims"]) == ("lsi", dims)
        ]
        assert among["AP"] == pytest.approx(alone["AP"], abs=1e-4)
