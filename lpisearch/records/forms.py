"""Parse JSON into records and options, and derive JSON Schemas, from type hints.

`read` makes a value of a dataclass, a named tuple or a plain type from what `json.loads` gave, and
says of what it cannot take where it is. `schema` describes the same as a JSON Schema.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

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
    from lpisearch import records

    known = {name: getattr(records, name) for name in records.__all__}
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
