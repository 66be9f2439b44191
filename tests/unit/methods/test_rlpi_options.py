from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from lpisearch.methods.rlpi import RLPI


def corpus(n: int = 240, classes: int = 6, seed: int = 0, own: float = 0.5) -> tuple[Any, Any]:
    """Make documents of some classes, and the class of each."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    rates = np.where(np.arange(120) % classes == y[:, np.newaxis], own, 0.1)
    counts = rng.poisson(rates) + np.eye(n, 120)
    return sparse.csr_array(counts / np.linalg.norm(counts, axis=1, keepdims=True)), y


def accuracy(rlpi: RLPI, X: Any, y: Any, seen: Any) -> float:
    """Classify what was not seen by the nearest centroid of what was."""
    points = rlpi.embed(X)
    centroids = np.array([points[seen & (y == label)].mean(axis=0) for label in np.unique(y)])
    guessed = (points @ centroids.T).argmax(axis=1)
    return float(np.mean(guessed[~seen] == y[~seen]))


def test_labels_make_one_dimension_fewer_than_classes() -> None:
    X, y = corpus()
    assert RLPI().fit(X, y).n_components_ == 5
    assert RLPI("auto").fit(X, y).n_components_ == 5
    assert RLPI(3).fit(X, y).n_components_ == 3
    np.testing.assert_array_equal(RLPI().fit(X, y).eigenvalues_, 1)


def test_one_class_is_refused() -> None:
    X, _ = corpus()
    with pytest.raises(ValueError, match="All documents have the same label \\('all'\\)"):
        RLPI().fit(X, ["all"] * 240)


def test_class_names_do_not_matter() -> None:
    X, y = corpus()
    words = np.array(list("abcdef"))[y]
    numbers: Any = RLPI().fit(X, y)
    for labels in (words, words.tolist(), [[word] for word in words]):
        np.testing.assert_array_equal(RLPI().fit(X, labels).components_, numbers.components_)


def test_several_labels_lie_between_their_classes() -> None:
    X, y = corpus()
    labels = [["a"], ["b"], ["a", "b"]]
    points = RLPI(alpha=1e-6).fit(X, [labels[c % 3] for c in y]).transform(X)
    means = [points[y % 3 == c].mean(axis=0) for c in range(3)]
    np.testing.assert_allclose(means[2], (means[0] + means[1]) / 2, atol=0.05)


def test_some_labels_help() -> None:
    X, y = corpus(360, seed=1, own=0.25)
    seen = np.arange(360) < 36
    some: Any = np.where(seen, y, -1)
    blended, blind = RLPI(10).fit(X, some), RLPI(10).fit(X)
    assert blended.n_components_ == 10
    assert accuracy(blended, X, y, seen) > accuracy(blind, X, y, seen)


@pytest.mark.parametrize("nothing", [None, ""])
def test_unlabelled_in_words(nothing: Any) -> None:
    X, y = corpus()
    numbers: Any = np.where(np.arange(240) < 60, y, -1)
    words = [nothing if number < 0 else "abcdef"[number] for number in numbers]
    first, second = RLPI(8).fit(X, numbers), RLPI(8).fit(X, words)
    np.testing.assert_array_equal(first.components_, second.components_)


def test_labels_may_be_ignored() -> None:
    X, y = corpus()
    np.testing.assert_array_equal(
        RLPI(5, graph="nearest").fit(X, y).components_, RLPI(5).fit(X).components_
    )


def test_labels_asked_for_must_be_there() -> None:
    X, _ = corpus()
    for graph in ("label", "blend"):
        with pytest.raises(ValueError, match="needs labels"):
            RLPI(5, graph=graph).fit(X)
    with pytest.raises(ValueError, match="No document has a label"):
        RLPI(5).fit(X, [None] * 240)


def test_same_label_with_unlabelled_documents() -> None:
    X, y = corpus()
    some: Any = np.where(np.arange(240) < 120, y, -1)
    rlpi = RLPI(graph="label").fit(X, some)
    assert rlpi.n_isolated_ == 120
    assert rlpi.n_components_ == 5


def test_alpha_auto_is_kept() -> None:
    X, y = corpus()
    chosen = RLPI(alpha="auto").fit(X, y)
    assert 0.01 <= chosen.alpha_ <= 100
    same = RLPI(alpha=chosen.alpha_).fit(X, y)
    np.testing.assert_allclose(same.components_, chosen.components_, atol=1e-12)


@pytest.mark.parametrize("alpha", [-1, -0.01, "most", None, float("nan"), float("inf"), True])
def test_bad_alpha_is_refused(alpha: Any) -> None:
    with pytest.raises(ValueError, match="alpha must be a number of at least 0 or"):
        RLPI(alpha=alpha).fit(corpus()[0])


def test_dimensions_auto_follow_the_spectrum() -> None:
    X, _ = corpus()
    rlpi = RLPI("auto").fit(X)
    counts = rlpi.scales_ / rlpi.scales_[0]
    assert 5 <= rlpi.n_components_ <= 150
    assert counts.min() >= 0.05
    more = RLPI(rlpi.n_components_ + 1).fit(X)
    assert rlpi.n_components_ == 150 or more.scales_[-1] / more.scales_[0] < 0.05


def test_scales_are_powers_of_the_eigenvalues() -> None:
    X, _ = corpus()
    none, cubed = RLPI(8, eigenvalue_power=0).fit(X), RLPI(8, eigenvalue_power=3).fit(X)
    np.testing.assert_array_equal(none.components_, cubed.components_)
    np.testing.assert_array_equal(none.scales_, 1)
    np.testing.assert_allclose(cubed.scales_, cubed.eigenvalues_**3)


def test_identical_documents_are_refused() -> None:
    with pytest.raises(ValueError, match="The documents cannot be distinguished"):
        RLPI(2).fit(np.tile([1.0, 2, 3], (30, 1)))


def test_stages_are_timed() -> None:
    assert list(RLPI(5).fit(corpus()[0]).seconds_) == ["graph", "eigenvectors", "regression"]


def test_other_seeds_find_the_same_subspace() -> None:
    X, _ = corpus(1200)
    first, second = (
        RLPI(5, solver="block", tolerance=1e-6, random_state=seed).fit(X) for seed in (0, 1)
    )
    np.testing.assert_allclose(first.components_, second.components_, atol=1e-2)
