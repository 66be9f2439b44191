from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from typer.testing import Result

pytestmark = [pytest.mark.data, pytest.mark.slow, pytest.mark.timeout(300)]


def test_20_newsgroups(data: Path, cli: Callable[..., Result]) -> None:
    """20 Newsgroups goes in whole, is unchanged the second time, and has its labels and splits."""

    def value(*words: str | Path) -> Any:
        done = cli(*words, "--json")
        assert (done.exit_code, done.stderr) == (0, "")
        return json.loads(done.stdout)

    file = data / "20newsgroups" / "docs.jsonl.gz"
    first = value("ingest", file)
    assert (first["added"], first["unchanged"], first["failed"]) == (18846, 0, 0)
    second = value("ingest", file)
    assert (second["added"], second["unchanged"], second["failed"]) == (0, 18846, 0)
    assert second["seconds"] < first["seconds"] / 5
    status = value("status")
    assert status["documents"] == 18846
    assert len(status["labels"]) == 20
    assert sum(status["labels"].values()) == 18846
    assert status["splits"] == {"test": 7532, "train": 11314}
    assert value("doctor")["ok"] is True
