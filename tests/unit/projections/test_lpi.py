from __future__ import annotations

import numpy as np
import pytest

from lpisearch.projections import document_space
from lpisearch.projections.lpi import LPI


def documents() -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return 60 documents that lie near a space of eight dimensions."""
    random = np.random.default_rng(7)
    return random.random((60, 8)) @ random.random((8, 90)) + 1e-4 * random.random((60, 90))


def test_a_large_collection_is_cut_to_its_leading_space(monkeypatch: pytest.MonkeyPatch) -> None:
    """By default the eigenproblem stays small, and says what the named space would say."""
    X = documents()
    named = LPI(n_components=4, svd_components=8).fit(X)
    monkeypatch.setattr(document_space, "FULL_SPACE", 20)
    monkeypatch.setattr(document_space, "LEADING_SPACE", 8)
    found = LPI(n_components=4).fit(X)
    np.testing.assert_allclose(found.eigenvalues_, named.eigenvalues_, atol=1e-6)


def test_all_of_the_space_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """None keeps every dimension, as in the paper, however many documents there are."""
    X = documents()
    exact = LPI(n_components=4).fit(X)
    monkeypatch.setattr(document_space, "FULL_SPACE", 20)
    whole = LPI(n_components=4, svd_components=None).fit(X)
    np.testing.assert_array_equal(whole.components_, exact.components_)


@pytest.mark.parametrize("asked", ["some", 0, 1.5])
def test_a_useless_limit_is_refused(asked: object) -> None:
    """The message names the parameter."""
    with pytest.raises(ValueError, match="svd_components must be"):
        LPI(n_components=2, svd_components=asked).fit(documents())  # type: ignore[arg-type]
