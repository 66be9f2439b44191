"""JSON encoding of all results, for `--json` and the API.

Each function takes a result and returns a value of dicts, lists, texts and finite numbers alone. A
text may still be a `Message`, which each face says in its own words.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from lpisearch.records.evaluation import plain
from lpisearch.wording import escaped_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lpisearch.places import Place
    from lpisearch.records.answers import (
        Answer,
        Classification,
        Hit,
        Passage,
        Run,
        TopicReport,
    )
    from lpisearch.records.dimensions import DimensionReport
    from lpisearch.records.documents import Document, Entry, Finding, IngestReport
    from lpisearch.records.evaluation import Figure, Report, Table
    from lpisearch.records.explanations import Explanation
    from lpisearch.records.facets import Facets
    from lpisearch.records.indexes import IndexPlan, IndexReport
    from lpisearch.records.labels import LabelReport, PredictedLabel, PredictionReport
    from lpisearch.records.maps import DocumentMap, Reason

_FIRST_ROWS = {"retrieval": "runs"}  # the name of a first table's rows; "rows" for the others
_SHARE_DIGITS = 6


def json_text(value: Any, indent: int | None = None) -> str:
    """Write such a value as JSON: exact, and without a sign that a terminal would obey."""
    return escaped_json(json.dumps(value, ensure_ascii=False, indent=indent))


# Answers.


def hit_record(hit: Hit) -> dict[str, Any]:
    """Return a hit; it has an "explanation" where one was asked for."""
    why = hit.explanation
    explained = {} if why is None else {"explanation": explanation_record(why)}
    return {
        "rank": hit.rank,
        "id": hit.id,
        "title": hit.title,
        "score": hit.score,
        "cosine": hit.cosine,
        "bm25": hit.bm25,
        "cosine_rank": hit.cosine_rank,
        "bm25_rank": hit.bm25_rank,
        "labels": list(hit.labels),
        "predicted": [_predicted(each) for each in hit.predicted],
        "path": hit.path,
        "date": hit.date,
        "snippet": hit.snippet.text,
        "marks": [list(mark) for mark in hit.snippet.marks],
        "passages": [_passage(passage) for passage in hit.passages],
        **explained,
    }


def _passage(passage: Passage) -> dict[str, Any]:
    section = passage.section
    return {
        "text": passage.text,
        "marks": [list(mark) for mark in passage.marks],
        "start": passage.start,
        "end": passage.end,
        "section": None if section is None else section._asdict(),
        "page": passage.page or None,
    }


def explanation_record(why: Explanation) -> dict[str, Any]:
    """Return a cosine taken apart: into pairs of words, words of the query, and topics."""
    return {
        "cosine": why.cosine,
        "pairs": [
            {"query": one.query_term, "document": one.document_term, "share": one.contribution}
            for one in why.pairs
        ],
        "words": [{"query": word, "share": share} for word, share in why.by_query_term],
        "topics": [
            {"dimension": one.dimension, "share": one.contribution, "terms": list(one.terms)}
            for one in why.topics
        ],
    }


def reason_record(reason: Reason) -> dict[str, Any]:
    """Return why a document stands where it does."""
    why = reason.explanation
    return _fields(reason) | {"explanation": None if why is None else explanation_record(why)}


def map_record(drawn: DocumentMap) -> dict[str, Any]:
    """Return the documents of an index as points in a plane."""
    arrays = {name: getattr(drawn, name).tolist() for name in ("places", "topics", "labels")}
    plain_fields = ("ids", "titles", "label_names", "projection", "rule", "unplaced")
    rest = {name: _value(getattr(drawn, name)) for name in plain_fields}
    return rest | arrays | {"report": topics_record(drawn.report)}


def answer_record(answer: Answer) -> dict[str, Any]:
    """Return an answer: its hits, how they were ranked, and what is to be known of them."""
    return {
        "by": answer.by,
        "hits": [hit_record(hit) for hit in answer.hits],
        "notes": list(answer.notes),
        "suggestions": [_value(each) for each in answer.suggestions],
        **({} if answer.facets is None else {"facets": facets_record(answer.facets)}),
    }


def facets_record(facets: Facets) -> dict[str, Any]:
    """Return what a set of documents consists of."""
    return _fields(facets)


def run_record(run: Run) -> dict[str, Any]:
    """Return what one query of a batch found."""
    query, found = run
    hits = [
        {"rank": rank, "id": document, "score": score}
        for rank, (document, score) in enumerate(found, start=1)
    ]
    return {"query": query, "hits": hits}


def classification_record(judged: Classification) -> dict[str, Any]:
    """Return what a text was judged to be; "note" and "none_of_these" only where they apply."""
    said: dict[str, Any] = {"note": judged.note} if judged.note else {}
    if judged.none_of_these:
        said["none_of_these"] = True
    labels = [
        {"label": each.label, "share": round(each.share, _SHARE_DIGITS)} for each in judged.labels
    ]
    decided = list(judged.decided)
    return {"input": judged.input, "labels": labels, "decided": decided, **said}


def topics_record(report: TopicReport) -> dict[str, Any]:
    """Return the topics of a library."""
    return _fields(report)


def dimensions_record(report: DimensionReport) -> dict[str, Any]:
    """Return the dimensions of a sparse map."""
    return _fields(report)


# The library: documents, ingests, indexes, health.


def document_record(document: Document) -> dict[str, Any]:
    """Return a document; an ingest of this object gives the document again.

    It has "sections" where the document has any.
    """
    sections = [each._asdict() for each in document.sections]
    return {
        "id": document.id,
        "title": document.title,
        "text": document.text,
        "labels": list(document.labels),
        "split": document.split,
        "date": document.date,
        "path": document.path,
        "media_type": document.media_type,
        "metadata": dict(document.metadata),
        **({"sections": sections} if sections else {}),
    }


def entry_record(entry: Entry) -> dict[str, Any]:
    """Return a line of the listing of documents."""
    return _fields(entry) | {"predicted": [_predicted(each) for each in entry.predicted]}


def label_record(report: LabelReport) -> dict[str, Any]:
    """Return what became of the labels of documents."""
    return _fields(report)


def prediction_record(report: PredictionReport) -> dict[str, Any]:
    """Return what a classifier said of documents, and was kept."""
    return _fields(report)


def _predicted(said: PredictedLabel) -> dict[str, Any]:
    return said._asdict() | {"confidence": round(said.confidence, _SHARE_DIGITS)}


def ingest_record(report: IngestReport, library: Place) -> dict[str, Any]:
    """Return what an ingest did, and to which library."""
    return {"library": str(library), "failed": report.failed, **_fields(report)}


def plan_record(plan: IndexPlan) -> dict[str, Any]:
    """Return what building an index will take."""
    return _fields(plan)


def index_record(report: IndexReport) -> dict[str, Any]:
    """Return what building an index gave, and what it took."""
    return _fields(report)


def findings_record(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return what an examination found, and whether all is well."""
    sound = all(finding.ok for finding in findings)
    return {"ok": sound, "findings": [_fields(finding) for finding in findings]}


def status_record(status: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a library holds."""
    return {name: _value(value) for name, value in status.items()}


# Evaluations.


def report_record(report: Report) -> dict[str, Any]:
    """Return the findings of an evaluation: the rows of each table by its name."""
    first, *others = report.tables
    rows = {_FIRST_ROWS.get(first.name, "rows"): _value(first.rows)}
    rows |= {table.name: _value(table.rows) for table in others}
    notes = list(dict.fromkeys(said for table in report.tables for said in table.notes))
    return rows | {
        "notes": notes,
        "parameters": _value(report.parameters),
        "versions": dict(report.versions),
    }


def full_report_record(report: Report) -> dict[str, Any]:
    """Return an evaluation whole, with titles and figures: the `report.json` of its folder."""
    return {
        "title": report.title,
        "command": report.command,
        "parameters": _value(report.parameters),
        "versions": dict(report.versions),
        "tables": [_table(table) for table in report.tables],
        "figures": [_figure(figure) for figure in report.figures],
    }


def _table(table: Table) -> dict[str, Any]:
    return {
        "name": table.name,
        "title": table.title,
        "columns": list(table.columns),
        "rows": _value(table.rows),
        "notes": list(table.notes),
    }


def _figure(figure: Figure) -> dict[str, Any]:
    return {
        "name": figure.name,
        "title": figure.title,
        "x_label": figure.x_label,
        "y_label": figure.y_label,
        "log_x": figure.log_x,
        "groups": list(figure.groups),
        "series": [_fields(series) for series in figure.series],
    }


def _fields(record: Any) -> dict[str, Any]:
    return {each.name: _value(getattr(record, each.name)) for each in fields(record)}


def _value(value: Any) -> Any:
    if is_dataclass(value):
        return _fields(value)
    if isinstance(value, Mapping):
        return {str(name): _value(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_value(each) for each in value]
    return plain(value)
