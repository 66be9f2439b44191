import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lpisearch
from lpisearch.cli.output import render_message
from lpisearch.index.directory import rebuild_command
from lpisearch.readers.judgements import PairsUnreadable, read_pairs
from lpisearch.search.session import Session
from tests.programs import Cli, json_of

pytestmark = pytest.mark.usefixtures("shelf")


def test_what_a_method_alone_has_is_set(cli: Cli, library: Path) -> None:
    json_of(
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
        json_of(cli("index", "--dims", "3", "--edge-weights", edges, "--json"))
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
    found = json_of(cli("evaluate", "sweep", "similarity", "--methods", "terms,spg", "--json",
                      "--set", "cardinality=2,4", "--set", "tolerance=.1"))  # fmt: skip
    rows = [(row["representation"], row["cardinality"]) for row in found["rows"]]
    assert rows == [("terms", None), ("spg", 2), ("spg", 4)]
    assert found["parameters"]["tolerance"] == ".1"


def test_words_are_swept_too(cli: Cli) -> None:
    found = json_of(cli("evaluate", "sweep", "similarity", "--methods", "krlpi", "--json",
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
        json_of(
            cli("evaluate", "similarity", "--methods", "lpi,lsi", "--dims", "1", "--json", *words)
        )
        for words in ((), ("--graph", "complete"))
    ]
    first, second = ({row["representation"]: row["AP"] for row in each["rows"]}
                     for each in found)  # fmt: skip
    assert first["lsi"] == second["lsi"]
    assert first["lpi"] != second["lpi"]


@pytest.fixture
def ids(shelf: Path) -> list[str]:
    """Return the ids of a library's documents."""
    with lpisearch.open(shelf) as library:
        return [entry.id for entry in library.entries()]


def _cosine(library: Path, first: str, second: str) -> float:
    with lpisearch.open(library) as opened:
        names, vectors = opened.vectors()
    places = {name: vectors[row] for row, name in enumerate(names)}
    return float(places[first] @ places[second])


@pytest.mark.parametrize(
    "words", [(), ("--labels", "use"), ("--method", "olpi"), ("--method", "lpp")]
)
def test_pairs_bring_together_and_part(
    cli: Cli, shelf: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    options = ("--dims", "4", *words)
    assert cli("index", *options).exit_code == 0
    with lpisearch.open(shelf) as opened:
        names, vectors = opened.vectors()
    cosines = np.triu(vectors @ vectors.T, 1) + 2 * np.tril(np.ones((len(names), len(names))))
    far = np.unravel_index(cosines.argmin(), cosines.shape)
    first, second = names[far[0]], names[far[1]]
    before = _cosine(shelf, first, second)
    file = tmp_path / "pairs.tsv"
    file.write_text(f"# known\nmust\t{first}\t{second}\n\n", encoding="utf-8")
    assert cli("index", *options, "--pairs", file).exit_code == 0
    assert _cosine(shelf, first, second) > before


def test_an_index_remembers_its_pairs(
    cli: Cli, ids: list[str], library: Path, tmp_path: Path
) -> None:
    file = tmp_path / "pairs.txt"
    file.write_text(f"must {ids[0]} {ids[1]}\ncannot {ids[0]} {ids[2]}\n", encoding="utf-8")
    assert cli("index", "--pairs", file).exit_code == 0
    with Session(library).snapshot() as snapshot:
        assert snapshot.entry is not None
        spec = snapshot.entry.spec
    assert spec.pairs == (("must", ids[0], ids[1]), ("cannot", ids[0], ids[2]))
    assert render_message(rebuild_command(spec)) == "lpisearch index --pairs FILE"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("must a b", "no document has the id “a”, “b”"),
        ("must {0} {1}\nmust {1} {2}\ncannot {0} {2}", "are marked both must and cannot"),
        ("must {0}", "line 1 has 2 columns, not 3"),
        ("same {0} {1}", "line 1: expected must or cannot, not “same”"),
        ("must {0} {0}", "twice"),
        ("", "it contains no pairs"),
    ],
)
def test_pairs_that_cannot_work_are_refused(
    cli: Cli, ids: list[str], tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "pairs.txt"
    file.write_text(text.format(*ids), encoding="utf-8")
    done = cli("index", "--pairs", file)
    assert done.exit_code in {1, 2}
    assert said in done.stderr
    assert "Traceback" not in done.output


def test_a_method_without_a_graph_takes_no_pairs(cli: Cli, ids: list[str], tmp_path: Path) -> None:
    file = tmp_path / "pairs.txt"
    file.write_text(f"must {ids[0]} {ids[1]}", encoding="utf-8")
    done = cli("index", "--method", "lsi", "--pairs", file)
    assert "lsi does not use a graph" in done.stderr


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PairsUnreadable, match="no such file"):
        read_pairs(tmp_path / "none.txt")
    file = tmp_path / "pairs.txt"
    file.write_bytes(b"must \xff a\n")
    with pytest.raises(PairsUnreadable, match="line 1 is not UTF-8"):
        read_pairs(file)


def test_from_index_to_doctor(cli: Cli, put: Callable[..., Any]) -> None:
    report = json_of(
        cli("index", "--method", "eigenmaps", "--dims", "4", "--neighbours", "5", "--json")
    )
    assert (report["method"], report["dims"], report["alpha"]) == ("eigenmaps", 4, None)
    assert report["components"] >= 1
    for by in ("semantic", "hybrid"):
        found = json_of(cli("query", "ship anchor tide", "--by", by, "-k", "3", "--json"))
        assert [hit["id"].partition("/")[0] for hit in found] == ["sea"] * 3
    found = json_of(cli("similar", "sky/2", "-k", "3", "--json"))
    assert all(hit["id"].startswith("sky/") for hit in found)

    assert put([{"id": "new", "text": "violin chord rhythm opera"}], name="new").added == 1
    found = json_of(cli("query", "melody", "--by", "semantic", "-k", "50", "--json"))
    names = [hit["id"] for hit in found]
    assert names.index("new") < 11

    topics = json_of(cli("topics", "-n", "4", "--json"))
    assert topics["purity"] > 0.9
    said = json_of(cli("classify", "bread flour oven", "--json"))
    assert "kitchen" in json.dumps(said)
    (entry,) = json_of(cli("status", "--json"))["indexes"]
    assert (entry["method"], entry["state"], entry["documents"]) == ("eigenmaps", "ready", 41)
    assert cli("doctor").exit_code == 0


def test_an_explanation_is_refused_by_name(cli: Cli) -> None:
    assert cli("index", "--method", "nmf", "--dims", "4").exit_code == 0
    done = cli("query", "ship", "--explain")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == (
        "Error: nmf is not linear, so its cosines cannot be broken down by word. "
        "Next: lpisearch index --method rlpi\n"
    )


def test_what_a_method_does_not_take_is_said(cli: Cli) -> None:
    done = cli("index", "--method", "eigen")
    assert done.exit_code == 2
    assert all(name in done.stderr for name in ("rlpi", "eigenmaps", "krlpi", "plsi", "nmf"))
    assert (
        "eigenmaps does not use alpha"
        in cli("index", "--method", "eigenmaps", "--alpha", "1").stderr
    )
    assert "does not use labels" in cli("index", "--method", "nmf", "--labels", "use").stderr


@pytest.mark.parametrize("method", ["rlpi", "krlpi"])
def test_methods_can_lie_beside_each_other(cli: Cli, method: str) -> None:
    assert cli("index").exit_code == 0
    assert cli("index", "--method", method, "--name", "other").exit_code == 0
    found = json_of(cli("query", "comet orbit", "--index", "other", "-k", "2", "--json"))
    assert all(hit["id"].startswith("sky/") for hit in found)
