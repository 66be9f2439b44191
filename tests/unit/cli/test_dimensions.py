from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from tests.programs import Cli, json_of

every_method = pytest.mark.parametrize("method", ["spg", "slpi", "spca", "lpfl", "fsslpi"])

_FEW_WORDS = "slpi, fsslpi, lpfl, spg, spca"


def _error(done: Result, status: int) -> str:
    assert (done.exit_code, done.stdout) == (status, "")
    assert done.stderr.startswith("Error: ")
    assert " Next: " in done.stderr
    return done.stderr


@every_method
@pytest.mark.usefixtures("shelf")
def test_dimensions_as_json(cli: Cli, method: str) -> None:
    found = json_of(cli("topics", "--method", method, "--dims", "3", "--words", "4", "--json"))
    assert set(found) == {"method", "index", "documents", "terms", "dimensions"}
    assert (found["method"], found["index"], found["documents"]) == (method, "", 40)
    assert [each["number"] for each in found["dimensions"]] == [1, 2, 3]
    spectrum = [each["eigenvalue"] for each in found["dimensions"]]
    assert spectrum == sorted(spectrum, reverse=True)
    for each in found["dimensions"]:
        assert 1 <= each["words"] < found["terms"]
        above = [word["weight"] for word in each["above"]]
        below = [word["weight"] for word in each["below"]]
        assert above == sorted(above, reverse=True)
        assert below == sorted(below)
        assert min(above, default=1) > 0 > max(below, default=-1)
        assert len(above) <= 4
        assert len(above) + len(below) <= each["words"]
        assert all(document["cosine"] > 0 for document in each["documents_above"])
        assert all(document["cosine"] < 0 for document in each["documents_below"])
        assert set(each["documents_above"][0]) == {"id", "title", "cosine"}


@pytest.mark.usefixtures("shelf")
def test_words_and_documents_of_an_end_belong_together(
    cli: Cli, records: list[dict[str, Any]]
) -> None:
    texts = {each["id"]: each["text"].split() for each in records}
    options = ("--dims", "2", "--terms", "5", "--documents", "2")
    for each in json_of(cli("topics", "--method", "spg", *options, "--json"))["dimensions"]:
        for end in ("above", "below"):
            words = {word["word"] for word in each[end]}
            for document in each[f"documents_{end}"]:
                own = next(text for name, text in texts.items() if name == document["id"])
                assert words & set(own)


@pytest.mark.usefixtures("shelf")
def test_in_a_pipe(cli: Cli) -> None:
    done = cli("topics", "--method", "spg", "--dims", "2", "--terms", "2", "--documents", "1")
    assert (done.exit_code, done.stderr) == (0, "")
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert lines[0] == [
        *("dimension", "λ", "words", "above", "below"),
        *("documents above", "documents below"),
    ]
    assert [line[0] for line in lines[1:]] == ["1", "2"]
    first = lines[1][3].split(", ")
    assert len(first) == 2
    assert all(word.split()[1].startswith("+") for word in first)
    assert all(word.split()[1].startswith("-") for word in lines[1][4].split(", "))


@pytest.mark.usefixtures("shelf")
def test_nothing_is_stored(cli: Cli, library: Path) -> None:
    assert cli("topics", "--method", "spg", "--dims", "1").exit_code == 0
    assert "lpisearch index" in _error(cli("topics"), 1)
    assert not library.with_suffix(".index").exists()


@pytest.mark.usefixtures("shelf")
def test_an_index_of_the_method_is_used(cli: Cli) -> None:
    built = json_of(cli("index", "--method", "slpi", "--dims", "2", "--json"))
    assert built["dims"] == 2
    stored = json_of(cli("topics", "--method", "slpi", "--dims", "2", "--json"))
    assert stored["index"] == "default"
    assert len(stored["dimensions"]) == 2
    learned = json_of(cli("topics", "--method", "spg", "--dims", "3", "--json"))
    assert learned["index"] == ""
    assert len(learned["dimensions"]) == 3


@pytest.mark.usefixtures("shelf")
def test_what_is_learned_is_what_an_index_would_hold(cli: Cli) -> None:
    learned = json_of(cli("topics", "--method", "spg", "--dims", "2", "--json"))
    assert cli("index", "--method", "spg").exit_code == 0
    stored = json_of(cli("topics", "--method", "spg", "--dims", "2", "--json"))
    assert (learned.pop("index"), stored.pop("index")) == ("", "default")
    assert learned == stored


@every_method
@pytest.mark.usefixtures("shelf")
def test_an_index_with_defaults(cli: Cli, method: str) -> None:
    assert cli("index", "--method", method).exit_code == 0
    found = json_of(cli("query", "ship in the harbour", "--by", "semantic", "-k", "3", "--json"))
    assert len(found) == 3
    assert all(hit["labels"] == ["sea"] for hit in found)


@pytest.mark.usefixtures("shelf")
def test_an_index_by_labels_under_a_name(cli: Cli) -> None:
    done = cli("index", "--method", "spg", "--labels", "use", "--name", "kinds")
    assert done.exit_code == 0
    done = cli("topics", "--method", "spg", "--index", "kinds")
    assert done.exit_code == 0
    assert len(done.stdout.splitlines()) == 4
    assert "Dimensions available: 3; requested: 10." in done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--method", "rlpi"),
            (
                "rlpi is not a sparse method (few words per dimension). Next: choose one "
                f"of: {_FEW_WORDS}"
            ),
        ),
        (
            ("--method", "sgp"),
            "unknown method “sgp”. Next: choose one of: slpi, fsslpi, lpfl, spg, spca",
        ),
        (("--method", "spg", "--dims", "0"), "--dims: must be at least 1, not 0"),
        (("--method", "spg", "-n", "4"), "-n: with --method, use --dims instead"),
        (("--dims", "4"), "--dims: needs --method"),
    ],
    ids=["dense", "unknown", "none", "clusters", "alone"],
)
def test_options_that_cannot_work(cli: Cli, options: tuple[str, ...], message: str) -> None:
    assert message in _error(cli("topics", *options), 2)


@pytest.mark.usefixtures("shelf")
def test_documents_that_are_gone(
    cli: Cli, folder: Callable[..., Path], records: list[dict[str, Any]]
) -> None:
    assert cli("index", "--method", "spg").exit_code == 0
    before = json_of(cli("topics", "--method", "spg", "--json"))
    gone = [each["id"] for each in records if each["labels"] == ["sea"]]
    assert cli("docs", "delete", *gone).exit_code == 0
    halfway = json_of(cli("topics", "--method", "spg", "--documents", "2", "--json"))
    assert halfway["index"] == "default"
    assert cli("ingest", str(folder({"new.txt": "The moon and a comet."}))).exit_code == 0
    after = json_of(cli("topics", "--method", "spg", "--documents", "9", "--json"))
    assert after["documents"] == before["documents"] - 10 + 1
    assert [each["words"] for each in after["dimensions"]] == [
        each["words"] for each in before["dimensions"]
    ]
    for report in (halfway, after):
        for each in report["dimensions"]:
            shown = {own["id"] for own in each["documents_above"] + each["documents_below"]}
            assert len(shown) >= 2
            assert not shown & set(gone)


@pytest.mark.usefixtures("shelf")
def test_an_index_that_is_not_there(cli: Cli) -> None:
    assert "other" in _error(cli("topics", "--method", "spg", "--index", "other"), 1)


def test_no_library(cli: Cli) -> None:
    """Without a library there is nothing to show."""
    assert "No library found" in _error(cli("topics", "--method", "spg"), 1)
