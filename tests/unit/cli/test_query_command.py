import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import Result

from lpisearch.cli.hits import print_run
from lpisearch.location import shipped_folder
from tests.programs import Cli, json_of

_PROMISED = {"rank", "id", "title", "score", "cosine", "bm25", "labels", "path", "snippet"}


@pytest.mark.usefixtures("own_sample")
@pytest.mark.parametrize("by", ["hybrid", "semantic", "lexical"])
def test_hits_as_json(cli: Cli, by: str) -> None:
    hits = json_of(cli("query", "sourdough leaven", "-k", "5", "--by", by, "--json"))
    assert [hit["rank"] for hit in hits] == [1, 2, 3, 4, 5]
    assert all(set(hit) >= _PROMISED for hit in hits)
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)
    assert (hits[0]["cosine"] is None) == (by == "lexical")
    assert (hits[0]["bm25"] is None) == (by == "semantic")
    assert {hit["labels"][0] for hit in hits} == {"baking"}


@pytest.mark.usefixtures("own_sample")
def test_marks_are_words_of_the_query(cli: Cli) -> None:
    hit = json_of(cli("query", "physicians", "-k", "1", "--by", "lexical", "--json"))[0]
    marked = {hit["snippet"][start:end].casefold() for start, end in hit["marks"]}
    assert marked
    assert marked <= {"physician", "physicians"}


@pytest.mark.usefixtures("own_sample")
def test_filters_and_paging(cli: Cli) -> None:
    every = json_of(cli("query", "boat", "-k", "6", "--label", "sailing", "--json"))
    assert len(every) == 6
    assert all(hit["labels"] == ["sailing"] for hit in every)
    page = json_of(cli("query", "boat", "-k", "3", "--offset", "3", "--label", "sailing", "--json"))
    assert [hit["id"] for hit in page] == [hit["id"] for hit in every[3:]]
    assert [hit["rank"] for hit in page] == [4, 5, 6]


@pytest.mark.usefixtures("own_sample")
def test_lines_in_a_pipe(cli: Cli) -> None:
    done = cli("query", "sourdough", "-k", "2")
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    assert lines[0].split("\t")[:3] == ["rank", "score", "id"]


@pytest.mark.usefixtures("own_sample")
def test_comma_separated_values(cli: Cli) -> None:
    rows = list(csv.DictReader(io.StringIO(cli("query", "sourdough", "-k", "2", "--csv").stdout)))
    assert [row["rank"] for row in rows] == ["1", "2"]


@pytest.mark.usefixtures("own_sample")
def test_a_batch_as_a_run(cli: Cli) -> None:
    queries = shipped_folder("sample_corpus") / "queries.jsonl"
    done = cli("query", "--queries", str(queries), "--trec")
    assert done.exit_code == 0
    by_query: dict[str, list[float]] = {}
    for number, line in enumerate(done.stdout.splitlines()):
        query, zero, document, rank, score, name = line.split(" ")
        scores = by_query.setdefault(query, [])
        scores.append(float(score))
        assert (zero, name, int(rank)) == ("Q0", "lpisearch", len(scores)), number
        assert document
    assert len(by_query) == 49
    for scores in by_query.values():
        assert len(scores) == 236
        assert np.all(np.diff(np.array(scores, np.float32)) < 0)


def test_ties_fall_strictly(capsys: pytest.CaptureFixture[str]) -> None:
    print_run([("q", [("a b", 20.0), ("c", 20.0), ("d", 20.0), ("e", -1.5), ("f", -1.5)])])
    lines = [line.split(" ") for line in capsys.readouterr().out.splitlines()]
    assert [line[2] for line in lines] == ["a%20b", "c", "d", "e", "f"]
    scores = np.array([line[4] for line in lines], np.float32)
    assert np.all(np.diff(scores) < 0)


@pytest.mark.usefixtures("own_sample")
def test_finding_nothing_may_fail(cli: Cli, tmp_path: Path) -> None:
    nothing = tmp_path / "nothing.tsv"
    nothing.write_text("1\tzzyzx\n")
    lexical = ("--by", "lexical")
    for words in (("query", "zzyzx", *lexical), ("query", "--queries", nothing, *lexical)):
        assert cli(*words).exit_code == 0
        assert cli(*words, "--fail-if-none").exit_code == 1
    assert cli("query", "bread", "--fail-if-none").exit_code == 0
    assert cli("docs", "list", "--path", "nowhere", "--fail-if-none").exit_code == 1
    assert cli("docs", "list", "--fail-if-none").exit_code == 0


@pytest.mark.usefixtures("own_sample")
def test_hits_newest_first(cli: Cli) -> None:
    hits = json.loads(cli("query", "bread", "-k", "50", "--sort", "date", "--json").stdout)
    dates = [hit["date"] for hit in hits if hit["date"]]
    assert dates == sorted(dates, reverse=True)
    assert cli("query", "bread", "--sort", "date", "--trec").exit_code == 2


@pytest.mark.usefixtures("own_sample")
def test_similar_documents(cli: Cli, tmp_path: Path) -> None:
    """A document of the library, or any file, finds what is like it, but not itself."""
    name = "sailing/letter-from-a-lightship.odt"
    hits = json_of(cli("similar", name, "-k", "5", "--json"))
    assert name not in {hit["id"] for hit in hits}
    assert sum(hit["labels"] == ["sailing"] for hit in hits) >= 3
    other = tmp_path / "note.txt"
    other.write_text("A bicycle chain wears, and then the sprockets with it.")
    assert json_of(cli("similar", str(other), "-k", "1", "--json"))[0]["labels"] == ["bicycles"]


@pytest.mark.usefixtures("own_sample")
def test_more_like_this(cli: Cli) -> None:
    liked = ["--like", "baking/leaven-by-post.txt"]
    hits = json_of(cli("query", *liked, "-k", "5", "--json"))
    assert {hit["labels"][0] for hit in hits} == {"baking"}
    plain, moved = (
        json_of(cli("query", "boat", *more, "-k", "10", "--json")) for more in ([], liked)
    )
    baking = [sum(hit["labels"] == ["baking"] for hit in found) for found in (plain, moved)]
    assert baking[1] >= baking[0]
    assert [hit["id"] for hit in moved] != [hit["id"] for hit in plain]


@pytest.mark.usefixtures("own_sample")
def test_an_explanation(cli: Cli) -> None:
    """`--explain` shows which words of the document the words of the query meet."""
    done = cli("query", "sourdough", "-k", "1", "--explain")
    assert done.exit_code == 0
    assert "→" in done.stdout
    words = ["sourdough", "-k", "1", "--by", "semantic", "--explain", "--json"]
    hit = json_of(cli("query", *words))[0]
    assert hit["explanation"]["pairs"][0]["query"] == "sourdough"
    assert hit["explanation"]["cosine"] == pytest.approx(hit["cosine"], abs=1e-4)


@pytest.mark.usefixtures("own_sample")
@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["x", "--by", "semantik"], 2, "did you mean semantic"),
        (["x", "--label", "baknig"], 2, "did you mean baking"),
        (["x", "--where", "nothing"], 2, "KEY=VALUE"),
        (["x", "--json", "--csv"], 2, "cannot be used together"),
        (["x", "--index", "nowhere"], 1, "no index “nowhere”"),
        (["--like", "nowhere"], 1, "“nowhere”"),
        (["--queries", "/nowhere"], 1, "/nowhere"),
        ([], 2, "The query is empty"),
        (["x", "--since", "yesterday"], 2, "--since"),
    ],
)
def test_what_cannot_work_is_stated(cli: Cli, words: list[str], status: int, says: str) -> None:
    done = cli("query", *words)
    assert (done.exit_code, done.stdout) == (status, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("own_sample")
@pytest.mark.parametrize(
    "text", ["the of", "zzzzqqqq", "*", "AND", '"multi-agent"', "🎻", "שלום", "a\0b", "-"]
)
def test_odd_queries_are_answered(cli: Cli, text: str) -> None:
    done = cli("query", "--json", "--", text)
    assert done.exit_code == 0
    assert isinstance(json.loads(done.stdout), list)


def test_without_an_index_words_answer(
    library: Path, cli: Cli, folder: Callable[..., Path], ingest: Callable[..., Any]
) -> None:
    ingest(folder({"a.txt": "A ship in the harbour.", "b.txt": "Bread."}))
    done = cli("query", "harbours", "--json")
    assert [hit["id"] for hit in json.loads(done.stdout)] == ["a.txt"]
    assert "lpisearch index" in done.stderr
    assert library.exists()


@pytest.fixture
def drafts(put: Callable[..., Any]) -> None:
    """Bring in five short documents."""
    texts = ["draft report", "final report", "kernel report", "hash report", "report 5"]
    put([{"id": text, "text": text} for text in texts])


def _found(done: Result) -> set[str]:
    assert done.exit_code == 0, done.stderr
    return {hit["id"] for hit in json.loads(done.stdout)}


@pytest.mark.usefixtures("drafts")
@pytest.mark.parametrize(
    ("words", "left_out"),
    [
        (["-draft", "report"], "draft"),
        (["-draft report"], "draft"),
        (["report", "-draft"], "draft"),
        (["report", "-kernel", "-k", "9"], "kernel"),
        (["-k9", "report", "-hash"], "hash"),
        (["--by", "lexical", "-final", "report"], "final"),
        (["--by=lexical", "-final", "report"], "final"),
        (["-5", "report"], "report 5"),
        (['-"final report"', "report"], "final"),
        (["--", "report", "-kernel"], "kernel"),
        (["report", "-kern*"], "kernel"),
    ],
)
def test_a_minus_excludes_anywhere(cli: Cli, words: list[str], left_out: str) -> None:
    every = _found(cli("query", "--json", "report"))
    found = _found(cli("query", "--json", *words))
    assert found == {name for name in every if left_out not in name}
    assert len(found) == 4


@pytest.mark.usefixtures("drafts")
@pytest.mark.parametrize("words", [["-k", "2"], ["-k2"], ["-k", "2", "--explain"]])
def test_options_of_one_letter_stay_options(cli: Cli, words: list[str]) -> None:
    assert len(_found(cli("query", "report", *words, "--json"))) == 2


@pytest.mark.usefixtures("drafts")
def test_help_and_mistakes_are_as_they_were(cli: Cli) -> None:
    assert "Usage" in cli("query", "-h").stdout
    assert cli("query", "report", "-k").exit_code == 2
    assert cli("query", "report", "-k", "x").exit_code == 2
    assert cli("query", "report", "--lable", "x").exit_code == 2


@pytest.mark.usefixtures("drafts")
def test_a_misspelled_word_is_answered(cli: Cli) -> None:
    done = cli("query", "kernle", "--json")
    assert [hit["id"] for hit in json.loads(done.stdout)] == ["kernel report"]
    told = "Showing results for “kernel”; to search instead for “kernle”, use --literal"
    assert told in done.stderr
    done = cli("query", "kernle", "--json", "--literal")
    assert json.loads(done.stdout) == []
    assert "“kernle” (did you mean “kernel”?)" in done.stderr


@pytest.mark.usefixtures("own_sample")
def test_the_semantic_weight(cli: Cli) -> None:
    (found,) = json.loads(cli("status", "--json").stdout)["indexes"]
    calibration = found["calibration"]
    assert not calibration["safe"]
    assert calibration["weights"]
    assert "semantic weight" in cli("status").stdout
    words = ("query", "why does my bread stay flat", "--json")
    usual = json_of(cli(*words))
    assert json_of(cli(*words, "--semantic-weight", "0")) != usual
    done = cli(*words, "--semantic-weight", "-1")
    assert done.exit_code == 2
    assert "--semantic-weight" in done.stderr


def test_notes_show_words_as_they_were_typed(
    cli: Cli, folder: Callable[..., Path], tmp_path: Path
) -> None:
    texts = {f"{n}.txt": f"中文信息检索的方法 第{n}个文档 我们喜欢搜索" for n in range(4)}
    other = str(tmp_path / "chinese.db")
    cli("ingest", folder(texts), "--db", other)
    assert "Not in any document: “上海天气”\n" in cli("query", "上海天气", "--db", other).stderr
    assert "“天气”" in cli("query", "方法 天气", "--db", other).stderr
    assert "“zorbings”" in cli("query", "Zorbings zorbings", "--db", other).stderr.lower()


@pytest.mark.usefixtures("own_sample")
@pytest.mark.parametrize("form", [(), ("--json",), ("--csv",), ("--vimgrep",)])
@pytest.mark.parametrize("tokens", [30, 200, 900])
def test_a_budget_limits_what_is_printed(cli: Cli, form: tuple[str, ...], tokens: int) -> None:
    words = ("query", "why does my bread stay flat", *form)
    whole = cli(*words)
    cut = cli(*words, "--budget", tokens)
    assert cut.exit_code == 0
    assert len(cut.stdout) <= 4 * tokens
    if len(whole.stdout) <= 4 * tokens:
        assert cut.stdout == whole.stdout
    else:
        assert f"Cut to {tokens} tokens" in cut.stderr
        assert cut.stdout.startswith(whole.stdout[: len(cut.stdout) // 2]) or "--csv" not in form


@pytest.mark.usefixtures("own_sample")
def test_a_part_of_a_document(cli: Cli) -> None:
    name = "baking/pumpernickel-night.md"
    whole = json_of(cli("docs", "show", name, "--json"))["text"]
    part = json_of(cli("docs", "show", name, "--from", "20", "--length", "190", "--json"))
    assert part["text"] == whole[20 : part["end"]]
    assert part["text"].endswith("squeezed.\n")
    assert (part["truncated"], part["next"]) == (True, part["end"])
    shown = cli("docs", "show", name, "--length", "150")
    assert f"Next: lpisearch docs show {name} --from " in shown.stderr
    missing = cli("docs", "show", name, "--page", "7")
    assert missing.exit_code == 2
    assert "--page: the document has no page “7”" in missing.stderr
