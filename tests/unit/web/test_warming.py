"""What is opened before anybody asks."""

import gc
from pathlib import Path

import pytest

import lpisearch
from lpisearch import Library
from lpisearch.search.facets import FacetColumns
from lpisearch.web.server import warm_up


def test_the_first_question_finds_all_open(
    opened: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    warm_up(opened).join()
    gc.unfreeze()
    monkeypatch.delattr(FacetColumns, "of")
    assert opened.facets().total > 0


def test_a_library_that_cannot_be_opened_is_left_to_those_who_ask(tmp_path: Path) -> None:
    warm_up(lpisearch.open(tmp_path / "none.db")).join()
    gc.unfreeze()
