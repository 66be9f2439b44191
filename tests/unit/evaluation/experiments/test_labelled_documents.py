"""Which documents are compared, learned from and judged, by their labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from scipy.sparse import csr_array

from lpisearch.errors import BadOption, NothingToEvaluate
from lpisearch.evaluation.categorisation import evaluate_classify
from lpisearch.evaluation.cells import Cells
from lpisearch.evaluation.clustering import evaluate_cluster
from lpisearch.evaluation.similarity import evaluate_similarity
from lpisearch.evaluation.splits import make_splits
from lpisearch.options import CategoriesOptions, ClusterOptions, EvaluateOptions, SimilarityOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from lpisearch.evaluation.collection import EvaluationInput
    from lpisearch.model.reports import Table

    Make = Callable[..., EvaluationInput]

_A, _B = [("a",)] * 18, [("b",)] * 18


def _options(**options: Any) -> EvaluateOptions:
    return EvaluateOptions(**{"methods": ("terms", "rlpi")} | options)


def _similarity(
    source: EvaluationInput, wanted: SimilarityOptions | None = None, **options: Any
) -> Table:
    done = evaluate_similarity(source, _options(**options), wanted or SimilarityOptions(), Cells())
    return done.tables[0]


def _classify(source: EvaluationInput, wanted: CategoriesOptions, **options: Any) -> Table:
    return evaluate_classify(source, _options(**options), wanted, Cells()).tables[0]


def _cluster(
    source: EvaluationInput, wanted: ClusterOptions | None = None, **options: Any
) -> Table:
    done = evaluate_cluster(source, _options(**options), wanted or ClusterOptions(), Cells())
    return done.tables[0]


def test_one_class_is_nothing_to_tell_apart(source: Make) -> None:
    alike = source([("one\x1b[2J",)] * 36)
    for run in (_similarity, _cluster):
        with pytest.raises(NothingToEvaluate, match="the same label, “one\ufffd\\[2J”"):
            run(alike)
    with pytest.raises(NothingToEvaluate, match="at least two labels are needed"):
        _classify(alike, CategoriesOptions())


def test_no_label_is_nothing_to_compare_with(source: Make) -> None:
    for run in (_similarity, _cluster):
        with pytest.raises(NothingToEvaluate, match="No document has a label"):
            run(source([()] * 36))


def test_labelled_documents_without_words_are_nothing(source: Make, counts: Any) -> None:
    with pytest.raises(NothingToEvaluate, match="No labelled document contains any words"):
        _similarity(source(matrix=csr_array(counts.shape)))


def test_what_is_left_out_is_counted(source: Make) -> None:
    labels = [(), *_A[1:], ("a", "b"), ("b", "c"), *_B[2:]]
    assert _similarity(source(labels)).rows[0]["documents"] == 35
    assert _similarity(source(labels)).notes == ("1 document has no label (skipped).",)
    several = "2 documents have more than one label (skipped)."
    assert _cluster(source(labels)).notes == ("1 document has no label (skipped).", several)
    papers = CategoriesOptions(repeats=1, single=True)
    assert several in _classify(source(labels), papers).notes
    assert several in _classify(source(labels), CategoriesOptions(repeats=1), largest=3).notes


def test_documents_with_several_labels_are_judged(source: Make) -> None:
    labels = [("class 0", "low") if row < 12 else (f"class {row // 12}",) for row in range(36)]
    table = _classify(source(labels), CategoriesOptions(train=(0.7,), repeats=3))
    assert table.notes[0].startswith("12 documents have more than one label. P@1 is the share")
    for row in table.rows:
        assert "accuracy" not in row
        if row["representation"] == "terms":
            # Giving one label to each could not find more than 36 of the 48.
            assert float(row["micro_f1"] or 0) > 2 * 36 / (36 + 48)
            assert float(row["P@1"] or 0) > 0.8
            assert float(row["macro_f1"] or 0) > 0.8


def test_a_sweep_and_an_overview_know_several_labels(source: Make) -> None:
    labels = [("class 0", "low") if row < 12 else (f"class {row // 12}",) for row in range(36)]
    wanted = CategoriesOptions(train=(0.3, 0.6), repeats=1, classifiers=("centroid",))
    report = evaluate_classify(source(labels), _options(), wanted, Cells())
    names = [figure.name for figure in report.figures]
    assert names == [f"classify-{each}-by-train" for each in ("P@1", "micro_f1", "macro_f1")]


def test_a_class_with_one_document(source: Make) -> None:
    labels = [("alone",), *_A[1:], *_B]
    judged = _classify(source(labels), CategoriesOptions(train=(0.5,), repeats=3))
    assert judged.notes == ()
    assert all(0 <= float(row["accuracy"] or 0) <= 1 for row in judged.rows)
    assert _cluster(source(labels)).rows[0]["classes"] == 3
    assert _similarity(source(labels)).rows[0]["pairs"] == 36 * 35 // 2


def test_classes_of_one_document_each(source: Make) -> None:
    labels = [(f"label {row}",) for row in range(36)]
    with pytest.raises(NothingToEvaluate, match="No class has more than one document"):
        _classify(source(labels), CategoriesOptions(train=(0.5,)))
    assert _cluster(source(labels)).rows[0]["AC"] == pytest.approx(1.0)
    with pytest.raises(NothingToEvaluate, match="No two documents share a label"):
        _similarity(source(labels))


def test_a_class_that_training_lacks_counts_as_errors(source: Make) -> None:
    splits = ["train"] * 12 + ["test", "train"] * 6 + ["test"] * 12
    table = _classify(source(splits=splits), CategoriesOptions("field"))
    said = "1 class has no training document (counted as errors): class 2."
    assert table.notes == (said,)
    assert all(float(row["accuracy"] or 0) <= 6 / 18 for row in table.rows)


@pytest.mark.parametrize(
    ("splits", "said"),
    [
        (["train"] * 36, "in the split “test”"),
        (["test"] * 36, "in the split “train”"),
        ([""] * 36, "in the split “train”"),
        (["train"] * 12 + ["test"] * 24, "The split “train” contains only one class"),
    ],
    ids=["no test", "no train", "no split", "one class"],
)
def test_an_empty_side_of_a_split_is_stated(source: Make, splits: list[str], said: str) -> None:
    with pytest.raises(NothingToEvaluate, match=said) as caught:
        _classify(source(splits=splits), CategoriesOptions("field"))
    wanted = "wanted=CategoriesOptions(train=(0.5,))"
    assert f'library.evaluate("classify", {wanted})' in caught.value.next_step


def test_the_field_is_taken_where_documents_state_it(source: Make) -> None:
    stated = source(splits=["train", "train", "test"] * 12)
    assert "train" not in _classify(stated, CategoriesOptions()).columns
    drawn = _classify(stated, CategoriesOptions(train=(0.25,), repeats=2))
    assert {row["train"] for row in drawn.rows} == {0.25}
    assert {row["repeats"] for row in drawn.rows} == {2}
    assert {row["repeats"] for row in _classify(source(), CategoriesOptions()).rows} == {5}


def test_each_draw_is_another(source: Make) -> None:
    collection = source().collection
    wanted = CategoriesOptions(train=(0.5,), repeats=3)
    drawn = [[split.seen.tolist() for split in make_splits(collection, wanted, 0)]]
    assert len({tuple(rows) for rows in drawn[0]}) == 3
    drawn += [[split.seen.tolist() for split in make_splits(collection, wanted, n)] for n in (0, 7)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_only_the_largest_classes(source: Make) -> None:
    labels = [*_A[:16], *_B[:14], *[("c",)] * 6]
    table = _cluster(source(labels), largest=2)
    assert table.rows[0]["classes"] == 2
    assert table.notes == ("Using only the 2 largest of 3 classes.",)
    assert _similarity(source(labels), largest=2).rows[0]["documents"] == 30


def test_the_number_of_parts_is_known(source: Make) -> None:
    begun: list[tuple[int, int]] = []
    cells = Cells(on_cell=lambda _name, done, total: begun.append((done, total)))
    wanted = ClusterOptions((2, 0), draws=50)
    evaluate_cluster(source(), _options(methods=("terms",)), wanted, cells)
    assert begun == [(done, 4) for done in range(4)]


def test_classes_are_drawn(source: Make) -> None:
    table = _cluster(source(), ClusterOptions((2, 3, 0), draws=2))
    found = [(row["representation"], row["classes"], row.get("draws")) for row in table.rows]
    assert found == [
        *(("terms", 2, 2), ("rlpi", 2, 2)),
        *(("terms", 3, None), ("rlpi", 3, None)),  # there is one set of three
        *(("terms", 3, None), ("rlpi", 3, None)),
    ]


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (CategoriesOptions(train=(0.0,)), "train"),
        (CategoriesOptions(train=(1.0,)), "train"),
        (CategoriesOptions(train=(1.5,)), "train"),
        (CategoriesOptions(train=(float("nan"),)), "train"),
        (CategoriesOptions("field", (0.5,)), "train"),
        (CategoriesOptions("other"), "split"),
        (CategoriesOptions(repeats=0), "repeats"),
        (CategoriesOptions(classifiers=()), "classifiers"),
        (CategoriesOptions(classifiers=("x", "knn", "y")), "“x”, “y”"),
    ],
)
def test_classify_refuses(source: Make, wanted: CategoriesOptions, said: str) -> None:
    """Options that cannot work are refused, each by its name."""
    with pytest.raises(BadOption, match=said):
        _classify(source(), wanted)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (ClusterOptions((1,)), "classes: 1 is"),
        (ClusterOptions((4,)), "classes: 4 is not between 2 and 3"),
        (ClusterOptions(()), "classes"),
        (ClusterOptions((2,), draws=0), "draws"),
    ],
)
def test_cluster_refuses(source: Make, wanted: ClusterOptions, said: str) -> None:
    """Numbers of classes that cannot be drawn are refused."""
    with pytest.raises(BadOption, match=said):
        _cluster(source(), wanted)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"methods": ("no", "lsi", "nor")}, "“no”, “nor”"),
        ({"methods": ("rlpii",)}, "did you mean rlpi"),
        ({"dims": 0}, "dims"),
        ({"dims": -1}, "dims"),
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": float("nan")}, "alpha"),
        ({"neighbours": 0}, "neighbours"),
        ({"scale": -1.0}, "scale"),
        ({"largest": 1}, "largest"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**40}, "seed"),
        ({"weighting": "no"}, "weighting"),
    ],
)
def test_every_evaluation_refuses(source: Make, options: dict[str, Any], said: str) -> None:
    documents = source()
    for run in (_similarity, _cluster):
        with pytest.raises(BadOption, match=said):
            run(documents, None, **options)
    with pytest.raises(BadOption, match=said):
        _classify(documents, CategoriesOptions(), **options)


def test_more_than_there_is(source: Make) -> None:
    options: dict[str, Any] = {"methods": ("lsi", "rlpi", "lpi", "olpi"), "dims": 500}
    options["neighbours"] = 500
    for table in (
        _similarity(source(), None, **options),
        _cluster(source(), None, **options),
    ):
        assert all(int(row["dims"] or 0) <= 36 for row in table.rows)


def test_two_documents(source: Make, counts: Any) -> None:
    """A library of two documents of two classes is stated or measured, never a traceback."""
    two = source([("a",), ("b",)], matrix=counts[[0, 35]])
    with pytest.raises(NothingToEvaluate):
        _classify(two, CategoriesOptions())
    with pytest.raises(NothingToEvaluate):
        _similarity(two, methods=("terms",))
    assert _cluster(two, methods=("terms",)).rows[0]["AC"] == 1.0


def test_labels_are_any_text(source: Make) -> None:
    names = ["a, b", "<script>alert(1)</script>", "überß 漢字 [/red]"]
    labels = [(names[row // 12],) for row in range(36)]
    table = _classify(source(labels), CategoriesOptions(train=(0.5,), repeats=1))
    assert all(float(row["accuracy"] or 0) > 0.8 for row in table.rows)
