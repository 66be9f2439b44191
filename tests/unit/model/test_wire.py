"""The JSON forms of results."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lpisearch.messages import Message, call
from lpisearch.model import answers, codec, documents, reports

_WHY = answers.Explanation(
    cosine=0.5,
    total=0.5,
    pairs=(answers.Pair("car", "engine", 0.4),),
    by_query_term=(("car", 0.5),),
    topics=(answers.SharedTopic(3, 0.2, ("car", "wheel")),),
)
_HIT = answers.Hit(
    rank=1,
    id="a",
    title="A",
    labels=("x", "y"),
    path="a.txt",
    date="2024",
    score=0.5,
    cosine=0.5,
    passages=(answers.Passage("a car", ((2, 5),), 3, 8, documents.Section(0, "page", "1"), "1"),),
)
_ANSWER = answers.Answer((_HIT,), "hybrid", ("a note",), (answers.Suggestion("cra", ("car",)),))
_TOPIC = answers.Topic(
    1,
    2,
    ("car",),
    (answers.TopicDocument("a", "A", 0.9),),
    (answers.LabelShare("x", 0.5),),
)
_WORD, _NEAR = answers.DimensionWord("car", 0.3), answers.DimensionDocument("a", "A", 0.9)
_DIMENSION = answers.Dimension(1, 0.9, 2, (_WORD,), (), (_NEAR,), ())
_DOCUMENT = documents.Document("A", "A text", "a", ("x",), metadata={"pages": [1, 2]})
_BUILT = reports.IndexReport(
    name="default",
    method="rlpi",
    seconds={"learn": 0.1},
    peak_mb=1.0,
    size_bytes=10,
    folder="f",
    notes=["a note"],
    classifier={"labels": 2},
)
_TABLE = reports.Table("retrieval", "Runs", ({"run": "a", "AP": 0.5},), ("a note",))
_REPORT = reports.Report(
    title="Retrieval",
    command="",
    parameters={"dims": 5},
    versions={"numpy": "2"},
    tables=(_TABLE, replace(_TABLE, name="differences")),
    figures=(reports.Figure("f", "F", "x", "y", (reports.Series("s", (1.0,), (0.5,)),)),),
)
_FINDING = documents.Finding("tokens", ok=False, detail="missing", next_step=call("examine"))

_HIT_NAMES = (
    "rank id title score cosine bm25 cosine_rank bm25_rank labels predicted path date snippet "
    "marks passages"
)
_INGEST_NAMES = (
    "added updated unchanged removed missing skipped left_out failures warnings known_failures"
    " unlisted notes index_notes seconds"
)
_BUILT_NAMES = (
    "dims alpha documents terms components isolated learned_from graph_recall unknown_rate "
    "classifier notes"
)
_REPORT_NAMES = (
    "name method seconds peak_mb size_bytes folder calibration passages resumed processor_seconds"
    " wire"
)
_FORMS: dict[str, tuple[Any, str]] = {
    "hit": (
        codec.hit_record(_HIT),
        _HIT_NAMES,
    ),
    "explained hit": (
        codec.hit_record(replace(_HIT, explanation=_WHY)),
        f"{_HIT_NAMES} explanation",
    ),
    "explanation": (codec.explanation_record(_WHY), "cosine pairs words topics"),
    "answer": (codec.answer_record(_ANSWER), "by hits notes suggestions"),
    "suggestion": (codec.answer_record(_ANSWER)["suggestions"][0], "word nearest"),
    "run": (codec.run_record(("q1", [("a", 0.5)])), "query hits"),
    "ranked": (codec.run_record(("q1", [("a", 0.5)]))["hits"][0], "rank id score"),
    "classification": (
        codec.classification_record(answers.Classification("t", (answers.LabelShare("x", 1.0),))),
        "input labels decided",
    ),
    "no classification": (
        codec.classification_record(answers.Classification("t", note="n", none_of_these=True)),
        "input labels decided note none_of_these",
    ),
    "topics": (
        codec.topics_record(answers.TopicReport((_TOPIC,), 3, 1, chosen=True)),
        "topics documents unplaced chosen purity nmi",
    ),
    "dimensions": (
        codec.dimensions_record(answers.DimensionReport("spg", "", 3, 4, (_DIMENSION,))),
        "method index documents terms dimensions",
    ),
    "document": (
        codec.document_record(_DOCUMENT),
        "id title text labels split date path media_type metadata",
    ),
    "entry": (
        codec.entry_record(documents.Entry("a", "A", ("x",), "train", "", "a.txt", "text/plain")),
        "id title labels split date path media_type predicted",
    ),
    "label": (codec.label_record(documents.LabelReport(3, 2, 1)), "documents added removed"),
    "prediction": (
        codec.prediction_record(documents.PredictionReport(3, 1, {"x": 1}, "svm")),
        "documents predicted labels classifier none_of_these unknown",
    ),
    "ingest": (
        codec.ingest_record(
            documents.IngestReport(failures=[documents.Trouble("a.txt", "is empty")]), Path("n.db")
        ),
        f"library failed {_INGEST_NAMES}",
    ),
    "plan": (
        codec.plan_record(reports.IndexPlan(1, 2, 3, 4.0, 5.0)),
        "documents words terms memory_mb seconds learned_from in_files stages labels_learned_from",
    ),
    "index": (
        codec.index_record(_BUILT),
        f"{_BUILT_NAMES} {_REPORT_NAMES}",
    ),
    "findings": (codec.findings_record([_FINDING]), "ok findings"),
    "finding": (codec.findings_record([_FINDING])["findings"][0], "check ok detail next_step"),
    "status": (codec.status_record({"library": "n.db", "labels": {"x": 1}}), "library labels"),
    "report": (codec.report_record(_REPORT), "runs differences notes parameters versions"),
    "full report": (
        codec.full_report_record(_REPORT),
        "title command parameters versions tables figures",
    ),
    "figure": (
        codec.full_report_record(_REPORT)["figures"][0],
        "name title x_label y_label log_x groups series",
    ),
}


@pytest.mark.parametrize("name", _FORMS)
def test_each_form_is_json_of_these_names(name: str) -> None:
    """Each form comes back from JSON as it was, and has these names in this order."""
    form, names = _FORMS[name]
    assert list(form) == names.split()
    assert json.loads(json.dumps(form, allow_nan=False)) == form


def test_facets() -> None:
    """A value has what a filter takes, what a person reads, and how many there are."""
    counted = answers.Facets(2, labels=(answers.FacetValue("x", "x", 2),), period="year")
    said = codec.facets_record(counted)
    assert said["labels"] == [{"value": "x", "name": "x", "count": 2}]
    assert (said["total"], said["period"], said["dates"]) == (2, "year", [])


def test_reasons_and_maps() -> None:
    """A reason has its parts, a map its points as lists."""
    leg = answers.Leg("words", 2.0, 1.0, 0.5, 0.5)
    said = codec.reason_record(answers.Reason("a", "hybrid", 0.5, (leg,), _WHY))
    assert said["legs"][0]["share"] == 0.5
    assert said["explanation"] == codec.explanation_record(_WHY)
    report = answers.TopicReport((_TOPIC,), 1, 0, chosen=False)
    point = np.zeros((1, 2), np.float32)
    none = np.full(1, -1, np.int32)
    drawn = answers.DocumentMap(("a",), ("A",), point, none, none, (), report, "plane", "", 0)
    said = codec.map_record(drawn)
    assert (said["places"], said["topics"]) == ([[0.0, 0.0]], [-1])


def test_every_form_is_looked_at() -> None:
    """No form is without a test of its names."""
    forms = {name for name in vars(codec) if name.endswith("_record")}
    looked_at = Path(__file__).read_text(encoding="utf-8")
    assert {name for name in forms if f"wire.{name}(" not in looked_at} == set()
    assert len(forms) > 12


def test_numbers_of_numpy_and_what_is_no_number() -> None:
    """NumPy's numbers become Python's own, and what is not finite becomes null."""
    status = {"documents": np.int64(3), "spread": [math.nan, math.inf, np.float32(0.5)]}
    assert codec.status_record(status) == {"documents": 3, "spread": [None, None, 0.5]}


def test_a_next_step_stays_a_message() -> None:
    """A call in a text is kept as data, so that each face can say it in its own words."""
    step = codec.findings_record([_FINDING])["findings"][0]["next_step"]
    assert isinstance(step, Message)
    assert step.parts == call("examine").parts


def test_a_document_is_read_again_from_its_form() -> None:
    """The form of a document has all that the document has."""
    form = codec.document_record(_DOCUMENT)
    assert documents.Document(**{**form, "labels": tuple(form["labels"])}) == _DOCUMENT


def test_shares_are_rounded() -> None:
    """Shares of labels have six digits: more would be noise of the machine."""
    judged = answers.Classification("t", (answers.LabelShare("x", 1 / 3),))
    assert codec.classification_record(judged)["labels"] == [{"label": "x", "share": 0.333333}]
