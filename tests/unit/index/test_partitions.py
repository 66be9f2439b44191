from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpisearch.index.checkpoint import FileWorkspace, Stages
from lpisearch.index.inversion import count_tokens
from lpisearch.index.partitions import GONE, Partitions, Terms, Vocabularies, count_partitions
from lpisearch.model.documents import Filter
from lpisearch.numeric.row_files import PartitionedRows
from lpisearch.storage import open_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lpisearch.index.checkpoint import StepResult

EVERY = Filter()


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have blocks of seven documents."""
    monkeypatch.setattr("lpisearch.index.inversion.BLOCK_ROWS", 7)
    monkeypatch.setattr("lpisearch.index.partitions.BLOCK_ROWS", 7)


def _kept(folder: Path, work: Callable[[Any], StepResult]) -> StepResult:
    stage = Stages(lambda _name: None).stage
    return FileWorkspace(folder, "key", 0o600, stage).run("counting", work)


def _compare(found: StepResult, expected: StepResult) -> None:
    assert found.arrays.keys() == expected.arrays.keys()
    for name, array in expected.arrays.items():
        np.testing.assert_array_equal(found.arrays[name], array, err_msg=name)
    assert isinstance(found.rows, PartitionedRows)
    assert isinstance(expected.rows, PartitionedRows)
    assert found.rows.sizes == expected.rows.sizes
    for one, other in zip(found.rows.parts(), expected.rows.parts(), strict=True):
        for name in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(one.rows(), name), getattr(other.rows(), name))


def test_partitions_are_counted_as_one_run_counts(shelf: Path, tmp_path: Path) -> None:
    with open_store(shelf) as store, store.reading() as snapshot:
        expected = _kept(
            tmp_path / "one", lambda output: count_tokens(snapshot.corpus.shards(EVERY), output)
        )
        partitions = Partitions.of(shelf, EVERY, snapshot)
        seen: list[tuple[int, int]] = []
        found = _kept(
            tmp_path / "parts",
            lambda output: count_partitions(
                partitions, snapshot, output, lambda *at: seen.append(at)
            ),
        )
        _compare(found, expected)
    assert seen == [(number, 6) for number in range(1, 7)]
    assert found.facts == {}
    assert not list((tmp_path / "parts" / "counting").glob("parts*"))


def test_what_changed_meanwhile_is_counted_as_it_was(
    shelf: Path, tmp_path: Path, records: list[dict[str, Any]], put: Callable[..., Any]
) -> None:
    with open_store(shelf) as store, store.reading() as snapshot:
        partitions = Partitions.of(shelf, EVERY, snapshot)
        expected = _kept(
            tmp_path / "one", lambda output: count_tokens(snapshot.corpus.shards(EVERY), output)
        )
        changed = [*records[:3], {**records[3], "text": "another word"}, *records[5:]]
        put(changed)
        found = _kept(
            tmp_path / "parts",
            lambda output: count_partitions(partitions, snapshot, output, lambda *_at: None),
        )
        _compare(found, expected)


def test_rare_terms_are_left_out_and_said(shelf: Path, tmp_path: Path) -> None:
    with open_store(shelf) as store, store.reading() as snapshot:
        partitions = Partitions.of(shelf, EVERY, snapshot)
        every = _kept(
            tmp_path / "every",
            lambda output: count_partitions(partitions, snapshot, output, lambda *_at: None),
        )
        few = _kept(
            tmp_path / "few",
            lambda output: count_partitions(partitions, snapshot, output, lambda *_at: None, 20),
        )
    assert len(few.arrays["all_frequencies"]) == 20
    expected = np.sort(every.arrays["all_frequencies"])[-20:]
    np.testing.assert_array_equal(np.sort(few.arrays["all_frequencies"]), expected)
    assert few.rows is not None
    total = sum(part.rows().nnz for part in few.rows.parts())
    assert total == few.arrays["all_frequencies"].sum()
    left = len(every.arrays["all_frequencies"]) - 20
    assert few.facts["note"].startswith(f"{left} rare terms were dropped")


@given(
    parts=st.lists(st.lists(st.sampled_from("abcdefghij"), unique=True), min_size=1, max_size=12),
    fan=st.integers(2, 4),
)
@settings(max_examples=40)
def test_joined_terms_are_numbered_as_they_appear(
    tmp_path_factory: pytest.TempPathFactory, parts: list[list[str]], fan: int
) -> None:
    folder = tmp_path_factory.mktemp("terms")
    vocabularies = Vocabularies(folder, fan=fan)
    for number, terms in enumerate(parts):
        frequencies = np.arange(1, len(terms) + 1, dtype=np.int32)
        edges = np.stack([frequencies, frequencies]).astype(np.int64)
        vocabularies.write(0, number, Terms(terms, frequencies, edges))
    levels, joined, dropped = vocabularies.join_all(len(parts))
    order = list(dict.fromkeys(term for terms in parts for term in terms))
    assert list(joined.terms) == order
    assert dropped.terms == 0
    for number, terms in enumerate(parts):
        own = vocabularies.numbers(number, levels).tolist()
        assert own == [order.index(term) for term in terms]
    totals = [
        sum(terms.index(term) + 1 for terms in parts if term in terms) for term in joined.terms
    ]
    assert joined.frequencies.tolist() == joined.edges[0].tolist() == totals
    assert GONE not in {*joined.frequencies.tolist()}
