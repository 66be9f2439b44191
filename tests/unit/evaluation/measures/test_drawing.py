from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lpisearch.evaluation.splits import draw_classes, split_by_share

_LABELS = [name for name, size in {"a": 10, "b": 5, "c": 3, "d": 2, "e": 1}.items()
           for _ in range(size)]  # fmt: skip


def test_draws_are_different_sets_of_different_classes() -> None:
    labels = np.arange(30)
    for n_classes, draws in ((2, 50), (10, 50), (29, 30)):
        found = draw_classes(labels, n_classes, draws)
        assert len({tuple(classes.tolist()) for classes in found}) == draws
        assert all(len(set(classes.tolist())) == n_classes for classes in found)
        assert all(np.isin(classes, labels).all() for classes in found)


def test_all_sets_where_there_are_fewer_than_asked_for() -> None:
    found = draw_classes(_LABELS, 4, 50)
    assert sorted("".join(classes) for classes in found) == ["abcd", "abce", "abde", "acde", "bcde"]
    assert [classes.tolist() for classes in draw_classes(_LABELS, 5, 3)] == [list("abcde")]


@pytest.mark.parametrize("draws", [3, 300])
def test_classes_are_drawn_alike(draws: int) -> None:
    labels = [0] * 50 + list(range(1, 8))
    drawn = [
        classes for seed in range(900 // draws) for classes in draw_classes(labels, 2, draws, seed)
    ] if draws == 3 else draw_classes(labels * 2, 4, 70)  # fmt: skip
    counts = np.bincount(np.concatenate(drawn))
    expected = sum(map(len, drawn)) / 8
    assert np.abs(counts - expected).max() < 0.25 * expected


def test_draws_repeat_with_their_seed() -> None:
    labels: list[Any] = [*range(1, 20), "x", None, ["y", 3]]
    first, again, other = (draw_classes(labels, 3, 5, seed) for seed in (1, 1, 2))
    assert [classes.tolist() for classes in first] == [classes.tolist() for classes in again]
    assert [classes.tolist() for classes in first] != [classes.tolist() for classes in other]
    every = draw_classes(labels, 21, 1)[0].tolist()
    assert every == [*range(1, 20), "x", "y"]


def test_too_few_classes_are_refused() -> None:
    with pytest.raises(ValueError, match="6 classes cannot be drawn: the labels have 5"):
        draw_classes(_LABELS, 6, 1)
    with pytest.raises(ValueError, match="draws must be a whole number"):
        draw_classes(_LABELS, 2, 0)


@pytest.mark.parametrize("share", [0.01, 0.05, 0.5, 0.6, 0.99])
def test_every_class_has_documents_on_both_sides(share: float) -> None:
    labels = np.array(_LABELS)
    train, test = split_by_share(labels, share)
    assert sorted([*train, *test]) == list(range(len(labels)))
    for name, size in (("a", 10), ("b", 5), ("c", 3), ("d", 2)):
        count = np.count_nonzero(labels[train] == name)
        assert count == max(1, min(size - 1, np.floor(share * size + 0.5)))
    assert set(labels[train]) == set("abcde")
    assert set(labels[test]) == set("abcd")


def test_splits_are_random_and_repeat_with_their_seed() -> None:
    labels = ["a"] * 10 + ["b"] * 20
    assert np.array_equal(split_by_share(labels, 0.3, 5)[0], split_by_share(labels, 0.3, 5)[0])
    often = np.mean([np.isin(range(30), split_by_share(labels, 0.3, n)[0]) for n in range(400)], 0)
    assert np.abs(often - 0.3).max() < 0.1


def test_unlabelled_and_multi_labelled_documents() -> None:
    labels = [None, ["a", "r"], ["a", "r"], *["a"] * 6, [], "", ["a", "s"]]
    train, test = split_by_share(labels, 0.5)
    assert sorted([*train, *test]) == [1, 2, 3, 4, 5, 6, 7, 8, 11]
    assert len({1, 2} & set(train.tolist())) == 1
    assert len(set(range(3, 9)) & set(train.tolist())) == 3
    assert 11 in train


def test_splits_that_cannot_be_are_refused() -> None:
    for share in (0, 1, -0.5, 60, float("nan")):
        with pytest.raises(ValueError, match="above 0 and below 1"):
            split_by_share(["a", "a"], share)
    with pytest.raises(ValueError, match="No document has a label"):
        split_by_share([None], 0.5)
