from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import average_precision_score

from lpisearch.evaluation.similarity import average_accuracy, pair_precision

_FOUR = np.array([[1.0, 0], [2, 0], [1, 1], [0, 1]])


def _cosines(Y: Any) -> Any:
    Y = np.asarray(Y, dtype=float)
    lengths = np.linalg.norm(Y, axis=1)
    unit = Y / np.where(lengths == 0, 1, lengths)[:, None]
    return (unit @ unit.T).round(9)


def _oracle_precision(Y: Any, shared: Any) -> float:
    first, second = np.triu_indices(len(Y), 1)
    return float(average_precision_score(shared[first, second], _cosines(Y)[first, second]))


def _slow_accuracy(Y: Any, labels: list[Any]) -> float:
    """Give every document's neighbours in 200 random orders of the ties, and average."""
    chance, cosines, found = np.random.default_rng(0), _cosines(Y), []
    for row, label in enumerate(labels):
        others = np.array([other for other in range(len(labels)) if other != row], dtype=int)
        size = labels.count(label)
        for _ in range(200):
            mixed = chance.permutation(others)
            near = mixed[np.argsort(-cosines[row, mixed], kind="stable")][:size]
            found.append(sum(labels[other] == label for other in near) / size)
    return float(np.mean(found))


def _case(seed: int, n: int = 60, dims: int = 4) -> tuple[Any, list[str]]:
    """Few small whole numbers, so that many cosines tie and some rows are zero."""
    chance = np.random.default_rng(seed)
    Y = chance.integers(-1, 3, (n, dims)) * chance.integers(0, 2, (n, dims))
    return Y, [f"c{number}" for number in chance.integers(0, 4, n)]


def test_pairs_of_four_documents_by_hand() -> None:
    found = pair_precision(_FOUR, ["a", "a", "b", "b"])
    assert found.precision == pytest.approx((1 + 2 / 4) / 2)
    assert (found.pairs, found.intra_pairs, found.documents, found.unlabelled) == (6, 2, 4, 0)
    assert (found.sampled, found.low, found.high) == (False, found.precision, found.precision)


@pytest.mark.parametrize("kind", ["dense", "single", "sparse"])
def test_pairs_equal_scikit_learn(kind: str) -> None:
    makers: dict[str, Any] = {"dense": np.array, "single": np.float32, "sparse": sparse.csr_array}
    for seed in range(5):
        Y, labels = _case(seed)
        shared = np.equal.outer(labels, labels)
        found = pair_precision(makers[kind](Y), labels)
        assert found.precision == pytest.approx(_oracle_precision(Y, shared), abs=1e-12)
        assert found.intra_pairs == np.triu(shared, 1).sum()


def test_pairs_of_several_blocks_equal_scikit_learn() -> None:
    chance = np.random.default_rng(3)
    labels = chance.integers(0, 5, 700)
    Y = chance.normal(size=(700, 6)) + labels[:, None] * [1, 0, -1, 0, 2, 0]
    expected = _oracle_precision(Y, np.equal.outer(labels, labels))
    assert pair_precision(Y, labels.tolist()).precision == pytest.approx(expected, abs=1e-5)


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000))
def test_order_of_documents_changes_nothing(seed: int) -> None:
    Y, labels = _case(seed, n=25)
    labels[:2] = ["c0", "c0"]
    order = np.random.default_rng(seed).permutation(len(labels))
    moved = [labels[row] for row in order]
    assert pair_precision(Y[order], moved) == pair_precision(Y, labels)
    assert average_accuracy(Y[order], moved) == pytest.approx(
        average_accuracy(Y, labels), abs=1e-12
    )


def test_equal_documents_tie_in_single_precision() -> None:
    row = np.random.default_rng(0).normal(size=37).astype(np.float32)
    Y = np.outer(np.array([1, 3, 0.7, 11, 1e-3, 5], dtype=np.float32), row)
    labels = ["a", "a", "b", "b", "a", "b"]
    assert pair_precision(Y, labels).precision == pytest.approx(6 / 15)
    assert average_accuracy(Y, labels) == pytest.approx(3 * (2 / 5) / 3)


def test_a_row_of_zeros_has_cosine_zero_with_all() -> None:
    found = pair_precision([[1.0], [0.0], [-1.0]], ["a", "a", "b"])
    assert found.precision == pytest.approx(1 / 2)


def test_unlabelled_documents_are_left_out_and_counted() -> None:
    Y = np.vstack([_FOUR, [[3, 4], [1, 0]]])
    labels = ["a", "a", "b", "b", None, ""]
    found = pair_precision(Y, labels)
    assert (found.precision, found.documents, found.unlabelled) == (0.75, 4, 2)
    assert average_accuracy(Y, labels) == average_accuracy(_FOUR, labels[:4])


def test_documents_with_several_labels_share_any_of_them() -> None:
    labels = [["a"], ["a", "b"], ["b"], ["c"]]
    shared = np.array([[bool(set(x) & set(y)) for x in labels] for y in labels])
    found = pair_precision(_FOUR, labels)
    assert found.intra_pairs == 2
    assert found.precision == pytest.approx(_oracle_precision(_FOUR, shared))
    # Sizes 2, 3, 2, 1: document 0 has 1 of 2, 1 has 2 of 3, 2 has 1 of 2 in 2/3 of all orders.
    assert average_accuracy(_FOUR, labels) == pytest.approx((1 / 2 + 2 / 3 + 1 / 3 + 0) / 4)


def test_many_documents_with_several_labels() -> None:
    Y, labels = _case(4, n=700)
    both = [[one, "all"] for one in labels]
    assert pair_precision(Y, both).precision == 1
    assert average_accuracy(Y, both) == pytest.approx(699 / 700)
    twins = [[one, one + "'"] for one in labels]
    assert pair_precision(Y, twins) == pair_precision(Y, labels)
    assert average_accuracy(Y, twins) == average_accuracy(Y, labels)


def test_accuracy_equals_the_mean_over_orders_of_the_ties() -> None:
    for seed in range(3):
        Y, labels = _case(seed, n=20)
        assert average_accuracy(Y, labels) == pytest.approx(_slow_accuracy(Y, labels), abs=0.02)


def test_accuracy_without_ties_follows_the_paper() -> None:
    chance = np.random.default_rng(1)
    Y, labels = chance.normal(size=(40, 5)), [f"c{number}" for number in chance.integers(0, 4, 40)]
    assert average_accuracy(Y, labels) == pytest.approx(_slow_accuracy(Y, labels), abs=1e-12)


def test_accuracy_of_classes_apart_reaches_its_ceiling() -> None:
    assert average_accuracy([[1, 0], [1, 0], [1, 0], [0, 1], [0, 1]], list("aaabb")) == (
        pytest.approx((3 * 2 / 3 + 2 * 1 / 2) / 5)
    )


def test_one_class_one_document_and_lonely_classes() -> None:
    assert pair_precision(_FOUR, ["a"] * 4).precision == 1
    assert average_accuracy(_FOUR, ["a"] * 4) == pytest.approx(3 / 4)
    assert average_accuracy(_FOUR[:1], ["a"]) == 0
    assert average_accuracy(_FOUR, list("abcd")) == 0
    with pytest.raises(ValueError, match="No two documents share a label"):
        pair_precision(_FOUR, list("abcd"))
    with pytest.raises(ValueError, match="No two documents share a label"):
        pair_precision(_FOUR[:1], ["a"])


@pytest.mark.parametrize("measure", [pair_precision, average_accuracy])
def test_input_that_cannot_be_measured_is_refused(measure: Any) -> None:
    with pytest.raises(ValueError, match="but there are 3 labels"):
        measure(_FOUR, ["a", "a", "b"])
    with pytest.raises(ValueError, match="No document has a label"):
        measure(_FOUR, [None] * 4)
    with pytest.raises(ValueError, match="No document has a label"):
        measure(np.zeros((0, 3)), [])
    with pytest.raises(ValueError, match="not finite"):
        measure([[np.nan], [1.0]], ["a", "a"])


def test_a_sample_of_all_distances_is_every_pair() -> None:
    Y, labels = _case(7, n=31)
    exact = pair_precision(Y, labels)
    found = pair_precision(Y, labels, most_documents=5, sample=10**6)
    assert (found.sampled, found.pairs, found.intra_pairs) == (True, 31 * 15, exact.intra_pairs)
    assert found.precision == exact.precision
    assert found.low < exact.precision < found.high


def test_intervals_of_samples_hold_the_exact_value() -> None:
    chance = np.random.default_rng(5)
    labels = chance.integers(0, 6, 500)
    Y = chance.normal(size=(500, 8)) + np.eye(8)[labels] * 2
    exact = pair_precision(Y, labels.tolist()).precision
    found = [
        pair_precision(Y, labels.tolist(), most_documents=1, sample=25_000, random_state=seed)
        for seed in range(60)
    ]
    assert {one.pairs for one in found} == {25_000}
    assert np.mean([one.low <= exact <= one.high for one in found]) >= 0.85
    assert abs(np.mean([one.precision for one in found]) - exact) < 0.005
    assert all(one.high - one.low < 0.1 for one in found)


def test_samples_repeat_with_their_seed_in_every_form() -> None:
    Y, labels = _case(2, n=101)
    options: dict[str, Any] = {"most_documents": 50, "sample": 1_500, "random_state": 3}
    found = pair_precision(Y, labels, **options)
    assert pair_precision(sparse.csr_array(Y), labels, **options) == found
    assert pair_precision(Y, [[one] for one in labels], **options) == found
    assert pair_precision(Y, labels, **options | {"random_state": 4}) != found
    several = pair_precision(Y, [[one, "all"] for one in labels], **options)
    assert several.precision == 1


def test_the_smallest_samples() -> None:
    Y, labels = [[1.0], [1.0], [2.0]], ["a", "a", "a"]
    assert not pair_precision(Y[:2], labels[:2], most_documents=1).sampled
    found = pair_precision(Y, labels, most_documents=1)
    assert (found.sampled, found.pairs, found.precision) == (True, 3, 1)
    assert (found.low, found.high) == (0, 1)


def test_a_sample_without_a_relevant_pair_is_refused() -> None:
    labels = ["a", "a", *map(str, range(2_000))]
    with pytest.raises(ValueError, match="sampled pairs shares a label"):
        pair_precision(np.ones((2_002, 1)), labels, most_documents=10, sample=10)
