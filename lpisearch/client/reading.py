"""Parse server JSON into records: the inverse of `records/wire.py`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lpisearch.records import (
    Answer,
    Classification,
    Document,
    Explanation,
    Hit,
    Pair,
    Passage,
    Section,
    SharedTopic,
    TopicReport,
)
from lpisearch.records.forms import read
from lpisearch.records.maps import DocumentMap, Reason

if TYPE_CHECKING:
    from collections.abc import Mapping


def as_record(kind: type, said: Mapping[str, Any]) -> Any:
    """Return a record that is written field by field; what is not known here is passed over."""
    return read(kind, said, strict=False)


def as_answer(said: Mapping[str, Any]) -> Answer:
    """Return an answer."""
    bare: Answer = as_record(Answer, {**said, "hits": ()})
    return replace(bare, hits=tuple(as_hit(each) for each in said["hits"]))


def as_hit(said: Mapping[str, Any]) -> Hit:
    """Return a hit."""
    passages = tuple(_passage(each) for each in said["passages"])
    why = said.get("explanation")
    plain = {**said, "passages": (), "explanation": None}
    hit: Hit = as_record(Hit, plain)
    return replace(hit, passages=passages, explanation=None if why is None else _explanation(why))


def _passage(said: Mapping[str, Any]) -> Passage:
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
