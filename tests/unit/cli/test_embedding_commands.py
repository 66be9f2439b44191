"""A method without a linear map, from one command to the next."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from typer.testing import Result

    Cli = Callable[..., Result]


def value(done: Result) -> Any:
    """Return the JSON that a command printed, and nothing else."""
    assert (done.exit_code, done.stderr) == (0, "")
    return json.loads(done.stdout)


@pytest.mark.usefixtures("shelf")
def test_from_index_to_doctor(cli: Cli, put: Callable[..., Any]) -> None:
    report = value(
        cli("index", "--method", "eigenmaps", "--dims", "4", "--neighbours", "5", "--json")
    )
    assert (report["method"], report["dims"], report["alpha"]) == ("eigenmaps", 4, None)
    assert report["components"] >= 1
    for by in ("semantic", "hybrid"):
        found = value(cli("query", "ship anchor tide", "--by", by, "-k", "3", "--json"))
        assert [hit["id"].partition("/")[0] for hit in found] == ["sea"] * 3
    found = value(cli("similar", "sky/2", "-k", "3", "--json"))
    assert all(hit["id"].startswith("sky/") for hit in found)

    assert put([{"id": "new", "text": "violin chord rhythm opera"}], name="new").added == 1
    found = value(cli("query", "melody", "--by", "semantic", "-k", "50", "--json"))
    names = [hit["id"] for hit in found]
    assert names.index("new") < 11

    topics = value(cli("topics", "-n", "4", "--json"))
    assert topics["purity"] > 0.9
    said = value(cli("classify", "bread flour oven", "--json"))
    assert "kitchen" in json.dumps(said)
    (entry,) = value(cli("status", "--json"))["indexes"]
    assert (entry["method"], entry["state"], entry["documents"]) == ("eigenmaps", "ready", 41)
    assert cli("doctor").exit_code == 0


@pytest.mark.usefixtures("shelf")
def test_an_explanation_is_refused_by_name(cli: Cli) -> None:
    assert cli("index", "--method", "nmf", "--dims", "4").exit_code == 0
    done = cli("query", "ship", "--explain")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == (
        "Error: nmf is not linear, so its cosines cannot be broken down by word. "
        "Next: lpisearch index --method rlpi\n"
    )


@pytest.mark.usefixtures("shelf")
def test_what_a_method_does_not_take_is_said(cli: Cli) -> None:
    done = cli("index", "--method", "eigen")
    assert done.exit_code == 2
    assert all(name in done.stderr for name in ("rlpi", "eigenmaps", "krlpi", "plsi", "nmf"))
    assert (
        "eigenmaps does not use alpha"
        in cli("index", "--method", "eigenmaps", "--alpha", "1").stderr
    )
    assert "does not use labels" in cli("index", "--method", "nmf", "--labels", "use").stderr


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize("method", ["rlpi", "krlpi"])
def test_methods_can_lie_beside_each_other(cli: Cli, method: str) -> None:
    assert cli("index").exit_code == 0
    assert cli("index", "--method", method, "--name", "other").exit_code == 0
    found = value(cli("query", "comet orbit", "--index", "other", "-k", "2", "--json"))
    assert all(hit["id"].startswith("sky/") for hit in found)
