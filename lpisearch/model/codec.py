"""To JSON, from JSON, JSON Schema.

Each function takes a result and returns a value of dicts, lists, texts and finite numbers alone. A
text may still be a `Message`, which each face says in its own words.

`read` makes a value of a dataclass, a named tuple or a plain type from what `json.loads` gave, and
says of what it cannot take where it is. `schema` describes the same as a JSON Schema.
"""

from __future__ import annotations

import json
import math
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

from lpisearch.messages import escaped_json
from lpisearch.model.answers import (
    Answer,
    Classification,
    DocumentMap,
    Explanation,
    Hit,
    Pair,
    Passage,
    Reason,
    SharedTopic,
    TopicReport,
)
from lpisearch.model.documents import Document, Section
from lpisearch.model.reports import plain

if TYPE_CHECKING:
    from lpisearch.location import Location
    from lpisearch.model.answers import DimensionReport, Facets, Run
    from lpisearch.model.documents import (
        Entry,
        Finding,
        IngestReport,
        LabelReport,
        PredictedLabel,
        PredictionReport,
    )
    from lpisearch.model.reports import Figure, IndexPlan, IndexReport, Report, Table


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


def ingest_record(report: IngestReport, library: Location) -> dict[str, Any]:
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


LARGEST = 2**53 - 1
"""The largest whole number that every reader of JSON takes for what it is."""
_PLAIN = {str: "string", bool: "boolean", int: "integer", float: "number"}
_SCALARS = int | float | bool | str | None
# Names that the hints of records and options use, and import for type checkers alone.
_NAMES: dict[str, Any] = {
    "Any": Any,
    "Mapping": Mapping,
    "Path": Path,
    "Sequence": Sequence,
    "Setting": _SCALARS,
    "Cell": _SCALARS,
}


class BadForm(ValueError):
    """A value is not of the kind that is asked for.

    Attributes
    ----------
    where
        Its place, such as "options.read.labels"; "" for the whole.
    reason
        Why not, without a full stop.
    """

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where}: {reason}" if where else reason)
        self.where, self.reason = where, reason


def read(kind: Any, value: Any, where: str = "", *, strict: bool = True) -> Any:
    """Make a value of a kind from JSON.

    Parameters
    ----------
    kind
        A dataclass, a named tuple, or a type hint of plain types.
    value
        Of JSON.
    where
        What it is called in an error.
    strict
        Whether fields that are not known are refused, rather than passed over.

    Raises
    ------
    BadForm
    """
    if kind is Any:
        return value
    if _is_union(kind):
        return _one_of(get_args(kind), value, where, strict=strict)
    if kind in (None, type(None)):
        return _checked(value is None, None, where, "is not null")
    if kind in _PLAIN or kind is Path:
        return _plain(kind, value, where)
    if is_record(kind):
        return _record(kind, value, where, strict=strict)
    return _many(kind, value, where, strict=strict)


def schema(kind: Any) -> dict[str, Any]:
    """Return what `read` takes, as a JSON Schema."""
    if kind is Any:
        return {}
    if _is_union(kind):
        found = [schema(each) for each in get_args(kind)]
        plain = [each["type"] for each in found if each.keys() == {"type"}]
        return {"type": plain} if len(plain) == len(found) else {"anyOf": found}
    if is_record(kind):
        return _record_schema(kind)
    if get_origin(kind) is None:
        return {"type": _PLAIN.get(kind, "string" if kind is Path else "null")}
    return _many_schema(get_origin(kind), get_args(kind))


def is_record(kind: Any) -> bool:
    """Tell a dataclass or a named tuple."""
    return isinstance(kind, type) and (is_dataclass(kind) or hasattr(kind, "_field_defaults"))


@cache
def hints(kind: type) -> dict[str, Any]:
    """Return the types of the fields of a record, by name."""
    from lpisearch.model import answers, documents, reports

    known = vars(documents) | vars(answers) | vars(reports)
    found = get_type_hints(kind, localns=known | _NAMES)
    named = [each.name for each in fields(kind)] if is_dataclass(kind) else kind._fields  # type: ignore[attr-defined]
    return {name: found[name] for name in named}


@cache
def defaults(kind: type) -> frozenset[str]:
    """Return the fields of a record that need not be given."""
    if not is_dataclass(kind):
        return frozenset(kind._field_defaults)  # type: ignore[attr-defined]
    return frozenset(
        each.name
        for each in fields(kind)
        if each.default is not MISSING or each.default_factory is not MISSING
    )


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, types.UnionType)


def _checked(holds: bool, value: Any, where: str, reason: str) -> Any:  # noqa: FBT001 (what is checked)
    if not holds:
        raise BadForm(where, reason)
    return value


def _plain(kind: Any, value: Any, where: str) -> Any:
    if kind is float and type(value) is int:
        value = float(value) if abs(value) <= LARGEST else math.inf
    if kind is Path:
        return Path(_plain(str, value, where))
    _checked(type(value) is kind, value, where, f"must be of type {_PLAIN[kind]}")
    if kind is int:
        _checked(abs(value) <= LARGEST, value, where, "is too large")
    if kind is float:
        _checked(math.isfinite(value), value, where, "is not a finite number")
    return value


def _one_of(kinds: Sequence[Any], value: Any, where: str, *, strict: bool) -> Any:
    failed = None
    # A whole number is taken for one before it is taken for any number.
    for kind in sorted(kinds, key=lambda each: each is float):
        try:
            return read(kind, value, where, strict=strict)
        except BadForm as error:
            failed = error if failed is None or is_record(kind) else failed
    raise failed or BadForm(where, "has no known type")


def _record(kind: Any, value: Any, where: str, *, strict: bool) -> Any:
    if not isinstance(value, Mapping):
        raise BadForm(where, "is not an object")
    known = hints(kind)
    unknown = [name for name in value if name not in known]
    if unknown and strict:
        raise BadForm(_within(where, unknown[0]), f"is unknown; allowed: {', '.join(known)}")
    missing = [name for name in known if name not in value and name not in defaults(kind)]
    if missing:
        raise BadForm(_within(where, missing[0]), "is missing")
    given = {
        name: read(known[name], value[name], _within(where, name), strict=strict)
        for name in known
        if name in value
    }
    return kind(**given)


def _many(kind: Any, value: Any, where: str, *, strict: bool) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (dict, Mapping):
        _checked(isinstance(value, Mapping), value, where, "is not an object")
        return {
            name: read(inner[1], each, _within(where, name), strict=strict)
            for name, each in value.items()
        }
    _checked(isinstance(value, (list, tuple)), value, where, "is not a list")
    if origin is tuple and inner[-1] is not Ellipsis:
        _checked(len(value) == len(inner), value, where, f"must have {len(inner)} items")
        kinds = inner
    else:
        kinds = (inner[0],) * len(value)
    found = [
        read(each, member, f"{where}[{at}]", strict=strict)
        for at, (each, member) in enumerate(zip(kinds, value, strict=True))
    ]
    return tuple(found) if origin is tuple else found


def _record_schema(kind: Any) -> dict[str, Any]:
    known = hints(kind)
    required = [name for name in known if name not in defaults(kind)]
    return {
        "type": "object",
        "properties": {name: schema(each) for name, each in known.items()},
        **({"required": required} if required else {}),
    }


def _many_schema(origin: Any, inner: Sequence[Any]) -> dict[str, Any]:
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": schema(inner[1])}
    if origin is tuple and inner[-1] is not Ellipsis:
        members = [schema(each) for each in inner]
        return {
            "type": "array",
            "prefixItems": members,
            "minItems": len(inner),
            "maxItems": len(inner),
        }
    return {"type": "array", "items": schema(inner[0])}


def _within(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def as_record(kind: type, said: Mapping[str, Any]) -> Any:
    """Return a record that is written field by field; what is not known here is passed over."""
    return read(kind, said, strict=False)


def as_answer(said: Mapping[str, Any]) -> Answer:
    """Return an answer."""
    bare: Answer = as_record(Answer, {**said, "hits": ()})
    return replace(bare, hits=tuple(as_hit(each) for each in said["hits"]))


def as_hit(said: Mapping[str, Any]) -> Hit:
    """Return a hit."""
    passages = tuple(_passage_of(each) for each in said["passages"])
    why = said.get("explanation")
    plain = {**said, "passages": (), "explanation": None}
    hit: Hit = as_record(Hit, plain)
    return replace(hit, passages=passages, explanation=None if why is None else _explanation(why))


def _passage_of(said: Mapping[str, Any]) -> Passage:
    section = said["section"]
    marks = tuple((first, end) for first, end in said["marks"])
    where = None if section is None else Section(**section)
    return Passage(said["text"], marks, said["start"], said["end"], where, said["page"] or "")


def _explanation(said: Mapping[str, Any]) -> Explanation:
    pairs = (Pair(each["query"], each["document"], each["share"]) for each in said["pairs"])
    words = ((each["query"], each["share"]) for each in said["words"])
    topics = (
        SharedTopic(each["dimension"], each["share"], tuple(each["terms"]))
        for each in said["topics"]
    )
    cosine = said["cosine"]  # which the sum over all pairs is, but for rounding
    return Explanation(cosine, cosine, tuple(pairs), tuple(words), tuple(topics))


def as_reason(said: Mapping[str, Any]) -> Reason:
    """Return why a document stands where it does."""
    why = said["explanation"]
    bare: Reason = as_record(Reason, {**said, "explanation": None})
    return replace(bare, explanation=None if why is None else _explanation(why))


def as_map(said: Mapping[str, Any]) -> DocumentMap:
    """Return documents as points in a plane."""
    import numpy as np

    return DocumentMap(
        ids=tuple(said["ids"]),
        titles=tuple(said["titles"]),
        label_names=tuple(said["label_names"]),
        places=np.array(said["places"], np.float32).reshape(-1, 2),
        topics=np.array(said["topics"], np.int32),
        labels=np.array(said["labels"], np.int32),
        report=as_record(TopicReport, said["report"]),
        projection=said["projection"],
        rule=said["rule"],
        unplaced=said["unplaced"],
    )


def as_document(said: Mapping[str, Any]) -> Document:
    """Return a document."""
    return as_record(Document, said)  # type: ignore[no-any-return]


def as_classification(said: Mapping[str, Any]) -> Classification:
    """Return what a text was judged to be."""
    return as_record(Classification, said)  # type: ignore[no-any-return]
