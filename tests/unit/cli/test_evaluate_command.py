import csv
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.programs import Cli, json_of

_TERMS = ("--methods", "terms")


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, ...]:
    """Return options that name a query and its judgements."""
    (tmp_path / "q.tsv").write_text("1\tship storm\n2\tbread\n")
    (tmp_path / "r.txt").write_text("1 0 sea/0 1\n2 0 kitchen/1 2\n")
    return ("--queries", str(tmp_path / "q.tsv"), "--qrels", str(tmp_path / "r.txt"))


@pytest.mark.usefixtures("shelf")
def test_json_of_retrieval(cli: Cli, files: tuple[str, ...]) -> None:
    assert cli("index", "--dims", "4").exit_code == 0
    found = json_of(cli("evaluate", "retrieval", *files, "--json"))
    assert [list(run) for run in found["runs"]] == [
        ["by", "AP", "p", "nDCG@10", "P@10", "R@100", "RR", "queries"]
    ] * 3
    assert [run["by"] for run in found["runs"]] == ["hybrid", "semantic", "lexical"]
    assert all(run["queries"] == 2 and 0 <= run["AP"] <= 1 for run in found["runs"])


@pytest.mark.usefixtures("shelf")
def test_json_of_classify(cli: Cli) -> None:
    words = ("evaluate", "classify", "--split", "field", "--methods", "terms,rlpi", "--json")
    rows = json_of(cli(*words))["rows"]
    names = {"representation", "classifier", "accuracy", "macro_f1", "fit_s", "predict_s"}
    assert all(names <= set(row) for row in rows)
    expected = [(name, by) for name in ("terms", "rlpi") for by in ("centroid", "knn", "svm")]
    assert [(row["representation"], row["classifier"]) for row in rows] == expected


@pytest.mark.usefixtures("shelf")
def test_json_of_similarity_and_cluster(cli: Cli) -> None:
    (row,) = json_of(cli("evaluate", "similarity", *_TERMS, "--json"))["rows"]
    assert {"representation", "dims", "AP", "accuracy"} <= set(row)
    found = json_of(cli("evaluate", "cluster", *_TERMS, "--json"))
    (row,) = found["rows"]
    assert {"representation", "classes", "AC", "NMI", "seconds"} <= set(row)
    assert row["classes"] == 4
    assert {"notes", "parameters", "versions"} < set(found)
    assert found["parameters"]["documents"] == 40


@pytest.mark.usefixtures("shelf")
def test_json_of_an_overview_and_of_a_sweep(cli: Cli) -> None:
    found = json_of(cli("evaluate", *_TERMS, "--json"))
    assert [row["representation"] for row in found["rows"]] == ["terms"]
    swept = json_of(
        cli("evaluate", "sweep", "cluster", "--values", "2..3", "--methods", "lsi", "--json")
    )
    assert [row["dims"] for row in swept["rows"]] == [2, 3]


@pytest.mark.usefixtures("shelf")
def test_csv_markdown_and_lines(cli: Cli) -> None:
    words = ("evaluate", "similarity", "--methods", "terms,lsi", "--dims", "3")
    rows = list(csv.DictReader(io.StringIO(cli(*words, "--csv").stdout)))
    assert [row["representation"] for row in rows] == ["terms", "lsi"]
    lines = [line.split("\t") for line in cli(*words).stdout.splitlines()]
    assert lines[0] == list(rows[0])
    assert [line[0] for line in lines[1:]] == ["terms", "lsi"]
    markdown = cli(*words, "--markdown").stdout
    assert "| representation |" in markdown
    assert "| lsi" in markdown


@pytest.mark.usefixtures("shelf")
def test_a_report_is_written(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "report"
    words = ("evaluate", "sweep", "cluster", "--values", "2,3", "--methods", "lsi")
    done = cli(*words, "--report", folder)
    assert done.exit_code == 0
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert "<table" in page
    assert "numpy" in page
    assert done.stderr.strip().endswith(str(folder / "index.html"))


def test_a_report_shows_labels_as_text(
    cli: Cli, records: list[dict[str, Any]], put: Callable[..., Any], tmp_path: Path
) -> None:
    odd = {"sea": "<script>alert(1)</script>", "sky": "a, b\x1b[2J\n|"}
    put([one | {"labels": [odd.get(one["labels"][0], "[/red]")]} for one in records])
    words = ("evaluate", "classify", "--train", "10%", "--repeats", "2", *_TERMS)
    done = cli(*words, "--report", tmp_path / "report", "--markdown")
    assert done.exit_code == 0
    assert "\x1b" not in done.stdout
    assert "<script>alert" not in (tmp_path / "report" / "index.html").read_text("utf-8")
    found = json_of(cli(*words, "--json"))["worst_pairs"]
    assert {row["label"] for row in found} <= {*odd.values(), "[/red]"}


def test_a_report_that_cannot_be_written_is_stated_at_once(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    for folder in (file, file / "below"):
        done = cli("evaluate", "similarity", "--report", folder)
        assert (done.exit_code, done.stdout) == (1, "")
        assert "Error: Cannot write the report" in done.stderr
    assert file.read_text() == "mine"


@pytest.mark.parametrize("word", [(), ("similarity",), ("classify",), ("cluster",)])
def test_one_format_at_a_time(cli: Cli, word: tuple[str, ...]) -> None:
    for two in (("--json", "--csv"), ("--csv", "--markdown"), ("--json", "--markdown")):
        done = cli("evaluate", *word, *two)
        assert done.exit_code == 2
        assert "cannot be used together" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("similarity", "--dims", "abc"),
        ("similarity", "--dims", "0"),
        ("similarity", "--alpha", "-1"),
        ("similarity", "--alpha", "nan"),
        ("similarity", "--neighbours", "0"),
        ("similarity", "--subset-size", "9..2"),
        ("similarity", "--subset-size", "x"),
        ("similarity", "--seed", "99999999999"),
        ("similarity", "--seed", "-1"),
        ("similarity", "--methods", "no,nor"),
        ("similarity", "--words", "zeppelin"),
        ("classify", "--train", "0%"),
        ("classify", "--train", "100%"),
        ("classify", "--train", "150%"),
        ("classify", "--train", "abc"),
        ("classify", "--train", "50%", "--split", "field"),
        ("classify", "--repeats", "0"),
        ("classify", "--classifiers", "best"),
        ("cluster", "--classes", "1"),
        ("cluster", "--classes", "0"),
        ("cluster", "--classes", "99"),
        ("cluster", "--classes", "10..2"),
        ("cluster", "--classes", "2..1000000000"),
        ("cluster", "--classes", "x"),
        ("cluster", "--classes", ""),
        ("cluster", "--classes", "2", "--draws", "0"),
        ("retrieval",),
        ("sweep", "speed"),
        ("sweep", "cluster", "--values", "nan"),
        ("sweep", "cluster", "--values", ""),
        ("sweep", "retrieval"),
        ("--json", "similarity"),
        ("--methods", "terms", "cluster"),
        ("nothing",),
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("shelf")
def test_a_wrong_option_is_wrong_usage(cli: Cli, words: tuple[str, ...]) -> None:
    done = cli("evaluate", *words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "Error: " in done.stderr
    assert "unexpected" not in done.stderr


@pytest.mark.usefixtures("shelf")
def test_unknown_names_are_all_named(cli: Cli, files: tuple[str, ...]) -> None:
    done = cli("evaluate", "retrieval", *files, "--measures", "foo,AP,bar")
    assert "no measure is called foo, bar" in done.stderr
    done = cli("evaluate", "cluster", "--methods", "foo,lsi,bar")
    assert "unknown method “foo”, “bar”" in done.stderr
    done = cli("evaluate", "classify", "--classifiers", "foo,knn,bar")
    assert "unknown classifier “foo”, “bar”" in done.stderr


def test_a_library_that_is_missing_or_none(cli: Cli, library: Path) -> None:
    for word in ((), ("similarity",), ("sweep", "cluster")):
        done = cli("evaluate", *word)
        assert (done.exit_code, done.stdout) == (1, "")
        assert "No library found" in done.stderr
    library.write_text("a text, not a database\n" * 100)
    done = cli("evaluate", "cluster")
    assert done.exit_code == 1
    assert "is not an lpisearch library" in done.stderr


def test_a_matrix_needs_no_library(cli: Cli, library: Path, tmp_path: Path) -> None:
    path = tmp_path / "counts.txt"
    path.write_text("".join(f"{row % 2} {row % 2 + 1}:3 {row + 3}:1\n" for row in range(10)))
    for words in (("similarity",), ("classify",), ("cluster",), ("sweep", "cluster"), ()):
        options = ("--matrix", path, *_TERMS)
        done = cli("evaluate", *words, *options)
        assert done.exit_code == 0, done.stderr
    assert not library.exists()
    done = cli("evaluate", "--matrix", path, "--queries", path, "--qrels", path)
    assert (done.exit_code, "a matrix contains no text" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    "words", [("--help",), ("evaluate", "--help"), ("evaluate", "sweep", "--help")]
)
def test_help_imports_nothing_slow(words: tuple[str, ...], library: Path) -> None:
    import subprocess

    slow = ("numpy", "scipy", "sklearn", "sqlalchemy", "matplotlib")
    code = (
        "import sys\nfrom lpisearch.cli import main\n"
        f"sys.argv = ['lpisearch', '--db', {str(library)!r}, *{list(words)!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"print(sorted(set({slow!r}) & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
