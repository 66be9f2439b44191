import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from tests.programs import Cli, json_of


def _error(done: Result, status: int = 1) -> str:
    assert (done.exit_code, done.stdout) == (status, "")
    assert done.stderr.startswith("Error: ")
    assert " Next: " in done.stderr
    return done.stderr


@pytest.mark.usefixtures("indexed")
def test_a_text_as_json(cli: Cli, records: list[dict[str, Any]]) -> None:
    (found,) = json_of(cli("classify", records[0]["text"], "--json"))
    assert set(found) == {"input", "labels", "decided"}
    assert found["decided"] == records[0]["labels"]
    assert found["input"] == records[0]["text"]
    assert found["labels"][0]["label"] == records[0]["labels"][0]
    assert sum(each["share"] for each in found["labels"]) == pytest.approx(1, abs=1e-5)


@pytest.mark.usefixtures("indexed")
@pytest.mark.parametrize("classifier", ["auto", "centroid", "svm+map-svm"])
def test_a_text_in_a_pipe(cli: Cli, records: list[dict[str, Any]], classifier: str) -> None:
    done = cli("classify", records[0]["text"], "-k", "2", "--classifier", classifier)
    assert done.exit_code == 0
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert lines[0] == ["label", "probability"]
    assert lines[1][0] == records[0]["labels"][0]
    assert lines[1][1].endswith("%")
    assert len(lines) == 3


@pytest.mark.usefixtures("indexed")
def test_files_and_standard_input(
    cli: Cli, records: list[dict[str, Any]], folder: Callable[..., Path]
) -> None:
    root = folder({"a.txt": records[0]["text"], "b.txt": "zyzzyva", "c.txt": ""})
    done = cli("classify", root / "a.txt", root / "b.txt", root / "c.txt", "-", text="!?")
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert lines[0] == ["input", "label", "probability", "other labels", "note"]
    assert lines[1][:2] == ["-", ""]
    assert lines[2][:2] == [str(root / "a.txt"), records[0]["labels"][0]]
    assert lines[3][1:] == ["", "", "", "none of its words is in the index"]
    assert lines[4][1:] == ["", "", "", "is empty"]
    assert done.exit_code == 0


@pytest.mark.usefixtures("indexed")
def test_standard_input_alone(cli: Cli, records: list[dict[str, Any]]) -> None:
    (found,) = json_of(cli("classify", "-", "--json", text=records[0]["text"]))
    assert found["input"] == "-"
    assert found["labels"][0]["label"] == records[0]["labels"][0]


@pytest.mark.usefixtures("indexed")
def test_none_of_these(
    cli: Cli, records: list[dict[str, Any]], folder: Callable[..., Path]
) -> None:
    text = records[0]["text"]
    (found,) = json_of(cli("classify", text, "--confidence", "1", "--json"))
    assert found["none_of_these"] is True
    assert found["labels"][0]["label"] == records[0]["labels"][0]
    done = cli("classify", text, "--confidence", "1")
    assert done.stdout.startswith("label\tprobability\n")
    assert done.stderr == "None of these: no label reached 100.0%.\n"
    root = folder({"a.txt": text, "b.txt": "zyzzyva"})
    lines = cli("classify", root / "a.txt", root / "b.txt", "--confidence", "1").stdout.splitlines()
    _, label, share, beside, _ = lines[1].split("\t")
    assert (label, share) == ("none of these", "")
    assert beside.startswith(records[0]["labels"][0])
    assert "--confidence: must be between 0 and 1, not 2.0" in _error(
        cli("classify", text, "--confidence", "2"), 2
    )


@pytest.mark.usefixtures("indexed")
def test_no_answer(cli: Cli) -> None:
    """A text without known words is no error: it has no label, and the reason is said."""
    done = cli("classify", "zyzzyva")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "No label: none of its words is in the index.\n"
    (found,) = json_of(cli("classify", "", "--json"))
    assert found == {"input": "", "labels": [], "decided": [], "note": "the text has no words"}


@pytest.mark.usefixtures("indexed")
def test_stated_errors(cli: Cli, folder: Callable[..., Path]) -> None:
    """What cannot be done is one line with the next step."""
    root = folder({"a.bin": b"\x00\x01"})
    assert "No such file or folder: nowhere.txt" in _error(cli("classify", "nowhere.txt"))
    assert "unsupported file type" in _error(cli("classify", root / "a.bin"))
    assert "did you mean svm?" in _error(cli("classify", "x", "--classifier", "svn"), 2)
    assert "-k: must be at least 1, not 0" in _error(cli("classify", "x", "-k", "0"), 2)
    assert "no index “other”" in _error(cli("classify", "x", "--index", "other"))
    done = cli("classify", root / "a.bin", "--json")
    assert done.exit_code == 1
    assert "unsupported file type. Next: " in done.stderr
    assert json.loads(done.stdout)[0]["note"] == "unsupported file type"


@pytest.mark.usefixtures("shelf")
def test_before_there_is_an_index(cli: Cli) -> None:
    assert "Next: lpisearch index" in _error(cli("classify", "ship"))
    assert "Next: lpisearch index" in _error(cli("topics"))


def test_before_there_is_a_library(cli: Cli) -> None:
    assert "No library found" in _error(cli("classify", "ship"))
    assert "No library found" in _error(cli("topics"))


@pytest.mark.usefixtures("shelf")
def test_what_index_says(cli: Cli) -> None:
    said = cli("index").stdout
    assert "classifier\t4 labels, learned from 32 documents\n" in said
    chosen = said.partition("best classifier\t")[2].partition("\n")[0]
    assert "; accuracy on 32 held-out documents: " in chosen
    assert all(f" {by} " in chosen for by in ("knn", "map-svm", "svm", "svm+centroid"))
    assert chosen.partition(";")[0] in cli("status").stdout
    assert json_of(cli("index", "--train", "all", "--json"))["classifier"]["documents"] == 40
    assert "classifier\tnone\n" in cli("index", "--train", "none").stdout
    assert "no document is in the split “dev”" in cli("index", "--train", "dev").stderr


@pytest.mark.usefixtures("indexed")
def test_topics_as_json(cli: Cli) -> None:
    found = json_of(cli("topics", "-n", "4", "--json"))
    assert set(found) == {"topics", "documents", "unplaced", "chosen", "purity", "nmi"}
    assert [topic["size"] for topic in found["topics"]] == [10, 10, 10, 10]
    first = found["topics"][0]
    assert set(first) == {"number", "size", "terms", "documents", "labels"}
    assert set(first["documents"][0]) == {"id", "title", "cosine"}
    assert first["labels"][0]["share"] == 1
    assert json_of(cli("topics", "--json"))["chosen"]


@pytest.mark.usefixtures("indexed")
def test_topics_in_a_pipe(cli: Cli) -> None:
    done = cli("topics", "-n", "4", "--terms", "2", "--documents", "1")
    assert done.exit_code == 0
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert lines[0] == ["topic", "documents", "terms", "typical documents", "labels"]
    assert [line[:2] for line in lines[1:]] == [[str(n), "10"] for n in range(1, 5)]
    assert "100.0%" in done.stderr


@pytest.mark.usefixtures("indexed")
@pytest.mark.parametrize("number", ["0", "-1", "41", "many", "2.5"])
def test_numbers_of_topics_that_cannot_work(cli: Cli, number: str) -> None:
    assert "-n: " in _error(cli("topics", "-n", number), 2)


@pytest.mark.usefixtures("indexed")
def test_predictions_are_written_and_undone(cli: Cli, put: Callable[..., Any]) -> None:
    put([{"id": "new", "text": "A ship in a storm."}], name="more")
    assert cli("index").exit_code == 0
    written = json_of(cli("classify", "--write", "--json"))
    assert (written["documents"], written["predicted"]) == (1, 1)
    assert written["labels"] == {"sea": 1}
    listed = cli("docs", "list", "--predicted", "sea").stdout.splitlines()
    assert listed[1].startswith("new\t")
    assert "sea? " in listed[1]
    assert "sea? " in cli("docs", "show", "new").stdout
    (hit,) = json_of(cli("query", "ship", "--predicted", "sea", "--json"))
    assert [each["label"] for each in hit["predicted"]] == ["sea"]
    assert json_of(cli("classify", "--undo", "new", "--json")) == {"documents": 1}
    assert cli("docs", "list", "--predicted", "sea").stdout.count("\n") == 1
    assert "cannot be used together" in _error(cli("classify", "--undo", "--write"), 2)


def test_ids_may_look_like_labels(cli: Cli, put: Callable[..., Any]) -> None:
    put([{"id": name, "text": "A ship."} for name in ("-odd", "+even")])
    done = cli("label", "+x", "--", "-odd", "+even")
    assert done.stdout == "2 documents: 2 labels added.\n"


def test_labels_by_hand(shelf: Path, cli: Cli) -> None:  # noqa: ARG001 (it is the library)
    done = cli("label", "sea/0", "sea/4", "+wet", "-sea", "--json")
    assert json_of(done) == {"documents": 2, "added": 2, "removed": 2}
    done = cli("label", "--add", "a b", "--path", "sky", "--json")
    assert json_of(done) == {"documents": 10, "added": 10, "removed": 0}
    assert json_of(cli("label", "--label", "wet", "-wet", "--json"))["removed"] == 2
    text = cli("label", "sea/0", "+sea").stdout
    assert text == "1 document: 1 label added.\n"
    assert "give at least one label" in _error(cli("label", "sea/0"), 2)
    assert "No document has the id or path “nope”" in _error(cli("label", "nope", "+x"))
