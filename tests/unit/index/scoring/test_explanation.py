from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpisearch.errors import SubspaceError
from lpisearch.model.answers import Explanation, Pair
from lpisearch.search import explanation as module
from lpisearch.search.explanation import dimension_terms, explain
from lpisearch.search.snippets import semantic_weights
from lpisearch.text.tokeniser import Tokeniser, surface_forms
from lpisearch.text.vocabulary import WEIGHTINGS
from tests.methods import EMBEDDINGS, PROJECTIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from lpisearch.index.subspace import SubspaceIndex

    Make = Callable[..., SubspaceIndex]

QUERY = "ship wave bread ship w3"
EVERY = 100_000
ENGLISH = Tokeniser()


def place(index: SubspaceIndex, text: str) -> NDArray[np.float32]:
    """Project a text by the way of documents, which explanations do not share."""
    from scipy.sparse import csr_array

    columns, counts, _ = index.vocabulary.count(text.split())
    row = csr_array((counts, columns, [0, len(columns)]), shape=(1, len(index.vocabulary)))
    return np.asarray(index.project(row)[0])


def explained(index: SubspaceIndex, query: str, document: str, **numbers: int) -> Explanation:
    """Explain a document to a query, both given as joined tokens."""
    count = index.vocabulary.count
    return explain(index, count(query.split()), count(document.split()), **numbers)


@pytest.mark.parametrize("method", EMBEDDINGS)
def test_without_a_linear_map_there_is_no_sum(
    subspace: Make, texts: list[str], method: str
) -> None:
    with pytest.raises(SubspaceError, match=f"{method} is not linear.*method=.rlpi."):
        explained(subspace(method), QUERY, texts[0])


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("method", PROJECTIONS)
def test_the_sum_over_all_pairs_is_the_cosine(
    subspace: Make, texts: list[str], method: str, weighting: str
) -> None:
    index = subspace(method, weighting)
    query = place(index, QUERY)
    for number in range(0, len(texts), 7):
        cosine = float(index.vectors[number] @ query)
        found = explained(index, QUERY, texts[number], pairs=EVERY, topics=EVERY)
        assert found.cosine == pytest.approx(cosine, abs=1e-5)
        assert found.total == pytest.approx(cosine, abs=1e-5)
        assert sum(pair.contribution for pair in found.pairs) == pytest.approx(cosine, abs=1e-5)
        assert sum(share for _, share in found.by_query_term) == pytest.approx(cosine, abs=1e-5)


def test_each_pair_by_hand(subspace: Make) -> None:
    index = subspace("lsi", "tf")
    index.arrays["scales"] = np.array([1.0, 2, 1, 1, 0.5, 1], np.float32)
    A = index.arrays["loadings"].astype(float) * index.arrays["scales"]
    sea, bread = (index.vocabulary.index[term] for term in ("sea", "bread"))
    lengths = np.linalg.norm(2 * A[sea]) * np.linalg.norm(A[sea] + 3 * A[bread])
    found = explained(index, "sea sea", "bread sea bread bread")
    assert {(pair.query_term, pair.document_term): pair.contribution for pair in found.pairs} == {
        ("sea", "sea"): pytest.approx(2 * A[sea] @ A[sea] / lengths, abs=1e-6),
        ("sea", "bread"): pytest.approx(6 * A[sea] @ A[bread] / lengths, abs=1e-6),
    }


def test_the_largest_pairs_are_given(subspace: Make, texts: list[str]) -> None:
    index = subspace("rlpi")
    every = explained(index, QUERY, texts[0], pairs=EVERY).pairs
    sizes = [abs(pair.contribution) for pair in every]
    assert sizes == sorted(sizes, reverse=True)
    assert explained(index, QUERY, texts[0], pairs=4).pairs == every[:4]
    assert explained(index, QUERY, texts[0], pairs=0).pairs == ()


def test_long_texts_are_explained_in_blocks(
    subspace: Make, texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    index = subspace("rlpi")
    whole = explained(index, QUERY, texts[0], pairs=7)
    monkeypatch.setattr(module, "_BLOCK", 2)
    blocks = explained(index, QUERY, texts[0], pairs=7)
    assert blocks.total == pytest.approx(whole.total)
    assert [(pair.query_term, pair.document_term) for pair in blocks.pairs] == [
        (pair.query_term, pair.document_term) for pair in whole.pairs
    ]


def test_a_document_of_no_library(subspace: Make) -> None:
    index = subspace("rlpi")
    text = "fish fish oven something unheard of"
    found = explained(index, QUERY, text)
    assert found.total == pytest.approx(float(place(index, text) @ place(index, QUERY)), abs=1e-5)


@pytest.mark.parametrize(("query", "document"), [("", "sea"), ("sea", ""), ("unheard", "of")])
def test_without_known_words(subspace: Make, query: str, document: str) -> None:
    assert explained(subspace("lsi"), query, document) == Explanation(0.0, 0.0)


def test_topics(subspace: Make, texts: list[str]) -> None:
    """A topic is a dimension with both on one side, described from there; it adds to the cosine."""
    index = subspace("rlpi")
    query, document = place(index, "ship wave"), index.vectors[0]
    found = explained(index, "ship wave", texts[0], topics=EVERY).topics
    assert {topic.dimension: topic.contribution for topic in found} == {
        number: pytest.approx(float(share), abs=1e-5)
        for number, share in enumerate(query * document)
        if share > 0
    }
    contributions = [topic.contribution for topic in found]
    assert contributions == sorted(contributions, reverse=True)
    for topic in found:
        side = float(query[topic.dimension])
        assert topic.terms == dimension_terms(index, topic.dimension, side=side)
    assert {"sea", "ship", "fish", "wave"} & set(found[0].terms[:4])


def test_terms_of_a_dimension(subspace: Make) -> None:
    index = subspace("lsi", "tf")
    loadings = np.zeros_like(index.arrays["loadings"])
    frequencies = index.vocabulary.document_frequencies
    rare = int(np.argmin(frequencies))
    sea, bread = (index.vocabulary.index[term] for term in ("sea", "bread"))
    loadings[[rare, sea, bread], 1] = 0.5, 0.4, -0.45
    index.arrays["loadings"] = loadings
    assert frequencies[rare] < 3 < frequencies[sea]
    names = index.vocabulary.terms
    assert dimension_terms(index, 1, side=1.0) == ("sea", names[rare])
    assert dimension_terms(index, 1, side=-2.0) == ("bread",)
    assert set(dimension_terms(index, 1)) == {"sea", "bread", names[rare]}
    assert len(dimension_terms(index, 1, 2)) == 2
    assert dimension_terms(index, 1, 0) == dimension_terms(index, 0) == ()


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("Baking bread. She bakes; he bakes.", {"bake": "bakes", "bread": "bread"}),
        ("Cars and a car and cars", {"car": "cars"}),
        ("IBM, the IBM and ibm", {"ibm": "IBM"}),
        ("Sea sea", {"sea": "sea"}),
        ("(multi-agent)", {"multi": "multi", "agent": "agent"}),
        ("the", {}),
    ],
)
def test_surface_forms(text: str, forms: dict[str, str]) -> None:
    """A stem is read as the word that the text writes most often."""
    found = surface_forms(text, ENGLISH)
    assert {token: found[token] for token in forms} == forms
    assert bool(found) == bool(forms)


@given(
    st.text(st.one_of(st.sampled_from("aAsSß eE东京İ'-"), st.characters(codec=None)), max_size=40)
)
def test_each_token_has_a_form_of_its_own_text(text: str) -> None:
    forms = surface_forms(text, ENGLISH)
    assert forms.keys() == set(ENGLISH.tokens(text))
    assert all(form in text for form in forms.values())


def test_explanations_in_words(subspace: Make) -> None:
    found = explained(subspace("lsi"), "bake", "bake bread bread", pairs=1, topics=1)
    found = replace(found, pairs=(Pair("bake", "bake", 0.5),))
    worded = found.worded({"bake": "baking"}, {"bake": "bakes", "bread": "breads"})
    assert worded.pairs == (Pair("baking", "bakes", 0.5),)
    assert worded.by_query_term == (("baking", found.by_query_term[0][1]),)
    assert "breads" in worded.topics[0].terms
    assert "bread" not in worded.topics[0].terms
    assert (worded.cosine, worded.total) == (found.cosine, found.total)


def test_what_the_terms_of_a_document_add(subspace: Make, texts: list[str]) -> None:
    index = subspace("rlpi")
    found = explained(index, QUERY, texts[1], pairs=EVERY)
    expected: dict[str, float] = {}
    for pair in found.pairs:
        before = expected.get(pair.document_term, 0.0)
        expected[pair.document_term] = before + pair.contribution
    weights = semantic_weights(index, place(index, QUERY), texts[1].split())
    assert weights == pytest.approx(
        {term: share for term, share in expected.items() if share > 0}, abs=1e-6
    )
    assert 0 < len(weights) < len(set(texts[1].split()))
    assert semantic_weights(index, place(index, QUERY), ["unheard"]) == {}
