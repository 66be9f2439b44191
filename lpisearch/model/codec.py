"""Records to JSON, JSON to records, and JSON Schema, derived from the fields of dataclasses.

A record is a dataclass or a named tuple; its JSON is an object with a key for each field. `FORMS`
lists the records whose JSON differs from their fields: another order, other names, keys that are
computed, rounded or left out.
"""

from __future__ import annotations

import json
import math
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, Union, get_args, get_origin
from typing import get_type_hints as typing_hints

from lpisearch.messages import escaped_json
from lpisearch.model import answers, documents, reports
from lpisearch.model.reports import Report, plain

if TYPE_CHECKING:
    from lpisearch.location import Location
    from lpisearch.model.answers import Run
    from lpisearch.model.documents import Finding, IngestReport

T = TypeVar("T")
LARGEST = 2**53 - 1
"""The largest integer that every JSON reader represents exactly."""
_SHARE_DIGITS = 6  # of probabilities: further digits differ between machines


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a record's JSON that differs from the field of its name."""

    name: str
    field: str | None = ""  # "" if it has this name; None if the key is computed and never read
    kind: Any = None  # the type of the JSON value, if it is not that of the field
    write: Callable[[Any], Any] | None = None  # from the field (the record, if computed) to JSON
    read: Callable[[Any], Any] | None = None  # and back
    optional: bool = False  # left out if the field has its default
    digits: int | None = None  # to which floats are rounded
    required: bool = True  # whether the field has no default; set by `keys_of`


class TermShare(NamedTuple):
    """A term of the query, and what it adds to a cosine."""

    query: str
    share: float


class TermWeight(NamedTuple):
    """A term of the query, and how rare it is."""

    query: str
    weight: float


def _points(rows: Sequence[Sequence[float]]) -> Any:
    import numpy as np

    return np.array(rows, np.float32).reshape(-1, 2)


def _numbers(values: Sequence[int]) -> Any:
    import numpy as np

    return np.array(values, np.int32)


_MARKS = tuple[tuple[int, int], ...]
# Texts name keys that are fields.
FORMS: dict[type, tuple[str | Key, ...]] = {
    answers.Answer: (
        "by hits notes suggestions total next",
        Key("facets", optional=True),
        Key("corrected", optional=True),
        Key("hidden", optional=True),
    ),
    answers.Classification: (
        "input",
        Key("labels", digits=_SHARE_DIGITS),
        "decided",
        Key("note", optional=True),
        Key("none_of_these", optional=True),
    ),
    answers.DocumentMap: (
        "ids titles label_names projection rule unplaced",
        Key("places", kind=tuple[tuple[float, float], ...], read=_points),
        Key("topics", read=_numbers),
        Key("labels", read=_numbers),
        "report",
    ),
    answers.Explanation: (
        # The total is not written: it is the cosine, but for rounding.
        Key("cosine", "total"),
        "cosine pairs",
        Key(
            "words",
            "by_query_term",
            kind=tuple[TermShare, ...],
            write=lambda shares: [TermShare(*one) for one in shares],
            read=lambda shares: tuple(map(tuple, shares)),
        ),
        "topics",
        Key(
            "weights",
            kind=tuple[TermWeight, ...],
            write=lambda weights: [TermWeight(*one) for one in weights],
            read=lambda weights: tuple(map(tuple, weights)),
            optional=True,
        ),
    ),
    answers.Hit: (
        "rank id title score cosine bm25 cosine_rank bm25_rank labels",
        Key("predicted", digits=_SHARE_DIGITS),
        "path date",
        Key("snippet", None, kind=str, write=lambda hit: hit.snippet.text),
        Key("marks", None, kind=_MARKS, write=lambda hit: hit.snippet.marks),
        "passages",
        Key("explanation", optional=True),
        Key("file_date", optional=True),
        Key("alike", optional=True),
        Key("versions", optional=True),
        Key("demoted", optional=True),
        Key("encoder", optional=True),
    ),
    answers.Pair: (
        Key("query", "query_term"),
        Key("document", "document_term"),
        Key("share", "contribution"),
    ),
    answers.Passage: (
        "text marks start end section",
        Key("page", kind=str | None, write=lambda page: page or None, read=lambda page: page or ""),
    ),
    answers.SharedTopic: ("dimension", Key("share", "contribution"), "terms"),
    documents.Document: (
        "id title text labels split date path media_type metadata",
        Key("sections", optional=True),
    ),
    documents.Entry: (
        "id title labels split date path media_type",
        Key("predicted", digits=_SHARE_DIGITS),
    ),
    reports.Figure: ("name title x_label y_label log_x groups series",),
    reports.Report: ("title command parameters versions tables figures",),
    reports.Table: (
        "name title",
        Key("columns", None, kind=tuple[str, ...], write=lambda table: table.columns),
        "rows notes",
    ),
}

_PLAIN = {str: "string", bool: "boolean", int: "integer", float: "number"}
_ATOMS = frozenset({str, bool, int, type(None)})
_SCALARS = int | float | bool | str | None
# Names in annotations of records and options that are imported for type checkers alone.
_NAMES: dict[str, Any] = {
    "Any": Any,
    "Cell": _SCALARS,
    "Mapping": Mapping,
    "NDArray": Sequence,
    "Path": Path,
    "Sequence": Sequence,
    "Setting": _SCALARS,
    "np": types.SimpleNamespace(float32=float, int32=int),
}


class BadForm(ValueError):
    """A JSON value is not of the kind that is read.

    `where` is its path, such as "options.read.labels", or "" for the whole; `reason` has no full
    stop.
    """

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where}: {reason}" if where else reason)
        self.where, self.reason = where, reason


@cache
def is_record(kind: Any) -> bool:
    """Tell whether a type is a dataclass or a named tuple."""
    return isinstance(kind, type) and (is_dataclass(kind) or hasattr(kind, "_field_defaults"))


@cache
def hints(kind: type) -> dict[str, Any]:
    """Return the types of the fields of a record, by name."""
    every = typing_hints(kind, localns=_known())
    names = [one.name for one in fields(kind)] if is_dataclass(kind) else kind._fields  # type: ignore[attr-defined]
    return {name: every[name] for name in names}


def return_type(function: Callable[..., Any], **names: Any) -> Any:
    """Return the type that a function returns; `names` are further names in its annotations."""
    return typing_hints(function, localns=_known() | names)["return"]


@cache
def _known() -> dict[str, Any]:
    return vars(documents) | vars(answers) | vars(reports) | _NAMES


@cache
def keys_of(kind: type) -> tuple[Key, ...]:
    """Return the keys of a record's JSON, with their types."""
    known, defaults = hints(kind), _with_default(kind)
    keys: list[Key] = []
    for part in FORMS.get(kind, (" ".join(known),)):
        for key in map(Key, part.split()) if isinstance(part, str) else [part]:
            field = key.name if key.field == "" else key.field
            type_ = key.kind if key.kind is not None else known[str(field)]
            keys.append(replace(key, field=field, kind=type_, required=field not in defaults))
    return tuple(keys)


def _with_default(kind: Any) -> set[str]:
    if not is_dataclass(kind):
        return set(kind._field_defaults)
    none = (MISSING, MISSING)
    return {one.name for one in fields(kind) if (one.default, one.default_factory) != none}


# Writing.


def json_text(value: Any, indent: int | None = None) -> str:
    """Return a JSON value as text, without characters that a terminal would obey."""
    try:
        text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    except ValueError:  # a number that is not finite, of which JSON has none
        text = json.dumps(_finite(value), ensure_ascii=False, indent=indent, allow_nan=False)
    return escaped_json(text)


def _finite(value: Any) -> Any:
    """Return a JSON value with null for each number that is not finite."""
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def to_json(value: Any, digits: int | None = None) -> Any:
    """Return a record, a collection or a cell as a JSON value.

    NumPy's numbers become Python's, numbers that are not finite null. A `Message` stays one, so
    that each face can render it.
    """
    kind: Any = type(value)
    if kind in _ATOMS:
        return value
    if is_record(kind):
        pairs = ((key, _raw(key, value)) for key in keys_of(kind))
        return {
            key.name: to_json(raw, digits if key.digits is None else key.digits)
            for key, raw in pairs
            if not key.optional or raw  # every default that is left out is empty
        }
    if isinstance(value, Mapping):
        return {str(name): to_json(one, digits) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(one, digits) for one in value]
    if getattr(value, "ndim", 0):
        return value.tolist()
    cell = plain(value)
    return round(cell, digits) if digits is not None and isinstance(cell, float) else cell


def _raw(key: Key, record: Any) -> Any:
    value = record if key.field is None else getattr(record, key.field)
    return key.write(value) if key.write else value


# Reading.


def from_json(kind: type[T], value: Any, *, strict: bool = False) -> T:
    """Make a record, or a value of plain types, from JSON.

    With `strict`, unknown keys are refused rather than skipped. Raises `BadForm`.
    """
    return _read(kind, value, "", strict=strict)  # type: ignore[no-any-return]


def _read(kind: Any, value: Any, where: str, *, strict: bool) -> Any:
    if kind is Any:
        return value
    if _is_union(kind):
        return _one_of(get_args(kind), value, where, strict=strict)
    if kind in (None, type(None)):
        return _checked(value is None, None, where, "is not null")
    if kind in _PLAIN or kind is Path:
        return _scalar(kind, value, where)
    if is_record(kind):
        return _record(kind, value, where, strict=strict)
    return _collection(kind, value, where, strict=strict)


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, types.UnionType)


def _checked(holds: bool, value: T, where: str, reason: str) -> T:  # noqa: FBT001 (what is checked)
    if not holds:
        raise BadForm(where, reason)
    return value


def _scalar(kind: Any, value: Any, where: str) -> Any:
    if kind is float and type(value) is int:
        value = float(value) if abs(value) <= LARGEST else math.inf
    if kind is Path:
        return Path(_scalar(str, value, where))
    _checked(type(value) is kind, value, where, f"must be of type {_PLAIN[kind]}")
    if kind is int:
        _checked(abs(value) <= LARGEST, value, where, "is too large")
    if kind is float:
        _checked(math.isfinite(value), value, where, "is not a finite number")
    return value


def _one_of(kinds: Sequence[Any], value: Any, where: str, *, strict: bool) -> Any:
    failed = None
    # An integer is read as one rather than as a float.
    for kind in sorted(kinds, key=lambda one: one is float):
        try:
            return _read(kind, value, where, strict=strict)
        except BadForm as error:
            failed = error if failed is None or is_record(kind) else failed
    raise failed or BadForm(where, "has no known type")


def _record(kind: Any, value: Any, where: str, *, strict: bool) -> Any:
    if not isinstance(value, Mapping):
        raise BadForm(where, "is not an object")
    keys = {key.name: key for key in keys_of(kind) if key.field is not None}
    unknown = [name for name in value if name not in keys]
    if unknown and strict:
        raise BadForm(_within(where, unknown[0]), f"is unknown; allowed: {', '.join(keys)}")
    missing = [name for name, key in keys.items() if key.required and name not in value]
    if missing:
        raise BadForm(_within(where, missing[0]), "is missing")
    values = {}
    for key in keys_of(kind):
        if key.field is not None and key.name in value:
            one = _read(key.kind, value[key.name], _within(where, key.name), strict=strict)
            values[key.field] = key.read(one) if key.read else one
    return kind(**values)


def _collection(kind: Any, value: Any, where: str, *, strict: bool) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (dict, Mapping):
        _checked(isinstance(value, Mapping), value, where, "is not an object")
        return {
            name: _read(inner[1], one, _within(where, name), strict=strict)
            for name, one in value.items()
        }
    _checked(isinstance(value, (list, tuple)), value, where, "is not a list")
    if origin is tuple and inner[-1] is not Ellipsis:
        _checked(len(value) == len(inner), value, where, f"must have {len(inner)} items")
    else:
        inner = (inner[0],) * len(value)
    items = [
        _read(one, member, f"{where}[{at}]", strict=strict)
        for at, (one, member) in enumerate(zip(inner, value, strict=True))
    ]
    return tuple(items) if origin is tuple else items


def _within(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


# Schemas.


def schema(kind: Any, components: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the JSON Schema of what `from_json` takes.

    With `components`, of what `to_json` returns: records are added to it by name and referred to.
    """
    if kind is Any:
        return {}
    if _is_union(kind):
        parts = [schema(one, components) for one in get_args(kind)]
        simple = [one["type"] for one in parts if one.keys() == {"type"}]
        return {"type": simple} if len(simple) == len(parts) else {"anyOf": parts}
    if is_record(kind):
        return _record_schema(kind, components)
    if get_origin(kind) is None:
        return {"type": _PLAIN.get(kind, "string" if kind is Path else "null")}
    return _collection_schema(get_origin(kind), get_args(kind), components)


def _collection_schema(
    origin: Any, inner: tuple[Any, ...], components: dict[str, Any] | None
) -> dict[str, Any]:
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": schema(inner[1], components)}
    if origin is tuple and inner[-1] is not Ellipsis:
        items = [schema(one, components) for one in inner]
        return {
            "type": "array",
            "prefixItems": items,
            "minItems": len(inner),
            "maxItems": len(inner),
        }
    return {"type": "array", "items": schema(inner[0], components)}


def _record_schema(kind: type, components: dict[str, Any] | None) -> dict[str, Any]:
    name = kind.__name__
    if components is not None:
        if name not in components:
            components[name] = {}  # so that a record that contains itself ends
            components[name] = _object_schema(kind, components)
        return {"$ref": f"#/components/schemas/{name}"}
    return _object_schema(kind, None)


def _object_schema(kind: type, components: dict[str, Any] | None) -> dict[str, Any]:
    is_read = components is None
    keys = {key.name: key for key in keys_of(kind) if not is_read or key.field is not None}
    required = [
        name for name, key in keys.items() if (key.required if is_read else not key.optional)
    ]
    return {
        "type": "object",
        "properties": {name: schema(key.kind, components) for name, key in keys.items()},
        **({"required": required} if required else {}),
    }


# What several faces compose of records.


class RankedDocument(NamedTuple):
    """A document of a run."""

    rank: int
    id: str
    score: float


class RankedRun(NamedTuple):
    """The results of one query of a batch."""

    query: str
    hits: tuple[RankedDocument, ...]

    @classmethod
    def of(cls, run: Run) -> RankedRun:
        """Return a run, its documents numbered from 1."""
        query, ranked = run
        return cls(query, tuple(RankedDocument(at, *one) for at, one in enumerate(ranked, 1)))


class Findings(NamedTuple):
    """What an examination of a library showed."""

    ok: bool
    findings: tuple[documents.Finding, ...]

    @classmethod
    def of(cls, findings: Iterable[Finding]) -> Findings:
        """Sum up findings."""
        every = tuple(findings)
        return cls(all(one.ok for one in every), every)


def ingest_record(report: IngestReport, library: Location) -> dict[str, Any]:
    """Return the report of an ingest, with its library and the number of failures."""
    return {"library": str(library), "failed": report.failed, **to_json(report)}


def report_record(report: Report) -> dict[str, Any]:
    """Return the rows of an evaluation's tables by name; the first one's are "rows" or "runs"."""
    first, *others = report.tables
    rows = {"runs" if first.name == "retrieval" else "rows": first.rows}
    rows |= {table.name: table.rows for table in others}
    notes = dict.fromkeys(note for table in report.tables for note in table.notes)
    return to_json(  # type: ignore[no-any-return]
        {**rows, "notes": [*notes], "parameters": report.parameters, "versions": report.versions}
    )
