from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from lpisearch.classifiers.classifier import CLASSIFIERS, Classifier, as_shares, surprise
from lpisearch.classifiers.trainer import (
    LIMITS,
    Learned,
    TrainingLimits,
    check_train,
    learn_classifier,
)
from lpisearch.errors import BadOption
from lpisearch.index.checkpoint import Stages
from lpisearch.methods.rlpi import is_good
from lpisearch.numeric.rows import divided_by_lengths
from lpisearch.options import IndexOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

N_TERMS = 60
N_CLASSES = 3


def _documents(count: int, seed: int = 0, own: float = 0.6) -> tuple[csr_array, list[list[str]]]:
    """Make unit rows in which each class prefers terms of its own."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % N_CLASSES
    chance = np.full((count, N_TERMS), 0.1)
    for number in range(N_CLASSES):
        chance[labels == number, number * 10 : number * 10 + 10] = own
    weights = (rng.random(chance.shape) < chance) * rng.random(chance.shape)
    weights[:, -1] += 0.01
    return csr_array(divided_by_lengths(weights).astype(np.float32)), [
        [f"class {each}"] for each in labels
    ]


def _learn(
    X: csr_array,
    labels: Sequence[Sequence[str]],
    splits: Sequence[str] = (),
    limits: TrainingLimits = LIMITS,
    **options: Any,
) -> Learned:
    stages = Stages(lambda _name: None)
    splits = splits or [""] * len(labels)
    return learn_classifier(X, labels, splits, IndexOptions(**options), stages.stage, limits=limits)


def _facts(learned: Learned) -> dict[str, Any]:
    assert learned.facts is not None
    return learned.facts


def _reason(learned: Learned) -> str:
    assert not learned.arrays
    return str(_facts(learned)["reason"])


def _shares(learned: Learned, X: csr_array, by: str) -> Any:
    classifier = Classifier.from_index(learned.arrays, _facts(learned))
    rows = [X[[row]] for row in range(X.shape[0])]
    return np.array(classifier.shares([(row.indices, row.data) for row in rows], by))


@pytest.mark.parametrize("by", ["auto", *CLASSIFIERS])
def test_unseen_documents_are_told_apart(by: str) -> None:
    learned = _learn(*_documents(300))
    X, labels = _documents(90, seed=1)
    shares = _shares(learned, X, by)
    assert shares.sum(axis=1) == pytest.approx(1)
    truth = [int(own[0][-1]) for own in labels]
    assert np.mean(shares.argmax(axis=1) == truth) > 0.85


@pytest.mark.parametrize("count", [300, 3000])
@pytest.mark.parametrize("by", ["centroid", "knn", "svm"])
def test_shares_are_calibrated(by: str, count: int) -> None:
    learned = _learn(*_documents(count, own=0.2))
    X, labels = _documents(600, seed=1, own=0.2)
    truth = np.eye(N_CLASSES)[[int(own[0][-1]) for own in labels]]
    shares = _shares(learned, X, by)
    logarithms = np.log(shares)
    others = [surprise(as_shares(logarithms * factor), truth) for factor in (0.5, 0.8, 1.25, 2)]
    assert surprise(shares, truth) < min(others) + 0.02


def test_equal_runs_are_equal_bit_by_bit() -> None:
    X, labels = _documents(200)
    first, second = _learn(X, labels, seed=3), _learn(X, labels, seed=3)
    assert first.facts == second.facts
    assert first.arrays.keys() == second.arrays.keys()
    for name, array in first.arrays.items():
        assert array.tobytes() == second.arrays[name].tobytes(), name


def test_names_and_types_of_the_arrays() -> None:
    arrays = _learn(*_documents(60)).arrays
    assert all(name.startswith("classifier_") for name in arrays)
    assert arrays["classifier_loadings"].shape == (N_TERMS, N_CLASSES - 1)
    assert arrays["classifier_centroids"].shape == (N_CLASSES, N_CLASSES - 1)
    assert arrays["classifier_vectors"].shape == (60, N_CLASSES - 1)
    assert arrays["classifier_svm_weights"].shape == (N_TERMS, N_CLASSES)
    assert arrays["classifier_map_svm_weights"].shape == (N_CLASSES - 1, N_CLASSES)
    large = ("loadings", "centroids", "vectors", "svm_weights")
    assert {arrays[f"classifier_{name}"].dtype for name in large} == {np.dtype(np.float32)}


def test_the_split_train_is_learned_from() -> None:
    X, labels = _documents(90)
    splits = ["train" if row % 2 else "test" for row in range(90)]
    assert _facts(_learn(X, labels, splits))["documents"] == 45
    assert _facts(_learn(X, labels, splits, train="all"))["documents"] == 90
    assert _facts(_learn(X, labels, splits, train="test"))["documents"] == 45
    assert _learn(X, labels, splits, train="none") == Learned({}, None)


def test_a_split_without_labels_does_not_hide_the_others() -> None:
    X, labels = _documents(90)
    splits = ["train"] * 30 + [""] * 60
    assert _facts(_learn(X, [*([],) * 30, *labels[30:]], splits))["documents"] == 60


def test_documents_without_labels_or_words_take_no_part() -> None:
    X, labels = _documents(90)
    more = csr_array(np.vstack([X.toarray(), np.zeros((2, N_TERMS), np.float32), X[[0]].toarray()]))
    learned = _learn(more, [*labels, ["class 0"], ["class 1"], []])
    plain = _learn(X, labels)
    assert learned.facts == plain.facts
    same = plain.arrays["classifier_centroids"]
    assert learned.arrays["classifier_centroids"] == pytest.approx(same)


def test_rare_labels_are_left_out() -> None:
    X, labels = _documents(90)
    labels[0] = ["class 0", "rare"]
    facts = _facts(_learn(X, labels))
    assert (facts["labels"], facts["left_out"], facts["documents"]) == (3, 1, 90)


def test_several_labels() -> None:
    """A document with several labels is learned as each of them."""
    X, labels = _documents(240)
    mixed = [[*own, "even"] if row % 2 == 0 else own for row, own in enumerate(labels)]
    learned = _learn(X, mixed)
    facts = _facts(learned)
    assert facts["labels"] == 4
    shares = _shares(learned, X[:30], "svm")
    classifier = Classifier.from_index(learned.arrays, facts)
    topics = [classifier.labels.index(f"class {row % 3}") for row in range(30)]
    assert np.mean(shares[:, :3].argmax(axis=1) == topics) > 0.9


def test_two_labels() -> None:
    """Two classes lie on one dimension, and have a machine each."""
    X, labels = _documents(90)
    some = [row for row in range(90) if row % 3]
    learned = _learn(X[some], [labels[row] for row in some])
    assert learned.arrays["classifier_loadings"].shape == (N_TERMS, 1)
    for by in CLASSIFIERS:
        right = _shares(learned, X[some], by).argmax(axis=1) == np.array(some) % 3 - 1
        assert right.mean() > 0.9


@pytest.mark.parametrize(
    ("own", "reason"),
    [
        ([["one"]] * 6, "all labelled documents have the same label, “one”"),
        ([["a"], ["b"], ["c"], ["d"], [], []], "fewer than two of the 4 labels have 2 documents"),
        ([["a", "b"]] * 6, "cannot be distinguished"),
    ],
)
def test_labels_that_do_not_do(own: list[list[str]], reason: str) -> None:
    """The reason is kept with the index."""
    assert reason in _reason(_learn(_documents(6)[0], own))


def test_a_split_of_wordless_documents() -> None:
    empty = csr_array(np.zeros((4, N_TERMS), np.float32))
    assert "no labelled document with known words" in _reason(_learn(empty, [["a"], ["b"]] * 2))


def test_no_labels() -> None:
    """Without labels there is nothing to say."""
    assert _learn(_documents(6)[0], [[]] * 6) == Learned({}, None)


def test_two_documents_a_class() -> None:
    X, labels = _documents(6)
    weights = _facts(_learn(X, labels))["weights"]
    assert all(np.isfinite(each).all() for each in weights.values())


def test_an_unknown_split() -> None:
    check_train("dev", {"train", "dev"})
    with pytest.raises(BadOption, match="no document is in the split “valid”") as caught:
        check_train("valid", {"train", "dev"})
    assert "auto, all, none, dev, train" in caught.value.next_step


def test_large_libraries_are_learned_from_a_sample() -> None:
    X, labels = _documents(120)
    assert _facts(_learn(X, labels, limits=TrainingLimits(cells=3 * 50)))["documents"] == 50
    assert _facts(_learn(X, labels, limits=TrainingLimits(documents=40)))["documents"] == 40


def test_many_labels() -> None:
    """Of very many labels the largest are learned."""
    X, labels = _documents(90)
    labels[2] = ["class 1"]
    learned = _learn(X, labels, limits=TrainingLimits(classes=2))
    classifier = Classifier.from_index(learned.arrays, _facts(learned))
    assert classifier.labels == ("class 0", "class 1")
    assert _facts(learned)["left_out"] == 1


def test_an_svm_that_would_be_large() -> None:
    learned = _learn(*_documents(60), limits=TrainingLimits(svm_cells=10))
    facts = _facts(learned)
    assert set(facts["weights"]) == {"centroid", "knn", "map-svm"}
    assert facts["chosen"] in facts["weights"]
    assert "classifier_svm_weights" not in learned.arrays


def test_an_svm_that_would_take_long() -> None:
    X, labels = _documents(400)
    learned = _learn(X, labels, limits=TrainingLimits(svm_weights=X.nnz // 4))
    shares = _shares(learned, X, "svm")
    assert np.mean(shares.argmax(axis=1) == [int(own[0][-1]) for own in labels]) > 0.85


def test_the_best_on_what_was_held_out_is_chosen() -> None:
    facts = _facts(_learn(*_documents(300, own=0.3)))
    assert facts["judged"] == 300
    assert set(facts["accuracy"]) == set(CLASSIFIERS)
    assert facts["accuracy"][facts["chosen"]] > max(facts["accuracy"].values()) - 0.05
    assert all(0.3 < each < 1 for each in facts["accuracy"].values())


def test_what_is_clearly_worse() -> None:
    rows = np.arange(100)
    right = np.array([rows < 90 - lost for lost in (0, 3, 5, 40)], float)
    assert is_good(right).tolist() == [True, True, False, False]


def test_copies_do_not_make_a_classifier_seem_good() -> None:
    X, labels = _documents(300)
    order = np.random.default_rng(0).permutation(300)
    shuffled = [labels[row] for row in order]
    copies = csr_array(np.tile(X.toarray(), (3, 1)))
    accuracy = _facts(_learn(copies, shuffled * 3))["accuracy"]
    assert max(accuracy.values()) < 0.5


def test_nothing_to_hold_out() -> None:
    X = csr_array(np.repeat(np.eye(2, N_TERMS, dtype=np.float32), 2, axis=0))
    facts = _facts(_learn(X, [["a"], ["a"], ["b"], ["b"]]))
    assert facts["chosen"] in CLASSIFIERS
    assert set(facts["weights"]) == set(CLASSIFIERS)
