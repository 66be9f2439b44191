from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from lpisearch.numeric.row_blocks import MatrixBlocks
from lpisearch.text.boilerplate import LEAST_DOCUMENTS, Edges
from lpisearch.text.vocabulary import count_all_terms

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lpisearch.model.documents import IngestReport

WORDS = [f"word{number}" for number in range(300)]


def _bodies(number: int, length: int = 200) -> list[str]:
    chance = random.Random(3)  # noqa: S311 (texts, not secrets)
    return [" ".join(chance.choices(WORDS, k=length)) for _ in range(number)]


def _lowered(texts: list[str]) -> dict[str, float]:
    """Return the terms whose weight is lowered, with their factors."""
    edges = Edges()
    terms, counts = count_all_terms(edges.watch([texts[:40], texts[40:]]))
    factors = edges.of_terms(terms).factors(MatrixBlocks(counts.matrix)).tolist()
    return {term: factor for term, factor in zip(terms, factors, strict=True) if factor < 1}


def test_navigation_lines_count_next_to_nothing() -> None:
    texts = [f"prev up {body} next home" for body in _bodies(60)]
    assert _lowered(texts) == {"prev": 0, "up": 0, "next": 0, "home": 0}


def test_a_word_keeps_what_it_has_elsewhere() -> None:
    inside = [" ".join([*body.split()[:100], "next", *body.split()[100:]]) for body in _bodies(20)]
    lowered = _lowered([f"next {body} home" for body in _bodies(60)] + inside)
    assert lowered["home"] == 0
    assert lowered["next"] == pytest.approx(20 / 80)


def test_words_of_the_text_keep_their_weight() -> None:
    assert _lowered(_bodies(200)) == {}


def test_few_documents_have_no_boilerplate() -> None:
    texts = [f"prev {body} home" for body in _bodies(LEAST_DOCUMENTS - 1)]
    assert _lowered(texts) == {}


def test_short_documents_are_all_edge() -> None:
    assert _lowered([f"prev {body} home" for body in _bodies(100, length=100)]) == {}


def test_the_lines_come_after_the_title() -> None:
    bodies = _bodies(60)
    titles = [" ".join(body.split()[50:62]) for body in bodies]
    texts = [f"{title} {title} prev {body}" for title, body in zip(titles, bodies, strict=True)]
    assert _lowered(texts) == {"prev": 0}


def test_navigation_leads_no_topic(put: Callable[..., IngestReport], library: Path) -> None:
    from lpisearch.index.build import build_index
    from lpisearch.options import IndexOptions, TopicOptions
    from tests.searching import find_topics

    manual = [f"prev up home {body} next" for body in _bodies(60)]
    letters = [body.replace("word", "letter") for body in _bodies(60, length=40)]
    put([{"text": text} for text in manual + letters])
    build_index(library, IndexOptions(dims=5))
    named = {
        term
        for topic in find_topics(library, TopicOptions(number=2)).topics
        for term in topic.terms
    }
    assert named
    assert not named & {"prev", "home", "next", "up"}
