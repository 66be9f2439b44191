"""The parameters of addresses: read, checked, and described."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from lpisearch.records.forms import LARGEST
from lpisearch.web.problems import Refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.datastructures import QueryParams

    from lpisearch.web.api.table import Param

_INTEGER = re.compile(r"[+-]?\d{1,16}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})([eE][+-]?\d{1,3})?", re.ASCII)
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
MOST_VALUES = 1000


def read_params(
    params: Sequence[Param], given: QueryParams, in_path: dict[str, str]
) -> dict[str, Any]:
    """Return the value of each parameter, or its default.

    Raises
    ------
    Refused
        With all that is wrong, not just the first.
    """
    wrong: list[dict[str, str]] = []
    known = {param.name for param in params}
    wrong += [_error(name, "is unknown") for name in given if name not in known]
    values = {}
    for param in params:
        texts = [in_path[param.name]] if param.in_path else given.getlist(param.name)
        try:
            values[param.name] = _value(param, texts)
        except ValueError as error:
            wrong.append(_error(param.name, str(error)))
    if wrong:
        said = "; ".join(f"{each['field']} {each['reason']}" for each in wrong)
        raise Refused(422, f"{said}.", errors=wrong)
    return values


def described(param: Param) -> dict[str, Any]:
    """Return the OpenAPI description of a parameter."""
    one: dict[str, Any] = {"type": param.kind}
    if param.choices:
        one["enum"] = list(param.choices)
    elif param.kind == "string":
        one["maxLength"] = param.longest
    if param.kind in {"integer", "number"}:
        one |= {} if param.least is None else {"minimum": param.least}
        most = LARGEST if param.most is None and param.kind == "integer" else param.most
        one |= {} if most is None else {"maximum": most}
    if param.default is not None and not param.many:
        one["default"] = param.default
    many = {"type": "array", "items": one, "maxItems": MOST_VALUES}
    return {
        "name": param.name,
        "in": "path" if param.in_path else "query",
        "required": param.required or param.in_path,
        "description": f"{param.means}.",
        "schema": many if param.many else one,
    }


def _error(name: str, reason: str) -> dict[str, str]:
    return {"field": name[:100], "reason": reason}


def _value(param: Param, texts: list[str]) -> Any:
    if not texts:
        if param.required:
            raise ValueError("is missing")
        return () if param.many else param.default
    if param.many:
        if len(texts) > MOST_VALUES:
            raise ValueError(f"is given more than {MOST_VALUES:,} times")
        return tuple(_one(param, text) for text in texts)
    if len(texts) > 1:
        raise ValueError("is given more than once")
    return _one(param, texts[0])


def _one(param: Param, text: str) -> Any:
    if param.kind == "string":
        return _text(param, text)
    if param.kind == "boolean":
        if text.lower() not in _BOOLEANS:
            raise ValueError("must be true or false")
        return _BOOLEANS[text.lower()]
    if param.kind == "integer":
        if not _INTEGER.fullmatch(text):
            raise ValueError("must be a whole number")
        return _bounded(param, int(text))
    if not _NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        raise ValueError("must be a number")
    return _bounded(param, float(text))


def _text(param: Param, text: str) -> str:
    if param.choices and text not in param.choices:
        raise ValueError(f"must be one of: {', '.join(param.choices)}")
    if len(text) > param.longest:
        raise ValueError(f"is longer than {param.longest:,} characters")
    return text


def _bounded(param: Param, number: float) -> float:
    if param.least is not None and number < param.least:
        raise ValueError(f"must be at least {param.least:g}")
    if param.most is not None and number > param.most:
        raise ValueError(f"must be at most {param.most:,g}")
    return number
