from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from lpisearch.index import calibration
from lpisearch.index.build import build_index
from lpisearch.index.calibration import (
    WEIGHTS,
    Contest,
    cut_windows,
    max_harmless_weight,
    sample_documents,
)
from lpisearch.index.fusion import LENGTHS, SAFE_WEIGHT, Calibration
from lpisearch.options import IndexOptions
from lpisearch.search.engine import Engine
from lpisearch.storage import open_store
from tests.indexing import open_index

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Built = Callable[..., Path]

TOPICS = ("sea ship fish wave harbour anchor", "bread oven yeast flour dough crust")


def texts(number: int) -> dict[str, str]:
    """Return files of documents on one of two topics, with words of their own."""
    chance = random.Random(0)  # noqa: S311 (a test corpus needs no secrets)
    return {
        f"{at:03}.txt": " ".join(
            chance.choices(TOPICS[at % 2].split(), k=20)
            + [f"word{chance.randrange(200)}" for _ in range(20)]
        )
        for at in range(number)
    }


@pytest.fixture
def built(
    library: Path, folder: Callable[..., Path], ingest: Callable[..., object]
) -> Callable[..., Path]:
    """Return a maker of a library of so many documents with an index."""

    def make(number: int, **options: object) -> Path:
        ingest(folder(texts(number)))
        build_index(library, IndexOptions(**options))  # type: ignore[arg-type]
        return library

    return make


def test_a_library_calibrates_itself(built: Built) -> None:
    library = built(160)
    first = open_index(library).manifest.calibration
    assert set(first["weights"]) == {str(length) for length in LENGTHS}
    assert first["documents"] == 160
    assert not first["safe"]
    assert all(0 < weight <= WEIGHTS[-1] for weight in first["weights"].values())
    report = build_index(library, IndexOptions())
    assert report.calibration == first
    assert Engine(open_index(library)).calibration.facts() == first


def test_a_small_library_gets_the_safe_weight(built: Built) -> None:
    found = open_index(built(80)).manifest.calibration
    assert found["safe"]
    assert Calibration.of_manifest(found).weight(8) == SAFE_WEIGHT


def test_a_map_that_is_not_linear_gets_the_safe_weight(built: Built) -> None:
    assert open_index(built(120, method="plsi", dims=4)).manifest.calibration["safe"]


def test_an_earlier_index_gets_the_safe_weight() -> None:
    assert Calibration.of_manifest({}).weight(1) == Calibration.safe().weight(99) == SAFE_WEIGHT


def test_documents_taken_in_keep_the_calibration(
    built: Built, folder: Callable[..., Path], ingest: Callable[..., object]
) -> None:
    library = built(120)
    before = open_index(library).manifest.calibration
    ingest(folder({"new.txt": "the ship left the harbour"}))
    after = open_index(library)
    assert after.manifest.calibration == before
    assert len(after.arrays["strongest_terms"]) == len(after.vectors) == 121


def test_weights_between_lengths() -> None:
    found = Calibration({4: 1.0, 8: 2.0, 16: 2.0}, {4: 1, 8: 1, 16: 1}, 1)
    lengths = (0, 1, 4, 6, 8, 12, 16, 1000)
    expected = (1, 1, 1, 1 + np.log2(6 / 4), 2, 2, 2, 2)
    assert [found.weight(length) for length in lengths] == pytest.approx(expected)
    assert Calibration.of_manifest(found.facts()) == found


def test_the_largest_harmless_weight() -> None:
    flat = np.full(len(WEIGHTS), 0.5)
    assert max_harmless_weight(flat) == WEIGHTS[-1]
    falling = 0.5 - 0.1 * np.arange(len(WEIGHTS))
    assert max_harmless_weight(falling) == pytest.approx(WEIGHTS[1] / 16)
    rising = np.array([0.1, 0.2, 0.4, 0.4, 0.39, 0.1, 0.1, 0.1, 0.1])
    assert WEIGHTS[3] <= max_harmless_weight(rising) < WEIGHTS[4]


def test_samples() -> None:
    """Documents that are long enough, ascending, the same by the same seed; none of too few."""
    lengths = np.tile([3, 50], 400)
    found = sample_documents(lengths, 0)
    assert (lengths[found] == 50).all()
    assert len(found) == 400
    assert sample_documents(np.full(9000, 50), 0).tolist() == sorted(
        sample_documents(np.full(9000, 50), 0).tolist()
    )
    assert len(sample_documents(np.full(9000, 50), 0)) == calibration.SAMPLE
    assert not len(sample_documents(np.full(99, 50), 0))


def test_windows() -> None:
    """A window is words in a row; what is left is the rest; short documents give none."""
    rng = np.random.default_rng(0)
    documents = [np.arange(10), np.arange(7), np.arange(100, 130)]
    found = cut_windows(np.array([4, 5, 9]), documents, 4, rng)
    assert found.places.tolist() == [4, 9]
    for asked, left, whole in zip(
        found.queries, found.left, (documents[0], documents[2]), strict=True
    ):
        assert np.diff(asked).tolist() == [1, 1, 1]
        assert sorted([*asked, *left]) == whole.tolist()


def test_ranks_are_those_of_a_library_without_the_window(built: Built) -> None:
    library = built(120)
    index = open_index(library)
    places = np.arange(0, 120, 10)
    rng = np.random.default_rng(0)
    with open_store(library) as store, store.reading() as snapshot:
        tokens = snapshot.documents.tokens(index.document_rows[places].tolist())
    contest = Contest.of_index(index, places, rng)
    cut = cut_windows(places, contest.numbered(tokens), 8, rng)
    found = contest.reciprocal_ranks(cut, (0.0,))[:, 0]
    engine = Engine(index)
    terms = engine.postings.terms()
    for place, asked, left, reciprocal in zip(places, cut.queries, cut.left, found, strict=True):
        question = engine.look_up(terms[number] for number in asked)
        scores = engine.scores(question, "lexical").total.copy()
        own = _bm25(engine, question, left)
        ahead = np.delete(scores, place) > own + 1e-5
        tied = np.abs(np.delete(scores, place) - own) <= 1e-5
        assert reciprocal == pytest.approx(1 / (1 + ahead.sum() + tied.sum() / 2))


def _bm25(engine: Engine, question: object, left: np.typing.NDArray[np.int64]) -> float:
    lengths = engine.postings.document_lengths
    half = 1.2 * (0.25 + 0.75 * len(left) / lengths.mean())
    total = 0.0
    for word, weight in zip(question.words, question.weights, strict=True):  # type: ignore[attr-defined]
        count = int((left == word).sum())
        idf = float(engine.units.idf(np.array([word]))[0])
        total += weight * idf * count * 2.2 / (count + half)
    return total


def test_rivals_of_a_large_library(built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "RIVALS", 50)
    index = open_index(built(120))
    places = np.array([3, 7, 119])
    contest = Contest.of_index(index, places, np.random.default_rng(0))
    assert len(contest.rivals) <= 50
    assert set(places.tolist()) <= set(contest.rivals.tolist())
    cut = cut_windows(places, [np.arange(20)] * 3, 8, np.random.default_rng(0))
    assert contest.reciprocal_ranks(cut, WEIGHTS).shape == (3, len(WEIGHTS))
