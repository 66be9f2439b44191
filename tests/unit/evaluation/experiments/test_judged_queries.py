"""Retrieval against trec_eval, and files of queries and judgements that do not fit together."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any

import pytest
import pytrec_eval

from lpisearch.errors import BadOption, LpiSearchError, NothingToEvaluate
from lpisearch.library import Library
from lpisearch.location import shipped_folder
from lpisearch.model.reports import as_field, run_lines
from lpisearch.options import RANKING_MODES, EvaluateOptions, RetrievalOptions, SearchOptions
from lpisearch.readers.judgements import read_judgements

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_CORPUS = shipped_folder("sample_corpus")
_FILES = RetrievalOptions(_CORPUS / "queries.jsonl", _CORPUS / "qrels.tsv")
_THEIRS = {
    "AP": "map",
    "nDCG@10": "ndcg_cut_10",
    "P@10": "P_10",
    "R@100": "recall_100",
    "RR": "recip_rank",
}


@pytest.fixture
def corpus(sample: Path) -> Library:
    """Return the library of the sample corpus, which stays as it is."""
    return Library(sample)


@pytest.fixture
def asked(tmp_path: Path) -> Callable[..., RetrievalOptions]:
    """Return a writer of files of queries and judgements."""

    def write(queries: str, qrels: str) -> RetrievalOptions:
        (tmp_path / "queries.tsv").write_text(queries)
        (tmp_path / "qrels.txt").write_text(qrels)
        return RetrievalOptions(tmp_path / "queries.tsv", tmp_path / "qrels.txt")

    return write


def _as_trec_eval_reads(text: str) -> dict[str, dict[str, float]]:
    run: dict[str, dict[str, float]] = {}
    for line in text.splitlines():
        query, _, document, _, score, _ = line.split()
        run.setdefault(query, {})[document] = float(score)
    return run


def test_figures_are_those_of_trec_eval(corpus: Library) -> None:
    from typer.testing import CliRunner

    from lpisearch.cli.app import app

    found = corpus.evaluate("retrieval", wanted=_FILES).tables[0].rows
    assert [row["by"] for row in found] == list(RANKING_MODES)
    judge = pytrec_eval.RelevanceEvaluator(read_judgements(_FILES.qrels), set(_THEIRS.values()))
    for row in found:
        words = ["query", "--queries", str(_FILES.queries), "--trec", "-k", "10000"]
        done = CliRunner().invoke(app, ["--db", str(corpus.path), *words, "--by", str(row["by"])])
        theirs = judge.evaluate(_as_trec_eval_reads(done.stdout))
        assert len(theirs) == row["queries"]
        for name, other in _THEIRS.items():
            expected = fmean(scores[other] for scores in theirs.values())
            assert row[name] == pytest.approx(expected, abs=5e-5), (row["by"], name)


_ODD_IDS = ("a b", "a%20b", "a_b", "100%", "tab\tid", "no\u00a0break", "\ufeffmark", "größe", "%")


@pytest.mark.parametrize("written", ["as a run writes them", "as they are"])
def test_a_run_and_judgements_name_the_same_documents(
    put: Callable[..., object], library: Path, tmp_path: Path, written: str
) -> None:
    put([{"id": name, "text": f"bread {'oven ' * at}"} for at, name in enumerate(_ODD_IDS)])
    queries, qrels = tmp_path / "queries.jsonl", tmp_path / "qrels.tsv"
    queries.write_text('{"id": "the first", "text": "bread"}')
    field = as_field if written == "as a run writes them" else str
    # Without encoding a judgement cannot name what holds a tab or looks like another's encoding.
    ids = [name for name in _ODD_IDS if field is as_field or name not in {"tab\tid", "a%20b"}]
    qrels.write_text("".join(f"{field('the first')}\t0\t{field(name)}\t1\n" for name in ids))
    notes: list[str] = []
    with Library(library) as opened:
        options = SearchOptions(by="lexical", k=100)
        lines = list(run_lines(opened.batch(queries, options=options, on_note=notes.append)))
        report = opened.evaluate("retrieval", wanted=RetrievalOptions(queries, qrels))
    assert "missing_documents" not in {table.name for table in report.tables}
    judged = {as_field("the first"): {as_field(name): 1 for name in ids}}
    theirs = pytrec_eval.RelevanceEvaluator(judged, {"map"}).evaluate(
        _as_trec_eval_reads("\n".join(lines))
    )
    assert theirs["the%20first"]["map"] == pytest.approx(report.tables[0].rows[0]["AP"])


def test_settings_are_compared_in_pairs(corpus: Library) -> None:
    first, second = corpus.evaluate("retrieval", wanted=_FILES).tables[:2]
    figures = {str(row["by"]): float(row["AP"] or 0) for row in first.rows}
    assert len(second.rows) == 3
    for row in second.rows:
        expected = figures[str(row["first"])] - figures[str(row["second"])]
        assert row["difference"] == pytest.approx(expected)
        assert 0 < float(row["p"] or 0) <= 1


def test_methods_are_compared_in_memory(corpus: Library) -> None:
    before = corpus.status()["indexes"]
    options = EvaluateOptions(methods=("lsi", "rlpi"), dims=8)
    table = corpus.evaluate("retrieval", options=options, wanted=_FILES).tables[0]
    found = [(row["representation"], row["by"]) for row in table.rows]
    assert found == [(method, by) for method in ("lsi", "rlpi") for by in RANKING_MODES]
    assert corpus.status()["indexes"] == before
    lexical = {row["AP"] for row in table.rows if row["by"] == "lexical"}
    assert len(lexical) == 1


def test_what_does_not_fit_is_counted_and_named(
    corpus: Library, asked: Callable[..., RetrievalOptions]
) -> None:
    known = "baking/cold-kitchen.txt"
    wanted = asked(
        "one\tbread\ntwo\tflour\nthree\twater\n",
        f"one 0 {known} 1\none 0 nowhere.txt 1\nfour 0 {known} 1\nthree 0 {known} 0\n",
    )
    report = corpus.evaluate("retrieval", wanted=wanted)
    tables = {table.name: [row.get("id") for row in table.rows] for table in report.tables}
    assert tables["queries_without_judgements"] == ["two", "three"]
    assert tables["missing_queries"] == ["four"]
    assert tables["missing_documents"] == ["nowhere.txt"]
    assert report.tables[0].notes == (
        "2 queries are without a relevant document (skipped): two, three.",
        "1 judged query is not in the query file: four.",
        "1 judged document is not in the library (counted as missed): nowhere.txt.",
    )
    assert {row["queries"] for row in report.tables[0].rows} == {1}


def test_a_query_that_finds_nothing_counts_as_nothing(
    corpus: Library, asked: Callable[..., RetrievalOptions]
) -> None:
    wanted = asked("one\tzzyzx\n", "one 0 baking/cold-kitchen.txt 1\n")
    rows = corpus.evaluate("retrieval", wanted=wanted).tables[0].rows
    lexical = next(row for row in rows if row["by"] == "lexical")
    assert (lexical["AP"], lexical["queries"]) == (0.0, 1)


def test_files_that_share_nothing(corpus: Library, asked: Callable[..., RetrievalOptions]) -> None:
    with pytest.raises(NothingToEvaluate, match="no relevant document for any of 1 query"):
        corpus.evaluate("retrieval", wanted=asked("one\tbread\n", "1 0 a 1\n"))
    with pytest.raises(NothingToEvaluate, match="None of 1 judged document is in the library"):
        corpus.evaluate("retrieval", wanted=asked("one\tbread\n", "one 0 a 1\n"))


def test_without_an_index_words_rank(shelf: Path, asked: Callable[..., RetrievalOptions]) -> None:
    from dataclasses import replace

    wanted = asked("1\tship\n", "1 0 sea/0 1\n")
    table = Library(shelf).evaluate("retrieval", wanted=wanted).tables[0]
    assert [row["by"] for row in table.rows] == ["lexical"]
    assert table.notes == ("No index yet; ranking by words only. Next: library.index()",)
    with pytest.raises(NothingToEvaluate, match="only lexical ranking works"):
        Library(shelf).evaluate("retrieval", wanted=replace(wanted, by=("semantic",)))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"by": ("best", "lexical", "worst")}, "“best”, “worst”"),
        ({"measures": ("AP", "MRRR", "P")}, "MRRR, P"),
        ({"measures": ()}, "measures"),
        ({"depth": 0}, "depth"),
    ],
    ids=["by", "measures", "no measure", "depth"],
)
def test_retrieval_refuses(corpus: Library, changed: dict[str, Any], said: str) -> None:
    """Unknown ways and measures are refused, all of them named at once."""
    from dataclasses import replace

    with pytest.raises(BadOption, match=said):
        corpus.evaluate("retrieval", wanted=replace(_FILES, **changed))


def test_terms_make_no_index(corpus: Library) -> None:
    with pytest.raises(BadOption, match="lexical"):
        corpus.evaluate("retrieval", options=EvaluateOptions(methods=("terms",)), wanted=_FILES)


def test_malformed_queries_are_stated(
    corpus: Library, asked: Callable[..., RetrievalOptions]
) -> None:
    with pytest.raises(LpiSearchError, match="line 2"):
        corpus.evaluate("retrieval", wanted=asked("one\tbread\nnothing\n", "one 0 a 1\n"))


def test_each_part_of_an_evaluation_has_a_figure(corpus: Library) -> None:
    report = corpus.evaluate(options=EvaluateOptions(methods=("terms", "lsi")), wanted=_FILES)
    figures = {figure.name: figure for figure in report.figures}
    names = ["similarity", "classify-accuracy", "classify-macro_f1", "cluster", "retrieval"]
    assert list(figures) == names
    assert figures["cluster"].groups == ("AC", "NMI")
    assert {series.name for series in figures["classify-accuracy"].series} == {"terms", "lsi"}
    table = next(table for table in report.tables if table.name == "retrieval")
    drawn = {series.name: series.y[0] for series in figures["retrieval"].series}
    assert drawn == {f"{row['representation']} {row['by']}": row["AP"] for row in table.rows}
