"""JSON Schemas of responses, derived from the records."""

from __future__ import annotations

from functools import cache
from typing import Any

from lpisearch import records
from lpisearch.records.forms import schema
from lpisearch.web.jobs.job import STATES

_TEXT, _NUMBER, _INTEGER = {"type": "string"}, {"type": "number"}, {"type": "integer"}
_TEXTS = {"type": "array", "items": _TEXT}
_MAYBE_TEXT, _MAYBE_NUMBER = {"type": ["string", "null"]}, {"type": ["number", "null"]}
_ANY_OBJECT = {"type": "object"}
_MARKS = {
    "type": "array",
    "items": {"type": "array", "items": _INTEGER, "minItems": 2, "maxItems": 2},
}
# What is written field by field.
_BY_RECORD = (
    records.TopicReport,
    records.DimensionReport,
    records.LabelReport,
    records.PredictionReport,
    records.IndexPlan,
    records.Facets,
    records.PredictedLabel,
)


def ref(name: str) -> dict[str, str]:
    """Return a reference to one of the forms."""
    return {"$ref": f"#/components/schemas/{name}"}


def _object(properties: dict[str, Any], *, optional: tuple[str, ...] = ()) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_PASSAGE = _object(
    {
        "text": _TEXT,
        "marks": _MARKS,
        "start": _INTEGER,
        "end": _INTEGER,
        "section": {"type": ["object", "null"]},
        "page": _MAYBE_TEXT,
    }
)
_HIT = _object(
    {
        "rank": _INTEGER,
        "id": _TEXT,
        "title": _TEXT,
        "score": _NUMBER,
        "cosine": _MAYBE_NUMBER,
        "bm25": _MAYBE_NUMBER,
        "cosine_rank": {"type": ["integer", "null"]},
        "bm25_rank": {"type": ["integer", "null"]},
        "labels": _TEXTS,
        "predicted": _list(ref("PredictedLabel")),
        "path": _TEXT,
        "date": _TEXT,
        "snippet": _TEXT,
        "marks": _MARKS,
        "passages": _list(ref("Passage")),
        "explanation": _ANY_OBJECT,
    },
    optional=("explanation",),
)
_ENTRY = {
    "id": _TEXT,
    "title": _TEXT,
    "labels": _TEXTS,
    "split": _TEXT,
    "date": _TEXT,
    "path": _TEXT,
    "media_type": _TEXT,
}
_SHARE = _object({"label": _TEXT, "share": _NUMBER})
_WRITTEN: dict[str, Any] = {
    "Problem": _object(
        {
            "type": _TEXT,
            "title": _TEXT,
            "status": _INTEGER,
            "detail": _TEXT,
            "next": _TEXT,
            "fields": _TEXTS,
            "errors": _list(_object({"field": _TEXT, "reason": _TEXT})),
        },
        optional=("next", "fields", "errors"),
    ),
    "Passage": _PASSAGE,
    "Hit": _HIT,
    "Answer": _object(
        {
            "by": _TEXT,
            "hits": _list(ref("Hit")),
            "notes": _TEXTS,
            "suggestions": _list(_object({"word": _TEXT, "nearest": _TEXTS})),
            "facets": ref("Facets"),
        },
        optional=("facets",),
    ),
    "Reason": _object(
        {
            "id": _TEXT,
            "by": _TEXT,
            "score": _NUMBER,
            "legs": _list(_ANY_OBJECT),
            "explanation": {"type": ["object", "null"]},
        }
    ),
    "Marks": _object({"marks": _list(_list(_ANY_OBJECT))}),
    "DocumentMap": _object(
        {
            "ids": _TEXTS,
            "titles": _TEXTS,
            "label_names": _TEXTS,
            "projection": _TEXT,
            "rule": _TEXT,
            "unplaced": _INTEGER,
            "places": _list(_list(_NUMBER)),
            "topics": _list(_INTEGER),
            "labels": _list(_INTEGER),
            "report": ref("TopicReport"),
        }
    ),
    "Runs": _object(
        {
            "runs": _list(
                _object(
                    {
                        "query": _TEXT,
                        "hits": _list(_object({"rank": _INTEGER, "id": _TEXT, "score": _NUMBER})),
                    }
                )
            ),
            "notes": _TEXTS,
        }
    ),
    "Entry": _object(_ENTRY | {"predicted": _list(ref("PredictedLabel"))}),
    "Listing": _object({"documents": _list(ref("Entry")), "total": _INTEGER}),
    "Document": _object(
        _ENTRY | {"text": _TEXT, "metadata": _ANY_OBJECT, "sections": _list(_ANY_OBJECT)},
        optional=("sections",),
    ),
    "Classification": _object(
        {
            "input": _TEXT,
            "labels": _list(_SHARE),
            "decided": _TEXTS,
            "note": _TEXT,
            "none_of_these": {"type": "boolean"},
        },
        optional=("note", "none_of_these"),
    ),
    "Vectors": _object({"ids": _TEXTS, "vectors": _list(_list(_NUMBER)), "total": _INTEGER}),
    "Status": _object(
        {
            "library": _TEXT,
            "documents": _INTEGER,
            "labels": _ANY_OBJECT,
            "predicted": _ANY_OBJECT,
            "splits": _ANY_OBJECT,
            "sources": _INTEGER,
            "unfinished": _TEXTS,
            "language": _MAYBE_TEXT,
            "size_bytes": _INTEGER,
            "schema": _MAYBE_TEXT,
            "indexes": _list(_ANY_OBJECT),
            "version": _TEXT,
            "read_only": {"type": "boolean"},
            "writer": _TEXT,
            "job": {"anyOf": [ref("Job"), {"type": "null"}]},
            "state": _TEXT,
        }
    ),
    "Findings": _object(
        {
            "ok": {"type": "boolean"},
            "findings": _list(
                _object(
                    {"check": _TEXT, "ok": {"type": "boolean"}, "detail": _TEXT, "next_step": _TEXT}
                )
            ),
        }
    ),
    "Job": _object(
        {
            "id": _TEXT,
            "kind": _TEXT,
            "state": {"type": "string", "enum": list(STATES)},
            "asked": _ANY_OBJECT,
            "asked_at": _TEXT,
            "begun": _TEXT,
            "ended": _TEXT,
            "progress": _ANY_OBJECT,
            "problem": {"type": ["object", "null"]},
            "result": {},
        },
        optional=("result",),
    ),
}


@cache
def schemas() -> dict[str, Any]:
    """Return all forms by name."""
    by_record = {kind.__name__: _always(schema(kind)) for kind in _BY_RECORD}
    return dict(sorted((_WRITTEN | by_record).items()))


def _always(form: dict[str, Any]) -> dict[str, Any]:
    """Return the form of a record that is written whole: no field of it is missing."""
    return form | {"required": list(form["properties"])}
