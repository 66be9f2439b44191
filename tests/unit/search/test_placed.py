"""The passage nearest to a query where no linear map says which words make it near."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from lpisearch.search.snippets import CUT, MOST_STRETCHES, placed_snippet
from lpisearch.text.tokeniser import Tokeniser

if TYPE_CHECKING:
    from collections.abc import Callable

    from lpisearch.index.subspace import SubspaceIndex

PLAIN = Tokeniser()
SEA, BREAD = "ship fish wave sea " * 15, "bread yeast oven bake " * 15


@pytest.fixture(scope="module")
def index(subspace: Callable[..., SubspaceIndex]) -> SubspaceIndex:
    """Return an index of random texts on three topics by eigenmaps."""
    return subspace("eigenmaps")


def vector(index: SubspaceIndex, words: str) -> Any:
    """Place a query."""
    from lpisearch.numeric.rows import SparseRows

    counts = index.vocabulary.count(PLAIN.tokens(words))
    weights = index.weighting.weigh_query(counts.indices, counts.counts)
    return index.project_weights(
        SparseRows.of_query(counts.indices, weights, len(index.arrays["idf"]))
    )[0]


@pytest.mark.parametrize(("query", "shown"), [("oven", "bread"), ("fish", "ship")])
@pytest.mark.parametrize("text", [SEA + BREAD, BREAD + SEA], ids=["sea first", "bread first"])
def test_the_stretch_of_the_querys_topic_is_shown(
    index: SubspaceIndex, text: str, query: str, shown: str
) -> None:
    passage = placed_snippet(index, vector(index, query), text, PLAIN, length=80)
    other = {"bread": "ship", "ship": "bread"}[shown]
    assert shown in passage.text
    assert other not in passage.text
    assert passage.marks == ()
    assert len(passage.text) <= 80 + 2 * len(CUT)
    assert passage.text.strip(CUT) in " ".join(text.split())


@pytest.mark.parametrize("text", ["", "   ", "nothing that is known", "x" * 5000])
def test_a_text_that_is_nowhere_shows_its_beginning(index: SubspaceIndex, text: str) -> None:
    passage = placed_snippet(index, vector(index, "oven"), text, PLAIN, length=40)
    assert passage.text.removesuffix(CUT) == " ".join(text.split())[:40].strip()


def test_the_title_is_passed_over(index: SubspaceIndex) -> None:
    text = f"Of bread {BREAD}"
    passage = placed_snippet(index, vector(index, "oven"), text, PLAIN, title="Of bread", length=50)
    assert "Of bread" not in passage.text


def test_only_the_beginning_of_a_long_text_is_placed(index: SubspaceIndex) -> None:
    long = SEA * MOST_STRETCHES + BREAD
    passage = placed_snippet(index, vector(index, "oven"), long, PLAIN, length=50)
    assert "bread" not in passage.text


def test_a_query_without_a_place_shows_the_beginning(index: SubspaceIndex) -> None:
    nowhere = np.zeros(index.vectors.shape[1], np.float32)
    assert placed_snippet(index, nowhere, SEA, PLAIN, length=20).text == f"ship fish wave sea{CUT}"
