from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import sparse

from lpisearch.graphs.supervision import memberships
from lpisearch.methods import rlpi
from lpisearch.methods.responses import choose_alpha, label_responses
from lpisearch.methods.rlpi import LABEL_ALPHAS, RLPI, choose_label_alpha
from lpisearch.numeric.rows import unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

N_TERMS = 400


def documents(
    count: int, n_classes: int, hint: float, seed: int = 0
) -> tuple[NDArray[np.float32], list[int]]:
    """Make documents of random words, of which a class prefers some by the hint."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_classes, size=count)
    chance = np.full((count, N_TERMS), 0.03)
    chance[labels[:, np.newaxis] == np.arange(N_TERMS) % (4 * n_classes)] += hint
    words = (rng.random(chance.shape) < chance) * rng.random(chance.shape)
    return np.asarray(unit_rows(words.astype(np.float32))), labels.tolist()


def chosen(X: NDArray[Any], labels: list[Any], seed: int = 0) -> float:
    """Choose α as the method does."""
    rows = sparse.csr_array(X)
    known = [label for label in labels if label is not None]
    Y = np.zeros((len(labels), len(set(known)) - 1), np.float32)
    Y[[label is not None for label in labels]] = label_responses(known, len(known), Y.dtype).vectors
    shares = memberships(labels, len(labels))[0]
    return choose_label_alpha(rows, Y, shares, np.random.default_rng(seed))


def mislabelled(count: int, wrong: float) -> tuple[NDArray[np.float32], list[int]]:
    """Make documents of four classes, some with a label at random."""
    X, labels = documents(count, 4, 0.2)
    rng = np.random.default_rng(5)
    return X, [int(rng.integers(4)) if rng.random() < wrong else label for label in labels]


def test_wrong_labels_ask_for_more_penalty() -> None:
    assert chosen(*mislabelled(1200, 0.4)) > 1
    assert chosen(*documents(1200, 4, 0.5)) <= 1


def test_near_duplicates_do_not_lower_alpha() -> None:
    X, labels = mislabelled(600, 0.4)
    noise = np.random.default_rng(1).random((5 * len(X), N_TERMS)).astype(np.float32)
    copies = np.asarray(unit_rows(np.tile(X, (5, 1)) + np.float32(0.005) * noise))
    Y = label_responses(labels * 5, len(copies), np.dtype(np.float32)).vectors
    formula = choose_alpha(copies, Y, np.ones(3), np.random.default_rng(0))
    assert formula < 0.1
    assert chosen(copies, labels * 5) >= chosen(X, labels) > 1


@pytest.mark.parametrize(
    ("right", "expected"),
    [
        ({0.1: 50, 0.32: 52, 1: 54, 3.16: 56, 10: 57, 31.6: 30}, 1),  # none is clearly better
        ({0.1: 10, 0.32: 10, 1: 10, 3.16: 89, 10: 90, 31.6: 90}, 3.16),
        ({0.1: 90, 0.32: 70, 1: 50, 3.16: 20, 10: 10, 31.6: 10}, 0.1),
    ],
)
def test_the_alpha_nearest_to_1_that_is_not_clearly_worse(
    monkeypatch: pytest.MonkeyPatch, right: dict[float, int], expected: float
) -> None:
    rng = np.random.default_rng(0)
    counts = dict(zip(LABEL_ALPHAS.tolist(), right.values(), strict=True))

    def judged(*arguments: Any) -> NDArray[np.float64]:
        return rng.permutation(np.arange(100) < counts[arguments[-1]]).astype(np.float64)

    monkeypatch.setattr(rlpi, "_judged_right", judged)
    assert chosen(*documents(200, 4, 0.5)) == pytest.approx(expected, rel=0.01)


def test_a_few_documents_leave_alpha_at_1() -> None:
    assert chosen(*documents(12, 2, 0.5)) == 1
    assert chosen(documents(2, 2, 0.5)[0], [0, 1]) == 1


def test_documents_without_a_label_take_no_part() -> None:
    X, labels = documents(400, 5, 0.1)
    more = np.concatenate([X, np.flip(X, axis=1)[:200]])
    assert chosen(more, [*labels, *[None] * 200]) == chosen(X, labels)


def test_large_collections_are_judged_by_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    X, labels = documents(500, 5, 0.1)
    monkeypatch.setattr(rlpi, "MOST_DOCUMENTS", 100)
    shares = memberships(labels, len(labels))[0]
    held_out = rlpi._hold_out(sparse.csr_array(X), shares, np.random.default_rng(0))
    assert len(held_out.seen) == 75
    assert 0 < len(held_out.judged) <= 25
    assert not set(held_out.seen) & set(held_out.judged)


def test_rlpi_chooses_so_where_all_documents_have_labels() -> None:
    X, labels = documents(300, 5, 0.1)
    assert RLPI(alpha="auto").fit(X, labels).alpha_ in LABEL_ALPHAS
    several = [[label, "other"] if row % 3 else [label] for row, label in enumerate(labels)]
    assert RLPI(alpha="auto").fit(sparse.csr_array(X), several).alpha_ in LABEL_ALPHAS
