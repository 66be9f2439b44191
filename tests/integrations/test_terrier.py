"""PyTerrier transformers: they compose, and give what the library itself answers."""

import runpy
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lpisearch

pd = pytest.importorskip("pandas", reason="needs `make test-integrations`")
pt = pytest.importorskip("pyterrier", reason="needs `make test-integrations`")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import lpisearch.terrier as lt

_SCRIPT = Path(__file__).parents[2] / "docs/examples/compare.py"
_TOPICS = pd.DataFrame({"qid": ["1", "2"], "query": ["sourdough bread", "moon telescope"]})


@pytest.fixture(scope="module")
def library(indexed: Path) -> Any:
    """Return the sample corpus."""
    with lpisearch.open(indexed) as opened:
        yield opened


def test_retrieve(library: lpisearch.Library) -> None:
    found = lt.Retriever(library, k=5, by="semantic")(_TOPICS)
    assert list(found.columns) == ["qid", "query", "docno", "score", "rank"]
    assert found["rank"].tolist() == [0, 1, 2, 3, 4] * 2
    options = lpisearch.SearchOptions(by="semantic", k=5)
    runs = dict(library.batch(_TOPICS.values.tolist(), options=options))
    for qid, own in found.groupby("qid"):
        assert list(zip(own["docno"], own["score"], strict=True)) == runs[qid]
    none = lt.Retriever(library)(_TOPICS[:0])
    assert list(none.columns) == list(found.columns)
    assert len(none) == 0


def test_filters_and_paths(indexed: Path) -> None:
    found = lt.Retriever(indexed, k=3, path="baking").search("bread")
    assert found["docno"].str.startswith("baking/").all()
    assert "Library(" in repr(lt.Retriever(str(indexed)))


def test_rerank(library: lpisearch.Library) -> None:
    """Documents of another ranking are scored as a search scores them; none is lost."""
    first = lt.Retriever(library, k=20, by="lexical")
    again = (first >> lt.Reranker(library, by="semantic"))(_TOPICS)
    every = lt.Retriever(library, k=len(library), by="semantic")(_TOPICS)
    scores = every.set_index(["qid", "docno"])["score"]
    assert again["score"].tolist() == [scores[one.qid, one.docno] for one in again.itertuples()]
    assert sorted(again["docno"]) == sorted(first(_TOPICS)["docno"])
    assert again.groupby("qid")["score"].apply(lambda own: own.is_monotonic_decreasing).all()
    strange = first(_TOPICS).assign(docno="nothing/at/all")
    last = lt.Reranker(library, by="semantic")(strange)["score"]
    assert (last < every["score"].min() + 1e-6).all()
    assert (lt.Reranker(library, by="lexical")(strange)["score"] == 0).all()


def test_expand(library: lpisearch.Library) -> None:
    expanded = lt.Expander(library, words=4)(_TOPICS)
    assert expanded["query_0"].tolist() == _TOPICS["query"].tolist()
    for old, new in zip(_TOPICS["query"], expanded["query"], strict=True):
        added = new.removeprefix(f"{old} ").split()
        assert len(added) == 4
        assert not set(added) & set(old.split())
    assert {"flour", "yeast", "dough", "loaf"} & set(expanded["query"][0].split())
    pipeline = lt.Expander(library) >> lt.Retriever(library, k=3)
    assert len(pipeline(_TOPICS)) == 6


def test_vectors(library: lpisearch.Library) -> None:
    """The product of a query's and a document's vector is the cosine that ranks."""
    pipeline = (
        lt.Retriever(library, k=4, by="semantic")
        >> lt.QueryVectors(library)
        >> lt.DocumentVectors(library)
    )
    for row in pipeline(_TOPICS).itertuples():
        assert row.query_vec @ row.doc_vec == pytest.approx(row.score, abs=2e-3)
    unknown = pd.DataFrame({"qid": ["1"], "query": ["zzzz"], "docno": ["nothing"]})
    (row,) = (lt.QueryVectors(library) >> lt.DocumentVectors(library))(unknown).itertuples()
    assert not row.query_vec.any()
    assert not row.doc_vec.any()
    assert row.doc_vec.dtype == np.float32


def test_an_experiment(library: lpisearch.Library) -> None:
    """`pt.Experiment` measures several rankings with significance, as of any other system."""
    names = [(qid, entry.id) for qid, folder in (("1", "baking"), ("2", "astronomy"))
             for entry in library.entries(path=folder)]  # fmt: skip
    qrels = pd.DataFrame([(*pair, 1) for pair in names], columns=["qid", "docno", "label"])
    systems = [lt.Retriever(library, k=100, by=by) for by in ("lexical", "semantic")]
    table = pt.Experiment(
        systems, _TOPICS, qrels, ["map", "ndcg_cut_10"], names=["words", "meaning"], baseline=0
    )
    assert table["name"].tolist() == ["words", "meaning"]
    assert table["map"][1] > table["map"][0] > 0


@pytest.mark.parametrize("made", [lt.Retriever, lt.Reranker, lt.QueryVectors, lt.DocumentVectors])
def test_missing_columns_are_refused(made: Any, library: lpisearch.Library) -> None:
    with pytest.raises(KeyError):
        made(library)(pd.DataFrame({"other": ["1"]}))


def test_the_script_that_compares(
    corpus: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["compare.py", corpus, "tests.encoders:as_function"])
    monkeypatch.setattr("warnings.filters", [*warnings.filters])
    warnings.simplefilter("ignore")
    runpy.run_path(str(_SCRIPT))
    table = capsys.readouterr().out
    lines = [line for line in table.splitlines() if "BM25" in line or "lpi" in line]
    assert len(lines) >= 7
    assert "BM25 + rlpi + encoder" in table
