"""What `lpisearch index` says of a map that was not worked out to the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lpisearch.settings import IndexOptions, IngestOptions
from lpisearch.workflows import subspace
from lpisearch.workflows.indexing import build_index
from lpisearch.workflows.ingest import run_ingest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest


def test_an_iteration_that_ended_too_early_is_told(
    folder: Callable[..., Path], library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report names the residual of a method that did not converge; others have no note."""
    texts = {
        f"{n}.txt": f"ship boat sail wind {n} flour oven bread crust {n % 3}" for n in range(9)
    }
    run_ingest(library, [str(folder(texts))], IngestOptions())
    assert build_index(library, IndexOptions(method="lsi")).notes == []
    usual = subspace._arguments

    def hasty(*asked: Any) -> dict[str, Any]:
        return usual(*asked) | {"max_iter": 1, "tolerance": 1e-12}

    monkeypatch.setattr(subspace, "_arguments", hasty)
    (said,) = build_index(library, IndexOptions(method="nmf")).notes
    assert "did not converge in 1 steps" in said
