"""What a part of an evaluation says beside its value."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from lpisearch.evaluation.cells import Cells
from lpisearch.methods.base import NotConverged

if TYPE_CHECKING:
    from pathlib import Path


def hasty() -> int:
    """End before the residual is small."""
    warnings.warn(NotConverged("NMF", 3, 0.5, 1e-4), stacklevel=1)
    return 7


def test_what_did_not_converge_is_told_once_for_all_draws(tmp_path: Path) -> None:
    path = tmp_path / "cells.jsonl"
    cells = Cells(path)
    for draw in (1, 2):
        assert cells.value(f"clusters, nmf, draw {draw}", hasty) == 7
    cells.value("clusters, lsi, draw 1", lambda: 1)
    (note,) = cells.notes
    assert note == (
        "clusters, nmf: NMF did not converge in 3 steps: residual 0.5, tolerance "
        "0.0001. (Occurred 2 times.)"
    )
    again = Cells(path)
    assert [again.value(f"clusters, nmf, draw {draw}", lambda: 0) for draw in (1, 2)] == [7, 7]
    assert again.notes == [note]
