"""Groups of near-duplicates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from lpisearch.graphs.neighbours import LIST_LENGTH, near_duplicate_groups
from lpisearch.numeric.rows import unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray


def documents(rows: list[dict[int, float]], n_terms: int = 40) -> sparse.csr_array:
    """Make unit rows of some weights by term."""
    X = np.zeros((len(rows), n_terms), np.float32)
    for row, weights in enumerate(rows):
        X[row, list(weights)] = list(weights.values())
    return sparse.csr_array(unit_rows(X))


def copies(
    n_originals: int, n_copies: int, seed: int = 0
) -> tuple[sparse.csr_array, NDArray[np.integer[Any]]]:
    """Make random documents, near copies of each in random order; say which is whose copy."""
    rng = np.random.default_rng(seed)
    originals = sparse.random_array((n_originals, 2000), density=0.01, rng=rng, dtype=np.float32)
    which = rng.permutation(np.repeat(np.arange(n_originals), n_copies))
    noise = sparse.random_array((len(which), 2000), density=0.002, rng=rng, dtype=np.float32)
    together = sparse.csr_array(originals.tocsr()[which] + 0.5 * noise)
    return sparse.csr_array(unit_rows(together)), which


def test_a_document_joins_the_earlier_one_that_it_is_near() -> None:
    X = documents([{0: 1, 1: 1}, {5: 1}, {0: 1, 1: 0.8}, {0: 1, 7: 3}])
    assert near_duplicate_groups(X).tolist() == [0, 1, 0, 2]


def test_the_nearest_of_two_leaders_is_joined() -> None:
    X = documents([{0: 1}, {1: 1}, {0: 1, 1: 1.2}])
    assert near_duplicate_groups(X).tolist() == [0, 1, 1]


def test_the_least_cosine_is_an_option() -> None:
    X = documents([{0: 1, 1: 1}, {0: 1, 1: 0.5}])
    assert near_duplicate_groups(X, 0.9).tolist() == [0, 0]
    assert near_duplicate_groups(X, 0.99).tolist() == [0, 1]


def test_documents_without_a_term_are_groups_of_their_own() -> None:
    assert near_duplicate_groups(documents([{}, {}, {0: 1}])).tolist() == [0, 1, 2]


def test_no_documents_have_no_groups() -> None:
    assert near_duplicate_groups(documents([])).tolist() == []


def test_copies_are_found_among_many_documents() -> None:
    X, which = copies(300, 4)
    groups = near_duplicate_groups(X)
    pairs = set(zip(groups.tolist(), which.tolist(), strict=True))
    assert len(pairs) == len(set(groups.tolist())) == 300


def test_groups_larger_than_a_list_stay_together() -> None:
    X, which = copies(3, 4 * LIST_LENGTH)
    assert len(np.unique(near_duplicate_groups(X))) == len(np.unique(which))


def test_groups_are_numbered_as_their_leaders_come() -> None:
    X, _ = copies(20, 3, seed=1)
    groups = near_duplicate_groups(X)
    firsts = [groups.tolist().index(group) for group in range(groups.max() + 1)]
    assert firsts == sorted(firsts)
