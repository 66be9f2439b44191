from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array, vstack

from lpisearch.index.projection import documents_to_learn_from as choose_documents
from lpisearch.numeric.row_blocks import MatrixBlocks
from lpisearch.numeric.rows import unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

RNG = np.random.default_rng(0)


def documents_to_learn_from(X: csr_array, seed: int, **limits: int) -> NDArray[np.int64]:
    """Return the numbers of the documents that are chosen."""
    return choose_documents(MatrixBlocks(X, 16), seed, **limits).numbers


def documents(number: int) -> csr_array:
    """Return random documents that have little in common."""
    return csr_array(
        unit_rows(csr_array(RNG.random((number, 400)) * (RNG.random((number, 400)) < 0.05)))
    )


def test_one_of_near_duplicates() -> None:
    X = documents(40)
    twice = csr_array(vstack([X, X]))
    found = documents_to_learn_from(twice, 0, least=10)
    assert found.tolist() == documents_to_learn_from(X, 0, least=10).tolist()


def test_a_small_library_is_learned_whole() -> None:
    X = documents(30)
    assert documents_to_learn_from(csr_array(vstack([X, X])), 0).tolist() == list(range(60))


def test_a_sample_of_very_many() -> None:
    X = documents(60)
    choose = partial(documents_to_learn_from, X, least=5, most=20)
    found = choose(1)
    assert len(found) == 20
    assert (np.diff(found) > 0).all()
    assert choose(1).tolist() == found.tolist()
    assert choose(2).tolist() != found.tolist()
