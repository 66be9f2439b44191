"""Test documents teach nothing: what is learned does not depend on them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.sparse import csr_array, vstack

from lpisearch.evaluation import categorisation
from lpisearch.evaluation.categorisation import evaluate_classify, judge
from lpisearch.evaluation.cells import PAPERS, Cells, TermWeights, represent
from lpisearch.options import CategoriesOptions, EvaluateOptions
from lpisearch.search.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lpisearch.evaluation.collection import Collection, EvaluationInput

_SPLITS = ["test" if row % 3 == 0 else "train" for row in range(36)]
_TEST = [row for row in range(36) if row % 3 == 0]


def _garbage(counts: csr_array) -> csr_array:
    """Return the counts with all test documents but the first replaced by noise."""
    dense = counts.toarray()
    chance = np.random.default_rng(9)
    for row in _TEST[1:]:
        dense[row] = chance.poisson(5, dense.shape[1])
    return csr_array(dense)


class _Watch:
    """Remembers what was learned, and what was said of each test document."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.learned: list[Any] = []
        self.said: list[Any] = []
        represented, judged = represent, judge
        weighed = TermWeights.learn

        def learn(collection: Collection, scheme: str) -> TermWeights:
            found = weighed(collection, scheme)
            self.learned += [found.selected, found.weighting.idf]
            return found

        def watch_represent(*args: Any, **options: Any) -> Any:
            found = represented(*args, **options)
            estimator = found.estimator
            self.learned += [found.alpha, getattr(estimator, "components_", None), found.scales]
            return found

        def watch_judge(by: str, points: Any, labels: Any, others: Any, seed: int) -> Any:
            found = judged(by, points, labels, others, seed)
            first = others[[0]]
            self.learned.append(points.toarray() if hasattr(points, "toarray") else points)
            self.said.append((found.labels[0], np.asarray(first.sum(axis=1)).tolist()))
            return found

        monkeypatch.setattr(TermWeights, "learn", staticmethod(learn))
        monkeypatch.setattr(categorisation, "represent", watch_represent)
        monkeypatch.setattr(categorisation, "judge", watch_judge)


def _run(watch: _Watch, source: EvaluationInput) -> tuple[list[Any], list[Any]]:
    watch.learned.clear()
    watch.said.clear()
    options = EvaluateOptions(methods=PAPERS)
    evaluate_classify(source, options, CategoriesOptions("field"), Cells())
    return list(watch.learned), list(watch.said)


def test_test_documents_cannot_leak(
    source: Callable[..., EvaluationInput], counts: csr_array, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = _Watch(monkeypatch)
    learned, said = _run(watch, source(splits=_SPLITS))
    learned_again, said_again = _run(watch, source(splits=_SPLITS, matrix=_garbage(counts)))
    assert len(learned) == len(learned_again) > 5 * len(PAPERS)
    for before, after in zip(learned, learned_again, strict=True):
        np.testing.assert_array_equal(before, after)
    assert said == said_again


def test_training_documents_do_teach(
    source: Callable[..., EvaluationInput], counts: csr_array, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = _Watch(monkeypatch)
    learned, _ = _run(watch, source(splits=_SPLITS))
    dense = counts.toarray()
    dense[1] = dense[1][::-1]
    learned_again, _ = _run(watch, source(splits=_SPLITS, matrix=csr_array(dense)))
    same = [
        np.array_equal(before, after) for before, after in zip(learned, learned_again, strict=True)
    ]
    assert not all(same)


def test_words_of_test_documents_are_unknown(collect: Callable[..., Collection]) -> None:
    matrix = csr_array(np.array([[2, 1, 0], [1, 2, 0], [0, 0, 3]], np.float32))
    collection = collect([("a",), ("b",), ("a",)], matrix=matrix)
    weights = TermWeights.learn(collection.of([0, 1]), "")
    assert weights.selected.tolist() == [True, True, False]
    assert weights.apply(collection.of([2]).counts).nnz == 0


@pytest.mark.parametrize("name", ["terms", "lsi", "rlpi"])
def test_the_order_of_documents_does_not_matter(
    source: Callable[..., EvaluationInput], collect: Callable[..., Collection], name: str
) -> None:
    whole = replace(collect(splits=_SPLITS))
    order = np.random.default_rng(1).permutation(len(whole))
    options, wanted = EvaluateOptions(methods=(name,)), CategoriesOptions("field")
    rows = []
    for collection in (whole, whole.of(order.tolist())):
        one = replace(source(), collection=collection)
        rows.append(evaluate_classify(one, options, wanted, Cells()).tables[0].rows)
    for before, after in zip(*rows, strict=True):
        assert before["accuracy"] == after["accuracy"]
        assert before["macro_f1"] == pytest.approx(after["macro_f1"])


def test_a_document_is_placed_alike_alone_and_among_others(
    collect: Callable[..., Collection],
) -> None:
    collection = collect()
    weights = TermWeights.learn(collection, "")
    learned = represent("lsi", weights.apply(collection.counts), EvaluateOptions(dims=3))
    both = learned.directions(weights.apply(csr_array(vstack([collection.counts[[0, 5]]]))))
    alone = learned.directions(weights.apply(collection.counts[[5]]))
    np.testing.assert_allclose(both[1], alone[0], rtol=1e-5)


def test_a_library_without_its_test_documents_teaches_the_same(
    library: Path, records: list[dict[str, Any]], put: Callable[..., Any]
) -> None:
    from lpisearch.evaluation.collection import library_collection, single_labelled

    judged = []
    for text in ("", "ship bread star violin " * 3):
        put([one | {"text": one["text"] + text * (one["split"] == "test")} for one in records])
        whole = single_labelled(library_collection(Session(library)))
        train = whole.of([row for row, split in enumerate(whole.splits) if split == "train"])
        weights = TermWeights.learn(train, "")
        known = [term for term, stays in zip(whole.terms, weights.selected, strict=True) if stays]
        learned = represent("rlpi", weights.apply(train.counts), EvaluateOptions(dims=3))
        judged.append((known, weights.weighting.idf, learned.estimator.components_))  # type: ignore[union-attr]
    assert judged[0][0] == judged[1][0]
    np.testing.assert_array_equal(judged[0][1], judged[1][1])
    np.testing.assert_array_equal(judged[0][2], judged[1][2])
