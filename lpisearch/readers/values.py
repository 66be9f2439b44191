"""Convert JSON, YAML and cell values to document fields."""

from __future__ import annotations

import math
import re
from datetime import date, datetime, time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from lpisearch.readers.encoding import clean
from lpisearch.records import SECTION_KINDS, Section

if TYPE_CHECKING:
    from collections.abc import Iterable

DEEPEST = 32
"""Metadata nested deeper than this is refused, so that every later step can recurse."""


class Unusable(ValueError):
    """A value that cannot be what its field says. The text is a reason for a `Problem`."""


def text_of(value: Any, field: str) -> str:
    """Return a string, a number or a list of these as text; None is no text."""
    if type(value) is str:
        return clean(value)
    if value is None:
        return ""
    if isinstance(value, (list, tuple)):
        return "\n".join(text_of(_scalar(item, field), field) for item in value)
    return clean(str(_word(_scalar(value, field))))


def id_of(value: Any, field: str) -> str | None:
    """Return a string or a number as an id; an empty one is none."""
    if isinstance(value, (list, tuple)):
        raise Unusable(f"its field “{field}” is a list, not an id")
    return text_of(value, field) or None


def labels_of(value: Any, field: str, separators: str = "") -> tuple[str, ...]:
    """Return a word or a list of words as labels, each once.

    Parameters
    ----------
    value
        Of the field.
    field
        Its name, for messages.
    separators
        Characters that part the labels within a string; "" takes a string as one label.
    """
    if isinstance(value, str) and separators:
        labels: Iterable[str] = map(str.strip, split_labels(clean(value), separators))
    elif isinstance(value, (list, tuple, set, frozenset)):
        labels = [text_of(_scalar(item, field), field) for item in value]
    else:
        labels = [text_of(value, field)]
    return tuple(dict.fromkeys(label for label in labels if label and not label.isspace()))


def split_labels(text: str, separators: str) -> list[str]:
    """Return what stands between any of the separators."""
    return re.split(f"[{re.escape(separators)}]", text) if separators else [text]


def date_of(value: Any) -> str:
    """Return a date in ISO 8601, or "" if the value is none.

    A date that is in this form already stays as it is. The form of e-mails is understood too;
    forms in which day and month could be confused are not.
    """
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    text = str(value).strip() if isinstance(value, (str, int)) else ""
    if _YEAR_OR_MONTH.fullmatch(text):
        return text
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        return _email_date(text)
    if _ISO_DATE.match(text):
        return text
    return parsed.isoformat()


def sections_of(value: Any, text: str) -> tuple[Section, ...]:
    """Return what an exported library says of the sections of a text; () if it is not of its form.

    The form is a list of objects with `start`, `kind` and `name`, in ascending order within the
    text.
    """
    if not isinstance(value, list):
        return ()
    try:
        stated = [(int(each["start"]), each["kind"], clean(each["name"])) for each in value]
    except (TypeError, KeyError, ValueError, AttributeError, OverflowError):
        return ()
    sections = tuple(Section(*each) for each in stated)
    starts = [0, *(each.start for each in sections), len(text)]
    known = all(each.kind in SECTION_KINDS for each in sections)
    return sections if known and starts == sorted(starts) else ()


def json_safe(value: Any, depth: int = 0) -> Any:
    """Return a value as JSON can hold it: dates as ISO 8601, no NaN, no other types.

    Raises
    ------
    Unusable
        It is nested deeper than `DEEPEST`.
    """
    if depth > DEEPEST:
        raise Unusable(f"its metadata is nested deeper than {DEEPEST} levels")
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {
            clean(str(json_safe(key, depth + 1))): json_safe(item, depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple, set, frozenset)):
        return [json_safe(item, depth + 1) for item in value]
    if isinstance(value, (int, float)):
        return _json_number(value)
    if isinstance(value, (date, datetime, time)):
        return value.isoformat()
    return None if value is None else clean(str(value))


_YEAR_OR_MONTH = re.compile(r"\d{4}(-(0[1-9]|1[0-2]))?")
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d(T|$)")
_LONGEST_INTEGER = 1024


def _json_number(value: float) -> float | str | None:
    # Python refuses to print a number of thousands of digits in decimal.
    if isinstance(value, int):
        return value if value.bit_length() <= _LONGEST_INTEGER else hex(value)
    return value if math.isfinite(value) else None


def _email_date(text: str) -> str:
    try:
        return parsedate_to_datetime(text).isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""


def _scalar(value: Any, field: str) -> Any:
    if isinstance(value, (dict, list, tuple, set)):
        kind = "an object" if isinstance(value, dict) else "a nested list"
        raise Unusable(f"its field “{field}” is {kind}, not text")
    return value


def _word(value: Any) -> Any:
    """Return JSON's word for a truth value, so that a label true reads as it was written."""
    return str(value).lower() if isinstance(value, bool) else json_safe(value)
