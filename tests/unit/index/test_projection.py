from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from lpisearch.errors import BadOption
from lpisearch.index.build import build_index
from lpisearch.options import IndexOptions
from tests.indexing import open_index

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize(
    ("graph", "labels"),
    [("nearest", "ignore"), ("ball", "ignore"), ("complete", "ignore"), ("label", "use")],
)
def test_an_index_learns_from_the_graph_that_was_asked_for(
    shelf: Path, graph: str, labels: str
) -> None:
    build_index(shelf, IndexOptions(dims=3))
    usual = np.array(open_index(shelf).vectors)
    options = IndexOptions(dims=3, graph=graph, labels=labels, radius=1.38)
    build_index(shelf, options)
    built = open_index(shelf)
    assert built.manifest.spec == options.spec
    assert np.array_equal(built.vectors, usual) == (graph == "nearest")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (IndexOptions(graph="nearst"), "did you mean nearest"),
        (IndexOptions(graph="label"), "label needs labels"),
        (IndexOptions(graph="ball", labels="use"), "ball does not use labels"),
        (IndexOptions(graph="nearest", method="lsi"), "lsi does not use a graph"),
        (IndexOptions(graph="ball", radius=2), "at most √2"),
    ],
)
def test_a_graph_that_cannot_work_is_refused(shelf: Path, options: IndexOptions, said: str) -> None:
    with pytest.raises(BadOption, match=said):
        build_index(shelf, options)


@pytest.mark.parametrize(
    ("strength", "said"),
    [
        ("0", "does not use the labels"),
        ("1", "dimensions: 1."),
        ("2", "dimensions: 2."),
        ("inf", "alone"),
    ],
)
def test_how_much_labels_count_is_said(
    records: list[dict[str, Any]], put: Callable[..., Any], library: Path, strength: str, said: str
) -> None:
    put([{**each, "labels": each["labels"] * (row % 3)} for row, each in enumerate(records)])
    options = IndexOptions(dims=6, labels="use", settings={"label_strength": strength})
    report = build_index(library, options)
    assert any(said in note for note in report.notes), report.notes
