"""What is done in large libraries alone gives the answers that small ones get."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from lpisearch.index import fusion, postings
from lpisearch.index.build import build_index
from lpisearch.index.fusion import standard_of
from lpisearch.index.subspace import SubspaceIndex, vector_arrays
from lpisearch.numeric import threads
from lpisearch.numeric.rows import PackedRows
from lpisearch.options import IndexOptions
from lpisearch.search import hybrid
from lpisearch.search.engine import Engine
from tests.indexing import open_index

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SOUNDS = "bdfgklmnprstvz"
WORDS = [f"{sound}{end}" for sound in SOUNDS for end in "aeiou"]
QUESTIONS = (["ba", "de"], ["zu"], ["ko", "ko", "li", "ba"], ["unheard"])


@pytest.fixture
def index(library: Path, put: Callable[..., Any]) -> SubspaceIndex:
    """Return the index of 600 documents of drawn words; common ones are in most of them."""
    rng = np.random.default_rng(0)
    shares = 1 / np.arange(1, len(WORDS) + 1)
    texts = rng.choice(WORDS, (600, 12), p=shares / shares.sum())
    put([{"id": str(at), "text": " ".join(words)} for at, words in enumerate(texts)])
    build_index(library, IndexOptions(dims=10, neighbours=5, train="none"))
    return open_index(library)


@pytest.fixture
def large(index: SubspaceIndex) -> SubspaceIndex:
    """Return the same index with packed places and their moments."""
    packed = vector_arrays(PackedRows.pack(index.vectors))
    return SubspaceIndex(index.manifest, index.arrays | packed)


@pytest.fixture
def stretched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let everything be done in chunks of 64 documents."""
    monkeypatch.setattr(threads, "LONG", 100)
    for module in (threads, postings):
        monkeypatch.setattr(module, "CHUNK", 64)


@pytest.mark.usefixtures("stretched")
@pytest.mark.parametrize("by", ["lexical", "semantic", "hybrid"])
def test_in_stretches_and_packed(
    index: SubspaceIndex, large: SubspaceIndex, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [Engine(large).scores(Engine(large).look_up(each), by) for each in QUESTIONS]
    monkeypatch.undo()
    plain = Engine(index)
    for question, scores in zip(QUESTIONS, found, strict=True):
        expected = plain.scores(plain.look_up(question), by)
        np.testing.assert_allclose(scores.total, expected.total, atol=2e-3)
        assert scores.evidence is not None
        assert np.mean(scores.evidence == expected.evidence) > 0.99


def test_a_moved_question_is_compared_with_the_best_alone(
    index: SubspaceIndex, large: SubspaceIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hybrid, "COMPARED_AGAIN", 120)
    for question in QUESTIONS[:3]:
        scores = [
            each.scores(each.look_up(question), "hybrid").total
            for each in (Engine(index), Engine(large))
        ]
        plain, alone = (np.argsort(-each, kind="stable")[:10].tolist() for each in scores)
        assert len({*plain} & {*alone}) >= 9


@pytest.mark.parametrize("needed", [1, 10, 100])
def test_the_best_are_exact_without_comparing_all(
    large: SubspaceIndex, monkeypatch: pytest.MonkeyPatch, needed: int
) -> None:
    engine = Engine(large)
    monkeypatch.setattr("lpisearch.search.engine.COMPARED_AGAIN", 120)
    monkeypatch.setattr(hybrid, "COMPARED_AGAIN", 599)
    for question in QUESTIONS[:3]:
        query = engine.look_up(question)
        every = engine.unit_scores(query, "hybrid").total
        some = engine.unit_scores(query, "hybrid", needed=needed)
        is_exact = some.total >= some.exact_from
        assert np.count_nonzero(is_exact) >= needed
        np.testing.assert_allclose(some.total[is_exact], every[is_exact], atol=1e-5)
        assert every[~is_exact].max(initial=-np.inf) < some.exact_from


def test_moments_standardise_without_all_cosines(
    index: SubspaceIndex, large: SubspaceIndex
) -> None:
    place = index.vectors[7]
    assert large.moments is not None
    found, expected = large.moments.standard(place), standard_of(index.vectors @ place)
    assert found.mean == pytest.approx(expected.mean, abs=1e-4)
    assert found.inverse == pytest.approx(expected.inverse, rel=1e-3)
    assert large.moments.standard(0 * place).inverse == 0


def test_a_calibration_is_among_the_rivals_alone(
    index: SubspaceIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lpisearch.index import calibration

    rivals = np.arange(0, 600, 7)
    contest = calibration.Contest(index, rivals)
    monkeypatch.setattr(calibration, "_ENTRIES", 100)
    found = contest._weighted.toarray()
    counts = index.postings.counts()
    assert np.array_equal(found > 0, counts.toarray().T[:, rivals] > 0)


@pytest.mark.parametrize("constant", ["SUBSPACE_BOUND", "FEEDBACK_WEIGHT", "FEEDBACK_BOUND"])
def test_constants_are_those_of_the_fusion(
    index: SubspaceIndex, constant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine(index)
    usual = engine.scores(engine.look_up(QUESTIONS[0]), "hybrid").total
    monkeypatch.setattr(fusion, constant, getattr(fusion, constant) / 4)
    assert not np.array_equal(engine.scores(engine.look_up(QUESTIONS[0]), "hybrid").total, usual)
