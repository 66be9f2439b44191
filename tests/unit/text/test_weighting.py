from __future__ import annotations

import subprocess
import sys
from math import log, sqrt
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from lpisearch.errors import BadOption
from lpisearch.text.languages import TokeniserSettings
from lpisearch.text.vocabulary import (
    FREQUENCY_LISTS,
    WEIGHTINGS,
    Weighting,
    general_words,
    normalise_rows,
)

# Three documents, three terms: the first term in all of them, the last in one.
COUNTS = csr_array(np.array([[1, 2, 0], [3, 1, 0], [1, 0, 2]], np.float32))
EMPTY_ROWS = csr_array(
    np.array([[0, 0, 0], [1, 0, 2], [0, 0, 0], [0, 0, 0], [0, 1, 0]], np.float32)
)


def weights(name: str) -> np.ndarray:
    """Return the weights of the small example."""
    dense: np.ndarray = Weighting.fit(COUNTS, name).apply(COUNTS).toarray()
    return dense


def test_tf_is_the_count() -> None:
    assert_array_equal(weights("tf"), COUNTS.toarray())


def test_idf_is_as_stated() -> None:
    rare, common, everywhere = log(4 / 1), log(4 / 2), log(4 / 3)
    assert_allclose(
        weights("tfidf"),
        [[everywhere, 2 * common, 0], [3 * everywhere, common, 0], [everywhere, 0, 2 * rare]],
        rtol=1e-6,
    )
    assert_allclose(weights("log-tfidf")[0], [log(2) * everywhere, log(3) * common, 0], rtol=1e-6)


def test_bm25_is_as_stated() -> None:
    length, mean = 3, 10 / 3
    saturated = 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * length / mean))
    assert weights("bm25")[0, 1] == pytest.approx(saturated * log(1 + 1.5 / 2.5), rel=1e-6)
    assert weights("bm25")[0, 2] == 0


@pytest.mark.parametrize("name", WEIGHTINGS)
def test_every_weighting_keeps_the_pattern(name: str) -> None:
    for counts in (COUNTS, EMPTY_ROWS, csr_array((0, 3), dtype=np.float32), COUNTS[:1]):
        weighted = Weighting.fit(counts, name).apply(counts)
        assert weighted.dtype == np.float32
        assert_array_equal(weighted.indices, counts.indices)
        assert np.isfinite(weighted.data).all()
        assert (weighted.data > 0).all()


@pytest.mark.parametrize("name", WEIGHTINGS)
def test_query_is_weighted_as_a_document(name: str) -> None:
    weighting = Weighting.fit(EMPTY_ROWS, name)
    weighted = weighting.apply(EMPTY_ROWS)
    rows = normalise_rows(weighted)
    for row in range(EMPTY_ROWS.shape[0]):
        place = slice(*EMPTY_ROWS.indptr[row : row + 2])
        one = EMPTY_ROWS.indices[place], EMPTY_ROWS.data[place]
        assert_allclose(weighting.weigh_query(*one), rows.data[place], rtol=1e-6)
        assert_allclose(weighting.weigh_query(*one, unit=False), weighted.data[place], rtol=1e-6)
        assert weighting.weigh_query(*one).dtype == np.float32


def test_later_documents_get_the_idf_of_the_corpus() -> None:
    weighting = Weighting.fit(COUNTS)
    assert_array_equal(weighting.apply(COUNTS[1:2]).toarray()[0], weights("log-tfidf")[1])


def test_rows_come_to_unit_length_and_empty_ones_stay_empty() -> None:
    before = EMPTY_ROWS.toarray()
    rows = normalise_rows(EMPTY_ROWS)
    assert rows.dtype == np.float32
    assert_allclose(rows.toarray()[1], [1 / sqrt(5), 0, 2 / sqrt(5)], rtol=1e-6)
    assert_allclose(np.linalg.norm(rows.toarray(), axis=1), [0, 1, 0, 0, 1], rtol=1e-6)
    assert_array_equal(EMPTY_ROWS.toarray(), before)


def test_unknown_name_and_impossible_parameters_are_refused() -> None:
    with pytest.raises(BadOption, match=r"unknown weighting “log-tfdf” \(did you mean log-tfidf"):
        Weighting.fit(COUNTS, "log-tfdf")
    with pytest.raises(BadOption, match="k1: -1"):
        Weighting.fit(COUNTS, "bm25", k1=-1)
    with pytest.raises(BadOption, match="b: 2"):
        Weighting.fit(COUNTS, "bm25", b=2)


def test_query_needs_no_scipy() -> None:
    program = """
import sys, numpy as np
from lpisearch.text.tokeniser import Tokeniser
from lpisearch.text.vocabulary import count_terms
from lpisearch.text.vocabulary import Vocabulary
from lpisearch.text.vocabulary import Weighting
vocabulary = Vocabulary(("cat", "dog"), np.array([1, 2], np.int32), 4)
query = vocabulary.count(Tokeniser().tokens("Cats don't like dogs"))
weighting = Weighting("log-tfidf", np.ones(2, np.float32), 2.0)
weights = weighting.weigh_query(query.indices, query.counts)
print(len(weights), [name for name in ("scipy", "sklearn", "regex") if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "2 []\n"


def test_general_frequencies() -> None:
    """A word that is rare in English adds more than a common one, most in a small library."""
    english = general_words("english")
    assert english is not None
    common, way, rare, unknown = english.idf(["one", "way", "punctur", "replicaton"], 10_000)
    assert 0 <= common < way < rare < unknown
    assert english.idf(["punctur"], 10)[0] > rare > english.idf(["punctur"], 10**7)[0]
    assert "punctur" in english
    assert "replicaton" not in english


@pytest.mark.parametrize("file", sorted(FREQUENCY_LISTS.glob("*.gz")), ids=lambda file: file.name)
def test_lists_of_frequencies(file: Path) -> None:
    """Every list is of a known language, and its numbers tell 7 from 1998 and both from 54321."""
    words = general_words(TokeniserSettings.for_language(file.name.split(".")[0]).language)
    assert words is not None
    assert np.all(np.diff(words.idf(["7", "1998", "54321"], 0)) > 0)


def test_a_language_without_a_list() -> None:
    assert general_words("none") is None
