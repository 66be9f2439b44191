"""What `lpisearch index` says of a map that was not worked out to the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lpisearch.index.build import build_index
from lpisearch.ingest.ingestion import run_ingest
from lpisearch.methods.parameters import make_method
from lpisearch.options import IndexOptions, IngestOptions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest


def test_an_iteration_that_ended_too_early_is_told(
    folder: Callable[..., Path], library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {
        f"{n}.txt": f"ship boat sail wind {n} flour oven bread crust {n % 3}" for n in range(9)
    }
    run_ingest(library, [str(folder(texts))], IngestOptions())
    assert build_index(library, IndexOptions(method="lsi")).notes == []

    def hasty(*asked: Any) -> Any:
        made: Any = make_method(*asked)
        made.max_iter, made.tolerance = 1, 1e-12
        return made

    monkeypatch.setattr("lpisearch.index.projection.make_method", hasty)
    (said,) = build_index(library, IndexOptions(method="nmf")).notes
    assert "did not converge in 1 steps" in said
