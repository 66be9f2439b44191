from __future__ import annotations

import numpy as np
import pytest

from lpisearch.index import postings as index_postings
from lpisearch.index.postings import NO_TERM, STRONGEST, Bm25, DocumentTerms, Postings
from lpisearch.text.vocabulary import count_all_terms

RNG = np.random.default_rng(0)
TEXTS = [" ".join(f"w{n}" for n in RNG.zipf(1.4, 60) % 90) for _ in range(30)] + ["", "w1 w1"]


def postings(texts: list[str], columns: dict[str, int] | None = None) -> Postings:
    """Return the postings of joined tokens."""
    terms, every = count_all_terms([texts])
    return Postings.build(terms, every.matrix, every.lengths, columns or {})


@pytest.mark.parametrize("block", [7, 1000])
def test_strongest_terms(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    """They are those with the largest BM25, in falling order, however documents are taken."""
    monkeypatch.setattr(index_postings, "_BLOCK", block)
    built = postings(TEXTS)
    found = DocumentTerms.of_postings(built)
    bm25 = Bm25(built)
    for place, text in enumerate(TEXTS):
        words = sorted(set(text.split()))
        numbers = np.array([built.find(word) for word in words], np.int64)
        counts = np.array([text.split().count(word) for word in words])
        strength = bm25.saturated(counts, np.full(len(words), place)) * bm25.idf(numbers)
        shown = found.strongest_terms[place]
        kept = shown[shown != NO_TERM]
        assert len(kept) == min(len(words), STRONGEST)
        known = dict(zip(numbers.tolist(), strength.tolist(), strict=True))
        assert [known[each] for each in kept.tolist()] == pytest.approx(
            sorted(known.values(), reverse=True)[:STRONGEST]
        )
        times = dict(zip(numbers.tolist(), counts.tolist(), strict=True))
        assert found.strongest_counts[place][: len(kept)].tolist() == [
            times[each] for each in kept.tolist()
        ]


def test_terms_of_the_subspace_are_counted() -> None:
    found = DocumentTerms.of_postings(postings(["a b b", "b c", ""], {"a": 0, "b": 1}))
    assert found.distinct_terms.tolist() == [2, 1, 0]


def test_an_earlier_index_has_none() -> None:
    found = DocumentTerms.of_arrays({}, 3)
    assert found.strongest_terms.shape == (3, 0)
    assert (found.distinct_terms > 1e6).all()
