from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import lpisearch
from lpisearch.search.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from typer.testing import Result

    Cli = Callable[..., Result]

pytestmark = pytest.mark.usefixtures("shelf")


def _json(done: Result) -> Any:
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_what_a_method_alone_has_is_set(cli: Cli, library: Path) -> None:
    _json(
        cli(
            "index", "--method", "spg", "--set", "cardinality=2", "--set", "tolerance=.01", "--json"
        )
    )
    with Session(library).snapshot() as snapshot:
        assert snapshot.entry is not None
        assert snapshot.entry.spec.settings == {"cardinality": 2, "tolerance": 0.01}
        loadings = snapshot.require_engine().index.arrays["loadings"]
    assert np.count_nonzero(loadings, axis=0).max() <= 2


def test_edges_are_weighed_as_asked(cli: Cli, library: Path) -> None:
    places = []
    for edges in ("cosine", "binary"):
        _json(cli("index", "--dims", "3", "--edge-weights", edges, "--json"))
        with lpisearch.open(library) as opened:
            places.append(opened.vectors()[1])
    assert abs(places[0] - places[1]).max() > 1e-3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--set", "cardinality=2"), "rlpi has no parameter “cardinality”"),
        (("--set", "tolerence=2"), "(did you mean tolerance?). Next: choose one of: "),
        (("--set", "tolerance=-1"), "tolerance for rlpi must be a number of at least 0, not “-1”"),
        (("--set", "tolerance"), "“tolerance” is not NAME=VALUE"),
        (("--set", "tolerance=1", "--set", "tolerance=2"), "tolerance is set twice"),
        (("--set", "n_neighbors=2"), "n_neighbors has its own option, --neighbours"),
        (("--edge-weights", "hat"), "unknown edge weights “hat” (did you mean heat?)"),
        (("--method", "lsi", "--edge-weights", "heat"), "lsi does not use a graph"),
    ],
)
def test_what_cannot_work_is_said(
    cli: Cli, library: Path, words: tuple[str, ...], said: str
) -> None:
    done = cli("index", *words)
    assert done.exit_code == 2
    assert said in done.stderr
    with lpisearch.open(library) as opened:
        assert opened.status()["indexes"] == []


def test_a_sweep_over_what_a_method_alone_has(cli: Cli) -> None:
    found = _json(cli("evaluate", "sweep", "similarity", "--methods", "terms,spg", "--json",
                      "--set", "cardinality=2,4", "--set", "tolerance=.1"))  # fmt: skip
    rows = [(row["representation"], row["cardinality"]) for row in found["rows"]]
    assert rows == [("terms", None), ("spg", 2), ("spg", 4)]
    assert found["parameters"]["tolerance"] == ".1"


def test_words_are_swept_too(cli: Cli) -> None:
    found = _json(cli("evaluate", "sweep", "similarity", "--methods", "krlpi", "--json",
                      "--set", "kernel=linear,rbf"))  # fmt: skip
    assert [row["kernel"] for row in found["rows"]] == ["linear", "rbf"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--set", "cardinality=2,3", "--set", "tolerance=1,2"),
            "cannot vary cardinality and tolerance",
        ),
        (("--set", "cardinality=2,3", "--over", "dims"), "--set already varies cardinality"),
        (("--set", "cardinality=2,many"), "cardinality for spg must be a whole number"),
        (("--set", "breadth=2,3"), "“breadth” cannot be varied"),
        (("--graph", "label"), "which only classify uses"),
    ],
)
def test_a_sweep_that_cannot_work_is_refused(cli: Cli, words: tuple[str, ...], said: str) -> None:
    done = cli("evaluate", "sweep", "similarity", "--methods", "terms,spg", *words)
    assert done.exit_code == 2
    assert said in done.stderr


def test_a_graph_is_compared(cli: Cli) -> None:
    found = [
        _json(
            cli("evaluate", "similarity", "--methods", "lpi,lsi", "--dims", "1", "--json", *words)
        )
        for words in ((), ("--graph", "complete"))
    ]
    first, second = ({row["representation"]: row["AP"] for row in each["rows"]}
                     for each in found)  # fmt: skip
    assert first["lsi"] == second["lsi"]
    assert first["lpi"] != second["lpi"]
