"""Collections of ir_datasets: ingested, evaluated, and measured the same by ir_measures."""

from collections.abc import Callable
from pathlib import Path

import pytest

import lpisearch
from lpisearch import RetrievalOptions
from lpisearch.model.reports import run_lines
from lpisearch.options import SearchOptions
from lpisearch.readers.trec import CollectionUnreadable
from tests.integrations.conftest import DOCUMENTS, NAME, QRELS, QUERIES

pytest.importorskip("ir_datasets", reason="needs `make test-integrations`")
_MEASURES = ("AP", "nDCG@10", "P@1", "R@100", "RR")


@pytest.fixture
def opened(library: Path, collection: str) -> lpisearch.Library:
    """Return a library of the collection."""
    opened = lpisearch.open(library)
    report = opened.ingest(collection)
    assert (report.added, report.failed) == (len(DOCUMENTS), 0)
    return opened


def test_documents_are_ingested(opened: lpisearch.Library, collection: str) -> None:
    assert [one.id for one in opened] == list(DOCUMENTS)
    first = opened.document("sea/1")
    assert (first.title, first.text.partition(" ")[0]) == ("Harbour", "The")
    assert opened.traits("sea/2").language == "english"
    again = opened.ingest(collection)
    assert (again.added, again.updated, again.unchanged) == (0, 0, len(DOCUMENTS))
    assert not any(hit.file_date for hit in opened.search("ship"))


def test_an_evaluation_reads_queries_and_judgements(
    opened: lpisearch.Library, collection: str
) -> None:
    """The figures are those of ir_measures for the same run."""
    import ir_measures

    wanted = RetrievalOptions(Path(collection), Path(collection), ("lexical",), _MEASURES)
    (row,) = opened.evaluate("retrieval", wanted=wanted).tables[0].rows
    runs = opened.batch(
        list(QUERIES.items()), options=SearchOptions(by="lexical", k=100), on_note=print
    )
    lines = "\n".join(run_lines(runs))
    measures = [ir_measures.parse_measure(name) for name in _MEASURES]
    judged = [ir_measures.Qrel(*one) for one in QRELS]
    found = ir_measures.calc_aggregate(measures, judged, ir_measures.read_trec_run(lines))
    assert {str(one): pytest.approx(value) for one, value in found.items()} == {
        name: row[name] for name in _MEASURES
    }
    assert 0.5 < found[ir_measures.AP] <= 1


def test_a_run_that_others_wrote_is_read(opened: lpisearch.Library, tmp_path: Path) -> None:
    """What `run_lines` writes, ir_measures reads back with the same order and scores."""
    import ir_measures

    runs = list(opened.batch(list(QUERIES.items()), options=SearchOptions(k=10), on_note=print))
    file = tmp_path / "a.run"
    file.write_text("\n".join(run_lines(runs)), encoding="utf-8")
    read = list(ir_measures.read_trec_run(str(file)))
    assert [(one.query_id, one.doc_id) for one in read] == [
        (query, name) for query, hits in runs for name, _ in hits
    ]
    assert [one.score for one in read] == pytest.approx(
        [score for _, hits in runs for _, score in hits], abs=1e-5
    )


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (f"irds:{NAME}s", rf"no such collection \(did you mean {NAME}\?\)"),
        (f"irds:{NAME}-broken", "ConnectionError: the network is away"),
    ],
)
@pytest.mark.usefixtures("collection")
def test_what_cannot_be_read_is_stated(library: Path, name: str, reason: str) -> None:
    with pytest.raises(CollectionUnreadable, match=reason):
        lpisearch.open(library).ingest(name)
    assert not library.exists()


@pytest.mark.usefixtures("collection")
def test_a_collection_without_queries(opened: lpisearch.Library) -> None:
    broken = Path(f"irds:{NAME}-broken")
    with pytest.raises(CollectionUnreadable, match="it has no queries"):
        opened.evaluate("retrieval", wanted=RetrievalOptions(broken, broken))


def test_files_and_collections_together(
    library: Path, collection: str, folder: Callable[..., Path]
) -> None:
    opened = lpisearch.open(library)
    report = opened.ingest(folder({"a.txt": "A letter about ships."}), collection)
    assert report.added == len(DOCUMENTS) + 1
