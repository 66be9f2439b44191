from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lpisearch.index.positions import Sequences
from lpisearch.index.postings import NEW, Postings
from lpisearch.index.update import merged
from lpisearch.text.vocabulary import Vocabulary, VocabularyLimits, count_all_terms
from tests.indexing import build_counts

TEXTS = ["ship sea sea", "", "cake sea", "ship überall 海"]
documents = st.lists(st.lists(st.sampled_from(["a", "b", "aa", "é", "海"])).map(" ".join))


def build(texts: list[str], min_df: int = 1) -> tuple[Postings, Vocabulary]:
    """Return the postings of joined tokens, and a vocabulary of the frequent ones."""
    terms, every = count_all_terms([texts])
    vocabulary, _ = build_counts([texts], VocabularyLimits(min_df))
    return Postings.build(terms, every.matrix, every.lengths, vocabulary.index), vocabulary


def entries(postings: Postings) -> dict[str, dict[int, int]]:
    """Return term → document → count."""
    found = {}
    for number in range(len(postings)):
        part = slice(*postings.posting_starts[number : number + 2].tolist())
        places = postings.posting_places[part].tolist()
        counts = postings.posting_counts[part].tolist()
        assert places == sorted(places)
        found[postings.term(number)] = dict(zip(places, counts, strict=True))
    return found


def test_every_term_with_its_documents() -> None:
    postings, _ = build(TEXTS)
    assert entries(postings) == {
        "cake": {2: 1},
        "sea": {0: 2, 2: 1},
        "ship": {0: 1, 3: 1},
        "überall": {3: 1},
        "海": {3: 1},
    }
    assert postings.document_lengths.tolist() == [3, 0, 2, 3]


def test_terms_are_found_by_name() -> None:
    postings, vocabulary = build(TEXTS, min_df=2)
    assert [postings.find(term) for term in postings.terms()] == list(range(5))
    assert [postings.find(term) for term in ("", "shi", "ships", "zzz", "\ud800", "a b")] == [
        -1
    ] * 6
    columns = dict(zip(postings.terms(), postings.lexicon_columns.tolist(), strict=True))
    assert columns == {term: vocabulary.index.get(term, -1) for term in columns}


def test_more_than_65_535_times_are_no_more() -> None:
    postings, _ = build(["sea " * 70_000, "sea " * 300])
    assert entries(postings) == {"sea": {0: 65_535, 1: 300}}


def test_the_order_of_many_words_has_two_bytes_for_each() -> None:
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 40, 5000)
    words = (rng.random(lengths.sum()) ** 3 * 200_000).astype(np.int32)
    plain = Sequences(np.append(0, np.cumsum(lengths)), words)
    coded = plain.coded()
    assert coded.terms.dtype == np.uint16
    again = Sequences.of_arrays(coded.arrays("a"), "a")
    assert again is not None
    for units in (np.arange(5000), rng.permutation(5000)[:300], np.array([], np.int64)):
        for ours, expected in zip(again.of_units(units), plain.of_units(units), strict=True):
            np.testing.assert_array_equal(ours, expected)
    other = [200_001, 0, 3]  # one that was not there
    more = coded.coded_alike(Sequences(np.array([0, 3]), np.array(other, np.int32)))
    assert more.of_units(np.array([0]))[0].tolist() == other


def test_no_documents() -> None:
    """Documents without any term have postings without terms."""
    postings, _ = build(["", ""])
    assert len(postings) == 0
    assert postings.find("ship") == -1


def test_arrays_give_the_same_postings() -> None:
    postings, _ = build(TEXTS)
    again = Postings.of_arrays(postings.arrays() | {"vectors": np.zeros(1)})
    assert entries(again) == entries(postings)


@given(documents, documents, st.randoms())
def test_other_documents_as_built_anew(before: list[str], fresh: list[str], random: object) -> None:
    postings, vocabulary = build([*before, "a b"])
    order = [*range(len(before)), *[NEW] * len(fresh)]
    random.shuffle(order)  # type: ignore[attr-defined]
    order = order[: len(order) - len(order) // 4]
    stays = iter(sorted(place for place in order if place != NEW))
    order = [NEW if place == NEW else next(stays) for place in order]
    taken = fresh[: order.count(NEW)]
    new = merged(postings, np.array(order, np.int64), taken, vocabulary)
    changed = new.postings
    for before_term, number in zip(postings.terms(), new.numbers.tolist(), strict=True):
        assert changed.find(before_term) == number
    words = changed.terms()
    own = [
        Counter({words[at]: int(row[at]) for at in row.nonzero()[0]}) for row in new.fresh.toarray()
    ]
    assert own == [Counter(text.split()) for text in taken]
    rest = iter(taken)
    texts = [next(rest) if place == NEW else before[place] for place in order]
    assert entries(changed) == entries(build(texts)[0])
    assert changed.document_lengths.tolist() == [len(text.split()) for text in texts]
    for term, found in entries(changed).items():
        assert found == {
            place: Counter(text.split())[term]
            for place, text in enumerate(texts)
            if term in text.split()
        }
