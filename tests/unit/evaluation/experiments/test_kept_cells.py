from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from lpisearch.evaluation.cells import Cells, cache_folder, resumable_cells
from lpisearch.evaluation.clustering import evaluate_cluster
from lpisearch.options import ClusterOptions, EvaluateOptions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lpisearch.evaluation.collection import EvaluationInput

_SIGNATURE = {"kind": "test"}
_OPTIONS = EvaluateOptions(methods=("terms", "lsi"))
_WANTED = ClusterOptions((2, 0), draws=2)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a cache folder of this test alone."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "lpisearch" / "evaluations"


class _Stopper:
    """Interrupts when a part begins, and remembers which parts were begun."""

    def __init__(self, at: int = 10**9) -> None:
        self.at = at
        self.begun: list[tuple[str, int, int]] = []

    def __call__(self, name: str, done: int, total: int) -> None:
        if done == self.at:
            raise KeyboardInterrupt
        self.begun.append((name, done, total))


def _figures(source: EvaluationInput, cells: Cells) -> list[dict[str, Any]]:
    rows = evaluate_cluster(source, _OPTIONS, _WANTED, cells).tables[0].rows
    timed = {"seconds", "fit_s", "cluster_s"}
    return [{name: cell for name, cell in row.items() if name not in timed} for row in rows]


def test_an_interrupted_run_goes_on_where_it_was(source: Callable[..., EvaluationInput]) -> None:
    documents = source()
    undisturbed = _figures(documents, Cells())
    stopper = _Stopper(at=3)
    with pytest.raises(KeyboardInterrupt), resumable_cells(_SIGNATURE, stopper) as cells:
        _figures(documents, cells)
    assert [done for _, done, _ in stopper.begun] == [0, 1, 2]
    whole = _Stopper()
    with resumable_cells(_SIGNATURE, whole) as cells:
        assert _figures(documents, cells) == undisturbed
    assert cells.resumed == 3
    assert {total for _, _, total in whole.begun} == {6}
    assert [done for _, done, _ in whole.begun] == list(range(6))


def test_each_part_is_computed_once(cache: Path) -> None:
    computed = []

    def compute() -> int:
        computed.append(1)
        return 7

    with suppress(KeyboardInterrupt), resumable_cells(_SIGNATURE) as cells:
        assert cells.value("part", compute, 1) == 7
        raise KeyboardInterrupt
    with resumable_cells(_SIGNATURE) as cells:
        assert cells.value("part", compute, 1) == 7
        assert cells.value("part", compute, 2) == 7
    assert (len(computed), cells.resumed) == (2, 1)
    assert list(cache.iterdir()) == []


def test_a_line_that_was_cut_short_is_passed_over(cache: Path) -> None:
    with suppress(KeyboardInterrupt), resumable_cells(_SIGNATURE) as cells:
        cells.value("first", lambda: "é", 1)
        cells.value("second", lambda: 2, 1)
        raise KeyboardInterrupt
    (path,) = cache.iterdir()
    path.write_bytes(path.read_bytes()[:-9])
    with suppress(KeyboardInterrupt), resumable_cells(_SIGNATURE) as cells:
        assert cells.value("first", lambda: "other", 1) == "é"
        assert cells.value("second", lambda: 3, 1) == 3
        raise KeyboardInterrupt
    with resumable_cells(_SIGNATURE) as cells:
        assert cells.value("second", lambda: 4, 1) == 3
    assert cells.resumed == 1


def test_nonsense_in_the_file_is_passed_over(cache: Path) -> None:
    with suppress(KeyboardInterrupt), resumable_cells(_SIGNATURE) as cells:
        cells.value("part", lambda: 1)
        raise KeyboardInterrupt
    (path,) = cache.iterdir()
    path.write_bytes(b'\xff\xfe\n[1]\n3\n{"key": 2}\n{"key": [], "value": 1}\n' + path.read_bytes())
    with resumable_cells(_SIGNATURE) as cells:
        assert cells.value("part", lambda: 2) == 1


def test_other_options_and_other_files_share_nothing(tmp_path: Path) -> None:
    file = tmp_path / "matrix.npz"
    file.write_text("one")
    names = set()
    for signature in ({"a": 1}, {"a": 2}, {"a": file}):
        with resumable_cells(signature) as cells:
            names.add(cells.path)
    file.write_text("another")
    with resumable_cells({"a": file}) as cells:
        names.add(cells.path)
    assert len(names) == 4
    with resumable_cells({"a": file}) as cells:
        assert cells.path in names


def test_what_nobody_went_on_with_is_forgotten(cache: Path) -> None:
    cache.mkdir(parents=True)
    for name, days in (("old.jsonl", 31), ("new.jsonl", 29), ("other.txt", 99)):
        (cache / name).write_text("")
        before = time.time() - days * 24 * 3600
        os.utime(cache / name, (before, before))
    with resumable_cells(_SIGNATURE):
        pass
    assert sorted(path.name for path in cache.iterdir()) == ["new.jsonl", "other.txt"]


def test_a_cache_that_cannot_be_written_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with resumable_cells(_SIGNATURE) as cells:
        assert cells.value("part", lambda: 1) == 1
        assert cells.path is None


def test_a_user_without_a_home_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr("pathlib.Path.home", homeless)
    assert cache_folder() is None
    with resumable_cells(_SIGNATURE) as cells:
        assert cells.value("part", lambda: 1) == cells.value("part", lambda: 2) == 1


def test_shares_that_look_alike_are_different_parts(source: Callable[..., EvaluationInput]) -> None:
    from lpisearch.evaluation.categorisation import evaluate_classify
    from lpisearch.options import CategoriesOptions

    cells = Cells()
    wanted = CategoriesOptions(train=(0.5, 0.5000001, 0.8), repeats=1, classifiers=("centroid",))
    evaluate_classify(source(), EvaluateOptions(methods=("terms",)), wanted, cells)
    assert cells.resumed == 0
