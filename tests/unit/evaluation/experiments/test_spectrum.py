from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from lpisearch.evaluation import dimensions
from lpisearch.evaluation.cells import TermWeights
from lpisearch.evaluation.collection import library_collection
from lpisearch.methods.olpi import OLPI
from lpisearch.search.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from typer.testing import Result

    Cli = Callable[..., Result]


def _json(done: Result) -> Any:
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_eigenvalues_side_by_side(cli: Cli, shelf: Path) -> None:
    rows = _json(cli("evaluate", "spectrum", "--dims", "6", "--neighbours", "4", "--json"))["rows"]
    assert [row["dimension"] for row in rows] == [1, 2, 3, 4, 5, 6]
    collection = library_collection(Session(shelf))
    X = TermWeights.learn(collection, "").apply(collection.counts)
    own = 1 - OLPI(6, n_neighbors=4).fit(X).eigenvalues_
    np.testing.assert_allclose([row["olpi"] for row in rows], own, atol=1e-4)
    for name in ("lpi", "olpi"):
        assert (np.diff([row[name] for row in rows]) >= -1e-6).all()


@pytest.mark.usefixtures("shelf")
def test_the_bounds_meet_where_terms_suffice(cli: Cli) -> None:
    done = cli("evaluate", "spectrum", "--dims", "3", "--markdown")
    assert done.exit_code == 0
    lines = done.stdout.partition("Bounds on the sum of f over 3 dimensions")[2].splitlines()
    cells = [[float(cell) for cell in line.strip("|").split("|")] for line in lines[4:] if line]
    terms, lower, upper = np.array(cells)[:, :3].T
    assert terms[0] == 3
    assert (np.diff(terms) > 0).all()
    assert (np.diff(upper) <= 1e-6).all()
    assert upper[-1] == pytest.approx(lower[-1])
    assert upper[0] > lower[0]


@pytest.mark.usefixtures("shelf")
def test_bounds_of_a_large_collection_are_of_a_sample(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dimensions, "MOST_DOCUMENTS", 20)
    done = cli("evaluate", "spectrum", "--dims", "3")
    assert done.exit_code == 0
    assert "20 of 40 documents" in done.stderr


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize(
    ("words", "said"),
    [(("--methods", "lsi"), "lsi has no graph"), (("--graph", "label"), "built from labels")],
)
def test_what_has_no_spectrum_is_refused(cli: Cli, words: tuple[str, ...], said: str) -> None:
    done = cli("evaluate", "spectrum", *words)
    assert done.exit_code == 2
    assert said in done.stderr


def test_an_empty_library_is_refused(cli: Cli, shelf: Path) -> None:
    import lpisearch

    with lpisearch.open(shelf) as library:
        library.delete(*[entry.id for entry in library.entries()])
    done = cli("evaluate", "spectrum")
    assert done.exit_code == 1
    assert "no documents" in done.stderr
